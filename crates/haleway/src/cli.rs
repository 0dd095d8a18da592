//! What can be typed: `haleway serve|demo|config|status …`, and LiteLLM's own flags without a subcommand, so that a
//! container's command line needs one word changed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use haleway_config::FleetRole;

use crate::flags::LitellmFlags;

const ANYWHERE: &str = "0.0.0.0";
const PORT: u16 = 4000;

/// A host. An empty one, as `HOST=` in a container's environment, is none, as for LiteLLM.
#[expect(clippy::unnecessary_wraps, reason = "the shape clap asks for")]
fn host(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(if text.is_empty() { ANYWHERE } else { text }.to_owned())
}

/// The longest that the end of a process may take.
const LONGEST_END: Duration = Duration::from_secs(24 * 60 * 60);

/// A port; an empty one is none.
fn port(text: &str) -> Result<u16, std::num::ParseIntError> {
    if text.is_empty() { Ok(PORT) } else { text.parse() }
}

/// Seconds, such as `2.5`.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds
        .filter(|seconds| *seconds <= LONGEST_END)
        .ok_or_else(|| format!("{text:?} is no number of seconds from 0 to {}", LONGEST_END.as_secs()))
}

/// A role by its name.
fn role(text: &str) -> Result<FleetRole, String> {
    FleetRole::named(text).ok_or_else(|| format!("{text:?} is no role: all, gateway or prober"))
}

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "haleway", version, about = "An LLM gateway that knows which deployments are healthy.")]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_version_flag = true
)]
pub(crate) struct Cli {
    /// Print version.
    #[arg(long, short = 'v', short_alias = 'V', action = clap::ArgAction::Version)]
    version: Option<bool>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a LiteLLM config.yaml.
    Serve(Box<ServeArgs>),
    /// Show the gateway with simulated providers that fail and recover.
    Demo(DemoArgs),
    /// Probe every deployment of a configuration once, or show what would be sent. Exits 0 when all are healthy, 1 when one
    /// is not, 2 when the file cannot be served.
    Probe(ProbeArgs),
    /// Show when deployments were out of rotation, why, and who noticed, from the store that a configuration names.
    Incidents(IncidentsArgs),
    /// Show the deployments of a running gateway: state, since when, why, and what their probes cost today. The master key
    /// is read from HALEWAY_ADMIN_KEY or LITELLM_MASTER_KEY.
    Status(StatusArgs),
    /// Check or explain a configuration without serving it.
    #[command(subcommand)]
    Config(ConfigCommand),
}

/// Options of `serve`, LiteLLM's spelling included.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The configuration file.
    #[arg(long, short, env = "CONFIG_FILE_PATH", required_unless_present_any = ["model", "health"])]
    pub(crate) config: Option<PathBuf>,
    /// Address to listen on, or a name for it such as `localhost`.
    #[arg(long, env = "HOST", default_value = ANYWHERE, value_parser = host)]
    pub(crate) host: String,
    /// Port to listen on.
    #[arg(long, env = "PORT", default_value_t = PORT, value_parser = port)]
    pub(crate) port: u16,
    /// What this process is for in a fleet: `all` serves and probes, `gateway` only serves, `prober` only probes.
    /// Overrides `haleway.fleet.role`.
    #[arg(long, value_parser = role)]
    pub(crate) role: Option<FleetRole>,
    /// Refuse to start on warnings too, and a reload as well. The same as `haleway.strict: true`.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Seconds for which new requests are still served after the signal to end, while readiness already answers 503.
    #[arg(long, env = "HALEWAY_SHUTDOWN_DELAY", default_value = "0", value_parser = seconds)]
    pub(crate) shutdown_delay: Duration,
    /// Seconds that running requests, streams and sessions are given to end after that.
    #[arg(long, env = "HALEWAY_DRAIN", default_value = "30", value_parser = seconds)]
    pub(crate) drain: Duration,
    /// Only check the configuration: exits 0 when it can be served, else 1.
    #[arg(long, alias = "validate_config", alias = "skip_server_startup")]
    pub(crate) validate_config: bool,
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(flatten)]
    pub(crate) litellm: LitellmFlags,
}

/// How much is logged.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogArgs {
    /// Log filter in RUST_LOG syntax, such as `info` or `haleway_server=debug`. Also read from HALEWAY_LOG,
    /// RUST_LOG and LITELLM_LOG, in this order.
    #[arg(long, global = true)]
    pub(crate) log_level: Option<String>,
    /// Log lines as JSON.
    #[arg(long, env = "JSON_LOGS", global = true, value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) json_logs: bool,
    /// The same as `--log-level debug`.
    #[arg(long, alias = "detailed_debug", alias = "debug", global = true)]
    pub(crate) detailed_debug: bool,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Loopback port of the gateway; 0 picks a free one.
    #[arg(long, default_value_t = 4000)]
    pub(crate) port: u16,
    /// End after this many seconds instead of at Ctrl-C.
    #[arg(long)]
    pub(crate) seconds: Option<u64>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// Options of `probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// The configuration file.
    pub(crate) file: PathBuf,
    /// Only the deployments of this model group.
    #[arg(long)]
    pub(crate) group: Option<String>,
    /// Only the deployment with this id.
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// Send nothing: print each request, its pace and its price.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: how many LiteLLM pods to compare with.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pods: u32,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

/// Options of `incidents`.
#[derive(Debug, Args)]
pub(crate) struct IncidentsArgs {
    /// The configuration file.
    pub(crate) file: PathBuf,
    /// Only of this model group or deployment.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Only those that have not ended.
    #[arg(long)]
    pub(crate) open: bool,
    /// At most so many, newest first.
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// Options of `status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Where the gateway is.
    #[arg(long, env = "HALEWAY_URL", default_value = "http://127.0.0.1:4000")]
    pub(crate) url: String,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// What to do with a configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Report every finding. Exits 0 when the file can be served, 1 on errors, 2 on warnings with `--strict` or
    /// `haleway.strict`.
    Check {
        /// The configuration file.
        file: PathBuf,
        /// Count warnings as errors.
        #[arg(long)]
        strict: bool,
        /// Print the findings as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of a configuration file, for editors.
    Schema,
    /// Print every effective health value and where it came from.
    Explain {
        /// The configuration file.
        file: PathBuf,
    },
}
