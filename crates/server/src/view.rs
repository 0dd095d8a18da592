//! Health as routing reads it: one snapshot, translated slot by slot, nothing decided here.

use haleway_health as health;
use haleway_health::{Class, Slot, Snapshot};
use haleway_routing as routing;
use haleway_routing::{Admission, GroupRule, Why};

/// One health snapshot, seen by routing.
pub(crate) struct HealthView<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// The health core's number of each of routing's groups.
    pub(crate) groups: &'a [health::GroupIx],
    /// Whether a group waits for the soonest return instead of refusing, by routing's numbers.
    pub(crate) waits: &'a [bool],
}

impl routing::Health for HealthView<'_> {
    fn admission(&self, slot: Slot) -> Admission {
        let entry = self.snapshot.entry(slot);
        Admission { rank: rank(entry.rank), trial: entry.trial_open(), weight: entry.weight }
    }

    fn group(&self, group: routing::GroupIx) -> GroupRule {
        let index = group.0 as usize;
        let Some(view) = self.groups.get(index).and_then(|ix| self.snapshot.group(*ix)) else {
            return GroupRule::CALM;
        };
        GroupRule {
            last_resort: match view.last_resort {
                health::LastResort::Never => routing::LastResort::Never,
                health::LastResort::AfterFallback => routing::LastResort::AfterFallback,
                health::LastResort::AtOnce => routing::LastResort::AtOnce,
            },
            wait: self.waits.get(index).copied().unwrap_or(false),
            soonest_return: view.soonest_return,
        }
    }

    fn why(&self, slot: Slot) -> Why {
        let verdict = self.snapshot.verdict(slot);
        let cause = verdict.cause.map_or("", health::Cause::as_str);
        let code = match (self.snapshot.entry(slot).tier, verdict.state) {
            (_, health::State::ConfigFault) => "config_fault",
            (_, health::State::Budget) => Class::Billing.as_str(),
            (_, health::State::AdminDown | health::State::Draining) => "operator",
            (health::Tier::ProbeFailed, _) => "probe_failed",
            (health::Tier::Held, state) if state.eligible() => "held",
            (_, health::State::Trial) => "trial",
            (health::Tier::Held | health::Tier::Cooling | health::Tier::Never, _) => "cooldown",
            (health::Tier::In, _) => "in",
        };
        // The one class that always has the same status, and the one that callers look for.
        let limited = verdict.cause.and_then(health::Cause::class) == Some(Class::RateLimit);
        Why {
            code,
            cause,
            status: if limited { 429 } else { 0 },
            until: verdict.held_until.max(verdict.until),
        }
    }
}

const fn rank(rank: health::Rank) -> u8 {
    match rank {
        health::Rank::In => 0,
        health::Rank::Held => 1,
        health::Rank::Cooling => 2,
        health::Rank::ProbeFailed => 3,
        health::Rank::Out => Admission::OUT,
    }
}
