//! What this process remembers beyond its life, and what it learns from it at start.
//!
//! One task does all of it, and no request waits for it: it reads the health core's events, keeps what is to be written
//! in a bounded backlog, and writes it in batches. While the database is lost the backlog forgets intermediate states,
//! never the last one; verdicts live in memory and do not depend on it. Of a change that several processes see, the one
//! whose evidence decided writes the row.

mod collect;
mod condition;
mod keep;
mod orders;
mod write;

use std::sync::Arc;
use std::time::Duration;

use haleway_config::Config;
use haleway_store::{Backlog, Retention, Store, StoreError};
use parking_lot::Mutex;
use secrecy::ExposeSecret;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::gateway::Gateway;
use collect::{Collector, Recalled};
use condition::Condition;
use keep::Keeper;
use orders::Orders;
pub(crate) use orders::{Given, operator_of};

/// Writes that wait for the database at most, besides the newest of every deployment.
const BACKLOG: usize = 20_000;
/// How long the database may take to answer, at start and for a page.
const PATIENCE: Duration = Duration::from_secs(10);

/// The memory of this process.
#[derive(Debug)]
pub struct Memory {
    store: Store,
    retention: Retention,
    /// This life of this process, as it signs what it counted.
    run: String,
    backlog: Mutex<Backlog>,
    /// Orders that hold.
    orders: Mutex<Orders>,
    /// Something was collected.
    collected: Notify,
    condition: Condition,
}

impl Memory {
    fn of(config: &Config) -> Result<Option<Self>, StoreError> {
        let Some(settings) = &config.haleway.store else { return Ok(None) };
        Ok(Some(Self {
            store: Store::at(settings.url.expose_secret())?,
            retention: Retention { age: settings.retention, rows: settings.max_rows },
            run: uuid::Uuid::new_v4().to_string(),
            backlog: Mutex::new(Backlog::new(BACKLOG)),
            orders: Mutex::default(),
            collected: Notify::new(),
            condition: Condition::default(),
        }))
    }

    /// What is remembered.
    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }
}

impl Gateway {
    /// Opens the store that the configuration names, takes in what it remembers, and starts to write. To be called once,
    /// before [`Gateway::spawn`]. A server that does not answer is waited for in the background.
    ///
    /// # Errors
    /// When the store can never be used: its file cannot be, or a later version has migrated it.
    pub async fn remember(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(memory) = Memory::of(&self.live.load().config)? else { return Ok(()) };
        let memory = Arc::new(memory);
        let mut collector = Collector::new(memory.run.clone());
        let embedded = memory.store.is_embedded();
        // A file is there or fails at once; only its migration may take long, and ends.
        let patience = if embedded { Duration::MAX } else { PATIENCE };
        let known = match within(patience, memory.recall(self)).await {
            Ok(recalled) => {
                collector.recall(self, &recalled, self.clock.now());
                true
            }
            Err(error @ StoreError::NewerSchema { .. }) => return Err(error),
            Err(error) if embedded => return Err(error),
            Err(error) => {
                tracing::error!(%error, "the store cannot be used yet: what happens is kept in memory meanwhile");
                false
            }
        };
        let keeper = Keeper::new(Arc::clone(self), Arc::clone(&memory), collector);
        if self.memory.set(memory).is_ok() {
            self.tasks.spawn(keeper.keep(known));
            self.follow_models().await;
        }
        Ok(())
    }
}

impl Memory {
    /// Migrates the store and takes in what it holds.
    async fn recall(&self, gateway: &Gateway) -> Result<Recalled, StoreError> {
        self.store.migrate().await?;
        let now = gateway.clock.now();
        let spent = self.store.spent_on(collect::day_of(now)).await?;
        let latest = self.store.latest().await?;
        self.follow_orders(gateway, now).await?;
        Ok(Recalled { spent, latest })
    }
}

/// `answer`, or an error when it takes longer than `patience`.
async fn within<T>(
    patience: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    timeout(patience, answer).await.unwrap_or_else(|_| {
        Err(StoreError::Unavailable(format!("no answer within {} s", patience.as_secs())))
    })
}
