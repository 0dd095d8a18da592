//! What survives a restart, keyed by deployment identity.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Registry;
use crate::seed::hash;
use crate::{Machine, SavedMachine, Slot, Timestamp};

/// Everything learnt by a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Export {
    /// When it was taken.
    pub at: Timestamp,
    /// One per deployment.
    pub machines: Vec<Saved>,
}

/// What was learnt of one deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Its id.
    pub id: String,
    /// What it serves.
    pub mode: String,
    /// Hash of key and base URL at the time.
    pub identity: u64,
    /// Its machine.
    pub machine: SavedMachine,
}

impl Registry {
    /// Everything learnt, for a restart. A deployment of which nothing is known is left out, and so is what this process
    /// alone held against it: that may have been its own trouble.
    pub fn export(&mut self, now: Timestamp) -> Export {
        for slot in self.slots() {
            self.drain(now, slot);
        }
        let machines = self.slots().into_iter().filter_map(|slot| self.shared(slot));
        Export { at: now, machines: machines.collect() }
    }

    /// Takes in what an earlier process learnt, for deployments that are still the same; answers how many. A
    /// deployment whose key or base URL changed since gets its chance to leave a configuration fault.
    pub fn import(&mut self, now: Timestamp, export: &Export) -> usize {
        let mut fitted = 0;
        for saved in &export.machines {
            let Some(slot) = self.find(&saved.id) else { continue };
            fitted += usize::from(self.restore(now, slot, saved));
        }
        self.relayout(now);
        for slot in self.slots() {
            self.settle(now, slot);
            let need = self.need(slot, now);
            if need == crate::planner::Need::Trial {
                self.planner.wake(slot, need, now);
            }
        }
        fitted
    }

    fn restore(&mut self, now: Timestamp, slot: Slot, saved: &Saved) -> bool {
        let seed = self.seed;
        let Some(seat) = self.seat_mut(slot).filter(|seat| seat.spec.mode == saved.mode) else {
            return false;
        };
        let params = Arc::new(seat.spec.params.clone());
        let seed = hash(seat.spec.id.as_bytes(), seed ^ u64::from(slot.0));
        seat.machine = Machine::restore(params, seed, now, &saved.machine);
        seat.trial = None;
        let changed = seat.spec.identity != saved.identity;
        if changed && let Some(transition) = seat.machine.config_changed(now) {
            self.moved(now, slot, transition);
        }
        true
    }
}
