//! From a checked configuration to a running gateway: every deployment resolved, health and routing given the same
//! slots.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use haleway_config::{Config, Model, Source};
use haleway_fleet::FleetHandle;
use haleway_health::{AllOut, GroupSpec, Hub, PanicMode, ProbeDepth, Slot, Spec};
use haleway_providers::catalogue::Usd;
use haleway_providers::{CannotProbe, ProbeMemory, ResolveError, Target, resolve};
use haleway_routing as routing;
use haleway_routing::{BuildError, RetryShare, StatsTable, Table, TableBuilder};
use haleway_telemetry::{DeploymentLabels, Metrics};
use haleway_upstream::{Credentials, Network, Settings, Upstream};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::KeyCheck;
use crate::clock::Clock;
use crate::deployment::{CallLimits, Deployment, Names, nanodollars};
use crate::fleet::Share;
use crate::gateway::{Gateway, Live};
use crate::prober::Reports;
use crate::prober::ledger::Ledger;
use crate::stored::Stored;

/// Request bodies may have this many bytes unless the configuration says otherwise: images in base64 fit.
const DEFAULT_MAX_BODY: usize = 100 * 1024 * 1024;

/// A configuration that passed its checks but cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A deployment leads nowhere.
    #[error("deployment {id}: {source}")]
    Deployment {
        /// The deployment's id.
        id: Arc<str>,
        /// Why.
        source: ResolveError,
    },
    /// The routing table is inconsistent.
    #[error("the routing table cannot be built")]
    Table(#[from] BuildError),
}

/// What a gateway is made of besides its configuration.
#[derive(Debug)]
pub struct Parts {
    /// How connections are opened.
    pub network: Network,
    /// The clock.
    pub clock: Clock,
    /// Decides stagger and jitter; different per process.
    pub seed: u64,
    /// The fleet that this process is part of.
    pub fleet: FleetHandle,
}

impl Gateway {
    /// A gateway that serves `config`. Starts nothing: see [`Gateway::spawn`].
    ///
    /// # Errors
    /// When a deployment cannot be resolved or the routing table is inconsistent.
    pub fn new(config: Config, source: &dyn Source, parts: Parts) -> Result<Arc<Self>, StartError> {
        let Parts { network, clock, seed, fleet } = parts;
        let now = clock.now();
        let metrics = Metrics::new();
        let (tasks, shutdown) = (TaskTracker::new(), CancellationToken::new());
        let wall = move || clock.now().as_millis();
        let credentials = Credentials::new(&network, wall, tasks.clone(), shutdown.clone());
        let targets = targets(&config, source)?;
        let slots = (0..).map(Slot).take(targets.len()).collect::<Vec<_>>();
        let parts =
            DeploymentParts { network: &network, metrics: &metrics, credentials: &credentials, before: None };
        let deployments = deployments(&config, targets, &slots, &parts);
        let table = table(&config, &deployments)?;
        let specs = deployments.iter().map(|deployment| spec(deployment)).collect();
        let groups = group_specs(&config, &table);
        let hub = Hub::new(specs, groups, seed, now);
        let share = match &fleet {
            FleetHandle::Local(_) => None,
            FleetHandle::Redis(redis) => Some(Arc::new(Share::new(Arc::clone(redis), &config, now))),
        };
        let calls = config.haleway.calls;
        let live = live(config, table, deployments, &hub, &metrics, &StatsTable::default());
        Ok(Arc::new(Self {
            live: ArcSwap::from_pointee(live),
            hub,
            fleet,
            share,
            reports: Reports::default(),
            ledger: Ledger::default(),
            memory: OnceLock::new(),
            metrics,
            network,
            credentials,
            clock,
            in_flight: AtomicUsize::new(0),
            retries: RetryShare::new(calls.retry_share, calls.retry_reserve),
            tasks,
            shutdown,
            sessions: TaskTracker::new(),
            end_sessions: CancellationToken::new(),
            wake_prober: Notify::new(),
            origin: OnceLock::new(),
            stored: Stored::default(),
            held: Arc::default(),
        }))
    }
}

