//! `router_settings`, with what LiteLLM lets stand in `litellm_settings` merged in.

use std::time::Duration;

use haleway_routing::{Alias, Fallbacks, Settings};

/// How calls find a deployment, and what happens when one fails.
#[derive(Clone, Debug)]
pub struct Router {
    /// Strategy, retries and checks.
    pub settings: Settings,
    /// `fallbacks` of all kinds; `router_settings` outranks `litellm_settings`.
    pub fallbacks: Fallbacks,
    /// `model_group_alias`.
    pub aliases: Vec<Alias>,
    /// `timeout` of a call: `router_settings.timeout`, else `litellm_settings.request_timeout`, else 6000 s.
    pub timeout: Duration,
    /// `stream_timeout`: the same for a streamed call; `None` = `timeout`.
    pub stream_timeout: Option<Duration>,
}
