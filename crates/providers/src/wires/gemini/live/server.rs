//! Gemini's messages, said to the caller.

use serde_json::{Value, json};

use super::super::super::chat::count;
use super::{Answer, Dialogue, Message, Turn};
use crate::classify::redact;

impl Dialogue {
    /// What a message of the provider's leads to.
    pub fn provider(&mut self, message: &[u8]) -> Turn {
        let mut turn = Turn::default();
        // What is no JSON, and what a later version of the API adds, has no counterpart.
        let Ok(message) = serde_json::from_slice::<Value>(message) else { return turn };
        if let Some(usage) = message.get("usageMetadata") {
            self.usage = usage.clone();
        }
        if let Some(error) = message.get("error").filter(|error| error.is_object()) {
            let text = error.get("message").and_then(Value::as_str).unwrap_or("the provider failed");
            let text = redact(text);
            let error =
                json!({ "type": "server_error", "code": "provider_error", "message": text, "param": null });
            turn.to_caller.push(self.events.event("error", json!({ "error": error })));
        }
        if let Some(content) = message.get("serverContent") {
            self.content(content, &mut turn.to_caller);
        }
        if let Some(calls) = message.pointer("/toolCall/functionCalls").and_then(Value::as_array) {
            self.calls(calls, &mut turn.to_caller);
        }
        turn
    }

    fn content(&mut self, content: &Value, out: &mut Vec<String>) {
        if let Some(text) = content.pointer("/inputTranscription/text").and_then(Value::as_str) {
            self.heard.push_str(text);
        }
        if let Some(parts) = content.pointer("/modelTurn/parts").and_then(Value::as_array) {
            for part in parts.iter().filter(|part| part.get("thought") != Some(&Value::Bool(true))) {
                if let Some(text) = part.get("text").and_then(Value::as_str) {
                    self.say(false, "delta", text, out);
                }
                if let Some(sound) = part.pointer("/inlineData/data").and_then(Value::as_str) {
                    self.say(true, "sound", sound, out);
                }
            }
        }
        if let Some(words) = content.pointer("/outputTranscription/text").and_then(Value::as_str) {
            self.say(true, "delta", words, out);
        }
        let is = |name: &str| content.get(name) == Some(&Value::Bool(true));
        if is("interrupted") {
            let started = json!({ "audio_start_ms": 0, "item_id": self.events.next_item() });
            out.push(self.events.event("input_audio_buffer.speech_started", started));
            self.done("cancelled", out);
        } else if is("turnComplete") {
            if self.asked.answer {
                self.begin(out);
            }
            self.done("completed", out);
        }
    }

    /// Begins an answer, unless one is being given.
    fn begin(&mut self, out: &mut Vec<String>) {
        if self.answer.is_some() {
            return;
        }
        self.asked.answer = false;
        if !self.heard.is_empty() {
            // What the caller said is complete when it is answered.
            let heard = std::mem::take(&mut self.heard);
            let item = self.events.next_item();
            let words = json!({ "item_id": item, "content_index": 0, "transcript": heard });
            out.push(self.events.event("conversation.item.input_audio_transcription.completed", words));
        }
        let id = self.events.next_answer();
        let response =
            json!({ "id": id, "object": "realtime.response", "status": "in_progress", "output": [] });
        out.push(self.events.event("response.created", json!({ "response": response })));
        self.answer = Some(Answer { id, message: None, output: Vec::new() });
    }

    /// A piece of the answer's message: words, or `sound` in base64.
    fn say(&mut self, spoken: bool, what: &str, piece: &str, out: &mut Vec<String>) {
        self.begin(out);
        let Some(mut answer) = self.answer.take() else { return };
        if answer.message.as_ref().is_some_and(|message| message.spoken != spoken) {
            self.end_message(&mut answer, "completed", out);
        }
        let at = answer.output.len();
        let message = answer.message.get_or_insert_with(|| {
            let item = self.events.next_item();
            let shown = json!({ "id": item, "object": "realtime.item", "type": "message",
                "status": "in_progress", "role": "assistant", "content": [] });
            let added = json!({ "response_id": answer.id, "output_index": at, "item": shown });
            out.push(self.events.event("response.output_item.added", added));
            let (kind, words) = self.events.part(spoken);
            let part = json!({ "response_id": answer.id, "item_id": item, "output_index": at,
                "content_index": 0, "part": { "type": kind, words: "" } });
            out.push(self.events.event("response.content_part.added", part));
            Message { item, spoken, text: String::new() }
        });
        let kind = match (spoken, what) {
            (true, "sound") => "response.output_audio.delta",
            (true, _) => "response.output_audio_transcript.delta",
            (false, _) => "response.output_text.delta",
        };
        if what != "sound" {
            message.text.push_str(piece);
        }
        let delta = json!({ "response_id": answer.id, "item_id": message.item, "output_index": at,
            "content_index": 0, "delta": piece });
        out.push(self.events.event(kind, delta));
        self.answer = Some(answer);
    }

