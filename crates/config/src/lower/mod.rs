//! From the tree to a [`Config`]: sections in the order in which they depend on each other, every finding on the
//! way.

pub(crate) mod calls;
mod catalogue;
mod credentials;
pub(crate) mod field;
mod fleet;
mod general;
mod haleway;
pub(crate) mod health;
mod http;
mod identity;
pub(crate) mod model;
mod redis;
pub(crate) mod router;
pub(crate) mod section;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{ProbePolicy, Profile};
use haleway_providers::ProbeSettings;
use haleway_providers::catalogue::Catalogue;
use secrecy::SecretString;

use crate::check;
use crate::diag::{Finding, Report, Severity, codes};
use crate::env::{self, Environment};
use crate::keys::Section;
use crate::typed::{Config, Fleet, Haleway, Model, ModelInfo, ProfileChoice, Redis, Store};
use crate::yaml::{Map, Node};
use crate::{Origin, Source, tree};
use field::Field;
use health::Draft;
use health::fields::Reach;
use model::{Defaults, Parts};
use section::Reader;

/// The sections of the file, opened: unknown keys are reported by then.
#[derive(Clone, Copy)]
pub(crate) struct Sections<'a> {
    top: Reader<'a>,
    router: Option<Reader<'a>>,
    litellm: Option<Reader<'a>>,
    general: Option<Reader<'a>>,
    report: &'a Report,
}

impl<'a> Sections<'a> {
    fn open(root: &'a Map, report: &'a Report) -> Self {
        let top = Reader::open(Section::Top, root, report);
        let section = |section: Section| {
            top.get(section.name());
            root.get(section.name()).and_then(|entry| Reader::of_entry(section, entry, report))
        };
        let router = section(Section::Router);
        let litellm = section(Section::Litellm);
        let general = section(Section::General);
        Self { top, router, litellm, general, report }
    }

    fn drop_params(&self) -> bool {
        self.litellm.and_then(|reader| reader.get("drop_params")).is_some_and(|field| field.truth())
    }

    fn stores(&self) -> Option<Field<'a>> {
        self.general.and_then(|general| general.get("store_model_in_db"))
    }

    /// The database, which models that are stored need.
    fn store(&self, own: &haleway::Section<'_>, stores: bool, env: &Environment<'_>) -> Option<Store> {
        let store = store::settle(own.store.as_ref(), self.general, env);
        if stores && store.is_none() {
            general::report_no_store(self.stores(), self.report);
        }
        store
    }

    fn machine_tokens(&self) -> bool {
        let field = self.litellm.and_then(|reader| reader.get("enable_azure_ad_token_refresh"));
        field.is_some_and(|field| field.truth())
    }

    fn shared(&self) -> Option<Field<'a>> {
        self.general.and_then(|general| general.get("use_shared_health_check"))
    }

    /// How processes share. In shared mode, with Redis, the period of probes is the TTL of the shared results.
    fn fleet(
        &self,
        own: &haleway::Section<'_>,
        health: &health::General<'_>,
        env: &Environment<'_>,
        global: &mut Draft,
    ) -> Fleet {
        let places = redis::Places { general: self.general, litellm: self.litellm, router: self.router };
        let wanted = health.shared || own.fleet.is_some();
        let found = redis::find(places, env, wanted, self.report);
        let section = own.fleet.as_ref();
        let redis = found.map(|redis| Redis {
            namespace: section.and_then(|fleet| fleet.namespace.clone()).unwrap_or(redis.namespace),
            ..redis
        });
        let ttl = env.seconds(env::DEFAULT_SHARED_HEALTH_CHECK_TTL);
        let lock_ttl = env.seconds(env::DEFAULT_SHARED_HEALTH_CHECK_LOCK_TTL);
        let fallback = fleet::Section::default();
        let section = section.unwrap_or(&fallback);
        let share = section.share.or_else(|| fleet::share_of_environment(env));
        if let (Some(key), None, None) = (section.place, &redis, share) {
            let finding = Finding::warning(codes::NO_EFFECT, key, "haleway.fleet has no Redis to share in");
            self.report.add(finding.hint(
                "set general_settings.coordination_redis, or owner_index and owner_count to divide the probes without one",
            ));
        }
        let fleet = Fleet {
            shared: health.shared && redis.is_some(),
            ttl: ttl.unwrap_or(Duration::from_secs(300)),
            lock_ttl: lock_ttl.unwrap_or(Duration::from_secs(60)),
            redis,
            role: section.role,
            litellm_keys: section.litellm_keys,
            full_sync: section.full_sync,
            snapshot: section.snapshot.clone(),
            share,
        };
        if fleet.redis.is_none() && fleet.share.is_none() {
            fleet::warn_replicas(env, self.report);
        }
        let origin = |set: bool, variable: env::Variable| {
            if set { Origin::Env(variable.name) } else { Origin::Default }
        };
        global.note("shared.ttl", origin(ttl.is_some(), env::DEFAULT_SHARED_HEALTH_CHECK_TTL));
        global.note("shared.lock_ttl", origin(lock_ttl.is_some(), env::DEFAULT_SHARED_HEALTH_CHECK_LOCK_TTL));
        if fleet.shared && fleet.ttl > global.probe.interval {
            global.probe.interval = fleet.ttl;
            global.note("interval", Origin::Derived("shared.ttl"));
        }
        fleet
    }

    /// The first health or cooldown key of LiteLLM's in any section. What is stored decides nothing for the others.
    fn health_key(&self, models: &[Parts<'a>]) -> Option<(String, Field<'a>)> {
        let shared = [self.general, self.router].into_iter().flatten();
        let of_file = models.iter().filter(|parts| !self.report.is_stored(parts.node.span));
        let own = of_file.flat_map(|parts| [Some(parts.params), parts.info]).flatten();
        shared.chain(own).find_map(|reader| {
            let entry = reader.health_key()?;
            let field = Field { name: &entry.name, key: entry.key, value: &entry.value, report: self.report };
            Some((format!("{}.{}", reader.section.name(), entry.name), field))
        })
    }
}

