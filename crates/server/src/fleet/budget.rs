//! The day's budget of the whole fleet: what a probe may cost is reserved in the store before its permit is asked for.
//!
//! Each process also keeps its own ledger, which by itself would let every process spend the whole budget, and every
//! restart spend it again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_fleet::redis::{Reached, SpendCaps, Spent};
use haleway_fleet::{Ask, Claim, Fleet};
use haleway_health::Timestamp;
use haleway_providers::catalogue::Usd;
use serde_json::{Value, json};

use super::Share;
use crate::gateway::Gateway;
use crate::prober::ledger::{Cap, Caps, Stop};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a probe waits whose reservation the store did not answer.
const RETRY: Duration = Duration::from_secs(2);
const NANO: f64 = 1e9;

/// What was heard of one deployment.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    spent: Spent,
    reached: Option<Cap>,
}

/// What this process last heard of the day's book.
#[derive(Debug, Default)]
pub(super) struct Heard {
    known: HashMap<Arc<str>, Known>,
    latest: Spent,
    /// The cap of all deployments that was told last, and on which day.
    told: Option<(u64, Cap)>,
}

/// What was reserved for one probe.
#[derive(Debug)]
#[must_use = "what is not settled stays counted"]
pub(crate) struct Reserved {
    deployment: Arc<str>,
    day: u64,
    nanousd: u64,
}

/// The answer to a claim within the budget.
pub(crate) enum Within {
    /// The permit, or the wait for it, and what was reserved.
    Claim(Claim, Option<Reserved>),
    /// The budget is used up.
    Stop(Stop),
}

