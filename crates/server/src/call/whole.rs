//! An answer in one piece, also when the provider takes several requests to give it.
//!
//! Some providers work in the background: the first answer names a job, later ones tell how it goes, and the result
//! may lie at yet another place. Which request comes next is the translator's to say; here it is sent, within what is
//! left of the attempt's time. A caller that leaves drops all of it.

use bytes::Bytes;
use haleway_health::Class;
use haleway_providers::objects::sealed;
use haleway_providers::{Follow, Operation, Progress, Reply, events_of};
use haleway_upstream::{Connection, Deadlines};
use haleway_wire::Envelope;
use haleway_wire::chat::{AnswerKind, inspect_answer};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use tokio::time::Instant;

use super::attempt::{ANSWER_LIMIT, Ask, ERROR_LIMIT, Ended, blame, failed, is_content, judged, transport};
use crate::call::failure::Failed;
use crate::call::guard::Attempt;
use crate::call::judge::{Judge, answer_kind};

/// The type of answers unless their translator says otherwise.
const JSON: &str = "application/json";

/// What the later requests of a call need.
pub(super) struct Road {
    /// Headers of the first request, where later ones carry its credential.
    pub(super) headers: Option<HeaderMap>,
    /// When the attempt began.
    pub(super) began: Instant,
}

/// Reads an answer to its end, and checks that it is one.
pub(super) async fn answer(
    attempt: Attempt,
    first: haleway_upstream::Reply,
    mut reply: Reply,
    ask: &Ask<'_>,
    judge: Judge,
    road: &Road,
) -> Ended {
    let mut answer = first;
    loop {
        let (status, mut headers) = (answer.status, answer.headers.clone());
        let body = match answer.read_all(ANSWER_LIMIT).await {
            Ok(body) => body,
            Err(fault) => return failed(attempt, ask.weigh(transport(&fault, ask.limits), true)),
        };
        let Reply::Translated(translator) = &mut reply else {
            return checked(attempt, status, headers, body, ask, judge);
        };
        let (follow, is_last) = match translator.progress(&body) {
            Ok(Progress::Done(body)) => {
                headers.remove(CONTENT_TYPE);
                let kind = translator.content_type();
                if kind != JSON {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
                }
                return checked(attempt, status, headers, body, ask, judge);
            }
            Ok(Progress::Refused(refusal)) => {
                attempt.succeed(None);
                return Ended::Refused(refusal);
            }
            Ok(Progress::Again(follow)) => (follow, false),
            Ok(Progress::Fetch(follow)) => (follow, true),
            Err(error) if says_it_failed(&body) => {
                tracing::debug!(error = %error, "an error inside a success status");
                return judged(attempt, judge.answer(status.as_u16(), headers, &body), ask);
            }
            Err(error) => {
                let fault = Failed::own(Class::MalformedResponse, "bad_answer", error.to_string());
                return failed(attempt, ask.weigh(fault, true));
            }
        };
        answer = match road.go(&attempt, follow, ask).await {
            Ok(answer) => answer,
            Err(fault) => return failed(attempt, ask.weigh(*fault, true)),
        };
        if !answer.status.is_success() {
            let (status, headers) = (answer.status.as_u16(), answer.headers.clone());
            let body = answer.read_all(ERROR_LIMIT).await.unwrap_or_default();
            return judged(attempt, judge.answer(status, headers, &body), ask);
        }
        if is_last {
            return fetched(attempt, answer, ask).await;
        }
    }
}

/// The bytes that the provider offered: the caller's as they come.
async fn fetched(attempt: Attempt, answer: haleway_upstream::Reply, ask: &Ask<'_>) -> Ended {
    if is_content(ask) {
        let (_, headers, relay) = answer.into_relay();
        return Ended::Download { headers, relay: Box::new(relay), attempt };
    }
    let (status, headers) = (answer.status, answer.headers.clone());
    match answer.read_all(ANSWER_LIMIT).await {
        Ok(body) => {
            attempt.succeed(None);
            Ended::Answer { status, headers, body, usage: None }
        }
        Err(fault) => failed(attempt, transport(&fault, ask.limits)),
    }
}

