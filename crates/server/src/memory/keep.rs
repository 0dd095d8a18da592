//! The one task of the memory: it collects what happened, and writes it meanwhile.
//!
//! The two go on beside one another, because the health core keeps events for a bounded number of changes only: a database
//! that takes its time must not be the reason that one is missed.

use std::sync::Arc;
use std::time::Duration;

use haleway_store::Write;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::Memory;
use super::collect::Collector;
use super::condition::Condition;
use super::write::Writer;
use crate::gateway::Gateway;

/// How often events are collected.
const PERIOD: Duration = Duration::from_millis(500);

/// Keeps the memory of a gateway.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) gateway: Arc<Gateway>,
    pub(super) memory: Arc<Memory>,
    pub(super) collector: Mutex<Collector>,
    /// Nothing more is to come.
    pub(super) complete: CancellationToken,
}

impl Keeper {
    pub(super) fn new(gateway: Arc<Gateway>, memory: Arc<Memory>, collector: Collector) -> Self {
        Self { gateway, memory, collector: Mutex::new(collector), complete: CancellationToken::new() }
    }

    /// Collects and writes until shutdown, then writes what is left. `recalled`: the store was read.
    pub(super) async fn keep(self, recalled: bool) {
        let writer = Writer::new(&self, recalled);
        tokio::join!(self.collect_all(), writer.write_all());
        self.memory.store.close().await;
    }

    async fn collect_all(&self) {
        let mut live = self.gateway.live.load_full();
        while !self.gateway.shutdown.is_cancelled() {
            tokio::select! {
                () = self.gateway.shutdown.cancelled() => {}
                () = tokio::time::sleep(PERIOD) => {}
            }
            let now = self.gateway.clock.now();
            let newest = self.gateway.live.load_full();
            if !Arc::ptr_eq(&live, &newest) {
                // A deployment that a new configuration brings back comes without its order.
                self.memory.impose_lost(&self.gateway, now);
                live = newest;
            }
            let mut writes = Vec::new();
            self.collector.lock().collect(&self.gateway, now, &mut |write| writes.push(write));
            self.take(writes);
            self.memory.collected.notify_one();
        }
        self.complete.cancel();
    }

    fn take(&self, writes: Vec<Write>) {
        let mut backlog = self.memory.backlog.lock();
        writes.into_iter().for_each(|write| backlog.push(write));
        Condition::add(&self.memory.condition.dropped, backlog.take_dropped());
    }
}
