//! Reading a call: the body within its limit, the members that decide where it goes, and what the caller asks of
//! the router rather than of the model.

use std::borrow::Cow;
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use haleway_providers::Operation;
use haleway_wire::{Envelope, EnvelopeErrorKind};
use http::HeaderMap;
use http::header::EXPECT;
use http_body_util::{BodyExt, Limited};

use crate::error::ApiError;

/// As much of a refused body as is read on.
const LINGER_BYTES: usize = 64 * 1024 * 1024;
/// As long as a refused body is read on.
const LINGER: Duration = Duration::from_secs(2);

/// The whole body, at most `limit` bytes.
///
/// # Errors
/// 413 beyond the limit; 400 when the caller's connection broke.
pub(crate) async fn body<B>(headers: &HeaderMap, body: B, limit: usize) -> Result<Bytes, ApiError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut body = pin!(body);
    let asked = body.size_hint().lower() <= limit as u64;
    if asked {
        #[expect(clippy::disallowed_methods, reason = "the body is capped by Limited")]
        match Limited::new(body.as_mut(), limit).collect().await {
            Ok(collected) => return Ok(collected.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {}
            Err(_) => {
                let message = "The request body did not arrive whole.";
                return Err(ApiError::invalid(message, Some("request_body")));
            }
        }
    }
    if asked {
        // A caller that asked first (`Expect`) was told to go on: its body is on the way.
        linger(body).await;
    } else {
        discard(headers, body).await;
    }
    Err(ApiError::too_large(limit))
}

/// Reads a refused body on for a while: a caller that is still sending when the connection closes sees a broken pipe
/// instead of the answer. One that asks before it sends (`Expect`) need not send at all.
pub(crate) async fn discard<B>(headers: &HeaderMap, body: Pin<&mut B>)
where
    B: http_body::Body<Data = Bytes>,
{
    if !headers.contains_key(EXPECT) {
        linger(body).await;
    }
}

async fn linger<B>(mut body: Pin<&mut B>)
where
    B: http_body::Body<Data = Bytes>,
{
    let all = async {
        let mut read = 0;
        while let Some(Ok(frame)) = body.frame().await {
            read += frame.data_ref().map_or(0, Bytes::len);
            if read > LINGER_BYTES {
                break;
            }
        }
    };
    if tokio::time::timeout(LINGER, all).await.is_err() {
        tracing::debug!("a refused caller was still sending");
    }
}

/// What a caller asks of the router, by body or header.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    pub(crate) num_retries: Option<u32>,
    pub(crate) fallbacks: Option<Vec<String>>,
    pub(crate) disable_fallbacks: bool,
    pub(crate) tags: Vec<String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) stream_timeout: Option<Duration>,
}

/// Parses the top level of a body.
///
/// # Errors
/// 400 with the place of the fault.
pub(crate) fn envelope(bytes: &[u8]) -> Result<Envelope<'_>, ApiError> {
    // A missing body is an empty object: the caller is then told which member is missing.
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    Envelope::parse(bytes).map_err(|error| {
        let not_an_object = matches!(error.kind, EnvelopeErrorKind::NotObject);
        let detail = if not_an_object { "expected an object".to_owned() } else { error.to_string() };
        ApiError::invalid(format!("Invalid JSON payload: {detail}"), Some("request_body"))
    })
}

/// The model's name: of the path, else of the body.
///
/// # Errors
/// 400 when there is none or it is not a string.
pub(crate) fn model<'a>(envelope: &Envelope<'a>, path: Option<&'a str>) -> Result<Cow<'a, str>, ApiError> {
    if let Some(path) = path {
        return Ok(Cow::Borrowed(path));
    }
    match (envelope.str("model"), envelope.get("model")) {
        (Some(model), _) => Ok(model),
        (None, Some(raw)) if raw.get() != "null" => {
            Err(ApiError::invalid("'model' must be a string.", Some("model")))
        }
        (None, _) => Err(ApiError::invalid(
            "You passed in model=None. Name a model of GET /v1/models in 'model'.",
            Some("model"),
        )),
    }
}

