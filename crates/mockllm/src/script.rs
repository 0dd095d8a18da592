//! What a deployment does: the vocabulary, as Rust builders and as JSON.
//!
//! A behaviour is flat (one act and its numbers) so that its JSON reads like a sentence:
//! `{"do": "status", "status": 429, "headers": {"retry-after": "7"}}`. Unknown fields are refused: a misspelt fault
//! would be a test that proves nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The kind of thing that happens to one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A proper answer in the wire format of the path.
    #[default]
    Ok,
    /// `status` with `headers` and `body` (default: the provider's usual error body).
    Status,
    /// `status` with `headers` and `body`, rendered once; bodies are not looked at: for load.
    Static,
    /// No answer; the connection stays open.
    Hang,
    /// The head of a 200, then nothing.
    HangAfterHeaders,
    /// A proper answer that falls silent after `after` events (half of the body, if not a stream).
    Stall,
    /// A proper answer whose connection closes after `after` events (half of the body, if not a stream).
    Cut,
    /// A 200 stream whose event number `after` (from 0) is an error with code `status`, or `body`; then it ends.
    ErrorEvent,
    /// A 200 without a body.
    Empty,
    /// A 200 stream of `after` SSE comments and no event.
    OnlyComments,
    /// A 200 with a web page.
    Html,
    /// A 200 with JSON that ends in the middle.
    Malformed,
    /// The connection is closed without an answer.
    Close,
    /// The connection is reset without an answer.
    Reset,
    /// The connection is reset after the head of a 200.
    ResetAfterHeaders,
}

/// What happens to one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Behaviour {
    /// The act. Default `ok`.
    #[serde(rename = "do")]
    pub act: Act,
    /// Wait before the head of the answer, in ms. Default 0.
    pub latency_ms: u64,
    /// Wait before the first event with output, in ms. Default 0.
    pub first_token_ms: u64,
    /// Wait before every later event, in ms. Default 0.
    pub gap_ms: u64,
    /// For `stall`, `cut`, `error_event`, `only_comments`: the number of events before. Default 0.
    pub after: u32,
    /// For `status`, `static`, `error_event`. Default 500 (200 for `static`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Headers to add or replace.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body instead of the usual one: a string is sent as it is, anything else as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// For `status`: the body as base64, for bytes that are no text. Wins over `body`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
    /// The text of the answer. Default: a short sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Pieces the text of a stream is sent in, each the whole `text` if it has fewer words. Default: one per word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunks: Option<u32>,
    /// The finish reason. Default: `stop`, or `length` when the caller's limit was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Prompt tokens in the usage. Default: a quarter of the characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// Completion tokens in the usage. Default: the words of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_tokens: Option<u64>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::of(Act::Ok)
    }
}

impl Behaviour {
    /// An act with all numbers at their defaults.
    pub const fn of(act: Act) -> Self {
        Self {
            act,
            latency_ms: 0,
            first_token_ms: 0,
            gap_ms: 0,
            after: 0,
            status: None,
            headers: BTreeMap::new(),
            body: None,
            body_base64: None,
            text: None,
            chunks: None,
            finish: None,
            prompt_tokens: None,
            completion_tokens: None,
        }
    }

    /// A proper answer.
    pub const fn ok() -> Self {
        Self::of(Act::Ok)
    }

    /// An error status with the provider's usual body.
    pub const fn status(status: u16) -> Self {
        let mut behaviour = Self::of(Act::Status);
        behaviour.status = Some(status);
        behaviour
    }

    /// A 429 with `Retry-After` in the given form (seconds, date, …).
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::status(429).header("retry-after", retry_after)
    }

    /// A 400 of a content filter, as Azure words it.
    pub fn content_filtered() -> Self {
        Self::status(400).body(crate::error_body::content_filter())
    }

    /// A 400 that says that the output limit must be at least `floor`.
    pub fn below_token_floor(floor: u64) -> Self {
        Self::status(400).body(crate::error_body::token_floor("max_output_tokens", floor, None))
    }

    /// Silence before the head.
    pub const fn hang() -> Self {
        Self::of(Act::Hang)
    }

    /// Silence after `events` events.
    pub const fn stall(events: u32) -> Self {
        Self::of(Act::Stall).after(events)
    }

    /// A closed connection after `events` events.
    pub const fn cut(events: u32) -> Self {
        Self::of(Act::Cut).after(events)
    }

    /// An error with this code as event number `at` of a 200 stream.
    pub const fn error_event(at: u32, code: u16) -> Self {
        let mut behaviour = Self::of(Act::ErrorEvent).after(at);
        behaviour.status = Some(code);
        behaviour
    }

    /// A prepared answer for load.
    pub fn fixed(body: impl Into<String>) -> Self {
        Self::of(Act::Static).body(Value::String(body.into()))
    }

    /// Wait before the head.
    #[must_use]
    pub const fn latency(mut self, wait: Duration) -> Self {
        self.latency_ms = millis(wait);
        self
    }

    /// Wait before the first output.
    #[must_use]
    pub const fn first_token(mut self, wait: Duration) -> Self {
        self.first_token_ms = millis(wait);
        self
    }

    /// Wait between outputs.
    #[must_use]
    pub const fn gap(mut self, wait: Duration) -> Self {
        self.gap_ms = millis(wait);
        self
    }

    /// Events before the act strikes.
    #[must_use]
    pub const fn after(mut self, events: u32) -> Self {
        self.after = events;
        self
    }

    /// Adds or replaces a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the body; a string is sent as it is.
    #[must_use]
    pub fn body(mut self, body: impl Into<Value>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Sets the body to the bytes that this base64 stands for.
    #[must_use]
    pub fn bytes(mut self, base64: &str) -> Self {
        self.body_base64 = Some(base64.to_owned());
        self
    }

    /// Sets the text of the answer.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the number of pieces of a stream.
    #[must_use]
    pub const fn chunks(mut self, chunks: u32) -> Self {
        self.chunks = Some(chunks);
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.to_owned());
        self
    }
}

