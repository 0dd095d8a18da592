//! Every number the health core obeys, with the two presets. A profile is a table, not a code path.
//!
//! Defaults of [`Profile::Resilient`] and their reasons are in `docs/health.md`; those of
//! [`Profile::Litellm`] are LiteLLM's own.

use std::time::Duration;

use crate::Counts;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Which preset a configuration starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// LiteLLM's semantics: one failed probe is out, cooldown by counters, no trial, no ramp.
    Litellm,
    /// Hysteresis, growing isolation, one trial, a ramp.
    Resilient,
}

/// Health parameters of one deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The preset these numbers started from.
    pub profile: Profile,
    /// Failed probes in a row that isolate.
    pub fall: u32,
    /// Passed trials in a row that end an isolation.
    pub rise: u32,
    /// Hard failures in a row from traffic that isolate; 0 turns the rule off.
    pub consecutive_failures: u32,
    /// The failure-ratio rule over traffic.
    pub window: WindowParams,
    /// How long an isolation lasts.
    pub isolation: IsolationParams,
    /// How traffic returns.
    pub ramp: RampParams,
    /// How long a trial lease is held before it counts as lost.
    pub trial_hold: Duration,
    /// Passed probes in a row that end a probe-inferred isolation early, through a trial; 0 = never early.
    pub early_release: u32,
    /// Sightings of a configuration fault (auth, permission, model gone) that make it a verdict; one is
    /// enough on a trial.
    pub config_sightings: u32,
    /// How long an account without a stated reset stays out for billing.
    pub budget_hold: Duration,
    /// Longest hold that an answer may ask for.
    pub hold_max: Duration,
    /// Hold after a 429 or 529 that states no wait.
    pub hold_default: Duration,
    /// Whether 429/529 count as failures in the window too (seed 002's variant).
    pub soft_in_window: bool,
    /// Evidence older than this no longer supports a verdict.
    pub stale_after: Duration,
    /// Whether a failed probe takes the deployment out of rotation (LiteLLM's `enable_health_check_routing`).
    pub probe_routing: bool,
    /// Whether failed probes of class timeout (408) and rate limit (429) are ignored.
    pub ignore_transient_probes: bool,
    /// Whether a generation-level passing probe may end a traffic-inferred isolation.
    pub probe_can_restore: bool,
    /// Whether a lone deployment with nowhere else to go may be refused locally for inferred failures.
    pub isolate_lone: bool,
    /// LiteLLM's counters; `None` outside `profile: litellm` when no policy is set.
    pub litellm: Option<LitellmParams>,
    /// Slow streams.
    pub stream: StreamParams,
}

/// The failure-ratio rule: isolate when at least `min_requests` fall into the window and more than
/// `failure_ratio` of them failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowParams {
    /// Length of the sliding window.
    pub length: Duration,
    /// Buckets it is divided into (1 to 64).
    pub buckets: u8,
    /// Requests that must be in the window before the rule applies; 0 turns the rule off.
    pub min_requests: u32,
    /// Share of failures, 0 to 1, that must be exceeded.
    pub failure_ratio: f32,
}

impl WindowParams {
    /// Whether `counts` hold more failures than the rule allows.
    pub fn fails(&self, counts: Counts) -> bool {
        self.min_requests > 0 && counts.exceeds(self.failure_ratio, self.min_requests)
    }

    /// Whether `counts` are enough requests to say that the deployment answers.
    pub fn answers(&self, counts: Counts) -> bool {
        self.min_requests > 0 && counts.total() >= self.min_requests && !self.fails(counts)
    }
}

/// Length of the k-th isolation: `base * multiplier^(k-1)`, at most `max`, give or take `jitter`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IsolationParams {
    /// First isolation. Zero turns isolation off; state is still tracked and shown.
    pub base: Duration,
    /// Growth per repeated isolation.
    pub multiplier: f32,
    /// Longest isolation.
    pub max: Duration,
    /// Share of the length, 0 to 1, by which the end is spread; only upward after a stated wait.
    pub jitter: f32,
    /// One step of growth is forgotten per this long with at least one success in it.
    pub decay_every: Duration,
    /// Whether an isolation ends through a trial; otherwise by time alone.
    pub trial: bool,
}