/// Whether a file, not resolved yet, says that models are stored.
pub(crate) fn stores_models(
    root: &Map,
    var: &dyn Fn(&str) -> Option<String>,
    source: &dyn Source,
    report: &Report,
) -> bool {
    let general = root.get("general_settings").and_then(|entry| entry.value.as_map());
    let said = general.and_then(|general| general.get("store_model_in_db")).is_some_and(|entry| {
        // What is wrong with the value is said when it is read for good.
        let quiet = Report::default();
        let mut value = entry.value.clone();
        tree::resolve_one(&mut value, var, &quiet);
        let name = "store_model_in_db";
        !value.is_null() && Field { name, key: entry.key, value: &value, report: &quiet }.truth()
    });
    said || general::stores(None, &Environment::new(source, report))
}

/// The typed configuration. Meaningful only when the report holds no error.
pub(crate) fn lower(
    root: &Map,
    environment: BTreeMap<String, SecretString>,
    source: &dyn Source,
    report: &Report,
) -> Config {
    let env = Environment::new(source, report);
    env.report_inert();
    let sections = Sections::open(root, report);
    let stores = general::stores(sections.stores(), &env);
    let list = models(sections, stores);
    let parts: Vec<Parts<'_>> = list.iter().filter_map(|node| model::open(node, report)).collect();

    let own = haleway::read(sections.top);
    let catalogue = catalogue::read(own.catalogue, source, report);
    let litellm_key = sections.health_key(&parts);
    let profile = haleway::profile(&own, litellm_key.as_ref());
    let mut global = Draft::preset(profile.profile);
    let mut health = health::General::apply(sections.general, &env, &mut global);
    health::Router::apply(sections.router, &mut health, &mut global);
    if let Some(map) = own.health {
        haleway::apply(map, Reach::Global, &mut global, report);
        global.pool_budget();
    }
    let fleet = sections.fleet(&own, &health, &env, &mut global);
    let redis = fleet.redis.is_some();
    let background = background(&health, &own);
    let chooser = own.profile.map(|(_, field)| field).or(litellm_key.map(|(_, field)| field));
    let switches = [
        ("background_health_checks", health.background),
        ("catalogue", own.catalogue),
        ("profile", chooser),
        ("shared", sections.shared()),
    ];
    note_switches(switches, &mut global);
    let (router, names) = router::lower(sections.router, sections.litellm, &env);

    let groups = groups(&own, &global, report);
    let defaults = Defaults {
        drop_params: sections.drop_params(),
        max_parallel: names.max_parallel,
        params: names.default_params.and_then(|field| model::defaults(field, report)),
    };
    let probe = model::probe_environment(&env);
    let named = credentials::Named::read(sections.top, report);
    let layers = Layers {
        named: &named,
        machine_tokens: sections.machine_tokens(),
        global: &global,
        groups: &groups,
        health: &health,
        background,
        defaults,
        probe: &probe,
        catalogue: &catalogue,
    };
    let mut ids = identity::Ids::default();
    let models: Vec<Model> = parts.iter().map(|parts| layers.model(parts, &mut ids, report)).collect();

    let unsettled = global.clone();
    global.settle();
    let general = general::lower(sections.general, &env, &health, &global, background, report);
    let litellm = general::litellm(sections.litellm, &env);
    let store = sections.store(&own, stores, &env);
    let chosen = Chosen { profile, catalogue, fleet, store, probe_body: probe };
    let haleway = settled(&own, &global, &groups, chosen);
    let config = Config { models, router, general, litellm, haleway, environment };
    let facts = check::Facts {
        config: &config,
        parts: &parts,
        names: &names,
        health: &health,
        groups: &own.groups,
        global: &unsettled,
        redis,
        shared: sections.shared(),
        haleway: sections.top.get("haleway"),
        top: sections.top,
        litellm: sections.litellm,
        general: sections.general,
        router: sections.router,
        source,
        report,
    };
    check::run(&facts);
    config
}

