//! From a deployment's parameters to a [`Target`]: the only place that decides where a call goes. Traffic,
//! probes and explanations all read what is decided here.

mod aws;
pub(crate) mod base;
mod drop_path;
mod entra;
pub(crate) mod free;
mod google;
mod headers;
mod ibm;
pub(crate) mod key;
pub(crate) mod model;
mod params;
mod source;
mod web_identity;

pub(crate) use drop_path::DropPath;
pub use model::{ModelName, split as split_model};
pub(crate) use params::{applies, is_gateway_field, samples};
pub use source::{DeploymentSource, ResolveError};

use std::sync::Arc;

use base::Base;
use key::Presented;
use serde_json::Value;

use crate::mode::mode_of_name;
use crate::registry::{Auth, Method, Provider, Wire, provider};
use crate::route::Route;
use crate::target::Target;
use crate::wires::{self, azure, vertex, watsonx};
use crate::{Mode, ModeOrigin, Operation};

/// Resolves one deployment.
///
/// # Errors
/// When the provider is unknown or its wire is not spoken, the base is missing or no URL, a needed key is
/// missing, or a header cannot be sent. Nothing is ever sent to another provider's host instead.
pub fn resolve(source: &DeploymentSource<'_>) -> Result<Target, ResolveError> {
    let mut name = model::split(source.model, source.custom_llm_provider, source.api_base)?;
    if !wires::spoken(name.provider.wire) {
        return Err(not_supported(name.provider));
    }
    match name.provider.auth {
        Auth::Aws => aws::place(&mut name, source),
        Auth::GoogleOauth => google::place(&mut name, source),
        Auth::Bearer
        | Auth::Token
        | Auth::Header(_)
        | Auth::Azure
        | Auth::AzureAi
        | Auth::Anthropic
        | Auth::IbmIam => {}
    }
    let (mut base, is_default) = base::find(&name, source)?;
    let own_host = base.host == "api.openai.com" || base.host.ends_with(".api.openai.com");
    model::at_base(&mut name, own_host);
    let (mode, mode_origin) = mode(source, &name);
    if mode == Mode::Responses {
        name.mode = Some(Mode::Responses);
    }
    if at_own_server(&mut name, mode, is_default) {
        base = base.without_suffix("/v1").without_suffix("/embed").without_suffix("/rerank");
    }
    if !wires::spoken(name.provider.wire) {
        return Err(not_supported(name.provider));
    }
    if let Some(endpoint) = unspoken(name.provider, mode) {
        return Err(ResolveError::WireNotSupported { provider: name.provider.id, wire: endpoint });
    }
    let presented = key::find(&name, &base, source)?;
    let signer = aws::signer(&name, &base, &presented)?;
    let project = match name.provider.auth {
        Auth::GoogleOauth => google::project(source, &presented)?,
        Auth::Aws
        | Auth::Bearer
        | Auth::Token
        | Auth::Header(_)
        | Auth::Azure
        | Auth::AzureAi
        | Auth::Anthropic
        | Auth::IbmIam => None,
    };
    let plan = Plan { name: &name, base: &base, is_default, source };
    let face = Face::of(&plan, project.as_deref());
    let headers = headers::build(&plan, presented.key(), face.azure())?;
    let routes = plan.routes(&face)?;
    let list_batches = plan.batches(&face);
    let free = plan.free(face.azure(), mode);
    let wildcard = name.id.contains('*');
    let reasons = name.reasons || reasons_by_name(name.provider, &name.id);
    Ok(Target {
        provider: name.provider,
        full_model: full_model(source, &name),
        credential: key::fingerprint(name.provider.id, &base.endpoint, &presented),
        credential_source: match presented {
            Presented::Fetched(source) => Some(source),
            Presented::Key(_) | Presented::Nothing => None,
        },
        routes,
        headers,
        signer: signer.map(Arc::new),
        list_batches,
        free,
        defaults: params::defaults(source, &name, reasons)?,
        provider_name: litellm_name(&name),
        unknown_mode: (mode_origin == ModeOrigin::ConfiguredUnknown)
            .then(|| source.mode.unwrap_or("").to_owned()),
        wire_model: name.id,
        region: name.region,
        api_base: base.text,
        endpoint: base.endpoint,
        mode,
        mode_origin,
        wildcard,
    })
}

/// What routes and headers are built from.
pub(crate) struct Plan<'a> {
    pub(crate) name: &'a ModelName,
    pub(crate) base: &'a Base,
    pub(crate) is_default: bool,
    pub(crate) source: &'a DeploymentSource<'a>,
}

