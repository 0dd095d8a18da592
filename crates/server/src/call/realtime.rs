//! Realtime: a session over a WebSocket, on the road of every call.
//!
//! The caller's handshake is answered only when a deployment has spoken its first event, so a deployment that refuses,
//! or dies before that, is replaced and the caller does not know. From then on events pass unchanged in both
//! directions, no faster than their reader; what a provider breaks off is told to the caller as an error event and
//! counts once. Who leaves is nobody's fault.

mod door;
mod live;
mod talk;

use std::sync::Arc;

use bytes::Bytes;
use haleway_health::Class;
use haleway_providers::classify::closing;
use haleway_providers::{ClientBody, Operation, UnsignedCall};
use haleway_upstream::{Lease, Opened, Session as Accepted};
use haleway_wire::Envelope;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use tokio_tungstenite::tungstenite::Message;

pub(crate) use door::Door;
pub(crate) use live::Live;
pub(crate) use talk::{Talk, converse};

use crate::body::Body;
use crate::call::attempt::{self, Ask, Ended};
use crate::call::failure::Failed;
use crate::call::guard::Attempt;
use crate::call::judge::Judge;
use crate::call::place::Place;
use crate::call::read::{self, Wishes};
use crate::call::{Session, call_id, call_limits, headers, refusal};
use crate::deployment::Deployment;
use crate::error::{ApiError, ErrorShape};
use crate::gateway::Gateway;

/// The header by which a caller asks for the beta of the API. It is the caller's to send or not.
const BETA: HeaderName = HeaderName::from_static("openai-beta");

/// What a caller asks of the session itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wish<'a> {
    /// `?intent=transcription`.
    intent: Option<&'a str>,
    /// What tells the session from others.
    id: &'a str,
    beta: Option<&'a HeaderValue>,
}

/// A session that a deployment has begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) accepted: Box<Accepted>,
    pub(crate) first: Message,
    pub(crate) talk: Talk,
    /// Set when the provider speaks another wire than the caller.
    pub(crate) live: Option<Box<Live>>,
}

/// Whether `path` is where sessions begin.
pub(crate) fn is_path(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    matches!(path, "/v1/realtime" | "/realtime" | "/openai/v1/realtime" | "/openai/realtime")
}

/// Answers the handshake of one session.
pub(crate) async fn handle<B>(gateway: &Arc<Gateway>, request: Request<B>) -> Response<Body> {
    let call_id = call_id(request.headers());
    match serve(gateway, &call_id, request).await {
        Ok(response) => response,
        Err(mut error) => {
            headers::refused(error.headers_mut(), &call_id);
            error.into_response(ErrorShape::OpenAi)
        }
    }
}

async fn serve<B>(
    gateway: &Arc<Gateway>,
    call_id: &HeaderValue,
    mut request: Request<B>,
) -> Result<Response<Body>, ApiError> {
    let began = gateway.clock.now();
    let live = gateway.live.load_full();
    live.keys.admit(&door::credentials(request.headers()))?;
    let place = Place::take(gateway, &live)?;
    if gateway.shutdown.is_cancelled() {
        return Err(ApiError::shutting_down());
    }
    let door = Door::of(&mut request)?;
    let query = request.uri().query().unwrap_or_default();
    let parameter = |name| parameter(query, name);
    let model = parameter("model").or_else(|| parameter("deployment")).ok_or_else(|| {
        ApiError::invalid(
            "You passed in model=None. Name a model of GET /v1/models in '?model='.",
            Some("model"),
        )
    })?;
    let intent = parameter("intent");
    let bytes = serde_json::json!({ "model": model }).to_string();
    let envelope: Envelope<'_> = read::envelope(bytes.as_bytes())?;
    let wishes = Wishes::read(&envelope, request.headers());
    let resolution = live.table.resolve(&model).map_err(|_| refusal::unknown_model(&model))?;
    let session = Session {
        gateway,
        live: &live,
        operation: Operation::Realtime,
        body: ClientBody { members: &envelope, form: None },
        stream: true,
        model: &model,
        began,
        errand: None,
        limits: call_limits(&live, &wishes, true),
        call_id,
        bytes: bytes.as_bytes(),
        wish: Wish {
            intent: intent.as_deref(),
            id: call_id.to_str().unwrap_or_default(),
            beta: request.headers().get(BETA),
        },
        headers: None,
    };
    session.counted(&wishes, &resolution, place, Some(door)).await
}

/// A parameter of a query, decoded; an empty one is none.
fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.into_iter().find(|(found, value)| *found == name && !value.is_empty())?;
    let spaced = value.replace('+', " ");
    Some(percent_encoding::percent_decode_str(&spaced).decode_utf8_lossy().into_owned())
}

