//! Metrics, log set-up, and what keeps both small and honest.
//!
//! Nothing here reads the environment or a clock. Label values come from the configuration.

mod logging;
mod metrics;

pub use logging::{LogError, LogFormat, LogSources, init_logging};
pub use metrics::{
    DeploymentLabels, DeploymentMetrics, FleetTotals, GroupMetrics, HealthTotals, METRICS_CONTENT_TYPE,
    Metrics, OTHER, ProbeRung, ProbeVerdict, StoreTotals,
};
