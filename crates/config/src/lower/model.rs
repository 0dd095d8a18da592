//! One entry of `model_list`.

use std::sync::Arc;

use haleway_providers::{Mode, ProbeSettings};
use secrecy::SecretString;
use serde_json::Map as Json;

use super::field::Field;
use super::router::positive;
use super::section::Reader;
use crate::diag::{Finding, Report, codes, did_you_mean};
use crate::env::{self, Environment};
use crate::keys::Section;
use crate::typed::{LitellmParams, ModelInfo};
use crate::yaml::{Entry, Map, Node};

/// Defaults that other sections give to every deployment.
#[derive(Clone, Copy)]
pub(crate) struct Defaults<'a> {
    /// `litellm_settings.drop_params`.
    pub(crate) drop_params: bool,
    /// `router_settings.default_max_parallel_requests`.
    pub(crate) max_parallel: Option<u32>,
    /// `router_settings.default_litellm_params`.
    pub(crate) params: Option<&'a Map>,
}

/// An entry with its sections opened.
pub(crate) struct Parts<'a> {
    pub(crate) node: &'a Node,
    pub(crate) name: Field<'a>,
    pub(crate) params: Reader<'a>,
    pub(crate) model: Field<'a>,
    pub(crate) info: Option<Reader<'a>>,
}

/// Settings of a deployment that `default_litellm_params` may give to all: those that are no one's address, key or
/// price.
const SHARED: [&str; 9] = [
    "timeout",
    "stream_timeout",
    "max_retries",
    "num_retries",
    "drop_params",
    "additional_drop_params",
    "extra_headers",
    "extra_body",
    "tags",
];

/// `default_litellm_params`: what cannot be said of all is reported.
pub(crate) fn defaults<'a>(field: Field<'a>, report: &'a Report) -> Option<&'a Map> {
    let map = field.map()?;
    let own = |entry: &&Entry| {
        Section::Params.key(&entry.name).is_some()
            && !SHARED.contains(&entry.name.as_str())
            && !entry.value.is_null()
    };
    for entry in map.entries.iter().filter(own) {
        let message = format!("default_litellm_params.{} has no effect", entry.name);
        let finding = Finding::warning(codes::NO_EFFECT, entry.key, message);
        report.add(finding.hint("it is said of one deployment: write it in that one's litellm_params"));
    }
    Some(map)
}

/// Opens an entry; `None` when it lacks what every entry needs, which is then reported.
pub(crate) fn open<'a>(node: &'a Node, report: &'a Report) -> Option<Parts<'a>> {
    let Some(map) = node.as_map() else {
        let message = format!("an entry of model_list is a mapping, not {}", node.describe());
        report.add(Finding::error(codes::WRONG_TYPE, node.span, message));
        return None;
    };
    let entry = Reader::open(Section::Entry, map, report);
    let start = map.entries.first().map_or(node.span, |entry| entry.key);
    let name = entry.get("model_name").filter(|name| !is_blank(name.value));
    if name.is_none() {
        let mut others = map.entries.iter().filter(|entry| entry.name != "model_name");
        let hint = others.find_map(|entry| {
            did_you_mean(&entry.name, ["model_name"])
                .map(|_| format!("did you mean `model_name` by `{}`?", entry.name))
        });
        let finding =
            Finding::error(codes::MISSING_MODEL_NAME, start, "this entry of model_list has no model_name");
        report.add(finding.hint("model_name is the name that callers ask for").maybe_hint(hint));
    }
    let params = map.get("litellm_params").and_then(|entry| Reader::of_entry(Section::Params, entry, report));
    let model = params.and_then(|params| params.get("model")).filter(|model| !is_blank(model.value));
    if model.is_none() {
        let finding = Finding::error(
            codes::MISSING_MODEL,
            start,
            "this entry of model_list has no litellm_params.model",
        );
        report.add(finding.hint("write litellm_params: {model: provider/model-name}"));
    }
    let info = map.get("model_info").and_then(|entry| Reader::of_entry(Section::Info, entry, report));
    entry.get("litellm_params");
    entry.get("model_info");
    Some(Parts { node, name: name?, params: params?, model: model?, info })
}

fn is_blank(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.text.trim().is_empty())
}

/// `litellm_params`.
pub(crate) fn params(reader: Reader<'_>, defaults: Defaults<'_>) -> LitellmParams {
    let text = |name| reader.get(name).and_then(|field: Field<'_>| field.text());
    let shared = |name: &'static str| {
        let entry = || defaults.params?.get(name).filter(|entry| !entry.value.is_null());
        let all = || {
            entry().map(|entry| Field { name, key: entry.key, value: &entry.value, report: reader.report })
        };
        reader.get(name).or_else(all)
    };
    let span = |name| shared(name).and_then(positive);
    let strings = |name| shared(name).map(|field| texts(field)).unwrap_or_default();
    let rest = rest(reader, defaults.params);
    LitellmParams {
        model: text("model").unwrap_or_default().trim().to_owned(),
        custom_llm_provider: text("custom_llm_provider"),
        api_base: text("api_base").or_else(|| text("base_url")),
        api_key: text("api_key").map(SecretString::from),
        api_version: text("api_version"),
        organization: text("organization"),
        rpm: reader.get("rpm").and_then(|field| field.count(0)),
        tpm: reader.get("tpm").and_then(|field| field.count(0)),
        weight: reader.get("weight").and_then(weight),
        order: reader.get("order").and_then(order),
        timeout: span("timeout"),
        stream_timeout: span("stream_timeout"),
        max_retries: shared("max_retries").and_then(|field| field.count32(0)),
        num_retries: shared("num_retries").and_then(|field| field.count32(0)),
        max_parallel_requests: reader
            .get("max_parallel_requests")
            .and_then(|field| field.count32(1))
            .or(defaults.max_parallel),
        tags: strings("tags").into_iter().map(Arc::from).collect(),
        drop_params: shared("drop_params").map_or(defaults.drop_params, |field| field.truth()),
        additional_drop_params: strings("additional_drop_params"),
        extra_headers: shared("extra_headers").map(headers).unwrap_or_default(),
        extra_body: shared("extra_body").and_then(|field| field.map()).map(Map::to_json),
        rest,
    }
}

