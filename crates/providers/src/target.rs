//! A deployment, resolved: where each operation is served, with which headers, under which name.
//!
//! Everything that does not depend on the request is built once: URLs, headers, the JSON of the model's name and
//! of the call defaults. A call clones a header map and patches a body. Traffic and probes take the same road
//! ([`Target::build`]), so a probe can only reach what traffic reaches.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use haleway_wire::Envelope;
use haleway_wire::Payload;
use http::{HeaderMap, HeaderValue, Method, Uri, header};

use crate::bridge;
use crate::catalogue::{Catalogue, CatalogueRow, ModelFacts, Prices, ProbeCandidate};
use crate::classify::{self, StatusLists};
use crate::credential::CredentialSource;
use crate::registry::{Provider, Wire};
use crate::resolve::free::FreeRoute;
use crate::resolve::{DropPath, Habits};
use crate::route::{Place, Route};
use crate::sigv4::Signer;
use crate::wires::gemini::live::{self, Dialogue};
use crate::wires::{self, Encode};
use crate::{Call, CallOptions, ClientBody, Mode, ModeOrigin, Operation, Refusal, Reply};

/// A resolved deployment.
pub struct Target {
    /// The provider's row.
    pub provider: &'static Provider,
    /// The provider as LiteLLM writes it (`openai` also for other servers that speak its API).
    pub provider_name: String,
    /// The model's id on the wire. Holds a `*` when the deployment is a wildcard.
    pub wire_model: String,
    /// LiteLLM's `provider/name`.
    pub full_model: String,
    /// The base URL, without a trailing slash.
    pub api_base: String,
    /// `scheme://host:port` with the port spelled out: the key of the endpoint's failure domain.
    pub endpoint: String,
    /// A number that deployments with the same provider, host and key share. The key cannot be got from it.
    pub credential: u64,
    /// What the deployment serves.
    pub mode: Mode,
    /// Where the mode came from.
    pub mode_origin: ModeOrigin,
    /// `model_info.mode` as written, or the catalogue's word, when it names no mode.
    pub unknown_mode: Option<String>,
    /// What the catalogue says about the model, if it knows it.
    pub known: Option<CatalogueRow>,
    /// What its units cost: the catalogue's prices where the deployment states none itself.
    pub prices: Prices,
    /// The deployment serves every model that a pattern matches.
    pub wildcard: bool,
    /// The AWS region or the Google location that calls go to.
    pub region: Option<String>,
    /// Where the credential is fetched from, when it is not written in the configuration or the environment.
    pub credential_source: Option<Arc<CredentialSource>>,
    pub(crate) routes: [Option<Route>; Operation::ALL.len()],
    pub(crate) headers: HeaderMap,
    /// Signs calls, where the provider wants that and the credential is a pair of keys.
    pub(crate) signer: Option<Arc<Signer>>,
    /// Where the provider lists its jobs of many requests.
    pub(crate) list_batches: Option<Uri>,
    /// How Gemini's live sessions name the model: `{model}` stands for its id.
    pub(crate) live_model: Option<String>,
    /// The call that costs nothing, where there is one.
    pub(crate) free: Option<FreeRoute>,
    pub(crate) defaults: Defaults,
    /// Statuses that the operator reads otherwise.
    pub statuses: StatusLists,
    /// What is known about other models that a call may name.
    pub(crate) catalogue: Catalogue,
    /// The prices that the deployment states itself.
    pub(crate) own_prices: Prices,
    /// Models that may stand for a wildcard in its probe, the cheapest first.
    pub(crate) probe_candidates: Vec<ProbeCandidate>,
}

/// What a deployment adds to and takes from every body.
#[derive(Default)]
pub(crate) struct Defaults {
    /// The wire model as a JSON string.
    pub(crate) model: Vec<u8>,
    /// Call defaults, applied where the client sets none.
    pub(crate) params: Vec<(String, Vec<u8>)>,
    /// Fields put into every body.
    pub(crate) extra: Vec<(String, Vec<u8>)>,
    /// Fields never sent.
    pub(crate) dropped: Vec<String>,
    /// What is never sent of a member.
    pub(crate) dropped_paths: Vec<DropPath>,
    /// `drop_params` of the deployment.
    pub(crate) drop_params: bool,
    /// The deployment streams by default; probes do then, too.
    pub(crate) stream: bool,
    /// How the model wants to be called.
    pub(crate) habits: Habits,
}

