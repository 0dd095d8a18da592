//! Callers' requests over all processes: told once a second, judged as one sum.
//!
//! The request path counts in memory as it always does; once a second what was counted is put beside what the other
//! pods told. Too many failures in the sum, seen by two pods at least, isolate a deployment for everybody, though no pod
//! has seen enough by itself. The other way round, an isolation that one or two pods infer stays theirs while the
//! requests of the others succeed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_config::Config;
use haleway_fleet::PodId;
use haleway_fleet::pod::Trouble;
use haleway_fleet::pod::traffic::Counted;
use haleway_health::{Class, Timestamp};

use super::Share;
use super::sync::is_agreed;
use crate::deployment::Deployment;
use crate::gateway::Gateway;

/// Deployments per message. With fewer, everything counted in a second is one call to the store.
const PER_MESSAGE: usize = 1_000;
/// Pods whose requests must have failed before the sum decides.
const WITNESSES: usize = 2;
/// For how long it is asked again whether others contradict an isolation.
const DOUBT: Duration = Duration::from_secs(60);

/// The longest window of any deployment.
pub(super) fn longest(config: &Config) -> Duration {
    config.models.iter().map(|model| model.health.window.length).max().unwrap_or_default()
}

/// Counts what ended since the last second, whether or not the store can be told.
pub(super) fn count(gateway: &Gateway, share: &Share, now: Timestamp) {
    let met = gateway.hub.take_met(now);
    // What may be this pod's own fault is not held against a deployment.
    let unwell = gateway.hub.snapshot().pod_suspect() || share.redis.pod().fitness().abstains(now);
    let live = gateway.live.load();
    let ahead = share.redis.clock_offset();
    let mut traffic = share.traffic.lock();
    for met in met {
        let Some(deployment) = live.deployment(met.slot).filter(|_| !unwell) else { continue };
        let answered_at = met.answered_at.shifted(ahead);
        traffic.count(now.shifted(ahead), deployment.id(), met.counts, answered_at, met.failed);
    }
    traffic.retain(now.shifted(ahead), |_| true);
}

/// Takes in what another pod counted.
pub(super) fn hear(gateway: &Gateway, share: &Share, pod: &str, says: &str) {
    let Ok(counted) = serde_json::from_str::<BTreeMap<String, Counted>>(says) else { return };
    let live = gateway.live.load();
    let (now, pod) = (share.redis.store_now(), PodId::new(pod));
    let mut traffic = share.traffic.lock();
    for (deployment, counted) in &counted {
        if let Some(found) = live.find(deployment) {
            traffic.heard(now, &pod, found.id(), counted);
        }
    }
}

/// Tells what was counted here, and judges what changed.
pub(super) async fn turn(gateway: &Gateway, share: &Share, now: Timestamp) -> Result<(), Trouble> {
    let untold = share.traffic.lock().untold();
    for part in untold.chunks(PER_MESSAGE) {
        let says: BTreeMap<&str, &Counted> = part.iter().map(|(id, counted)| (&**id, counted)).collect();
        share.redis.tell_counts(&serde_json::to_string(&says).unwrap_or_default()).await?;
    }
    judge(gateway, share, now);
    ask_again(gateway, share, now);
    Ok(())
}

fn judge(gateway: &Gateway, share: &Share, now: Timestamp) {
    let live = gateway.live.load();
    let ahead = share.redis.clock_offset();
    let news = share.traffic.lock().news();
    for deployment in news.iter().filter_map(|id| live.find(id)) {
        let window = &deployment.model.health.window;
        let Some(from) = gateway.hub.counts_from(deployment.slot) else { continue };
        let from = from.max(now - window.length).shifted(ahead);
        let sum = share.traffic.lock().sum(now.shifted(ahead), deployment.id(), from, |_| true);
        if sum.failing >= WITNESSES && window.fails(sum.counts) {
            let class = sum.failed.unwrap_or(Class::ServerError);
            gateway.hub.met_everywhere(now, deployment.slot, sum.counts, class);
        }
    }
}

/// Whether the requests of others contradict that `deployment` fails.
pub(super) fn contradicts(share: &Share, now: Timestamp, deployment: &Deployment) -> bool {
    let window = &deployment.model.health.window;
    let ahead = share.redis.clock_offset();
    let contradicted = {
        let witnesses = share.witnesses.lock();
        let Some(since) = witnesses.since(deployment.id()) else { return false };
        let sees = |pod: &PodId| witnesses.saw(deployment.id(), pod);
        let traffic = share.traffic.lock();
        traffic.contradicts(now.shifted(ahead), deployment.id(), window, since.shifted(ahead), sees)
    };
    if contradicted {
        let mut open = share.contradicted.lock();
        open.entry(Arc::clone(deployment.id())).or_insert(now + DOUBT);
    }
    contradicted
}

/// An isolation that others contradicted may be everybody's after all, when they met the same since.
fn ask_again(gateway: &Gateway, share: &Share, now: Timestamp) {
    let open: Vec<_> = {
        let mut open = share.contradicted.lock();
        if open.is_empty() {
            return;
        }
        open.retain(|_, until| now < *until);
        open.keys().cloned().collect()
    };
    let live = gateway.live.load();
    for deployment in open.iter().filter_map(|id| live.find(id)) {
        if is_agreed(share, now, deployment) {
            share.contradicted.lock().remove(deployment.id());
            gateway.hub.witnessed(now, deployment.slot);
        }
    }
}
