//! A copy of what is known on the local disk, so that a restart begins warm even while the store is away.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use haleway_health::Export;

use crate::gateway::Gateway;

/// Between two copies.
pub(super) const EVERY: Duration = Duration::from_secs(30);

/// Takes in what the process before knew. A file that cannot be read is no reason not to start.
pub(super) async fn load(gateway: &Gateway, file: &Path) {
    let bytes = match tokio::fs::read(file).await {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return,
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "the snapshot of the last run cannot be read");
            return;
        }
    };
    match serde_json::from_slice::<Export>(&bytes) {
        Ok(export) => {
            let fitted = gateway.hub.import(gateway.clock.now(), &export);
            tracing::info!(deployments = fitted, "taken over from the last run");
        }
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "the snapshot of the last run is not one");
        }
    }
}

/// Writes the copy: whole, or not at all.
///
/// # Errors
/// When the disk does not take it.
pub(super) async fn save(gateway: &Gateway, file: &Path) -> std::io::Result<()> {
    let export = gateway.hub.export(gateway.clock.now());
    let bytes = serde_json::to_vec(&export)?;
    let draft = file.with_extension("tmp");
    tokio::fs::write(&draft, bytes).await?;
    tokio::fs::rename(&draft, file).await
}
