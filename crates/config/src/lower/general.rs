//! `general_settings` beyond health, and the rest of `litellm_settings`.

use haleway_health::Params;
use secrecy::SecretString;

use super::field::Field;
use super::health;
use super::section::Reader;
use crate::diag::{Finding, Report, Severity, codes};
use crate::env::{self, Environment};
use crate::lower::health::Draft;
use crate::typed::{General, Litellm};
use crate::yaml::{Node, Value};

const MEGABYTE: u64 = 1024 * 1024;

/// `general_settings`, with what the health layers made of it.
pub(crate) fn lower(
    reader: Option<Reader<'_>>,
    env: &Environment<'_>,
    health: &health::General<'_>,
    global: &Draft,
    background: bool,
    report: &Report,
) -> General {
    let get = |name| reader.and_then(|reader| reader.get(name));
    let flag = |name| get(name).is_some_and(|field| field.truth());
    let literal_true = |name| {
        let field = get(name);
        field.is_some_and(|field| field.truth()) && field.is_some_and(|field| is_true(field.value))
    };
    let parallel = ["max_parallel_requests", "global_max_parallel_requests"];
    let parallel = parallel.into_iter().filter_map(|name| get(name)?.count32(1)).min();
    let master_key = get("master_key").and_then(|field| field.text()).filter(|key| !key.trim().is_empty());
    let master_key = master_key.or_else(|| env.text(env::LITELLM_MASTER_KEY)).map(SecretString::from);
    let permit = flag("dangerously_permit_weak_or_unset_master_key");
    if master_key.is_none() && !permit {
        report_no_key(reader, report);
    }
    let salts = [env::HALEWAY_SALT_KEY, env::LITELLM_SALT_KEY].into_iter().filter_map(|name| env.text(name));
    let salt_keys = salts.map(SecretString::from).chain(master_key.clone()).collect();
    let details = get("health_check_details");
    let Params { probe_routing, .. } = global.params;
    General {
        master_key,
        key_header: get("litellm_key_header_name").and_then(|field| field.text()),
        forward_client_headers: get("forward_client_headers_to_llm_api").is_some_and(|field| field.truth()),
        background_health_checks: background,
        health_check_interval: global.probe.interval,
        // Only the literal false takes the details away.
        health_check_details: !details.is_some_and(|field| {
            field.value.as_scalar().is_some_and(|scalar| scalar.value == Value::Bool(false))
        }),
        use_shared_health_check: health.shared,
        enable_health_check_routing: probe_routing,
        model_list_healthy_only: literal_true("model_list_healthy_only"),
        max_parallel_requests: parallel,
        max_request_bytes: get("max_request_size_mb").and_then(megabytes),
        public_readiness_details: literal_true("allow_public_health_readiness_details"),
        store_models: stores(get("store_model_in_db"), env),
        salt_keys,
    }
}

/// Whether models are stored. LiteLLM's variable counts when it says so, whatever the file says.
pub(crate) fn stores(field: Option<Field<'_>>, env: &Environment<'_>) -> bool {
    field.is_some_and(|field| field.truth()) || env.flag(env::STORE_MODEL_IN_DB)
}

/// Models are to be stored, and there is nothing to store them in.
pub(crate) fn report_no_store(field: Option<Field<'_>>, report: &Report) {
    let message = "store_model_in_db has no database: no model can be added";
    let finding = match field {
        Some(field) => Finding::warning(codes::MODELS_WITHOUT_STORE, field.key, message),
        None => Finding::placeless(Severity::Warning, codes::MODELS_WITHOUT_STORE, message),
    };
    report.add(finding.hint(
        "set general_settings.database_url or DATABASE_URL, or haleway.store: {url: sqlite:haleway.db}",
    ));
}

fn is_true(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.value == Value::Bool(true))
}

fn report_no_key(reader: Option<Reader<'_>>, report: &Report) {
    let message = "there is no master key: everyone who reaches the gateway may use it";
    let entry = reader.and_then(|reader| reader.map.get("master_key"));
    let scalar = entry.and_then(|entry| entry.value.as_scalar());
    // Its variable is not set: that has been said.
    if scalar.is_some_and(|scalar| scalar.variable.is_some() && scalar.value == Value::Null) {
        return;
    }
    let place = entry.map(|entry| entry.key);
    let finding = match place {
        Some(span) => Finding::warning(codes::NO_MASTER_KEY, span, message),
        None => Finding::placeless(Severity::Warning, codes::NO_MASTER_KEY, message),
    };
    report.add(finding.hint(
        "set general_settings.master_key or LITELLM_MASTER_KEY; dangerously_permit_weak_or_unset_master_key: true accepts this",
    ));
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "sizes of requests are small and checked to be positive"
)]
fn megabytes(field: Field<'_>) -> Option<u64> {
    let number = field.number()?;
    if number > 0.0 {
        return Some((number * MEGABYTE as f64) as u64);
    }
    field.report.add(field.error(codes::BAD_VALUE, format!("{} must be above 0", field.name)));
    None
}

/// What else of `litellm_settings` has an effect.
pub(crate) fn litellm(reader: Option<Reader<'_>>, env: &Environment<'_>) -> Litellm {
    let flag = |name| reader.and_then(|reader| reader.get(name)).is_some_and(|field| field.truth());
    Litellm { json_logs: flag("json_logs") || env.flag(env::JSON_LOGS), set_verbose: flag("set_verbose") }
}
