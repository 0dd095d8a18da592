//! One call, one budget: after each failed attempt, what next?
//!
//! In this order:
//! 1. another deployment of the group, at once; a retry, unless the last one was dead for every call
//!    (credential, account, model) or a trial, which costs nothing;
//! 2. the same deployment again, after a wait; not after a timeout or against a stated wait while there is
//!    anywhere else to go;
//! 3. the next fallback group that has someone in rotation;
//! 4. last-resort candidates of the groups passed over;
//! 5. what step 2 put off;
//! 6. where the group's rule is to wait: whoever asked to wait, once it is back.
//!
//! Every group may use `num_retries` (or what `retry_policy` says of the class), but waits for the same target
//! are counted over the whole call, no group is entered twice, and everything ends at the call's deadline. So the
//! attempts of a call are at most (1 + `num_retries`) per group entered, whatever the fallbacks look like.
//! Health is read anew before each attempt. A plan decides; it neither waits nor sends.

mod again;
mod groups;

use std::time::Duration;

use haleway_health::{Class, Slot, Timestamp};

use crate::failure::{Cost, Failure};
use crate::refusal::Refusal;
use crate::select::{Choice, Facts, Query, Reach, Skipped};
use crate::share::RetryShare;
use crate::stats::Stats;
use crate::table::{GroupIx, Hop, Resolution, Table};
use crate::view::{Health, LastResort};

use groups::Groups;

/// Dead targets that one call may walk past for free.
const FREE_MOVES_MAX: u32 = 32;

/// What a plan reads: one table for the whole call, one health snapshot per decision.
#[derive(Debug)]
pub struct View<'a, H: ?Sized, S: ?Sized> {
    /// The table that the call was resolved with.
    pub table: &'a Table,
    /// The newest health snapshot.
    pub health: &'a H,
    /// Load and speed.
    pub stats: &'a S,
    /// The share of traffic that may be retries; `None` = no limit.
    pub retries: Option<&'a RetryShare>,
}

/// What the call itself asks for.
#[derive(Clone, Debug, Default)]
pub struct Call<'a> {
    /// The name that was asked for.
    pub model: &'a str,
    /// What selection must know.
    pub facts: Facts<'a>,
    /// The caller's `num_retries`, which outranks the router's.
    pub num_retries: Option<u32>,
    /// The caller's `fallbacks`, which replace the configured ones.
    pub fallbacks: Option<Vec<Hop>>,
    /// The caller's `disable_fallbacks`.
    pub disable_fallbacks: bool,
    /// When the whole call must have ended.
    pub deadline: Option<Timestamp>,
    /// Until when the call may wait for somebody's return (`all_out: wait`) when it has no such deadline: its own
    /// timeout. `None` = it waits only within its deadline.
    pub patience: Option<Timestamp>,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send an attempt.
    Try(Attempt),
    /// Nobody can serve now, and the group's rule is to wait until then; afterwards ask again, without a failure.
    Wait {
        /// When somebody is expected back.
        until: Timestamp,
    },
    /// The call is over.
    GiveUp(GiveUp),
}

/// An attempt to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The deployment.
    pub slot: Slot,
    /// Its group.
    pub group: GroupIx,
    /// The wait before sending.
    pub wait: Duration,
    /// A trial lease must be claimed first; if it cannot be, call [`CallPlan::trial_refused`].
    pub trial: bool,
    /// Health rank when it was chosen: 0 = in rotation, else a last resort.
    pub rank: u8,
}

/// Why a call is over. After at least one attempt the caller gets the last failure, except for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// No attempt was possible: see [`CallPlan::refusal`].
    Refused,
    /// The budget of retries is used up, or nobody is left to try.
    Exhausted,
    /// No other attempt could end differently.
    NotRetryable,
    /// The deadline leaves no time.
    OutOfTime,
    /// Too large a share of the traffic is retries already.
    RetryShare,
    /// The gateway itself could not make the request: no health change, no other target.
    Local,
    /// The caller left.
    Cancelled,
}

impl GiveUp {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Exhausted => "retries_exhausted",
            Self::NotRetryable => "not_retryable",
            Self::OutOfTime => "deadline",
            Self::RetryShare => "retry_share",
            Self::Local => "local",
            Self::Cancelled => "cancelled",
        }
    }
}

