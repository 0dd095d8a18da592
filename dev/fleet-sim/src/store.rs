//! A model of the store: a primary and a replica with their own clocks, scripts that run whole or not at all, a stream.
//!
//! The scripts are the permit book itself. The replica is a copy of the primary as it was some time ago.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_fleet::PodId;
use haleway_fleet::book::{Answer, Book, Refused, ReplicationId, StoreTime, Terms, Verdict};
use haleway_fleet::pod::{Beat, Role, Trouble};

use crate::queue::Millis;
use crate::setup::Ill;

/// What the store's clock shows at the start of a run.
const EPOCH: i64 = 1_800_000_000_000;

/// A verdict as it is kept and pushed.
#[derive(Clone, Debug)]
pub struct News {
    /// Which deployment.
    pub deployment: usize,
    /// Who probed.
    pub observer: PodId,
    /// The number of the grant.
    pub seq: u64,
    /// Age of the evidence.
    pub age: Duration,
    /// Whether it passed.
    pub passed: bool,
    /// Time until the next grant is due.
    pub next: Duration,
}

/// What a pod asks of the store.
#[derive(Clone, Debug)]
pub enum Request {
    /// Are you there?
    Ping,
    /// Everything that is known.
    Read,
    /// A heartbeat; answered with those of others and with what is new.
    Beat {
        /// Whether the pod has heard of a grant older than its interval.
        informed: bool,
        /// The version of the verdicts that the pod read last: nothing is sent again that it has.
        seen: u64,
    },
    /// A claim.
    Claim {
        /// Which deployment.
        deployment: usize,
        /// On what terms.
        terms: Terms,
    },
    /// A commit.
    Commit {
        /// Which deployment.
        deployment: usize,
        /// What was found.
        verdict: Verdict,
    },
}

/// What the store answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// To a ping.
    Pong,
    /// To a read or a heartbeat.
    Known {
        /// Other pods.
        beats: Vec<(PodId, Beat)>,
        /// Verdicts.
        news: Vec<News>,
        /// Their version.
        version: u64,
    },
    /// To a claim for this deployment.
    Claimed(usize, Answer),
    /// To a commit.
    Committed(Result<Duration, Refused>),
    /// The store, or the way to it, is ill.
    Failed(Trouble),
}

#[derive(Clone, Debug)]
struct Data {
    books: Vec<Book>,
    beats: BTreeMap<PodId, (StoreTime, bool)>,
}

/// One server.
#[derive(Clone, Debug)]
struct Node {
    history: ReplicationId,
    data: Data,
    /// Changes with every accepted verdict, and is never the same in two histories.
    version: u64,
}

/// How far apart the versions of two histories are.
const NEW_HISTORY: u64 = 1_000_000_000;

/// Which of two servers a pod talks to while there are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that was promoted, or the only one.
    Primary,
    /// The one that was replaced and does not know it yet.
    Replaced,
}

/// The store.
#[derive(Debug)]
pub struct Store {
    primary: Node,
    replica: Data,
    replaced: Option<Node>,
    clock: i64,
    histories: u32,
    /// What is wrong with it.
    pub ill: Option<Ill>,
}

impl Store {
    /// An empty store for `deployments` deployments.
    pub fn new(deployments: usize) -> Self {
        let data = Data { books: vec![Book::new(); deployments], beats: BTreeMap::new() };
        let node = Node { history: ReplicationId::new("h0"), data: data.clone(), version: 1 };
        Self { primary: node, replica: data, replaced: None, clock: EPOCH, histories: 0, ill: None }
    }

    fn now(&self, at: Millis) -> StoreTime {
        let now = self.clock.saturating_add_unsigned(at);
        StoreTime::from_millis(u64::try_from(now).unwrap_or_default())
    }

    fn new_node(&mut self, data: Data) -> Node {
        self.histories += 1;
        let history = ReplicationId::new(&format!("h{}", self.histories));
        Node { history, data, version: u64::from(self.histories) * NEW_HISTORY }
    }

    /// The replica catches up.
    pub fn replicate(&mut self) {
        self.replica = self.primary.data.clone();
    }

