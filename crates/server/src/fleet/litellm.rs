//! The Redis keys of LiteLLM's shared health check, so that runbooks and pods of LiteLLM work on.
//!
//! `health_check_results` is LiteLLM's JSON in a JSON string, with a TTL that counts down; `health_check_lock` is held,
//! with this pod's name, only while probes are in flight. Safety is the permits': these keys decide nothing between pods
//! of our own. With `fleet.litellm_keys: join` a pod of LiteLLM that holds the lock keeps this one from probing, and what it
//! wrote counts as a probe of its age.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haleway_config::{Fleet, LitellmKeys};
use haleway_fleet::PodId;
use haleway_fleet::pod::{Heard, Trouble};
use haleway_fleet::redis::RedisFleet;
use haleway_health::{Class, Outcome, Source, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Share;
use crate::gateway::Gateway;
use crate::routes::endpoints;

/// Between two writes of the results, however many probes end meanwhile.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// Between two looks at what LiteLLM wrote.
const LOOK: Duration = Duration::from_secs(2);

/// How this process shares LiteLLM's keys.
#[derive(Debug)]
pub(super) struct LitellmShare {
    joins: bool,
    results: String,
    lock: String,
    ttl: Duration,
    lock_ttl: Duration,
    /// Probes in flight, and what was written into the lock for them.
    held: tokio::sync::Mutex<Held>,
    /// Probes that ended, and how many of them the results show.
    ended: AtomicU64,
    shown: AtomicU64,
    times: Mutex<Times>,
}

#[derive(Debug, Default)]
struct Held {
    probes: u32,
    value: Option<String>,
}

#[derive(Debug, Default)]
struct Times {
    written: Timestamp,
    looked: Timestamp,
    /// When what a pod of LiteLLM wrote last was written, by its clock.
    theirs: f64,
}

impl LitellmShare {
    pub(super) fn new(fleet: &Fleet) -> Option<Self> {
        if !fleet.shared || fleet.litellm_keys == LitellmKeys::Off {
            return None;
        }
        let namespace = fleet.redis.as_ref().and_then(|redis| redis.litellm_namespace.as_deref());
        let key = |name: &str| namespace.map_or_else(|| name.to_owned(), |prefix| format!("{prefix}:{name}"));
        Some(Self {
            joins: fleet.litellm_keys == LitellmKeys::Join,
            results: key("health_check_results"),
            lock: key("health_check_lock"),
            ttl: fleet.ttl,
            lock_ttl: fleet.lock_ttl,
            held: tokio::sync::Mutex::default(),
            ended: AtomicU64::new(0),
            shown: AtomicU64::new(0),
            times: Mutex::default(),
        })
    }

    /// A probe is about to be sent. `false`: a pod of LiteLLM is probing now.
    pub(super) async fn begin(&self, redis: &RedisFleet, me: &PodId) -> bool {
        let mut held = self.held.lock().await;
        if self.joins && self.is_answered(redis).await {
            return false;
        }
        if held.value.is_none() {
            let value = Value::from(me.as_str()).to_string();
            match redis.set(&self.lock, &value, self.lock_ttl, true).await {
                Ok(true) => held.value = Some(value),
                Ok(false) if self.joins && self.is_foreign(redis).await => return false,
                // Held by a pod of ours, or not to be had: the permit decides.
                Ok(false) | Err(_) => {}
            }
        }
        held.probes += 1;
        true
    }

    /// Whether a pod of LiteLLM probed within the period of probes.
    async fn is_answered(&self, redis: &RedisFleet) -> bool {
        let Ok(Some(results)) = self.read(redis).await else { return false };
        let age = redis.store_now().as_millis() as f64 / 1000.0 - written(&results);
        is_litellm(results["checked_by"].as_str().unwrap_or_default()) && age < self.ttl.as_secs_f64()
    }

    async fn is_foreign(&self, redis: &RedisFleet) -> bool {
        let Ok(Some(text)) = redis.get(&self.lock).await else { return false };
        let owner = serde_json::from_str::<String>(&text).unwrap_or(text);
        is_litellm(&owner)
    }

    /// A probe is over.
    pub(super) async fn end(&self, redis: &RedisFleet) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        let mut held = self.held.lock().await;
        held.probes = held.probes.saturating_sub(1);
        if held.probes == 0
            && let Some(value) = held.value.take()
            && let Err(trouble) = redis.release(&self.lock, &value).await
        {
            tracing::debug!(trouble = trouble.as_str(), "the lock ends by itself");
        }
    }

    /// Writes the results when probes ended, and looks at what LiteLLM wrote.
    pub(super) async fn turn(&self, gateway: &Gateway, share: &Share, now: Timestamp) -> Result<(), Trouble> {
        let ended = self.ended.load(Ordering::Relaxed);
        let due = {
            let times = self.times.lock();
            ended > self.shown.load(Ordering::Relaxed) && times.written + DEBOUNCE <= now
        };
        if due {
            let value = Value::from(self.results_of(gateway, share, now).to_string()).to_string();
            share.redis.set(&self.results, &value, self.ttl, false).await?;
            self.shown.store(ended, Ordering::Relaxed);
            self.times.lock().written = now;
        }
        if self.joins {
            self.look(gateway, share, now).await?;
        }
        Ok(())
    }

    /// LiteLLM's results: the time is that of the youngest probe.
    fn results_of(&self, gateway: &Gateway, share: &Share, now: Timestamp) -> Value {
        let (healthy, unhealthy) = endpoints(gateway, now);
        let at = now.shifted(share.redis.clock_offset());
        json!({
            "healthy_count": healthy.len(),
            "unhealthy_count": unhealthy.len(),
            "healthy_endpoints": healthy,
            "unhealthy_endpoints": unhealthy,
            "timestamp": at.as_millis() as f64 / 1000.0,
            "checked_by": share.me.as_str(),
        })
    }

    async fn look(&self, gateway: &Gateway, share: &Share, now: Timestamp) -> Result<(), Trouble> {
        {
            let mut times = self.times.lock();
            if times.looked + LOOK > now {
                return Ok(());
            }
            times.looked = now;
        }
        let Some(results) = self.read(&share.redis).await? else { return Ok(()) };
        let by = results["checked_by"].as_str().unwrap_or_default();
        let written = written(&results);
        if !is_litellm(by) || written <= self.times.lock().theirs {
            return Ok(());
        }
        self.times.lock().theirs = written;
        let sent = Timestamp::from_millis((written * 1000.0).max(0.0) as u64);
        let sent = sent.shifted(-share.redis.clock_offset()).min(now);
        for (list, class) in [("healthy_endpoints", Class::Ok), ("unhealthy_endpoints", Class::ServerError)] {
            for row in results[list].as_array().into_iter().flatten() {
                let id = row["model_id"].as_str().unwrap_or_default();
                self.count(gateway, share, id, class, sent, by);
            }
        }
        Ok(())
    }

    /// What a pod of LiteLLM found counts as evidence of its age, and spaces the next probe.
    fn count(&self, gateway: &Gateway, share: &Share, id: &str, class: Class, sent: Timestamp, by: &str) {
        let live = gateway.live.load();
        let Some(deployment) = live.find(id) else { return };
        let now = gateway.clock.now();
        let interval = deployment.model.probe.map_or(self.ttl, |probe| probe.interval);
        let observer = PodId::new(by);
        let heard = Heard {
            observer: &observer,
            seq: sent.as_millis(),
            age: sent.until(now),
            passed: class == Class::Ok,
            next: now.until(sent + interval),
        };
        share.redis.pod().heard(now, deployment.id(), &heard);
        let generation = gateway.hub.generation(deployment.slot);
        gateway.hub.report(now, deployment.slot, &Outcome::new(class, Source::Peer, sent, generation));
    }

    async fn read(&self, redis: &RedisFleet) -> Result<Option<Value>, Trouble> {
        let Some(text) = redis.get(&self.results).await? else { return Ok(None) };
        let inner = serde_json::from_str::<String>(&text).unwrap_or(text);
        Ok(serde_json::from_str(&inner).ok())
    }

    /// The body of `GET /health/shared-status`.
    pub(super) async fn status(&self, gateway: &Gateway, share: &Share) -> Value {
        let mut status = json!({
            "pod_id": share.me.as_str(),
            "redis_available": false,
            "lock_ttl": self.lock_ttl.as_secs(),
            "cache_ttl": self.ttl.as_secs(),
            "lock_owner": null,
            "lock_in_progress": false,
            "cache_available": false,
            "cache_age_seconds": null,
            "last_checked_by": null,
        });
        let read =
            async { Ok::<_, Trouble>((share.redis.get(&self.lock).await?, self.read(&share.redis).await?)) };
        match read.await {
            Ok((lock, results)) => {
                let now = gateway.clock.now().shifted(share.redis.clock_offset());
                let owner = lock.map(|text| serde_json::from_str::<String>(&text).unwrap_or(text));
                status["redis_available"] = true.into();
                status["lock_in_progress"] = owner.is_some().into();
                status["lock_owner"] = owner.into();
                if let Some(results) = results {
                    let written = written(&results);
                    status["cache_available"] = true.into();
                    status["cache_age_seconds"] = (now.as_millis() as f64 / 1000.0 - written).max(0.0).into();
                    status["last_checked_by"] = results["checked_by"].clone();
                }
            }
            Err(trouble) => status["error"] = trouble.as_str().into(),
        }
        status
    }
}

/// Whether a pod is LiteLLM's: `pod_` and a number. The names of ours carry more.
fn is_litellm(pod: &str) -> bool {
    pod.strip_prefix("pod_").is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

/// When results were written, in seconds of the Unix epoch.
fn written(results: &Value) -> f64 {
    results["timestamp"].as_f64().unwrap_or_default()
}
