//! One pod as a process: the production decision code, a clock of its own, and what it has under way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_fleet::pod::{Heard, Pod, Role};
use haleway_fleet::{Ask, Grant, Permit, PodId};
use haleway_health::{
    Class, GroupSpec, Hub, Outcome, PanicParams, Params, ProbeJob, ProbeParams, ProbePolicy, Source, Spec,
    Timestamp,
};

use crate::queue::Millis;
use crate::setup::{Blow, Point, Setup};
use crate::store::News;

/// What a pod's clock shows at the start of a run: it has nothing to do with the store's.
const EPOCH: u64 = 1_700_000_000_000;
/// Margin after a probe's timeout until it counts as lost.
const MARGIN: Duration = Duration::from_secs(5);

/// A clock that runs on while its pod stands still.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    offset: u64,
    /// Local milliseconds per second of true time.
    rate: u64,
}

impl Clock {
    /// A clock `offset` ahead that shows `rate` milliseconds per true second.
    pub const fn new(offset: u64, rate: u64) -> Self {
        Self { offset, rate }
    }

    /// What it shows at `at`.
    pub const fn show(self, at: Millis) -> Timestamp {
        Timestamp::from_millis(EPOCH + self.offset + at * self.rate / 1_000)
    }

    /// When it will show `local`, at the earliest a millisecond after `at`.
    pub fn when(self, at: Millis, local: Timestamp) -> Millis {
        let left = u64::try_from(self.show(at).until(local).as_millis()).unwrap_or(u64::MAX);
        at + (left.saturating_mul(1_000)).div_ceil(self.rate).max(1)
    }

    /// True time that passes while it counts `span`.
    pub const fn true_span(self, span: Millis) -> Millis {
        span * 1_000 / self.rate
    }
}

/// A probe from claim to commit.
#[derive(Debug)]
pub struct Probe {
    /// As the planner handed it out.
    pub job: ProbeJob,
    /// Which deployment.
    pub deployment: usize,
    /// When its claim was started.
    pub started: Timestamp,
    /// Held and not used.
    pub permit: Option<Permit>,
    /// Used.
    pub grant: Option<Grant>,
    /// What was found.
    pub outcome: Option<Outcome>,
}

/// A call to the store that was not answered yet.
#[derive(Debug)]
pub enum Call {
    /// A step of the connection: reach, pull, publish.
    Link,
    /// A heartbeat.
    Beat,
    /// A read after a push.
    Pull,
    /// A claim for the probe with this ticket.
    Claim(u64),
    /// The commit of the probe with this ticket.
    Commit(u64),
}

/// A pod.
#[derive(Debug)]
pub struct Process {
    /// Its name.
    pub name: PodId,
    /// Its decisions about the fleet.
    pub pod: Pod,
    /// Its health core.
    pub hub: Hub,
    /// Its clock.
    pub clock: Clock,
    /// Counts its restarts: what was meant for an earlier life is lost.
    pub life: u32,
    /// Whether it is dead.
    pub dead: bool,
    /// Until when it stands still.
    pub paused_until: Millis,
    /// A trap, set once.
    pub trap: Option<(Point, Blow)>,
    /// Until when it does not reach the store.
    pub cut_until: Millis,
    /// Until when it does not reach providers.
    pub cut_from_providers_until: Millis,
    /// The interval in its configuration.
    pub interval: Millis,
    /// When it wakes next; other wake-ups are void.
    pub wake_at: Millis,
    /// Calls under way, with when they were started.
    pub calls: BTreeMap<u64, (Call, Timestamp)>,
    /// The version of the store's verdicts that it read last.
    pub seen: u64,
    /// Probes under way, by ticket.
    pub probes: BTreeMap<u64, Probe>,
    /// The latest news per deployment, with its own time of hearing: what lies on its disk.
    pub disk: BTreeMap<usize, (Timestamp, News)>,
}

