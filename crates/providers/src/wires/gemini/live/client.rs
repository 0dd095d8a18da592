//! The caller's events, said to Gemini.

use serde_json::{Map, Value, json};

use super::super::super::chat::data_url;
use super::config::{Turns, unsayable};
use super::{Dialogue, Turn};
use crate::Refusal;

/// What may wait for `response.create`, in bytes; more goes to the provider before.
const WAITING: usize = 1024 * 1024;
/// The sound that callers send: 16 bits, one channel.
const SOUND: &str = "audio/pcm;rate=24000";

impl Dialogue {
    /// What an event of the caller's leads to.
    pub fn caller(&mut self, event: &[u8]) -> Turn {
        let mut turn = Turn::default();
        let parsed: Value = match serde_json::from_slice(event) {
            Ok(parsed) => parsed,
            Err(error) => {
                let message = format!("an event is no JSON: {error}");
                turn.to_caller.push(self.events.error("invalid_json", None, &message, None));
                return turn;
            }
        };
        if let Err(refusal) = self.said(&parsed, &mut turn) {
            let id = parsed.get("event_id").and_then(Value::as_str);
            turn.to_caller.push(self.events.error(
                refusal.code,
                refusal.param.as_deref(),
                &refusal.message,
                id,
            ));
        }
        turn
    }

    fn said(&mut self, event: &Value, turn: &mut Turn) -> Result<(), Refusal> {
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "session.update" => self.update(event, turn),
            "input_audio_buffer.append" => self.append(event, turn),
            "input_audio_buffer.commit" => self.commit(turn),
            "conversation.item.create" => self.item(event, turn),
            "response.create" => self.respond(event, turn),
            "" => Err(Refusal::invalid("type", "an event needs a type")),
            kind => Err(unsayable("type", &format!("{kind} is no"))),
        }
    }

    fn update(&mut self, event: &Value, turn: &mut Turn) -> Result<(), Refusal> {
        let session = event.get("session").and_then(Value::as_object);
        let session = session.ok_or_else(|| Refusal::invalid("session", "session must be an object"))?;
        let wanted = self.config.with(session, self.drops)?;
        let setup = wanted.setup(&self.resource);
        if setup != self.setup {
            if self.asked.anything {
                return Err(Refusal::untranslatable(
                    "session",
                    "Gemini's live sessions are set up once: send session.update before anything else",
                ));
            }
            self.setup.clone_from(&setup);
            turn.renew = Some(setup);
        }
        self.config = wanted;
        turn.to_caller.push(self.events.session("session.updated", &self.config));
        Ok(())
    }

    fn append(&mut self, event: &Value, turn: &mut Turn) -> Result<(), Refusal> {
        let sound = event.get("audio").and_then(Value::as_str);
        let sound = sound.ok_or_else(|| Refusal::invalid("audio", "audio must be text in base64"))?;
        self.flush(false, turn);
        if self.config.turns == Turns::Stated && !self.asked.speaking {
            self.asked.speaking = true;
            turn.to_provider.push(input("activityStart", json!({})));
        }
        (self.asked.anything, self.asked.sound) = (true, true);
        turn.to_provider.push(input("audio", json!({ "data": sound, "mimeType": SOUND })));
        Ok(())
    }

    fn commit(&mut self, turn: &mut Turn) -> Result<(), Refusal> {
        if !std::mem::take(&mut self.asked.sound) {
            return Err(Refusal::invalid("type", "there is no sound to commit"));
        }
        if self.config.turns != Turns::Stated {
            turn.to_provider.push(input("audioStreamEnd", true.into()));
        }
        let item = self.events.next_item();
        let committed = json!({ "previous_item_id": null, "item_id": item });
        turn.to_caller.push(self.events.event("input_audio_buffer.committed", committed));
        let part = json!({ "type": "input_audio", "transcript": null });
        let item = json!({ "id": item, "object": "realtime.item", "type": "message", "status": "completed", "role": "user", "content": [part] });
        self.events.item(&item, &mut turn.to_caller);
        Ok(())
    }

    fn item(&mut self, event: &Value, turn: &mut Turn) -> Result<(), Refusal> {
        let item = event.get("item").and_then(Value::as_object);
        let item = item.ok_or_else(|| Refusal::invalid("item", "item must be an object"))?;
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                let said = message(item)?;
                self.asked.size += said.to_string().len();
                self.asked.turns.push(said);
                if self.asked.size > WAITING {
                    self.flush(false, turn);
                }
            }
            Some("function_call_output") => {
                let result = self.result(item)?;
                self.asked.results.push(result);
            }
            kind => {
                return Err(unsayable(
                    "item.type",
                    &format!("{} is no", kind.unwrap_or("an item without a type")),
                ));
            }
        }
        self.asked.anything = true;
        let mut shown = item.clone();
        shown.entry("id").or_insert_with(|| self.events.next_item().into());
        shown.insert("object".to_owned(), "realtime.item".into());
        shown.insert("status".to_owned(), "completed".into());
        self.events.item(&shown.into(), &mut turn.to_caller);
        Ok(())
    }

    /// The result of a function that the model called.
    fn result(&mut self, item: &Map<String, Value>) -> Result<Value, Refusal> {
        let word = |name: &str| item.get(name).and_then(Value::as_str);
        let id = word("call_id").unwrap_or_default();
        let Some(at) = self.asked.calls.iter().position(|(call, _)| call == id) else {
            return Err(Refusal::invalid("item.call_id", format!("no call {id:?} waits for its result")));
        };
        let (id, name) = self.asked.calls.swap_remove(at);
        let output = word("output").unwrap_or_default();
        // An object is the result as it is; anything else is named.
        let result = match serde_json::from_str(output) {
            Ok(Value::Object(result)) => Value::Object(result),
            Ok(_) | Err(_) => json!({ "output": output }),
        };
        Ok(json!({ "id": id, "name": name, "response": result }))
    }

    fn respond(&mut self, event: &Value, turn: &mut Turn) -> Result<(), Refusal> {
        for (name, value) in event.get("response").and_then(Value::as_object).into_iter().flatten() {
            let usual = value.is_null()
                || name == "metadata"
                || (name == "conversation" && value == "auto")
                || (matches!(name.as_str(), "modalities" | "output_modalities")
                    && value
                        .as_array()
                        .is_some_and(|kinds| kinds.iter().any(|kind| kind == "audio") != self.config.silent));
            if !usual && !self.drops {
                return Err(unsayable(&format!("response.{name}"), "this is the session's and no"));
            }
        }
        self.asked.anything = true;
        self.asked.answer = true;
        if std::mem::take(&mut self.asked.speaking) {
            self.flush(false, turn);
            self.asked.sound = false;
            turn.to_provider.push(input("activityEnd", json!({})));
        } else if !self.flush(true, turn) {
            turn.to_provider.push(json!({ "clientContent": { "turnComplete": true } }).to_string());
        }
        Ok(())
    }

    /// Sends what waits. `ends`: the model is to answer. Says whether it will for what was sent.
    fn flush(&mut self, ends: bool, turn: &mut Turn) -> bool {
        self.asked.size = 0;
        let (turns, results) =
            (std::mem::take(&mut self.asked.turns), std::mem::take(&mut self.asked.results));
        let answers = !results.is_empty() || (ends && !turns.is_empty());
        if !turns.is_empty() {
            // The model goes on by itself when the results have come.
            let ends = ends && results.is_empty();
            let content = json!({ "clientContent": { "turns": turns, "turnComplete": ends } });
            turn.to_provider.push(content.to_string());
        }
        if !results.is_empty() {
            turn.to_provider.push(json!({ "toolResponse": { "functionResponses": results } }).to_string());
        }
        answers
    }
}

