//! LiteLLM's own flags, so that a container's command line needs one word changed: each works, is accepted with a warning
//! that it has no effect, or is refused with what to do instead. None is swallowed.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use haleway_config::Source;
use serde_json::{Map, Value, json};

use crate::source::System;

/// The name under which a configuration made of flags is read, and called in findings.
const COMMAND_LINE: &str = "<command line>";

/// Flags of LiteLLM's that are not Haleway's own.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "LiteLLM's flags")]
pub(crate) struct LitellmFlags {
    /// Serve this one model without a configuration file, such as `openai/gpt-4o`.
    #[arg(long, short, conflicts_with = "config")]
    pub(crate) model: Option<String>,
    /// With --model: the name that callers ask for.
    #[arg(long, requires = "model")]
    pub(crate) alias: Option<String>,
    /// With --model: where it is served.
    #[arg(long = "api_base", alias = "api-base", requires = "model")]
    pub(crate) api_base: Option<String>,
    /// With --model: the API version of Azure.
    #[arg(long = "api_version", alias = "api-version", requires = "model")]
    pub(crate) api_version: Option<String>,
    /// With --model: default of calls that set no temperature.
    #[arg(long, requires = "model")]
    pub(crate) temperature: Option<f64>,
    /// With --model: default of calls that set no output cap.
    #[arg(long = "max_tokens", alias = "max-tokens", requires = "model")]
    pub(crate) max_tokens: Option<u64>,
    /// With --model: leave out what the model does not take. In a file: `litellm_settings.drop_params`.
    #[arg(long = "drop_params", alias = "drop-params")]
    pub(crate) drop_params: bool,
    /// Seconds for a call where the configuration says no other.
    #[arg(long = "request_timeout", alias = "request-timeout")]
    pub(crate) request_timeout: Option<f64>,
    /// Ask the gateway that listens on --host and --port for the health of its models, and end.
    #[arg(long)]
    pub(crate) health: bool,
    #[command(flatten)]
    inert: Inert,
    #[arg(long = "ssl_keyfile_path", alias = "ssl-keyfile-path", env = "SSL_KEYFILE_PATH", hide = true)]
    ssl_keyfile_path: Option<String>,
    #[arg(long = "ssl_certfile_path", alias = "ssl-certfile-path", env = "SSL_CERTFILE_PATH", hide = true)]
    ssl_certfile_path: Option<String>,
    #[arg(long, hide = true)]
    test: bool,
}

macro_rules! inert {
    ($($field:ident: $kind:ty = $flag:literal $given:expr, $why:expr;)+) => {
        /// Flags that are accepted and have no effect.
        #[derive(Debug, Default, Args)]
        struct Inert {
            $(#[arg(long = $flag, hide = true)] $field: $kind,)+
        }

        impl Inert {
            fn given(&self) -> Vec<(&'static str, &'static str)> {
                let mut given = Vec::new();
                $(if $given(&self.$field) { given.push((concat!("--", $flag), $why)); })+
                given
            }
        }
    };
}

const ONE: &str = "one process serves on every core";
const NO_KEYS: &str = "there are no keys, users or budgets in this version";
const NO_DATABASE: &str = "the store makes its own tables";

fn set<T>(value: &Option<T>) -> bool {
    value.is_some()
}

fn on(flag: &bool) -> bool {
    *flag
}

inert! {
    num_workers: Option<u32> = "num_workers" |count: &Option<u32>| count.is_some_and(|count| count > 1), ONE;
    run_gunicorn: bool = "run_gunicorn" on, ONE;
    run_hypercorn: bool = "run_hypercorn" on, ONE;
    run_granian: bool = "run_granian" on, ONE;
    max_requests_before_restart: Option<u64> = "max_requests_before_restart" set, ONE;
    timeout_worker_healthcheck: Option<u64> = "timeout_worker_healthcheck" set, ONE;
    keepalive_timeout: Option<u64> = "keepalive_timeout" set, "an idle connection is kept until its client closes it";
    limit_concurrency: Option<u64> = "limit_concurrency" set, "set general_settings.max_parallel_requests";
    log_config: Option<String> = "log_config" set, "use --log-level and --json-logs";
    prometheus_metrics_port: Option<u16> = "prometheus_metrics_port" set, "metrics are at /metrics, also of haleway.admin_listen";
    telemetry: Option<String> = "telemetry" set, "nothing is ever sent home";
    ciphers: Option<String> = "ciphers" set, "TLS is not served";
    headers: Option<String> = "headers" set, "write litellm_params.extra_headers in a configuration file";
    add_function_to_prompt: bool = "add_function_to_prompt" on, "requests pass through as they are";
    add_key: Option<String> = "add_key" set, "keys come from the configuration and the environment";
    save: bool = "save" on, "write a configuration file";
    local: bool = "local" on, "there is one way to run";
    use_queue: bool = "use_queue" on, "calls are not queued";
    max_budget: Option<f64> = "max_budget" set, NO_KEYS;
    iam_token_db_auth: bool = "iam_token_db_auth" on, "the database is reached by its URL";
    use_prisma_migrate: bool = "use_prisma_migrate" on, NO_DATABASE;
    use_prisma_db_push: bool = "use_prisma_db_push" on, NO_DATABASE;
    enforce_prisma_migration_check: bool = "enforce_prisma_migration_check" on, NO_DATABASE;
    use_v2_migration_resolver: bool = "use_v2_migration_resolver" on, NO_DATABASE;
}

impl LitellmFlags {
    /// The flags that were given and have no effect, with the reason.
    pub(crate) fn without_effect(&self) -> Vec<(&'static str, &'static str)> {
        let mut given = self.inert.given();
        if self.drop_params && self.model.is_none() {
            given.push(("--drop_params", "write litellm_settings.drop_params: true"));
        }
        given
    }

    /// Refuses what cannot be done.
    ///
    /// # Errors
    /// With the flag and what to do instead.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        if self.ssl_keyfile_path.is_some() || self.ssl_certfile_path.is_some() {
            bail!(
                "--ssl_keyfile_path and --ssl_certfile_path: TLS is not served; end it in a proxy in front, and leave \
                 both (also as SSL_KEYFILE_PATH and SSL_CERTFILE_PATH) out"
            );
        }
        if self.test {
            bail!(
                "--test: no call is made to try the gateway out; see `haleway probe FILE` and `haleway status`"
            );
        }
        Ok(())
    }

    /// The configuration to read, and where from: the file, or what the flags say.
    pub(crate) fn configuration(&self, file: Option<PathBuf>) -> Option<(PathBuf, Typed)> {
        let text = self.model.as_deref().map(|model| self.text(model));
        let path = if text.is_some() { Some(COMMAND_LINE.into()) } else { file }?;
        Some((path, Typed { text, request_timeout: self.request_timeout.map(|seconds| seconds.to_string()) }))
    }

    fn text(&self, model: &str) -> String {
        let mut params = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            params.extend(value.map(|value| (name.to_owned(), value)));
        };
        put("model", Some(model.into()));
        put("api_base", self.api_base.as_deref().map(Value::from));
        put("api_version", self.api_version.as_deref().map(Value::from));
        put("temperature", self.temperature.map(Value::from));
        put("max_tokens", self.max_tokens.map(Value::from));
        let name = self.alias.as_deref().unwrap_or(model);
        // JSON is YAML.
        json!({
            "model_list": [{"model_name": name, "litellm_params": params}],
            "litellm_settings": {"drop_params": self.drop_params},
        })
        .to_string()
    }
}

