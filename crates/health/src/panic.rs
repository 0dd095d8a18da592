//! What a group offers when too few of its deployments are in, decided by cause.
//!
//! Each member comes with the tier its own machine gave it. Here the rules of the group are laid over them,
//! in this order:
//!
//! 1. **Ejection cap**: of the members isolated by inference from traffic, only the first
//!    `floor(members * cap)` (by time of isolation; at least one with the switch) stay out, the others are
//!    spared. The cap is checked on the state after the ejection. A failed probe or a known cause is exempt.
//! 2. **Lone deployment**: the only member of a group without a fallback is never refused for inferred
//!    failures: there is nothing better to offer, and a probe or a counter may be wrong.
//! 3. **All out**: no member is in. `try_best` offers the others graded by cause, `wait` and `fail` none.
//! 4. **Panic**: the share of available weight is below the threshold. `spread` puts back everything that was
//!    only inferred; `refuse` protects the survivors; `off` uses them.
//!
//! Members nobody has evidence for yet are usable but count on neither side of the share, so that adding six
//! unprobed members to two healthy ones is no panic, and one dead beside one untried is none either. Members taken out by an operator do not count either:
//! that is a wish, not a sign of wrong health data. Out for auth, billing, a missing model or by an operator
//! stays out whatever happens; a stated wait that still runs is a known cause too and is not spread over,
//! but is the best of the last resorts.

use crate::snapshot::{GroupReason, GroupState, LastResort, PanicState, Rank};
use crate::{AllOut, PanicMode, PanicParams, Tier, Timestamp};

/// What the group rules need to know of one member, and what they answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// What its machine (and its fault domains) say.
    pub(crate) tier: Tier,
    /// Its weight in the share.
    pub(crate) share: f32,
    /// Nothing is known about it yet.
    pub(crate) unproven: bool,
    /// An operator took it out.
    pub(crate) by_operator: bool,
    /// Whether it may be refused for inferred failures even when it is alone.
    pub(crate) isolate_lone: bool,
    /// Since when it is in its state.
    pub(crate) since: Timestamp,
    /// When it is back at the earliest, when it is out and that is known.
    pub(crate) returns: Option<Timestamp>,
    /// The answer: how routing may use it.
    pub(crate) rank: Rank,
    /// The answer: it would be out but for a rule of the group.
    pub(crate) spared: bool,
}

/// Whether a tier rests on inference: counters, ratios, failed probes.
const fn inferred(tier: Tier) -> bool {
    matches!(tier, Tier::Cooling | Tier::ProbeFailed)
}

const fn graded(tier: Tier) -> Rank {
    match tier {
        Tier::In => Rank::In,
        Tier::Held => Rank::Held,
        Tier::Cooling => Rank::Cooling,
        Tier::ProbeFailed => Rank::ProbeFailed,
        Tier::Never => Rank::Out,
    }
}

/// Lays the group's rules over `members` and says what the group is in.
pub(crate) fn compose(members: &mut [Member], panic: &PanicParams, has_fallback: bool) -> GroupState {
    let capped = cap_ejections(members, panic);
    let lone = spare_lone(members, has_fallback);
    for member in members.iter_mut() {
        member.rank = if member.spared { Rank::In } else { graded(member.tier) };
    }
    let last_resort = match (panic.all_out, has_fallback) {
        (AllOut::TryBest, false) => LastResort::AtOnce,
        (AllOut::TryBest, true) => LastResort::AfterFallback,
        (AllOut::Wait | AllOut::Fail, _) => LastResort::Never,
    };
    let mut state = GroupState {
        panic: PanicState::Calm,
        reason: match (lone, capped) {
            (true, _) => GroupReason::Lone,
            (false, true) => GroupReason::EjectionCap,
            (false, false) => GroupReason::None,
        },
        last_resort,
        soonest_return: None,
    };
    let usable = members.iter().any(|member| member.rank == Rank::In);
    if !usable && !members.is_empty() {
        state.panic = PanicState::AllOut;
        state.reason = GroupReason::NoneLeft;
    } else if share_in(members) < panic.threshold {
        state.reason = GroupReason::BelowThreshold;
        state.panic = apply(members, panic.mode);
    }
    if last_resort == LastResort::Never {
        for member in members.iter_mut().filter(|member| member.rank != Rank::In) {
            member.rank = Rank::Out;
        }
    }
    state.soonest_return =
        members.iter().filter(|member| member.rank != Rank::In).filter_map(|member| member.returns).min();
    state
}

/// Spares the members whose isolation would go over the cap; answers whether any was.
fn cap_ejections(members: &mut [Member], panic: &PanicParams) -> bool {
    let Some(cap) = panic.ejection_cap else { return false };
    let count = members.len();
    // The small addend undoes f32 representation error, so that 3 members at 67 % are 2 and 10 at 0.7 are 7.
    let share = (f64::from(cap.clamp(0.0, 1.0)) * count as f64 + 1e-6).floor() as usize;
    let allowed = share.max(usize::from(panic.eject_at_least_one));
    let mut isolated: Vec<(Timestamp, usize)> = members
        .iter()
        .enumerate()
        .filter(|(_, member)| member.tier == Tier::Cooling)
        .map(|(index, member)| (member.since, index))
        .collect();
    isolated.sort_unstable();
    for &(_, index) in isolated.iter().skip(allowed) {
        if let Some(member) = members.get_mut(index) {
            member.spared = true;
        }
    }
    isolated.len() > allowed
}

/// Spares the only member of a group that has nowhere else to go; answers whether it was.
fn spare_lone(members: &mut [Member], has_fallback: bool) -> bool {
    match members {
        [only] if !has_fallback && !only.isolate_lone && inferred(only.tier) => {
            only.spared = true;
            true
        }
        _ => false,
    }
}

/// The share of weight that is in, 0 to 1, among members that count. It is 1 when none counts, and when none
/// of those that count is in but an unproven one is: nothing says yet that too few are in.
fn share_in(members: &[Member]) -> f32 {
    let (mut inside, mut all) = (0.0, 0.0);
    for member in members.iter().filter(|member| !member.unproven && !member.by_operator) {
        all += member.share;
        if member.rank == Rank::In {
            inside += member.share;
        }
    }
    let untested = members.iter().any(|member| member.unproven && member.rank == Rank::In);
    if all > 0.0 && (inside > 0.0 || !untested) { inside / all } else { 1.0 }
}

fn apply(members: &mut [Member], mode: PanicMode) -> PanicState {
    match mode {
        PanicMode::Off => PanicState::Calm,
        PanicMode::Refuse => {
            for member in members {
                member.rank = Rank::Out;
            }
            PanicState::Refuse
        }
        PanicMode::Spread => {
            for member in members.iter_mut().filter(|member| inferred(member.tier)) {
                member.rank = Rank::In;
                member.spared = true;
            }
            PanicState::Spread
        }
    }
}

#[cfg(test)]
mod tests;
