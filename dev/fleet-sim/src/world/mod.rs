//! The world: pods, store and providers, and the order in which things happen to them.
//!
//! Everything that happens is an event in one queue; every number that is not decided is drawn from one generator. So a
//! seed is a run, and its trace is the same to the byte.

mod calls;
mod faults;
mod probes;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use haleway_fleet::pod::{HEARTBEAT, Line, Step as LinkStep};
use haleway_health::{Class, ProbeLimits, Timestamp};

use crate::ledger::{End, Ledger};
use crate::process::{Call, Clock, Process, name};
use crate::queue::{Millis, Queue};
use crate::rng::Rng;
use crate::setup::{Behaviour, Setup};
use crate::store::{News, Reply, Request, Side, Store};

/// Pods do not bound what they have under way: the store does.
const LIMITS: ProbeLimits = ProbeLimits { concurrency: 1_000, per_endpoint: 1_000 };
/// Within this many intervals after all faults are over, every deployment is probed.
const RECOVERS_WITHIN: u64 = 7;

/// Something that happens.
#[derive(Debug)]
enum Event {
    /// A fault of the setup.
    Fault(usize),
    /// The store is well again.
    StoreWell,
    /// The old primary finds out that it was replaced.
    Heal,
    /// The replica catches up.
    Replicate,
    /// A pod that died is started again.
    Restart { pod: usize, life: u32 },
    /// A call reaches the store.
    AtStore { pod: usize, life: u32, call: u64, request: Request },
    /// A probe reaches a provider.
    AtProvider { pod: usize, life: u32, ticket: u64, deployment: usize, seq: u64 },
    /// A pod does something, unless it stands still.
    Pod { pod: usize, life: u32, step: Step },
}

/// Something that a pod does.
#[derive(Debug)]
enum Step {
    /// Looks at its timetable.
    Wake,
    /// Says that it is there, or works on its connection.
    Beat,
    /// Gets an answer from the store.
    Reply { call: u64, reply: Reply },
    /// Gives up waiting for the store.
    Deadline { call: u64 },
    /// Uses a permit.
    Send { ticket: u64 },
    /// Gets an answer from a provider, or gives up waiting for it.
    Answer { ticket: u64, class: Class },
    /// Hears that something was found.
    Push,
    /// Reads a changed configuration.
    Reload(Millis),
}

/// What is wrong with the ways between them, and until when.
#[derive(Debug, Default)]
struct Ways {
    lose_answers: (u64, Millis),
    lose_pushes: Millis,
    lose_beats: Millis,
    twice: Millis,
    replica_cut: Millis,
    ill_until: Millis,
}

/// A run.
#[derive(Debug)]
pub struct World {
    setup: Setup,
    seed: u64,
    now: Millis,
    queue: Queue<Event>,
    rng: Rng,
    store: Store,
    pods: Vec<Process>,
    names: Vec<Arc<str>>,
    providers: Vec<(Behaviour, Millis)>,
    ways: Ways,
    calls: u64,
    /// Whether the store's clock was ever set: ages are not to be trusted then.
    stepped: bool,
    ledger: Ledger,
    trace: Option<String>,
}

/// What a run left.
#[derive(Debug)]
pub struct Run {
    /// The oracle's book.
    pub ledger: Ledger,
    /// How often each pod, in its last life, took a deployment out of rotation.
    pub isolations: Vec<u64>,
    /// What happened, a line each, if that was asked for.
    pub trace: String,
}

/// Writes a line of the trace, if there is one. Nothing is formatted otherwise.
macro_rules! note {
    ($world:expr, $($words:tt)*) => {
        if let Some(trace) = &mut $world.trace {
            // Writing to a string does not fail.
            let _written = write!(trace, "{:>9} ", $world.now).and_then(|()| writeln!(trace, $($words)*));
        }
    };
}
use note;

impl World {
    /// A world at its beginning.
    pub fn new(setup: Setup, seed: u64, traced: bool) -> Self {
        let mut rng = Rng::new(seed ^ 0x5eed);
        let mut queue = Queue::default();
        let pods = (0..setup.pods)
            .map(|index| {
                let rate = 1_000 - setup.drift + rng.below(2 * setup.drift + 1);
                let clock = Clock::new(rng.below(1_000_000_000), rate);
                Process::new(index, rng.next(), clock, &setup, setup.interval, 0)
            })
            .collect();
        for (index, (at, _)) in setup.faults.iter().enumerate() {
            queue.push(*at, Event::Fault(index));
        }
        queue.push(0, Event::Replicate);
        let mut world = Self {
            seed,
            now: 0,
            queue,
            rng,
            store: Store::new(setup.deployments),
            pods,
            names: (0..setup.deployments).map(name).collect(),
            providers: vec![(Behaviour::Well, 0); setup.deployments],
            ways: Ways::default(),
            calls: 0,
            stepped: false,
            ledger: Ledger::default(),
            trace: traced.then(String::new),
            setup,
        };
        for pod in 0..world.pods.len() {
            let start = world.rng.below(2_000);
            world.start(pod, start);
        }
        world
    }

