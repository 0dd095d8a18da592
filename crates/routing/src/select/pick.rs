//! The strategies, each as something that candidates are offered to one by one.
//!
//! All random picks are reservoirs: the k-th candidate replaces the pick with the right probability, so that one
//! walk is enough and nothing is collected. A walk that meets a better rank or order starts the pick anew.

use haleway_health::{Slot, Timestamp};

use crate::stats::Stats;
use crate::table::Member;

pub(super) trait Pick {
    /// Forgets every candidate offered so far.
    fn restart(&mut self);
    /// Offers a candidate; `weight` is its health weight.
    fn offer(&mut self, member: &Member, weight: f32);
    /// The pick; `None` when nothing was offered.
    fn take(&mut self) -> Option<Slot>;
}

/// The smallest weight: one that is in rotation is never starved by rounding.
const LEAST_WEIGHT: f32 = 1e-6;

/// Uniform numbers from one seed, one per step.
#[derive(Clone, Copy, Debug)]
struct Draws(u64);

impl Draws {
    /// `SplitMix64`.
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In 0 (included) to 1 (excluded).
    #[expect(clippy::cast_precision_loss, reason = "24 bits fit")]
    const fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u64 << 24) as f32
    }
}

/// A random pick by share.
#[derive(Clone, Copy, Debug, Default)]
struct Reservoir {
    total: f32,
    slot: Option<Slot>,
}

impl Reservoir {
    fn offer(&mut self, slot: Slot, share: f32, draw: f32) {
        if share > 0.0 {
            self.total += share;
            if draw * self.total < share {
                self.slot = Some(slot);
            }
        }
    }
}

/// simple-shuffle: a reservoir each for `weight`, `rpm`, `tpm` and even shares; the first that anyone fed wins.
#[derive(Debug)]
pub(super) struct Shuffle {
    draws: Draws,
    by_share: [Reservoir; 3],
    even: Reservoir,
}

impl Shuffle {
    pub(super) fn new(random: u64) -> Self {
        Self { draws: Draws(random), by_share: Default::default(), even: Reservoir::default() }
    }
}

impl Pick for Shuffle {
    fn restart(&mut self) {
        self.by_share = Default::default();
        self.even = Reservoir::default();
    }

    fn offer(&mut self, member: &Member, weight: f32) {
        let weight = weight.max(LEAST_WEIGHT);
        let draw = self.draws.unit();
        for (reservoir, share) in self.by_share.iter_mut().zip(member.shares) {
            reservoir.offer(member.slot, share * weight, draw);
        }
        self.even.offer(member.slot, weight, draw);
    }

    fn take(&mut self) -> Option<Slot> {
        self.by_share.iter().find_map(|reservoir| reservoir.slot).or(self.even.slot)
    }
}

/// The lowest score; equals by chance. (LiteLLM takes the first of equals in some strategies, which sends all
/// traffic of an idle group to one deployment.)
pub(super) struct Best<F> {
    score: F,
    draws: Draws,
    lowest: f32,
    equals: Reservoir,
    /// Used when chance left every candidate out.
    left_out: Reservoir,
}

impl<F: Fn(&Member) -> f32> Best<F> {
    pub(super) fn new(random: u64, score: F) -> Self {
        let (equals, left_out) = (Reservoir::default(), Reservoir::default());
        Self { score, draws: Draws(random), lowest: f32::INFINITY, equals, left_out }
    }
}

impl<F: Fn(&Member) -> f32> Pick for Best<F> {
    fn restart(&mut self) {
        (self.lowest, self.equals, self.left_out) =
            (f32::INFINITY, Reservoir::default(), Reservoir::default());
    }

    fn offer(&mut self, member: &Member, weight: f32) {
        let draw = self.draws.unit();
        if weight < 1.0 && draw >= weight.max(LEAST_WEIGHT) {
            self.left_out.offer(member.slot, weight.max(LEAST_WEIGHT), self.draws.unit());
            return;
        }
        let score = (self.score)(member);
        if score < self.lowest {
            (self.lowest, self.equals) = (score, Reservoir::default());
        }
        if score <= self.lowest {
            self.equals.offer(member.slot, 1.0, self.draws.unit());
        }
    }

    fn take(&mut self) -> Option<Slot> {
        self.equals.slot.or(self.left_out.slot)
    }
}

/// The better of two. Without configured shares the two are distinct, and health weight decides who takes part;
/// with shares each of the two is drawn by share times health weight, so that the shares hold on average.
pub(super) struct PowerOfTwo<'a, S: ?Sized> {
    stats: &'a S,
    now: Timestamp,
    draws: Draws,
    by_share: [[Reservoir; 2]; 3],
    pair: [Option<Slot>; 2],
    seen: u32,
    left_out: Reservoir,
}

/// First-token latency assumed of one that has requests in flight and never answered yet.
const PROBATION_MS: f32 = 1_000.0;

impl<'a, S: Stats + ?Sized> PowerOfTwo<'a, S> {
    pub(super) fn new(random: u64, stats: &'a S, now: Timestamp) -> Self {
        Self {
            stats,
            now,
            draws: Draws(random),
            by_share: Default::default(),
            pair: [None; 2],
            seen: 0,
            left_out: Reservoir::default(),
        }
    }

    /// Expected wait: latency to the first token, and what failures add, times the requests before this one.
    fn cost(&self, slot: Slot) -> f32 {
        let in_flight = self.stats.in_flight(slot);
        let unknown = if in_flight == 0 { 0.0 } else { PROBATION_MS };
        let latency = self.stats.first_token_ms(slot, self.now).unwrap_or(unknown).max(1.0);
        (latency + self.stats.penalty_ms(slot, self.now)) * super::count(in_flight.saturating_add(1))
    }

    fn better(&mut self, [one, other]: [Option<Slot>; 2]) -> Option<Slot> {
        let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
        let (cost_a, cost_b) = (self.cost(a), self.cost(b));
        let first = cost_a < cost_b || (cost_a <= cost_b && self.draws.next() & 1 == 0);
        Some(if first { a } else { b })
    }
}

impl<S: Stats + ?Sized> Pick for PowerOfTwo<'_, S> {
    fn restart(&mut self) {
        self.by_share = Default::default();
        (self.pair, self.seen, self.left_out) = ([None; 2], 0, Reservoir::default());
    }

    fn offer(&mut self, member: &Member, weight: f32) {
        let weight = weight.max(LEAST_WEIGHT);
        for (pair, share) in self.by_share.iter_mut().zip(member.shares) {
            if share > 0.0 {
                for reservoir in pair {
                    reservoir.offer(member.slot, share * weight, self.draws.unit());
                }
            }
        }
        if weight < 1.0 && self.draws.unit() >= weight {
            self.left_out.offer(member.slot, weight, self.draws.unit());
            return;
        }
        self.seen += 1;
        let place = if self.seen <= 2 {
            u64::from(self.seen - 1)
        } else {
            // Uniform in 0..seen without a division.
            ((u128::from(self.draws.next()) * u128::from(self.seen)) >> 64) as u64
        };
        if let Some(kept) = usize::try_from(place).ok().and_then(|place| self.pair.get_mut(place)) {
            *kept = Some(member.slot);
        }
    }

    fn take(&mut self) -> Option<Slot> {
        let shared = self.by_share.iter().map(|[a, b]| [a.slot, b.slot]).find(|[a, _]| a.is_some());
        self.better(shared.unwrap_or(self.pair)).or(self.left_out.slot)
    }
}
