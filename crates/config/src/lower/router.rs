//! `router_settings` and what `litellm_settings` shares with it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_routing::{Alias, Fallbacks, RetryPolicy, Settings, Strategy};

use super::field::{Field, fields_of};
use super::section::Reader;
use crate::diag::{Finding, codes, did_you_mean};
use crate::env::{self, Environment};
use crate::typed::Router;

/// LiteLLM's `request_timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(6000);

/// A name in a fallback chain, with where it stands.
pub(crate) type Chains<'a> = Vec<(Field<'a>, Vec<Field<'a>>)>;

/// What the checks look at, beside the router itself.
#[derive(Default)]
pub(crate) struct Names<'a> {
    /// Every chain of every kind: the group it is for, and its members.
    pub(crate) chains: Chains<'a>,
    /// `default_fallbacks`.
    pub(crate) defaults: Vec<Field<'a>>,
    /// Aliases: the name, and its target.
    pub(crate) aliases: Vec<(Field<'a>, Field<'a>)>,
    /// Groups with a retry policy.
    pub(crate) retry_groups: Vec<Field<'a>>,
    /// `enable_tag_filtering` and the like are read elsewhere; this is `default_max_parallel_requests`.
    pub(crate) max_parallel: Option<u32>,
    /// `default_litellm_params`.
    pub(crate) default_params: Option<Field<'a>>,
}

/// The router, and the names that stand in it.
pub(crate) fn lower<'a>(
    router: Option<Reader<'a>>,
    litellm: Option<Reader<'a>>,
    env: &Environment<'_>,
) -> (Router, Names<'a>) {
    let mut names = Names::default();
    let mut fallbacks = Fallbacks::default();
    // What stands under router_settings is read last and wins.
    for reader in [litellm, router].into_iter().flatten() {
        all_fallbacks(reader, &mut fallbacks, &mut names);
    }
    let get = |name| router.and_then(|router| router.get(name));
    let timeout = get("timeout")
        .and_then(|field| positive(field))
        .or_else(|| litellm.and_then(|litellm| litellm.get("request_timeout")).and_then(positive))
        .or_else(|| env.seconds(env::REQUEST_TIMEOUT))
        .unwrap_or(DEFAULT_TIMEOUT);
    if let Some(field) = get("model_group_retry_policy") {
        names.retry_groups = field.fields();
    }
    names.max_parallel = get("default_max_parallel_requests").and_then(|field| field.count32(1));
    names.default_params = get("default_litellm_params");
    let aliases = get("model_group_alias").map(|field| aliases(field, &mut names)).unwrap_or_default();
    let retries = get("num_retries").or_else(|| litellm.and_then(|litellm| litellm.get("num_retries")));
    let settings = settings(router, retries, &names);
    let stream_timeout = get("stream_timeout").and_then(positive);
    (Router { settings, fallbacks, aliases, timeout, stream_timeout }, names)
}

