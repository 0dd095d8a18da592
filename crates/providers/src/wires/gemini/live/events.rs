//! OpenAI's realtime events as callers read them, in the names of the API or of its beta.

use serde_json::{Map, Value, json};

use super::config::Config;

/// Writes events, and numbers what they name.
#[derive(Debug)]
pub(super) struct Events {
    model: String,
    session: String,
    beta: bool,
    events: u64,
    items: u64,
    answers: u64,
}

impl Events {
    pub(super) fn new(model: &str, session: &str, beta: bool) -> Self {
        let session = session.to_owned();
        Self { model: model.to_owned(), session, beta, events: 0, items: 0, answers: 0 }
    }

    /// An event of this type.
    pub(super) fn event(&mut self, kind: &str, members: Value) -> String {
        self.events += 1;
        let mut event = Map::new();
        event.insert("type".to_owned(), self.name(kind).into());
        event.insert("event_id".to_owned(), format!("event_{}_{}", self.session, self.events).into());
        if let Value::Object(members) = members {
            event.extend(members);
        }
        Value::Object(event).to_string()
    }

    /// What the caller's version of the API calls an event.
    fn name<'n>(&self, kind: &'n str) -> &'n str {
        if !self.beta {
            return kind;
        }
        match kind {
            "response.output_text.delta" => "response.text.delta",
            "response.output_text.done" => "response.text.done",
            "response.output_audio.delta" => "response.audio.delta",
            "response.output_audio.done" => "response.audio.done",
            "response.output_audio_transcript.delta" => "response.audio_transcript.delta",
            "response.output_audio_transcript.done" => "response.audio_transcript.done",
            "conversation.item.added" => "conversation.item.created",
            kind => kind,
        }
    }

    /// An item of the conversation that is complete: two events, or one for the beta.
    pub(super) fn item(&mut self, item: &Value, out: &mut Vec<String>) {
        let added = self.event("conversation.item.added", json!({ "previous_item_id": null, "item": item }));
        out.push(added);
        if !self.beta {
            out.push(self.event("conversation.item.done", json!({ "previous_item_id": null, "item": item })));
        }
    }

    /// A complaint, which names the field at fault and the caller's event.
    pub(super) fn error(
        &mut self,
        code: &str,
        param: Option<&str>,
        message: &str,
        event: Option<&str>,
    ) -> String {
        self.event(
            "error",
            json!({ "error": { "type": "invalid_request_error", "code": code, "message": message,
                "param": param, "event_id": event } }),
        )
    }

    /// What the session is.
    pub(super) fn session(&mut self, kind: &str, config: &Config) -> String {
        let mut session = json!({ "object": "realtime.session", "id": format!("sess_{}", self.session),
            "model": self.model, "instructions": config.instructions.as_deref().unwrap_or_default(),
            "tools": config.tools, "tool_choice": if config.calls { "auto" } else { "none" } });
        let modalities = if config.silent { json!(["text"]) } else { json!(["audio"]) };
        let (turns, voice) = (config.turns.shown(), config.voice());
        let more = if self.beta {
            let modalities = if config.silent { modalities } else { json!(["audio", "text"]) };
            json!({ "modalities": modalities, "voice": voice, "input_audio_format": "pcm16",
                "output_audio_format": "pcm16", "turn_detection": turns })
        } else {
            let format = json!({ "type": "audio/pcm", "rate": 24_000 });
            json!({ "type": "realtime", "output_modalities": modalities, "audio": {
                "input": { "format": format, "turn_detection": turns },
                "output": { "format": format, "voice": voice } } })
        };
        if let (Value::Object(session), Value::Object(more)) = (&mut session, more) {
            session.extend(more);
        }
        self.event(kind, json!({ "session": session }))
    }

    /// A new id of an item.
    pub(super) fn next_item(&mut self) -> String {
        self.items += 1;
        format!("item_{}_{}", self.session, self.items)
    }

    /// A new id of an answer.
    pub(super) fn next_answer(&mut self) -> String {
        self.answers += 1;
        format!("resp_{}_{}", self.session, self.answers)
    }

    /// What a part of a message is called: its type, and the member that holds its words.
    pub(super) fn part(&self, spoken: bool) -> (&'static str, &'static str) {
        match (spoken, self.beta) {
            (true, false) => ("output_audio", "transcript"),
            (true, true) => ("audio", "transcript"),
            (false, false) => ("output_text", "text"),
            (false, true) => ("text", "text"),
        }
    }
}
