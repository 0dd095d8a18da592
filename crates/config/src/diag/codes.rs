//! Machine names of the findings. Stable: scripts and dashboards match on them.

macro_rules! codes {
    ($($name:ident = $code:literal: $doc:literal;)+) => {
        $(#[doc = $doc] pub(crate) const $name: &str = $code;)+
        /// Every code with what it stands for, in the order of the documentation.
        pub const CODES: &[(&str, &str)] = &[$(($code, $doc)),+];
    };
}

codes! {
    FILE = "file-unreadable": "The file, or one it includes, cannot be read or is not UTF-8.";
    BAD_CATALOGUE = "bad-catalogue": "A model catalogue that cannot be read: neither a table nor a price map, or a value that is none.";
    YAML_SYNTAX = "yaml-syntax": "It is not YAML as PyYAML reads it.";
    YAML_DOCUMENTS = "yaml-documents": "More than one YAML document in a file.";
    YAML_BUDGET = "yaml-budget": "Aliases that grow the file beyond reason.";
    YAML_TAG = "yaml-tag": "A tag with no meaning here.";
    YAML_KEY_TYPE = "yaml-key-type": "A key that YAML 1.1 reads as a boolean, a date or nothing.";
    DUPLICATE_KEY = "duplicate-key": "A key given twice; the last one counts.";
    DATE_AS_TEXT = "date-as-text": "A date where text is meant; the text is kept.";
    MISSING_ENV = "missing-env": "A referenced environment variable is not set.";
    ENV_VALUE = "env-value": "An environment variable that cannot be read as what it should be; the default holds.";
    ENV_NO_EFFECT = "env-no-effect": "An environment variable that is set and has no effect.";
    REFERENCE_IN_LIST = "reference-in-list": "An os.environ/ reference as a bare list item, which is not resolved.";
    INCLUDE_SHAPE = "include-shape": "`include` is not a list of file names.";
    INCLUDE_REPLACES = "include-replaces": "An included section replaces the whole section of the file that includes it.";
    UNKNOWN_KEY = "unknown-key": "A key that nothing reads.";
    EXTRA_KEY = "extra-key": "A key that is passed on or shown, and not otherwise known.";
    MISPLACED_KEY = "misplaced-key": "A key that is known elsewhere and has no effect here.";
    MODELS_WITHOUT_STORE = "models-without-database": "store_model_in_db without a database to store them in.";
    NO_EFFECT = "accepted-no-effect": "A key of LiteLLM's that is accepted and has no effect in this version.";
    WRONG_TYPE = "wrong-type": "A value of a type that the key does not take.";
    LOOSE_TYPE = "loose-type": "A value that LiteLLM would read otherwise than it is meant; it is accepted as meant.";
    BAD_VALUE = "bad-value": "A value out of range, or none of the names that are known.";
    BAD_INTERVAL = "bad-interval": "A health check interval that is no positive number of seconds.";
    BAD_STRATEGY = "bad-strategy": "No routing strategy has this name.";
    BAD_MODEL_GROUPS = "bad-model-groups": "`background_health_check_model_groups` is not a list of names.";
    NO_MODELS = "no-models": "There is no deployment.";
    MISSING_MODEL_NAME = "missing-model-name": "An entry of model_list without model_name.";
    MISSING_MODEL = "missing-model": "An entry of model_list without litellm_params.model.";
    DUPLICATE_ID = "duplicate-id": "Two deployments with one id.";
    UNKNOWN_PROVIDER = "unknown-provider": "The model string names no known provider.";
    UNRESOLVED = "unresolved-deployment": "It cannot be decided where calls of a deployment go.";
    UNKNOWN_GROUP = "unknown-group": "A name that is no model group.";
    ALIAS_NOT_GROUP = "alias-not-group": "An alias where only model groups count.";
    ALIAS_SHADOWS = "alias-shadows-group": "An alias with the name of a model group, which then cannot be asked for.";
    FALLBACKS_OFF = "fallbacks-off": "Fallbacks that are never taken, because max_fallbacks is 0.";
    FALLBACK_SELF = "fallback-to-itself": "A fallback that leads to the group that it is for.";
    FALLBACK_CYCLE = "fallback-cycle": "Fallbacks that lead back to where they began.";
    PARTIAL_SHARE = "partial-share": "A group in which only some deployments have a weight, rpm or tpm.";
    OVERRIDDEN = "overridden": "A value that another setting of the same file outranks.";
    LIMIT_ZERO = "limit-zero": "An rpm or tpm of 0.";
    LIMIT_INERT = "limit-inert": "An rpm or tpm that neither limits nor weighs anything.";
    TAGS_INERT = "tags-inert": "Tags, or a rule for them, while tag filtering is off.";
    STRATEGY_ARGS_INERT = "strategy-args-inert": "Arguments of another routing strategy than the one that is set.";
    PRE_CALL_INERT = "pre-call-checks-inert": "enable_pre_call_checks without a deployment whose limit is known.";
    CREDENTIAL_UNUSED = "credential-unused": "An entry of credential_list that no deployment names.";
    RETENTION_INERT = "retention-inert": "How long health is remembered, where nothing remembers it.";
    NO_MASTER_KEY = "no-master-key": "There is no master key.";
    EMPTY_POLICY = "empty-policy": "An empty allowed_fails_policy, which is no policy.";
    COOLDOWN_SHORT = "cooldown-shorter-than-interval": "Counters that expire before the next probe can add to them.";
    COOLDOWN_ZERO = "cooldown-zero": "A cooldown_time of 0.";
    STALENESS_SHORT = "staleness-short": "Probe results expire before the next probes can renew them.";
    INTERVALS = "interval-order": "Probe intervals, timeouts and limits that contradict each other.";
    ROUTING_OFF = "health-routing-inert": "Health routing without background health checks.";
    PROBE_OFF = "probe-setting-inert": "A probe setting of a deployment that is not probed.";
    PROBES_OFF = "probes-off": "Settings of background probes while there are none.";
    CANNOT_PROBE = "cannot-probe": "A deployment that is to be probed and cannot be.";
    BUDGET_ZERO = "budget-zero": "A budget of 0 for the probes of what is to be probed.";
    COUNTS_INERT = "allowed-fails-inert": "Tolerated failures where nothing that is counted takes a deployment out.";
    CAP_INERT = "ejection-cap-inert": "An ejection cap that can never let anything go.";
    REPLICAS_WITHOUT_REDIS = "replicas-without-redis": "HALEWAY_REPLICAS processes without a Redis to share in: each probes everything.";
    SHARED_WITHOUT_REDIS = "shared-without-redis": "use_shared_health_check without any Redis setting.";
    SHARED_INTERVAL = "shared-interval": "In shared mode the period of probes is the TTL, not the interval.";
}