/// Which of a provider's several faces a deployment uses, where it has more than its row says.
enum Face {
    /// The row says it all.
    Row,
    /// One of Azure's.
    Azure(azure::Face),
    /// One of Vertex AI's.
    Vertex(vertex::Face),
    /// One of watsonx's.
    Watsonx(watsonx::Face),
}

impl Face {
    fn of(plan: &Plan<'_>, project: Option<&str>) -> Self {
        if let Some(face) = azure::Face::of(plan) {
            return Self::Azure(face);
        }
        match plan.name.provider.id {
            "vertex_ai" => Self::Vertex(vertex::Face::of(plan, project)),
            "watsonx" => Self::Watsonx(watsonx::Face::of(plan)),
            _ => Self::Row,
        }
    }

    const fn azure(&self) -> Option<&azure::Face> {
        match self {
            Self::Azure(face) => Some(face),
            Self::Row | Self::Vertex(_) | Self::Watsonx(_) => None,
        }
    }
}

impl Plan<'_> {
    fn routes(&self, face: &Face) -> Result<[Option<Route>; Operation::ALL.len()], ResolveError> {
        let mut routes = [const { None }; Operation::ALL.len()];
        for operation in Operation::ALL {
            let Some((wire, url)) = self.place(operation, face) else { continue };
            let stream = wires::stream_url(wire, operation, &url);
            let route = Route::new(wire, &url, stream.as_deref(), &self.name.id).map_err(|error| {
                ResolveError::InvalidBase { base: self.base.text.clone(), reason: error.to_string() }
            })?;
            if let Some(slot) = routes.get_mut(operation.index()) {
                *slot = Some(route);
            }
        }
        Ok(routes)
    }

    /// The wire and URL pattern of an operation.
    fn place(&self, operation: Operation, face: &Face) -> Option<(Wire, String)> {
        // `…/responses/model` and the mode are a promise that only the Responses API is served; other operations go over it.
        let only_responses = self.name.mode == Some(Mode::Responses)
            && self
                .name
                .provider
                .endpoint(Mode::Responses)
                .is_some_and(|served| wires::speaks_openai(served.wire));
        if only_responses && operation != Operation::Responses {
            return None;
        }
        match face {
            Face::Azure(face) => return face.place(self, operation),
            Face::Vertex(face) => return face.place(operation),
            Face::Watsonx(face) => return face.place(operation),
            Face::Row => {}
        }
        let provider = self.name.provider;
        if operation.keeps_objects() {
            return self.kept(operation);
        }
        if operation == Operation::Realtime {
            return self.session();
        }
        let endpoint = match (provider.wire, operation) {
            (Wire::Anthropic, Operation::Chat | Operation::Messages) => provider.endpoint(Mode::Chat)?,
            (Wire::Anthropic, Operation::CountTokens) => {
                let path = provider.endpoint(Mode::Chat)?.path;
                return Some((Wire::Anthropic, self.url(&format!("{path}/count_tokens"))?));
            }
            (_, Operation::CountTokens) => return None,
            // What `/v2/parse` takes and gives is not known.
            (Wire::Anthropic, _) | (Wire::Cohere, Operation::Completions | Operation::Ocr) => return None,
            (Wire::Bedrock, Operation::Moderations | Operation::Responses) => return None,
            // These paint in a chat's answer.
            (Wire::Gemini, Operation::Images) if self.name.id.contains("gemini") => {
                return Some((Wire::Gemini, self.extended("/models/{model}:generateContent")));
            }
            (_, Operation::Moderations | Operation::Translations | Operation::ImageVariations) => {
                return self.unlisted(operation);
            }
            (Wire::OpenAi, Operation::Messages) => return None,
            (_, _) => provider.endpoint(operation.mode())?,
        };
        if !wires::spoken(endpoint.wire) {
            return None;
        }
        if endpoint.wire == Wire::Replicate {
            return Some((endpoint.wire, self.extended(wires::replicate::path(&self.name.id))));
        }
        Some((endpoint.wire, self.url(endpoint.path)?))
    }

    /// Where objects of a kind are kept. Batches of the provider's own shape are not OpenAI's.
    fn kept(&self, operation: Operation) -> Option<(Wire, String)> {
        let provider = self.name.provider;
        let lists = provider.endpoint(Mode::Batch).filter(|endpoint| endpoint.method == Method::Get);
        let path = match operation {
            Operation::Files => {
                lists.filter(|endpoint| matches!(endpoint.wire, Wire::OpenAi | Wire::Jobs))?;
                operation.path()
            }
            Operation::Batches => {
                let path = lists.filter(|endpoint| endpoint.wire == Wire::OpenAi)?.path;
                path.split('?').next().unwrap_or(path)
            }
            Operation::Videos => {
                let endpoint = provider.endpoint(operation.mode())?;
                // OpenAI's path is its promise of OpenAI's shape.
                let spoken = (endpoint.wire == Wire::OpenAi && endpoint.path == operation.path())
                    || matches!(endpoint.wire, Wire::Gemini | Wire::DashScope | Wire::Jobs);
                return spoken.then(|| Some((endpoint.wire, self.url(endpoint.path)?))).flatten();
            }
            Operation::Chat
            | Operation::Completions
            | Operation::Embeddings
            | Operation::Responses
            | Operation::Messages
            | Operation::CountTokens
            | Operation::Moderations
            | Operation::Images
            | Operation::Speech
            | Operation::Rerank
            | Operation::Ocr
            | Operation::Transcriptions
            | Operation::Translations
            | Operation::ImageEdits
            | Operation::ImageVariations
            | Operation::Realtime => return None,
        };
        Some((Wire::OpenAi, self.extended(path)))
    }

    /// Where sessions begin. The scheme stays HTTP's: a WebSocket begins as a request.
    fn session(&self) -> Option<(Wire, String)> {
        let endpoint =
            self.name.provider.endpoint(Mode::Realtime).filter(|endpoint| endpoint.wire == Wire::Realtime)?;
        let path = endpoint.path.strip_prefix("wss:")?;
        let base = match self.name.provider.id {
            // Whatever the path of a server that speaks OpenAI's API, its sessions begin below `/v1`.
            "openai" | "openai_compatible" => format!("{}/v1", self.base.root),
            _ => self.base.text.clone(),
        };
        let query = self.base.query.as_ref().map(|query| format!("&{query}")).unwrap_or_default();
        Some((endpoint.wire, format!("{base}{path}{query}")))
    }

    /// The list of batches, one entry long where the provider can be asked so.
    fn batches(&self, face: &Face) -> Option<http::Uri> {
        match face {
            Face::Azure(face) => return face.batches()?.parse().ok(),
            Face::Vertex(face) => return face.batches()?.parse().ok(),
            Face::Watsonx(_) | Face::Row => {}
        }
        let provider = self.name.provider;
        let endpoint = provider.endpoint(Mode::Batch).filter(|endpoint| endpoint.method == Method::Get)?;
        let path = match (provider.wire, endpoint.path) {
            (Wire::OpenAi, "/batch/jobs") => "/batch/jobs?page_size=1".to_owned(),
            (Wire::OpenAi | Wire::Anthropic, path) if !path.contains('?') => format!("{path}?limit=1"),
            (Wire::OpenAi | Wire::Anthropic, path) => path.to_owned(),
            (_, _) => return None,
        };
        format!("{}{path}", self.base.text).parse().ok()
    }

    /// Operations without a mode of their own, at the providers that have them on OpenAI's path.
    fn unlisted(&self, operation: Operation) -> Option<(Wire, String)> {
        let provider = self.name.provider.id;
        let served = match operation {
            Operation::Moderations => {
                matches!(provider, "openai" | "openai_compatible" | "mistral" | "hosted_vllm")
            }
            Operation::Translations => {
                matches!(provider, "openai" | "openai_compatible" | "groq" | "hosted_vllm")
                    || matches!(provider, "together_ai" | "fireworks_ai")
            }
            Operation::ImageVariations => matches!(provider, "openai" | "openai_compatible"),
            Operation::Chat
            | Operation::Completions
            | Operation::Embeddings
            | Operation::Responses
            | Operation::Messages
            | Operation::CountTokens
            | Operation::Images
            | Operation::Speech
            | Operation::Rerank
            | Operation::Transcriptions
            | Operation::ImageEdits
            | Operation::Ocr
            | Operation::Files
            | Operation::Batches
            | Operation::Videos
            | Operation::Realtime => false,
        };
        served.then(|| (Wire::OpenAi, self.extended(operation.path())))
    }

    /// A path of the registry as a URL pattern. An absolute one belongs to the provider's own platform: at the
    /// operator's base it does not exist, and the key must not leave for it.
    fn url(&self, path: &str) -> Option<String> {
        if let Some(path) = path.strip_prefix("{root}") {
            return Some(format!("{}{path}", self.base.root));
        }
        if path.starts_with("https://") {
            let region = self.name.region.as_deref().unwrap_or_default();
            return if self.is_default {
                Some(path.replace("{region}", region))
            } else {
                self.own_server_path()
            };
        }
        Some(self.extended(path))
    }

    /// A path below the base, with the base's own query.
    pub(crate) fn extended(&self, path: &str) -> String {
        let query = self.base.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{path}{query}", self.base.text)
    }

    fn own_server_path(&self) -> Option<String> {
        // A self-hosted NIM ranks below its own base.
        (self.name.provider.id == "nvidia_nim").then(|| self.extended("/ranking"))
    }
}