    fn end_message(&mut self, answer: &mut Answer, status: &str, out: &mut Vec<String>) {
        let Some(Message { item, spoken, text }) = answer.message.take() else { return };
        let at = answer.output.len();
        let place = |more: Value| {
            let mut place =
                json!({ "response_id": answer.id, "item_id": item, "output_index": at, "content_index": 0 });
            if let (Value::Object(place), Value::Object(more)) = (&mut place, more) {
                place.extend(more);
            }
            place
        };
        if spoken {
            out.push(self.events.event("response.output_audio.done", place(json!({}))));
            let words = place(json!({ "transcript": text }));
            out.push(self.events.event("response.output_audio_transcript.done", words));
        } else {
            out.push(self.events.event("response.output_text.done", place(json!({ "text": text }))));
        }
        let (kind, words) = self.events.part(spoken);
        let part = json!({ "type": kind, words: text });
        out.push(self.events.event("response.content_part.done", place(json!({ "part": part }))));
        let shown = json!({ "id": item, "object": "realtime.item", "type": "message",
            "status": status, "role": "assistant", "content": [part] });
        self.end_item(answer, shown, out);
    }

    fn end_item(&mut self, answer: &mut Answer, item: Value, out: &mut Vec<String>) {
        let done = json!({ "response_id": answer.id, "output_index": answer.output.len(), "item": item });
        out.push(self.events.event("response.output_item.done", done));
        self.events.item(&item, out);
        answer.output.push(item);
    }

    /// Functions that the model calls: they end its answer, until their results come.
    fn calls(&mut self, calls: &[Value], out: &mut Vec<String>) {
        self.begin(out);
        let Some(mut answer) = self.answer.take() else { return };
        self.end_message(&mut answer, "completed", out);
        for call in calls {
            let name = call.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let item = self.events.next_item();
            let id = call.get("id").and_then(Value::as_str).unwrap_or(&item).to_owned();
            let arguments = call.get("args").map_or_else(|| "{}".to_owned(), Value::to_string);
            let shown = |status: &str, arguments: &str| {
                json!({ "id": item, "object": "realtime.item", "type": "function_call", "status": status,
                    "name": name, "call_id": id, "arguments": arguments })
            };
            let at = answer.output.len();
            let added =
                json!({ "response_id": answer.id, "output_index": at, "item": shown("in_progress", "") });
            out.push(self.events.event("response.output_item.added", added));
            for (kind, member) in [("delta", "delta"), ("done", "arguments")] {
                let place = json!({ "response_id": answer.id, "item_id": item, "output_index": at,
                    "call_id": id, "name": name, member: arguments });
                out.push(self.events.event(&format!("response.function_call_arguments.{kind}"), place));
            }
            self.end_item(&mut answer, shown("completed", &arguments), out);
            self.asked.calls.push((id, name));
        }
        self.answer = Some(answer);
        self.done("completed", out);
    }

    /// Ends the answer that is being given, if there is one.
    fn done(&mut self, status: &str, out: &mut Vec<String>) {
        let Some(mut answer) = self.answer.take() else { return };
        let item = if status == "completed" { status } else { "incomplete" };
        self.end_message(&mut answer, item, out);
        let why = (status == "cancelled").then(|| json!({ "type": "cancelled", "reason": "turn_detected" }));
        let usage = usage(&std::mem::take(&mut self.usage));
        let response = json!({ "id": answer.id, "object": "realtime.response", "status": status,
            "status_details": why, "output": answer.output, "usage": usage });
        out.push(self.events.event("response.done", json!({ "response": response })));
    }
}

/// Google's count of a turn in OpenAI's words.
fn usage(counted: &Value) -> Value {
    let Some(input) = count(counted, "/promptTokenCount") else { return Value::Null };
    let output = count(counted, "/responseTokenCount").unwrap_or(0);
    let total = count(counted, "/totalTokenCount").unwrap_or(input + output);
    json!({ "total_tokens": total, "input_tokens": input, "output_tokens": output })
}
