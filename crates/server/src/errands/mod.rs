//! Files, batches and videos: calls about objects that one deployment keeps.
//!
//! They take the same way as model calls (`crate::call`): one plan, one budget, one outcome per attempt. What is
//! different: the object's id decides where a call goes (`aim`), ids in answers are sealed so that they lead back, an
//! object is never made twice, and contents are relayed as they come.

mod aim;
mod path;

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use haleway_providers::{Action, ClientBody, Errand, Operation, Posted};
use haleway_wire::form::Form;
use haleway_wire::{Change, Envelope};
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};

pub(crate) use path::Place as Path;

use crate::body::Body;
use crate::call::place::Place;
use crate::call::read::{self, Wishes};
use crate::call::realtime::Wish;
use crate::call::{self, Session, headers};
use crate::error::{ApiError, ErrorShape};
use crate::gateway::Gateway;

use aim::{Body as Read, Wanted, aim, opened};

/// Serves one call about objects.
pub(crate) async fn handle<B>(gateway: &Arc<Gateway>, path: Path, request: Request<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    if path.action(request.method(), path.id.as_deref()).is_none() {
        return not_allowed(path.allowed());
    }
    let call_id = call::call_id(request.headers());
    match serve(gateway, path, &call_id, request).await {
        Ok(response) => response,
        Err(mut error) => {
            headers::refused(error.headers_mut(), &call_id);
            error.into_response(ErrorShape::OpenAi)
        }
    }
}

async fn serve<B>(
    gateway: &Arc<Gateway>,
    path: Path,
    call_id: &HeaderValue,
    request: Request<B>,
) -> Result<Response<Body>, ApiError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let began = gateway.clock.now();
    let live = gateway.live.load_full();
    let (head, body) = request.into_parts();
    let place = match live.keys.admit(&head.headers).and_then(|_| Place::take(gateway, &live)) {
        Ok(place) => place,
        Err(refused) => {
            read::discard(&head.headers, pin!(body)).await;
            return Err(refused);
        }
    };
    let bytes = read::body(&head.headers, body, live.max_body).await?;
    let (bytes, of_input) = open_input(&head.headers, bytes);
    let body = parsed(&head.headers, &bytes)?;
    let (id, of_id) = path.id.as_deref().map(opened).unzip();
    let mut query = pairs(&head);
    let of_cursor = open_cursor(&mut query);
    let keeper = of_id.flatten().or(of_cursor).or(of_input);
    let action = path.action(&head.method, id.as_deref());
    let action = action.ok_or_else(|| ApiError::internal("the method was allowed before"))?;
    required(path.operation, action, &body)?;
    let wanted = Wanted::read(&body, &query, &head.headers, path.provider)?;
    let resolution = aim(&live, path.operation, &wanted, keeper.as_deref(), action.makes())?;

    let nothing = read::envelope(b"")?;
    let errand = Errand {
        operation: path.operation,
        action,
        query: &query,
        body: match &body {
            Read::Nothing => Posted::Nothing,
            Read::Json(envelope) => Posted::Json(envelope),
            Read::Form(form) => Posted::Form(form),
        },
        asked: wanted.model.as_deref(),
    };
    let envelope = if let Read::Json(envelope) = &body { envelope } else { &nothing };
    let mut wishes = Wishes::read(envelope, &head.headers);
    wishes.disable_fallbacks |= resolution.only.is_some();
    let group = live.table.group_name(resolution.group);
    let session = Session {
        gateway,
        live: &live,
        operation: path.operation,
        body: ClientBody { members: envelope, form: None },
        errand: Some(&errand),
        // A content may take as long as it likes, as long as it flows.
        stream: matches!(action, Action::Content(_)),
        model: wanted.model.as_deref().unwrap_or(group),
        began,
        limits: call::call_limits(&live, &wishes, false),
        call_id,
        bytes: &bytes,
        wish: Wish::default(),
        headers: None,
    };
    session.counted(&wishes, &resolution, place, None).await
}

/// The body with the provider's id of the file that a batch reads, and the deployment that keeps it.
fn open_input(headers: &HeaderMap, bytes: Bytes) -> (Bytes, Option<String>) {
    const INPUT: &str = "input_file_id";
    if is_form(headers) {
        return (bytes, None);
    }
    let found = Envelope::parse(&bytes).ok().and_then(|body| {
        let (file, keeper) = opened(&body.str(INPUT)?);
        Some((body.patched(&[Change::set_str(INPUT, &file)]), keeper?))
    });
    match found {
        Some((body, keeper)) => (body, Some(keeper)),
        None => (bytes, None),
    }
}

/// Puts the provider's id into the cursor of a list; the deployment that keeps what it points at.
fn open_cursor(query: &mut [(String, String)]) -> Option<String> {
    let mut keeper = None;
    for (_, value) in query.iter_mut().filter(|(name, _)| name == "after" || name == "before") {
        let (object, found) = opened(value);
        *value = object;
        keeper = keeper.or(found);
    }
    keeper
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn is_form(headers: &HeaderMap) -> bool {
    Form::is_form(content_type(headers))
}

fn parsed<'a>(headers: &HeaderMap, bytes: &'a Bytes) -> Result<Read<'a>, ApiError> {
    if is_form(headers) {
        let form = Form::parse(content_type(headers), bytes).map_err(|error| {
            ApiError::invalid(format!("Invalid multipart/form-data: {error}."), Some("request_body"))
        })?;
        return Ok(Read::Form(form));
    }
    if bytes.trim_ascii().is_empty() {
        return Ok(Read::Nothing);
    }
    read::envelope(bytes).map(Read::Json)
}

/// The query's pairs, decoded.
fn pairs(head: &Parts) -> Vec<(String, String)> {
    let query = head.uri.query().unwrap_or_default();
    let decoded = |text: &str| {
        let text = text.replace('+', " ");
        percent_encoding::percent_decode_str(&text).decode_utf8_lossy().into_owned()
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// Checks that what is to be made is described.
fn required(operation: Operation, action: Action<'_>, body: &Read<'_>) -> Result<(), ApiError> {
    if action != Action::Create {
        return Ok(());
    }
    let missing = |name: &'static str| {
        let message = format!("{}: Missing required parameter: '{name}'.", operation.path());
        ApiError::invalid(message, Some(name))
    };
    let has = |name: &str| match body {
        Read::Nothing => false,
        Read::Json(body) => body.is_set(name),
        Read::Form(form) => form.parts().iter().any(|part| part.name == name),
    };
    if operation == Operation::Files && !matches!(body, Read::Form(_)) {
        let message = "/files: send the file as multipart/form-data, with the fields 'file' and 'purpose'.";
        return Err(ApiError::invalid(message, Some("request_body")));
    }
    let needed: &[&'static str] = if operation == Operation::Files {
        &["file", "purpose"]
    } else if operation == Operation::Batches {
        &["input_file_id"]
    } else {
        &["prompt"]
    };
    needed.iter().copied().find(|name| !has(name)).map(missing).map_or(Ok(()), Err)
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from_static(br#"{"detail":"Method Not Allowed"}"#)));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let headers = response.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(allowed));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