/// A parameter that is a text and not blank.
fn text(source: &DeploymentSource<'_>, name: &str) -> Option<String> {
    let value = source.params.get(name).and_then(Value::as_str)?;
    (!value.trim().is_empty()).then(|| value.to_owned())
}

/// The first of these environment variables that is set and not blank.
fn set(source: &DeploymentSource<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| (source.env)(name).filter(|value| !value.trim().is_empty()))
}

fn not_supported(provider: &'static Provider) -> ResolveError {
    ResolveError::WireNotSupported { provider: provider.id, wire: provider.wire.as_str() }
}

/// The wire of what the deployment is for, when clients can call it and this version does not speak it.
fn unspoken(provider: &Provider, mode: Mode) -> Option<&'static str> {
    let called =
        Operation::ALL.iter().any(|operation| operation.mode() == mode && !operation.keeps_objects());
    let wire = provider.endpoint(mode).map(|endpoint| endpoint.wire)?;
    (called && !wires::spoken(wire)).then(|| wire.as_str())
}

/// Mode, from the first source that knows it.
fn mode(source: &DeploymentSource<'_>, name: &ModelName) -> (Mode, ModeOrigin) {
    if let Some(written) = source.mode.filter(|mode| !mode.is_empty()) {
        return match Mode::from_name(written) {
            Some(mode) => (mode, ModeOrigin::Configured),
            None => (Mode::Chat, ModeOrigin::ConfiguredUnknown),
        };
    }
    if let Some(mode) = name.mode {
        return (mode, ModeOrigin::ModelString);
    }
    if let [only] = name.provider.endpoints {
        return (only.mode, ModeOrigin::Provider);
    }
    let served = |mode: &Mode| name.provider.endpoint(*mode).is_some();
    if let Some(mode) = mode_of_name(&name.id).filter(served) {
        return (mode, ModeOrigin::Name);
    }
    if name.provider.endpoint(Mode::Chat).is_none()
        && let Some(first) = name.provider.endpoints.first()
    {
        return (first.mode, ModeOrigin::Provider);
    }
    (Mode::Chat, ModeOrigin::Default)
}