    /// The replica becomes the primary; the old one lives on beside it when `split`.
    pub fn fail_over(&mut self, split: bool) {
        let promoted = self.new_node(self.replica.clone());
        let old = std::mem::replace(&mut self.primary, promoted);
        self.replaced = split.then_some(old);
    }

    /// The old primary finds out.
    pub fn heal(&mut self) {
        self.replaced = None;
    }

    /// Whether there are two that believe themselves the primary.
    pub const fn is_split(&self) -> bool {
        self.replaced.is_some()
    }

    /// The store starts anew with nothing.
    pub fn wipe(&mut self) {
        let books = vec![Book::new(); self.primary.data.books.len()];
        let data = Data { books, beats: BTreeMap::new() };
        self.replica = data.clone();
        self.primary = self.new_node(data);
        self.replaced = None;
    }

    /// The clock is set forward or back.
    pub const fn step(&mut self, by: i64) {
        self.clock = self.clock.saturating_add(by);
    }

    /// Runs one request at `at`; a frozen store never answers.
    pub fn serve(&mut self, at: Millis, side: Side, pod: &PodId, request: &Request) -> Option<Reply> {
        let writes = !matches!(request, Request::Ping | Request::Read);
        match self.ill {
            Some(Ill::Frozen) => return None,
            Some(Ill::Gone) => return Some(Reply::Failed(Trouble::Unreachable)),
            Some(Ill::ReadOnly) if writes => return Some(Reply::Failed(Trouble::ReadOnly)),
            Some(Ill::Full) if writes => return Some(Reply::Failed(Trouble::Full)),
            Some(Ill::ReadOnly | Ill::Full | Ill::Slow) | None => {}
        }
        let now = self.now(at);
        let node = match (side, &mut self.replaced) {
            (Side::Replaced, Some(old)) => old,
            (Side::Replaced | Side::Primary, _) => &mut self.primary,
        };
        Some(node.serve(now, pod, request))
    }
}

impl Node {
    fn serve(&mut self, now: StoreTime, pod: &PodId, request: &Request) -> Reply {
        match request {
            Request::Ping => Reply::Pong,
            Request::Read => self.known(now, pod, 0),
            Request::Beat { informed, seen } => {
                self.data.beats.insert(pod.clone(), (now, *informed));
                self.known(now, pod, *seen)
            }
            Request::Claim { deployment, terms } => match self.data.books.get_mut(*deployment) {
                Some(book) => Reply::Claimed(*deployment, book.claim(now, &self.history, terms, pod)),
                None => Reply::Failed(Trouble::Refused),
            },
            Request::Commit { deployment, verdict } => match self.data.books.get_mut(*deployment) {
                Some(book) => {
                    let result = book.commit(now, verdict);
                    self.version += u64::from(result.is_ok());
                    Reply::Committed(result)
                }
                None => Reply::Failed(Trouble::Refused),
            },
        }
    }

    fn known(&self, now: StoreTime, pod: &PodId, seen: u64) -> Reply {
        let others = self.data.beats.iter().filter(|(other, _)| *other != pod);
        let beats = others
            .map(|(other, (sent, informed))| {
                (other.clone(), Beat { age: sent.until(now), role: Role::All, informed: *informed })
            })
            .collect();
        let all = if seen == self.version { 0 } else { self.data.books.len() };
        let news = (0..all).filter_map(|deployment| self.news(now, deployment)).collect();
        Reply::Known { beats, news, version: self.version }
    }

    fn news(&self, now: StoreTime, deployment: usize) -> Option<News> {
        let record = self.data.books.get(deployment)?.record()?;
        Some(News {
            deployment,
            observer: record.observed_by.clone()?,
            seq: record.committed_seq,
            age: record.observed_at?.until(now),
            passed: record.state.as_deref() == Some(PASSED),
            next: now.until(record.due),
        })
    }
}

/// The word for a verdict that found a deployment well.
pub const PASSED: &str = "passed";

/// The word for a verdict.
pub fn word(passed: bool) -> Arc<str> {
    if passed { PASSED } else { "failed" }.into()
}
