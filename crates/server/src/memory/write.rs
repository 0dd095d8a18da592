//! What needs the database: writing what was collected, following orders, forgetting. Every step has a bound of its own,
//! so that catching up after a long outage is not taken for another one.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use haleway_health::Timestamp;
use haleway_store::{StoreError, Write};
use tokio::time::timeout;

use super::condition::Condition;
use super::keep::Keeper;
use super::{PATIENCE, within};

/// How often orders of other processes are looked for.
const ORDERS_PERIOD: Duration = Duration::from_secs(10);
/// How often the store forgets; one step per turn while there is more.
const FORGET_PERIOD: Duration = Duration::from_secs(600);
/// Writes in one transaction.
const BATCH: usize = 1_000;
/// Longest time between two attempts at a store that is lost.
const RETRY: Duration = Duration::from_secs(5);

/// The writing half of a [`Keeper`].
#[derive(Debug)]
pub(super) struct Writer<'a> {
    keeper: &'a Keeper,
    /// The store was read once, so that its tables are there.
    recalled: bool,
    lost: bool,
    /// Intermediate states that had been dropped when the store was lost.
    dropped: u64,
    next_attempt: Timestamp,
    next_orders: Timestamp,
    next_forget: Timestamp,
}

impl<'a> Writer<'a> {
    pub(super) fn new(keeper: &'a Keeper, recalled: bool) -> Self {
        let now = keeper.gateway.clock.now();
        keeper.memory.condition.up.store(recalled, Relaxed);
        Self {
            keeper,
            recalled,
            lost: !recalled,
            dropped: 0,
            next_attempt: now,
            next_orders: now + ORDERS_PERIOD,
            next_forget: now + ORDERS_PERIOD,
        }
    }

    /// Writes what is collected until nothing more is to come.
    pub(super) async fn write_all(mut self) {
        loop {
            let ends = tokio::select! {
                biased;
                () = self.keeper.complete.cancelled() => true,
                () = self.keeper.memory.collected.notified() => false,
            };
            let now = self.keeper.gateway.clock.now();
            if ends {
                // No process waits longer than this for its memory to be taken.
                drop(timeout(PATIENCE, self.attempt(now)).await);
                break;
            }
            if now >= self.next_attempt {
                self.attempt(now).await;
            }
        }
    }

    async fn attempt(&mut self, now: Timestamp) {
        let condition = &self.keeper.memory.condition;
        match self.turn(now).await {
            Ok(()) if self.lost => {
                self.lost = false;
                condition.up.store(true, Relaxed);
                let dropped = condition.dropped.load(Relaxed).saturating_sub(self.dropped);
                tracing::info!(dropped, "the store answers again, and has what was missed");
            }
            Ok(()) => {}
            Err(error) => {
                // Told once per outage.
                if !self.lost {
                    self.dropped = condition.dropped.load(Relaxed);
                    tracing::error!(%error, "the store is lost: verdicts stay in memory, history waits to be written");
                }
                self.lost = true;
                condition.up.store(false, Relaxed);
                self.next_attempt = now + RETRY;
            }
        }
    }

    /// Everything that needs the store, oldest duty first.
    async fn turn(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let Keeper { gateway, memory, collector, .. } = self.keeper;
        if !self.recalled {
            let recalled = within(PATIENCE, memory.recall(gateway)).await?;
            collector.lock().recall(gateway, &recalled, now);
            self.recalled = true;
        }
        while !memory.backlog.lock().is_empty() {
            self.write_batch().await?;
        }
        if now >= self.next_orders {
            within(PATIENCE, memory.follow_orders(gateway, now)).await?;
            self.next_orders = now + ORDERS_PERIOD;
        }
        if now >= self.next_forget
            && !within(PATIENCE, memory.store.forget(memory.retention, now.as_millis())).await?
        {
            self.next_forget = now + FORGET_PERIOD;
        }
        Ok(())
    }

    async fn write_batch(&self) -> Result<(), StoreError> {
        let memory = &self.keeper.memory;
        let (batch, end) = memory.backlog.lock().batch(BATCH);
        match within(PATIENCE, memory.store.write(&batch)).await {
            Err(StoreError::Refused(_)) => self.write_singly(&batch).await?,
            written => {
                written?;
                Condition::add(&memory.condition.written, batch.len() as u64);
            }
        }
        memory.backlog.lock().written(end);
        Ok(())
    }

    /// One row that the database will never take must not hold up the others.
    async fn write_singly(&self, batch: &[Write]) -> Result<(), StoreError> {
        let memory = &self.keeper.memory;
        for write in batch {
            match within(PATIENCE, memory.store.write(std::slice::from_ref(write))).await {
                Err(StoreError::Refused(reason)) => {
                    Condition::add(&memory.condition.refused, 1);
                    tracing::error!(reason, "the store refuses a row, which is dropped");
                }
                written => {
                    written?;
                    Condition::add(&memory.condition.written, 1);
                }
            }
        }
        Ok(())
    }
}
