//! One attempt: build, send, judge, and decide whether its answer may be committed to the caller.
//!
//! Nothing is committed before the answer is whole or, for a stream, before the first event that carries output. Until
//! then another deployment may still serve the call and the caller will not know.

use std::collections::VecDeque;

use bytes::Bytes;
use haleway_health::Class;
use haleway_providers::{CallOptions, ClientBody, Operation, Refusal, Reply, UnsignedCall};
use haleway_upstream::{Connection, FaultKind, Lease, Phase};
use haleway_wire::Envelope;
use haleway_wire::chat::{AnswerKind, inspect_answer};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::call::failure::Failed;
use crate::call::guard::{Attempt, Evidence};
use crate::call::judge::{Judge, Judged, answer_kind, stream_kind};
use crate::call::stream::{Piece, StreamReader};
use crate::deployment::AttemptLimits;

/// The type of answers unless their translator says otherwise.
const JSON: &str = "application/json";
/// Largest answer that is not a stream, in bytes.
const ANSWER_LIMIT: usize = 128 * 1024 * 1024;
/// As much of an error answer as is read.
const ERROR_LIMIT: usize = 64 * 1024;
/// As much of a stream as is held back before its first output.
const HELD_LIMIT: usize = 64 * 1024;

/// The request of one attempt.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) operation: Operation,
    pub(crate) body: ClientBody<'a>,
    /// What a wildcard's `*` stands for.
    pub(crate) captured: Option<&'a str>,
    pub(crate) stream: bool,
    /// Routing needs the tokens of every answer.
    pub(crate) count_tokens: bool,
    pub(crate) limits: AttemptLimits,
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With an answer in one piece. Its success is reported.
    Answer { status: StatusCode, headers: HeaderMap, body: Bytes },
    /// With a stream that has said something.
    Stream { headers: HeaderMap, held: VecDeque<Bytes>, reader: Box<StreamReader>, attempt: Attempt },
    /// With a failure whose evidence is still to be reported.
    Failed(Box<Failed>, Evidence),
    /// Before anything was sent: the request cannot be said to this deployment.
    Refused(Refusal),
}

/// Makes one attempt.
pub(crate) async fn run(mut attempt: Attempt, ask: &Ask<'_>) -> Ended {
    let clock = attempt.gateway().clock;
    let options = CallOptions {
        stream: ask.stream,
        count_tokens: ask.count_tokens,
        drop_params: attempt.deployment().model.params.drop_params,
        created: clock.now().as_millis() / 1000,
    };
    let call = match attempt.deployment().target.call(ask.operation, ask.body, ask.captured, options) {
        Ok(call) => call,
        Err(refusal) => {
            let failed = Failed::own(Class::Local, refusal.code, refusal.message.clone());
            attempt.fail(&failed).report();
            return Ended::Refused(refusal);
        }
    };
    let target = &attempt.deployment().target;
    let judge = Judge {
        provider: target.provider.id,
        mode: target.mode,
        callers_model: ask.captured.is_some(),
        now_millis: clock.now().as_millis(),
    };
    let (unsigned, reply, strip_usage) = call.into_parts();
    let answer = match send(&attempt, &unsigned, ask.limits).await {
        Ok(answer) => answer,
        Err(fault) => return failed(attempt, *fault),
    };
    attempt.heard();
    if !answer.status.is_success() {
        let (status, headers) = (answer.status.as_u16(), answer.headers.clone());
        // A body that breaks off still leaves status and headers to judge by.
        let body = answer.read_all(ERROR_LIMIT).await.unwrap_or_default();
        return judged(attempt, judge.answer(status, headers, &body));
    }
    let reader = match manner(ask, &reply, &answer.headers) {
        Manner::Whole => return whole_answer(attempt, answer, reply, ask, judge).await,
        Manner::Events => {
            let (_, headers, relay) = answer.into_relay();
            let kind = stream_kind(ask.operation);
            (headers, StreamReader::new(relay, reply, strip_usage, kind, judge))
        }
        Manner::Bytes => {
            let (_, headers, relay) = answer.into_relay();
            (headers, StreamReader::of_bytes(relay, judge))
        }
    };
    let (headers, reader) = reader;
    until_output(attempt, headers, Box::new(reader), ask.limits).await
}

/// How a success is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// In one piece.
    Whole,
    /// As a stream of events.
    Events,
    /// As a stream of bytes that mean nothing here: sound.
    Bytes,
}

fn manner(ask: &Ask<'_>, reply: &Reply, headers: &HeaderMap) -> Manner {
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let is = |prefix: &[u8]| kind.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let events = is(b"text/event-stream");
    match ask.operation {
        Operation::Chat | Operation::Completions | Operation::Responses | Operation::Messages => {
            if ask.stream { Manner::Events } else { Manner::Whole }
        }
        // Many models pass over the wish for a stream; what came decides.
        Operation::Images | Operation::ImageEdits | Operation::Transcriptions | Operation::Translations
            if ask.stream && events =>
        {
            Manner::Events
        }
        Operation::Speech if matches!(reply, Reply::Passthrough) => {
            if events {
                Manner::Events
            } else if is(b"application/json") || is(b"text/") {
                Manner::Whole
            } else {
                Manner::Bytes
            }
        }
        Operation::Images
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::Speech
        | Operation::Embeddings
        | Operation::Moderations
        | Operation::Rerank
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos => Manner::Whole,
    }
}

