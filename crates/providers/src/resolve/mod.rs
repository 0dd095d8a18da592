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

use crate::catalogue::{CatalogueRow, ModelFacts, Prices};
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
    let known = known(source, &name);
    let facts = known.as_ref().map(CatalogueRow::facts);
    let Served { mode, origin: mode_origin, unknown: unknown_mode } = served(source, &name, facts.as_ref());
    if mode == Mode::Responses {
        name.mode = Some(Mode::Responses);
    }
    if at_own_server(&mut name, mode, is_default) {
        base = base.without_suffix("/v1").without_suffix("/embed").without_suffix("/rerank");
    }
    if !wires::spoken(name.provider.wire) {
        return Err(not_supported(name.provider));
    }
    if let Some(endpoint) = unspoken(name.provider, mode).filter(|_| !chats(mode_origin, facts.as_ref())) {
        return Err(ResolveError::WireNotSupported { provider: name.provider.id, wire: endpoint });
    }
    let presented = key::find(&name, &base, source)?;
    let signer = aws::signer(&name, &base, &presented)?;
    let project =
        if name.provider.auth == Auth::GoogleOauth { google::project(source, &presented)? } else { None };
    let plan = Plan { name: &name, base: &base, is_default, source };
    let face = Face::of(&plan, project.as_deref());
    let headers = headers::build(&plan, presented.key(), face.azure())?;
    let routes = plan.routes(&face)?;
    let list_batches = plan.batches(&face);
    let free = plan.free(face.azure(), mode);
    let wildcard = name.id.contains('*');
    let habits = habits(&name, facts.as_ref());
    let prices = facts.map_or(Prices::NONE, |facts| facts.prices).overridden(source.prices);
    // What is behind another's base is not in any catalogue.
    let candidates = || source.catalogue.probe_candidates(&name.prefix, &name.id);
    let probe_candidates = if wildcard && is_default { candidates() } else { Vec::new() };
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
        live_model: face.live_model(),
        free,
        defaults: params::defaults(source, &name, habits)?,
        prices,
        known,
        probe_candidates,
        catalogue: source.catalogue.clone(),
        own_prices: *source.prices,
        statuses: source.statuses.clone(),
        provider_name: litellm_name(&name),
        unknown_mode,
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

