//! Operators' orders: written before they are confirmed, and imposed again on whatever has lost them.
//!
//! Level, not edge: an order that holds is compared with the state of its deployment, so that a restart, a reload that
//! brings a deployment back, and an order given to another process all end in the same state.

use std::collections::HashMap;
use std::time::Duration;

use haleway_health::{Operator, Timestamp};
use haleway_store::{AuditRow, Order, StoreError, Write};
use tokio::time::timeout;

use super::Memory;
use crate::gateway::Gateway;

/// How long an operator waits to hear that an order is written. It counts already; what is not written by then is later.
const CONFIRMATION: Duration = Duration::from_secs(3);

/// The command in the words of the API.
pub(crate) fn operator_of(command: &str) -> Option<Operator> {
    match command {
        "drain" => Some(Operator::Drain),
        "disable" => Some(Operator::Disable),
        "enable" => Some(Operator::Enable),
        "force-up" => Some(Operator::ForceUp),
        "reset" => Some(Operator::Reset),
        _ => None,
    }
}

/// An order as an operator gave it, and from where.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    pub(crate) deployment: &'a str,
    pub(crate) command: &'a str,
    pub(crate) at: Timestamp,
    pub(crate) until: Option<Timestamp>,
    pub(crate) reason: &'a str,
    pub(crate) origin: &'a str,
}

/// The orders that hold, as far as this process knows.
#[derive(Debug, Default)]
pub(super) struct Orders {
    known: HashMap<String, Order>,
    /// Orders that are being written: what the database says meanwhile may be older than them.
    under_way: usize,
    /// Orders given in this process so far.
    given: u64,
}

/// An order that counts in this process and is not written yet. Dropped, it waits in the backlog.
#[derive(Debug)]
#[must_use = "the order is to be written"]
pub(crate) struct Unwritten<'a> {
    memory: &'a Memory,
    writes: Option<[Write; 2]>,
}

impl Unwritten<'_> {
    /// Writes it with its audit row. `false`: the database does not take them now, they wait in the backlog.
    pub(crate) async fn write(mut self) -> bool {
        let Some(writes) = &self.writes else { return true };
        let written = matches!(timeout(CONFIRMATION, self.memory.store.write(writes)).await, Ok(Ok(())));
        if written {
            self.writes = None;
        }
        written
    }
}

impl Drop for Unwritten<'_> {
    fn drop(&mut self) {
        let mut orders = self.memory.orders.lock();
        orders.under_way = orders.under_way.saturating_sub(1);
        // Also when the caller went away before the database answered: written twice is written once.
        let mut backlog = self.memory.backlog.lock();
        self.writes.take().into_iter().flatten().for_each(|write| backlog.push(write));
    }
}

impl Memory {
    /// Takes note of an order. To be called before the order is obeyed, so that nothing that this task does in between
    /// goes by an older one.
    pub(crate) fn order(&self, given: &Given<'_>) -> Unwritten<'_> {
        let (at, until) = (given.at.as_millis(), given.until.map(Timestamp::as_millis));
        let lasts = !matches!(given.command, "enable" | "reset");
        let order = Order {
            deployment: given.deployment.to_owned(),
            command: lasts.then(|| given.command.to_owned()),
            given_at: at,
            until,
            reason: given.reason.to_owned(),
        };
        let audit = AuditRow {
            audit_id: uuid::Uuid::now_v7().to_string(),
            at,
            // The master key is the only one that may give orders.
            actor: "master".to_owned(),
            origin: given.origin.to_owned(),
            action: given.command.to_owned(),
            subject: given.deployment.to_owned(),
            reason: given.reason.to_owned(),
            until,
        };
        let mut orders = self.orders.lock();
        orders.under_way += 1;
        orders.given += 1;
        if lasts {
            orders.known.insert(order.deployment.clone(), order.clone());
        } else {
            orders.known.remove(given.deployment);
        }
        Unwritten { memory: self, writes: Some([Write::Order(order), Write::Audit(audit)]) }
    }

    /// Reads the orders that hold and imposes them; ends what another process's operator ended.
    pub(super) async fn follow_orders(&self, gateway: &Gateway, now: Timestamp) -> Result<(), StoreError> {
        let given = self.orders.lock().given;
        let found = self.store.orders(now.as_millis()).await?;
        let found: HashMap<_, _> = found.into_iter().map(|order| (order.deployment.clone(), order)).collect();
        let mut orders = self.orders.lock();
        // An order of this process may be younger than what was read: the next reading decides.
        if orders.under_way > 0 || orders.given != given || self.backlog.lock().holds_orders() {
            return Ok(());
        }
        let before = std::mem::replace(&mut orders.known, found);
        let live = gateway.live.load();
        for (id, gone) in before.iter().filter(|(id, _)| !orders.known.contains_key(*id)) {
            let ended_by_hand = gone.until.is_none_or(|until| until > now.as_millis());
            match live.find(id) {
                Some(deployment) if ended_by_hand => {
                    gateway.hub.operator(now, deployment.slot, Operator::Enable, None, "");
                }
                Some(_) => {}
                None => gateway.hub.forget_departed(id),
            }
        }
        let changed = |order: &&Order| before.get(&order.deployment).is_some_and(|old| old != *order);
        orders.known.values().filter(changed).for_each(|order| impose(gateway, order, now));
        drop(orders);
        self.impose_lost(gateway, now);
        Ok(())
    }

    /// Imposes the orders that hold on deployments that are not in an operator's state.
    pub(super) fn impose_lost(&self, gateway: &Gateway, now: Timestamp) {
        let orders = self.orders.lock();
        let live = gateway.live.load();
        for order in orders.known.values() {
            let stands = live
                .find(&order.deployment)
                .is_none_or(|deployment| gateway.hub.snapshot().verdict(deployment.slot).state.by_operator());
            if !stands {
                impose(gateway, order, now);
            }
        }
    }
}

fn impose(gateway: &Gateway, order: &Order, now: Timestamp) {
    let live = gateway.live.load();
    let until = order.until.map(Timestamp::from_millis);
    if until.is_some_and(|until| until <= now) {
        return;
    }
    let command = order.command.as_deref().and_then(operator_of);
    if let (Some(deployment), Some(command)) = (live.find(&order.deployment), command) {
        gateway.hub.operator(now, deployment.slot, command, until, &order.reason);
        tracing::info!(deployment = order.deployment, command = order.command, "an operator's order holds");
    }
}