/// An attempt that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What was tried.
    pub attempt: Attempt,
    /// How it failed.
    pub failure: Failure,
}

/// The plan of one call.
#[derive(Debug)]
pub struct CallPlan<'a> {
    call: Call<'a>,
    groups: Groups,
    current: Option<Attempt>,
    /// Failed attempts, in order. Empty, and without memory, while nothing failed.
    trail: Vec<Failed>,
    tried: Vec<Slot>,
    /// Retries in the present group.
    retries: u32,
    /// Retries of a target already tried, in the whole call.
    repeats: u32,
    free_moves: u32,
    trials: bool,
    /// The call sat out a wait, so it may find out whether it was long enough.
    waited: bool,
    share_refused: bool,
    counted: bool,
}

impl<'a> CallPlan<'a> {
    /// The plan of a call whose model resolved to `resolution`.
    pub fn new(call: Call<'a>, resolution: &Resolution<'_>) -> Self {
        Self {
            call,
            groups: Groups::new(resolution.group, resolution.only),
            current: None,
            trail: Vec::new(),
            tried: Vec::new(),
            retries: 0,
            repeats: 0,
            free_moves: 0,
            trials: true,
            waited: false,
            share_refused: false,
            counted: false,
        }
    }

    /// What to do now. `last` is how the attempt of the last step failed; `None` at first, and after a wait or a
    /// refused trial. `random` is fresh for each step.
    pub fn next<H: Health + ?Sized, S: Stats + ?Sized>(
        &mut self,
        now: Timestamp,
        random: u64,
        last: Option<&Failure>,
        view: &View<'_, H, S>,
    ) -> Step {
        let failed =
            last.and_then(|failure| Some(Failed { attempt: self.current.take()?, failure: *failure }));
        self.current = None;
        if let (false, Some(share)) = (std::mem::replace(&mut self.counted, true), view.retries) {
            share.call();
        }
        if let Some(failed) = failed {
            self.trail.push(failed);
            self.tried.push(failed.attempt.slot);
            let failure = failed.failure;
            if failure.class == Class::Cancelled {
                return Step::GiveUp(GiveUp::Cancelled);
            }
            if failure.class == Class::Local && !failure.retry_other {
                return Step::GiveUp(GiveUp::Local);
            }
        }
        if self.call.deadline.is_some_and(|deadline| deadline <= now) {
            return Step::GiveUp(GiveUp::OutOfTime);
        }
        self.share_refused = false;
        let moment = Moment { now, random, view };
        let step = match failed {
            None => self.first(&moment),
            Some(failed) => self.after(&failed, &moment),
        };
        if let Step::Try(attempt) = step {
            self.current = Some(attempt);
        }
        step
    }

    /// The lease of the trial that the last step named was not to be had: ask again, without a failure.
    pub const fn trial_refused(&mut self) {
        self.trials = false;
        self.current = None;
    }

    /// Leaves a deployment out of this call, as if it had been tried.
    pub fn exclude(&mut self, slot: Slot) {
        self.tried.push(slot);
        self.current = None;
    }

    /// Attempts that failed, in order.
    pub fn trail(&self) -> &[Failed] {
        &self.trail
    }

    /// The name that the present attempt serves: the one asked for, or that of a fallback.
    pub fn model(&self) -> &str {
        self.groups.model().unwrap_or(self.call.model)
    }

    /// Fallback groups entered.
    pub const fn fallbacks_entered(&self) -> u32 {
        self.groups.entered()
    }

    /// The model to put on the wire for `slot` when its configured model holds wildcards.
    pub fn wire_model(&self, table: &Table, slot: Slot) -> Option<String> {
        let resolution = table.resolve(self.model()).ok()?;
        table.wire_model(slot, &resolution.captures)
    }

    /// Why deployments of the present group were passed over; allocates.
    pub fn skipped<H: Health + ?Sized, S: Stats + ?Sized>(
        &self,
        now: Timestamp,
        view: &View<'_, H, S>,
    ) -> Vec<Skipped> {
        let (group, only) = self.groups.here();
        let query = self.query(group, only, Reach::InRotation, &Moment { now, random: 0, view });
        view.table.explain_skips(&query, self.current.map(|attempt| attempt.slot), view.health, view.stats)
    }