/// `huggingface/` with a base is a Text Embeddings Inference server when it embeds or ranks.
fn at_own_server(name: &mut ModelName, mode: Mode, is_default: bool) -> bool {
    if name.provider.id == "huggingface"
        && !is_default
        && matches!(mode, Mode::Embedding | Mode::Rerank)
        && let Some(tei) = provider("tei")
    {
        name.provider = tei;
        return true;
    }
    false
}

/// The names by which OpenAI's reasoning models are known. Elsewhere it is learnt from the provider's answer.
fn reasons_by_name(provider: &Provider, id: &str) -> bool {
    let id = id.rsplit('/').next().unwrap_or(id);
    matches!(provider.id, "openai" | "azure")
        && (matches!(id, "o1" | "o3" | "o4")
            || ["o1-", "o3-", "o4-"].iter().any(|prefix| id.starts_with(prefix))
            || (id.starts_with("gpt-5") && !id.contains("chat")))
}

fn litellm_name(name: &ModelName) -> String {
    match name.provider.id {
        "openai_compatible" | "openai" => "openai".to_owned(),
        _ => name.prefix.clone(),
    }
}

fn full_model(source: &DeploymentSource<'_>, name: &ModelName) -> String {
    let prefix = litellm_name(name);
    let written = source.model.trim();
    match written.strip_prefix(prefix.as_str()) {
        Some(rest) if rest.starts_with('/') => written.to_owned(),
        Some(_) | None if written.starts_with(name.prefix.as_str()) && written.contains('/') => {
            written.to_owned()
        }
        Some(_) | None => format!("{prefix}/{written}"),
    }
}
