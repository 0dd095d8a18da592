//! One attempt: build, send, judge, and decide whether its answer may be committed to the caller.
//!
//! Nothing is committed before the answer is whole or, for a stream, before the first event that carries output. Until
//! then another deployment may still serve the call and the caller will not know.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use haleway_health::Class;
use haleway_providers::{
    Action, CallOptions, Caller, ClientBody, Errand, Operation, Refusal, Reply, UnsignedCall,
};
use haleway_upstream::{Connection, FaultKind, Lease, Phase};
use haleway_wire::chat::Usage;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use crate::call::failure::Failed;
use crate::call::guard::{Attempt, Evidence};
use crate::call::judge::{Judge, Judged, stream_kind};
use crate::call::realtime::{self, Begun, Wish};
use crate::call::stream::{Piece, StreamReader};
use crate::call::whole::{self, Road, may_have_run};
use crate::deployment::{AttemptLimits, Deployment};

/// Largest answer that is not a stream, in bytes.
pub(super) const ANSWER_LIMIT: usize = 128 * 1024 * 1024;
/// As much of an error answer as is read.
pub(super) const ERROR_LIMIT: usize = 64 * 1024;
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
    /// The caller of a stream asked for its usage.
    pub(crate) wants_usage: bool,
    /// Set when the call is about objects: the call is built from it instead of from the body.
    pub(crate) errand: Option<&'a Errand<'a>>,
    /// What is asked of a realtime session.
    pub(crate) wish: Wish<'a>,
    /// The caller's headers, of which a few reach the provider.
    pub(crate) caller: Option<Caller<'a>>,
}

impl Ask<'_> {
    /// What an errand knows of a failure that its status does not say. `sent`: the request may have arrived.
    pub(super) fn weigh(&self, mut failed: Failed, sent: bool) -> Failed {
        let Some(errand) = self.errand else { return failed };
        if matches!(failed.upstream_status, 404 | 405) {
            // The caller named an object that is not there; without one, this server keeps no such objects. Neither
            // says anything about the models that it serves.
            let (class, other) = match errand.action.id() {
                Some(_) => (Class::BadRequest, false),
                None => (Class::ModeMismatch, true),
            };
            (failed.class, failed.scope) = (class, class.default_scope());
            (failed.retry_same, failed.retry_other) = (false, other);
        }
        if failed.class == Class::Conflict {
            // The object's own state is in the way: it is there again at the next try.
            failed.retry_same = false;
        }
        failed.is_final = errand.action.makes() && sent && may_have_run(failed.upstream_status);
        failed
    }
}

/// How an attempt ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With an answer in one piece. Its success is reported.
    Answer { status: StatusCode, headers: HeaderMap, body: Bytes, usage: Option<Usage> },
    /// With an object's bytes, to be relayed as they come.
    Download { headers: HeaderMap, relay: Box<haleway_upstream::Relay>, attempt: Attempt },
    /// With a stream that has said something.
    Stream { headers: HeaderMap, held: VecDeque<Bytes>, reader: Box<StreamReader>, attempt: Attempt },
    /// With a session that has begun.
    Session(Box<Begun>),
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
    let target = &attempt.deployment().target;
    let judge = Judge {
        deployment: Arc::clone(attempt.deployment()),
        callers_model: ask.captured.is_some(),
        now_millis: clock.now().as_millis(),
    };
    if ask.operation == Operation::Realtime {
        // Seldom, and large.
        return Box::pin(realtime::begin(attempt, ask, judge)).await;
    }
    let call = match ask.errand {
        Some(errand) => target.errand(errand, ask.captured, options),
        None => target.call(ask.operation, ask.body, ask.captured, options),
    };
    let mut call = match call {
        Ok(call) => call,
        Err(refusal) => return refused(attempt, refusal),
    };
    if let Some(caller) = &ask.caller {
        target.forward(ask.operation, caller, &mut call.headers);
    }
    let makes_events = matches!(ask.operation, Operation::Chat | Operation::Completions);
    if ask.stream && call.reply.is_whole() && speaks(ask.operation) && !makes_events {
        return refused(attempt, without_streams(ask.operation));
    }
    let road = Road { headers: call.reply.continues().then(|| call.headers.clone()), began: Instant::now() };
    let (unsigned, reply, strip_usage) = call.into_parts();
    let answer = match send(&attempt, &unsigned, ask).await {
        Ok(answer) => answer,
        Err(fault) => return failed(attempt, *fault),
    };
    attempt.heard();
    if !answer.status.is_success() {
        let (status, headers) = (answer.status.as_u16(), answer.headers.clone());
        // A body that breaks off still leaves status and headers to judge by.
        let body = answer.read_all(ERROR_LIMIT).await.unwrap_or_default();
        return judged(attempt, judge.answer(status, headers, &body), ask);
    }
    let reader = match manner(ask, &reply, &answer.headers) {
        Manner::Whole => return whole::answer(attempt, answer, reply, ask, judge, &road).await,
        Manner::Download => {
            let (_, headers, relay) = answer.into_relay();
            return Ended::Download { headers, relay: Box::new(relay), attempt };
        }
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
    /// As an object's bytes, which may be none.
    Download,
}