/// How weight returns after an isolation: linear from `min_share` to 1 over `length`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RampParams {
    /// Length of the ramp; zero turns it off.
    pub length: Duration,
    /// First share of the normal weight, above 0, at most 1.
    pub min_share: f32,
    /// Successes needed before the ramp may end.
    pub min_successes: u32,
    /// Hard failures in the ramp that isolate again.
    pub fall: u32,
    /// The ramp ends after this long even with fewer successes.
    pub cap: Duration,
}

/// When slowness counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamParams {
    /// Longest wait for the first output of a stream.
    pub first_token: Duration,
    /// Longest silence between outputs; a deployment with requests in flight and no output for this long is
    /// suspect whatever its probe says.
    pub gap: Duration,
    /// A caller that leaves before the first byte after at least this long counts once as a hang.
    pub hang_after: Duration,
    /// First tokens slower than this are slow; weight halves when most of the window is.
    pub slow_first_token: Duration,
}

/// LiteLLM's tolerated failures per class: cooldown on failure N+1. `None` = not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllowedFails {
    /// `BadRequestErrorAllowedFails`
    pub bad_request: Option<u32>,
    /// `AuthenticationErrorAllowedFails`
    pub authentication: Option<u32>,
    /// `TimeoutErrorAllowedFails`
    pub timeout: Option<u32>,
    /// `RateLimitErrorAllowedFails`
    pub rate_limit: Option<u32>,
    /// `ContentPolicyViolationErrorAllowedFails`
    pub content_policy: Option<u32>,
    /// `InternalServerErrorAllowedFails`
    pub internal_server: Option<u32>,
    /// `ServiceUnavailableErrorAllowedFails`
    pub service_unavailable: Option<u32>,
    /// `BadGatewayErrorAllowedFails`
    pub bad_gateway: Option<u32>,
    /// `NotFoundErrorAllowedFails`
    pub not_found: Option<u32>,
}

/// LiteLLM's cooldown rules (`litellm-behaviour` §7 measured).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LitellmParams {
    /// Policy of the router. An empty policy is no policy.
    pub policy: Option<AllowedFails>,
    /// Policy of this deployment: overrides the router's, and the exemption of lone deployments.
    pub deployment_policy: Option<AllowedFails>,
    /// `allowed_fails` of the router, when set.
    pub allowed_fails: Option<u32>,
    /// `allowed_fails` of this deployment, when set.
    pub deployment_allowed_fails: Option<u32>,
    /// `cooldown_time`: length of a cooldown and of the counting window. Zero turns cooldown off.
    pub cooldown_time: Duration,
    /// Whether a deployment-level `cooldown_time` was given, which outranks a stated wait.
    pub own_cooldown_time: bool,
    /// `disable_cooldowns`.
    pub disable_cooldowns: bool,
    /// Whether this deployment's group is listed in `background_health_check_model_groups`, which keeps the
    /// binary probe filter even under a policy.
    pub group_listed: bool,
}

/// What a group does when too few of its deployments are in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PanicParams {
    /// Panic when the share of available weight is below this, 0 to 1; 0 = only when none is left.
    pub threshold: f32,
    /// What panic does.
    pub mode: PanicMode,
    /// What happens when no deployment may be used.
    pub all_out: AllOut,
    /// Largest share of the members, 0 to 1, that inference from traffic may take out, checked on the state
    /// after the ejection and rounded down; `None` = no cap. Failed probes and known causes are exempt.
    pub ejection_cap: Option<f32>,
    /// Whether one member may go even when the cap rounds down to none.
    pub eject_at_least_one: bool,
}

/// What panic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanicMode {
    /// Spread over every deployment that is not out for a known cause.
    Spread,
    /// Refuse.
    Refuse,
    /// Never panic: use whatever is left.
    Off,
}

/// What happens when no deployment may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllOut {
    /// Try the least bad by cause; never one out for auth, billing, gone or by an operator.
    TryBest,
    /// Wait for the soonest return, bounded by the caller's deadline.
    Wait,
    /// Refuse, naming the soonest return.
    Fail,
}

/// When a deployment is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbePolicy {
    /// Every interval.
    Always,
    /// Only when no traffic proved it alive for an interval.
    WhenIdle,
    /// Only while it is out of rotation.
    OnlyWhenOut,
    /// Never.
    Never,
}

/// How deep the probes of a deployment go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeDepth {
    /// The smallest real call; where that is costly, a free call, and a real one only while it is out.
    Auto,
    /// Free calls only: a trial is left to callers' requests.
    Free,
    /// A real call every time.
    Generation,
}