/// What every deployment is given.
pub(crate) struct DeploymentParts<'a> {
    pub(crate) network: &'a Network,
    pub(crate) metrics: &'a Metrics,
    pub(crate) credentials: &'a Credentials,
    /// The configuration before this one, whose connections are kept.
    pub(crate) before: Option<&'a Live>,
}

/// Where the calls of every deployment go.
pub(crate) fn targets(config: &Config, source: &dyn Source) -> Result<Vec<Target>, StartError> {
    let env = |name: &str| config.var(source, name);
    let file = |path: &str| config.file(source, path);
    let target = |model: &Model| {
        resolve(&model.source(&env, &file))
            .map_err(|source| StartError::Deployment { id: Arc::clone(&model.id), source })
    };
    config.models.iter().map(target).collect()
}

/// Every deployment in its slot.
pub(crate) fn deployments(
    config: &Config,
    targets: Vec<Target>,
    slots: &[Slot],
    parts: &DeploymentParts<'_>,
) -> Vec<Arc<Deployment>> {
    let kept = |model: &Model| {
        let before = parts.before?.find(&model.id)?;
        (before.model.timeouts.connect == model.timeouts.connect).then(|| before.upstream.clone())
    };
    let connections = |model: &Model| {
        let settings = Settings { connect: model.timeouts.connect, ..Settings::default() };
        Upstream::new(parts.network, &settings)
    };
    let made = |((model, target), slot): ((&Model, Target), &Slot)| {
        Arc::new(Deployment {
            slot: *slot,
            names: Names::new(model, &target),
            metrics: parts.metrics.deployment(&labels(model, &target)),
            credential: target.credential_source.as_ref().map(|source| parts.credentials.of(source)),
            model: model.clone(),
            target,
            upstream: kept(model).unwrap_or_else(|| connections(model)),
        })
    };
    let deployments: Vec<_> = config.models.iter().zip(targets).zip(slots).map(made).collect();
    for deployment in deployments.iter().filter(|deployment| deployment.model.probe.is_some()) {
        if let Some(cannot) = cannot_probe(deployment) {
            tracing::warn!(deployment = %deployment.id(), reason = cannot.code, "not probed: {cannot}");
        }
    }
    deployments
}

pub(crate) fn table(config: &Config, deployments: &[Arc<Deployment>]) -> Result<Table, BuildError> {
    let mut builder = TableBuilder::new(config.router.settings.clone());
    for deployment in deployments {
        let own = deployment.model.routing(deployment.slot);
        builder.deployment(routing::Deployment {
            max_input_tokens: deployment.max_input_tokens(),
            price: deployment.target.prices.token_pair().map(Usd::dollars),
            ..own
        });
    }
    for alias in &config.router.aliases {
        builder.alias(alias.clone());
    }
    builder.fallbacks(config.router.fallbacks.clone());
    builder.build()
}

pub(crate) fn spec(deployment: &Deployment) -> Spec {
    let (model, target) = (&deployment.model, &deployment.target);
    let cannot = cannot_probe(deployment);
    Spec {
        mode: target.mode.as_str(),
        credential: target.credential,
        account: target.credential,
        endpoint: target.endpoint.as_str().into(),
        provider: target.provider.id.into(),
        probe: model.probe_as(target.mode).filter(|_| cannot.is_none()),
        probe_price_nanousd: deployment.probe_price().map_or(0, nanodollars),
        costly: target.mode.is_costly(),
        free_call: target.free_proof(),
        skip_reason: model.skip_reason.or(cannot.map(|cannot| cannot.code)),
        identity: identity(target),
        weight: share(deployment),
        ..Spec::new(&model.id, &model.name, model.health.clone())
    }
}

/// Why no probe can be built for a deployment, if so: a fault of the configuration, never of the deployment.
pub(crate) fn cannot_probe(deployment: &Deployment) -> Option<CannotProbe> {
    let Deployment { target, model, .. } = deployment;
    if model.probe_params.depth == ProbeDepth::Free {
        return target.free_probe().err();
    }
    target.probe(target.mode, &model.info.probe, &ProbeMemory::default(), 0).err()
}