fn manner(ask: &Ask<'_>, reply: &Reply, headers: &HeaderMap) -> Manner {
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let is = |prefix: &[u8]| kind.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
    let events = is(b"text/event-stream");
    match ask.operation {
        Operation::Chat | Operation::Completions | Operation::Responses | Operation::Messages => {
            if ask.stream && !reply.is_whole() { Manner::Events } else { Manner::Whole }
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
        Operation::Files | Operation::Videos if is_content(ask) && matches!(reply, Reply::Passthrough) => {
            Manner::Download
        }
        Operation::Images
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::Speech
        | Operation::Embeddings
        | Operation::Moderations
        | Operation::CountTokens
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
    ask: &Ask<'_>,
) -> Result<haleway_upstream::Reply, Box<Failed>> {
    let limits = ask.limits;
    let (clock, deployment) = (attempt.gateway().clock, attempt.deployment());
    let lease = authorised(deployment, limits).await?;
    let exchange = async |lease: &Lease| {
        let request = call.request(clock.now().as_millis(), &lease.credential);
        let sent = deployment.upstream.send(request, limits.deadlines, Connection::Pooled).await;
        sent.map_err(|fault| Box::new(ask.weigh(transport(&fault, limits), fault.sent())))
    };
    let answer = exchange(&lease).await?;
    match deployment.authorise_anew(&lease, answer.status.as_u16(), &answer.headers).await {
        None => Ok(answer),
        Some(fresh) => exchange(&fresh).await,
    }
}

/// Whether the caller wants an object's bytes.
pub(super) fn is_content(ask: &Ask<'_>) -> bool {
    ask.errand.is_some_and(|errand| matches!(errand.action, Action::Content(_)))
}

/// Ends an attempt before anything is sent: nobody is to blame.
pub(super) fn refused(attempt: Attempt, refusal: Refusal) -> Ended {
    let failed = Failed::own(Class::Local, refusal.code, refusal.message.clone());
    attempt.fail(&failed).report();
    Ended::Refused(refusal)
}

/// The present credential, within the time of the attempt.
pub(crate) async fn authorised(deployment: &Deployment, limits: AttemptLimits) -> Result<Lease, Box<Failed>> {
    match tokio::time::timeout(limits.stated(), deployment.authorise()).await {
        Ok(lease) => lease.map_err(|fault| Box::new(Failed::without_credential(&fault))),
        Err(_elapsed) => Err(Box::new(Failed::credential_late(deployment.target.credential_kind()))),
    }
}

/// Whole answers are made into the events of chats and completions only.
fn without_streams(operation: Operation) -> Refusal {
    Refusal {
        status: 400,
        code: "unsupported_operation",
        param: Some("stream".to_owned()),
        message: format!("this deployment's provider has no streams for {operation}"),
        retry_other: true,
    }
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
                if said || (size > HELD_LIMIT && reader.began()) {
                    return Ended::Stream { headers, held, reader, attempt };
                }
                if size > HELD_LIMIT {
                    // Comments that keep a connection alive: nobody misses them, and they may go on for ever.
                    held.clear();
                    size = 0;
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
        Operation::Chat
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::Realtime => true,
        Operation::Embeddings
        | Operation::Moderations
        | Operation::CountTokens
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

pub(super) fn judged(attempt: Attempt, judged: Judged, ask: &Ask<'_>) -> Ended {
    if judged.unlisted {
        attempt.gateway().metrics.unlisted_error(attempt.deployment().target.provider.id);
    }
    failed(attempt, ask.weigh(judged.failed, true))
}

pub(super) fn failed(attempt: Attempt, fault: Failed) -> Ended {
    let evidence = attempt.fail(&fault);
    Ended::Failed(Box::new(fault), evidence)
}

pub(super) fn transport(fault: &haleway_upstream::Fault, limits: AttemptLimits) -> Failed {
    let failed = Failed::transport(fault);
    if limits.by_caller && fault.kind() == FaultKind::Timeout(Phase::Total) {
        return by_caller(failed);
    }
    failed
}

pub(super) fn blame(failed: Failed, limits: AttemptLimits) -> Failed {
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
