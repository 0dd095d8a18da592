//! LiteLLM's rules for a cooldown, as a decision table on the same machine.
//!
//! They say *when* a deployment goes out; the states, ends and fences are the machine's own. A class that
//! names a fault of the configuration or the account leads to those states, not to a blind cooldown. Where
//! the rules differ from LiteLLM on purpose: counters are per class, all nine fields of a policy act, an empty
//! policy is none, the caller's own mistakes do not dilute the rate, a broken connection counts as a 500, and
//! an ignored 429 or 408 of a probe clears an older red entry instead of leaving it.

use std::time::Duration;

use super::{By, Counts, Machine};
use crate::{
    AllowedFails, Cause, Class, Effect, GroupFacts, LitellmParams, Outcome, Source, State, Timestamp,
    Transition,
};

/// `allowed_fails` where a policy is set and the number is not.
const DEFAULT_ALLOWED_FAILS: u32 = 3;
/// Fewest requests in the window for the rule of the failure share.
const RATE_MIN: u32 = 5;
/// Share of failures above which a deployment with siblings cools.
const RATE: f32 = 0.5;
/// Fewest requests for a deployment that fails every one of them, siblings or not.
const RATE_ALL_FAILED_MIN: u32 = 1000;

/// The fields of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    BadRequest,
    Authentication,
    Timeout,
    RateLimit,
    ContentPolicy,
    InternalServer,
    ServiceUnavailable,
    BadGateway,
    NotFound,
}

/// Failures since the window of one counter began.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    n: u32,
    ends: Timestamp,
}

/// One counter per field, and one for everything without a field.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally([Count; 10]);

impl Tally {
    /// Counts one failure, in a window of fixed length that the first failure opens. The new count.
    fn add(&mut self, field: Option<Field>, now: Timestamp, length: Duration) -> u32 {
        let place = field.map_or(9, |field| field as usize);
        let Some(count) = self.0.get_mut(place) else { return 0 };
        if now >= count.ends {
            *count = Count { n: 0, ends: now + length };
        }
        count.n = count.n.saturating_add(1);
        count.n
    }
}

/// A failure as LiteLLM's rules see it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    status: u16,
    field: Option<Field>,
}

impl Seen {
    /// `None`: nothing that could ever cool.
    fn of(outcome: &Outcome) -> Option<Self> {
        let or = |default| if outcome.status == 0 { default } else { outcome.status };
        let (status, field) = match outcome.class {
            Class::Auth => (401, Some(Field::Authentication)),
            Class::Permission => (403, None),
            Class::Billing if outcome.status == 429 => (429, Some(Field::RateLimit)),
            Class::Billing => (402, None),
            Class::ModelNotFound | Class::RouteNotFound => (404, Some(Field::NotFound)),
            Class::BadRequest | Class::ContextWindow => {
                let status = or(400);
                (status, (status == 400).then_some(Field::BadRequest))
            }
            Class::ContentPolicy => (400, Some(Field::ContentPolicy)),
            Class::OutputBudget | Class::Conflict => (or(409), None),
            Class::RateLimit => (429, Some(Field::RateLimit)),
            Class::Overloaded => (or(503).max(500), Some(Field::ServiceUnavailable)),
            Class::ServerError => {
                let status = or(500);
                let field = match status {
                    502 => Field::BadGateway,
                    503 => Field::ServiceUnavailable,
                    _ => Field::InternalServer,
                };
                (status, (status >= 500).then_some(field))
            }
            Class::Timeout => (408, Some(Field::Timeout)),
            Class::Connection | Class::MalformedResponse => (500, Some(Field::InternalServer)),
            Class::Ok
            | Class::ModeMismatch
            | Class::RequestExceedsQuota
            | Class::Cancelled
            | Class::Local => {
                return None;
            }
        };
        Some(Self { status, field })
    }

    /// Of the 4xx only these are held against a deployment.
    const fn passes_gate(self) -> bool {
        matches!(self.status, 401 | 402 | 404 | 408 | 429) || self.status < 400 || self.status >= 500
    }

    const fn retryable(self) -> bool {
        matches!(self.status, 408 | 409 | 429) || self.status >= 500
    }