/// An amount in billionths of a dollar, rounded up: many small ones must not come to nothing.
fn nanodollars(usd: Usd) -> u64 {
    u64::try_from(usd.femtodollars().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

fn limits(caps: &Caps) -> SpendCaps {
    SpendCaps {
        probes: caps.probes.map(u64::from),
        nanousd: caps.usd.map(nanodollars),
        total_probes: caps.total_probes.map(u64::from),
        total_nanousd: caps.total_usd.map(nanodollars),
    }
}

const fn cap(reached: Reached) -> Cap {
    match reached {
        Reached::Probes => Cap::Probes,
        Reached::Usd => Cap::Usd,
        Reached::TotalProbes => Cap::TotalProbes,
        Reached::TotalUsd => Cap::TotalUsd,
    }
}

impl Heard {
    fn known(&self, deployment: &str) -> Spent {
        let own = self.known.get(deployment).map(|known| known.spent).unwrap_or_default();
        let own = if own.day == self.latest.day { own } else { Spent::default() };
        Spent { probes: own.probes, nanousd: own.nanousd, ..self.latest }
    }

    fn hear(&mut self, deployment: &Arc<str>, spent: Spent, reached: Option<Cap>) {
        self.latest = spent;
        self.known.insert(Arc::clone(deployment), Known { spent, reached });
    }

    /// Forgets deployments that are gone; what they used up stays in the day's total.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.known.retain(|deployment, _| keep(deployment));
    }

    /// Whether `cap` has not been told on this day.
    fn is_news(&mut self, deployment: &str, day: u64, cap: Cap) -> bool {
        if cap.is_total() {
            return self.told.replace((day, cap)) != Some((day, cap));
        }
        let known = self.known.get(deployment);
        known.is_none_or(|known| known.spent.day != day || known.reached != Some(cap))
    }
}

impl Share {
    /// Claims a permit for a probe that costs about `price` (`None` = a free one, which needs no budget).
    pub(crate) async fn claim_within(
        &self,
        gateway: &Gateway,
        ask: &Ask<'_>,
        caps: &Caps,
        price: Option<Usd>,
    ) -> Within {
        let Some(price) = price.filter(|_| *caps != Caps::default()) else {
            return Within::Claim(gateway.fleet.claim(gateway.clock.now(), ask).await, None);
        };
        // Who would not ask for a permit yet reserves nothing.
        if let Some(until) = self.redis.would_wait(gateway.clock.now(), ask) {
            return Within::Claim(Claim::Wait(until), None);
        }
        let nanousd = nanodollars(price);
        let known = self.budget.lock().known(ask.deployment);
        let Ok((reached, spent)) = self.redis.reserve(ask.deployment, nanousd, &limits(caps), &known).await
        else {
            return Within::Claim(Claim::Wait(gateway.clock.now() + RETRY), None);
        };
        if let Some(cap) = reached.map(cap) {
            let mut heard = self.budget.lock();
            let news = heard.is_news(ask.deployment, spent.day, cap);
            heard.hear(ask.deployment, spent, Some(cap));
            return Within::Stop(Stop { cap, until: self.midnight(spent.day), news });
        }
        self.budget.lock().hear(ask.deployment, spent, None);
        let reserved = Reserved { deployment: Arc::clone(ask.deployment), day: spent.day, nanousd };
        match gateway.fleet.claim(gateway.clock.now(), ask).await {
            Claim::Granted(permit) => Within::Claim(Claim::Granted(permit), Some(reserved)),
            Claim::Wait(until) => {
                self.settle(Some(reserved), 0, Some(Usd::ZERO)).await;
                Within::Claim(Claim::Wait(until), None)
            }
        }
    }

    /// Writes down what came of `reserved`: so many paid requests, at `price` together (`None` = not known: what was
    /// reserved stays).
    pub(crate) async fn settle(&self, reserved: Option<Reserved>, requests: u32, price: Option<Usd>) {
        let Some(Reserved { deployment, day, nanousd }) = reserved else { return };
        let paid = price.map_or(nanousd, nanodollars);
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let (probes, nanousd) = (i64::from(requests) - 1, signed(paid) - signed(nanousd));
        if (probes, nanousd) == (0, 0) {
            return;
        }
        let known = self.budget.lock().known(&deployment);
        match self.redis.settle(&deployment, day, probes, nanousd, &known).await {
            Ok(spent) => self.budget.lock().hear(&deployment, spent, None),
            Err(trouble) => tracing::debug!(trouble = trouble.as_str(), "what was reserved stays counted"),
        }
    }

    fn midnight(&self, day: u64) -> Timestamp {
        (Timestamp::default() + DAY * u32::try_from(day + 1).unwrap_or(u32::MAX))
            .shifted(-self.redis.clock_offset())
    }

    /// What the fleet's probes used up today, as far as this process has heard.
    pub(super) fn budget_shown(&self, caps: &Caps) -> Value {
        let heard = self.budget.lock();
        let spent = heard.latest;
        json!({
            "day": spent.day,
            "probes": spent.total_probes,
            "usd": spent.total_nanousd as f64 / NANO,
            "total_probes_per_day": caps.total_probes,
            "total_usd_per_day": caps.total_usd.map(Usd::dollars),
            "used_up": heard.told.filter(|(day, _)| *day == spent.day).map(|(_, cap)| cap.as_str()),
        })
    }

    /// What the fleet's probes of `deployment` used up today, as far as this process has heard; `None` before it has.
    pub(crate) fn spent_on(&self, deployment: &str) -> Option<Value> {
        let heard = self.budget.lock();
        let known = heard.known.get(deployment).filter(|known| known.spent.day == heard.latest.day)?;
        Some(json!({
            "probes": known.spent.probes,
            "usd": known.spent.nanousd as f64 / NANO,
            "used_up": known.reached.map(Cap::as_str),
        }))
    }

    /// The cap that stops the probes of `deployment` today, as far as this process has heard.
    pub(crate) fn stopped(&self, deployment: &str) -> Option<Cap> {
        let heard = self.budget.lock();
        let known = heard.known.get(deployment)?;
        known.reached.filter(|_| known.spent.day == heard.latest.day)
    }
}