    /// Runs to the end.
    pub fn run(mut self) -> Run {
        while let Some((at, event)) = self.queue.pop() {
            if at > self.setup.length {
                break;
            }
            self.now = at;
            self.happen(event);
        }
        self.now = self.setup.length;
        let slowest = self.pods.iter().map(|pod| pod.interval).max().unwrap_or(self.setup.interval);
        self.ledger.close(
            self.now,
            self.setup.deployments,
            RECOVERS_WITHIN * slowest.max(self.setup.timeout),
        );
        for what in &self.ledger.violations {
            note!(self, "VIOLATION {what} (seed {})", self.seed);
        }
        let isolations = self.pods.iter().map(|pod| pod.hub.counters().isolations.values().sum()).collect();
        Run { ledger: self.ledger, isolations, trace: self.trace.unwrap_or_default() }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Fault(index) => self.fault(index),
            Event::StoreWell => {
                self.store.ill = None;
                note!(self, "store is well");
            }
            Event::Heal => {
                self.store.heal();
                note!(self, "old primary found out");
            }
            Event::Replicate => {
                if self.now >= self.ways.replica_cut {
                    self.store.replicate();
                }
                self.queue.push(self.now + self.setup.lag.max(50), Event::Replicate);
            }
            Event::Restart { pod, life } => self.restart(pod, life),
            Event::AtStore { pod, life, call, request } => self.at_store(pod, life, call, request),
            Event::AtProvider { pod, life, ticket, deployment, seq } => {
                self.at_provider(pod, life, ticket, deployment, seq);
            }
            Event::Pod { pod, life, step } => self.step(pod, life, step),
        }
    }

    /// Starts the loops of a pod at `at`.
    fn start(&mut self, pod: usize, at: Millis) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let life = process.life;
        process.wake_at = at + 1;
        self.queue.push(at, Event::Pod { pod, life, step: Step::Beat });
        self.queue.push(at + 1, Event::Pod { pod, life, step: Step::Wake });
    }

    fn step(&mut self, pod: usize, life: u32, step: Step) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        if process.dead || process.life != life {
            return self.wasted(pod, &step);
        }
        // A runtime that wakes up looks for answers before it looks at its timers.
        let timer = matches!(step, Step::Answer { class: Class::Timeout, .. } | Step::Deadline { .. });
        if process.paused_until + u64::from(timer) > self.now {
            let at = process.paused_until + u64::from(timer);
            return self.queue.push(at, Event::Pod { pod, life, step });
        }
        match step {
            Step::Wake => self.wake(pod),
            Step::Beat => self.beat(pod),
            Step::Reply { call, reply } => self.reply(pod, call, reply),
            Step::Deadline { call } => self.deadline(pod, call),
            Step::Send { ticket } => self.send(pod, ticket),
            Step::Answer { ticket, class } => self.answer(pod, ticket, class),
            Step::Push => self.call(pod, Call::Pull, Request::Read),
            Step::Reload(interval) => {
                let now = process.clock.show(self.now);
                process.reload(now, &self.setup, interval);
                note!(self, "pod-{pod} reads interval {interval}");
            }
        }
    }

    /// Something reached a pod that is not there any more.
    fn wasted(&mut self, pod: usize, step: &Step) {
        if let Step::Reply { reply: Reply::Claimed(deployment, answer), .. } = step {
            self.unclaimed(pod, *deployment, answer);
        }
    }

    /// The pod looks at its timetable, and claims what is due.
    fn wake(&mut self, pod: usize) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        if process.wake_at > self.now {
            return;
        }
        let now = process.clock.show(self.now);
        let lag = Duration::from_millis(self.now - process.wake_at);
        process.pod.fitness_mut().lagged(now, lag);
        let tick = process.hub.tick(now);
        let due = process.hub.due_probes(now, LIMITS);
        process.wake_at = process.clock.when(self.now, due.next.min(tick));
        self.queue.push(process.wake_at, Event::Pod { pod, life: process.life, step: Step::Wake });
        for job in due.jobs {
            self.begin(pod, job);
        }
    }

    /// The pod's heartbeat, or the next step on the way back to the store.
    fn beat(&mut self, pod: usize) {
        self.link(pod);
        let Some(process) = self.pods.get(pod) else { return };
        let next = self.now + process.clock.true_span(millis(HEARTBEAT));
        self.queue.push(next, Event::Pod { pod, life: process.life, step: Step::Beat });
    }

    fn link(&mut self, pod: usize) {
        let Some(process) = self.pods.get(pod) else { return };
        let informed = process.pod.informed(process.clock.show(self.now));
        let beat = Request::Beat { informed, seen: process.seen };
        let (call, request) = match process.pod.link().step() {
            LinkStep::Reach => (Call::Link, Request::Ping),
            LinkStep::Pull => (Call::Link, Request::Read),
            LinkStep::Publish => (Call::Link, beat),
            LinkStep::Go => (Call::Beat, beat),
        };
        self.call(pod, call, request);
    }

    fn learn(&mut self, pod: usize, asked: Timestamp, news: &[News]) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let now = process.clock.show(self.now);
        for news in news {
            process.learn(asked, now, news, &self.names);
            if let Some(granted) = self.ledger.granted_at(news.deployment, news.seq)
                && !self.stepped
            {
                let age = millis((asked - news.age).until(now));
                self.ledger.heard(self.now, news.deployment, age, self.now - granted);
            }
        }
    }

    fn said(&mut self, pod: usize, line: Option<Line>) {
        let Some(line) = line else { return };
        self.ledger.line(self.now, pod, matches!(line, Line::Lost(_)));
        note!(self, "pod-{pod} says {line:?}");
    }

    fn ended(&mut self, deployment: usize, seq: u64, end: End) {
        self.ledger.ended(self.now, deployment, seq, end);
        note!(self, "d{deployment} permit {seq} {end:?}");
    }

    /// Which of two primaries a pod believes in.
    const fn side(&self, pod: usize) -> Side {
        if self.store.is_split() && pod % 2 == 1 { Side::Replaced } else { Side::Primary }
    }
}

fn millis(span: Duration) -> Millis {
    Millis::try_from(span.as_millis()).unwrap_or(Millis::MAX)
}
