//! Notices that a configuration's file changed, by reading it: a Kubernetes volume swaps symbolic links, editors rename, and
//! neither leaves a time of change that could be trusted.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haleway_config::Source;

use super::Origin;
use crate::gateway::Gateway;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_secs(2);

/// The files with a number for what each holds; 0 for one that cannot be read.
pub(super) fn look(source: &dyn Source, files: &[PathBuf]) -> Vec<(PathBuf, u64)> {
    let number = |path: &PathBuf| {
        let mut hasher = DefaultHasher::new();
        let Ok(bytes) = source.read(path) else { return 0 };
        bytes.hash(&mut hasher);
        hasher.finish().max(1)
    };
    files.iter().map(|path| (path.clone(), number(path))).collect()
}

impl Gateway {
    /// Says where this process's configuration comes from, and follows it from now on.
    pub fn follow(self: &Arc<Self>, origin: Origin) {
        if self.origin.set(origin).is_err() {
            return;
        }
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move { watch(&gateway).await });
    }
}

/// Reloads when a file has changed and is still the same at the next look: one that is being written is not read halfway.
async fn watch(gateway: &Arc<Gateway>) {
    let Some(origin) = gateway.origin.get().cloned() else { return };
    let mut news = None;
    loop {
        tokio::select! {
            () = gateway.shutdown.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let (source, known) = (Arc::clone(&origin.source), origin.seen.lock().clone());
        let files: Vec<PathBuf> = known.iter().map(|(path, _)| path.clone()).collect();
        let looked = gateway.tasks.spawn_blocking(move || look(&*source, &files)).await;
        let Ok(found) = looked else { return };
        if found == known || found.iter().any(|(_, number)| *number == 0) {
            // The same, or gone for a moment: a configuration that cannot be read is not taken for an empty one.
            news = None;
        } else if news.as_ref() == Some(&found) {
            news = None;
            // What came of it is logged; a bad file is not read again before it changes.
            drop(gateway.reload().await);
        } else {
            news = Some(found);
        }
    }
}
