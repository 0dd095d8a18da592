//! The `haleway` object: how a call was routed, inside its answer, for callers that ask for it.
//!
//! In a JSON answer it is a member of the top level. In a stream it comes at the end: for chats a chunk without choices
//! before `[DONE]`, which every client takes like a chunk of usage; on the wires whose events have names an event of its own
//! after the last. Errors carry it in `error.haleway`. It names ids, reasons and times; never a key or an address.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use haleway_config::TraceLevel;
use haleway_routing::{CallPlan, GiveUp};
use haleway_wire::chat::StreamKind;
use haleway_wire::sse;
use http::HeaderMap;
use serde_json::{Map, Value, json};

use crate::call::failure::Failed;
use crate::call::trail::{Candidate, Trail};
use crate::deployment::Deployment;

/// The header with which a caller asks.
pub(crate) const HEADER: &str = "x-haleway-trace";

/// Whether the answer of a call with these headers carries the object.
pub(crate) fn is_wanted(level: TraceLevel, headers: Option<&HeaderMap>) -> bool {
    match level {
        TraceLevel::Never => false,
        TraceLevel::Always => true,
        TraceLevel::OnRequest => headers.and_then(|headers| headers.get(HEADER)).is_some_and(|value| {
            let value = value.as_bytes();
            value.eq_ignore_ascii_case(b"true") || value == b"1"
        }),
    }
}

/// How a call was routed.
#[derive(Debug, Clone)]
pub(crate) struct Trace {
    object: Map<String, Value>,
    /// `id`, `object`, `created` and `model` of the stream's chunks.
    head: Option<Map<String, Value>>,
}

impl Trace {
    /// Of a call that `deployment` serves, after the attempts of `trail`.
    pub(crate) fn served(
        deployment: &Deployment,
        plan: &CallPlan<'_>,
        trail: &Trail,
        total: Duration,
    ) -> Self {
        let mut object = route(plan, trail, trail.failures() + 1, total);
        object.insert("deployment".to_owned(), json!(&**deployment.id()));
        if let Some(panic) = trail.panic() {
            object.insert("panic".to_owned(), panic.into());
        }
        Self { object, head: None }
    }

    /// Of a call that nobody served.
    pub(crate) fn gave_up(
        reason: GiveUp,
        last: Option<&Deployment>,
        plan: &CallPlan<'_>,
        trail: &Trail,
        total: Duration,
    ) -> Self {
        let mut object = route(plan, trail, trail.failures(), total);
        object.insert("deployment".to_owned(), json!(last.map(|deployment| &**deployment.id())));
        object.insert("gave_up".to_owned(), reason.code().into());
        Self { object, head: None }
    }

    /// `deployment` went on with the stream when it `failed` after so many bytes of text.
    pub(crate) fn resumed(&mut self, deployment: &Deployment, failed: &Failed, after: usize) {
        let broke = self.object.insert("deployment".to_owned(), json!(&**deployment.id()));
        let entry = json!({
            "from": broke,
            "deployment": &**deployment.id(),
            "reason": failed.word(),
            "class": failed.class.as_str(),
            "after_bytes": after,
        });
        if let Value::Array(resumed) = self.object.entry("resumed").or_insert_with(|| json!([])) {
            resumed.push(entry);
        }
    }

    /// The object itself.
    pub(crate) fn into_object(self) -> Map<String, Value> {
        self.object
    }

    /// Puts the object into a whole JSON answer; `None` when it is none that has members.
    pub(crate) fn splice(&self, body: &[u8]) -> Option<Bytes> {
        let body = body.trim_ascii_end();
        let open = body.strip_suffix(b"}")?;
        if !body.trim_ascii_start().starts_with(b"{") {
            return None;
        }
        let comma: &[u8] = if open.trim_ascii().ends_with(b"{") { b"" } else { b"," };
        let object = serde_json::to_vec(&self.object).ok()?;
        Some(Bytes::from([open, comma, b"\"haleway\":", &object, b"}"].concat()))
    }

    /// Passes a piece of a stream on, with the object before its end mark when it holds that. Answers whether it did.
    pub(crate) fn weave(&mut self, kind: StreamKind, bytes: Bytes) -> (Bytes, bool) {
        if kind != StreamKind::Chat {
            return (bytes, false);
        }
        if self.head.is_none() {
            self.head = head(&bytes);
        }
        match end_mark(&bytes) {
            None => (bytes, false),
            Some(at) => {
                let (before, after) = bytes.split_at(at);
                (Bytes::from([before, &self.event(kind), after].concat()), true)
            }
        }
    }