impl Target {
    /// `text` without the secrets that this deployment sends, whatever they look like: providers quote the key they refuse.
    /// One of fewer than eight characters is looked for as a word of its own only, so that it spoils no others.
    pub fn without_own_secrets(&self, text: String) -> String {
        let secrets = self.headers.values().filter(|value| value.is_sensitive());
        secrets.fold(text, |text, value| {
            let Ok(value) = value.to_str() else { return text };
            let secret = value.rsplit(' ').next().unwrap_or(value);
            classify::without(text, secret)
        })
    }

    /// Whether the deployment has a road of its own for `operation`. Messages, responses and chat completions are served
    /// over one another where it has none.
    pub fn serves(&self, operation: Operation) -> bool {
        self.mode != Mode::Http && self.route(operation).is_some()
    }

    /// The kind of credential that is fetched: a stable machine name, or `configured`.
    pub fn credential_kind(&self) -> &'static str {
        self.credential_source.as_ref().map_or("configured", |source| source.kind())
    }

    /// The call that serves a client's `body`.
    ///
    /// `model_override` is what a wildcard's `*` stands for in this request; it is ignored on deployments that
    /// are no wildcard.
    ///
    /// # Errors
    /// When the provider does not serve the operation or its wire cannot say what the body says.
    pub fn call<'a>(
        &self,
        operation: Operation,
        body: impl Into<ClientBody<'a>>,
        model_override: Option<&str>,
        options: CallOptions,
    ) -> Result<Call, Refusal> {
        let model = self.model_of(model_override);
        self.build(operation, body.into(), model.as_deref(), options, Purpose::Traffic)
    }

    /// The wire model when it is not the deployment's own: what a wildcard took stands for its `*`.
    pub(crate) fn model_of(&self, captured: Option<&str>) -> Option<String> {
        let captured = captured.filter(|_| self.wildcard)?;
        Some(self.wire_model.replacen('*', captured, 1))
    }

    /// What the units of a call cost that names `model` (an id on the wire) instead of the deployment's own.
    pub fn prices_of(&self, model: Option<&str>) -> Prices {
        let Some(model) = model else { return self.prices };
        let listed = self.facts_of(model).map_or(Prices::NONE, |facts| facts.prices);
        listed.overridden(&self.own_prices)
    }

    /// What is known about a model of the same provider.
    pub(crate) fn facts_of(&self, model: &str) -> Option<ModelFacts<'_>> {
        self.catalogue.find(&self.provider_name, model)
    }

    /// The one road to the provider, for traffic and probes.
    pub(crate) fn build(
        &self,
        operation: Operation,
        body: ClientBody<'_>,
        model: Option<&str>,
        options: CallOptions,
        purpose: Purpose<'_>,
    ) -> Result<Call, Refusal> {
        let ClientBody { members, form } = body;
        let paths = &self.defaults.dropped_paths;
        // One path after the other: two may lead into the same member.
        for (index, path) in paths.iter().enumerate() {
            let Some(change) = path.change(members) else { continue };
            let mut text = members.patched(&[change]);
            for path in paths.iter().skip(index + 1) {
                let less =
                    Envelope::parse(&text).ok().and_then(|body| Some(body.patched(&[path.change(&body)?])));
                text = less.unwrap_or(text);
            }
            let body = Envelope::parse(&text)
                .map_err(|error| Refusal::untranslatable("request_body", error.to_string()))?;
            return self.build_from(operation, ClientBody { members: &body, form }, model, options, purpose);
        }
        self.build_from(operation, body, model, options, purpose)
    }

    fn build_from(
        &self,
        operation: Operation,
        body: ClientBody<'_>,
        model: Option<&str>,
        options: CallOptions,
        purpose: Purpose<'_>,
    ) -> Result<Call, Refusal> {
        let ClientBody { members, form } = body;
        let Some(route) = self.route(operation) else {
            return bridge::build(self, operation, members, model, options, purpose)
                .map_err(Refusal::for_this_deployment);
        };
        let encode = Encode { target: self, operation, body: members, form, model, options, purpose };
        let out = wires::encode(route.wire, &encode)?;
        let uri = self.uri(route, model, options.stream, &out.place)?;
        let mut headers = self.headers.clone();
        if let Some(content_type) = out.content_type {
            headers.insert(header::CONTENT_TYPE, content_type);
        }
        Ok(Call {
            method: Method::POST,
            uri,
            headers,
            body: out.body,
            reply: out.reply,
            strip_usage: out.strip_usage,
            signer: self.signer.clone(),
        })
    }

    /// The request that begins a realtime session, for traffic and probes; what a handshake adds is the
    /// transport's, and the body is the first message. `captured` is what a wildcard's `*` stands for. With `intent` (`transcription`) the session is
    /// asked for what it is for.
    ///
    /// # Errors
    /// When the provider has no sessions or the model's name cannot be part of a URL.
    pub fn session(&self, captured: Option<&str>, intent: Option<&str>) -> Result<Call, Refusal> {
        self.session_of(self.model_of(captured).as_deref(), intent)
    }

    /// [`Self::session`] with the deployment's own model, or with `model`.
    pub(crate) fn session_of(&self, model: Option<&str>, intent: Option<&str>) -> Result<Call, Refusal> {
        let operation = Operation::Realtime;
        let route = self.route(operation).ok_or_else(|| Refusal::unsupported(self.provider.id, operation))?;
        let mut place = Place::default();
        if let Some(intent) = intent.filter(|_| route.wire == Wire::Realtime || route.wire == Wire::Azure) {
            place.query.push(("intent".to_owned(), intent.to_owned()));
        }
        let mut headers = self.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        let hello = self.live_resource(model).map(|resource| live::hello(&resource));
        Ok(Call {
            method: Method::GET,
            uri: self.uri(route, model, false, &place)?,
            headers,
            body: hello.map_or_else(Payload::empty, |hello| Bytes::from(hello).into()),
            reply: Reply::Passthrough,
            strip_usage: false,
            signer: self.signer.clone(),
        })
    }

    /// The interpreter of a session whose provider does not speak OpenAI's events. `captured` as in [`Self::session`];
    /// `id` tells the session from others; `beta`: the caller reads the events of the API's beta.
    pub fn dialogue(&self, captured: Option<&str>, id: &str, beta: bool, drops: bool) -> Option<Dialogue> {
        let model = self.model_of(captured);
        let resource = self.live_resource(model.as_deref())?;
        let drops = drops || self.defaults.drop_params;
        Some(Dialogue::new(&resource, model.as_deref().unwrap_or(&self.wire_model), id, beta, drops))
    }

    fn live_resource(&self, model: Option<&str>) -> Option<String> {
        let pattern = self.live_model.as_ref()?;
        let live = self.wire(Operation::Realtime) == Some(Wire::GeminiLive);
        live.then(|| pattern.replace("{model}", model.unwrap_or(&self.wire_model)))
    }

    fn route(&self, operation: Operation) -> Option<&Route> {
        self.routes.get(operation.index()).and_then(Option::as_ref)
    }

    fn uri(&self, route: &Route, model: Option<&str>, stream: bool, place: &Place) -> Result<Uri, Refusal> {
        place.complete(route.uri(model, stream)).map_err(|_| {
            Refusal::untranslatable("model", "the model's name cannot be part of the provider's URL")
        })
    }

    /// Where `operation` is served, if it is.
    pub(crate) fn route_uri(
        &self,
        operation: Operation,
        model: Option<&str>,
    ) -> Result<Option<Uri>, Refusal> {
        self.route(operation).map(|route| self.uri(route, model, false, &Place::default())).transpose()
    }

    /// The wire on which `operation` is served.
    pub(crate) fn wire(&self, operation: Operation) -> Option<Wire> {
        self.route(operation).map(|route| route.wire)
    }
}