fn input(kind: &str, value: Value) -> String {
    json!({ "realtimeInput": { kind: value } }).to_string()
}

/// A message as one of Gemini's turns.
fn message(item: &Map<String, Value>) -> Result<Value, Refusal> {
    let role = match item.get("role").and_then(Value::as_str) {
        Some("user") => "user",
        Some("assistant") => "model",
        Some("system" | "developer") => {
            return Err(unsayable("item.role", "what the system says is session.instructions and no"));
        }
        _ => return Err(Refusal::invalid("item.role", "role must be user or assistant")),
    };
    let content = item.get("content").and_then(Value::as_array);
    let content = content.ok_or_else(|| Refusal::invalid("item.content", "content must be a list"))?;
    let parts = content.iter().enumerate().map(|(index, part)| {
        let word = |name: &str| part.get(name).and_then(Value::as_str);
        let at = |name: &str| format!("item.content[{index}].{name}");
        let missing = |name: &str| Refusal::invalid(at(name), format!("{name} is missing"));
        match word("type") {
            Some("input_text" | "output_text" | "text") => {
                Ok(json!({ "text": word("text").ok_or_else(|| missing("text"))? }))
            }
            Some("input_audio") => {
                let sound = word("audio").ok_or_else(|| missing("audio"))?;
                Ok(json!({ "inlineData": { "mimeType": SOUND, "data": sound } }))
            }
            Some("input_image") => {
                let url = word("image_url").ok_or_else(|| missing("image_url"))?;
                let (mime, data) =
                    data_url(url).ok_or_else(|| unsayable(&at("image_url"), "only a data URL is"))?;
                Ok(json!({ "inlineData": { "mimeType": mime, "data": data } }))
            }
            _ => Err(unsayable(&at("type"), "this is no")),
        }
    });
    Ok(json!({ "role": role, "parts": parts.collect::<Result<Vec<_>, _>>()? }))
}
