//! What each pod decides by itself: whether to claim now, whether a permit may still be used, whose evidence counts.
//!
//! Pure code: time, answers and messages are arguments. None of it is needed for safety, which is the store's
//! ([`crate::book`]); it keeps claims few, spreads who probes, and takes a pod that is itself ill out of the game.
//!
//! - **Who tries first**: every pod computes the same order of pods for a deployment ([`Members::rank`]) and waits
//!   [`RANK_STEP`] per place. A wrong view of who is there costs delay, never a probe.
//! - **Second witness**: after a failed probe, the pod that saw it goes to the end of the order, so that the next probe
//!   of the doubt is another pod's.
//! - **Half an interval** after the latest grant it heard of a pod does not claim at all, so that a store whose clock
//!   jumps ahead shortens no spacing by more than half.
//! - **Use-by**: an answer that took longer than [`crate::USE_WITHIN`] from the start of the claim is not used.

mod fitness;
mod known;
mod link;
mod members;
mod role;
pub mod traffic;
mod witness;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::Timestamp;

pub use fitness::Fitness;
pub use link::{Line, Link, Step, Trouble};
pub use members::{Beat, HEARTBEAT, Members};
pub use role::{Role, UnknownRole};
pub use witness::{Certainty, Reach, Witnesses};

use crate::book::{Answer, Terms};
use crate::id::hash;
use crate::{Ask, MIN_GAP, Permit, PodId};
use known::Known;

/// How much later each place in the order tries.
pub const RANK_STEP: Duration = Duration::from_secs(2);
/// Tries are spread by up to this much to either side, and never before they are due.
const JITTER: Duration = Duration::from_millis(500);
/// The first grant of a deployment without a record waits at most this long on a first install.
const FIRST_MOMENT: Duration = Duration::from_secs(5);
/// When a pod that may not claim now asks itself again.
const RECONSIDER: Duration = Duration::from_secs(1);
/// When a pod whose claim failed tries again, at the earliest.
const RETRY: Duration = Duration::from_secs(2);
/// A deployment is unwatched when its latest verdict is older than this many intervals.
const UNWATCHED_AFTER: u32 = 3;

/// Whether to claim now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Yes.
    Claim,
    /// Not before then.
    Wait(Timestamp),
    /// This pod claims nothing for now; ask again then.
    Abstain(Abstain, Timestamp),
}

/// Why a pod claims nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abstain {
    /// Its role is to serve.
    Role,
    /// The store does not answer, or came back a moment ago.
    Store,
    /// Its own health is in doubt.
    Unwell,
}

/// What the answer to a claim means here.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// One probe may be sent, soon.
    Granted(Permit),
    /// The answer came too late: the permit is not used, and nobody gets one until its hold ends.
    TooLate {
        /// The fencing token that is lost.
        seq: u64,
    },
    /// No probe before then.
    Wait(Timestamp),
}

/// A verdict that another pod, or this one, committed.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// Who probed.
    pub observer: &'a PodId,
    /// The number of the grant: a verdict that is read again is known by it, whatever the store's clock did since.
    pub seq: u64,
    /// How long ago the permit was granted, when the store answered.
    pub age: Duration,
    /// Whether the deployment passed.
    pub passed: bool,
    /// Time until the next grant is due.
    pub next: Duration,
}

/// The state of one pod.
#[derive(Debug)]
pub struct Pod {
    me: PodId,
    role: Role,
    seed: u64,
    members: Members,
    fitness: Fitness,
    link: Link,
    known: HashMap<Arc<str>, Known>,
}

impl Pod {
    /// A pod that has just started. `seed` decides its jitter.
    pub fn new(me: PodId, role: Role, seed: u64) -> Self {
        Self {
            members: Members::new(me.clone(), role),
            fitness: Fitness::new(),
            link: Link::new(),
            known: HashMap::new(),
            me,
            role,
            seed,
        }
    }

    /// This pod's name.
    pub const fn id(&self) -> &PodId {
        &self.me
    }

    /// Who is there.
    pub const fn members(&self) -> &Members {
        &self.members
    }

    /// Takes in a heartbeat of another pod.
    pub fn beat(&mut self, now: Timestamp, pod: &PodId, beat: Beat) {
        self.members.beat(now, pod, beat);
    }

    /// The connection to the store.
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// The connection to the store, to be told what happened to it.
    pub const fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    /// This pod's own health.
    pub const fn fitness(&self) -> &Fitness {
        &self.fitness
    }

    /// This pod's own health, to be told of lags and slow claims.
    pub const fn fitness_mut(&mut self) -> &mut Fitness {
        &mut self.fitness
    }

    /// Whether this pod has heard of a grant that is older than its interval: what it says of itself in its heartbeat.
    /// On a first install nobody has, until the first round is over.
    pub fn informed(&self, now: Timestamp) -> bool {
        self.known.values().any(|known| known.informed(now))
    }

