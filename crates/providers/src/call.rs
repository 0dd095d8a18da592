//! One call to a provider, ready to be sent, and how its answer becomes the client's.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haleway_wire::{Envelope, Form, Payload};
use http::{HeaderMap, Method, Uri};
use memchr::memmem;
use serde_json::value::RawValue;

use crate::credential::Credential;
use crate::events::Framing;
use crate::sigv4::Signer;

/// What the caller of [`crate::Target::call`] decides per request.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions {
    /// The client asked for a stream.
    pub stream: bool,
    /// Leave out parameters the provider is known not to take, beside what the deployment itself says
    /// (`litellm_settings.drop_params`).
    pub drop_params: bool,
    /// The gateway needs the tokens of a stream: ask the provider for them although the client did not.
    pub count_tokens: bool,
    /// Seconds since the Unix epoch: the `created` of translated answers.
    pub created: u64,
}

/// A client's body, as it is read to build a provider's.
#[derive(Clone, Copy, Debug)]
pub struct ClientBody<'a> {
    /// The members of a JSON body; the fields of a form under the names they would have in one.
    pub members: &'a Envelope<'a>,
    /// The form, when the body is one.
    pub form: Option<&'a Form>,
}

impl<'a, 'b: 'a> From<&'a Envelope<'b>> for ClientBody<'a> {
    /// A JSON body.
    fn from(members: &'a Envelope<'b>) -> Self {
        Self { members, form: None }
    }
}

/// A request to a provider. Its headers carry the credential, marked sensitive.
pub struct Call {
    /// The HTTP method.
    pub method: Method,
    /// The absolute URL.
    pub uri: Uri,
    /// Every header but `content-length` and `host`.
    pub headers: HeaderMap,
    /// The whole body; empty for `GET`. Of a session, the first message after the handshake, where there is one.
    pub body: Payload,
    /// How the answer becomes the client's.
    pub reply: Reply,
    /// The stream was asked to end with a usage chunk that the client did not ask for: leave out the chunk that
    /// [`is_usage_chunk`] names.
    pub strip_usage: bool,
    /// Signs the request, where the provider wants that.
    pub(crate) signer: Option<Arc<Signer>>,
}

impl Call {
    /// How the credential is presented, such as `authorization: Bearer` or `x-api-key`; never the credential.
    pub fn auth_kind(&self) -> String {
        if self.signer.is_some() {
            return "AWS signature".to_owned();
        }
        if let Some(value) = self.headers.get(http::header::AUTHORIZATION) {
            let scheme = value.to_str().ok().and_then(|text| text.split_once(' ')).map(|(scheme, _)| scheme);
            return scheme
                .map_or_else(|| "authorization".to_owned(), |scheme| format!("authorization: {scheme}"));
        }
        let named = ["x-api-key", "api-key", "x-goog-api-key", "xi-api-key"];
        let found = named.into_iter().find(|name| self.headers.contains_key(*name));
        found.unwrap_or("none").to_owned()
    }

    /// The request, and how to read its answer. `now_ms`, in milliseconds since the Unix epoch, dates the signature
    /// of those calls that are signed. `credential` is the present one of the deployment's
    /// [`crate::Target::credential_source`]; [`Credential::Configured`] when it has none.
    pub fn into_request(self, now_ms: u64, credential: &Credential) -> (http::Request<Payload>, Reply, bool) {
        let (outgoing, reply, strip_usage) = self.into_parts();
        (outgoing.request(now_ms, credential), reply, strip_usage)
    }

    /// The way out and the way back, for a call that may have to be sent again with another credential.
    pub fn into_parts(self) -> (UnsignedCall, Reply, bool) {
        let Self { method, uri, headers, body, reply, strip_usage, signer } = self;
        (UnsignedCall { method, uri, headers, body, signer }, reply, strip_usage)
    }
}

/// What a call sends, before it is authorised. Cheap to turn into a request more than once.
#[derive(Clone)]
pub struct UnsignedCall {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Payload,
    signer: Option<Arc<Signer>>,
}