const fn millis(wait: Duration) -> u64 {
    // Scripts wait for minutes, not for ages.
    wait.as_secs() * 1000 + wait.subsec_millis() as u64
}

/// A stretch of time with one behaviour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its length in ms.
    pub for_ms: u64,
    /// What calls that arrive in it get.
    pub behaviour: Behaviour,
}

/// Which behaviour a call gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plan {
    /// The same for every call.
    Always(Behaviour),
    /// One per call in this order, then `then` for the rest.
    Sequence {
        /// The first calls.
        steps: Vec<Behaviour>,
        /// All later ones.
        #[serde(default)]
        then: Behaviour,
    },
    /// By the clock, from the moment the script was set, over and over.
    Cycle(Vec<Phase>),
}

impl Default for Plan {
    fn default() -> Self {
        Self::Always(Behaviour::ok())
    }
}

/// What a deployment accepts and does. The default: accepts everything and answers properly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// What calls get that are accepted.
    pub plan: Plan,
    /// The only API key accepted (401 otherwise). Default: any, or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Headers a call must carry with these values (401 otherwise).
    pub require_headers: BTreeMap<String, String>,
    /// The only paths there are, without query (404 otherwise). Default: all that the mock knows.
    pub paths: Vec<String>,
    /// The only models there are (404 otherwise). Default: any.
    pub models: Vec<String>,
    /// Refuse unknown fields of the body (400).
    pub strict: bool,
    /// Serve one call at a time; the others wait.
    pub serialise: bool,
    /// Refuse output limits below this (400).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_floor: Option<u64>,
    /// Tokens thought before the first word: with a smaller output limit the answer is empty with `length`.
    pub reasoning_tokens: u64,
    /// Calls answered per connection; the next one on it finds it closed. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_connection: Option<u64>,
    /// Whole requests kept for inspection, the newest. Default 64.
    pub keep: usize,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            plan: Plan::default(),
            key: None,
            require_headers: BTreeMap::new(),
            paths: Vec::new(),
            models: Vec::new(),
            strict: false,
            serialise: false,
            token_floor: None,
            reasoning_tokens: 0,
            calls_per_connection: None,
            keep: 64,
        }
    }
}

impl From<Behaviour> for Script {
    fn from(behaviour: Behaviour) -> Self {
        Self { plan: Plan::Always(behaviour), ..Self::default() }
    }
}

impl Script {
    /// Answers properly.
    pub fn ok() -> Self {
        Self::default()
    }

    /// These for the first calls, then proper answers.
    pub fn first(steps: impl IntoIterator<Item = Behaviour>) -> Self {
        Self {
            plan: Plan::Sequence { steps: steps.into_iter().collect(), then: Behaviour::ok() },
            ..Self::default()
        }
    }

    /// Fails `count` times like this, then answers properly.
    pub fn fail_then_ok(count: usize, failure: &Behaviour) -> Self {
        Self::first(std::iter::repeat_n(failure.clone(), count))
    }

    /// Proper answers for `up`, then `failure` for `down`, over and over.
    pub fn flapping(up: Duration, down: Duration, failure: Behaviour) -> Self {
        let up = Phase { for_ms: millis(up), behaviour: Behaviour::ok() };
        let down = Phase { for_ms: millis(down), behaviour: failure };
        Self { plan: Plan::Cycle(vec![up, down]), ..Self::default() }
    }

    /// Accepts only this API key.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// Serves only these models.
    #[must_use]
    pub fn models<'a>(mut self, models: impl IntoIterator<Item = &'a str>) -> Self {
        self.models = models.into_iter().map(str::to_owned).collect();
        self
    }

    /// Serves only these paths.
    #[must_use]
    pub fn paths<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        self.paths = paths.into_iter().map(str::to_owned).collect();
        self
    }

    /// Refuses unknown fields.
    #[must_use]
    pub const fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Serves one call at a time.
    #[must_use]
    pub const fn serialised(mut self) -> Self {
        self.serialise = true;
        self
    }

    /// Refuses output limits below `floor`.
    #[must_use]
    pub const fn token_floor(mut self, floor: u64) -> Self {
        self.token_floor = Some(floor);
        self
    }

    /// Thinks for this many tokens first.
    #[must_use]
    pub const fn reasoning(mut self, tokens: u64) -> Self {
        self.reasoning_tokens = tokens;
        self
    }

    /// Answers this many calls per connection.
    #[must_use]
    pub const fn calls_per_connection(mut self, calls: u64) -> Self {
        self.calls_per_connection = Some(calls);
        self
    }

    /// The behaviour of call number `index` (from 0) that arrives `elapsed` after the script was set.
    pub(crate) fn behaviour(&self, index: u64, elapsed: Duration) -> &Behaviour {
        static OK: Behaviour = Behaviour::ok();
        match &self.plan {
            Plan::Always(behaviour) => behaviour,
            Plan::Sequence { steps, then } => {
                usize::try_from(index).ok().and_then(|index| steps.get(index)).unwrap_or(then)
            }
            Plan::Cycle(phases) => {
                let length: u64 = phases.iter().map(|phase| phase.for_ms).sum();
                let Some(mut at) = millis(elapsed).checked_rem(length) else {
                    return &OK;
                };
                for phase in phases {
                    if at < phase.for_ms {
                        return &phase.behaviour;
                    }
                    at -= phase.for_ms;
                }
                &OK
            }
        }
    }
}
