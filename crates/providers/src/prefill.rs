//! Going on with a text that another deployment began: which deployments can be asked to, and in which words.
//!
//! A trailing message of the assistant means different things: some servers go on with it, some answer it, some refuse it. So
//! only those are asked that are known to go on: DeepSeek's beta API and Mistral by a flag on the message, vLLM by two members of the
//! body, Anthropic's models up to the generation that still takes it as it is. The operator knows better and may say so
//! (`model_info.supports_assistant_prefill`).

use std::borrow::Cow;

use haleway_wire::{Change, Envelope};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::registry::Wire;
use crate::target::Target;

/// How a deployment is told to go on with the last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefill {
    /// It does so by itself.
    Plain,
    /// `"prefix": true` in the message.
    Prefix,
    /// `continue_final_message` and no `add_generation_prompt`.
    Continue,
}

/// Claude models that take a beginning of their answer; later ones refuse it.
const CLAUDE: [&str; 9] = [
    "claude-3",
    "sonnet-4-0",
    "sonnet-4-2025",
    "sonnet-4-5",
    "opus-4-0",
    "opus-4-1",
    "opus-4-2025",
    "opus-4-5",
    "haiku-4-5",
];

impl Target {
    /// How the deployment is told to go on with a text; `None` when it cannot be. `stated` is what the operator says.
    pub fn prefill(&self, stated: Option<bool>) -> Option<Prefill> {
        let takes = |form, known: bool| stated.unwrap_or(known).then_some(form);
        match (self.provider.id, self.provider.wire) {
            ("hosted_vllm", _) => takes(Prefill::Continue, true),
            ("mistral", _) => takes(Prefill::Prefix, true),
            ("deepseek", _) => takes(Prefill::Prefix, self.api_base.ends_with("/beta")),
            (_, Wire::Anthropic | Wire::VertexAnthropic | Wire::Bedrock) => {
                takes(Prefill::Plain, CLAUDE.iter().any(|model| self.wire_model.contains(model)))
            }
            _ => takes(Prefill::Plain, false),
        }
    }
}

/// Whether the answer to a chat request could be continued elsewhere at all: one answer, in free text, begun by the model.
pub fn may_go_on(request: &Envelope<'_>) -> bool {
    #[derive(Deserialize)]
    struct Format<'a> {
        #[serde(borrow, default, rename = "type")]
        kind: Cow<'a, str>,
    }
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow, default)]
        role: Cow<'a, str>,
    }
    let text = |raw: &RawValue| {
        raw.get() == "null"
            || serde_json::from_str::<Format<'_>>(raw.get()).is_ok_and(|format| format.kind == "text")
    };
    let users_turn = request.get("messages").is_some_and(|raw| {
        let messages = serde_json::from_str::<Vec<Message<'_>>>(raw.get()).unwrap_or_default();
        messages.last().is_some_and(|message| message.role != "assistant")
    });
    users_turn
        && request.u64("n").unwrap_or(1) == 1
        && !request.bool("logprobs").unwrap_or(false)
        && !["audio", "modalities"].iter().any(|name| request.is_set(name))
        && request.get("response_format").is_none_or(text)
}

/// `request` with the beginning `text` of its answer, to be gone on with. `None` when it cannot be said in this form.
pub fn go_on(request: &Envelope<'_>, text: &str, form: Prefill) -> Option<bytes::Bytes> {
    if form == Prefill::Plain && ["thinking", "reasoning_effort"].iter().any(|name| request.is_set(name)) {
        // A model that thinks first cannot begin in the middle.
        return None;
    }
    let messages = request.get("messages")?.get().trim_end().strip_suffix(']')?;
    let text_json = serde_json::to_string(text).ok()?;
    let flag = if form == Prefill::Prefix { ",\"prefix\":true" } else { "" };
    let messages = format!("{messages},{{\"role\":\"assistant\",\"content\":{text_json}{flag}}}]");
    let mut changes = vec![Change::set_raw("messages", &messages)];
    if form == Prefill::Continue {
        changes.push(Change::set_raw("continue_final_message", "true"));
        changes.push(Change::set_raw("add_generation_prompt", "false"));
    }
    // What was said counts: four bytes make about one token.
    let said = text.len() as u64 / 4;
    let left = |name: &str| Some(request.u64(name)?.saturating_sub(said).max(1).to_string());
    let caps = ["max_tokens", "max_completion_tokens"].map(|name| (name, left(name)));
    for (name, left) in &caps {
        if let Some(left) = left {
            changes.push(Change::set_raw(name, left));
        }
    }
    Some(request.patched(&changes))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn said(request: &Value, form: Prefill) -> Option<Value> {
        let request = request.to_string();
        let request = Envelope::parse(request.as_bytes()).unwrap();
        go_on(&request, "So \"far\"", form).map(|body| serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn each_form_says_it_in_its_own_words() {
        let request = json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 10});
        let plain = said(&request, Prefill::Plain).unwrap();
        assert_eq!(plain["messages"][1], json!({"role": "assistant", "content": "So \"far\""}));
        assert_eq!(plain["max_tokens"], 8);
        let prefix = said(&request, Prefill::Prefix).unwrap();
        assert_eq!(prefix["messages"][1]["prefix"], true);
        let vllm = said(&request, Prefill::Continue).unwrap();
        assert_eq!(
            (&vllm["continue_final_message"], &vllm["add_generation_prompt"]),
            (&json!(true), &json!(false))
        );
        let thinks = json!({"messages": [{"role": "user", "content": "x"}], "reasoning_effort": "low"});
        assert_eq!((said(&thinks, Prefill::Plain), said(&thinks, Prefill::Prefix).is_some()), (None, true));
    }

    #[test]
    fn only_one_answer_in_free_text_can_be_continued() {
        let user = json!([{"role": "user", "content": "x"}]);
        let began = json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]);
        for (request, may) in [
            (json!({"messages": user}), true),
            (json!({"messages": user, "n": 1, "logprobs": false, "tools": []}), true),
            (json!({"messages": user, "response_format": {"type": "text"}}), true),
            (json!({"messages": user, "response_format": {"type": "json_object"}}), false),
            (json!({"messages": user, "n": 2}), false),
            (json!({"messages": user, "logprobs": true}), false),
            (json!({"messages": began}), false),
            (json!({"messages": []}), false),
        ] {
            let text = request.to_string();
            assert_eq!(may_go_on(&Envelope::parse(text.as_bytes()).unwrap()), may, "{text}");
        }
    }
}
