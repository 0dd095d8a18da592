//! Notices that a configuration's file changed, by reading it: a Kubernetes volume swaps symbolic links, editors rename, and
//! neither leaves a time of change that could be trusted.

use std::sync::Arc;
use std::time::Duration;

use super::Origin;
use super::origin::{Seen, look};
use crate::gateway::Gateway;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_secs(2);
/// How many looks in a row must find the same news: a file that is being written is not read halfway.
const SETTLED: u32 = 2;
/// The same when a file is gone: whoever replaces it may take a while, and an absent file is no empty one.
const GONE: u32 = 5;

impl Gateway {
    /// Says where this process's configuration comes from, and follows it from now on. One that was not loaded through
    /// this origin yet counts as changed when its file is first read.
    pub fn follow(self: &Arc<Self>, origin: Origin) {
        if self.origin.set(origin).is_err() {
            return;
        }
        self.stored.look();
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move { watch(&gateway).await });
    }
}

async fn watch(gateway: &Arc<Gateway>) {
    let Some(origin) = gateway.origin.get().cloned() else { return };
    let mut watched = Watched::default();
    loop {
        tokio::select! {
            () = gateway.shutdown.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let (source, known) = (Arc::clone(&origin.source), origin.seen());
        let looked = gateway.tasks.spawn_blocking(move || (look(&*source, &known), known)).await;
        let Ok((found, known)) = looked else { return };
        if watched.changed(&known, found) {
            // What came of it is logged; a bad file is not read again before it changes.
            drop(gateway.reload().await);
        }
    }
}

/// News that may not be whole yet.
#[derive(Debug, Default)]
struct Watched {
    news: Seen,
    looks: u32,
}

impl Watched {
    /// Whether what was `found` differs from what is `known`, and has settled.
    fn changed(&mut self, known: &Seen, found: Seen) -> bool {
        if found == *known {
            *self = Self::default();
            return false;
        }
        let gone = found.iter().any(|(path, number)| *number == 0 && known.get(path) != Some(&0));
        self.looks = if found == self.news { self.looks + 1 } else { 1 };
        self.news = found;
        let settled = self.looks >= if gone { GONE } else { SETTLED };
        if settled {
            *self = Self::default();
        }
        settled
    }
}