impl Road {
    /// Sends the next request of the call.
    async fn go(
        &self,
        attempt: &Attempt,
        follow: Follow,
        ask: &Ask<'_>,
    ) -> Result<haleway_upstream::Reply, Box<Failed>> {
        let limits = ask.limits.deadlines;
        let until = limits.total.or(limits.first_token).and_then(|limit| self.began.checked_add(limit));
        let left = |now: Instant| until.map(|until| until.saturating_duration_since(now));
        let wait = left(Instant::now()).map_or(follow.wait, |left| left.min(follow.wait));
        tokio::time::sleep(wait).await;
        let left = left(Instant::now());
        if left.is_some_and(|left| left.is_zero()) {
            let late = Failed::own(Class::Timeout, "total", "the job did not end in time");
            return Err(Box::new(blame(late, ask.limits)));
        }
        let request = self.request(follow);
        let deadlines = Deadlines { total: left, first_token: None, ..limits };
        let sent = attempt.deployment().upstream.send(request, deadlines, Connection::Pooled).await;
        sent.map_err(|fault| Box::new(transport(&fault, ask.limits)))
    }

    fn request(&self, follow: Follow) -> Request<Bytes> {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = follow.uri;
        if let Some(headers) = self.headers.as_ref().filter(|_| follow.credential) {
            *request.headers_mut() = headers.clone();
            request.headers_mut().remove(CONTENT_TYPE);
            request.headers_mut().remove(CONTENT_LENGTH);
        } else {
            let agent = concat!("haleway/", env!("CARGO_PKG_VERSION"));
            request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(agent));
        }
        request
    }
}

/// Looks at an answer in the client's shape, and finishes it.
fn checked(
    attempt: Attempt,
    status: StatusCode,
    mut headers: HeaderMap,
    body: Bytes,
    ask: &Ask<'_>,
    judge: Judge,
) -> Ended {
    let mut usage = None;
    if let Some(kind) = answer_kind(ask.operation) {
        let facts = inspect_answer(&body, kind);
        if facts.error || !facts.structure_ok || facts.finish.is_some_and(|finish| finish.is_failure()) {
            return judged(attempt, judge.answer(status.as_u16(), headers, &body), ask);
        }
        usage = facts.usage;
    } else if is_media(ask.operation) && begins_like_error(&body) && looks_like_error(&body) {
        return judged(attempt, judge.answer(status.as_u16(), headers, &body), ask);
    }
    let body = if ask.errand.is_some() {
        match sealed(ask.operation, attempt.deployment().id(), &body) {
            Some(body) => body,
            None if body.is_empty() => body,
            None => {
                let message = "the answer is no JSON object";
                let fault = Failed::own(Class::MalformedResponse, "bad_answer", message);
                return failed(attempt, ask.weigh(fault, true));
            }
        }
    } else if ask.stream {
        match events_of(&body, ask.wants_usage) {
            Some(events) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
                events
            }
            None => body,
        }
    } else {
        body
    };
    if ask.operation == Operation::CountTokens {
        attempt.finish_unjudged();
    } else {
        attempt.succeed(usage);
    }
    Ended::Answer { status, headers, body, usage }
}

/// Whether a body with a success status is an error, or an answer that ends like one.
fn says_it_failed(body: &[u8]) -> bool {
    let facts = inspect_answer(body, AnswerKind::Chat);
    facts.error || facts.finish.is_some_and(|finish| finish.is_failure())
}

/// Sound, pictures and what is made of them: answers of which only an error is looked at.
const fn is_media(operation: Operation) -> bool {
    operation.file().is_some() || matches!(operation, Operation::Images | Operation::Speech)
}

/// An error is said at once; what follows may be megabytes of a picture.
fn begins_like_error(body: &[u8]) -> bool {
    let start = body.get(..512).unwrap_or(body);
    start.trim_ascii_start().starts_with(b"{") && memchr::memmem::find(start, b"\"error\"").is_some()
}

fn looks_like_error(body: &[u8]) -> bool {
    Envelope::parse(body).is_ok_and(|envelope| envelope.get("error").is_some_and(|raw| raw.get() != "null"))
}

/// Whether a request that failed with this status may have been carried out; 0 and 2xx: no whole answer came.
pub(super) const fn may_have_run(status: u16) -> bool {
    matches!(status, 0..400 | 408 | 500 | 502 | 504)
}
