//! The fleet over Redis 7 or Valkey: permits, the snapshot of what is known, heartbeats, messages.
//!
//! The store decides ([`crate::book`], as scripts on the store's clock); the pod decides whether to ask at all
//! ([`crate::pod`]). Every call has a deadline and nothing here retries: what failed is reported, and the one task that
//! keeps the link ([`RedisFleet::reach`]) connects anew. Callers of the request path never come here.

mod budget;
mod link;
mod names;
mod reply;
mod scripts;
mod settings;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use haleway_health::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use redis::{PushInfo, PushKind, RedisResult, ScriptInvocation, Value};
use tokio::sync::mpsc;

pub use budget::{Reached, SpendCaps, Spent};
pub use names::{BUCKETS, Bucket};
pub use reply::{Heartbeat, Line, Message, Published};
pub use settings::{Address, Nodes, Settings};

use self::link::Connection;
use self::names::Names;
use self::scripts::Scripts;
use crate::book::{Answer, Refused, Terms};
use crate::permit::Grant;
use crate::pod::{Beat, Outcome, Pod, Role, Trouble, Turn};
use crate::{Ask, Claim, Fleet, MIN_GAP, PodId, Stale};

/// Pushed messages that may wait to be read. What finds no room is found by the next poll.
const MESSAGES: usize = 4096;
/// A pod whose last heartbeat is older than this is forgotten.
const FORGET: Duration = Duration::from_secs(600);
/// How much longer than a spacing nothing is granted after a failover, for a primary that was replaced and does not know.
const SPLIT_BRAIN: Duration = Duration::from_secs(2);

/// What a pod did with permits since it started.
#[derive(Debug, Default)]
struct Counts {
    claims: AtomicU64,
    grants: AtomicU64,
    dropped: AtomicU64,
    commits: AtomicU64,
    stale: AtomicU64,
    quarantines: AtomicU64,
    calls: AtomicU64,
    failures: AtomicU64,
}

/// The same at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Claims that were asked of the store.
    pub claims: u64,
    /// Permits granted to this pod.
    pub grants: u64,
    /// Of those, the ones that came too late to be used.
    pub dropped: u64,
    /// Verdicts that counted.
    pub commits: u64,
    /// Verdicts that did not.
    pub stale: u64,
    /// Claims that met a store that had failed over.
    pub quarantines: u64,
    /// Calls to the store.
    pub calls: u64,
    /// Calls that failed.
    pub failures: u64,
}

/// What is remembered of the latest grant that this pod used or asked for.
#[derive(Clone, Copy, Debug)]
struct Asked {
    interval: Duration,
    at: Timestamp,
    /// When the latest permit was granted, by the store's clock.
    granted: Option<u64>,
}

/// This pod's part in a fleet that shares a Redis.
pub struct RedisFleet {
    settings: Settings,
    names: Names,
    scripts: Scripts,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    pod: Mutex<Pod>,
    connection: Mutex<Option<Connection>>,
    sender: mpsc::Sender<PushInfo>,
    messages: tokio::sync::Mutex<mpsc::Receiver<PushInfo>>,
    asked: Mutex<HashMap<Arc<str>, Asked>>,
    /// The store's clock less this process's, in milliseconds.
    ahead: AtomicI64,
    counts: Counts,
}

