//! The book of one UTC day: what every deployment's probes used up, what is reserved, and what the caps leave.
//!
//! Pure, so that the rule "never beyond a cap" can be tested by itself: what a probe may cost is reserved before it is
//! sent, and settled when its answer is known. A real cost above the estimate is the one way past a cap in dollars, by
//! at most what was in flight.

use std::collections::HashMap;
use std::sync::Arc;

use haleway_health::Timestamp;
use haleway_providers::catalogue::Usd;
use haleway_telemetry::ProbeRung as Rung;

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

/// What one deployment's probes, and all together, may use up in a UTC day. `None` = no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Caps {
    /// Real probes of the deployment.
    pub probes: Option<u32>,
    /// Dollars of the deployment.
    pub usd: Option<Usd>,
    /// Real probes of all deployments.
    pub total_probes: Option<u32>,
    /// Dollars of all deployments.
    pub total_usd: Option<Usd>,
}

/// Which cap is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cap {
    /// `budget.probes_per_day`
    Probes,
    /// `budget.usd_per_day` of the deployment
    Usd,
    /// `budget.total_probes_per_day`
    TotalProbes,
    /// `budget.usd_per_day` of all
    TotalUsd,
}

impl Cap {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Probes => "probes_per_day",
            Self::Usd => "usd_per_day",
            Self::TotalProbes => "total_probes_per_day",
            Self::TotalUsd => "total_usd_per_day",
        }
    }

    /// Whether it bounds all deployments together.
    pub const fn is_total(self) -> bool {
        matches!(self, Self::TotalProbes | Self::TotalUsd)
    }
}

/// A cap forbids a real probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The cap.
    pub cap: Cap,
    /// Midnight UTC.
    pub until: Timestamp,
    /// It has not been told on this day: tell it once.
    pub news: bool,
}

/// What one request of a probe came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Charge {
    /// Its price; `None` when the model's price is not known.
    pub usd: Option<Usd>,
    /// The price is an estimate: the answer stated no usage, or none came.
    pub estimated: bool,
    /// Tokens, read and made.
    pub tokens: u64,
}

/// What the requests of one rung came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Line {
    /// Requests.
    pub requests: u64,
    /// Their price.
    pub usd: Usd,
    /// Tokens, read and made.
    pub tokens: u64,
    /// Requests whose price is an estimate.
    pub estimated: u64,
    /// Requests whose price is not known.
    pub unpriced: u64,
}

impl Line {
    /// Both together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            usd: self.usd + other.usd,
            tokens: self.tokens.saturating_add(other.tokens),
            estimated: self.estimated + other.estimated,
            unpriced: self.unpriced + other.unpriced,
        }
    }

    /// What is left without `other`.
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let usd = self.usd.femtodollars().saturating_sub(other.usd.femtodollars());
        Self {
            requests: self.requests.saturating_sub(other.requests),
            usd: Usd::from_femtodollars(usd),
            tokens: self.tokens.saturating_sub(other.tokens),
            estimated: self.estimated.saturating_sub(other.estimated),
            unpriced: self.unpriced.saturating_sub(other.unpriced),
        }
    }

    fn add(&mut self, charge: &Charge) {
        self.requests += 1;
        self.tokens = self.tokens.saturating_add(charge.tokens);
        match charge.usd {
            Some(usd) => {
                self.usd = self.usd + usd;
                self.estimated += u64::from(charge.estimated);
            }
            None => self.unpriced += 1,
        }
    }
}

/// What probes used up in a day: of one deployment, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    lines: [Line; Rung::ALL.len()],
    reserved: u32,
    reserved_usd: Usd,
    stopped: Option<Cap>,
}

impl Account {
    /// What the requests of `rung` came to.
    pub fn line(&self, rung: Rung) -> Line {
        self.lines.get(rung as usize).copied().unwrap_or_default()
    }

    /// What all requests came to.
    pub fn sum(&self) -> Line {
        self.lines.iter().fold(Line::default(), |sum, line| sum.plus(line))
    }

    /// Which cap stopped real probes on this day.
    pub const fn stopped(&self) -> Option<Cap> {
        self.stopped
    }

    fn add(&mut self, rung: Rung, charge: &Charge) {
        if let Some(line) = self.lines.get_mut(rung as usize) {
            line.add(charge);
        }
    }

    /// Whether one more real probe of `price` goes beyond a cap.
    fn exceeds(&self, probes: Option<u32>, usd: Option<Usd>, price: Usd) -> (bool, bool) {
        let sum = self.sum();
        let real = sum.requests - self.line(Rung::Free).requests + u64::from(self.reserved);
        let spent = sum.usd + self.reserved_usd;
        let over = |cap: Usd| spent >= cap || spent + price > cap;
        (probes.is_some_and(|cap| real >= u64::from(cap)), usd.is_some_and(over))
    }

