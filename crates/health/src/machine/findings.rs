//! What the machine knows, for those who show it.

use super::{Counts, Machine};
use crate::transition::{Observation, Passage};
use crate::{Cause, Generation, Params, Scope, Source, State, Timestamp, TrialLease};

/// Everything that a page or a metric shows of one deployment, at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Findings {
    /// State.
    pub state: State,
    /// Since when.
    pub since: Timestamp,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    /// Why.
    pub cause: Cause,
    /// What the cause applies to.
    pub scope: Scope,
    /// Where the deciding evidence came from.
    pub source: Option<Source>,
    /// The youngest evidence.
    pub latest: Option<Observation>,
    /// The youngest evidence of a probe.
    pub last_probe: Option<Observation>,
    /// Failed probes in a row.
    pub probe_run: u32,
    /// Hard failures of traffic in a row.
    pub traffic_run: u32,
    /// Sightings of a configuration fault since the last good answer.
    pub sightings: u32,
    /// The window of traffic.
    pub window: Counts,
    /// Isolations in a row.
    pub step: u8,
    /// End of the hold that a 429 or 529 asked for, while it runs.
    pub held_until: Option<Timestamp>,
    /// Trials granted.
    pub trials_granted: u32,
    /// Trials whose verdict never came.
    pub trials_lost: u32,
    /// Requests are in flight without output for too long.
    pub wedged: bool,
    /// Changes of state since the machine was made.
    pub transitions: u32,
}

impl Machine {
    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Since when it is in this state.
    pub const fn since(&self) -> Timestamp {
        self.since
    }

    /// When the state ends by itself, if that is known; in a trial, when the next attempt is possible.
    pub fn until(&self) -> Option<Timestamp> {
        if self.state == State::Trial {
            return match &self.trial {
                Some(lease) => Some(lease.deadline),
                None => Some(self.next_trial).filter(|next| *next > Timestamp::default()),
            };
        }
        self.ends().then_some(self.until)
    }

    /// Why it is in this state; `None` in the state it started in.
    pub fn cause(&self) -> Option<Cause> {
        Some(self.cause).filter(|cause| *cause != Cause::Start)
    }

    /// What the cause applies to.
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// Where the deciding evidence came from; `None` when time, an operator or another deployment decided.
    pub const fn source(&self) -> Option<Source> {
        self.source
    }

    /// The generation that attempts starting now carry.
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// When the youngest evidence was sent; `None` before the first.
    pub fn sent_at(&self) -> Option<Timestamp> {
        self.latest.map(|latest| latest.sent_at).max(self.known_sent_at)
    }

    /// The youngest evidence.
    pub const fn latest(&self) -> Option<&Observation> {
        self.latest.as_ref()
    }

    /// The youngest evidence of a probe.
    pub const fn last_probe(&self) -> Option<&Observation> {
        self.last_probe.as_ref()
    }

    /// Until when a stated or assumed wait holds traffic off; zero before the first.
    pub(crate) const fn hold_until(&self) -> Timestamp {
        self.hold_until
    }

    /// Whether a hold runs, or is over, that no success has confirmed.
    pub(crate) const fn hold_probation(&self) -> bool {
        self.hold_probation
    }

    /// The wait that the provider stated, where the hold is shorter than that because of `hold_max`.
    pub fn hold_clamped(&self) -> Option<std::time::Duration> {
        self.hold_clamped
    }

    /// The trial that is out.
    pub const fn trial(&self) -> Option<&TrialLease> {
        self.trial.as_ref()
    }

    /// What an operator said about the present command.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The numbers it obeys.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The latest transitions, oldest first; at most [`HISTORY`](crate::HISTORY).
    pub fn history(&self) -> impl Iterator<Item = Passage> + '_ {
        self.history.iter()
    }

    /// Everything at once.
    pub fn findings(&self, now: Timestamp) -> Findings {
        Findings {
            state: self.state,
            since: self.since,
            until: self.until(),
            cause: self.cause,
            scope: self.scope,
            source: self.source,
            latest: self.latest,
            last_probe: self.last_probe,
            probe_run: self.probe_run,
            traffic_run: self.traffic_run,
            sightings: self.sightings,
            window: self.window.counts(now),
            step: self.step,
            held_until: Some(self.hold_until).filter(|end| *end > now),
            trials_granted: self.granted,
            trials_lost: self.lost,
            wedged: self.wedged,
            transitions: self.history.total(),
        }
    }

    /// Whether the weight changes by itself at `now`: during the ramp, while a share returns after a hold,
    /// while a slow spell leaves the window. Who publishes weights looks again soon.
    pub fn weight_moves(&self, now: Timestamp) -> bool {
        let recovering = now >= self.hold_until && now < self.load_recovered();
        match self.state {
            State::Ramping => true,
            State::Unknown | State::Healthy | State::Suspect => {
                recovering || self.is_slow(self.window.counts(now))
            }
            State::Isolated
            | State::Trial
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => false,
        }
    }
}
