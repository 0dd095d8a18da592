//! Usable output in generated text, on the wires that clients speak.

use serde_json::Value;

use super::verdict::Verdict;

/// Finish reasons by which providers say that they failed.
const FAILED: [(&str, &str); 4] = [
    ("error", "finish_error"),
    ("network_error", "finish_network_error"),
    ("insufficient_system_resource", "finish_insufficient_system_resource"),
    ("model_error", "finish_model_error"),
];

/// What matters of a message, whole or put together from chunks.
#[derive(Debug, Default)]
pub(super) struct Assembled {
    choices: bool,
    text: bool,
    acts: bool,
    finish: Option<String>,
    reasoned: bool,
}

/// A chat completion.
pub(super) fn whole(value: &Value) -> Verdict {
    let Some(choice) = value.get("choices").and_then(Value::as_array).and_then(|choices| choices.first())
    else {
        return Verdict::Malformed("no choices".to_owned());
    };
    let Some(message) = choice.get("message").filter(|message| message.is_object()) else {
        return Verdict::Malformed("the first choice has no message object".to_owned());
    };
    let mut assembled = Assembled { choices: true, ..Assembled::default() };
    assembled.take(message);
    assembled.finish(choice);
    assembled.verdict()
}

/// A text completion.
pub(super) fn completion(value: &Value) -> Verdict {
    let Some(choice) = value.get("choices").and_then(Value::as_array).and_then(|choices| choices.first())
    else {
        return Verdict::Malformed("no choices".to_owned());
    };
    let Some(text) = choice.get("text").and_then(Value::as_str) else {
        return Verdict::Malformed("the first choice has no text".to_owned());
    };
    let mut assembled = Assembled { choices: true, text: !text.trim().is_empty(), ..Assembled::default() };
    assembled.finish(choice);
    assembled.verdict()
}

/// An Anthropic message.
pub(super) fn message(value: &Value) -> Verdict {
    let Some(content) = value.get("content").and_then(Value::as_array) else {
        return Verdict::Malformed("no content list".to_owned());
    };
    let kind = |block: &Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    let text = content.iter().any(|block| kind(block, "text") && is_text(block.get("text")));
    if text || content.iter().any(|block| kind(block, "tool_use")) {
        return Verdict::Usable;
    }
    match value.get("stop_reason").and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => Verdict::OutOfBudget,
        Some("refusal") => Verdict::Filtered,
        Some(_) | None => Verdict::Blank,
    }
}

/// A response of the Responses API.
pub(super) fn response(value: &Value) -> Verdict {
    let Some(output) = value.get("output").and_then(Value::as_array) else {
        return Verdict::Malformed("no output list".to_owned());
    };
    let item = |item: &Value, kind: &str| item.get("type").and_then(Value::as_str) == Some(kind);
    let parts = output
        .iter()
        .filter(|entry| item(entry, "message"))
        .filter_map(|entry| entry.get("content").and_then(Value::as_array))
        .flatten();
    let mut parts = parts.into_iter();
    let said = parts.any(|part| {
        (item(part, "output_text") && is_text(part.get("text")))
            || (item(part, "refusal") && is_text(part.get("refusal")))
    });
    if said || output.iter().any(|entry| item(entry, "function_call") || item(entry, "custom_tool_call")) {
        return Verdict::Usable;
    }
    match value.pointer("/incomplete_details/reason").and_then(Value::as_str) {
        Some("max_output_tokens") => Verdict::OutOfBudget,
        Some("content_filter") => Verdict::Filtered,
        Some(_) | None => Verdict::Blank,
    }
}

fn is_text(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(parts)) => {
            parts.iter().any(|part| is_text(part.get("text")) || is_text(part.get("refusal")))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    }
}

fn is_list(value: Option<&Value>) -> bool {
    value.and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

impl Assembled {
    /// One chunk of a stream.
    pub(super) fn add(&mut self, chunk: &Value) {
        let choices = chunk.get("choices").and_then(Value::as_array);
        self.choices |= choices.is_some();
        self.reasoned |= reasoning_tokens(chunk);
        self.add_response(chunk);
        let Some(choice) = choices.and_then(|choices| choices.first()) else { return };
        for key in ["delta", "message"] {
            if let Some(delta) = choice.get(key) {
                self.take(delta);
            }
        }
        self.text |= is_text(choice.get("text"));
        self.finish(choice);
    }

    /// One event of the Responses API or of Anthropic Messages, spoken natively.
    fn add_response(&mut self, event: &Value) {
        match event.get("type").and_then(Value::as_str) {
            Some("response.output_text.delta") => {
                self.choices = true;
                self.text |= is_text(event.get("delta"));
            }
            Some("content_block_delta") => {
                self.choices = true;
                self.text |= is_text(event.pointer("/delta/text"));
            }
            Some("content_block_start") => {
                self.choices = true;
                self.acts |= event.pointer("/content_block/type").and_then(Value::as_str) == Some("tool_use");
            }
            Some("message_delta") => {
                if let Some("max_tokens") = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.finish = Some("length".to_owned());
                }
            }
            Some("response.incomplete") => self.finish = Some("length".to_owned()),
            Some(_) | None => {}
        }
    }

    fn take(&mut self, message: &Value) {
        self.text |= is_text(message.get("content")) || is_text(message.get("refusal"));
        self.acts |= is_list(message.get("tool_calls"))
            || message.get("function_call").is_some_and(Value::is_object)
            || message.get("audio").is_some_and(Value::is_object)
            || is_list(message.get("images"));
        self.reasoned |= is_text(message.get("reasoning_content")) || is_text(message.get("reasoning"));
    }

    fn finish(&mut self, choice: &Value) {
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish = Some(finish.to_owned());
        }
    }

    /// Whether there is something for a reader.
    pub(super) const fn has_output(&self) -> bool {
        self.text || self.acts
    }

    /// The verdict on a chat answer.
    pub(super) fn verdict(&self) -> Verdict {
        let finish = self.finish.as_deref().unwrap_or("");
        if let Some((_, reason)) = FAILED.iter().find(|(word, _)| finish.eq_ignore_ascii_case(word)) {
            return Verdict::Failed(reason);
        }
        if !self.choices {
            return Verdict::Malformed("the stream has no choices".to_owned());
        }
        if self.has_output() {
            return Verdict::Usable;
        }
        match finish {
            "length" | "max_tokens" => Verdict::OutOfBudget,
            "content_filter" => Verdict::Filtered,
            _ => Verdict::Blank,
        }
    }
}

fn reasoning_tokens(value: &Value) -> bool {
    value
        .pointer("/usage/completion_tokens_details/reasoning_tokens")
        .and_then(Value::as_u64)
        .is_some_and(|tokens| tokens > 0)
}
