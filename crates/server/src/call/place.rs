//! A place among the calls that the gateway serves at once.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use http::StatusCode;

use crate::error::ApiError;
use crate::gateway::{Gateway, Live};

/// One call being served. Dropping it frees the place.
#[derive(Debug)]
pub(crate) struct Place(Arc<Gateway>);

impl Place {
    /// Takes a place.
    ///
    /// # Errors
    /// 429 when the configured number of calls is being served.
    pub(crate) fn take(gateway: &Arc<Gateway>, live: &Live) -> Result<Self, ApiError> {
        let before = gateway.in_flight.fetch_add(1, Relaxed);
        let place = Self(Arc::clone(gateway));
        match live.max_parallel {
            Some(limit) if before >= limit => Err(ApiError::new(
                StatusCode::TOO_MANY_REQUESTS,
                "throttling_error",
                "gateway_limit",
                "The gateway serves as many calls at once as it may (general_settings.max_parallel_requests).",
            )
            .with_retry_after(Some(std::time::Duration::from_secs(1)))),
            Some(_) | None => Ok(place),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Relaxed);
    }
}
