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
    const fn unit(&mut self) -> f32 {
        Self::unit_of(self.next())
    }

    /// The upper 24 bits as a uniform number.
    #[expect(clippy::cast_precision_loss, reason = "24 bits fit")]
    const fn unit_of(bits: u64) -> f32 {
        (bits >> 40) as f32 / (1_u64 << 24) as f32
    }

    /// Two uniform numbers for the price of one.
    const fn pair(&mut self) -> [f32; 2] {
        let bits = self.next();
        [Self::unit_of(bits), Self::unit_of(bits << 32)]
    }

    /// Whether chance leaves a candidate of this weight out.
    fn leaves_out(&mut self, weight: f32) -> bool {
        self.unit() >= weight.max(LEAST_WEIGHT)
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

/// Which of a member's shares counts: the first kind that any candidate has, else even shares.
#[derive(Clone, Copy, Debug)]
struct Kind(usize);

impl Kind {
    const EVEN: Self = Self(3);

    /// Whether `member` brings a kind that outranks the present one, which then takes its place. Candidates
    /// offered before have none of it, or it would have been taken already.
    #[inline]
    fn outranked_by(&mut self, member: &Member) -> bool {
        let own = member.shares.iter().take(self.0).position(|share| *share > 0.0);
        self.0 = own.unwrap_or(self.0);
        own.is_some()
    }

    /// The share of `member`, 0 when it has none of this kind.
    #[inline]
    fn share(self, member: &Member) -> f32 {
        member.shares.get(self.0).copied().unwrap_or(1.0)
    }
}

/// simple-shuffle: a pick by share.
#[derive(Debug)]
pub(super) struct Shuffle {
    draws: Draws,
    kind: Kind,
    pick: Reservoir,
}

impl Shuffle {
    pub(super) fn new(random: u64) -> Self {
        Self { draws: Draws(random), kind: Kind::EVEN, pick: Reservoir::default() }
    }
}

impl Pick for Shuffle {
    fn restart(&mut self) {
        (self.kind, self.pick) = (Kind::EVEN, Reservoir::default());
    }

    #[inline]
    fn offer(&mut self, member: &Member, weight: f32) {
        if self.kind.outranked_by(member) {
            self.pick = Reservoir::default();
        }
        let share = self.kind.share(member) * weight.max(LEAST_WEIGHT);
        self.pick.offer(member.slot, share, self.draws.unit());
    }

    fn take(&mut self) -> Option<Slot> {
        self.pick.slot
    }
}

/// The lowest score; equals by chance. (LiteLLM takes the first of equals in some strategies, which sends all
/// traffic of an idle group to one deployment.)
pub(super) struct Best<F> {
    score: F,
    draws: Draws,
    /// Scores up to this multiple of the lowest are equal to it.
    slack: f32,
    lowest: f32,
    equals: Reservoir,
    /// Score of the pick among `equals`.
    picked: f32,
    /// Used when chance left every candidate out.
    left_out: Reservoir,
}

impl<F: Fn(&Member) -> f32> Best<F> {
    pub(super) fn new(random: u64, score: F) -> Self {
        let (equals, left_out) = (Reservoir::default(), Reservoir::default());
        let (lowest, picked) = (f32::INFINITY, f32::INFINITY);
        Self { score, draws: Draws(random), slack: 1.0, lowest, equals, picked, left_out }
    }

    /// Takes everyone whose score exceeds the lowest by at most this share as its equal.
    pub(super) fn within(self, share: f32) -> Self {
        Self { slack: 1.0 + share, ..self }
    }
}

impl<F: Fn(&Member) -> f32> Pick for Best<F> {
    fn restart(&mut self) {
        (self.lowest, self.picked) = (f32::INFINITY, f32::INFINITY);
        (self.equals, self.left_out) = (Reservoir::default(), Reservoir::default());
    }

    #[inline]
    fn offer(&mut self, member: &Member, weight: f32) {
        if weight < 1.0 && self.draws.leaves_out(weight) {
            self.left_out.offer(member.slot, weight.max(LEAST_WEIGHT), self.draws.unit());
            return;
        }
        let score = (self.score)(member);
        if score < self.lowest {
            self.lowest = score;
            if self.picked > score * self.slack {
                (self.equals, self.picked) = (Reservoir { total: 1.0, slot: Some(member.slot) }, score);
                return;
            }
        }
        if score <= self.lowest * self.slack {
            self.equals.offer(member.slot, 1.0, self.draws.unit());
            if self.equals.slot == Some(member.slot) {
                self.picked = score;
            }
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
    kind: Kind,
    by_share: [Reservoir; 2],
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
            kind: Kind::EVEN,
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
        (self.kind, self.by_share) = (Kind::EVEN, Default::default());
        (self.pair, self.seen, self.left_out) = ([None; 2], 0, Reservoir::default());
    }

    #[inline]
    fn offer(&mut self, member: &Member, weight: f32) {
        if self.kind.outranked_by(member) {
            self.by_share = Default::default();
        }
        if self.kind.0 < Kind::EVEN.0 {
            let share = self.kind.share(member) * weight.max(LEAST_WEIGHT);
            for (reservoir, draw) in self.by_share.iter_mut().zip(self.draws.pair()) {
                reservoir.offer(member.slot, share, draw);
            }
            return;
        }
        if weight < 1.0 && self.draws.leaves_out(weight) {
            self.left_out.offer(member.slot, weight.max(LEAST_WEIGHT), self.draws.unit());
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
        if self.kind.0 < Kind::EVEN.0 {
            return self.better(self.by_share.map(|reservoir| reservoir.slot));
        }
        self.better(self.pair).or(self.left_out.slot)
    }
}