    fn reserve(&mut self, price: Usd) {
        self.reserved += 1;
        self.reserved_usd = self.reserved_usd + price;
    }

    fn release(&mut self, price: Usd) {
        self.reserved = self.reserved.saturating_sub(1);
        let left = self.reserved_usd.femtodollars().saturating_sub(price.femtodollars());
        self.reserved_usd = Usd::from_femtodollars(left);
    }

    /// A new day: what is in flight stays reserved.
    const fn renewed(&self) -> Self {
        Self {
            lines: [const { Line { requests: 0, usd: Usd::ZERO, tokens: 0, estimated: 0, unpriced: 0 } };
                Rung::ALL.len()],
            reserved: self.reserved,
            reserved_usd: self.reserved_usd,
            stopped: None,
        }
    }
}

/// The book of a day.
#[derive(Debug, Default)]
pub(super) struct Book {
    day: u64,
    accounts: HashMap<Arc<str>, Account>,
    total: Account,
}

impl Book {
    /// Begins a new day, when it is one.
    fn turn(&mut self, now: Timestamp) {
        let day = day_of(now);
        if day <= self.day {
            return;
        }
        self.day = day;
        self.total = self.total.renewed();
        // Only what is in flight matters on the next day.
        self.accounts.retain(|_, account| {
            *account = account.renewed();
            account.reserved > 0
        });
    }

    /// Reserves a real probe of `deployment` that may cost `price`.
    pub(super) fn reserve(
        &mut self,
        deployment: &Arc<str>,
        caps: &Caps,
        price: Usd,
        now: Timestamp,
    ) -> Result<(), Stop> {
        self.turn(now);
        let account = self.accounts.entry(Arc::clone(deployment)).or_default();
        let cap = match (
            account.exceeds(caps.probes, caps.usd, price),
            self.total.exceeds(caps.total_probes, caps.total_usd, price),
        ) {
            ((true, _), _) => Some(Cap::Probes),
            ((_, true), _) => Some(Cap::Usd),
            (_, (true, _)) => Some(Cap::TotalProbes),
            (_, (_, true)) => Some(Cap::TotalUsd),
            ((false, false), (false, false)) => None,
        };
        let Some(cap) = cap else {
            account.stopped = None;
            account.reserve(price);
            self.total.reserve(price);
            return Ok(());
        };
        let told = if cap.is_total() { &mut self.total.stopped } else { &mut account.stopped };
        let news = told.replace(cap) != Some(cap);
        account.stopped = Some(cap);
        Err(Stop { cap, until: Timestamp::from_millis((self.day + 1) * DAY_MILLIS), news })
    }

    /// Gives a reservation back.
    pub(super) fn release(&mut self, deployment: &str, price: Usd) {
        self.total.release(price);
        if let Some(account) = self.accounts.get_mut(deployment) {
            account.release(price);
        }
    }

    /// How many deployments are in the book.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.accounts.len()
    }

    /// Writes down what a request came to.
    pub(super) fn add(&mut self, deployment: &Arc<str>, rung: Rung, charge: &Charge, now: Timestamp) {
        self.turn(now);
        self.accounts.entry(Arc::clone(deployment)).or_default().add(rung, charge);
        self.total.add(rung, charge);
    }

    /// Adds what was used up on this day elsewhere.
    pub(super) fn recall(&mut self, deployment: &Arc<str>, rung: Rung, line: &Line, now: Timestamp) {
        self.turn(now);
        for account in [self.accounts.entry(Arc::clone(deployment)).or_default(), &mut self.total] {
            if let Some(known) = account.lines.get_mut(rung as usize) {
                *known = known.plus(line);
            }
        }
    }

    /// What the probes of `deployment` used up on the day of `now`.
    pub(super) fn account(&mut self, deployment: &str, now: Timestamp) -> Account {
        self.turn(now);
        self.accounts.get(deployment).copied().unwrap_or_default()
    }

    /// What all probes used up on the day of `now`.
    pub(super) fn total(&mut self, now: Timestamp) -> Account {
        self.turn(now);
        self.total
    }
}

/// Days since the Unix epoch, UTC.
pub(super) const fn day_of(now: Timestamp) -> u64 {
    now.as_millis() / DAY_MILLIS
}

/// The end of the UTC day of `now`.
pub(super) const fn midnight(now: Timestamp) -> Timestamp {
    Timestamp::from_millis((day_of(now) + 1) * DAY_MILLIS)
}