/// The entries of `model_list`.
fn models(sections: Sections<'_>, stores: bool) -> &[Node] {
    let report = sections.report;
    let field = sections.top.get("model_list");
    let list = field.map(|field| field.list());
    match list {
        Some(Some(list)) if !list.is_empty() => list,
        Some(None) => &[],
        Some(Some(_)) | None => {
            let message = "there is no deployment: model_list is missing or empty";
            let finding = match field {
                // They may all be in the database.
                _ if stores => Finding::placeless(Severity::Note, codes::NO_MODELS, message),
                Some(field) => Finding::warning(codes::NO_MODELS, field.key, message),
                None => Finding::placeless(Severity::Warning, codes::NO_MODELS, message),
            };
            report.add(finding.hint("every model call will be refused until one is added"));
            &[]
        }
    }
}

/// Whether deployments are probed. LiteLLM's key decides; without it, only somebody who speaks of our own health
/// settings has asked for probes, and nobody pays for probes unasked.
fn background(health: &health::General<'_>, own: &haleway::Section<'_>) -> bool {
    match health.background {
        Some(field) => field.truth(),
        None => own.health.is_some() || matches!(own.profile, Some((Profile::Resilient, _))),
    }
}

/// What was decided before the section `haleway` is whole.
struct Chosen {
    profile: ProfileChoice,
    catalogue: Catalogue,
    fleet: Fleet,
    store: Option<Store>,
    probe_body: ProbeSettings,
}

/// The section `haleway`, its health settled.
fn settled(
    own: &haleway::Section<'_>,
    global: &Draft,
    groups: &BTreeMap<&str, Draft>,
    chosen: Chosen,
) -> Haleway {
    let Chosen { profile, catalogue, fleet, store, probe_body } = chosen;
    let mut origins = global.origins.clone();
    let calls = own.calls.settle(&mut origins);
    Haleway {
        strict: own.strict,
        profile,
        catalogue,
        admin_listen: own.admin_listen,
        all_out_status: own.all_out_status,
        calls,
        panic: global.panic,
        group_panic: groups.iter().map(|(name, draft)| (Arc::from(*name), draft.panic)).collect(),
        limits: global.limits,
        budget: global.budget,
        statuses: global.statuses.clone(),
        timeouts: global.timeouts,
        fleet,
        store,
        group_origins: groups.iter().map(|(name, draft)| (Arc::from(*name), draft.origins.clone())).collect(),
        origins,
        health: global.params.clone(),
        probe: global.probe,
        probe_body,
    }
}