fn settings(router: Option<Reader<'_>>, retries: Option<Field<'_>>, names: &Names<'_>) -> Settings {
    let get = |name| router.and_then(|router| router.get(name));
    let flag = |name, default| get(name).map_or(default, |field: Field<'_>| field.truth());
    let default = Settings::default();
    let group_policy = |field: &Field<'_>| Some((Arc::from(field.name), retry_policy(*field)?));
    Settings {
        strategy: strategy(router).unwrap_or(default.strategy),
        num_retries: retries.and_then(|field| field.count32(0)).or(default.num_retries),
        retry_after: get("retry_after").and_then(|field| field.seconds()).unwrap_or(default.retry_after),
        retry_policy: get("retry_policy").and_then(retry_policy).unwrap_or(default.retry_policy),
        group_retry_policy: names.retry_groups.iter().filter_map(group_policy).collect(),
        max_fallbacks: get("max_fallbacks")
            .and_then(|field| field.count32(0))
            .unwrap_or(default.max_fallbacks),
        enforce_limits: pre_call(router, "enforce_model_rate_limits") || default.enforce_limits,
        pre_call_checks: flag("enable_pre_call_checks", default.pre_call_checks),
        tag_filtering: flag("enable_tag_filtering", default.tag_filtering),
        tags_match_any: flag("tag_filtering_match_any", default.tags_match_any),
    }
}

/// Whether `optional_pre_call_checks` lists a check; others are reported as without effect.
fn pre_call(router: Option<Reader<'_>>, wanted: &str) -> bool {
    let Some(field) = router.and_then(|router| router.get("optional_pre_call_checks")) else { return false };
    let mut found = false;
    for (item, name) in field.strings() {
        if name == wanted {
            found = true;
        } else {
            let message = format!("the pre-call check {name:?} has no effect");
            let hint = format!("only {wanted} is known to this version");
            field.report.add(Finding::warning(codes::NO_EFFECT, item.span, message).hint(hint));
        }
    }
    found
}

fn strategy(router: Option<Reader<'_>>) -> Option<Strategy> {
    let field = router?.get("routing_strategy");
    let args = router?.get("routing_strategy_args");
    let buffer = args.and_then(|args| {
        let mut buffer = None;
        for field in args.fields() {
            match field.name {
                "lowest_latency_buffer" => buffer = field.number(),
                name => {
                    let message = format!("routing_strategy_args.{name} has no effect");
                    let finding = Finding::warning(codes::NO_EFFECT, field.key, message);
                    field.report.add(finding.hint("only lowest_latency_buffer is known to this version"));
                }
            }
        }
        buffer
    });
    let field = field?;
    let text = field.text()?;
    #[expect(clippy::cast_possible_truncation, reason = "a share needs no double precision")]
    let strategy = Strategy::from_name(&text, buffer.unwrap_or(0.0) as f32);
    if strategy.is_none() {
        let message = format!("there is no routing_strategy {}", field.shown());
        let known = format!("the strategies are {}", Strategy::NAMES.join(", "));
        let near = did_you_mean(&text, Strategy::NAMES).map(|near| format!("{near} ({known})"));
        field.report.add(field.error(codes::BAD_STRATEGY, message).hint(known.clone()).maybe_hint(near));
    }
    strategy
}

fn retry_policy(field: Field<'_>) -> Option<RetryPolicy> {
    let mut policy = RetryPolicy::default();
    for field in fields_of(field.map()?, field.report) {
        match policy.field_mut(field.name) {
            Some(slot) => *slot = field.count32(0),
            None => {
                let message = format!("{} is no field of a retry policy and has no effect", field.name);
                let hint = did_you_mean(field.name, RetryPolicy::FIELDS);
                let known = format!("the fields are {}", RetryPolicy::FIELDS.join(", "));
                let finding = Finding::warning(codes::UNKNOWN_KEY, field.key, message);
                field.report.add(finding.hint(known).maybe_hint(hint));
            }
        }
    }
    Some(policy)
}

/// A time above zero; zero is not set.
pub(crate) fn positive(field: Field<'_>) -> Option<Duration> {
    field.seconds().filter(|span| !span.is_zero())
}

fn all_fallbacks<'a>(reader: Reader<'a>, fallbacks: &mut Fallbacks, names: &mut Names<'a>) {
    for (name, kind) in [
        ("fallbacks", &mut fallbacks.general),
        ("context_window_fallbacks", &mut fallbacks.context_window),
        ("content_policy_fallbacks", &mut fallbacks.content_policy),
    ] {
        if let Some(field) = reader.get(name) {
            *kind = chains(field, names);
        }
    }
    if let Some(field) = reader.get("default_fallbacks") {
        names.defaults = members(field);
        fallbacks.default = names.defaults.iter().filter_map(name_of).collect();
    }
}

/// `[{"a": ["b", "c"]}, …]`; the first entry for a group counts.
fn chains<'a>(field: Field<'a>, names: &mut Names<'a>) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
    let mut found = BTreeMap::new();
    for item in field.list().unwrap_or_default() {
        for chain in field.item(item).fields() {
            let members = members(chain);
            let list = members.iter().filter_map(name_of).collect();
            found.entry(Arc::from(chain.name)).or_insert(list);
            names.chains.push((chain, members));
        }
    }
    found
}

/// The members of a chain: a list of names (LiteLLM also takes one name).
fn members(field: Field<'_>) -> Vec<Field<'_>> {
    if field.value.as_str().is_some() {
        return vec![field];
    }
    let items = field.list().unwrap_or_default();
    items
        .iter()
        .map(|item| field.item(item))
        .filter(|field| name_of(field).is_some() || report_member(*field))
        .collect()
}

fn report_member(field: Field<'_>) -> bool {
    field.wrong("the name of a model group");
    false
}

fn name_of(field: &Field<'_>) -> Option<Arc<str>> {
    field.value.as_str().map(Arc::from)
}

fn aliases<'a>(field: Field<'a>, names: &mut Names<'a>) -> Vec<Alias> {
    let mut found = Vec::new();
    for alias in field.fields() {
        let (target, hidden) = match alias.value.as_map() {
            None => (Some(alias), false),
            Some(map) => {
                let fields = fields_of(map, field.report);
                let named = |name: &str| fields.iter().find(|field| field.name == name).copied();
                let hidden = named("hidden").is_some_and(|field| field.truth());
                (named("model"), hidden)
            }
        };
        let Some((target, text)) = target.and_then(|target| Some((target, name_of(&target)?))) else {
            alias.wrong("the name of a model group, or {model: …, hidden: …}");
            continue;
        };
        names.aliases.push((alias, target));
        found.push(Alias { name: Arc::from(alias.name), target: text, hidden });
    }
    found
}
