//! Log set-up: one filter from several places, plain lines or JSON.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Where a filter may come from, the strongest first. Values are passed in: this crate reads no environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogSources<'a> {
    /// `--detailed_debug`.
    pub detailed_debug: bool,
    /// `--log-level`.
    pub flag: Option<&'a str>,
    /// `--debug`.
    pub debug: bool,
    /// `HALEWAY_LOG`.
    pub haleway_log: Option<&'a str>,
    /// `RUST_LOG`.
    pub rust_log: Option<&'a str>,
    /// `LITELLM_LOG`: a level in any case.
    pub litellm_log: Option<&'a str>,
}

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of text, coloured when asked for.
    #[default]
    Plain,
    /// One line of text in colour.
    Coloured,
    /// One JSON object per line.
    Json,
}

/// Logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter cannot be read.
    #[error("cannot read the log filter {filter:?}")]
    Filter {
        /// The filter.
        filter: String,
        /// Why.
        source: tracing_subscriber::filter::ParseError,
    },
    /// Another logger was set up before.
    #[error("logging is set up already")]
    AlreadySet(#[source] tracing_subscriber::util::TryInitError),
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl LogSources<'_> {
    /// The filter of the strongest source that is set, in `RUST_LOG` syntax; `info` when none is. A bare level is
    /// meant for this program: libraries stay one step quieter.
    pub fn filter(&self) -> String {
        let set =
            |value: Option<&str>| value.map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned);
        let flag = |on: bool, level: &str| on.then(|| level.to_owned());
        let chosen = flag(self.detailed_debug, "debug")
            .or_else(|| set(self.flag))
            .or_else(|| flag(self.debug, "debug"))
            .or_else(|| set(self.haleway_log))
            .or_else(|| set(self.rust_log))
            .or_else(|| set(self.litellm_log))
            .unwrap_or_else(|| "info".to_owned());
        widened(&chosen)
    }
}

fn widened(filter: &str) -> String {
    let level = filter.to_ascii_lowercase();
    let level = if level == "warning" { "warn" } else { level.as_str() };
    match LEVELS.iter().position(|known| *known == level) {
        Some(at @ (3 | 4)) => {
            let libraries = LEVELS.get(at - 1).copied().unwrap_or("warn");
            format!("{libraries},haleway={level}")
        }
        Some(_) => level.to_owned(),
        None => filter.to_owned(),
    }
}

/// Sets up logging to standard error for the whole process.
///
/// # Errors
/// When `filter` cannot be read, or logging is set up already.
pub fn init_logging(filter: &str, format: LogFormat) -> Result<(), LogError> {
    let parsed = EnvFilter::try_new(filter)
        .map_err(|source| LogError::Filter { filter: filter.to_owned(), source })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(parsed);
    match format {
        LogFormat::Plain => registry.with(lines.with_ansi(false)).try_init(),
        LogFormat::Coloured => registry.with(lines.with_ansi(true)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    }
    .map_err(LogError::AlreadySet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_source_wins_and_a_bare_level_is_for_this_program() {
        let none = LogSources::default();
        assert_eq!(none.filter(), "warn,haleway=info");
        let litellm = LogSources { litellm_log: Some("DEBUG"), ..none };
        assert_eq!(litellm.filter(), "info,haleway=debug");
        let rust = LogSources { rust_log: Some("hyper=trace,info"), ..litellm };
        assert_eq!(rust.filter(), "hyper=trace,info");
        let own = LogSources { haleway_log: Some("WARNING"), ..rust };
        assert_eq!(own.filter(), "warn");
        assert_eq!(LogSources { haleway_log: Some("  "), ..rust }.filter(), "hyper=trace,info");
        assert_eq!(LogSources { flag: Some("error"), debug: true, ..own }.filter(), "error");
        assert_eq!(
            LogSources { detailed_debug: true, flag: Some("error"), ..own }.filter(),
            "info,haleway=debug"
        );
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_named() {
        let error = init_logging("haleway=loud", LogFormat::Plain).unwrap_err();
        assert_eq!(error.to_string(), "cannot read the log filter \"haleway=loud\"");
    }
}
