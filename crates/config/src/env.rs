//! Every environment variable that is read, once, with what it is for. The reference page is made from this.

use std::time::Duration;

use crate::Source;
use crate::diag::{Finding, Report, Severity, codes};

/// An environment variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does, and its default.
    pub doc: &'static str,
    /// Whether it has an effect in this version; setting one that has none is reported.
    pub works: bool,
}

macro_rules! variables {
    ($($ident:ident = $works:literal $doc:literal;)+) => {
        $(#[doc = $doc] pub const $ident: Variable = Variable { name: stringify!($ident), doc: $doc, works: $works };)+
        /// Every variable, in the order of the reference.
        pub const VARIABLES: &[Variable] = &[$($ident),+];
    };
}

variables! {
    DEFAULT_HEALTH_CHECK_INTERVAL = true "Seconds between probes where no key says otherwise. Default: 300 (profile litellm), 60 (resilient). Twice this is the default of health_check_staleness_threshold.";
    DEFAULT_SHARED_HEALTH_CHECK_TTL = true "Seconds between probes in shared mode (use_shared_health_check with Redis). Default: 300.";
    DEFAULT_SHARED_HEALTH_CHECK_LOCK_TTL = true "Seconds for which one process holds the right to probe in shared mode. Default: 60.";
    HEALTH_CHECK_TIMEOUT_SECONDS = true "Deadline of a probe in seconds. Default: 60 (profile litellm), 20 (resilient).";
    DEFAULT_HEALTH_CHECK_PROMPT = true "Text of probes that are not chat. Default: `test from litellm`.";
    BACKGROUND_HEALTH_CHECK_MAX_TOKENS = true "Output cap of probes where no deployment says otherwise.";
    BACKGROUND_HEALTH_CHECK_MAX_TOKENS_REASONING = true "The same for reasoning models.";
    DEFAULT_COOLDOWN_TIME_SECONDS = true "cooldown_time where no key says otherwise. Default: 5.";
    LITELLM_MASTER_KEY = true "The master key when general_settings.master_key is not set.";
    REQUEST_TIMEOUT = true "Seconds for a call where no key says otherwise. Default: 6000.";
    JSON_LOGS = true "Logs as JSON lines.";
    REDIS_URL = true "The Redis that processes share, where the file asks for sharing and names none: redis://user:password@host:6379/0, rediss:// for TLS.";
    REDIS_HOST = true "Its host.";
    REDIS_PORT = true "Its port. Default: 6379.";
    REDIS_USERNAME = true "Its ACL user.";
    REDIS_PASSWORD = true "Its password, also of a Redis that the file names without one.";
    REDIS_DB = true "Number of its database. Default: 0.";
    REDIS_SSL = true "TLS to it.";
    REDIS_CLUSTER_NODES = true "Nodes of a Redis Cluster as JSON: [{\"host\": \"a\", \"port\": 6379}].";
    REDIS_SENTINEL_NODES = true "Sentinels as JSON: [[\"a\", 26379]].";
    REDIS_SERVICE_NAME = true "What the sentinels call the primary. Default: mymaster.";
    REDIS_SENTINEL_PASSWORD = true "Password of the sentinels.";
    HALEWAY_REPLICAS = true "How many processes run with this configuration. Warns where they cannot share.";
    HALEWAY_OWNER_INDEX = true "haleway.fleet.owner_index, where the file has none: this process's share of the probes, from 0.";
    HALEWAY_OWNER_COUNT = true "haleway.fleet.owner_count, where the file has none: into how many shares.";
    CONFIG_FILE_PATH = true "The configuration when the command line names none.";
    HOST = true "Address to listen on. Default: 0.0.0.0.";
    PORT = true "Port to listen on. Default: 4000.";
    HALEWAY_LOG = true "Log filter, in the syntax of RUST_LOG.";
    RUST_LOG = true "Log filter, after HALEWAY_LOG.";
    LITELLM_LOG = true "Log level in LiteLLM's words, after RUST_LOG.";
    DEFAULT_ALLOWED_FAILS = false "LiteLLM defines it and reads it nowhere; write router_settings.allowed_fails.";
    DEFAULT_FAILURE_THRESHOLD_PERCENT = false "Ignored by LiteLLM too; write haleway.health.window.failure_ratio.";
    DEFAULT_FAILURE_THRESHOLD_MINIMUM_REQUESTS = false "Ignored by LiteLLM too; write haleway.health.window.min_requests.";
    DATABASE_URL = true "PostgreSQL database that remembers health, when the configuration names no store.";
    HALEWAY_SALT_KEY = true "Seals the secrets of stored models, before LITELLM_SALT_KEY, which is still tried to open them.";
    LITELLM_SALT_KEY = true "Seals the secrets of stored models. Default: the master key.";
    STORE_MODEL_IN_DB = true "Models can be added while it runs, as with general_settings.store_model_in_db.";
    NUM_WORKERS = false "One process uses every core.";
}

/// Reads variables, and reports those that cannot be read.
pub(crate) struct Environment<'a> {
    source: &'a dyn Source,
    report: &'a Report,
}

impl<'a> Environment<'a> {
    pub(crate) fn new(source: &'a dyn Source, report: &'a Report) -> Self {
        Self { source, report }
    }

    /// The text of a variable, when it is set to more than blanks.
    pub(crate) fn text(&self, variable: Variable) -> Option<String> {
        self.source.var(variable.name).filter(|text| !text.trim().is_empty())
    }

    pub(crate) fn flag(&self, variable: Variable) -> bool {
        self.text(variable).is_some_and(|text| text.trim().eq_ignore_ascii_case("true") || text.trim() == "1")
    }

    /// A whole number, at least 1.
    pub(crate) fn count(&self, variable: Variable) -> Option<u64> {
        let text = self.text(variable)?;
        let count = text.trim().parse().ok().filter(|count| *count > 0);
        if count.is_none() {
            self.unreadable(variable, "a whole number above 0");
        }
        count
    }

    /// Seconds above 0.
    pub(crate) fn seconds(&self, variable: Variable) -> Option<Duration> {
        let text = self.text(variable)?;
        let span = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let span = span.filter(|span| !span.is_zero());
        if span.is_none() {
            self.unreadable(variable, "a number of seconds above 0");
        }
        span
    }

    /// Reports every variable that is set and has no effect.
    pub(crate) fn report_inert(&self) {
        for variable in VARIABLES.iter().filter(|variable| !variable.works) {
            if self.text(*variable).is_some() {
                let message = format!("the environment variable {} has no effect", variable.name);
                let finding = Finding::placeless(Severity::Note, codes::ENV_NO_EFFECT, message);
                self.report.add(finding.hint(variable.doc));
            }
        }
    }

    pub(crate) fn unreadable(&self, variable: Variable, expected: &str) {
        let message =
            format!("the environment variable {} is not {expected}; the default holds", variable.name);
        self.report.add(Finding::placeless(Severity::Warning, codes::ENV_VALUE, message).hint(variable.doc));
    }
}
