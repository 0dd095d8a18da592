//! Where health is remembered.

use std::time::Duration;

use secrecy::SecretString;

/// `haleway.store`, or what LiteLLM's settings say of a database.
#[derive(Clone, Debug)]
pub struct Store {
    /// `url`, else `general_settings.database_url`, else `DATABASE_URL`, else `sqlite:haleway.db`.
    pub url: SecretString,
    /// `retention`, else `maximum_health_check_retention_period`: what is older is forgotten. `None` = nothing is, the
    /// default with PostgreSQL; with SQLite it is 30 days.
    pub retention: Option<Duration>,
    /// `max_rows` of the history; `None` = no bound, the default with PostgreSQL; with SQLite it is 10 million.
    pub max_rows: Option<u64>,
}
