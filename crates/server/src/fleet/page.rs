//! `GET /haleway/fleet` and `GET /health/shared-status`: who is there, who probed what and when, what it cost.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use haleway_health::Timestamp;
use serde_json::{Value, json};

use super::Share;
use super::entry::Says;
use super::sync::slots;
use crate::gateway::Gateway;
use crate::routes::{PageError, Shared, rfc3339};

/// Whether this process shares its state now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It has no fleet.
    Alone,
    /// Its store cannot be reached.
    Local,
    /// It shares.
    Shared,
}

impl Status {
    pub(crate) fn of(gateway: &Gateway) -> Self {
        match &gateway.share {
            None => Self::Alone,
            Some(share) if share.state.lock().up => Self::Shared,
            Some(_) => Self::Local,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Local => "local",
            Self::Shared => "shared",
        }
    }
}

/// `GET /haleway/fleet`
pub(crate) async fn fleet_page(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    gateway.live.load().keys.admit_admin(&headers)?;
    let mode = Status::of(&gateway).as_str();
    let Some(share) = &gateway.share else {
        return Ok(Json(json!({"mode": mode, "pods": [], "deployments": []})).into_response());
    };
    let now = gateway.clock.now();
    let state = *share.state.lock();
    let tally = share.redis.tally();
    let spent = share.trail.lock().spent();
    let (score, abstains) = {
        let pod = share.redis.pod();
        (pod.fitness().score(now), pod.fitness().abstains(now))
    };
    Ok(Json(json!({
        "mode": mode,
        "pod": share.me.as_str(),
        "role": share.role.as_str(),
        "namespace": share.namespace,
        "self_health": {"score": score, "abstains": abstains},
        "store": {
            "up": state.up,
            "since": rfc3339(state.since),
            "trouble": state.trouble,
            "clock_offset_ms": share.redis.clock_offset(),
            "calls": tally.calls,
            "failures": tally.failures,
        },
        "permits": {
            "claims": tally.claims,
            "grants": tally.grants,
            "dropped": tally.dropped,
            "commits": tally.commits,
            "stale": tally.stale,
            "quarantines": tally.quarantines,
        },
        "probes": {
            "paid": spent.paid,
            "theoretical": spent.due,
            "ratio": spent.ratio(),
            "shortest_distance_in_intervals": spent.soonest,
            "alarm": spent.alarm(),
        },
        "traffic": {"deployments": share.traffic.lock().len()},
        "budget": share.budget_shown(&gateway.live.load().total_caps()),
        "pods": pods(share, now),
        "deployments": deployments(&gateway, share, now),
    }))
    .into_response())
}

fn pods(share: &Share, now: Timestamp) -> Vec<Value> {
    let back = -share.redis.clock_offset();
    let there = share.redis.members(now);
    let (read, beats) = &*share.pods.lock();
    let mut pods: Vec<_> = beats
        .iter()
        .map(|beat| {
            let says: Says = serde_json::from_str(&beat.says).unwrap_or_default();
            let age = beat.age + read.until(now);
            json!({
                "pod": beat.pod,
                "there": there.iter().any(|(pod, _)| pod.as_str() == beat.pod),
                "role": says.role,
                "version": says.version,
                "heartbeat_age_seconds": age.as_secs_f64(),
                "started": rfc3339(says.started.shifted(back)),
                "last_claim": says.last_claim.map(|at| rfc3339(at.shifted(back))),
                "probes": says.probes,
                "self_health": says.self_health,
            })
        })
        .collect();
    pods.sort_by(|a, b| a["pod"].as_str().cmp(&b["pod"].as_str()));
    pods
}

fn deployments(gateway: &Gateway, share: &Share, now: Timestamp) -> Vec<Value> {
    let back = -share.redis.clock_offset();
    slots(gateway)
        .into_iter()
        .map(|(slot, id)| {
            let snapshot = gateway.hub.snapshot();
            let (version, observer) = share
                .table
                .lock()
                .get(&id)
                .map(|known| (known.version, known.entry.observer.clone()))
                .unwrap_or_default();
            let probe = share.trail.lock().latest(&id).cloned();
            let at = probe.as_ref().map(|probe| probe.at.shifted(back));
            json!({
                "id": &*id,
                "state": snapshot.verdict(slot).state.as_str(),
                "local_only": snapshot.entry(slot).local_only(),
                "decided_by": observer,
                "probed_by": probe.as_ref().map(|probe| probe.pod.clone()),
                "probed_at": at.map(rfc3339),
                "probe_age_seconds": at.map(|at| at.until(now).as_secs_f64()),
                "permit": probe.as_ref().map(|probe| probe.seq),
                "interval_seconds": probe.as_ref().map(|probe| probe.interval().as_secs_f64()),
                "version": version,
            })
        })
        .collect()
}

/// `GET /health/shared-status`
pub(crate) async fn shared_status(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    let live = gateway.live.load_full();
    live.keys.admit(&headers)?;
    let (share, litellm) = match &gateway.share {
        Some(share) => (share, share.litellm.as_ref()),
        None => {
            let enabled = live.config.general.use_shared_health_check;
            let message =
                if enabled { "Redis is not configured" } else { "Shared health check is not enabled" };
            let mut body = json!({"shared_health_check_enabled": enabled, "message": message});
            if enabled {
                body["redis_available"] = Value::Bool(false);
            }
            return Ok(Json(body).into_response());
        }
    };
    let Some(litellm) = litellm else {
        return Ok(Json(json!({
            "shared_health_check_enabled": false,
            "message": "Shared health check is not enabled",
        }))
        .into_response());
    };
    let status = litellm.status(&gateway, share).await;
    Ok(Json(json!({"shared_health_check_enabled": true, "status": status})).into_response())
}