impl fmt::Debug for Target {
    /// Names and places; never a header or a parameter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("full_model", &self.full_model)
            .field("api_base", &self.api_base)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// Why a call is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose<'a> {
    /// A client's request.
    Traffic,
    /// A probe: the deployment's sampling defaults stay out of its body, and so do the fields that the provider
    /// was seen to refuse.
    Probe {
        /// Fields the provider refused before.
        omit: &'a [String],
    },
}

/// A JSON string of `text`.
pub(crate) fn json_string(text: &str) -> Vec<u8> {
    serde_json::Value::from(text).to_string().into_bytes()
}

/// What a wire made of a body: JSON at the deployment's own URL.
pub(crate) struct Encoded {
    /// The provider's body.
    pub(crate) body: Bytes,
    /// How the answer becomes the client's.
    pub(crate) reply: Reply,
    /// See [`Call::strip_usage`].
    pub(crate) strip_usage: bool,
}

/// What is sent.
pub(crate) struct Outgoing {
    /// The provider's body.
    pub(crate) body: Payload,
    /// Its type, when that is not JSON.
    pub(crate) content_type: Option<HeaderValue>,
    /// What the request adds to the deployment's URL.
    pub(crate) place: Place,
    /// How the answer becomes the client's.
    pub(crate) reply: Reply,
    /// See [`Call::strip_usage`].
    pub(crate) strip_usage: bool,
}

impl From<Encoded> for Outgoing {
    fn from(encoded: Encoded) -> Self {
        Self {
            body: encoded.body.into(),
            content_type: None,
            place: Place::default(),
            reply: encoded.reply,
            strip_usage: encoded.strip_usage,
        }
    }
}
