//! The look at an ordinary answer without building it: every answer passes through here, on the request path.
//!
//! Borrowed readers take the usual shapes of chat, completions and embeddings. What is unusual in any way (an error, a
//! repeated key, text in parts or with escapes at its start, numbers that are none) gets `None` and goes to the reader
//! that builds the value; both must say the same of whatever both can read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{AnswerFacts, Finish, RawUsage, Usage, has_content};

/// What surrounds every kind of answer.
#[derive(Deserialize)]
struct Answer<'a, T> {
    #[serde(default = "Option::default", alias = "data")]
    choices: Option<T>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    base_resp: Option<&'a RawValue>,
}

impl<T> Answer<'_, T> {
    /// The facts that every kind shares; `None` when the answer may be an error.
    fn facts(&self) -> Option<AnswerFacts> {
        let suspicious = self.error.is_some_and(has_content)
            || self.object.as_deref() == Some("error")
            || self.kind.as_deref() == Some("error")
            || self.status.as_deref() == Some("failed")
            || self.base_resp.is_some();
        if suspicious {
            return None;
        }
        let usage = match self.usage.map(RawValue::get) {
            None | Some("null") => None,
            Some(usage) => Some(Usage::from(serde_json::from_str::<RawUsage>(usage).ok()?)),
        };
        let reasoning_tokens = usage.map_or(0, |usage| usage.reasoning_tokens);
        Some(AnswerFacts {
            usage,
            reasoning_tokens,
            has_reasoning: reasoning_tokens > 0,
            ..AnswerFacts::default()
        })
    }
}

/// Facts of a chat or completion answer of the usual shape.
pub(super) fn choices(body: &[u8]) -> Option<AnswerFacts> {
    let answer: Answer<'_, Vec<Choice<'_>>> = serde_json::from_slice(body).ok()?;
    let mut facts = answer.facts()?;
    let choices = answer.choices?;
    facts.structure_ok = !choices.is_empty();
    for choice in &choices {
        let said = match (&choice.message, choice.text) {
            (Some(message), _) => message.said(&mut facts)?,
            (None, Some(text)) => is_said(Some(text))?,
            (None, None) => return None,
        };
        facts.usable_output |= said;
        facts.finish = facts.finish.or(choice.finish_reason.as_deref().map(Finish::from_word));
    }
    Some(facts)
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    audio: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_details: Option<&'a RawValue>,
}

impl Message<'_> {
    /// Whether the message says something a caller can use; notes reasoning.
    fn said(&self, facts: &mut AnswerFacts) -> Option<bool> {
        let calls = [self.tool_calls, self.function_call, self.audio].into_iter().flatten().any(has_content);
        for reasoning in [self.reasoning_content, self.reasoning, self.reasoning_details] {
            facts.has_reasoning |= is_said(reasoning)?;
        }
        Some(is_said(self.content)? | is_said(self.text)? | is_said(self.refusal)? | calls)
    }
}

/// Whether a value is text that is not blank; `None` when that takes a closer look.
fn is_said(value: Option<&RawValue>) -> Option<bool> {
    let Some(json) = value.map(RawValue::get) else { return Some(false) };
    match json.as_bytes() {
        b"null" | b"\"\"" => Some(false),
        [b'"', first, ..] if first.is_ascii_graphic() && *first != b'\\' => Some(true),
        _ => None,
    }
}

/// Facts of an embedding answer of the usual shape.
pub(super) fn embedding(body: &[u8]) -> Option<AnswerFacts> {
    let answer: Answer<'_, FirstVector<'_>> = serde_json::from_slice(body).ok()?;
    let mut facts = answer.facts()?;
    let vector = answer.choices?.0?.get();
    match vector.as_bytes().first()? {
        b'[' => {
            let numbers: Numbers = serde_json::from_str(vector).ok()?;
            facts.structure_ok = numbers.any;
            facts.usable_output = numbers.nonzero;
        }
        b'"' => {
            let text = vector.strip_prefix('"')?.strip_suffix('"')?;
            if text.contains('\\') {
                return None;
            }
            facts.structure_ok = !text.is_empty() && text.len().is_multiple_of(4);
            facts.usable_output = facts.structure_ok && text.bytes().any(|byte| byte != b'A' && byte != b'=');
        }
        _ => return None,
    }
    Some(facts)
}