/// How a deployment is probed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeParams {
    /// When.
    pub policy: ProbePolicy,
    /// How deep.
    pub depth: ProbeDepth,
    /// Time between probes of a healthy deployment.
    pub interval: Duration,
    /// Time between probes after a long time without any traffic.
    pub idle_interval: Duration,
    /// Time between probes while in doubt.
    pub suspect_interval: Duration,
    /// Longest spacing while out; spacing doubles from the interval up to it.
    pub backoff_max: Duration,
    /// Deadline of a probe, hard.
    pub timeout: Duration,
    /// Whether a success of traffic postpones the next probe.
    pub traffic_postpones: bool,
}

impl Params {
    /// The preset of `profile: resilient`.
    pub const fn resilient() -> Self {
        Self {
            profile: Profile::Resilient,
            fall: 3,
            rise: 1,
            consecutive_failures: 5,
            window: WindowParams { length: secs(30), buckets: 10, min_requests: 10, failure_ratio: 0.8 },
            isolation: IsolationParams {
                base: secs(30),
                multiplier: 2.0,
                max: secs(300),
                jitter: 0.1,
                decay_every: secs(60),
                trial: true,
            },
            ramp: RampParams { length: secs(60), min_share: 0.1, min_successes: 5, fall: 1, cap: secs(300) },
            trial_hold: secs(25),
            early_release: 2,
            config_sightings: 2,
            budget_hold: secs(3600),
            hold_max: secs(300),
            hold_default: secs(5),
            soft_in_window: false,
            stale_after: secs(600),
            probe_routing: true,
            ignore_transient_probes: false,
            probe_can_restore: true,
            isolate_lone: false,
            litellm: None,
            stream: StreamParams {
                first_token: secs(30),
                gap: secs(30),
                hang_after: secs(10),
                slow_first_token: secs(10),
            },
        }
    }

    /// The preset of `profile: litellm`.
    pub const fn litellm() -> Self {
        Self {
            profile: Profile::Litellm,
            fall: 1,
            consecutive_failures: 0,
            window: WindowParams { length: secs(60), buckets: 12, min_requests: 0, failure_ratio: 0.5 },
            isolation: IsolationParams {
                base: secs(5),
                multiplier: 1.0,
                max: secs(5),
                jitter: 0.0,
                decay_every: secs(60),
                trial: false,
            },
            ramp: RampParams {
                length: Duration::ZERO,
                min_share: 1.0,
                min_successes: 0,
                fall: 1,
                cap: Duration::ZERO,
            },
            early_release: 1,
            config_sightings: 1,
            probe_routing: false,
            litellm: Some(LitellmParams {
                policy: None,
                deployment_policy: None,
                allowed_fails: None,
                deployment_allowed_fails: None,
                cooldown_time: secs(5),
                own_cooldown_time: false,
                disable_cooldowns: false,
                group_listed: false,
            }),
            // LiteLLM has no limits of its own for streams: only `timeout` and `stream_timeout` apply.
            stream: StreamParams {
                first_token: secs(6000),
                gap: secs(600),
                hang_after: secs(10),
                slow_first_token: secs(6000),
            },
            ..Self::resilient()
        }
    }
}

impl PanicParams {
    /// The preset of `profile: resilient`.
    pub const fn resilient() -> Self {
        Self {
            threshold: 0.1,
            mode: PanicMode::Spread,
            all_out: AllOut::TryBest,
            ejection_cap: None,
            eject_at_least_one: true,
        }
    }

    /// The preset of `profile: litellm`: only when none is left.
    pub const fn litellm() -> Self {
        Self { threshold: 0.0, ..Self::resilient() }
    }
}

impl ProbeParams {
    /// The preset of `profile: resilient`.
    pub const fn resilient() -> Self {
        Self {
            policy: ProbePolicy::Always,
            depth: ProbeDepth::Auto,
            interval: secs(60),
            idle_interval: secs(300),
            suspect_interval: secs(5),
            backoff_max: secs(300),
            timeout: secs(20),
            traffic_postpones: true,
        }
    }

    /// The preset of `profile: litellm`.
    pub const fn litellm() -> Self {
        Self {
            policy: ProbePolicy::Always,
            depth: ProbeDepth::Auto,
            interval: secs(300),
            idle_interval: secs(300),
            suspect_interval: secs(300),
            backoff_max: secs(300),
            timeout: secs(60),
            traffic_postpones: false,
        }
    }
}
