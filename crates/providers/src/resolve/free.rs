//! The one call of a deployment that costs nothing: of those its provider has, the one that shows most.
//!
//! A call is left out when its URL cannot be built, when it would leave the deployment's own host, or when its answer
//! would say nothing about this deployment.

use bytes::Bytes;
use http::Uri;
use serde_json::json;

use super::{Base, Plan};
use crate::Mode;
use crate::registry::{FreeCall, Method, Proves};
use crate::route::encoded;
use crate::wires::azure::Face;

/// A free call, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct FreeRoute {
    pub(crate) method: http::Method,
    pub(crate) uri: Uri,
    /// Empty for a `GET`.
    pub(crate) body: Bytes,
    /// The path names the model, so that a 404 is about it.
    pub(crate) names_model: bool,
    /// What a 2xx shows.
    pub(crate) proves: &'static [Proves],
}

impl Plan<'_> {
    /// The free call of the deployment, which serves `mode`.
    pub(super) fn free(&self, azure: Option<&Face>, mode: Mode) -> Option<FreeRoute> {
        let calls = self.name.provider.free.iter();
        let mut best: Option<(usize, FreeRoute)> = None;
        for call in calls {
            let Some(route) = self.free_route(call, azure, mode) else { continue };
            let worth = worth(call, mode);
            // Of equals the first is the preferred one.
            if best.as_ref().is_none_or(|(most, _)| worth > *most) {
                best = Some((worth, route));
            }
        }
        best.map(|(_, route)| route)
    }

    fn free_route(&self, call: &FreeCall, azure: Option<&Face>, mode: Mode) -> Option<FreeRoute> {
        let (method, body) = match call.method {
            Method::Get => (http::Method::GET, Bytes::new()),
            Method::Post => (http::Method::POST, self.free_body(call.path, mode)?),
            Method::PostForm | Method::WebSocket => return None,
        };
        let names_model = call.path.contains("{model");
        if names_model && self.name.id.contains('*') {
            return None;
        }
        let uri = self.free_url(call.path, azure)?.parse().ok()?;
        Some(FreeRoute { method, uri, body, names_model, proves: call.proves })
    }

    fn free_url(&self, path: &str, azure: Option<&Face>) -> Option<String> {
        if let Some(face) = azure {
            return face.free(self, path);
        }
        let url = if path.starts_with("https://") {
            // Below an operator's own base the provider's platform does not exist.
            let region = self.name.region.as_deref()?;
            (self.is_default && path.contains("{region}")).then(|| path.replace("{region}", region))?
        } else if let Some(path) = path.strip_prefix("{root}") {
            format!("{}{path}", self.base.root)
        } else if path.starts_with('/') {
            with_query(self.base, path)
        } else {
            return None;
        };
        let model = encoded(&self.name.id);
        let segment = model.replace('/', "%2F").replace('@', "%40");
        let url = url.replace("{modelId}", &segment).replace("{model}", &model);
        (!url.contains('{')).then_some(url)
    }

    /// The body of a free call that is a `POST`: counts of tokens, for models that generate text.
    fn free_body(&self, path: &str, mode: Mode) -> Option<Bytes> {
        let generates =
            matches!(mode, Mode::Chat | Mode::Completion | Mode::Responses | Mode::AnthropicMessages);
        let model = self.name.id.as_str();
        let body = if !generates {
            return None;
        } else if path.ends_with("/count_tokens") {
            json!({"model": model, "messages": [{"role": "user", "content": "ok"}]})
        } else if path.ends_with(":countTokens") {
            json!({"contents": [{"role": "user", "parts": [{"text": "ok"}]}]})
        } else if path.ends_with("/count-tokens") && model.contains("anthropic.") {
            json!({"input": {"converse": {"messages": [{"role": "user", "content": [{"text": "ok"}]}]}}})
        } else {
            return None;
        };
        Some(body.to_string().into())
    }
}

/// A path below the base, with the base's own query.
fn with_query(base: &Base, path: &str) -> String {
    match &base.query {
        Some(query) => {
            let glue = if path.contains('?') { '&' } else { '?' };
            format!("{}{path}{glue}{query}", base.text)
        }
        None => format!("{}{path}", base.text),
    }
}

/// How much a 2xx of `call` says about a deployment that serves `mode`.
fn worth(call: &FreeCall, mode: Mode) -> usize {
    let counts = |proof: &&Proves| match proof {
        Proves::Auth
        | Proves::ModelListed
        | Proves::ModelAccess
        | Proves::ModelReady
        | Proves::ModelLoaded
        | Proves::Engine
        | Proves::Credit
        | Proves::RequestShape => true,
        Proves::BatchScope => mode == Mode::Batch,
        Proves::Reach | Proves::Capabilities => false,
    };
    call.proves.iter().filter(counts).count()
}
