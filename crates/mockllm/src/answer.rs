//! From a call and a behaviour to a response: the checks a provider makes, then the act.

use std::collections::VecDeque;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::body::Piece;
use crate::request::{Call, Operation, key};
use crate::script::{Act, Behaviour, Script};
use crate::{anthropic, error_body, media, openai};

/// What is said in an answer, whatever the wire format.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) id: String,
    /// Seconds since the epoch, of a clock that starts with the mock.
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) pieces: Vec<String>,
    pub(crate) finish: String,
    pub(crate) prompt_tokens: u64,
    pub(crate) completion_tokens: u64,
    pub(crate) reasoning_tokens: u64,
    /// The models served, for model lists.
    pub(crate) models: Vec<String>,
}

const DEFAULT_TEXT: &str = "Hello! How can I help you today?";

/// A moment in 2026: answers look current and are the same in every run.
const CREATED_BASE: u64 = 1_780_000_000;

impl Told {
    pub(crate) fn new(
        call: &Call,
        script: &Script,
        behaviour: &Behaviour,
        number: u64,
        uptime: Duration,
    ) -> Self {
        let mut pieces = pieces(behaviour);
        let mut finish = "stop";
        let mut reasoning_tokens = script.reasoning_tokens;
        if let Some((_, limit)) = call.output_limit() {
            reasoning_tokens = reasoning_tokens.min(limit);
            let left = usize::try_from(limit - reasoning_tokens).unwrap_or(usize::MAX);
            if pieces.len() > left {
                pieces.truncate(left);
                finish = "length";
            }
        }
        let completion_tokens = pieces.len() as u64 + reasoning_tokens;
        let model = call.model().unwrap_or("mock").to_owned();
        Self {
            // Odd multiplier: distinct for distinct numbers, and nothing like a counter.
            id: format!("{:016x}", number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            created: CREATED_BASE + uptime.as_secs(),
            models: if script.models.is_empty() { vec![model.clone()] } else { script.models.clone() },
            model,
            pieces,
            finish: behaviour.finish.clone().unwrap_or_else(|| finish.to_owned()),
            prompt_tokens: behaviour.prompt_tokens.unwrap_or_else(|| call.prompt_tokens()),
            completion_tokens: behaviour.completion_tokens.unwrap_or(completion_tokens),
            reasoning_tokens,
        }
    }

    pub(crate) fn text(&self) -> String {
        self.pieces.concat()
    }
}

fn pieces(behaviour: &Behaviour) -> Vec<String> {
    let text = behaviour.text.as_deref().unwrap_or(DEFAULT_TEXT);
    let words: Vec<&str> = text.split_inclusive(' ').filter(|word| !word.is_empty()).collect();
    let Some(chunks) = behaviour.chunks.map(|chunks| chunks as usize).filter(|chunks| *chunks > 0) else {
        return words.into_iter().map(str::to_owned).collect();
    };
    if words.len() < chunks {
        return vec![text.to_owned(); chunks];
    }
    words.chunks(words.len().div_ceil(chunks)).map(|words| words.concat()).collect()
}

/// One SSE event, rendered.
#[derive(Debug)]
pub(crate) struct Event {
    bytes: Bytes,
    is_output: bool,
}

impl Event {
    fn of(text: String) -> Self {
        Self { bytes: Bytes::from(text), is_output: false }
    }

    pub(crate) fn data(body: &Value) -> Self {
        Self::of(format!("data: {body}\n\n"))
    }

    pub(crate) fn named(name: &str, body: &Value) -> Self {
        Self::of(format!("event: {name}\ndata: {body}\n\n"))
    }

    pub(crate) fn done() -> Self {
        Self::of("data: [DONE]\n\n".to_owned())
    }

    /// Bytes as they are: output.
    pub(crate) fn bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes::from(bytes), is_output: true }
    }

    /// Marks an event that carries output: pacing begins with the first.
    pub(crate) const fn output(mut self) -> Self {
        self.is_output = true;
        self
    }
}

/// A proper answer, before the act has its way with it.
#[derive(Debug)]
pub(crate) enum Reply {
    Json(Value),
    Raw(&'static str, Bytes),
    Events(Vec<Event>),
    /// Bytes that arrive piece by piece.
    Sound(&'static str, Vec<Event>),
}

/// What goes onto the wire.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) pieces: VecDeque<Piece>,
}

impl Outcome {
    fn new(status: u16, content_type: &'static str, body: Bytes) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        let mut pieces = VecDeque::new();
        if !body.is_empty() {
            pieces.push_back(Piece::Data(body));
        }
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            headers,
            pieces,
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", Bytes::from(body.to_string()))
    }