impl Process {
    /// A pod that starts at `at` and knows nothing.
    pub fn new(index: usize, seed: u64, clock: Clock, setup: &Setup, interval: Millis, at: Millis) -> Self {
        let name = PodId::new(&format!("pod-{index}"));
        let specs = specs(setup, interval);
        let groups = vec![GroupSpec::new("group", PanicParams::resilient())];
        Self {
            pod: Pod::new(name.clone(), Role::All, seed),
            hub: Hub::new(specs, groups, seed, clock.show(at)),
            name,
            clock,
            life: 0,
            dead: false,
            paused_until: 0,
            trap: None,
            cut_until: 0,
            cut_from_providers_until: 0,
            interval,
            wake_at: 0,
            seen: 0,
            calls: BTreeMap::new(),
            probes: BTreeMap::new(),
            disk: BTreeMap::new(),
        }
    }

    /// The same pod after it died and was started again at `at`, with what it had on disk.
    pub fn reborn(&self, index: usize, seed: u64, setup: &Setup, at: Millis, names: &[Arc<str>]) -> Self {
        let mut next = Self::new(index, seed, self.clock, setup, self.interval, at);
        let now = self.clock.show(at);
        next.hub.import(now, &self.hub.export(now));
        next.life = self.life + 1;
        (next.cut_until, next.cut_from_providers_until) = (self.cut_until, self.cut_from_providers_until);
        for (heard_at, news) in self.disk.values() {
            let passed = heard_at.until(now);
            let news =
                News { age: news.age + passed, next: news.next.saturating_sub(passed), ..news.clone() };
            next.learn(now, now, &news, names);
        }
        next
    }

    /// Takes in a verdict of the fleet, from a call that was started at `asked`.
    pub fn learn(&mut self, asked: Timestamp, now: Timestamp, news: &News, names: &[Arc<str>]) {
        let Some(name) = names.get(news.deployment) else { return };
        let known = self.disk.get(&news.deployment).is_some_and(|(_, known)| known.seq == news.seq);
        let heard = Heard {
            observer: &news.observer,
            seq: news.seq,
            age: news.age,
            passed: news.passed,
            next: news.next,
        };
        self.pod.heard(asked, name, &heard);
        if known {
            return;
        }
        self.disk.insert(news.deployment, (asked, news.clone()));
        if news.observer != self.name {
            let slot = slot(news.deployment);
            let class = if news.passed { Class::Ok } else { Class::ServerError };
            let generation = self.hub.generation(slot);
            self.hub.report(now, slot, &Outcome::new(class, Source::Peer, asked - news.age, generation));
        }
    }

    /// Changes the interval in the configuration.
    pub fn reload(&mut self, now: Timestamp, setup: &Setup, interval: Millis) {
        self.interval = interval;
        let groups = vec![GroupSpec::new("group", PanicParams::resilient())];
        self.hub.rebuild(specs(setup, interval), groups, now);
    }

    /// Springs the trap at `point`, if one is set there.
    pub fn spring(&mut self, point: Point) -> Option<Blow> {
        self.trap.take_if(|(at, _)| *at == point).map(|(_, blow)| blow)
    }
}

/// The slot of a deployment: their order is the same on every pod.
pub fn slot(deployment: usize) -> haleway_health::Slot {
    haleway_health::Slot(u32::try_from(deployment).unwrap_or(u32::MAX))
}

/// What is asked for a probe of `job`.
pub fn ask<'a>(name: &'a Arc<str>, job: &ProbeJob) -> Ask<'a> {
    Ask { deployment: name, interval: job.min_gap, hold: job.timeout + MARGIN }
}

/// The name of a deployment.
pub fn name(deployment: usize) -> Arc<str> {
    format!("d{deployment}").into()
}

fn specs(setup: &Setup, interval: Millis) -> Vec<Spec> {
    let span = Duration::from_millis;
    (0..setup.deployments)
        .map(|deployment| {
            let mut spec = Spec::new(&name(deployment), "group", Params::resilient());
            spec.probe = Some(ProbeParams {
                policy: ProbePolicy::Always,
                depth: haleway_health::ProbeDepth::Auto,
                interval: span(interval),
                idle_interval: span(interval),
                suspect_interval: span(setup.suspect.min(interval)),
                backoff_max: span(interval * 2),
                timeout: span(setup.timeout),
                traffic_postpones: true,
            });
            spec
        })
        .collect()
}
