//! Three other ways to share probes, simplified, as what permits are measured against.
//!
//! All three use one lock and one shared result for all deployments. Each pod wakes an interval after it was done last;
//! when the shared result is older than its TTL, whoever gets the lock probes everything and publishes, and the others
//! wait. They differ in what a pod does that waited in vain:
//!
//! - **PR #15380**, upstream's original: waits 2 s, then probes everything by itself.
//! - **LiteLLM 1.110.2**: looks every 5 s for as long as the lock may live, stops looking when the lock is gone, then
//!   probes everything by itself.
//! - **The fork**: looks every 2 s for as long as the lock may live, then leaves this round out.

use crate::ledger::Ledger;
use crate::queue::{Millis, Queue};
use crate::rng::Rng;
use crate::table::{Mishap, Scenario};

/// How long the lock lives.
const LOCK: Millis = 60_000;
/// How long a pod is away that died.
const AWAY: Millis = 30_000;

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// As it was merged first.
    Original,
    /// As it is in LiteLLM 1.110.2.
    Litellm,
    /// As a user's fork mended it.
    Fork,
}

#[derive(Debug)]
enum Event {
    Tick { pod: usize, life: u32 },
    Look { pod: usize, life: u32, since: Millis },
    Done { pod: usize, life: u32, leads: bool },
    Send { deployment: usize },
    Mishap,
    FailOver,
    StoreBack,
    Restart { pod: usize },
}

#[derive(Debug)]
struct Fleet<'a> {
    rival: Rival,
    scenario: &'a Scenario,
    now: Millis,
    queue: Queue<Event>,
    rng: Rng,
    lives: Vec<u32>,
    lock: Option<(usize, Millis)>,
    lock_taken: Millis,
    published: Option<Millis>,
    before: Option<Millis>,
    up: bool,
    armed: u32,
    ledger: Ledger,
}

/// Runs `scenario` under `rival`.
pub fn run(rival: Rival, scenario: &Scenario, seed: u64) -> Ledger {
    let mut fleet = Fleet {
        rival,
        scenario,
        now: 0,
        queue: Queue::default(),
        rng: Rng::new(seed),
        lives: vec![0; scenario.pods],
        lock: None,
        lock_taken: 0,
        published: None,
        before: None,
        up: true,
        armed: 0,
        ledger: Ledger::default(),
    };
    for pod in 0..scenario.pods {
        let at = fleet.rng.below(2_000);
        fleet.queue.push(at, Event::Tick { pod, life: 0 });
    }
    for at in &scenario.mishaps_at {
        fleet.queue.push(*at, Event::Mishap);
    }
    while let Some((at, event)) = fleet.queue.pop() {
        if at > scenario.length {
            break;
        }
        fleet.now = at;
        fleet.happen(event);
    }
    fleet.ledger
}

impl Fleet<'_> {
    fn alive(&self, pod: usize, life: u32) -> bool {
        self.lives.get(pod) == Some(&life)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Tick { pod, life } if self.alive(pod, life) => self.tick(pod, life),
            Event::Look { pod, life, since } if self.alive(pod, life) => self.look(pod, life, since),
            Event::Done { pod, life, leads } if self.alive(pod, life) => self.done(pod, life, leads),
            Event::Tick { .. } | Event::Look { .. } | Event::Done { .. } => {}
            Event::Send { deployment } => self.ledger.request(self.now, deployment, None),
            Event::Mishap => self.mishap(),
            Event::FailOver => {
                // What was written in the last seconds is gone.
                let lost = self.scenario.lost;
                if self.lock_taken + lost > self.now {
                    self.lock = None;
                }
                if self.published.is_some_and(|at| at + lost > self.now) {
                    self.published = self.before;
                }
            }
            Event::StoreBack => self.up = true,
            Event::Restart { pod } => {
                let life = self.lives.get(pod).copied().unwrap_or_default();
                self.tick(pod, life);
            }
        }
    }

    fn fresh(&self) -> bool {
        self.up && self.published.is_some_and(|at| self.now < at + self.scenario.period)
    }

    fn locked(&self) -> bool {
        self.lock.is_some_and(|(_, until)| self.now < until)
    }

    fn again(&mut self, pod: usize, life: u32) {
        let at = self.now + self.scenario.period + self.rng.below(500);
        self.queue.push(at, Event::Tick { pod, life });
    }

    fn tick(&mut self, pod: usize, life: u32) {
        if self.fresh() {
            return self.again(pod, life);
        }
        if self.up && !self.locked() {
            self.lock = Some((pod, self.now + LOCK));
            self.lock_taken = self.now;
            return self.round(pod, life, true);
        }
        let wait = match self.rival {
            Rival::Original | Rival::Fork => 2_000,
            Rival::Litellm => 5_000,
        };
        self.queue.push(self.now + wait, Event::Look { pod, life, since: self.now });
    }

    fn look(&mut self, pod: usize, life: u32, since: Millis) {
        if self.fresh() {
            return self.again(pod, life);
        }
        let over = self.now >= since + LOCK;
        match self.rival {
            Rival::Original => self.round(pod, life, false),
            // A store that is down answers nothing: its breaker makes that the longest wait.
            Rival::Litellm if over || (self.up && !self.locked()) => self.round(pod, life, false),
            Rival::Litellm => self.queue.push(self.now + 5_000, Event::Look { pod, life, since }),
            Rival::Fork if over => self.again(pod, life),
            Rival::Fork => self.queue.push(self.now + 2_000, Event::Look { pod, life, since }),
        }
    }

    /// Probes everything: at once, or spread over the round.
    fn round(&mut self, pod: usize, life: u32, leads: bool) {
        let deployments = self.scenario.deployments;
        for deployment in 0..deployments {
            let share = self.scenario.round * deployment as u64 / deployments as u64;
            let after = if self.scenario.one_by_one { share } else { 0 };
            self.queue.push(self.now + after, Event::Send { deployment });
        }
        let middle = self.now + (self.scenario.round / 2).min(5_000);
        let mut end = self.now + self.scenario.round;
        if leads && self.armed > 0 {
            self.armed -= 1;
            match self.scenario.mishap {
                Mishap::HolderDies => {
                    if let Some(life) = self.lives.get_mut(pod) {
                        *life += 1;
                    }
                    self.queue.push(middle + AWAY, Event::Restart { pod });
                    return;
                }
                Mishap::HolderStops(span) => end += span,
                Mishap::FailOver => self.queue.push(middle, Event::FailOver),
                Mishap::None | Mishap::StoreDown(_) | Mishap::Rolling => {}
            }
        }
        self.queue.push(end, Event::Done { pod, life, leads });
    }

    fn done(&mut self, pod: usize, life: u32, leads: bool) {
        for deployment in 0..self.scenario.deployments {
            self.ledger.result(self.now, deployment);
        }
        if leads && self.up {
            self.before = self.published.replace(self.now);
            if self.lock.is_some_and(|(owner, _)| owner == pod) {
                self.lock = None;
            }
        }
        self.again(pod, life);
    }

    fn mishap(&mut self) {
        match self.scenario.mishap {
            Mishap::None => {}
            Mishap::HolderDies | Mishap::HolderStops(_) | Mishap::FailOver => self.armed += 1,
            Mishap::StoreDown(span) => {
                self.up = false;
                self.lock = None;
                self.queue.push(self.now + span, Event::StoreBack);
            }
            Mishap::Rolling => {
                let mut at = self.now;
                for (pod, life) in self.lives.iter_mut().enumerate() {
                    *life += 1;
                    at += AWAY;
                    self.queue.push(at, Event::Restart { pod });
                }
            }
        }
    }
}