    fn with_headers(mut self, behaviour: &Behaviour) -> Self {
        for (name, value) in &behaviour.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
                self.headers.insert(name, value);
            }
        }
        self
    }
}

/// What a provider refuses before it works: path, key, model, fields, limits.
pub(crate) fn refusal(call: &Call, script: &Script) -> Option<Outcome> {
    let operation = call.operation();
    let is_anthropic = operation.is_some_and(Operation::is_anthropic);
    let path = call.path();
    if !script.paths.is_empty() && !script.paths.iter().any(|known| known == path) {
        return Some(Outcome::json(404, &error_body::unknown_path(call.head.method.as_str(), path)));
    }
    let has = |name: &str, value: &str| call.head.headers.get(name).is_some_and(|got| got == value);
    let right_key = script.key.as_deref().is_none_or(|wanted| key(&call.head.headers) == Some(wanted));
    if !right_key || !script.require_headers.iter().all(|(name, value)| has(name, value)) {
        return Some(Outcome::json(401, &error_body::wrong_key(is_anthropic)));
    }
    if let Some(model) = call.model()
        && !script.models.is_empty()
        && !script.models.iter().any(|known| known == model)
    {
        return Some(Outcome::json(404, &error_body::unknown_model(model, is_anthropic)));
    }
    let known = operation.map(Operation::fields).unwrap_or_default();
    if script.strict
        && !known.is_empty()
        && let Some(fields) = call.body.as_object()
        && let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str()))
    {
        return Some(Outcome::json(400, &error_body::unknown_field(field, is_anthropic)));
    }
    if let Some(file) = operation.and_then(Operation::file)
        && !call.body.get(file).is_some_and(Value::is_object)
    {
        return Some(Outcome::json(400, &error_body::missing(file)));
    }
    if let (Some(floor), Some((field, limit))) = (script.token_floor, call.output_limit())
        && limit < floor
    {
        return Some(Outcome::json(400, &error_body::token_floor(field, floor, Some(limit))));
    }
    None
}

