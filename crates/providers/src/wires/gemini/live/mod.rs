//! Gemini's live sessions, spoken to as OpenAI's realtime sessions are.
//!
//! A [`Dialogue`] reads the messages of both sides and says what each leads to; the sockets are its caller's. Google
//! wants the whole set-up as its first message and takes no other later, while OpenAI's callers state theirs when the
//! session has begun. So a session is set up with its model alone, which proves that it is served, and begun anew when
//! the caller states more before anything was said. What has no counterpart is refused by name, in an `error` event
//! that leaves the session as it is.

mod client;
mod config;
mod events;
mod server;

use serde_json::{Value, json};

use config::Config;
use events::Events;

/// What one message leads to, in this order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The provider's session must be begun anew: its first message.
    pub renew: Option<String>,
    /// Messages for the provider.
    pub to_provider: Vec<String>,
    /// Events for the caller.
    pub to_caller: Vec<String>,
}

/// One session's state.
#[derive(Debug)]
pub struct Dialogue {
    /// The model as set-ups name it.
    resource: String,
    /// What the provider does not know is left out instead of refused.
    drops: bool,
    /// The set-up of the provider's session.
    setup: String,
    config: Config,
    events: Events,
    asked: Asked,
    answer: Option<Answer>,
    /// What the caller says, written down, as far as it came.
    heard: String,
    /// The tokens of the turn that goes on, as the provider counts them.
    usage: Value,
}

/// What the caller has said.
#[derive(Debug, Default)]
struct Asked {
    /// Something was said: the set-up stands.
    anything: bool,
    /// Turns that wait for `response.create`.
    turns: Vec<Value>,
    /// How large they are, in bytes.
    size: usize,
    /// Results of functions that wait for it.
    results: Vec<Value>,
    /// Without the provider's own detection of speech: the caller is speaking.
    speaking: bool,
    /// An answer was asked for and has not begun.
    answer: bool,
    /// Sound came since the last commit.
    sound: bool,
    /// Functions that the model called, by the ids of their calls.
    calls: Vec<(String, String)>,
}

/// An answer that is being given.
#[derive(Debug)]
struct Answer {
    id: String,
    /// The message, once it has begun.
    message: Option<Message>,
    /// The items that are complete.
    output: Vec<Value>,
}

/// The message of an answer.
#[derive(Debug)]
struct Message {
    item: String,
    /// It is spoken; otherwise it is written.
    spoken: bool,
    /// The words.
    text: String,
}

impl Dialogue {
    /// A session of `resource`, the model as set-ups name it, which callers know as `model`. `id` tells it from other
    /// sessions. `beta`: the caller reads the events of the API's beta. `drops`: see `drop_params`.
    pub(crate) fn new(resource: &str, model: &str, id: &str, beta: bool, drops: bool) -> Self {
        Self {
            resource: resource.to_owned(),
            drops,
            setup: hello(resource),
            config: Config::default(),
            events: Events::new(model, id, beta),
            asked: Asked::default(),
            answer: None,
            heard: String::new(),
            usage: Value::Null,
        }
    }

    /// Whether a message is the one with which the provider says that it is ready.
    pub fn is_ready(&self, message: &[u8]) -> bool {
        serde_json::from_slice(message).is_ok_and(|message| is_ready(&message))
    }

    /// The first event for the caller.
    pub fn opened(&mut self) -> String {
        self.events.session("session.created", &self.config)
    }

    /// The provider refused the set-up that the caller had asked for: the last event for the caller.
    pub fn refused(&mut self, message: &str) -> String {
        self.events.error("invalid_value", Some("session"), message, None)
    }
}

/// The first message of a session that names its model and nothing else.
pub(crate) fn hello(resource: &str) -> String {
    json!({ "setup": { "model": resource } }).to_string()
}

/// Whether a session's first message says that it is ready.
pub(crate) fn is_ready(message: &Value) -> bool {
    message.get("setupComplete").is_some()
}