/// Sends a call with the present credential, and once more with a fresh one when the provider no longer takes it.
async fn send(
    attempt: &Attempt,
    call: &UnsignedCall,
    limits: AttemptLimits,
) -> Result<haleway_upstream::Reply, Box<Failed>> {
    let (clock, deployment) = (attempt.gateway().clock, attempt.deployment());
    let lease = match tokio::time::timeout(limits.stated(), deployment.authorise()).await {
        Ok(lease) => lease.map_err(|fault| Box::new(Failed::without_credential(&fault)))?,
        Err(_elapsed) => return Err(Box::new(Failed::credential_late(deployment.target.credential_kind()))),
    };
    let exchange = async |lease: &Lease| {
        let request = call.request(clock.now().as_millis(), &lease.credential);
        let sent = deployment.upstream.send(request, limits.deadlines, Connection::Pooled).await;
        sent.map_err(|fault| Box::new(transport(&fault, limits)))
    };
    let answer = exchange(&lease).await?;
    match deployment.authorise_anew(&lease, answer.status.as_u16(), &answer.headers).await {
        None => Ok(answer),
        Some(fresh) => exchange(&fresh).await,
    }
}

async fn whole_answer(
    attempt: Attempt,
    answer: haleway_upstream::Reply,
    reply: Reply,
    ask: &Ask<'_>,
    judge: Judge,
) -> Ended {
    let (status, mut headers) = (answer.status, answer.headers.clone());
    let body = match answer.read_all(ANSWER_LIMIT).await {
        Ok(body) => body,
        Err(fault) => return failed(attempt, transport(&fault, ask.limits)),
    };
    let body = match reply {
        Reply::Passthrough => body,
        Reply::Translated(mut translator) => match translator.answer(&body) {
            Ok(body) => {
                headers.remove(CONTENT_TYPE);
                let kind = translator.content_type();
                if kind != JSON {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
                }
                body
            }
            Err(error) if says_it_failed(&body) => {
                tracing::debug!(error = %error, "an error inside a success status");
                return judged(attempt, judge.answer(status.as_u16(), headers, &body));
            }
            Err(error) => {
                let fault = Failed::own(Class::MalformedResponse, "bad_answer", error.to_string());
                return failed(attempt, fault);
            }
        },
    };
    let mut usage = None;
    if let Some(kind) = answer_kind(ask.operation) {
        let facts = inspect_answer(&body, kind);
        if facts.error || !facts.structure_ok || facts.finish.is_some_and(|finish| finish.is_failure()) {
            return judged(attempt, judge.answer(status.as_u16(), headers, &body));
        }
        usage = facts.usage;
    } else if is_media(ask.operation) && begins_like_error(&body) && looks_like_error(&body) {
        return judged(attempt, judge.answer(status.as_u16(), headers, &body));
    }
    attempt.succeed(usage);
    Ended::Answer { status, headers, body }
}

/// Holds a stream back until it says something.
async fn until_output(
    mut attempt: Attempt,
    headers: HeaderMap,
    mut reader: Box<StreamReader>,
    limits: AttemptLimits,
) -> Ended {
    let mut held = VecDeque::new();
    let mut size = 0;
    loop {
        match reader.next().await {
            Piece::Bytes { bytes, said } => {
                size += bytes.len();
                held.push_back(bytes);
                if said {
                    attempt.output();
                }
                if said || size > HELD_LIMIT {
                    return Ended::Stream { headers, held, reader, attempt };
                }
            }
            // A proper end without output: an answer that is empty on purpose.
            Piece::End => return Ended::Stream { headers, held, reader, attempt },
            Piece::Failed(fault, _) => return failed(attempt, blame(*fault, limits)),
        }
    }
}

/// Whether an operation is answered in words, one after the other when they are streamed.
pub(crate) const fn speaks(operation: Operation) -> bool {
    match operation {
        Operation::Chat | Operation::Completions | Operation::Responses | Operation::Messages => true,
        Operation::Embeddings
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Rerank
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations => false,
    }
}

fn judged(attempt: Attempt, judged: Judged) -> Ended {
    if judged.unlisted {
        attempt.gateway().metrics.unlisted_error(attempt.deployment().target.provider.id);
    }
    failed(attempt, judged.failed)
}

fn failed(attempt: Attempt, fault: Failed) -> Ended {
    let evidence = attempt.fail(&fault);
    Ended::Failed(Box::new(fault), evidence)
}

fn transport(fault: &haleway_upstream::Fault, limits: AttemptLimits) -> Failed {
    let failed = Failed::transport(fault);
    if limits.by_caller && fault.kind() == FaultKind::Timeout(Phase::Total) {
        return by_caller(failed);
    }
    failed
}

fn blame(failed: Failed, limits: AttemptLimits) -> Failed {
    if limits.by_caller && failed.class == Class::Timeout && failed.reason == Phase::Total.as_str() {
        return by_caller(failed);
    }
    failed
}

/// The caller's own limit passed before the deployment's: nobody is to blame.
fn by_caller(failed: Failed) -> Failed {
    Failed {
        reason: "caller_timeout",
        neutral: true,
        message: "the time that the caller allowed (x-litellm-timeout) passed".to_owned(),
        ..failed
    }
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