/// The outcome of an act. `told` is only asked for by acts that say something.
pub(crate) fn outcome(call: &Call, behaviour: &Behaviour, told: &Told) -> Outcome {
    let operation = call.operation();
    let is_anthropic = operation.is_some_and(Operation::is_anthropic);
    let outcome = match behaviour.act {
        Act::Ok | Act::Stall | Act::Cut | Act::ErrorEvent => match operation {
            None => Outcome::json(404, &error_body::unknown_path(call.head.method.as_str(), call.path())),
            Some(operation) => proper(operation, call, behaviour, told),
        },
        Act::Status => error_status(behaviour, is_anthropic),
        Act::Static => fixed(behaviour),
        Act::HangAfterHeaders => unfinished(call, VecDeque::from([Piece::Hang])),
        Act::ResetAfterHeaders => unfinished(call, VecDeque::from([Piece::Wait(RESET_FLUSH), Piece::Reset])),
        Act::Empty => unfinished(call, VecDeque::new()),
        Act::OnlyComments => unfinished(call, comments(behaviour)),
        Act::Html => Outcome::new(200, "text/html; charset=utf-8", Bytes::from_static(WEB_PAGE)),
        Act::Malformed => Outcome::new(
            200,
            "application/json",
            Bytes::from_static(br#"{"id": "chatcmpl-1", "object": "chat.comp"#),
        ),
        // Never answered: the connection layer ends these calls before asking.
        Act::Hang | Act::Close | Act::Reset => Outcome::new(500, "text/plain", Bytes::new()),
    };
    outcome.with_headers(behaviour)
}

const WEB_PAGE: &[u8] =
    b"<!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>";

/// hyper drops what it has not flushed when a body fails: a pause lets the client see what came before.
const CUT_FLUSH: Duration = Duration::from_millis(5);
/// A reset also discards what the client's kernel holds unread: a longer pause.
const RESET_FLUSH: Duration = Duration::from_millis(20);

fn unfinished(call: &Call, pieces: VecDeque<Piece>) -> Outcome {
    let content_type = if call.streams() { "text/event-stream; charset=utf-8" } else { "application/json" };
    Outcome { pieces, ..Outcome::new(200, content_type, Bytes::new()) }
}

fn comments(behaviour: &Behaviour) -> VecDeque<Piece> {
    let gap = Duration::from_millis(behaviour.gap_ms);
    let mut pieces = VecDeque::new();
    for _ in 0..behaviour.after {
        wait(&mut pieces, gap);
        pieces.push_back(Piece::Data(Bytes::from_static(b": keep-alive\n\n")));
    }
    pieces
}

fn error_status(behaviour: &Behaviour, is_anthropic: bool) -> Outcome {
    let status = behaviour.status.unwrap_or(500);
    if let Some(encoded) = &behaviour.body_base64 {
        let bytes = STANDARD.decode(encoded).unwrap_or_default();
        return Outcome::new(status, "application/octet-stream", Bytes::from(bytes));
    }
    match &behaviour.body {
        Some(Value::String(text)) => {
            Outcome::new(status, "text/plain; charset=utf-8", Bytes::from(text.clone()))
        }
        Some(body) => Outcome::json(status, body),
        None => Outcome::json(status, &error_body::usual(status, is_anthropic)),
    }
}

/// A prepared answer: also rendered once, when the script is set.
pub(crate) fn fixed(behaviour: &Behaviour) -> Outcome {
    let body = match &behaviour.body {
        Some(Value::String(text)) => Bytes::from(text.clone()),
        Some(body) => Bytes::from(body.to_string()),
        None => Bytes::new(),
    };
    Outcome::new(behaviour.status.unwrap_or(200), "application/json", body).with_headers(behaviour)
}

fn proper(operation: Operation, call: &Call, behaviour: &Behaviour, told: &Told) -> Outcome {
    let reply = if operation.is_anthropic() {
        anthropic::answer(operation, call, told)
    } else {
        media::answer(operation, call, told).unwrap_or_else(|| openai::answer(operation, call, told))
    };
    match reply {
        Reply::Json(body) => {
            let body = behaviour.body.as_ref().unwrap_or(&body).to_string();
            whole("application/json", Bytes::from(body), behaviour.act)
        }
        Reply::Raw(content_type, body) => whole(content_type, body, behaviour.act),
        Reply::Events(events) => Outcome {
            pieces: paced(events, behaviour, operation.is_anthropic()),
            ..Outcome::new(200, "text/event-stream; charset=utf-8", Bytes::new())
        },
        Reply::Sound(content_type, pieces) => Outcome {
            pieces: paced(pieces, behaviour, false),
            ..Outcome::new(200, content_type, Bytes::new())
        },
    }
}

fn whole(content_type: &'static str, body: Bytes, act: Act) -> Outcome {
    if !matches!(act, Act::Stall | Act::Cut) {
        return Outcome::new(200, content_type, body);
    }
    let half = body.slice(..body.len() / 2);
    let mut pieces = VecDeque::from([Piece::Data(half)]);
    strike(&mut pieces, act);
    Outcome { pieces, ..Outcome::new(200, content_type, Bytes::new()) }
}

fn paced(events: Vec<Event>, behaviour: &Behaviour, is_anthropic: bool) -> VecDeque<Piece> {
    let first = Duration::from_millis(behaviour.first_token_ms);
    let gap = Duration::from_millis(behaviour.gap_ms);
    let limit = if behaviour.act == Act::Ok { usize::MAX } else { behaviour.after as usize };
    let mut pieces = VecDeque::with_capacity(events.len() + 2);
    let mut speaking = false;
    for event in events.into_iter().take(limit) {
        if speaking {
            wait(&mut pieces, gap);
        } else if event.is_output {
            speaking = true;
            wait(&mut pieces, first);
        }
        pieces.push_back(Piece::Data(event.bytes));
    }
    if behaviour.act == Act::ErrorEvent {
        let usual = || error_body::event(behaviour.status.unwrap_or(500), is_anthropic);
        let body = behaviour.body.clone().unwrap_or_else(usual);
        let event = if is_anthropic { Event::named("error", &body) } else { Event::data(&body) };
        pieces.push_back(Piece::Data(event.bytes));
    }
    strike(&mut pieces, behaviour.act);
    pieces
}

fn strike(pieces: &mut VecDeque<Piece>, act: Act) {
    if act == Act::Stall {
        pieces.push_back(Piece::Hang);
    } else if act == Act::Cut {
        pieces.extend([Piece::Wait(CUT_FLUSH), Piece::Cut]);
    }
}

fn wait(pieces: &mut VecDeque<Piece>, wait: Duration) {
    if !wait.is_zero() {
        pieces.push_back(Piece::Wait(wait));
    }
}