    fn limit(self, policy: Option<AllowedFails>) -> Option<u32> {
        let policy = policy?;
        match self.field? {
            Field::BadRequest => policy.bad_request,
            Field::Authentication => policy.authentication,
            Field::Timeout => policy.timeout,
            Field::RateLimit => policy.rate_limit,
            Field::ContentPolicy => policy.content_policy,
            Field::InternalServer => policy.internal_server,
            Field::ServiceUnavailable => policy.service_unavailable,
            Field::BadGateway => policy.bad_gateway,
            Field::NotFound => policy.not_found,
        }
    }
}

/// An empty policy is no policy.
fn filled(policy: Option<AllowedFails>) -> Option<AllowedFails> {
    policy.filter(|policy| *policy != AllowedFails::default())
}

/// What LiteLLM does when neither a policy nor `allowed_fails` is set.
fn rate_rule(seen: Seen, counts: Counts, facts: GroupFacts, class: Class) -> Option<Cause> {
    if seen.status == 429 && !facts.single {
        return Some(Cause::Class(class));
    }
    if seen.status != 429 && counts.total() >= RATE_ALL_FAILED_MIN && counts.ok == 0 {
        return Some(Cause::FailureRatio);
    }
    if counts.exceeds(RATE, RATE_MIN) && !facts.single {
        return Some(Cause::FailureRatio);
    }
    (!seen.retryable()).then_some(Cause::Class(class))
}

impl Machine {
    /// Whether a failed probe takes the deployment out by itself: a policy switches that off, unless the group
    /// is listed.
    pub(super) fn filters_probes(&self) -> bool {
        let policy = self.params.litellm.filter(|_| self.is_litellm());
        let counted = policy.is_some_and(|rules| filled(rules.policy).is_some() && !rules.group_listed);
        self.params.probe_routing && !counted
    }

    /// Whether a policy names the class of `outcome`, so that its number decides and nothing else.
    pub(super) fn names(&self, outcome: &Outcome) -> bool {
        let Some(rules) = self.params.litellm else { return false };
        Seen::of(outcome)
            .is_some_and(|seen| seen.limit(rules.deployment_policy).or(seen.limit(rules.policy)).is_some())
    }

    /// A failed probe of a class that is to be ignored: it neither counts nor renews, and clears an older red
    /// entry, which it contradicts as little as it confirms it.
    pub(super) fn ignored(&self, outcome: &Outcome) -> bool {
        self.params.ignore_transient_probes
            && outcome.source == Source::Probe
            && matches!(outcome.class, Class::RateLimit | Class::Timeout)
    }

    /// See [`Self::ignored`].
    pub(super) fn ignore(&mut self, now: Timestamp) -> Option<Transition> {
        let red = self.state == State::Isolated && self.by_probe() && !self.params.isolation.trial;
        red.then(|| self.become_unknown(now, Cause::Stale))
    }

    /// A failure under `profile: litellm`, in rotation.
    pub(super) fn litellm_failure(
        &mut self,
        now: Timestamp,
        outcome: &Outcome,
        facts: GroupFacts,
    ) -> Option<Transition> {
        let probe = outcome.source == Source::Probe;
        if probe {
            self.probe_run = self.probe_run.saturating_add(1);
            self.probe_depth = outcome.depth;
            if !self.params.probe_routing {
                return self.suspect(now, Cause::Class(outcome.class), Some(outcome));
            }
        } else {
            self.traffic_run = self.traffic_run.saturating_add(1);
            self.failed_at = now;
        }
        let counts = self.window.add(now, Counts { bad: 1, ..Counts::default() });
        let red = probe && self.filters_probes() && self.probe_run >= self.params.fall;
        let cause = self.decide(now, outcome, facts, Some(counts)).or_else(|| self.own_rules(counts, facts));
        match (cause, outcome.class.effect()) {
            (Some(cause), Effect::Config) => Some(self.config_fault(now, cause, outcome)),
            (Some(cause), Effect::Budget) => Some(self.broke(now, cause, outcome)),
            (Some(cause), Effect::Hard | Effect::Soft | Effect::Alive | Effect::Ok | Effect::Neutral) => {
                Some(self.cool(now, cause, outcome, red))
            }
            (None, _) if red => self.probe_failed(now, outcome),
            (None, _) => self.suspect(now, Cause::Class(outcome.class), Some(outcome)),
        }
    }

