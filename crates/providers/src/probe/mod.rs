//! Probes: the smallest request that shows whether a deployment works, built by the same code as traffic, and
//! the judgement of its answer.

mod batch;
mod body;
mod chat;
mod clip;
mod cost;
mod fault;
mod free;
mod http;
mod image;
mod judge;
mod memory;
mod ocr;
mod picture;
mod realtime;
mod repair;
mod settings;
mod speech;
mod transcription;
mod vectors;
mod verdict;
mod video;

pub use self::http::HttpCheck;
pub use cost::ProbePrice;
pub use judge::{ProbeAnswer, judge};
pub use memory::ProbeMemory;
pub use settings::ProbeSettings;

use std::time::Duration;

use haleway_health::{Class, Scope};

use crate::catalogue::Prices;
use crate::{Call, Mode};

/// A probe, ready to be sent.
#[derive(Debug)]
pub struct Probe {
    /// The request.
    pub call: Call,
    /// What its answer must contain.
    pub expect: Expectation,
    /// The deadline for the whole probe when the operator sets none.
    pub deadline: Duration,
    /// What its units cost: those of the model that is asked, which need not be the deployment's own.
    pub prices: Prices,
}

impl Probe {
    /// Whether it is a call that costs nothing: a list, a health path, a handshake.
    pub fn is_free(&self) -> bool {
        self.expect.asks(&self.call.body.to_bytes()) == crate::catalogue::Usage::default()
    }

    /// This probe as the repaired second one of a check: its answer is judged for good.
    #[must_use]
    pub fn repaired(mut self) -> Self {
        self.expect.repaired = true;
        self
    }
}

/// What the answer of a probe must contain. Given back to [`crate::judge`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// The mode that is proved.
    pub mode: Mode,
    /// The deployment's free call: what it shows is less than that the mode is served.
    pub free: bool,
    /// The answer is a stream.
    pub stream: bool,
    /// This is the repaired second request: no further repair is asked for.
    pub repaired: bool,
    /// The output cap that was sent, in tokens.
    pub cap: Option<u64>,
    /// The length an embedding must have.
    pub dimensions: Option<usize>,
    /// How many documents a rerank sent.
    pub documents: usize,
    /// What a service of mode `http` must answer.
    pub http: Option<HttpCheck>,
    /// The model of the catalogue that stood for a wildcard.
    pub candidate: Option<String>,
}

/// No probe can be built. Says nothing about the deployment's health.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CannotProbe {
    /// Stable machine name: `no_free_call`, `mode_unknown`, `mode_without_probe`, `no_probe_model`, `unsupported_by_provider`,
    /// `invalid_settings`.
    pub code: &'static str,
    /// One sentence for the operator, with the cure.
    pub message: String,
}

/// What an answer to a probe says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// 2xx, a legal structure and usable content.
    Healthy {
        /// A warning to show, such as `output_budget`; `None` when all is well.
        degraded: Option<&'static str>,
    },
    /// Not healthy, and why.
    Unhealthy(Finding),
    /// The memory has changed: build the probe again, mark it [`Probe::repaired`] and send it now, in the same
    /// check.
    Repair(&'static str),
    /// The answer says nothing about the deployment: an earlier verdict stays.
    Unknown(Finding),
}

/// Why a probe was not healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The cause.
    pub class: Class,
    /// What the cause applies to.
    pub scope: Scope,
    /// A fixed word for the detail, such as `blank_output`; empty when the class says it all.
    pub reason: &'static str,
    /// The status the provider answered.
    pub status: u16,
    /// The wait the provider stated, clamped.
    pub retry_after: Option<Duration>,
    /// The provider's words, bounded and without secrets.
    pub message: String,
}