/// Whether the caller asks for a stream.
///
/// # Errors
/// 400 when `stream` is neither a boolean nor null.
pub(crate) fn stream(envelope: &Envelope<'_>) -> Result<bool, ApiError> {
    match (envelope.bool("stream"), envelope.get("stream")) {
        (Some(stream), _) => Ok(stream),
        (None, Some(raw)) if raw.get() != "null" => {
            Err(ApiError::invalid("'stream' must be a boolean.", Some("stream")))
        }
        (None, _) => Ok(false),
    }
}

/// Whether the caller of a stream asks for its usage.
pub(crate) fn wants_usage(envelope: &Envelope<'_>) -> bool {
    #[derive(serde::Deserialize)]
    struct Asked {
        #[serde(default)]
        include_usage: bool,
    }
    let options = envelope.get("stream_options");
    options.is_some_and(|raw| serde_json::from_str::<Asked>(raw.get()).is_ok_and(|asked| asked.include_usage))
}

/// Checks that what the operation cannot do without is there, with the right type.
///
/// # Errors
/// 400 naming the member.
pub(crate) fn required(operation: Operation, envelope: &Envelope<'_>) -> Result<(), ApiError> {
    let (name, kinds): (&'static str, &[u8]) = match operation {
        Operation::Chat | Operation::Messages | Operation::CountTokens => ("messages", b"["),
        Operation::Completions => ("prompt", b"\"["),
        Operation::Embeddings | Operation::Moderations => ("input", b"\"["),
        Operation::Images => ("prompt", b"\""),
        Operation::Speech => ("input", b"\""),
        Operation::Rerank => ("query", b"\"{"),
        Operation::Ocr => ("document", b"{"),
        Operation::ImageEdits => ("prompt", b"\""),
        Operation::Responses
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageVariations
        | Operation::Realtime => return Ok(()),
    };
    match envelope.get(name).map(|raw| raw.get()) {
        None | Some("null") => Err(ApiError::invalid(
            format!("{}: Missing required parameter: '{name}'.", operation.path()),
            Some(name),
        )),
        Some(json) if json.as_bytes().first().is_some_and(|first| kinds.contains(first)) => Ok(()),
        Some(_) => {
            Err(ApiError::invalid(format!("{}: '{name}' has the wrong type.", operation.path()), Some(name)))
        }
    }
}

impl Wishes {
    /// What `envelope` and `headers` ask of the router; the body outranks the headers.
    pub(crate) fn read(envelope: &Envelope<'_>, headers: &HeaderMap) -> Self {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let seconds = |name: &str| {
            text(name)
                .and_then(|value| value.trim().parse::<f64>().ok())
                .filter(|seconds| *seconds > 0.0 && seconds.is_finite())
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        };
        let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let list = |name: &str| {
            envelope.get(name).and_then(|raw| serde_json::from_str::<Vec<String>>(raw.get()).ok())
        };
        Self {
            num_retries: envelope
                .u64("num_retries")
                .map(number)
                .or_else(|| text("x-litellm-num-retries").and_then(|value| value.trim().parse().ok())),
            fallbacks: list("fallbacks"),
            disable_fallbacks: envelope.bool("disable_fallbacks").unwrap_or(false),
            tags: list("tags").or_else(|| metadata_tags(envelope)).unwrap_or_else(|| {
                text("x-litellm-tags")
                    .map(|tags| tags.split(',').map(|tag| tag.trim().to_owned()).collect())
                    .unwrap_or_default()
            }),
            timeout: seconds("x-litellm-timeout"),
            stream_timeout: seconds("x-litellm-stream-timeout"),
        }
    }
}

fn metadata_tags(envelope: &Envelope<'_>) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    struct Metadata {
        tags: Vec<String>,
    }
    let raw = envelope.get("metadata")?.get();
    // Most metadata has no tags: look before parsing.
    raw.contains("\"tags\"").then(|| serde_json::from_str::<Metadata>(raw).ok()).flatten().map(|m| m.tags)
}

/// A number that stands for the request: equal bodies, equal numbers within this process.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
