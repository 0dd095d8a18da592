//! What a run is made of: the fleet, its numbers, and the faults that happen to it.

use crate::queue::Millis;
use crate::rng::Rng;

/// A fleet and what happens to it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Processes at the start.
    pub pods: usize,
    /// Deployments that all of them watch.
    pub deployments: usize,
    /// Time between probes of a healthy deployment.
    pub interval: Millis,
    /// Time between probes of a deployment in doubt.
    pub suspect: Millis,
    /// Deadline of a probe.
    pub timeout: Millis,
    /// How long a provider takes to answer.
    pub answer: Millis,
    /// Length of the run.
    pub length: Millis,
    /// By how much a replica is behind, at most.
    pub lag: Millis,
    /// What pods are told about how long a replaced primary may go on writing.
    pub split_brain: Millis,
    /// By how much pods' clocks run fast or slow, in thousandths, at most.
    pub drift: u64,
    /// Faults with their times.
    pub faults: Vec<(Millis, Fault)>,
}

/// A step of a probe at which a trap may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// Before a claim leaves.
    BeforeClaim,
    /// A permit is held and not used.
    AfterGrant,
    /// The probe is on its way.
    AfterSend,
    /// The verdict is known and not committed.
    BeforeCommit,
}

/// What a trap does to the pod that steps into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// It dies and comes back after this long.
    Crash(Millis),
    /// It stands still for this long, as a stopped process or a suspended machine.
    Pause(Millis),
}

/// What is wrong with the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ill {
    /// It refuses connections.
    Gone,
    /// It accepts calls and never answers.
    Frozen,
    /// It takes no writes.
    ReadOnly,
    /// It has no memory left.
    Full,
    /// Every answer takes seconds longer.
    Slow,
}

/// How a provider behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// It answers.
    Well,
    /// It answers with a server error.
    Failing,
    /// It never answers.
    Hanging,
    /// Every other answer is an error, by chance.
    Flaky,
    /// It refuses for load.
    Limiting,
    /// It refuses the key.
    Refusing,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A pod is hit now.
    Hit(usize, Blow),
    /// A pod is hit when it next reaches this point.
    Trap(usize, Point, Blow),
    /// Every pod is restarted at once.
    RestartAll,
    /// A pod joins, without anything on its disk.
    Join,
    /// The store is ill for this long.
    Store(Ill, Millis),
    /// The store starts anew with nothing.
    Wipe,
    /// The store's clock is set forward or back.
    Step(i64),
    /// Nothing reaches the replica for this long.
    ReplicaCut(Millis),
    /// The replica is promoted. For this long, half of the pods still talk to the old primary.
    Failover(Millis),
    /// A pod does not reach the store.
    Cut(usize, Millis),
    /// A pod does not reach any provider.
    CutProviders(usize, Millis),
    /// This many of a hundred answers of the store are lost.
    LoseAnswers(u64, Millis),
    /// Nothing is pushed to followers.
    LosePushes(Millis),
    /// Heartbeats are lost by chance.
    LoseBeats(Millis),
    /// Every commit is sent twice.
    Twice(Millis),
    /// The configuration is changed to this interval, on one pod after the other.
    Interval(Millis),
    /// A provider, or all of them, behaves like this.
    Provider(Option<usize>, Behaviour, Millis),
}

/// How long after a fault of a random run has ended the run goes on, in intervals.
const QUIET: u64 = 9;

impl Setup {
    /// A fleet without faults: short intervals, so that a run is cheap.
    pub const fn small(pods: usize, deployments: usize) -> Self {
        Self {
            pods,
            deployments,
            interval: 20_000,
            suspect: 5_000,
            timeout: 4_000,
            answer: 300,
            length: 300_000,
            lag: 0,
            split_brain: 0,
            drift: 0,
            faults: Vec::new(),
        }
    }