/// The groups with values of their own.
fn groups<'a>(own: &haleway::Section<'a>, global: &Draft, report: &Report) -> BTreeMap<&'a str, Draft> {
    let mut groups = BTreeMap::new();
    for (field, map) in &own.groups {
        let mut draft = global.clone();
        haleway::apply(map, Reach::Group, &mut draft, report);
        groups.insert(field.name, draft);
    }
    groups
}

/// Where the settings that are no numbers came from.
fn note_switches<const N: usize>(fields: [(&'static str, Option<Field<'_>>); N], global: &mut Draft) {
    for (key, field) in fields {
        if let Some(field) = field {
            global.note(key, field.origin());
        }
    }
}

/// What every deployment's values are put together from.
struct Layers<'l> {
    /// `litellm_settings.enable_azure_ad_token_refresh`: the machine may be asked for a token.
    machine_tokens: bool,
    named: &'l credentials::Named<'l>,
    global: &'l Draft,
    groups: &'l BTreeMap<&'l str, Draft>,
    health: &'l health::General<'l>,
    background: bool,
    defaults: Defaults<'l>,
    probe: &'l ProbeSettings,
    catalogue: &'l Catalogue,
}

impl Layers<'_> {
    fn model(&self, parts: &Parts<'_>, ids: &mut identity::Ids, report: &Report) -> Model {
        let name = parts.name.text().unwrap_or_default();
        let mut params = model::params(parts.params, self.defaults);
        self.named.fill(parts.params, &mut params);
        if self.machine_tokens {
            params.rest.entry("enable_azure_ad_token_refresh").or_insert(true.into());
        }
        let info = model::info(parts.info, self.probe);
        let mut draft = self.groups.get(name.as_str()).unwrap_or(self.global).clone();
        let listed = self.health.groups.as_ref().map(|groups| groups.contains(&name));
        health::deployment(parts.info, parts.params, &mut draft);
        let own = parts.info.and_then(|info| info.get("haleway")).and_then(|field| field.map());
        if let Some(map) = own {
            haleway::apply(map, Reach::Deployment, &mut draft, report);
        }
        if let Some(counters) = &mut draft.params.litellm {
            counters.group_listed = listed == Some(true);
        }
        draft.settle();
        let prices = catalogue::prices(parts.params, parts.info, &mut draft);
        for key in ["mode", "max_input_tokens"] {
            if let Some(field) = parts.info.and_then(|info| info.get(key)) {
                draft.note(key, field.origin());
            }
        }
        let skip_reason = self.skip_reason(&draft, &info, listed);
        let given = parts.info.and_then(|info| info.get("id")).and_then(|field| field.text());
        let computed = ids.next(&name, &params);
        Model {
            id: given.unwrap_or(computed).into(),
            name: name.into(),
            place: report.place(parts.node.span),
            stored: report.is_stored(parts.node.span),
            params,
            info,
            prices,
            catalogue: self.catalogue.clone(),
            health: draft.params,
            probe_timeout: draft.probe.timeout,
            probe: skip_reason.is_none().then_some(draft.probe),
            probe_params: draft.probe,
            budget: draft.budget,
            statuses: draft.statuses,
            timeouts: draft.timeouts,
            own_policy: draft.own_policy,
            skip_reason,
            origins: draft.origins,
        }
    }

    fn skip_reason(&self, draft: &Draft, info: &ModelInfo, listed: Option<bool>) -> Option<&'static str> {
        if !self.background {
            Some("background_health_checks_off")
        } else if info.disable_background_health_check {
            Some("disabled")
        } else if listed == Some(false) {
            Some("group_not_listed")
        } else if info.blocked {
            Some("blocked")
        } else if draft.probe.policy == ProbePolicy::Never {
            Some("policy_never")
        } else {
            None
        }
    }
}