/// The first vector of a list; the others are skipped.
struct FirstVector<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for FirstVector<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Item<'a> {
            #[serde(borrow, default)]
            embedding: Option<&'a RawValue>,
        }
        struct First;
        impl<'de> Visitor<'de> for First {
            type Value = Option<&'de RawValue>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of embeddings")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let first = list.next_element::<Item<'de>>()?.and_then(|item| item.embedding);
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(first)
            }
        }
        deserializer.deserialize_seq(First).map(Self)
    }
}

/// A list of numbers, folded: whether there is any, and any that is not zero.
struct Numbers {
    any: bool,
    nonzero: bool,
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fold;
        impl<'de> Visitor<'de> for Fold {
            type Value = Numbers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Numbers, A::Error> {
                let mut numbers = Numbers { any: false, nonzero: false };
                while let Some(number) = list.next_element::<f64>()? {
                    numbers.any = true;
                    numbers.nonzero |= number != 0.0;
                }
                Ok(numbers)
            }
        }
        deserializer.deserialize_seq(Fold)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::chat::{AnswerKind, inspect_parsed};

    /// Both readers must agree wherever the quick one answers; returns whether it did.
    fn agree(body: &Value, kind: AnswerKind) -> bool {
        let text = body.to_string();
        let read = if kind == AnswerKind::Embedding { embedding } else { choices };
        let quick = read(text.as_bytes());
        if let Some(quick) = quick {
            assert_eq!(quick, inspect_parsed(body, kind), "{text}");
            return true;
        }
        false
    }

    #[test]
    fn both_readers_agree_on_every_mix_of_usual_and_unusual_members() {
        let contents = [
            json!("hello"),
            json!(""),
            json!(" "),
            json!("\n x"),
            json!("Ä"),
            json!(null),
            json!([]),
            json!({}),
            json!(3),
            json!([{"type": "text", "text": "part"}]),
        ];
        let extras = [
            json!({}),
            json!({"tool_calls": [{"id": "1"}]}),
            json!({"tool_calls": []}),
            json!({"refusal": "no"}),
            json!({"reasoning_content": "hm"}),
            json!({"reasoning": ""}),
            json!({"audio": {"id": "a"}}),
        ];
        let outers = [
            json!({}),
            json!({"error": null}),
            json!({"error": {"message": "x"}}),
            json!({"object": "chat.completion"}),
            json!({"object": "error"}),
            json!({"status": "failed"}),
            json!({"base_resp": {"status_code": 0}}),
            json!({"usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
            json!({"usage": null}),
            json!({"usage": {"completion_tokens_details": {"reasoning_tokens": 4}}}),
            json!({"usage": 7}),
        ];
        let finishes = [json!("stop"), json!("length"), json!(null), json!("error")];
        let (mut quick, mut all) = (0, 0);
        for content in &contents {
            for extra in &extras {
                for outer in &outers {
                    for finish in &finishes {
                        let mut message = extra.clone();
                        message["content"] = content.clone();
                        let mut body = outer.clone();
                        body["choices"] = json!([{"index": 0, "message": message, "finish_reason": finish}]);
                        quick += usize::from(agree(&body, AnswerKind::Chat));
                        all += 1;
                    }
                }
            }
        }
        assert!(quick >= 500, "the quick reader takes the usual shapes: {quick} of {all}");
        for body in
            [json!({}), json!({"choices": []}), json!({"choices": null}), json!([]), json!({"choices": [{}]})]
        {
            agree(&body, AnswerKind::Chat);
        }
        assert!(agree(&json!({"choices": [{"text": "x", "finish_reason": "stop"}]}), AnswerKind::Completion));
    }

    #[test]
    fn both_readers_agree_on_embeddings() {
        let vectors = [
            json!([0.1, 0.2]),
            json!([0, 0]),
            json!([]),
            json!("AAAA"),
            json!("AAAB"),
            json!("AAA"),
            json!(""),
            json!(null),
            json!([1, "x"]),
            json!({}),
            json!("A\\A"),
        ];
        let mut quick = 0;
        for vector in &vectors {
            let body = json!({"object": "list", "data": [{"embedding": vector}, {"embedding": [9]}], "usage": {"prompt_tokens": 2, "total_tokens": 2}});
            quick += usize::from(agree(&body, AnswerKind::Embedding));
        }
        assert!(quick >= 7, "{quick}");
        agree(&json!({"data": []}), AnswerKind::Embedding);
        agree(&json!({"data": [{}]}), AnswerKind::Embedding);
    }
}
