//! Handles of one deployment's series: labels are hashed once, then a count is one atomic addition.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use haleway_health::Class;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use super::families::{Dollars, Families};
use super::labels::{AttemptClass, Info, Litellm, Probe, Rung, Stated, Text, Transition};

/// What a deployment's series are named by. All of it comes from the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeploymentLabels {
    /// The deployment's id.
    pub deployment: Arc<str>,
    /// Its model group.
    pub model_group: Arc<str>,
    /// Its mode.
    pub mode: Arc<str>,
    /// Its model in LiteLLM's spelling, `provider/name`.
    pub model: Arc<str>,
    /// Its provider.
    pub provider: Arc<str>,
    /// Its base URL, without credentials.
    pub api_base: Arc<str>,
}

/// How a probe ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// A usable answer.
    Healthy,
    /// A usable answer with something amiss.
    Degraded,
    /// A fault.
    Unhealthy,
    /// It could not be sent or judged.
    Unknown,
}

impl ProbeVerdict {
    /// The label's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Unhealthy => "unhealthy",
            Self::Unknown => "unknown",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

const VERDICTS: usize = 4;

/// What a request of a probe was for: the ledger's accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeRung {
    /// A call that costs nothing.
    Free,
    /// A planned real call.
    Generation,
    /// A second real call, after the first taught how to ask.
    Repair,
    /// A real call that decides whether an isolation ends.
    Trial,
    /// A real call that somebody asked for.
    OnDemand,
}

impl ProbeRung {
    /// Every rung, cheapest first.
    pub const ALL: [Self; 5] = [Self::Free, Self::Generation, Self::Repair, Self::Trial, Self::OnDemand];

    /// The label's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Generation => "generation",
            Self::Repair => "repair",
            Self::Trial => "trial",
            Self::OnDemand => "on_demand",
        }
    }
}

/// The two series of a rung.
#[derive(Debug)]
struct Account {
    requests: Counter,
    cost: Dollars,
}

/// LiteLLM's three states.
#[derive(Clone, Copy, Debug)]
enum Outage {
    None = 0,
    Partial = 1,
    Complete = 2,
}

/// The series of one deployment.
#[derive(Debug)]
pub struct DeploymentMetrics {
    families: Arc<Families>,
    labels: DeploymentLabels,
    litellm: Litellm,
    state: Gauge,
    litellm_state: Gauge,
    litellm_success: Counter,
    litellm_total: Counter,
    // Series that many deployments never need are made when they are first counted.
    attempts: [OnceLock<Counter>; Class::ALL.len()],
    probes: [OnceLock<Counter>; VERDICTS],
    accounts: [OnceLock<Account>; ProbeRung::ALL.len()],
    transitions: Mutex<HashMap<(&'static str, &'static str), Counter>>,
    failures: Mutex<HashMap<u16, Counter>>,
    cooled: Mutex<HashMap<u16, Counter>>,
}

impl DeploymentMetrics {
    pub(super) fn new(families: &Arc<Families>, labels: &DeploymentLabels) -> Self {
        let litellm = Litellm {
            litellm_model_name: Text::new(&labels.model),
            model_id: Text::new(&labels.deployment),
            api_base: Text::new(&labels.api_base),
            api_provider: Text::new(&labels.provider),
        };
        families.info.get_or_create(&info(labels)).set(1);
        Self {
            state: families.state.get_or_create_owned(&stated(labels)),
            litellm_state: families.litellm_state.get_or_create_owned(&litellm),
            litellm_success: families.litellm_success.get_or_create_owned(&litellm),
            litellm_total: families.litellm_total.get_or_create_owned(&litellm),
            families: Arc::clone(families),
            labels: labels.clone(),
            litellm,
            attempts: std::array::from_fn(|_| OnceLock::new()),
            probes: std::array::from_fn(|_| OnceLock::new()),
            accounts: std::array::from_fn(|_| OnceLock::new()),
            transitions: Mutex::default(),
            failures: Mutex::default(),
            cooled: Mutex::default(),
        }
    }

    /// The deployment is in the state with this documented number.
    pub fn state(&self, number: i64) {
        self.state.set(number);
    }

    /// The deployment changed its state.
    pub fn transition(&self, to: &'static str, cause: &'static str) {
        let labels = || Transition { deployment: Text::new(&self.labels.deployment), to, cause };
        self.transitions
            .lock()
            .entry((to, cause))
            .or_insert_with(|| self.families.transitions.get_or_create_owned(&labels()))
            .inc();
    }

