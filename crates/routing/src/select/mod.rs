//! Which deployment of a group serves the next attempt.
//!
//! One walk over the group's members: what the configuration or a limit keeps out is passed over, then only the
//! best health rank present counts, then only the lowest `order`, and among those the strategy picks. Nothing is
//! allocated, and no candidate costs more than a few reads.
//!
//! Health weight (ramp, load) multiplies a share where the strategy is a share. Where it is a score, a deployment
//! of weight 0.1 takes part in one pick of ten: its part of the traffic then rises with its weight whatever the
//! score says.

mod explain;
mod gate;
mod pick;

use haleway_health::{Slot, Timestamp};

use crate::input::Strategy;
use crate::stats::Stats;
use crate::table::{GroupIx, Member, Table};
use crate::view::{Admission, Health};

pub use explain::{SkipReason, Skipped};

use gate::Gate;
use pick::{Best, Pick, PowerOfTwo, Shuffle};

/// What selection must know of the call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// The call's tags.
    pub tags: &'a [&'a str],
    /// Estimated tokens of the prompt, when pre-call checks are on.
    pub input_tokens: Option<u64>,
}

/// Which health ranks are candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only deployments in rotation.
    InRotation,
    /// Last-resort candidates too, when none is in rotation.
    LastResort,
}

/// One question: who in `group` is next?
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The group.
    pub group: GroupIx,
    /// Only this deployment, when the call named it.
    pub only: Option<Slot>,
    /// What is known of the call.
    pub facts: Facts<'a>,
    /// Deployments to leave out.
    pub tried: &'a [Slot],
    /// Which ranks are candidates.
    pub reach: Reach,
    /// Whether this attempt may be a trial.
    pub trials: bool,
    /// Now.
    pub now: Timestamp,
    /// A fresh random number.
    pub random: u64,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The deployment.
    pub slot: Slot,
    /// Its health rank: 0 = in rotation.
    pub rank: u8,
    /// The attempt is the deployment's trial: a lease must be claimed first.
    pub trial: bool,
}

impl Table {
    /// The deployment that `query` leads to; `None` when no candidate is left. [`Table::explain_skips`] says why.
    pub fn select<H: Health + ?Sized, S: Stats + ?Sized>(
        &self,
        query: &Query<'_>,
        health: &H,
        stats: &S,
    ) -> Option<Choice> {
        let walk = Walk { table: self, query, health, stats, gate: Gate::new(self, query) };
        let now = query.now;
        match self.settings().strategy {
            Strategy::SimpleShuffle => walk.run(Shuffle::new(query.random)),
            Strategy::P2cEwma => walk.run(PowerOfTwo::new(query.random, stats, now)),
            Strategy::LeastBusy => walk.run(Best::new(query.random, |member: &Member| {
                // A second of penalty weighs as much as a request in flight: failing fast is not being idle.
                count(stats.in_flight(member.slot)) + stats.penalty_ms(member.slot, now) / 1_000.0
            })),
            Strategy::UsageBased => walk.run(Best::new(query.random, |member: &Member| {
                tokens(stats.used_this_minute(member.slot, now).tokens) + stats.penalty_ms(member.slot, now)
            })),
            Strategy::CostBased => walk.run(Best::new(query.random, |member: &Member| member.price)),
            Strategy::Latency { buffer } => {
                let score = |member: &Member| latency(stats, member.slot, now);
                walk.run(Best::new(query.random, score).within(buffer))
            }
        }
    }
}

/// Latency that LiteLLM's strategy compares. One that was never measured is tried first, but by one request at
/// a time: until its answer is there it counts as slow.
fn latency<S: Stats + ?Sized>(stats: &S, slot: Slot, now: Timestamp) -> f32 {
    const UNMEASURED_BUSY_MS: f32 = 1e9;
    let known = stats.latency_ms(slot, now);
    let base = known.unwrap_or_else(|| if stats.in_flight(slot) == 0 { 0.0 } else { UNMEASURED_BUSY_MS });
    base + stats.penalty_ms(slot, now)
}

#[expect(clippy::cast_precision_loss, reason = "scores are compared, not added up")]
const fn count(value: u32) -> f32 {
    value as f32
}

#[expect(clippy::cast_precision_loss, reason = "scores are compared, not added up")]
const fn tokens(value: u64) -> f32 {
    value as f32
}

/// Rank, then order, as one number to compare.
const fn key(rank: u8, order: i32) -> u64 {
    (rank as u64) << 32 | (order as u32 ^ 1 << 31) as u64
}

/// Worse than any key.
const NONE: u64 = u64::MAX;

const fn unkey(key: u64) -> (u8, i32) {
    ((key >> 32) as u8, (key as u32 ^ 1 << 31) as i32)
}

struct Walk<'a, H: ?Sized, S: ?Sized> {
    table: &'a Table,
    query: &'a Query<'a>,
    health: &'a H,
    stats: &'a S,
    gate: Gate<'a>,
}

impl<H: Health + ?Sized, S: Stats + ?Sized> Walk<'_, H, S> {
    /// Offers every candidate of the best rank and the lowest order to `pick`.
    fn run(&self, mut pick: impl Pick) -> Option<Choice> {
        let worst = match self.query.reach {
            Reach::InRotation => 0,
            Reach::LastResort => Admission::OUT - 1,
        };
        let mut best = NONE;
        let mut trial: Option<(i32, Slot)> = None;
        for member in self.table.members(self.query.group) {
            let admission = self.health.admission(member.slot);
            let open = admission.rank > 0 && admission.trial && self.query.trials;
            let barred = admission.rank > worst;
            let key = if barred { NONE } else { key(admission.rank, member.order) };
            if (barred || key > best) && !open || self.gate.stops(member, self.stats).is_some() {
                continue;
            }
            if open {
                trial =
                    trial.filter(|(order, _)| *order <= member.order).or(Some((member.order, member.slot)));
                if barred {
                    continue;
                }
            }
            if key < best {
                pick.restart();
                best = key;
            }
            if key == best {
                pick.offer(member, admission.weight);
            }
        }
        let best = (best != NONE).then(|| unkey(best));
        match (trial, best) {
            // A trial is taken by the next call that could be served as well, and by any call that has no one
            // in rotation; never to replace a preferred order that works.
            (Some((order, slot)), Some((rank, usual))) if rank > 0 || order <= usual => {
                Some(Choice { slot, rank: 0, trial: true })
            }
            (Some((_, slot)), None) => Some(Choice { slot, rank: 0, trial: true }),
            (Some(_) | None, Some((rank, _))) => Some(Choice { slot: pick.take()?, rank, trial: false }),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests;