impl fmt::Debug for RedisFleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisFleet").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl RedisFleet {
    /// A pod that has not reached its store yet. `clock` goes on while the machine sleeps; `seed` decides jitter.
    pub fn new(
        settings: Settings,
        me: PodId,
        role: Role,
        seed: u64,
        clock: impl Fn() -> Timestamp + Send + Sync + 'static,
    ) -> Self {
        let (sender, messages) = mpsc::channel(MESSAGES);
        Self {
            names: Names::new(&settings.namespace),
            settings,
            scripts: Scripts::new(),
            clock: Box::new(clock),
            pod: Mutex::new(Pod::new(me, role, seed)),
            connection: Mutex::new(None),
            sender,
            messages: tokio::sync::Mutex::new(messages),
            asked: Mutex::default(),
            ahead: AtomicI64::new(0),
            counts: Counts::default(),
        }
    }

    /// This pod's own decisions. Hold it for one of them.
    pub fn pod(&self) -> MutexGuard<'_, Pod> {
        self.pod.lock()
    }

    /// By how many milliseconds the store's clock is ahead of this process's.
    pub fn clock_offset(&self) -> i64 {
        self.ahead.load(Ordering::Relaxed)
    }

    /// The present by the store's clock, as well as it is known here.
    pub fn store_now(&self) -> Timestamp {
        (self.clock)().shifted(self.clock_offset())
    }

    /// What this pod did with permits.
    pub fn tally(&self) -> Tally {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &self.counts;
        Tally {
            claims: read(&counts.claims),
            grants: read(&counts.grants),
            dropped: read(&counts.dropped),
            commits: read(&counts.commits),
            stale: read(&counts.stale),
            quarantines: read(&counts.quarantines),
            calls: read(&counts.calls),
            failures: read(&counts.failures),
        }
    }

    /// Connects, if there is no connection.
    ///
    /// # Errors
    /// When the store cannot be reached within two seconds.
    pub async fn reach(&self) -> Result<(), Trouble> {
        if self.connection.lock().is_some() {
            return Ok(());
        }
        let channel = self.names.channel();
        let connection = link::connect(&self.settings, &channel, self.sender.clone()).await?;
        *self.connection.lock() = Some(connection);
        Ok(())
    }

    /// Drops the connection, so that [`Self::reach`] makes a new one.
    pub fn disconnect(&self) {
        *self.connection.lock() = None;
    }

    /// The next message of another pod. Ends only with the fleet.
    pub async fn message(&self) -> Option<Message> {
        let mut messages = self.messages.lock().await;
        loop {
            let push = messages.recv().await?;
            if push.kind != PushKind::Message {
                continue;
            }
            let text = push.data.into_iter().nth(1).and_then(|value| reply::read::<String>(value).ok());
            if let Some(message) = text.as_deref().and_then(Message::read) {
                return Some(message);
            }
        }
    }

    /// Says that this pod is there, and learns who else is. `says` is for the others.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn beat(&self, says: &str) -> Result<Vec<Heartbeat>, Trouble> {
        let me = self.pod().id().clone();
        let began = (self.clock)();
        let mut call = self.scripts.beat.prepare_invoke();
        call.key(self.names.pods()).arg(me.as_str()).arg(says).arg(millis(FORGET));
        let values: Vec<Value> = self.script(&call).await?;
        let ended = (self.clock)();
        let mut values = values.into_iter();
        let read = |value: Option<Value>| value.ok_or_else(reply::odd);
        let answer: RedisResult<_> = (|| {
            let now: u64 = reply::read(read(values.next())?)?;
            let mut beats = Vec::new();
            while let Some(pod) = values.next() {
                let age: u64 = reply::read(read(values.next())?)?;
                let says = reply::read(read(values.next())?)?;
                beats.push(Heartbeat { pod: reply::read(pod)?, age: Duration::from_millis(age), says });
            }
            Ok((now, beats))
        })();
        let (now, beats) = answer.map_err(|error| self.failed(&error))?;
        self.set_clock(now, began, ended);
        Ok(beats)
    }

    /// Takes this pod's name off the list, when it leaves in good order.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn leave(&self) -> Result<(), Trouble> {
        let me = self.pod().id().clone();
        let mut cmd = redis::cmd("HDEL");
        cmd.arg(self.names.pods()).arg(me.as_str());
        self.command::<Value>(&cmd).await.map(drop)
    }

    /// The version of every bucket, in order; 0 for one in which nothing was written.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn versions(&self) -> Result<Vec<u64>, Trouble> {
        let mut cmd = redis::cmd("MGET");
        for bucket in Bucket::all() {
            cmd.arg(self.names.version(bucket));
        }
        let versions: Vec<Option<u64>> = self.command(&cmd).await?;
        Ok(versions.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Everything that is known of the deployments of a bucket.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn read(&self, bucket: Bucket) -> Result<Vec<(String, Line)>, Trouble> {
        let mut cmd = redis::cmd("HGETALL");
        cmd.arg(self.names.snapshot(bucket));
        let lines: HashMap<String, String> = self.command(&cmd).await?;
        Ok(lines.into_iter().filter_map(|(id, text)| Some((id, Line::read(&text)?))).collect())
    }

    /// Writes what is known of a deployment, unless somebody wrote since `known`, the version this pod has read.
    ///
    /// # Errors
    /// When the store does not answer; whether it was written is not known then.
    pub async fn publish(
        &self,
        deployment: &str,
        known: u64,
        decision: bool,
        payload: &str,
    ) -> Result<Published, Trouble> {
        let bucket = Bucket::of(deployment);
        let mut call = self.scripts.publish.prepare_invoke();
        call.key(self.names.snapshot(bucket))
            .key(self.names.version(bucket))
            .arg(deployment)
            .arg(known)
            .arg(u8::from(decision))
            .arg(payload)
            .arg(self.names.channel())
            .arg(bucket.number());
        let (written, text): (bool, String) = self.script(&call).await?;
        let line = Line::read(&text).ok_or_else(|| self.failed(&reply::odd()))?;
        Ok(if written { Published::Written(line) } else { Published::Overtaken(line) })
    }

    /// Tells the other pods that this one saw a deployment fail.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn tell_failure(&self, deployment: &str, says: &str) -> Result<(), Trouble> {
        let mut cmd = redis::cmd("PUBLISH");
        cmd.arg(self.names.channel()).arg(format!("failed\n{deployment}\n{says}"));
        self.command::<Value>(&cmd).await.map(drop)
    }

    /// Tells the other pods what this one counted.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn tell_counts(&self, says: &str) -> Result<(), Trouble> {
        let me = self.pod().id().clone();
        let mut cmd = redis::cmd("PUBLISH");
        cmd.arg(self.names.channel()).arg(format!("counted\n{me}\n{says}"));
        self.command::<Value>(&cmd).await.map(drop)
    }

    /// Tells the other pods that the models in the database changed.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn tell_models(&self) -> Result<(), Trouble> {
        let me = self.pod().id().clone();
        let mut cmd = redis::cmd("PUBLISH");
        cmd.arg(self.names.channel()).arg(format!("models\n{me}"));
        self.command::<Value>(&cmd).await.map(drop)
    }

    /// Asks for the one trial by a caller's request that the fleet makes of a deployment within `hold`.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn claim_trial(&self, deployment: &str, hold: Duration) -> Result<bool, Trouble> {
        let me = self.pod().id().clone();
        let mut cmd = redis::cmd("SET");
        cmd.arg(self.names.trial(deployment)).arg(me.as_str()).arg("NX").arg("PX").arg(millis(hold).max(1));
        let set: Option<String> = self.command(&cmd).await?;
        Ok(set.is_some())
    }

    /// Reads a key outside the fleet's own, such as LiteLLM's, and how long it will last.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn get(&self, key: &str) -> Result<Option<String>, Trouble> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(key);
        self.command(&cmd).await
    }

    /// Writes such a key for `ttl`; only where there is none, if `fresh`. Answers whether it was written.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn set(&self, key: &str, value: &str, ttl: Duration, fresh: bool) -> Result<bool, Trouble> {
        let mut cmd = redis::cmd("SET");
        cmd.arg(key).arg(value).arg("PX").arg(millis(ttl).max(1));
        if fresh {
            cmd.arg("NX");
        }
        let set: Option<String> = self.command(&cmd).await?;
        Ok(set.is_some())
    }

    /// Deletes such a key if it still holds `value`.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn release(&self, key: &str, value: &str) -> Result<(), Trouble> {
        let mut call = self.scripts.release.prepare_invoke();
        call.key(key).arg(value);
        self.script::<Value>(&call).await.map(drop)
    }

    /// Until when this pod would not ask for a permit on these terms; `None` when it would now.
    pub fn would_wait(&self, now: Timestamp, ask: &Ask<'_>) -> Option<Timestamp> {
        match self.pod().turn(now, ask) {
            Turn::Claim => None,
            Turn::Wait(until) | Turn::Abstain(_, until) => Some(until),
        }
    }

    /// Forgets deployments that are gone, after a reload.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.pod().retain(&keep);
        self.asked.lock().retain(|deployment, _| keep(deployment));
    }

    /// The interval that the latest claim of a deployment named.
    pub fn interval_of(&self, deployment: &str) -> Option<Duration> {
        self.asked.lock().get(deployment).map(|asked| asked.interval)
    }

    /// When the latest permit of a deployment was granted to this pod, by the store's clock.
    pub fn granted_at(&self, deployment: &str) -> Option<Timestamp> {
        self.asked.lock().get(deployment)?.granted.map(Timestamp::from_millis)
    }

    /// When this pod last claimed a permit of any deployment.
    pub fn last_claim(&self) -> Option<Timestamp> {
        self.asked.lock().values().map(|asked| asked.at).max()
    }

    /// The pods that are there, with their roles; this one first.
    pub fn members(&self, now: Timestamp) -> Vec<(PodId, Role)> {
        self.pod().members().live(now).map(|(pod, role)| (pod.clone(), role)).collect()
    }

    /// Notes the heartbeat of a pod: what it is for, and whether it has heard of grants.
    pub fn note(&self, now: Timestamp, heartbeat: &Heartbeat, role: Role, informed: bool) {
        let beat = Beat { age: heartbeat.age, role, informed };
        self.pod().beat(now, &PodId::new(&heartbeat.pod), beat);
    }

    fn set_clock(&self, store: u64, began: Timestamp, ended: Timestamp) {
        let middle = began.as_millis() / 2 + ended.as_millis() / 2;
        let ahead = i64::try_from(store).unwrap_or(i64::MAX) - i64::try_from(middle).unwrap_or(i64::MAX);
        self.ahead.store(ahead, Ordering::Relaxed);
    }

    fn connected(&self) -> Result<Connection, Trouble> {
        self.connection.lock().clone().ok_or(Trouble::Unreachable)
    }

    async fn script<T: redis::FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Trouble> {
        let mut connection = self.connected()?;
        let answer = tokio::time::timeout(link::ANSWER, call.invoke_async(&mut connection)).await;
        self.judged(answer)
    }

    async fn command<T: redis::FromRedisValue>(&self, cmd: &redis::Cmd) -> Result<T, Trouble> {
        let mut connection = self.connected()?;
        let answer = tokio::time::timeout(link::ANSWER, cmd.query_async(&mut connection)).await;
        self.judged(answer)
    }

    fn judged<T>(&self, answer: Result<RedisResult<T>, tokio::time::error::Elapsed>) -> Result<T, Trouble> {
        self.counts.calls.fetch_add(1, Ordering::Relaxed);
        match answer {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_) => {
                self.counts.failures.fetch_add(1, Ordering::Relaxed);
                Err(Trouble::Silent)
            }
        }
    }

    fn failed(&self, error: &redis::RedisError) -> Trouble {
        self.counts.failures.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(code = error.code(), kind = ?error.kind(), "a call to Redis failed");
        link::trouble(error)
    }

    async fn ask(&self, ask: &Ask<'_>, terms: &Terms) -> Result<Answer, Trouble> {
        let me = self.pod().id().clone();
        let mut call = self.scripts.claim.prepare_invoke();
        call.key(self.names.permit(ask.deployment))
            .arg(me.as_str())
            .arg(millis(terms.interval))
            .arg(millis(terms.hold))
            .arg(millis(terms.first_touch))
            .arg(millis(terms.split_brain));
        let value = self.script(&call).await?;
        let (answer, now) = reply::claim(value).map_err(|error| self.failed(&error))?;
        if matches!(answer, Answer::Grant { .. })
            && let Some(asked) = self.asked.lock().get_mut(ask.deployment)
        {
            asked.granted = Some(now);
        }
        Ok(answer)
    }

    fn outcome(&self, started: Timestamp, ask: &Ask<'_>, answer: &Answer) -> Claim {
        let count = |count: &AtomicU64| count.fetch_add(1, Ordering::Relaxed);
        if matches!(answer, Answer::Quarantine { .. }) {
            count(&self.counts.quarantines);
            tracing::info!(deployment = %ask.deployment, "the store failed over: one interval without a probe");
        }
        let now = (self.clock)();
        match self.pod().answered(started, now, ask, answer) {
            Outcome::Granted(permit) => {
                count(&self.counts.grants);
                Claim::Granted(permit)
            }
            Outcome::TooLate { seq } => {
                count(&self.counts.grants);
                count(&self.counts.dropped);
                tracing::info!(deployment = %ask.deployment, seq, "a permit came too late and is not used");
                Claim::Wait(now + ask.interval.max(ask.hold))
            }
            Outcome::Wait(until) => Claim::Wait(until),
        }
    }
}

