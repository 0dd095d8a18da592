//! The oracle: what probes cost, and whether anybody paid for one that nobody was allowed to send.
//!
//! It stands outside of the fleet, on true time. It sees every grant that any store made, also those that the store
//! forgot, and every request that reached a provider.

use std::collections::{BTreeMap, BTreeSet};

use crate::queue::Millis;

/// Longest true time from a grant to its use: what a pod's clock shows as two seconds may be longer.
const LATEST_USE: Millis = 2_300;

/// How a grant ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Its verdict was accepted.
    Committed,
    /// Its verdict came too late.
    Stale,
    /// Its holder did not use it in time.
    Dropped,
    /// Its holder died, or never learnt of it, or its verdict did not reach the store.
    Lost,
}

#[derive(Debug)]
struct Granted {
    at: Millis,
    pod: usize,
    sent: Option<Millis>,
    end: Option<End>,
}

/// Everything that happened that costs or counts.
#[derive(Debug, Default)]
pub struct Ledger {
    grants: BTreeMap<(usize, u64), Granted>,
    latest: BTreeMap<usize, Millis>,
    /// Spacings that a forward step of the store's clock may shorten, per deployment.
    excused: BTreeMap<usize, u32>,
    /// Requests that reached each deployment's provider.
    sent: BTreeMap<usize, Vec<Millis>>,
    /// When a verdict was last accepted, per deployment.
    judged: BTreeMap<usize, Vec<Millis>>,
    told_lost: BTreeSet<usize>,
    /// Whether a store ever forgot grants: which one is the latest is a matter of history then.
    pub forgot: bool,
    /// Quarantines.
    pub quarantines: u64,
    /// Kinds of faults that happened.
    pub faults: BTreeMap<&'static str, u64>,
    /// What must never happen, and did.
    pub violations: Vec<String>,
}

impl Ledger {
    fn violation(&mut self, at: Millis, what: String) {
        self.violations.push(format!("{at}: {what}"));
    }

    /// A store granted a permit on `interval`.
    pub fn granted(&mut self, at: Millis, deployment: usize, seq: u64, pod: usize, interval: Millis) {
        if let Some(before) = self.latest.insert(deployment, at)
            && at - before < interval
        {
            let excused = self.excused.entry(deployment).or_default();
            if *excused == 0 {
                let gap = at - before;
                self.violation(
                    at,
                    format!("d{deployment}: grants {gap} ms apart on an interval of {interval}"),
                );
            } else {
                *excused -= 1;
            }
        }
        if self.grants.insert((deployment, seq), Granted { at, pod, sent: None, end: None }).is_some() {
            self.violation(at, format!("d{deployment}: number {seq} was granted twice"));
        }
    }

    /// A request reached a provider. Requests of pods that know no permits name none.
    pub fn request(&mut self, at: Millis, deployment: usize, permit: Option<(u64, usize)>) {
        self.sent.entry(deployment).or_default().push(at);
        let Some((seq, pod)) = permit else { return };
        let problem = match self.grants.get_mut(&(deployment, seq)) {
            None => Some("never granted"),
            Some(grant) if grant.pod != pod => Some("granted to another pod"),
            Some(grant) if grant.at + LATEST_USE < at => Some("granted long ago"),
            Some(grant) => grant.sent.replace(at).map(|_| "used before"),
        };
        if let Some(problem) = problem {
            self.violation(at, format!("d{deployment}: pod {pod} sent a probe with permit {seq}, {problem}"));
        }
    }

    /// A grant ended.
    pub fn ended(&mut self, at: Millis, deployment: usize, seq: u64, end: End) {
        if end == End::Committed {
            self.judged.entry(deployment).or_default().push(at);
            let latest = self.grants.range((deployment, 0)..=(deployment, u64::MAX)).next_back();
            if !self.forgot && latest.is_some_and(|((_, latest), _)| *latest != seq) {
                self.violation(
                    at,
                    format!("d{deployment}: the verdict of permit {seq} counted, which is not the latest"),
                );
            }
        }
        let Some(grant) = self.grants.get_mut(&(deployment, seq)) else {
            return self.violation(at, format!("d{deployment}: permit {seq} ended and was never granted"));
        };
        match (grant.end, end) {
            // A verdict sent twice: the second one is stale, and the first counts. A holder whose commit was accepted may
            // die before it learns.
            (None, _) => grant.end = Some(end),
            (Some(_), End::Stale | End::Lost) | (Some(End::Stale | End::Lost), End::Dropped) => {}
            // The answer to the claim, or the first verdict, was lost and the second came through.
            (Some(End::Lost | End::Stale), End::Committed) => grant.end = Some(end),
            (Some(before), _) => {
                self.violation(
                    at,
                    format!("d{deployment}: permit {seq} ended as {before:?}, then as {end:?}"),
                );
            }
        }
    }

