//! One chat call for several models, as LiteLLM has it: `"model": "a,b"` asks each, and the answer is a list in that
//! order. Each is a call of its own, with its own plan and evidence; one that fails has its error in its place, and only when
//! all fail is the call an error.

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::future::join_all;
use haleway_providers::Operation;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};

use super::read::Wishes;
use super::{Session, headers, refusal};
use crate::body::Body;
use crate::call::place::Place;
use crate::error::{ApiError, ErrorShape};

/// The most models that one call may name.
const MOST: usize = 16;

/// Whether a name that is no model's names several.
pub(super) fn is_list(operation: Operation, model: &str) -> bool {
    operation == Operation::Chat && model.contains(',')
}

/// Serves the call that `asked` stands for once per model.
pub(super) async fn serve(
    asked: Session<'_>,
    wishes: &Wishes,
    place: Place,
) -> Result<Response<Body>, ApiError> {
    if asked.stream {
        return Err(ApiError::invalid("The answers of several models cannot be streamed.", Some("stream")));
    }
    let names: Vec<&str> = asked.model.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    if names.is_empty() || names.len() > MOST {
        return Err(ApiError::invalid(format!("Name 1 to {MOST} models in 'model'."), Some("model")));
    }
    let mut first = Some(place);
    let mut calls = Vec::with_capacity(names.len());
    for model in names {
        let resolution = asked.live.table.resolve(model).map_err(|_| refusal::unknown_model(model))?;
        let place = match first.take() {
            Some(place) => place,
            None => Place::take(asked.gateway, asked.live)?,
        };
        let session = Session { model, ..asked };
        calls.push(Box::pin(async move { session.counted(wishes, &resolution, place, None).await }));
    }
    list(join_all(calls).await)
}

fn list(answers: Vec<Result<Response<Body>, ApiError>>) -> Result<Response<Body>, ApiError> {
    let mut served: Option<HeaderMap> = None;
    let mut refused = None;
    let mut bodies = Vec::with_capacity(answers.len());
    for answer in answers {
        match answer {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                bodies.push(match body {
                    Body::Full(bytes) => bytes.unwrap_or_else(|| Bytes::from_static(b"null")),
                    // Not asked for: see above.
                    Body::Relay(_) | Body::Page(_) | Body::Download(_) => Bytes::from_static(b"null"),
                });
                served.get_or_insert(head.headers);
            }
            Err(error) => {
                bodies.push(error.to_json(ErrorShape::OpenAi));
                refused.get_or_insert(error);
            }
        }
    }
    let headers = match (served, refused) {
        (Some(served), _) => headers::of_several(&served),
        (None, Some(error)) => return Err(error),
        (None, None) => HeaderMap::new(),
    };
    let mut out = BytesMut::with_capacity(bodies.iter().map(|body| body.len() + 1).sum::<usize>() + 2);
    out.put_u8(b'[');
    for (index, body) in bodies.iter().enumerate() {
        if index > 0 {
            out.put_u8(b',');
        }
        out.put_slice(body);
    }
    out.put_u8(b']');
    let mut response = Response::new(Body::from(out.freeze()));
    *response.headers_mut() = headers;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}