    /// What a caller is told when no attempt was possible.
    pub fn refusal<H: Health + ?Sized, S: Stats + ?Sized>(
        &self,
        now: Timestamp,
        view: &View<'_, H, S>,
    ) -> Refusal {
        let (group, only) = self.groups.start();
        let query = self.query(group, only, Reach::LastResort, &Moment { now, random: 0, view });
        let skipped = view.table.explain_skips(&query, None, view.health, view.stats);
        let soonest = view.health.group(group).soonest_return;
        Refusal::of(view.table.group_name(group).into(), skipped, soonest, now)
    }

    fn query<'q, H: ?Sized, S: ?Sized>(
        &'q self,
        group: GroupIx,
        only: Option<Slot>,
        reach: Reach,
        moment: &Moment<'_, H, S>,
    ) -> Query<'q> {
        Query {
            group,
            only,
            facts: self.call.facts,
            tried: &self.tried,
            reach,
            trials: self.trials && (self.trail.is_empty() || self.waited),
            now: moment.now,
            random: moment.random,
        }
    }

    fn select<H: Health + ?Sized, S: Stats + ?Sized>(
        &self,
        (group, only): (GroupIx, Option<Slot>),
        reach: Reach,
        moment: &Moment<'_, H, S>,
    ) -> Option<Choice> {
        let query = self.query(group, only, reach, moment);
        moment.view.table.select(&query, moment.view.health, moment.view.stats)
    }

    /// The first attempt, or the first after a wait.
    fn first<H: Health + ?Sized, S: Stats + ?Sized>(&mut self, moment: &Moment<'_, H, S>) -> Step {
        self.groups.restart();
        let here = self.groups.here();
        if let Some(choice) = self.select(here, moment.reach(here.0), moment) {
            return moment.attempt(here.0, choice, Duration::ZERO);
        }
        self.groups.defer_here();
        self.fall_back(Class::Ok, moment)
            .or_else(|| self.last_resort(moment))
            .or_else(|| self.wait_for_return(moment))
            .unwrap_or(Step::GiveUp(if self.trail.is_empty() { GiveUp::Refused } else { GiveUp::Exhausted }))
    }

    /// The attempt after a failed one.
    fn after<H: Health + ?Sized, S: Stats + ?Sized>(
        &mut self,
        failed: &Failed,
        moment: &Moment<'_, H, S>,
    ) -> Step {
        let failure = &failed.failure;
        let here = self.groups.here();
        if let Some(step) = self.sibling(failed, moment.reach(here.0), moment) {
            return step;
        }
        let put_off = failure.class == Class::Timeout || failure.retry_after.is_some();
        if !put_off && let Some(step) = self.again(failed, moment) {
            return step;
        }
        if let Some(step) = self.fall_back(failure.class, moment) {
            return step;
        }
        if moment.view.health.group(here.0).last_resort != LastResort::Never
            && let Some(step) = self.sibling(failed, Reach::LastResort, moment)
        {
            return step;
        }
        if let Some(step) = self.last_resort(moment) {
            return step;
        }
        if put_off && let Some(step) = self.again(failed, moment) {
            return step;
        }
        if let Some(step) = self.sit_out(failed, moment) {
            return step;
        }
        let retryable = failure.retry_same || failure.retry_other;
        Step::GiveUp(if self.share_refused {
            GiveUp::RetryShare
        } else if retryable {
            GiveUp::Exhausted
        } else {
            GiveUp::NotRetryable
        })
    }

    /// Another deployment of the same group, at once.
    fn sibling<H: Health + ?Sized, S: Stats + ?Sized>(
        &mut self,
        failed: &Failed,
        reach: Reach,
        moment: &Moment<'_, H, S>,
    ) -> Option<Step> {
        let here = self.groups.here();
        let free = failed.failure.cost() == Cost::Free || failed.attempt.trial;
        let stated = self.stated(&failed.failure, here.0, moment.view.table);
        if !(failed.failure.retry_other || stated.is_some()) {
            return None;
        }
        let left = if free { self.free_moves < FREE_MOVES_MAX } else { self.retry_left(failed, moment) };
        if !left {
            return None;
        }
        let choice = self.select(here, reach, moment)?;
        if free {
            self.free_moves += 1;
        } else {
            if !self.pay(moment) {
                return None;
            }
            self.retries += 1;
        }
        Some(moment.attempt(here.0, choice, Duration::ZERO))
    }

    /// The retries that a policy states for this class of failure in `group`.
    fn stated(&self, failure: &Failure, group: GroupIx, table: &Table) -> Option<u32> {
        table.retry_policy(group).retries(failure.class)
    }

    /// Retries that this class of failure allows in the present group.
    fn allowed(&self, failure: &Failure, table: &Table) -> u32 {
        let usual = self.call.num_retries.or(table.settings().num_retries);
        self.stated(failure, self.groups.here().0, table)
            .or(usual)
            .unwrap_or(crate::input::DEFAULT_NUM_RETRIES)
    }

    fn retry_left<H: ?Sized, S: ?Sized>(&self, failed: &Failed, moment: &Moment<'_, H, S>) -> bool {
        self.retries < self.allowed(&failed.failure, moment.view.table)
    }

    /// Takes a retry out of the share of traffic that may be retries.
    fn pay<H: ?Sized, S: ?Sized>(&mut self, moment: &Moment<'_, H, S>) -> bool {
        let paid = moment.view.retries.is_none_or(|share| share.take(moment.now));
        self.share_refused |= !paid;
        paid
    }

    /// Waiting for a member of the group that was asked for, when that is its rule and the deadline allows.
    fn wait_for_return<H: Health + ?Sized, S: ?Sized>(&mut self, moment: &Moment<'_, H, S>) -> Option<Step> {
        /// A return that is due already needs the next snapshot; asking at once would spin.
        const LEAST: Duration = Duration::from_millis(100);
        let rule = moment.view.health.group(self.groups.start().0);
        let until = rule.soonest_return.filter(|_| rule.wait)?.max(moment.now + LEAST);
        let limit = self.call.deadline.or(self.call.patience)?;
        if until >= limit {
            return None;
        }
        // The lease that was not to be had may be free by then.
        self.trials = true;
        self.waited = true;
        Some(Step::Wait { until })
    }

    /// The call itself met a limit, and nobody else can serve it: it waits as those do that come after it. Costs a retry.
    fn sit_out<H: Health + ?Sized, S: ?Sized>(
        &mut self,
        failed: &Failed,
        moment: &Moment<'_, H, S>,
    ) -> Option<Step> {
        let limited = |class: Class| matches!(class, Class::RateLimit | Class::Overloaded);
        if !limited(failed.failure.class) || !self.retry_left(failed, moment) {
            return None;
        }
        let step = self.wait_for_return(moment)?;
        if !self.pay(moment) {
            return None;
        }
        self.retries += 1;
        let trail = &self.trail;
        let last = |slot: Slot| trail.iter().rev().find(|failed| failed.attempt.slot == slot);
        self.tried.retain(|&slot| !last(slot).is_some_and(|failed| limited(failed.failure.class)));
        Some(step)
    }
}

/// The circumstances of one decision.
#[derive(Debug)]
struct Moment<'m, H: ?Sized, S: ?Sized> {
    now: Timestamp,
    random: u64,
    view: &'m View<'m, H, S>,
}

impl<H: Health + ?Sized, S: ?Sized> Moment<'_, H, S> {
    /// How far a first look at `group` reaches.
    fn reach(&self, group: GroupIx) -> Reach {
        match self.view.health.group(group).last_resort {
            LastResort::AtOnce => Reach::LastResort,
            LastResort::Never | LastResort::AfterFallback => Reach::InRotation,
        }
    }

    const fn attempt(&self, group: GroupIx, choice: Choice, wait: Duration) -> Step {
        Step::Try(Attempt { slot: choice.slot, group, wait, trial: choice.trial, rank: choice.rank })
    }
}

#[cfg(test)]
mod tests;