/// Files and environment with what the command line says in their place.
#[derive(Debug)]
pub(crate) struct Typed {
    text: Option<String>,
    request_timeout: Option<String>,
}

impl Source for Typed {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match &self.text {
            Some(text) if path == Path::new(COMMAND_LINE) => Ok(text.clone().into_bytes()),
            Some(_) | None => System.read(path),
        }
    }

    fn var(&self, name: &str) -> Option<String> {
        let typed = if name == "REQUEST_TIMEOUT" { self.request_timeout.clone() } else { None };
        typed.or_else(|| System.var(name))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use haleway_config::{Options, load};

    use crate::cli::Cli;

    fn parse(line: &str) -> Cli {
        Cli::try_parse_from(line.split(' ')).unwrap()
    }

    #[test]
    fn one_model_of_the_command_line_is_a_configuration() {
        let cli = parse(
            "haleway --model openai/gpt-4o --alias chat --api_base http://u/v1 --temperature 0.5 --drop_params --request_timeout 7",
        );
        let (path, source) = cli.serve.litellm.configuration(None).unwrap();
        let config = load(&path, &source, &Options::default()).config.unwrap();
        let model = &config.models[0];
        assert_eq!((&*model.name, model.params.model.as_str()), ("chat", "openai/gpt-4o"));
        assert_eq!(model.params.api_base.as_deref(), Some("http://u/v1"));
        assert!(model.params.drop_params);
        assert_eq!(model.params.rest["temperature"].as_f64(), Some(0.5));
        assert_eq!(config.router.timeout.as_secs(), 7);
    }

    #[test]
    fn flags_without_effect_are_named_and_those_that_ask_for_nothing_are_not() {
        let cli = parse(
            "haleway --config c --num_workers 4 --use_prisma_db_push --drop_params --keepalive_timeout 5",
        );
        let named: Vec<&str> = cli.serve.litellm.without_effect().into_iter().map(|(flag, _)| flag).collect();
        assert_eq!(named, ["--num_workers", "--keepalive_timeout", "--use_prisma_db_push", "--drop_params"]);
        assert_eq!(parse("haleway --config c --num_workers 1").serve.litellm.without_effect(), []);
        assert!(cli.serve.litellm.refuse().is_ok());
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (flag, word) in [("--ssl_certfile_path x", "TLS"), ("--test", "haleway probe")] {
            let said =
                parse(&format!("haleway --config c {flag}")).serve.litellm.refuse().unwrap_err().to_string();
            assert!(said.contains(word) && said.contains(flag.split(' ').next().unwrap()), "{said}");
        }
    }

    #[test]
    fn an_unknown_flag_is_refused_with_the_nearest_known_one() {
        for (typed, meant) in [
            ("--confg", "--config"),
            ("--num_worker", "--num_workers"),
            ("--detailed_debgu", "--detailed_debug"),
        ] {
            let said = Cli::try_parse_from(["haleway", typed, "1"]).unwrap_err().to_string();
            assert!(said.contains(typed) && said.contains(meant), "{said}");
        }
        assert!(Cli::try_parse_from(["haleway"]).is_err(), "a configuration is needed");
    }
}