/// Every key that is no setting of the gateway's own, so a call default or a setting of the provider.
fn rest(reader: Reader<'_>, defaults: Option<&Map>) -> Json<String, serde_json::Value> {
    let mut rest = Json::new();
    let all = reader.map.entries.iter().chain(defaults.into_iter().flat_map(|map| &map.entries));
    for entry in all.filter(|entry| Section::Params.key(&entry.name).is_none() && !entry.value.is_null()) {
        if !rest.contains_key(&entry.name) {
            rest.insert(entry.name.clone(), entry.value.to_json());
        }
    }
    rest
}

fn texts(field: Field<'_>) -> Vec<String> {
    field.strings().into_iter().map(|(_, text)| text).collect()
}

fn headers(field: Field<'_>) -> Vec<(String, String)> {
    field.fields().into_iter().filter_map(|header| Some((header.name.to_owned(), header.text()?))).collect()
}

fn weight(field: Field<'_>) -> Option<f64> {
    let number = field.number()?;
    if number < 0.0 {
        field
            .report
            .add(field.error(codes::BAD_VALUE, format!("{} must be at least 0, not {number}", field.name)));
        return None;
    }
    Some(number)
}

fn order(field: Field<'_>) -> Option<i32> {
    let Some(number) = field.whole() else {
        field.wrong("a whole number");
        return None;
    };
    Some(i32::try_from(number).unwrap_or(if number < 0 { i32::MIN } else { i32::MAX }))
}

/// What the environment says about the body of every probe.
pub(crate) fn probe_environment(env: &Environment<'_>) -> ProbeSettings {
    ProbeSettings {
        env_max_tokens: env.count(env::BACKGROUND_HEALTH_CHECK_MAX_TOKENS),
        env_max_tokens_reasoning: env.count(env::BACKGROUND_HEALTH_CHECK_MAX_TOKENS_REASONING),
        prompt: env.text(env::DEFAULT_HEALTH_CHECK_PROMPT),
        ..ProbeSettings::default()
    }
}

/// `model_info`.
pub(crate) fn info(reader: Option<Reader<'_>>, environment: &ProbeSettings) -> ModelInfo {
    let Some(reader) = reader else {
        return ModelInfo { probe: environment.clone(), ..ModelInfo::default() };
    };
    let text = |name| reader.get(name).and_then(|field: Field<'_>| field.text());
    let flag = |name| reader.get(name).is_some_and(|field: Field<'_>| field.truth());
    let cap = |name| reader.get(name).and_then(|field: Field<'_>| field.count(1));
    let probe = ProbeSettings {
        model: text("health_check_model"),
        params: reader
            .get("health_check_params")
            .and_then(|field| field.map())
            .map(Map::to_json)
            .unwrap_or_default(),
        max_tokens: cap("health_check_max_tokens"),
        max_tokens_reasoning: cap("health_check_max_tokens_reasoning"),
        max_tokens_non_reasoning: cap("health_check_max_tokens_non_reasoning"),
        reasoning_effort: text("health_check_reasoning_effort"),
        supports_max_tokens: reader.get("health_check_supports_max_tokens").map(|field| field.truth()),
        voice: text("health_check_voice"),
        http: reader.get("haleway").and_then(super::http::check),
        ..environment.clone()
    };
    let mut shown = reader.map.to_json();
    shown.remove("haleway");
    ModelInfo {
        mode: reader.get("mode").and_then(mode),
        base_model: text("base_model"),
        max_input_tokens: reader.get("max_input_tokens").and_then(|field| field.count(0)),
        blocked: flag("blocked"),
        supports_prefill: reader.get("supports_assistant_prefill").map(|field| field.truth()),
        disable_background_health_check: flag("disable_background_health_check"),
        probe,
        shown,
    }
}

/// `mode`: a name that is none is said, since such a deployment is served as chat and not probed.
fn mode(field: Field<'_>) -> Option<String> {
    let name = field.text()?;
    if Mode::from_name(&name).is_none() {
        let message = format!("{name:?} is no mode: the deployment serves as chat and is not probed");
        let known = Mode::ALL.map(Mode::as_str);
        let cure =
            did_you_mean(&name, known).unwrap_or_else(|| format!("the modes are {}", known.join(", ")));
        field.report.add(field.warning(codes::BAD_VALUE, message).hint(cure));
    }
    Some(name)
}