/// Begins a session with one deployment, up to its first event.
pub(crate) async fn begin(mut attempt: Attempt, ask: &Ask<'_>, judge: Judge) -> Ended {
    let deployment = Arc::clone(attempt.deployment());
    let call = match deployment.target.session(ask.captured, ask.wish.intent) {
        Ok(call) => call,
        Err(refused) => return attempt::refused(attempt, refused),
    };
    let (call, _, _) = call.into_parts();
    let (drops, id) = (deployment.model.params.drop_params, ask.wish.id);
    let dialogue = deployment.target.dialogue(ask.captured, id, ask.wish.beta.is_some(), drops);
    let mut accepted = match open(&deployment, &call, ask, judge.now_millis).await {
        Ok(Opened::Session(accepted)) => accepted,
        Ok(Opened::Refused(answer)) => {
            attempt.heard();
            return turned_away(attempt, *answer, judge, ask).await;
        }
        Err(fault) => return attempt::failed(attempt, *fault),
    };
    attempt.heard();
    let first = match accepted.first().await {
        Ok(first) => first,
        Err(fault) => return attempt::failed(attempt, attempt::transport(&fault, ask.limits)),
    };
    let said = said(first.clone());
    if is_error(&said) {
        return attempt::judged(attempt, judge.error_event(&said), ask);
    }
    if dialogue.as_ref().is_some_and(|dialogue| !dialogue.is_ready(&said)) {
        let message = "the first message of the session is not what the provider promises";
        return attempt::failed(attempt, Failed::own(Class::MalformedResponse, "bad_answer", message));
    }
    attempt.output();
    let live = dialogue.map(|dialogue| Box::new(Live::new(dialogue, call, ask.limits)));
    Ended::Session(Box::new(Begun { accepted, first, talk: attempt.open(), live }))
}

/// Knocks with the present credential, and once more with a fresh one when the provider no longer takes it.
async fn open(
    deployment: &Deployment,
    call: &UnsignedCall,
    ask: &Ask<'_>,
    now_millis: u64,
) -> Result<Opened, Box<Failed>> {
    let lease = attempt::authorised(deployment, ask.limits).await?;
    let knock = async |lease: &Lease| {
        let mut request = call.request(now_millis, &lease.credential);
        if let Some(beta) = ask.wish.beta {
            request.headers_mut().insert(BETA, beta.clone());
        }
        let opened = deployment.upstream.open(request, ask.limits.deadlines).await;
        opened.map_err(|fault| Box::new(attempt::transport(&fault, ask.limits)))
    };
    let opened = knock(&lease).await?;
    let Opened::Refused(answer) = &opened else { return Ok(opened) };
    match deployment.authorise_anew(&lease, answer.status.as_u16(), &answer.headers).await {
        None => Ok(opened),
        Some(fresh) => knock(&fresh).await,
    }
}

/// The provider answered the handshake as it answers any request.
async fn turned_away(
    attempt: Attempt,
    answer: haleway_upstream::Reply,
    judge: Judge,
    ask: &Ask<'_>,
) -> Ended {
    let (status, headers): (u16, HeaderMap) = (answer.status.as_u16(), answer.headers.clone());
    let body: Bytes = answer.read_all(attempt::ERROR_LIMIT).await.unwrap_or_default();
    if (200..300).contains(&status) {
        let message = "the provider answered the handshake of a session with an ordinary answer";
        return attempt::failed(attempt, Failed::own(Class::MalformedResponse, "no_handshake", message));
    }
    attempt::judged(attempt, judge.answer(status, headers, &body), ask)
}

/// The first event of a session, or the words of the goodbye in its place as the body of an error.
pub(crate) fn said(first: Message) -> Bytes {
    if let Message::Close(Some(goodbye)) = &first {
        return closing(goodbye.code.into(), &goodbye.reason);
    }
    first.into_data()
}

fn is_error(event: &[u8]) -> bool {
    Envelope::parse(event).is_ok_and(|event| {
        let kind = event.str("type");
        kind.as_deref() == Some("error") || (kind.is_none() && event.get("error").is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_in_a_query_is_decoded() {
        assert_eq!(parameter("intent=x&model=a%2Fb+c", "model").as_deref(), Some("a/b c"));
        assert_eq!(parameter("model=&deployment=d", "model"), None);
    }

    #[test]
    fn sessions_begin_at_four_paths() {
        assert!(is_path("/v1/realtime") && is_path("/realtime/") && is_path("/openai/realtime"));
        assert!(!is_path("/v1/realtime/calls") && !is_path("/v1/realtimes"));
    }
}
