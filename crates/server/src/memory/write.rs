//! The one task that writes.

use std::sync::Arc;
use std::time::Duration;

use haleway_health::Timestamp;
use haleway_store::{StoreError, Write};
use tokio::time::timeout;

use super::collect::Collector;
use super::{Memory, PATIENCE};
use crate::gateway::{Gateway, Live};

/// How often events are collected and written.
const PERIOD: Duration = Duration::from_millis(500);
/// How often orders of other processes are looked for.
const ORDERS_PERIOD: Duration = Duration::from_secs(10);
/// How often the store forgets; one step per period while there is more.
const FORGET_PERIOD: Duration = Duration::from_secs(600);
/// Writes in one transaction.
const BATCH: usize = 1_000;
/// Longest time between two attempts at a store that is lost.
const RETRY: Duration = Duration::from_secs(5);

/// Keeps the memory of a gateway.
#[derive(Debug)]
pub(super) struct Keeper {
    gateway: Arc<Gateway>,
    memory: Arc<Memory>,
    collector: Collector,
    /// The store was read once, so that its tables are there.
    recalled: bool,
    lost: bool,
    next_attempt: Timestamp,
    next_orders: Timestamp,
    next_forget: Timestamp,
    live: Arc<Live>,
}

impl Keeper {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        memory: Arc<Memory>,
        collector: Collector,
        recalled: bool,
    ) -> Self {
        let now = gateway.clock.now();
        Self {
            live: gateway.live.load_full(),
            gateway,
            memory,
            collector,
            recalled,
            lost: !recalled,
            next_attempt: now,
            next_orders: now + ORDERS_PERIOD,
            next_forget: now + ORDERS_PERIOD,
        }
    }

    /// Collects and writes until shutdown, then writes what is left.
    pub(super) async fn keep(mut self) {
        loop {
            let ends = tokio::select! {
                () = self.gateway.shutdown.cancelled() => true,
                () = self.memory.wake.notified() => false,
                () = tokio::time::sleep(PERIOD) => false,
            };
            let now = self.gateway.clock.now();
            self.collect(now);
            if now >= self.next_attempt || ends {
                self.attempt(now).await;
            }
            if ends {
                break;
            }
        }
        self.memory.store.close().await;
    }

    fn collect(&mut self, now: Timestamp) {
        let live = self.gateway.live.load_full();
        if !Arc::ptr_eq(&live, &self.live) {
            // A deployment that a new configuration brings back comes without its order.
            self.memory.impose_lost(&self.gateway, now);
            self.live = live;
        }
        let mut backlog = self.memory.backlog.lock();
        self.collector.collect(&self.gateway, now, &mut |write| backlog.push(write));
    }

    async fn attempt(&mut self, now: Timestamp) {
        match timeout(PATIENCE, self.turn(now)).await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(format!("no answer within {} s", PATIENCE.as_secs())))
        }) {
            Ok(()) if self.lost => {
                self.lost = false;
                let dropped = self.memory.backlog.lock().take_dropped();
                tracing::info!(dropped, "the store answers again, and has what was missed");
            }
            Ok(()) => {}
            Err(error) => {
                // Told once per outage.
                if !self.lost {
                    tracing::error!(%error, "the store is lost: verdicts stay in memory, history waits to be written");
                }
                self.lost = true;
                self.next_attempt = now + RETRY;
            }
        }
    }

    /// Everything that needs the store, oldest duty first.
    async fn turn(&mut self, now: Timestamp) -> Result<(), StoreError> {
        if !self.recalled {
            self.memory.recall(&self.gateway, &mut self.collector).await?;
            self.recalled = true;
        }
        while !self.memory.backlog.lock().is_empty() {
            self.write_batch().await?;
        }
        if now >= self.next_orders {
            self.memory.follow_orders(&self.gateway, now).await?;
            self.next_orders = now + ORDERS_PERIOD;
        }
        if now >= self.next_forget
            && !self.memory.store.forget(self.memory.retention, now.as_millis()).await?
        {
            self.next_forget = now + FORGET_PERIOD;
        }
        Ok(())
    }

    async fn write_batch(&self) -> Result<(), StoreError> {
        let (batch, end) = self.memory.backlog.lock().batch(BATCH);
        match self.memory.store.write(&batch).await {
            Err(StoreError::Refused(_)) => self.write_singly(&batch).await?,
            written => written?,
        }
        self.memory.backlog.lock().written(end);
        Ok(())
    }

    /// One row that the database will never take must not hold up the others.
    async fn write_singly(&self, batch: &[Write]) -> Result<(), StoreError> {
        for write in batch {
            match self.memory.store.write(std::slice::from_ref(write)).await {
                Err(StoreError::Refused(reason)) => {
                    tracing::error!(reason, "the store refuses a row, which is dropped");
                }
                written => written?,
            }
        }
        Ok(())
    }
}