    /// The fleet of `seed` and its faults. The last part of the run is quiet, so that what does not recover is seen.
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (pods, deployments) = (rng.between(2, 5), rng.between(1, 3));
        let mut setup = Self::small(as_usize(pods), as_usize(deployments));
        setup.lag = *rng.pick(&[0, 0, 1_000, 10_000]).unwrap_or(&0);
        setup.drift = *rng.pick(&[0, 5, 100]).unwrap_or(&0);
        setup.answer = *rng.pick(&[50, 300, 3_000]).unwrap_or(&300);
        // The first round is over: what happens in it is known to nobody yet.
        let first = setup.interval * 3;
        let last = setup.length - QUIET * setup.interval;
        for _ in 0..rng.between(1, 5) {
            let at = rng.between(first, last);
            let fault = Fault::random(&mut rng, &setup, last - at + 5_000);
            if let Fault::Failover(split) = fault {
                setup.split_brain = setup.split_brain.max(split);
            }
            setup.faults.push((at, fault));
        }
        setup.faults.sort_by_key(|(at, _)| *at);
        setup
    }
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Fault {
    /// A fault of any kind that is over after `room`.
    fn random(rng: &mut Rng, setup: &Setup, room: Millis) -> Self {
        let pod = as_usize(rng.below(setup.pods as u64));
        let long = rng.between(500, 40_000).min(room);
        let points = [Point::BeforeClaim, Point::AfterGrant, Point::AfterSend, Point::BeforeCommit];
        let point = *rng.pick(&points).unwrap_or(&Point::AfterGrant);
        let blow = if rng.percent(50) { Blow::Crash(long) } else { Blow::Pause(long) };
        match rng.below(17) {
            0 => Self::Hit(pod, blow),
            1 | 2 => Self::Trap(pod, point, blow),
            3 => Self::RestartAll,
            4 => Self::Join,
            5 => {
                let ills = [Ill::Gone, Ill::Frozen, Ill::ReadOnly, Ill::Full, Ill::Slow];
                Self::Store(*rng.pick(&ills).unwrap_or(&Ill::Gone), long)
            }
            6 => Self::Wipe,
            7 => {
                let by = i64::try_from(rng.between(1_000, 200_000)).unwrap_or_default();
                Self::Step(if rng.percent(50) { by } else { -by })
            }
            8 => Self::ReplicaCut(long),
            9 | 10 => Self::Failover(if rng.percent(30) { long.min(10_000) } else { 0 }),
            11 => Self::Cut(pod, long),
            12 => Self::CutProviders(pod, long),
            13 => Self::LoseAnswers(rng.between(10, 60), long),
            14 => [Self::LosePushes(long), Self::LoseBeats(long), Self::Twice(long)][as_usize(rng.below(3))],
            15 => Self::Interval(*rng.pick(&[10_000, 30_000]).unwrap_or(&10_000)),
            _ => {
                let behaviours = [
                    Behaviour::Failing,
                    Behaviour::Hanging,
                    Behaviour::Flaky,
                    Behaviour::Limiting,
                    Behaviour::Refusing,
                ];
                let which = rng.percent(50).then(|| as_usize(rng.below(setup.deployments as u64)));
                Self::Provider(which, *rng.pick(&behaviours).unwrap_or(&Behaviour::Failing), long)
            }
        }
    }

    /// The kind, for statistics.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Hit(_, Blow::Crash(_)) => "crash",
            Self::Hit(_, Blow::Pause(_)) => "pause",
            Self::Trap(_, _, Blow::Crash(_)) => "crash at a step",
            Self::Trap(_, _, Blow::Pause(_)) => "pause at a step",
            Self::RestartAll => "restart of all",
            Self::Join => "join",
            Self::Store(..) => "ill store",
            Self::Wipe => "wiped store",
            Self::Step(by) if *by < 0 => "clock back",
            Self::Step(_) => "clock forward",
            Self::ReplicaCut(_) => "replica cut",
            Self::Failover(0) => "failover",
            Self::Failover(_) => "split brain",
            Self::Cut(..) => "pod cut from store",
            Self::CutProviders(..) => "pod cut from providers",
            Self::LoseAnswers(..) => "lost answers",
            Self::LosePushes(_) => "lost pushes",
            Self::LoseBeats(_) => "lost heartbeats",
            Self::Twice(_) => "commits twice",
            Self::Interval(_) => "interval changed",
            Self::Provider(..) => "provider",
        }
    }
}