/// What decides whether a configuration fault may be healed: the credential and where calls go.
fn identity(target: &Target) -> u64 {
    let mut hasher = DefaultHasher::new();
    (target.credential, &target.api_base, &target.full_model).hash(&mut hasher);
    hasher.finish()
}

#[expect(clippy::cast_possible_truncation, reason = "a share needs no more precision")]
fn share(deployment: &Deployment) -> f32 {
    deployment.model.params.weight.filter(|weight| *weight > 0.0).map_or(1.0, |weight| weight as f32)
}

pub(crate) fn group_specs(config: &Config, table: &Table) -> Vec<GroupSpec> {
    config
        .groups()
        .into_iter()
        .map(|name| GroupSpec {
            has_fallback: table.group(name).is_some_and(|group| table.has_fallback(group)),
            ..GroupSpec::new(name, config.haleway.panic_of(name))
        })
        .collect()
}

/// The retries that a deployment of `group` asks for (`litellm_params.num_retries`, or `max_retries`).
fn retries_of(deployments: &[Arc<Deployment>], group: &str) -> Option<u32> {
    deployments
        .iter()
        .filter(|deployment| *deployment.model.name == *group)
        .find_map(|deployment| deployment.model.params.num_retries.or(deployment.model.params.max_retries))
}

pub(crate) fn labels(model: &Model, target: &Target) -> DeploymentLabels {
    DeploymentLabels {
        deployment: Arc::clone(&model.id),
        model_group: Arc::clone(&model.name),
        mode: target.mode.as_str().into(),
        model: target.full_model.as_str().into(),
        provider: target.provider.id.into(),
        api_base: target.api_base.as_str().into(),
    }
}

pub(crate) fn live(
    config: Config,
    table: Table,
    deployments: Vec<Arc<Deployment>>,
    hub: &Hub,
    metrics: &Metrics,
    stats: &StatsTable,
) -> Live {
    let snapshot = hub.snapshot();
    let room = deployments.iter().map(|deployment| deployment.slot.0 as usize + 1).max().unwrap_or(0);
    let mut placed = vec![None; room];
    for deployment in &deployments {
        if let Some(place) = placed.get_mut(deployment.slot.0 as usize) {
            *place = Some(Arc::clone(deployment));
        }
    }
    let names: Vec<&str> =
        (0..table.groups()).map(|ix| table.group_name(haleway_routing::GroupIx(ix as u32))).collect();
    let health_groups = names.iter().filter_map(|name| snapshot.find_group(name)).collect();
    let group_retries = names.iter().map(|name| retries_of(&deployments, name)).collect();
    let group_metrics = names.iter().map(|name| metrics.group(&Arc::from(*name))).collect();
    let waits = names
        .iter()
        .map(|name| {
            let panic = config.haleway.panic_of(name);
            panic.all_out == AllOut::Wait && panic.mode != PanicMode::Refuse
        })
        .collect();
    let general = &config.general;
    let header = general.key_header.as_ref().and_then(|name| http::HeaderName::try_from(name.as_str()).ok());
    Live {
        keys: KeyCheck::new(general.master_key.clone(), header),
        limits: CallLimits {
            timeout: config.router.timeout,
            stream_timeout: config.router.stream_timeout,
            caller: None,
        },
        max_body: general
            .max_request_bytes
            .map_or(DEFAULT_MAX_BODY, |bytes| bytes.try_into().unwrap_or(usize::MAX)),
        max_parallel: general.max_parallel_requests.map(|limit| limit as usize),
        stats: stats.extended(room),
        slots: deployments.iter().map(|deployment| (Arc::clone(deployment.id()), deployment.slot)).collect(),
        deployments: placed,
        health_groups,
        group_retries,
        group_metrics,
        waits,
        config,
        table,
    }
}
