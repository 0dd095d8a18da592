//! What a response repeats of its request.

use serde_json::{Map, Value};

use super::super::Asked;

/// The members of a response that repeat its request.
#[derive(Debug)]
pub(in crate::bridge) struct Echo(Map<String, Value>);

impl Echo {
    /// Reads them; what the client left out has OpenAI's default.
    pub(in crate::bridge) fn of(asked: &Asked<'_>) -> Self {
        const REPEATED: [(&str, &str); 13] = [
            ("instructions", "null"),
            ("max_output_tokens", "null"),
            ("metadata", "{}"),
            ("parallel_tool_calls", "true"),
            ("reasoning", r#"{"effort":null,"summary":null}"#),
            ("service_tier", "null"),
            ("temperature", "null"),
            ("text", r#"{"format":{"type":"text"}}"#),
            ("tool_choice", "\"auto\""),
            ("tools", "[]"),
            ("top_p", "null"),
            ("truncation", "\"disabled\""),
            ("user", "null"),
        ];
        let mut members = Map::new();
        for (name, default) in REPEATED {
            let text = asked.get(name).map_or(default, |raw| raw.get());
            members.insert(name.to_owned(), serde_json::from_str(text).unwrap_or_default());
        }
        members.insert("previous_response_id".to_owned(), Value::Null);
        // Chat completions are kept nowhere: nobody can ask for this response again.
        members.insert("store".to_owned(), false.into());
        Self(members)
    }

    /// Adds them to a response.
    pub(super) fn add_to(&self, response: &mut Map<String, Value>) {
        for (name, value) in &self.0 {
            response.insert(name.clone(), value.clone());
        }
    }
}
