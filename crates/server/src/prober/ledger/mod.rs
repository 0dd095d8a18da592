//! What probes used up: counted per deployment, UTC day and rung, and never against a caller's key, a rate limit or a
//! statistic of routing.
//!
//! Deployments are named by id, so that one that a reload takes away and brings back goes on with its day. A restart goes
//! on with it where there is a store (`memory`), else begins it anew. A real probe takes a [`Reservation`] before it is
//! sent, so that probes in flight together cannot pass a cap that each of them keeps.

mod book;
mod shown;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use haleway_health::Timestamp;
use haleway_providers::catalogue::Usd;
use haleway_telemetry::ProbeRung as Rung;
use parking_lot::Mutex;

pub use book::{Account, Cap, Caps, Charge, Line, Stop};
pub use shown::{ProbeCost, RungCost};

use book::Book;

/// The ledger of this process.
#[derive(Debug, Default)]
pub struct Ledger {
    book: Mutex<Book>,
}

/// The right to pay for one request. Dropped unused, it is given back.
#[derive(Debug)]
#[must_use = "what is not settled is given back"]
pub struct Reservation<'a> {
    ledger: &'a Ledger,
    deployment: Arc<str>,
    price: Usd,
}

impl Ledger {
    /// Reserves one real request of `deployment`, which may cost `price` (`None` = the price is not known).
    ///
    /// # Errors
    /// When a cap is reached: no real probe until then.
    pub fn reserve(
        &self,
        deployment: &Arc<str>,
        caps: &Caps,
        price: Option<Usd>,
        now: Timestamp,
    ) -> Result<Reservation<'_>, Stop> {
        let price = price.unwrap_or_default();
        self.book.lock().reserve(deployment, caps, price, now)?;
        Ok(Reservation { ledger: self, deployment: Arc::clone(deployment), price })
    }

    /// Writes down a request that costs nothing.
    pub fn free(&self, deployment: &Arc<str>, now: Timestamp) {
        let charge = Charge { usd: Some(Usd::ZERO), ..Charge::default() };
        self.book.lock().add(deployment, Rung::Free, &charge, now);
    }

    /// Takes in what was used up on this day before this process lived, or in others.
    pub(crate) fn recall(&self, deployment: &Arc<str>, rung: Rung, line: &Line, now: Timestamp) {
        self.book.lock().recall(deployment, rung, line, now);
    }

    /// What the probes of `deployment` used up on the UTC day of `now`.
    pub fn account(&self, deployment: &str, now: Timestamp) -> Account {
        self.book.lock().account(deployment, now)
    }

    /// What all probes used up on the UTC day of `now`.
    pub fn total(&self, now: Timestamp) -> Account {
        self.book.lock().total(now)
    }
}

impl Reservation<'_> {
    /// The request was sent: writes down what it came to.
    pub fn settle(self, rung: Rung, charge: &Charge, now: Timestamp) {
        self.ledger.book.lock().add(&self.deployment, rung, charge, now);
        // Dropped here: the reservation gives way to the charge.
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.ledger.book.lock().release(&self.deployment, self.price);
    }
}