    /// The deployment served an attempt.
    pub fn served(&self) {
        self.attempt(Class::Ok);
        self.litellm_total.inc();
        self.litellm_success.inc();
        self.litellm_state.set(Outage::None as i64);
    }

    /// An attempt ended with `class`; `status` stands for it, 0 when nothing was sent. What the caller or the
    /// gateway caused does not show as an outage.
    pub fn failed(&self, class: Class, status: u16, blamed: bool) {
        self.attempt(class);
        self.litellm_total.inc();
        self.failures
            .lock()
            .entry(status)
            .or_insert_with(|| {
                self.families.litellm_failure.get_or_create_owned(&self.litellm.with_status(status))
            })
            .inc();
        if blamed {
            self.litellm_state.set(Outage::Partial as i64);
        }
    }

    /// The deployment left rotation for a failure with this status.
    pub fn cooled_down(&self, status: u16) {
        self.cooled
            .lock()
            .entry(status)
            .or_insert_with(|| {
                self.families.litellm_cooled.get_or_create_owned(&self.litellm.with_status(status))
            })
            .inc();
        self.litellm_state.set(Outage::Complete as i64);
    }

    /// The deployment is back in rotation.
    pub fn returned(&self) {
        self.litellm_state.set(Outage::None as i64);
    }

    /// A probe ended.
    pub fn probed(&self, verdict: ProbeVerdict) {
        if let Some(cell) = self.probes.get(verdict.index()) {
            let labels =
                || Probe { deployment: Text::new(&self.labels.deployment), verdict: verdict.as_str() };
            cell.get_or_init(|| self.families.probes.get_or_create_owned(&labels())).inc();
        }
    }

    /// A request of a probe cost `dollars`.
    pub fn paid(&self, rung: ProbeRung, dollars: f64) {
        let Some(cell) = self.accounts.get(rung as usize) else { return };
        let account = cell.get_or_init(|| {
            let labels = self.rung(rung);
            Account {
                requests: self.families.probe_requests.get_or_create_owned(&labels),
                cost: self.families.probe_cost.get_or_create_owned(&labels),
            }
        });
        account.requests.inc();
        account.cost.inc_by(dollars);
    }

    fn rung(&self, rung: ProbeRung) -> Rung {
        Rung { deployment: Text::new(&self.labels.deployment), rung: rung.as_str() }
    }

    fn attempt(&self, class: Class) {
        if let Some(cell) = self.attempts.get(class as usize) {
            cell.get_or_init(|| self.families.attempts.get_or_create_owned(&self.attempt_labels(class)))
                .inc();
        }
    }

    fn attempt_labels(&self, class: Class) -> AttemptClass {
        AttemptClass { deployment: Text::new(&self.labels.deployment), class: class.as_str() }
    }

    /// Removes every series of this deployment.
    pub(super) fn remove(&self) {
        let families = &self.families;
        let name = || Text::new(&self.labels.deployment);
        families.state.remove(&stated(&self.labels));
        families.info.remove(&info(&self.labels));
        for rung in ProbeRung::ALL {
            families.probe_requests.remove(&self.rung(rung));
            families.probe_cost.remove(&self.rung(rung));
        }
        families.litellm_state.remove(&self.litellm);
        families.litellm_success.remove(&self.litellm);
        families.litellm_total.remove(&self.litellm);
        for class in Class::ALL {
            families.attempts.remove(&self.attempt_labels(class));
        }
        let verdicts =
            [ProbeVerdict::Healthy, ProbeVerdict::Degraded, ProbeVerdict::Unhealthy, ProbeVerdict::Unknown];
        for verdict in verdicts {
            families.probes.remove(&Probe { deployment: name(), verdict: verdict.as_str() });
        }
        for (to, cause) in self.transitions.lock().keys() {
            families.transitions.remove(&Transition { deployment: name(), to, cause });
        }
        for status in self.failures.lock().keys() {
            families.litellm_failure.remove(&self.litellm.with_status(*status));
        }
        for status in self.cooled.lock().keys() {
            families.litellm_cooled.remove(&self.litellm.with_status(*status));
        }
    }
}

fn stated(labels: &DeploymentLabels) -> Stated {
    Stated {
        deployment: Text::new(&labels.deployment),
        model_group: Text::new(&labels.model_group),
        mode: Text::new(&labels.mode),
    }
}

fn info(labels: &DeploymentLabels) -> Info {
    Info {
        deployment: Text::new(&labels.deployment),
        model_group: Text::new(&labels.model_group),
        mode: Text::new(&labels.mode),
        model: Text::new(&labels.model),
        provider: Text::new(&labels.provider),
        api_base: Text::new(&labels.api_base),
    }
}
