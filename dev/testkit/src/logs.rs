//! What the gateway logged, for tests of texts that operators search for.

use std::fmt::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// One line of the log.
#[derive(Clone, Debug)]
pub struct Line {
    /// How urgent.
    pub level: Level,
    /// Message and fields, as `message name=value …`.
    pub text: String,
}

/// Every line of this program since the world began, from debug up. Lines of libraries are left out.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Logs {
    /// Collects what this thread logs until the guard is dropped.
    pub(crate) fn collect() -> (Self, DefaultGuard) {
        let logs = Self::default();
        let subscriber = tracing_subscriber::registry().with(logs.clone());
        (logs, tracing::subscriber::set_default(subscriber))
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<Line> {
        self.lines.lock().clone()
    }

    /// Lines that contain `text`.
    pub fn count(&self, text: &str) -> usize {
        self.lines.lock().iter().filter(|line| line.text.contains(text)).count()
    }

    /// Whether a line contains `text`.
    pub fn has(&self, text: &str) -> bool {
        self.count(text) > 0
    }

    /// The whole log as text, one line per line.
    pub fn text(&self) -> String {
        self.lines.lock().iter().map(|line| format!("{} {}\n", line.level, line.text)).collect()
    }
}

impl<S: Subscriber> Layer<S> for Logs {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let meta = event.metadata();
        if *meta.level() > Level::DEBUG || !meta.target().starts_with("haleway") {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        self.lines.lock().push(Line { level: *meta.level(), text: text.message + &text.fields });
    }
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        written.expect("a string takes every text");
    }
}