    /// The holder of a permit died, or never learns that it has it.
    pub fn lost(&mut self, deployment: usize, seq: u64) {
        if let Some(grant) = self.grants.get_mut(&(deployment, seq)) {
            grant.end.get_or_insert(End::Lost);
        }
    }

    /// A verdict was heard as `age` old: it must not be younger than it is.
    pub fn heard(&mut self, at: Millis, deployment: usize, age: Millis, truth: Millis) {
        let slack = 1_000 + truth / 5;
        if age + slack < truth {
            self.violation(
                at,
                format!("d{deployment}: a verdict of {truth} ms was taken for one of {age} ms"),
            );
        }
    }

    /// When the latest grant was made whose number is `seq`.
    pub fn granted_at(&self, deployment: usize, seq: u64) -> Option<Millis> {
        self.grants.get(&(deployment, seq)).map(|grant| grant.at)
    }

    /// The store's clock was set forward: one spacing per deployment may be shorter.
    pub fn excuse(&mut self, deployments: usize) {
        for deployment in 0..deployments {
            *self.excused.entry(deployment).or_default() += 1;
        }
    }

    /// A pod said that shared state is lost (or restored).
    pub fn line(&mut self, at: Millis, pod: usize, lost: bool) {
        let news = if lost { self.told_lost.insert(pod) } else { self.told_lost.remove(&pod) };
        if !news {
            self.violation(at, format!("pod {pod} said twice that the store is lost, or restored"));
        }
    }

    /// A pod died: it starts anew, also in what it says.
    pub fn died(&mut self, pod: usize) {
        self.told_lost.remove(&pod);
    }

    /// The run is over: every deployment must have been probed in the last `within`.
    pub fn close(&mut self, at: Millis, deployments: usize, within: Millis) {
        for deployment in 0..deployments {
            let last = self.sent.get(&deployment).and_then(|sent| sent.last()).copied().unwrap_or_default();
            if last + within < at {
                self.violation(at, format!("d{deployment}: not probed since {last}"));
            }
        }
    }

    /// Requests in all.
    pub fn total(&self) -> usize {
        self.sent.values().map(Vec::len).sum()
    }

    /// The most requests that any deployment got within `window`.
    pub fn worst(&self, window: Millis) -> usize {
        let worst = |sent: &Vec<Millis>| {
            let mut sent = sent.clone();
            sent.sort_unstable();
            let within = |(i, from): (usize, &Millis)| {
                sent.iter().skip(i).take_while(|at| **at < from + window).count()
            };
            sent.iter().enumerate().map(within).max().unwrap_or_default()
        };
        self.sent.values().map(worst).max().unwrap_or_default()
    }

    /// The longest time without a new result for any deployment, from the first result on to the end.
    pub fn longest_gap(&self, end: Millis) -> Millis {
        let longest = |judged: &Vec<Millis>| {
            let ends = judged.iter().skip(1).chain(std::iter::once(&end));
            judged.iter().zip(ends).map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(end)
        };
        self.judged.values().map(longest).max().unwrap_or(end)
    }

    /// Takes in a result that came of no permit.
    pub fn result(&mut self, at: Millis, deployment: usize) {
        self.judged.entry(deployment).or_default().push(at);
    }

    /// How many grants ended like this; `None` = not at all.
    pub fn count(&self, end: Option<End>) -> usize {
        self.grants.values().filter(|grant| grant.end == end).count()
    }

    /// Grants in all.
    pub fn grants(&self) -> usize {
        self.grants.len()
    }
}