    /// The object as an event of a stream.
    pub(crate) fn event(&self, kind: StreamKind) -> Bytes {
        let mut out = BytesMut::new();
        let (name, body) = match kind {
            StreamKind::Chat => {
                let mut chunk = self.head.clone().unwrap_or_default();
                chunk.insert("choices".to_owned(), json!([]));
                chunk.insert("haleway".to_owned(), Value::Object(self.object.clone()));
                (None, Value::Object(chunk))
            }
            // Sound and pictures are not described.
            StreamKind::Media => return Bytes::new(),
            StreamKind::Responses | StreamKind::Messages => {
                (Some("haleway"), json!({"type": "haleway", "haleway": self.object}))
            }
        };
        sse::write_event(&mut out, name, body.to_string().as_bytes());
        out.freeze()
    }
}

fn route(plan: &CallPlan<'_>, trail: &Trail, attempts: u32, total: Duration) -> Map<String, Value> {
    let fallbacks = plan.fallbacks_entered();
    let mut object = Map::new();
    object.insert("model_group".to_owned(), plan.model().into());
    object.insert("attempts".to_owned(), attempts.into());
    object.insert("fallbacks".to_owned(), fallbacks.into());
    object.insert("fallback_group".to_owned(), json!((fallbacks > 0).then(|| plan.model())));
    object.insert("candidates".to_owned(), trail.candidates().iter().map(candidate).collect());
    object.insert("waited_ms".to_owned(), millis(trail.waits()));
    object.insert("duration_ms".to_owned(), millis(total));
    object
}

fn candidate(candidate: &Candidate) -> Value {
    let Candidate { id, group, reason, tried } = candidate;
    match tried {
        None => json!({"deployment": &**id, "group": group, "outcome": "skipped", "reason": reason}),
        Some(tried) => json!({
            "deployment": &**id,
            "group": group,
            "outcome": "failed",
            "reason": reason,
            "class": tried.class.as_str(),
            "status": (tried.status > 0).then_some(tried.status),
            "took_ms": millis(tried.took),
        }),
    }
}

fn millis(span: Duration) -> Value {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).into()
}

/// What the chunks of a stream have in common, from the first one that is JSON.
fn head(bytes: &[u8]) -> Option<Map<String, Value>> {
    let chunk = lines(bytes).find_map(|(_, line)| serde_json::from_slice::<Map<String, Value>>(line).ok())?;
    let kept = |(name, _): &(String, Value)| matches!(name.as_str(), "id" | "object" | "created" | "model");
    Some(chunk.into_iter().filter(kept).collect())
}

/// Where the line of the end mark begins.
fn end_mark(bytes: &[u8]) -> Option<usize> {
    lines(bytes).find(|(_, data)| *data == b"[DONE]").map(|(at, _)| at)
}

/// The data lines of some events, each with the place where it begins.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    bytes.split_inclusive(|byte| *byte == b'\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        Some((start, line.strip_prefix(b"data:")?.trim_ascii()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> Trace {
        let mut object = Map::new();
        object.insert("deployment".to_owned(), "d1".into());
        Trace { object, head: None }
    }

    #[test]
    fn a_whole_answer_gains_one_member() {
        for (body, whole) in [
            ("{\"a\": 1}\n", Some("{\"a\": 1,\"haleway\":{\"deployment\":\"d1\"}}")),
            (" { }", Some(" { \"haleway\":{\"deployment\":\"d1\"}}")),
            ("[1]", None),
            ("", None),
            ("a}", None),
        ] {
            let spliced = trace().splice(body.as_bytes());
            assert_eq!(spliced.as_deref().map(|body| std::str::from_utf8(body).unwrap()), whole, "{body}");
        }
    }

    #[test]
    fn the_end_mark_in_a_text_is_none() {
        let text =
            Bytes::from_static(b"data: {\"choices\":[{\"delta\":{\"content\":\"data: [DONE]\"}}]}\n\n");
        assert_eq!(trace().weave(StreamKind::Chat, text.clone()), (text, false));
        let (out, told) = trace().weave(StreamKind::Chat, Bytes::from_static(b": x\n\ndata:[DONE]\r\n\r\n"));
        let expected = "data: {\"choices\":[],\"haleway\":{\"deployment\":\"d1\"}}\n\n";
        assert_eq!((out, told), (Bytes::from(format!(": x\n\n{expected}data:[DONE]\r\n\r\n")), true));
    }
}
