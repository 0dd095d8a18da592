//! The `haleway` section: what LiteLLM has no words for.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{PanicParams, Params, ProbeParams, Profile};
use haleway_providers::ProbeSettings;
use haleway_providers::catalogue::{Catalogue, Usd};
use haleway_providers::classify::StatusLists;

use super::{Fleet, Origins, Store};

/// The `haleway` section.
#[derive(Clone, Debug)]
pub struct Haleway {
    /// `strict`: a file with warnings is not served.
    pub strict: bool,
    /// The preset, and why it was chosen.
    pub profile: ProfileChoice,
    /// `catalogue`: what is known about models; the built-in figures unless a file was named.
    pub catalogue: Catalogue,
    /// `admin_listen`: health and admin routes on a listener of their own.
    pub admin_listen: Option<SocketAddr>,
    /// `errors.all_out_status`: HTTP status when no deployment may be used; `None` = the profile's (429 or 503).
    pub all_out_status: Option<u16>,
    /// How calls are made, and what is told of them.
    pub calls: Calls,
    /// What a group does when too few of its deployments are in, unless it says otherwise itself.
    pub panic: PanicParams,
    /// Groups with settings of their own (`groups`), completed.
    pub group_panic: BTreeMap<Arc<str>, PanicParams>,
    /// Bounds on probing.
    pub limits: Limits,
    /// What probes of one deployment may use up in a day, where nothing narrower is set.
    pub budget: Budget,
    /// `health.statuses`: statuses that are read otherwise than the tables do.
    pub statuses: StatusLists,
    /// `health.timeouts`: limits of single phases of calls and probes, where nothing narrower is set.
    pub timeouts: PhaseTimeouts,
    /// Coordination of several processes.
    pub fleet: Fleet,
    /// Where health is remembered; `None` = nowhere.
    pub store: Option<Store>,
    /// Numbers of a deployment's health machine where nothing narrower is set.
    pub health: Params,
    /// How a deployment is probed where nothing narrower is set.
    pub probe: ProbeParams,
    /// What the environment says about the body of every probe.
    pub probe_body: ProbeSettings,
    /// Where global health values came from.
    pub origins: Origins,
    /// Where the values of the groups in `group_panic` came from.
    pub group_origins: BTreeMap<Arc<str>, Origins>,
}

impl Haleway {
    /// What the group `name` does when too few of its deployments are in.
    pub fn panic_of(&self, name: &str) -> PanicParams {
        self.group_panic.get(name).copied().unwrap_or(self.panic)
    }
}

/// How calls are made, and what is told of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calls {
    /// `trace`: who is told which candidates did not serve a call, and why.
    pub trace: TraceLevel,
    /// `retry.share`: retries as a share of all calls of the process, 0 to 1.
    pub retry_share: f32,
    /// `retry.reserve`: retries per second that are allowed however few calls there are.
    pub retry_reserve: u32,
    /// `stream.resume` and `stream.resumptions`: how often a chat stream that breaks after its first output is continued by
    /// another deployment; 0 = never.
    pub resumptions: u8,
}

impl Default for Calls {
    fn default() -> Self {
        Self { trace: TraceLevel::OnRequest, retry_share: 0.2, retry_reserve: 10, resumptions: 0 }
    }
}

/// How much a caller is told of the candidates that did not serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceLevel {
    /// How many attempts there were, and no more.
    Never,
    /// The header always, the `haleway` object when asked for.
    OnRequest,
    /// Both, always.
    Always,
}

impl TraceLevel {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnRequest => "on_request",
            Self::Always => "always",
        }
    }
}

/// Limits of single phases of a call or a probe; the phases of a stream are among the health values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseTimeouts {
    /// `timeouts.connect`: name resolution, TCP and TLS together. Default 5 s.
    pub connect: Duration,
    /// `timeouts.first_byte`: from the request to the head of the answer, connecting included. `None` = no limit of its own,
    /// the default: a model that answers whole may think until the end of its time.
    pub first_byte: Option<Duration>,
}

impl PhaseTimeouts {
    pub(crate) const DEFAULT: Self = Self { connect: Duration::from_secs(5), first_byte: None };
}

/// Which preset, and why.
#[derive(Clone, Debug)]
pub struct ProfileChoice {
    /// The preset.
    pub profile: Profile,
    /// One sentence for `config explain`.
    pub reason: String,
}

impl ProfileChoice {
    /// `litellm` or `resilient`.
    pub const fn name(&self) -> &'static str {
        profile_name(self.profile)
    }
}

/// The name of a preset.
pub(crate) const fn profile_name(profile: Profile) -> &'static str {
    match profile {
        Profile::Litellm => "litellm",
        Profile::Resilient => "resilient",
    }
}

/// Bounds on probing in one process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// `health.probe.concurrency`, or `health_check_concurrency`: probes in flight.
    pub concurrency: u32,
    /// `health.probe.per_host`: probes in flight at one host.
    pub per_host: u32,
    /// `health.budget.total_probes_per_day`: real probes of all deployments in one UTC day.
    pub total_probes_per_day: Option<u32>,
    /// `health.budget.usd_per_day`: US dollars that probes of all deployments may cost in one UTC day.
    pub total_usd_per_day: Option<Usd>,
}

/// What probes of one deployment may use up in one UTC day. Free calls count for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// `health.budget.probes_per_day`: real probes, repairs and those asked for included.
    pub probes_per_day: Option<u32>,
    /// `budget.usd_per_day` of a deployment or its group, in US dollars.
    pub usd_per_day: Option<Usd>,
}