impl Fleet for RedisFleet {
    async fn claim(&self, now: Timestamp, ask: &Ask<'_>) -> Claim {
        let (turn, terms) = {
            let mut pod = self.pod();
            (pod.turn(now, ask), pod.terms(now, ask, SPLIT_BRAIN))
        };
        match turn {
            Turn::Claim => {}
            Turn::Wait(until) | Turn::Abstain(_, until) => return Claim::Wait(until),
        }
        self.counts.claims.fetch_add(1, Ordering::Relaxed);
        self.asked
            .lock()
            .insert(Arc::clone(ask.deployment), Asked { interval: terms.interval, at: now, granted: None });
        let started = (self.clock)();
        match self.ask(ask, &terms).await {
            Ok(answer) => self.outcome(started, ask, &answer),
            Err(trouble) => {
                tracing::debug!(deployment = %ask.deployment, trouble = trouble.as_str(), "a claim was not answered");
                Claim::Wait(self.pod().unanswered(started, (self.clock)(), ask))
            }
        }
    }

    /// A verdict that cannot be committed is one that does not count: whether another permit was granted meanwhile
    /// nobody knows.
    async fn commit(&self, _now: Timestamp, grant: &Grant) -> Result<(), Stale> {
        let interval = self.interval_of(grant.deployment()).unwrap_or(MIN_GAP);
        let mut call = self.scripts.commit.prepare_invoke();
        call.key(self.names.permit(grant.deployment()))
            .arg(grant.seq())
            .arg(millis(interval))
            .arg(millis(MIN_GAP.min(interval)))
            .arg("");
        let stale = Stale { seq: grant.seq() };
        let answer = match self.script(&call).await.map(reply::commit) {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                self.failed(&error);
                return Err(stale);
            }
            Err(_) => return Err(stale),
        };
        match answer {
            Ok(_next) => {
                self.counts.commits.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(Refused::Gone | Refused::Stale { .. }) => {
                self.counts.stale.fetch_add(1, Ordering::Relaxed);
                Err(stale)
            }
        }
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
