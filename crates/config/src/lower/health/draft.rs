//! The numbers of one deployment (or of everything) while they are put together, with where each came from.

use std::time::Duration;

use haleway_health::{LitellmParams, PanicParams, Params, ProbeParams, Profile};

use haleway_providers::classify::StatusLists;

use super::Cooldown;
use crate::Origin;
use crate::typed::{Budget, Limits, Origins, PhaseTimeouts};

/// Numbers and their origins.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) params: Params,
    pub(crate) probe: ProbeParams,
    pub(crate) panic: PanicParams,
    pub(crate) limits: Limits,
    pub(crate) budget: Budget,
    pub(crate) statuses: StatusLists,
    pub(crate) timeouts: PhaseTimeouts,
    /// `probe.policy` was said of the deployment or its group, not of everything.
    pub(crate) own_policy: bool,
    /// `cooldown_time`, when any layer set it.
    pub(crate) cooldown: Option<Cooldown>,
    pub(crate) origins: Origins,
}

impl Draft {
    /// The preset of a profile.
    pub(crate) const fn preset(profile: Profile) -> Self {
        let (params, probe, panic) = match profile {
            Profile::Litellm => (Params::litellm(), ProbeParams::litellm(), PanicParams::litellm()),
            Profile::Resilient => (Params::resilient(), ProbeParams::resilient(), PanicParams::resilient()),
        };
        let limits =
            Limits { concurrency: 16, per_host: 4, total_probes_per_day: None, total_usd_per_day: None };
        let budget = Budget { probes_per_day: None, usd_per_day: None };
        Self {
            params,
            probe,
            panic,
            limits,
            budget,
            statuses: StatusLists { upstream: Vec::new(), caller: Vec::new() },
            timeouts: PhaseTimeouts::DEFAULT,
            own_policy: false,
            cooldown: None,
            origins: Origins::new(),
        }
    }

    /// Remembers where the value of a key came from.
    pub(crate) fn note(&mut self, key: &'static str, origin: Origin) {
        self.origins.insert(key, origin);
    }

    /// LiteLLM's counters; in `profile: resilient` they exist once a policy or a limit is set.
    pub(crate) fn counters(&mut self) -> &mut LitellmParams {
        const NONE: LitellmParams = match Params::litellm().litellm {
            Some(counters) => counters,
            None => unreachable!(),
        };
        self.params.litellm.get_or_insert(NONE)
    }

    /// Whether somebody set the value of a key.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.origins.get(key).is_some_and(|origin| !matches!(origin, Origin::Derived(_)))
    }

    /// `budget.usd_per_day`, said of everything, bounds all deployments together.
    pub(crate) const fn pool_budget(&mut self) {
        self.limits.total_usd_per_day = self.budget.usd_per_day.take();
    }

    /// Lets the times that nobody set follow those that somebody did.
    pub(crate) fn settle(&mut self) {
        self.settle_cooldown();
        if self.params.profile == Profile::Litellm {
            // LiteLLM has one period, whatever the state of a deployment.
            let interval = self.probe.interval;
            for (key, slot) in [
                ("idle_interval", &mut self.probe.idle_interval),
                ("suspect_interval", &mut self.probe.suspect_interval),
                ("probe.backoff_max", &mut self.probe.backoff_max),
            ] {
                follow(&mut self.origins, key, slot, interval, "interval");
            }
        } else {
            let interval = self.probe.interval;
            let at_least = self.probe.idle_interval.max(interval);
            follow(&mut self.origins, "idle_interval", &mut self.probe.idle_interval, at_least, "interval");
            let at_least = self.probe.backoff_max.max(interval);
            follow(&mut self.origins, "probe.backoff_max", &mut self.probe.backoff_max, at_least, "interval");
            let at_most = self.probe.suspect_interval.min(interval);
            follow(
                &mut self.origins,
                "suspect_interval",
                &mut self.probe.suspect_interval,
                at_most,
                "interval",
            );
        }
        let longest = self.params.isolation.max.max(self.params.isolation.base);
        follow(&mut self.origins, "isolation.max", &mut self.params.isolation.max, longest, "isolation.base");
    }
}

impl Draft {
    /// One length for a cooldown, whichever name it was given by: `isolation.base` outranks `cooldown_time`.
    fn settle_cooldown(&mut self) {
        if let Some(cooldown) = self.cooldown
            && !self.is_set("isolation.base")
        {
            self.params.isolation.base = cooldown.time;
            self.origins.insert("isolation.base", Origin::Derived("cooldown_time"));
        }
        let base = self.params.isolation.base;
        if self.params.profile == Profile::Litellm
            && !self.is_set("isolation.max")
            && self.params.isolation.max != base
        {
            self.params.isolation.max = base;
            self.origins.insert("isolation.max", Origin::Derived("isolation.base"));
        }
        if let Some(counters) = &mut self.params.litellm {
            counters.cooldown_time = base;
            counters.own_cooldown_time = self.cooldown.is_some_and(|cooldown| cooldown.own);
        }
    }
}

/// Gives a value that nobody set the value that follows from another.
fn follow(
    origins: &mut Origins,
    key: &'static str,
    slot: &mut Duration,
    value: Duration,
    from: &'static str,
) {
    let set = origins.get(key).is_some_and(|origin| !matches!(origin, Origin::Derived(_)));
    if !set && *slot != value {
        *slot = value;
        origins.insert(key, Origin::Derived(from));
    }
}