impl UnsignedCall {
    /// The same call with another body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Payload>) -> Self {
        self.body = body.into();
        self
    }

    /// The request; see [`Call::into_request`].
    pub fn request(&self, now_ms: u64, credential: &Credential) -> http::Request<Payload> {
        let mut request = http::Request::new(self.body.clone());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        let headers = request.headers_mut();
        let keys = match credential {
            Credential::Configured => None,
            Credential::Aws(keys) => Some(keys.as_ref()),
            Credential::Bearer(value) => {
                // An operator who writes the header in extra_headers means it.
                headers.entry(http::header::AUTHORIZATION).or_insert_with(|| value.clone());
                None
            }
        };
        if let Some(signer) = &self.signer {
            signer.sign(keys, &self.method, &self.uri, headers, &self.body.to_bytes(), now_ms / 1000);
        }
        request
    }
}

impl fmt::Debug for UnsignedCall {
    /// Method, URL and size: bodies are the caller's and headers hold the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnsignedCall")
            .field("method", &self.method)
            .field("uri", &self.uri)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Call {
    /// Method, URL and size: bodies are the caller's and headers hold the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("uri", &self.uri)
            .field("body_bytes", &self.body.len())
            .field("reply", &self.reply)
            .finish_non_exhaustive()
    }
}

/// How a provider's answer becomes the client's.
#[derive(Debug)]
pub enum Reply {
    /// The provider's bytes are the client's bytes.
    Passthrough,
    /// The provider speaks another wire.
    Translated(Box<dyn Translator>),
}

impl Reply {
    /// Whether an answer may only say where the next one is to be had: see [`Translator::progress`].
    pub fn continues(&self) -> bool {
        match self {
            Self::Passthrough => false,
            Self::Translated(translator) => translator.continues(),
        }
    }

    /// Whether the provider answers in one piece, whatever was asked for.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Passthrough => false,
            Self::Translated(translator) => translator.is_whole(),
        }
    }
}

/// What an answer of a provider that works in the background comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It is the answer, as the client is to see it.
    Done(Bytes),
    /// The work goes on: ask there, and read that answer in the same way.
    Again(Follow),
    /// The work is done, and its bytes are there. They are the client's as they come.
    Fetch(Follow),
    /// The client asked for what is not there (yet). The deployment is not to blame.
    Refused(Refusal),
}

/// Where to go on with a call. Always a `GET` without a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The absolute URL.
    pub uri: Uri,
    /// How long to wait first.
    pub wait: Duration,
    /// Whether the call's headers, which hold the credential, go along. Never to another host than the call's.
    pub credential: bool,
}

/// Turns the success answers of one call into the shape that the client's operation has. Errors (any status but 2xx) are
/// never given to it: the classifier reads them raw.
pub trait Translator: fmt::Debug + Send {
    /// The whole body of a 2xx answer, as the client is to see it.
    ///
    /// # Errors
    /// When the body is not what the provider promises.
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable>;

    /// One event of a stream, as [`crate::EventReader`] cuts them. Pushes the JSON of zero or more
    /// events of the client's wire (without `data:`) onto `chunks`. Where that wire names its events, the JSON begins with
    /// the member `type`, which is the name.
    fn event(&mut self, event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step;

    /// Whether [`Self::progress`] may answer anything but [`Progress::Done`].
    fn continues(&self) -> bool {
        false
    }

    /// Whether the provider has no streams on this wire: a client that wants one gets the whole answer as events.
    fn is_whole(&self) -> bool {
        false
    }

    /// The whole body of a 2xx answer, or where the call goes on.
    ///
    /// # Errors
    /// When the body is not what the provider promises, or says that the work failed.
    fn progress(&mut self, body: &[u8]) -> Result<Progress, Untranslatable> {
        self.answer(body).map(Progress::Done)
    }

    /// The stream has ended without the provider's last word. Pushes what completes the client's stream, and says
    /// [`Step::Done`], if all that matters was said.
    fn end(&mut self, _chunks: &mut Vec<Bytes>) -> Step {
        Step::More
    }

    /// How the events of a stream are set apart.
    fn framing(&self) -> Framing {
        Framing::Sse
    }

    /// The content type of what [`Translator::answer`] makes.
    fn content_type(&self) -> &'static str {
        "application/json"
    }
}