impl Face {
    /// How Gemini's live sessions name the model.
    fn live_model(&self) -> Option<String> {
        match self {
            Self::Vertex(face) => face.live_model().map(str::to_owned),
            Self::Row | Self::Azure(_) | Self::Watsonx(_) => Some("models/{model}".to_owned()),
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
            self.name.provider.endpoint(Mode::Realtime).filter(|endpoint| is_session(endpoint.wire))?;
        let path = endpoint.path.strip_prefix("wss:")?;
        if endpoint.wire == Wire::GeminiLive {
            return Some((endpoint.wire, self.live(path)));
        }
        let base = match self.name.provider.id {
            // Whatever the path of a server that speaks OpenAI's API, its sessions begin below `/v1`.
            "openai" | "openai_compatible" => format!("{}/v1", self.base.root),
            _ => self.base.text.clone(),
        };
        let query = self.base.query.as_ref().map(|query| format!("&{query}")).unwrap_or_default();
        Some((endpoint.wire, format!("{base}{path}{query}")))
    }

    /// Gemini's live sessions stand beside the versions of the API; the path names the version again.
    fn live(&self, path: &str) -> String {
        let base = &self.base.text;
        let found = ["v1beta", "v1alpha", "v1"]
            .into_iter()
            .find_map(|version| Some((base.strip_suffix(version)?.strip_suffix('/')?, version)));
        let (host, version) = found.unwrap_or((base, "v1beta"));
        let query = self.base.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{host}{}{query}", path.replace("v1beta", version))
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
        match self.name.provider.id {
            // A self-hosted NIM ranks below its own base.
            "nvidia_nim" => Some(self.extended("/ranking")),
            // A private endpoint of Bedrock's agent runtime, or a proxy of it.
            "bedrock" => Some(self.extended("/rerank")),
            _ => None,
        }
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
    // These two are served over chat completions where there is no road of their own.
    let bridged = matches!(mode, Mode::Responses | Mode::AnthropicMessages)
        && provider.endpoint(Mode::Chat).is_some_and(|chat| wires::spoken(chat.wire));
    let speaks = if mode == Mode::Realtime { is_session(wire) } else { wires::spoken(wire) };
    (called && !bridged && !speaks).then(|| wire.as_str())
}

/// Whether sessions are spoken on this wire.
const fn is_session(wire: Wire) -> bool {
    matches!(wire, Wire::Realtime | Wire::GeminiLive)
}

/// What the catalogue lists as a maker of images may be called as chat all the same. What the operator says counts.
fn chats(origin: ModeOrigin, facts: Option<&ModelFacts<'_>>) -> bool {
    origin == ModeOrigin::Catalogue
        && facts.is_some_and(|facts| facts.at_endpoint("/v1/chat/completions") == Some(true))
}

/// What a deployment serves.
struct Served {
    mode: Mode,
    origin: ModeOrigin,
    /// The word that is no mode.
    unknown: Option<String>,
}

/// The catalogue's row about the deployment's model.
fn known(source: &DeploymentSource<'_>, name: &ModelName) -> Option<CatalogueRow> {
    let provider = litellm_name(name);
    let row = |model: &str, base| source.catalogue.row_of(&provider, model, base);
    let written = row(source.model.trim(), source.base_model);
    written.or_else(|| row(&name.id, None))
}

/// What `source` serves and who says so, without resolving where its calls go: for explanations.
///
/// # Errors
/// When the model string names no known provider.
pub fn mode_of(source: &DeploymentSource<'_>) -> Result<(Mode, ModeOrigin), ResolveError> {
    let name = model::split(source.model, source.custom_llm_provider, source.api_base)?;
    let known = known(source, &name);
    let facts = known.as_ref().map(CatalogueRow::facts);
    let served = served(source, &name, facts.as_ref());
    Ok((served.mode, served.origin))
}

/// What the catalogue says about the model of `source`, if it knows it.
pub fn known_of(source: &DeploymentSource<'_>) -> Option<CatalogueRow> {
    let name = model::split(source.model, source.custom_llm_provider, source.api_base).ok()?;
    known(source, &name)
}

/// Mode, from the first source that knows it.
fn served(source: &DeploymentSource<'_>, name: &ModelName, facts: Option<&ModelFacts<'_>>) -> Served {
    let of = |mode, origin| Served { mode, origin, unknown: None };
    let no_mode = |origin, word: &str| Served { mode: Mode::Chat, origin, unknown: Some(word.to_owned()) };
    if let Some(written) = source.mode.filter(|mode| !mode.is_empty()) {
        return match Mode::from_name(written) {
            Some(mode) => of(mode, ModeOrigin::Configured),
            None => no_mode(ModeOrigin::ConfiguredUnknown, written),
        };
    }
    if let Some(mode) = name.mode {
        return of(mode, ModeOrigin::ModelString);
    }
    if let [only] = name.provider.endpoints {
        return of(only.mode, ModeOrigin::Provider);
    }
    let has_endpoint = |mode: &Mode| name.provider.endpoint(*mode).is_some();
    match facts.map(|facts| (facts.mode(), facts.kind.as_ref())) {
        // Generation in another form is served as chat where the provider has no endpoint of its own for it.
        Some((Some(mode @ (Mode::Completion | Mode::Responses | Mode::AnthropicMessages)), _))
            if !has_endpoint(&mode) => {}
        Some((Some(mode), _)) => return of(mode, ModeOrigin::Catalogue),
        Some((None, kind)) if !kind.is_empty() => return no_mode(ModeOrigin::CatalogueUnknown, kind),
        Some((None, _)) | None => {}
    }
    if let Some(mode) = mode_of_name(&name.id).filter(has_endpoint) {
        return of(mode, ModeOrigin::Name);
    }
    if !has_endpoint(&Mode::Chat)
        && let Some(first) = name.provider.endpoints.first()
    {
        return of(first.mode, ModeOrigin::Provider);
    }
    of(Mode::Chat, ModeOrigin::Default)
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

/// How a model wants to be called.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// It takes `max_completion_tokens`, and no sampling parameters.
    pub(crate) completion_tokens: bool,
    /// It may reason before it answers, which takes tokens and time.
    pub(crate) reasons: bool,
    /// It refuses sampling parameters, whatever its provider takes.
    pub(crate) no_sampling: bool,
    /// The lowest reasoning effort that it is known to take.
    pub(crate) least_effort: Option<&'static str>,
}

impl Habits {
    /// The habits of the model `id`, by what is known of it, else by its name.
    pub(crate) fn of(provider: &Provider, id: &str, facts: Option<&ModelFacts<'_>>) -> Self {
        let reasoning = facts.and_then(|facts| facts.reasoning);
        let openai = matches!(provider.id, "openai" | "azure");
        let completion_tokens = openai && reasoning.unwrap_or_else(|| reasons_by_name(id));
        let takes = |flag: fn(&ModelFacts<'_>) -> Option<bool>| facts.and_then(flag) == Some(true);
        let least_effort = if takes(|facts| facts.effort_none) {
            Some("none")
        } else if takes(|facts| facts.effort_minimal) {
            Some("minimal")
        } else {
            None
        };
        Self {
            completion_tokens,
            reasons: completion_tokens || reasoning == Some(true),
            no_sampling: facts.and_then(|facts| facts.sampling) == Some(false),
            // Elsewhere the field has other names and values.
            least_effort: least_effort.filter(|_| openai),
        }
    }
}

/// The habits of the deployment's own model; its string may say that it reasons.
fn habits(name: &ModelName, facts: Option<&ModelFacts<'_>>) -> Habits {
    let habits = Habits::of(name.provider, &name.id, facts);
    Habits {
        completion_tokens: habits.completion_tokens || name.reasons,
        reasons: habits.reasons || name.reasons,
        ..habits
    }
}

/// The names by which OpenAI's reasoning models are known. Elsewhere it is learnt from the provider's answer.
fn reasons_by_name(id: &str) -> bool {
    let id = id.rsplit('/').next().unwrap_or(id);
    matches!(id, "o1" | "o3" | "o4")
        || ["o1-", "o3-", "o4-"].iter().any(|prefix| id.starts_with(prefix))
        || (id.starts_with("gpt-5") && !id.contains("chat"))
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