    /// Rules of this product that a configuration added to LiteLLM's.
    fn own_rules(&self, counts: Counts, facts: GroupFacts) -> Option<Cause> {
        let params = &self.params;
        if params.litellm.is_none_or(|rules| cannot_cool(&rules)) || (facts.lone() && !params.isolate_lone) {
            return None;
        }
        if params.consecutive_failures > 0 && self.traffic_run >= params.consecutive_failures {
            return Some(Cause::ConsecutiveFailures);
        }
        let window = &params.window;
        let over = window.min_requests > 0 && counts.exceeds(window.failure_ratio, window.min_requests);
        over.then_some(Cause::FailureRatio)
    }

    /// A cooldown. The deployment's own `cooldown_time` outranks a stated wait, which outranks the router's.
    /// A probe that also is the verdict keeps the deployment out for as long as its evidence is young.
    fn cool(&mut self, now: Timestamp, cause: Cause, outcome: &Outcome, red: bool) -> Transition {
        let rules = self.params.litellm;
        let own = rules.is_some_and(|rules| rules.own_cooldown_time);
        let length = rules.map_or(self.params.isolation.base, |rules| rules.cooldown_time);
        let mut asked = outcome.clone();
        if own {
            asked.retry_after = None;
        }
        let stated = asked.retry_after.is_some_and(|wait| !wait.is_zero());
        let mut end = if stated { now } else { now + self.around(length) };
        let (by, cause) = if red {
            end = end.max(outcome.sent_at + self.params.stale_after);
            (By::Probe(outcome.depth), Cause::ProbeFailures)
        } else {
            (By::Traffic, cause)
        };
        self.out(now, end, cause, by, &asked)
    }

    /// A policy that is set in another profile counts there too.
    pub(super) fn tripped(
        &mut self,
        now: Timestamp,
        outcome: &Outcome,
        facts: GroupFacts,
    ) -> Option<Transition> {
        let cause = self.decide(now, outcome, facts, None)?;
        let by = if outcome.source == Source::Probe { By::Probe(outcome.depth) } else { By::Traffic };
        match outcome.class.effect() {
            Effect::Config => Some(self.config_fault(now, cause, outcome)),
            Effect::Budget => Some(self.broke(now, cause, outcome)),
            Effect::Hard | Effect::Soft | Effect::Alive | Effect::Ok | Effect::Neutral
                if self.is_litellm() =>
            {
                Some(self.cool(now, cause, outcome, false))
            }
            Effect::Hard | Effect::Soft | Effect::Alive | Effect::Ok | Effect::Neutral => {
                self.isolate(now, cause, by, outcome)
            }
        }
    }

    /// The decision table. `counts` = what the window holds, for the rule of the failure share, which only
    /// `profile: litellm` has.
    fn decide(
        &mut self,
        now: Timestamp,
        outcome: &Outcome,
        facts: GroupFacts,
        counts: Option<Counts>,
    ) -> Option<Cause> {
        let rules = self.params.litellm?;
        let seen = Seen::of(outcome)?;
        if cannot_cool(&rules) {
            return None;
        }
        let here = filled(rules.deployment_policy);
        let router = filled(rules.policy);
        if let Some(limit) = seen.limit(here) {
            return self.over(now, seen.field, limit, outcome.class, &rules);
        }
        let named = seen.limit(router);
        if named.is_none() && (!seen.passes_gate() || (facts.single && seen.status == 402)) {
            return None;
        }
        if let Some(limit) = rules.deployment_allowed_fails {
            return if facts.single { None } else { self.over(now, None, limit, outcome.class, &rules) };
        }
        if here.is_none() && router.is_none() && rules.allowed_fails.is_none() {
            return rate_rule(seen, counts?, facts, outcome.class);
        }
        match named {
            Some(limit) => self.over(now, seen.field, limit, outcome.class, &rules),
            None if facts.lone() => None,
            None => {
                let limit = rules.allowed_fails.unwrap_or(DEFAULT_ALLOWED_FAILS);
                self.over(now, None, limit, outcome.class, &rules)
            }
        }
    }

    /// Counts, and says whether it is more than what is tolerated.
    fn over(
        &mut self,
        now: Timestamp,
        field: Option<Field>,
        limit: u32,
        class: Class,
        rules: &LitellmParams,
    ) -> Option<Cause> {
        let tally = self.tally.get_or_insert_default();
        let n = tally.add(field, now, rules.cooldown_time);
        (n > limit).then_some(Cause::Policy(class))
    }
}

/// Whether cooldowns are turned off.
const fn cannot_cool(rules: &LitellmParams) -> bool {
    rules.disable_cooldowns || rules.cooldown_time.is_zero()
}