/// What a translated stream does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Go on reading.
    More,
    /// The provider said the last word: write `data: [DONE]`, where the client's wire has it, and end.
    Done,
    /// The provider reported an error inside the stream. Its raw body, for the classifier.
    Failed(Bytes),
    /// The event is not what the provider promises.
    Malformed(String),
}

/// A 2xx body that is not what the provider promises. Clients see a `malformed_response` fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not in the provider's format: {0}")]
pub struct Untranslatable(pub String);

/// A call that is refused before anything is sent: the request cannot be said on the provider's wire, or the
/// provider has no such operation. The caller's fault, so no deployment's health is touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The status to answer: 400.
    pub status: u16,
    /// Stable machine name: `unsupported_operation`, `untranslatable_request` or `invalid_value`.
    pub code: &'static str,
    /// The request's field at fault, if it is one.
    pub param: Option<String>,
    /// One sentence for the caller.
    pub message: String,
    /// Another deployment of the group may be able to serve the call.
    pub retry_other: bool,
}

impl Refusal {
    /// The provider has no such operation; another provider may.
    pub(crate) fn unsupported(provider: &str, operation: crate::Operation) -> Self {
        Self {
            status: 400,
            code: "unsupported_operation",
            param: None,
            message: format!("{provider} does not serve {operation}"),
            retry_other: true,
        }
    }

    /// The request's `param` has no legal value.
    pub(crate) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            code: "invalid_value",
            param: Some(param.into()),
            message: message.into(),
            retry_other: false,
        }
    }

    /// The request's `param` cannot be said on the provider's wire.
    pub(crate) fn untranslatable(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: 400,
            code: "untranslatable_request",
            param: Some(param.into()),
            message: message.into(),
            retry_other: false,
        }
    }
}

impl Refusal {
    /// The same refusal of a translation that another deployment of the group may not need.
    pub(crate) fn for_this_deployment(mut self) -> Self {
        self.retry_other |= matches!(self.code, "untranslatable_request" | "unsupported_operation");
        self
    }
}

impl From<serde_json::Error> for Refusal {
    /// A part of the request that cannot be written as JSON.
    fn from(error: serde_json::Error) -> Self {
        Self {
            status: 400,
            code: "untranslatable_request",
            param: None,
            message: format!("the request cannot be written on the provider's wire: {error}"),
            retry_other: false,
        }
    }
}

/// Whether a chunk carries usage and no choice: the extra chunk that `stream_options.include_usage` asks for.
pub fn is_usage_chunk(data: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Facts<'a> {
        #[serde(borrow, default)]
        choices: Option<&'a RawValue>,
        #[serde(borrow, default)]
        usage: Option<&'a RawValue>,
    }
    fn is_empty(list: &str) -> bool {
        list.strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .is_some_and(|inner| inner.trim().is_empty())
    }
    // Every chunk of a long stream is looked at; all but the last are told apart without parsing.
    const CHOICES: &[u8] = b"\"choices\"";
    let Some(at) = memmem::find(data, CHOICES) else { return false };
    let rest =
        data.get(at + CHOICES.len()..).unwrap_or_default().iter().filter(|byte| !byte.is_ascii_whitespace());
    if !rest.take(3).eq(b":[]") {
        return false;
    }
    serde_json::from_slice::<Facts<'_>>(data).is_ok_and(|facts| {
        facts.usage.is_some_and(|usage| usage.get() != "null")
            && facts.choices.is_some_and(|choices| is_empty(choices.get()))
    })
}