    /// The wait for the first grant of a deployment that the store has no record of: a moment on a first install, where
    /// the planner's phases spread the claims already, else a whole interval, because the record may have been lost just
    /// after a grant.
    pub fn first_touch(&self, now: Timestamp, ask: &Ask<'_>) -> Duration {
        if self.informed(now) || self.members.informed(now) {
            return ask.interval;
        }
        let moment = (ask.interval / 8).min(FIRST_MOMENT);
        Duration::from_millis(hash(ask.deployment, self.seed) % millis(moment).max(1))
    }

    /// The terms on which this pod claims. In a fleet a trial or a confirmation, which a pod spaces by rules of its own,
    /// keeps [`crate::MIN_GAP`] from probes of others, who come to the same conclusion at the same time.
    pub fn terms(&self, now: Timestamp, ask: &Ask<'_>, split_brain: Duration) -> Terms {
        let alone = self.members.live(now).nth(1).is_none();
        let interval = if alone { ask.interval } else { ask.interval.max(MIN_GAP) };
        Terms { interval, hold: ask.hold, first_touch: self.first_touch(now, ask), split_brain }
    }

    /// Whether to claim a permit on these terms now.
    pub fn turn(&mut self, now: Timestamp, ask: &Ask<'_>) -> Turn {
        let abstain = |why| Turn::Abstain(why, now + RECONSIDER);
        if !self.role.claims() {
            return abstain(Abstain::Role);
        }
        if !self.link.open(now) {
            return abstain(Abstain::Store);
        }
        if self.fitness.abstains(now) {
            return abstain(Abstain::Unwell);
        }
        let known = self.known.entry(Arc::clone(ask.deployment)).or_default();
        let rank = self.members.rank(now, ask.deployment, known.doubted_by());
        let due = known.due(now, ask.interval);
        let spread = hash(ask.deployment, self.seed ^ due.as_millis()) % (2 * millis(JITTER));
        let delay = RANK_STEP * rank + ask.interval * u32::from(self.fitness.score(now));
        let at = (due + delay + Duration::from_millis(spread) - JITTER).max(due);
        let at = known.half_interval_on(ask.interval).map_or(at, |half| at.max(half));
        if now < at { Turn::Wait(at) } else { Turn::Claim }
    }

    /// Takes in the answer to a claim that was started at `started` and came at `now`, both on a clock that goes on while
    /// the machine sleeps.
    pub fn answered(
        &mut self,
        started: Timestamp,
        now: Timestamp,
        ask: &Ask<'_>,
        answer: &Answer,
    ) -> Outcome {
        self.fitness.claimed(now, started.until(now));
        let known = self.known.entry(Arc::clone(ask.deployment)).or_default();
        match *answer {
            Answer::Grant { seq, next } => {
                known.granted(started, next);
                let permit = Permit::new(seq, Arc::clone(ask.deployment), started);
                if now > permit.use_by() { Outcome::TooLate { seq } } else { Outcome::Granted(permit) }
            }
            Answer::Touch { wait } | Answer::Wait { wait } | Answer::Quarantine { wait } => {
                known.wait_until(now + wait, ask.interval);
                Outcome::Wait(now + wait)
            }
        }
    }

    /// Notes that a claim was not answered. Whether it was granted nobody knows, so it counts as not granted to us.
    pub fn unanswered(&mut self, started: Timestamp, now: Timestamp, ask: &Ask<'_>) -> Timestamp {
        self.fitness.claimed(now, started.until(now));
        let known = self.known.entry(Arc::clone(ask.deployment)).or_default();
        known.wait_until(now + RETRY, ask.interval);
        now + RETRY
    }

    /// Takes in a verdict that a call to the store brought. `asked` is when that call was *started*: an answer that was
    /// long on its way, or lay unread while this pod stood still, must not look younger than it is. So a push is best
    /// taken as a reason to read.
    pub fn heard(&mut self, asked: Timestamp, deployment: &Arc<str>, heard: &Heard<'_>) {
        let mine = *heard.observer == self.me;
        let known = self.known.entry(Arc::clone(deployment)).or_default();
        if !known.heard(asked, heard) {
            return;
        }
        match known.compare(mine, asked - heard.age, heard.passed) {
            Some(true) => self.fitness.agreed(asked),
            Some(false) => self.fitness.contradicted(asked),
            None => {}
        }
    }

    /// How old the latest verdict of a deployment is, once per silence of three intervals: a prober that died, or
    /// probers that all abstain, are noticed by any pod.
    pub fn unwatched(&mut self, now: Timestamp, ask: &Ask<'_>) -> Option<Duration> {
        let known = self.known.entry(Arc::clone(ask.deployment)).or_default();
        known.unwatched(now, ask.interval * UNWATCHED_AFTER)
    }

    /// Forgets deployments that are gone, after a reload.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.known.retain(|deployment, _| keep(deployment));
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
