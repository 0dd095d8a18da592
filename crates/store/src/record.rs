//! What is remembered of health: checks and incidents.

use serde::{Deserialize, Serialize};

use crate::Details;

/// Longest `error_message`, as LiteLLM cuts it, in characters.
pub(crate) const MESSAGE: usize = 500;

/// One row of `LiteLLM_HealthCheckTable`. Times are milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Made by the writer, so that writing a row twice writes it once.
    pub health_check_id: String,
    /// The model group.
    pub model_name: String,
    /// The deployment's id.
    pub model_id: Option<String>,
    /// Usable by traffic or not: `healthy` or `unhealthy` when written.
    pub healthy: bool,
    /// Why not, cut at 500 characters.
    pub error_message: Option<String>,
    /// How long the deciding attempt took; `None` when no attempt decided.
    pub response_time_ms: Option<f64>,
    /// State, cause, evidence and price, as JSON.
    pub details: Option<Details>,
    /// The process that saw it.
    pub checked_by: Option<String>,
    /// When the evidence was sent.
    pub checked_at: u64,
    /// When the row was made.
    pub created_at: u64,
}

impl Check {
    /// LiteLLM's word for it.
    pub const fn status(&self) -> &'static str {
        if self.healthy { "healthy" } else { "unhealthy" }
    }
}

/// Who noticed an incident first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Noticed {
    /// A probe.
    Probe,
    /// A caller's request.
    Traffic,
    /// Nobody: an operator took the deployment out.
    Operator,
    /// Another deployment's failure decided, or time.
    Inference,
}

impl Noticed {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Traffic => "traffic",
            Self::Operator => "operator",
            Self::Inference => "inference",
        }
    }

    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "probe" => Self::Probe,
            "traffic" => Self::Traffic,
            "operator" => Self::Operator,
            _ => Self::Inference,
        }
    }
}

/// A time during which a deployment took no traffic. Times are milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Made by the writer.
    pub incident_id: String,
    /// The deployment's id.
    pub deployment: String,
    /// The model group.
    pub model_name: String,
    /// When it left rotation.
    pub began_at: u64,
    /// When it was back; `None` while it is out.
    pub ended_at: Option<u64>,
    /// Why it left.
    pub cause: String,
    /// Who noticed first.
    pub noticed_by: Noticed,
    /// The process that noticed.
    pub observer: String,
    /// The cause in one sentence.
    pub message: Option<String>,
    /// What the probes of the deployment cost meanwhile, in billionths of a US dollar.
    pub probe_nanousd: u64,
}

/// A deployment is back in rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Return {
    /// The deployment's id.
    pub deployment: String,
    /// When.
    pub at: u64,
    /// What its probes cost since it left, in billionths of a US dollar.
    pub probe_nanousd: u64,
}
