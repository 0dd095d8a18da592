//! The two tasks: what other pods push, and the link with everything that is done from time to time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use haleway_fleet::pod::{Certainty, HEARTBEAT, Heard, Line as Say, Reach, Step, Trouble};
use haleway_fleet::redis::{Bucket, Line, Message, Published};
use haleway_fleet::{Ask, PodId};
use haleway_health::{Bulletin, News, Peer, Saved, Slot, Timestamp};

use super::entry::{Entry, Failure, Says};
use super::known::Every;
use super::traffic;
use super::{Share, is_inferred};
use crate::deployment::Deployment;
use crate::gateway::Gateway;

/// How often it is looked whether there is something to tell: a decision is everywhere well within a second.
const TURN: Duration = Duration::from_millis(200);
/// How often versions are compared, so that a message that was missed repairs itself.
const POLL: Duration = Duration::from_secs(2);
/// Between two tries to reach the store.
const RETRY: Duration = Duration::from_secs(1);
/// Between two looks at who is not watched, and at LiteLLM's keys.
const SECOND: Duration = Duration::from_secs(1);

/// Between two looks at how late this task's own timer is: a busy moment is no illness, a busy machine is.
const LAG: Duration = Duration::from_secs(5);

/// One of the tasks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    Link,
    Messages,
}

/// Runs until shutdown.
pub(super) async fn run(gateway: &Arc<Gateway>, share: &Arc<Share>, task: Task) {
    let work = async {
        match task {
            Task::Link => keep_link(gateway, share).await,
            Task::Messages => take_messages(gateway, share).await,
        }
    };
    tokio::select! {
        () = gateway.shutdown.cancelled() => {}
        () = work => {}
    }
    if matches!(task, Task::Link) {
        // In good order: the others need not wait until this pod is missed. That it cannot be told is no harm.
        if let Err(trouble) = share.redis.leave().await {
            tracing::debug!(trouble = trouble.as_str(), "left without a word");
        }
    }
}

async fn take_messages(gateway: &Arc<Gateway>, share: &Arc<Share>) {
    while let Some(message) = share.redis.message().await {
        match message {
            Message::Line { deployment, line } => apply(gateway, share, &deployment, &line),
            Message::Failed { deployment, says } => hear_failure(gateway, share, &deployment, &says),
            Message::Counted { pod, says } => traffic::hear(gateway, share, &pod, &says),
            Message::Models { pod } if pod != share.me.as_str() => gateway.stored.look(),
            Message::Models { .. } => {}
        }
    }
}

/// What is done from time to time, and when next.
struct Rounds {
    reach: Every,
    beat: Every,
    poll: Every,
    full: Every,
    second: Every,
    lag: Every,
}

async fn keep_link(gateway: &Arc<Gateway>, share: &Arc<Share>) {
    let full_sync = gateway.live.load().config.haleway.fleet.full_sync;
    let mut rounds = Rounds {
        reach: Every::new(RETRY),
        beat: Every::new(HEARTBEAT),
        poll: Every::new(POLL),
        full: Every::new(full_sync),
        second: Every::new(SECOND),
        lag: Every::new(LAG),
    };
    loop {
        let planned = gateway.clock.now() + TURN;
        tokio::time::sleep(TURN).await;
        let now = gateway.clock.now();
        if rounds.lag.due(now) {
            share.redis.pod().fitness_mut().lagged(now, planned.until(now));
        }
        if let Err(trouble) = turn(gateway, share, &mut rounds, now).await {
            failed(gateway, share, trouble);
            rounds.reach.retry(gateway.clock.now(), RETRY);
        }
        if rounds.second.due(now) {
            watch(gateway, share, now);
            traffic::count(gateway, share, now);
        }
    }
}

/// One turn: the step that the link is at.
async fn turn(
    gateway: &Arc<Gateway>,
    share: &Arc<Share>,
    rounds: &mut Rounds,
    now: Timestamp,
) -> Result<(), Trouble> {
    let step = share.redis.pod().link().step();
    match step {
        Step::Reach if rounds.reach.due(now) => share.redis.reach().await?,
        Step::Reach => return Ok(()),
        Step::Pull => {
            beat(gateway, share).await?;
            read_all(gateway, share, false).await?;
        }
        Step::Publish => {
            read_all(gateway, share, true).await?;
            tell(gateway, share).await?;
        }
        Step::Go => {
            // A connection that broke between two calls is made anew before anybody notices.
            share.redis.reach().await?;
            tell(gateway, share).await?;
            if rounds.beat.due(now) {
                beat(gateway, share).await?;
            }
            if rounds.poll.due(now) {
                poll(gateway, share).await?;
            }
            if rounds.full.due(now) {
                read_all(gateway, share, true).await?;
            }
            license_trials(gateway, share, now).await?;
            traffic::turn(gateway, share, now).await?;
            if let Some(litellm) = &share.litellm {
                litellm.turn(gateway, share, now).await?;
            }
        }
    }
    succeeded(gateway, share, step);
    Ok(())
}

fn succeeded(gateway: &Gateway, share: &Share, step: Step) {
    let now = gateway.clock.now();
    let line = share.redis.pod().link_mut().succeeded(now);
    if step == Step::Publish {
        let mut state = share.state.lock();
        *state = super::LinkState { up: true, since: now, trouble: None };
        drop(state);
        gateway.hub.trials_need_licence(now, true);
        gateway.wake_prober.notify_one();
    }
    match line {
        Some(Say::Restored(after)) => {
            tracing::info!(seconds = after.as_secs(), "shared state restored");
        }
        Some(Say::Lost(_)) => {}
        None if step == Step::Publish => tracing::info!("shared state reached"),
        None => {}
    }
}

fn failed(gateway: &Gateway, share: &Share, trouble: Trouble) {
    let now = gateway.clock.now();
    share.redis.disconnect();
    let (line, up) = {
        let mut pod = share.redis.pod();
        let line = pod.link_mut().failed(now, trouble);
        (line, pod.link().is_up())
    };
    if up {
        return;
    }
    {
        let mut state = share.state.lock();
        let since = if state.up { now } else { state.since };
        *state = super::LinkState { up: false, since, trouble: Some(trouble.as_str()) };
    }
    gateway.hub.trials_need_licence(now, false);
    if let Some(Say::Lost(trouble)) = line {
        tracing::warn!(
            trouble = trouble.as_str(),
            "shared state lost: serving with what is known, no probe leaves until it is back"
        );
    }
}

/// Says that this pod is there and notes who else is.
async fn beat(gateway: &Gateway, share: &Share) -> Result<(), Trouble> {
    let now = gateway.clock.now();
    let ahead = share.redis.clock_offset();
    let says = {
        let pod = share.redis.pod();
        Says {
            role: share.role.as_str().to_owned(),
            informed: pod.informed(now),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: share.started.shifted(ahead),
            last_claim: None,
            probes: 0,
            self_health: pod.fitness().score(now),
        }
    };
    let tally = share.redis.tally();
    let says = Says {
        last_claim: share.redis.last_claim().map(|at| at.shifted(ahead)),
        probes: tally.grants - tally.dropped,
        ..says
    };
    let text = serde_json::to_string(&says).unwrap_or_default();
    let beats = share.redis.beat(&text).await?;
    let now = gateway.clock.now();
    for heartbeat in &beats {
        let Ok(says) = serde_json::from_str::<Says>(&heartbeat.says) else { continue };
        let Ok(role) = says.role.parse() else { continue };
        share.redis.note(now, heartbeat, role, says.informed);
    }
    *share.pods.lock() = (now, beats);
    Ok(())
}

/// Reads the buckets in which something was written that was not pushed here.
async fn poll(gateway: &Gateway, share: &Share) -> Result<(), Trouble> {
    let versions = share.redis.versions().await?;
    for (bucket, version) in Bucket::all().zip(versions) {
        if version != newest(gateway, share, bucket) {
            read(gateway, share, bucket, true).await?;
        }
    }
    Ok(())
}

/// The version of the newest line of a bucket that was read here. Lines of deployments that are not configured here count
/// in the store and not here, which costs a read per poll for as long as the configurations differ.
fn newest(gateway: &Gateway, share: &Share, bucket: Bucket) -> u64 {
    let live = gateway.live.load();
    let table = share.table.lock();
    live.each()
        .filter(|deployment| Bucket::of(deployment.id()) == bucket)
        .filter_map(|deployment| Some(table.get(deployment.id())?.version))
        .max()
        .unwrap_or(0)
}

async fn read_all(gateway: &Gateway, share: &Share, publish: bool) -> Result<(), Trouble> {
    for bucket in Bucket::all() {
        read(gateway, share, bucket, publish).await?;
    }
    Ok(())
}

/// Reads a bucket; with `publish`, writes what the store has lost.
async fn read(gateway: &Gateway, share: &Share, bucket: Bucket, publish: bool) -> Result<(), Trouble> {
    let lines: HashMap<String, Line> = share.redis.read(bucket).await?.into_iter().collect();
    for (deployment, line) in &lines {
        apply(gateway, share, deployment, line);
    }
    if !publish {
        return Ok(());
    }
    let lost: Vec<_> = share.table.lock().lost(|id| Bucket::of(id) == bucket, &lines).collect();
    for (deployment, decided) in lost {
        write(gateway, share, &deployment, decided, false).await?;
    }
    Ok(())
}

/// Takes over a line that another pod wrote.
fn apply(gateway: &Gateway, share: &Share, deployment: &str, line: &Line) {
    let live = gateway.live.load();
    let Some(found) = live.find(deployment) else { return };
    let (id, slot) = (found.id(), found.slot);
    let Some((entry, decides)) = share.table.lock().read(id, line) else { return };
    let now = gateway.clock.now();
    let back = -share.redis.clock_offset();
    let probed_at = entry.probe.as_ref().map(|probe| probe.at.shifted(back));
    if let Some(probe) = &entry.probe {
        share.trail.lock().note(id, probe);
        hear_probe(share, now, id, &entry, back);
        if !probe.passed && is_agreed(share, now, found) {
            gateway.hub.witnessed(now, slot);
        }
    }
    if let (Some(report), Some(probe)) = (&entry.report, &entry.probe) {
        gateway.reports.hear(slot, report.report(back, &probe.pod));
    }
    if let Some(saved) = &entry.machine {
        let saved = Saved { machine: saved.machine.shifted(back), ..saved.clone() };
        let observer = Arc::from(entry.observer.as_str());
        let peer = Peer { saved: &saved, decision: decides, observer: &observer, probed_at };
        gateway.hub.adopt(now, &peer);
        gateway.wake_prober.notify_one();
    }
}

fn hear_probe(share: &Share, now: Timestamp, id: &Arc<str>, entry: &Entry, back: i64) {
    let Some(probe) = &entry.probe else { return };
    let at = probe.at.shifted(back);
    let observer = PodId::new(&probe.pod);
    let heard = Heard {
        observer: &observer,
        seq: probe.seq,
        age: at.until(now),
        passed: probe.passed,
        next: now.until(at + probe.interval()),
    };
    share.redis.pod().heard(now, id, &heard);
    let mut witnesses = share.witnesses.lock();
    if probe.passed {
        witnesses.passed(id, &observer, at);
    } else {
        witnesses.failed(id, &observer, at, false);
    }
}

/// Another pod saw a deployment fail. If this one did too, that makes two.
fn hear_failure(gateway: &Gateway, share: &Share, deployment: &str, says: &str) {
    let Ok(failure) = serde_json::from_str::<Failure>(says) else { return };
    let live = gateway.live.load();
    let Some(found) = live.find(deployment).filter(|_| failure.pod != share.me.as_str()) else { return };
    let now = gateway.clock.now();
    share.saw_failure(now, found.id(), &PodId::new(&failure.pod), failure.unwell);
    if !failure.unwell {
        gateway.hub.seen_failing_elsewhere(now, found.slot, failure.class);
        gateway.wake_prober.notify_one();
    }
    if is_agreed(share, now, found) {
        gateway.hub.witnessed(now, found.slot);
    }
}

/// Whether what was seen of a deployment concerns the whole fleet.
pub(super) fn is_agreed(share: &Share, now: Timestamp, deployment: &Deployment) -> bool {
    let pods = {
        let pod = share.redis.pod();
        let live: Vec<_> = pod.members().live(now).map(|(_, role)| role).collect();
        // A process that only probes has only other probers as witnesses.
        let witness = |role: &&haleway_fleet::pod::Role| share.role.serves() || role.claims();
        live.iter().filter(witness).count()
    };
    share.witnesses.lock().reach(now, deployment.id(), Certainty::Inferred, pods) == Reach::Fleet
        && !traffic::contradicts(share, now, deployment)
}

/// Tells the fleet what happened here since the last turn.
async fn tell(gateway: &Gateway, share: &Share) -> Result<(), Trouble> {
    let now = gateway.clock.now();
    let bulletins = gateway.hub.bulletins(now);
    let mut untold = share.table.lock().untold();
    for (done, bulletin) in bulletins.iter().enumerate() {
        let live = gateway.live.load_full();
        let Some(deployment) = live.deployment(bulletin.slot) else { continue };
        untold.remove(deployment.id());
        if let Err(trouble) = tell_one(gateway, share, deployment, bulletin).await {
            for left in bulletins.iter().skip(done) {
                gateway.hub.retell(left.slot, left.news);
            }
            return Err(trouble);
        }
    }
    for deployment in untold {
        write(gateway, share, &deployment, false, false).await?;
    }
    Ok(())
}

async fn tell_one(
    gateway: &Gateway,
    share: &Share,
    deployment: &Deployment,
    bulletin: &Bulletin,
) -> Result<(), Trouble> {
    let id = deployment.id();
    let now = gateway.clock.now();
    if let Some(class) = bulletin.failed.filter(|class| is_inferred(*class)) {
        let unwell = gateway.hub.snapshot().pod_suspect() || share.redis.pod().fitness().abstains(now);
        share.saw_failure(now, id, &share.me, unwell);
        let says = Failure { pod: share.me.to_string(), class, unwell };
        share.redis.tell_failure(id, &serde_json::to_string(&says).unwrap_or_default()).await?;
    }
    match bulletin.news {
        News::Suspicion if is_agreed(share, now, deployment) => {
            gateway.hub.witnessed(now, bulletin.slot);
            // The decision that this makes is told in the next turn.
            Ok(())
        }
        News::Suspicion | News::Evidence => write(gateway, share, id, false, true).await,
        News::Decision => write(gateway, share, id, true, true).await,
    }
}

/// Writes what is known of a deployment. Whoever wrote since is taken over first, and `retell` tells the rest again.
async fn write(
    gateway: &Gateway,
    share: &Share,
    id: &Arc<str>,
    decision: bool,
    retell: bool,
) -> Result<(), Trouble> {
    let live = gateway.live.load_full();
    let Some(slot) = live.find(id).map(|deployment| deployment.slot) else { return Ok(()) };
    let ahead = share.redis.clock_offset();
    let (mut entry, version) = {
        let table = share.table.lock();
        (table.next(id), table.get(id).map_or(0, |known| known.version))
    };
    if let Some(saved) = gateway.hub.shared(slot) {
        entry.machine = Some(Saved { machine: saved.machine.shifted(ahead), ..saved });
    }
    if decision || entry.observer.is_empty() {
        entry.observer = share.me.to_string();
    }
    let payload = serde_json::to_string(&entry).unwrap_or_default();
    match share.redis.publish(id, version, decision, &payload).await? {
        Published::Written(line) => {
            if let Some(probe) = &entry.probe {
                share.trail.lock().note(id, probe);
                let now = gateway.clock.now();
                hear_probe(share, now, id, &entry, -share.redis.clock_offset());
            }
            let mut table = share.table.lock();
            table.told(id, &entry);
            table.keep(id, &line, entry);
        }
        Published::Overtaken(line) => {
            if retell {
                gateway.hub.retell(slot, if decision { News::Decision } else { News::Evidence });
            }
            apply(gateway, share, id, &line);
        }
    }
    Ok(())
}

/// Asks for the trials that only a caller's request can make here.
async fn license_trials(gateway: &Gateway, share: &Share, now: Timestamp) -> Result<(), Trouble> {
    let live = gateway.live.load_full();
    for slot in gateway.hub.trials_wanted(now) {
        let Some(deployment) = live.deployment(slot) else { continue };
        let hold = deployment.model.health.trial_hold;
        let again = share.trials.lock().get(deployment.id()).is_none_or(|next| *next <= now);
        if !again {
            continue;
        }
        let granted = share.redis.claim_trial(deployment.id(), hold).await?;
        let next = if granted { now + hold } else { now + SECOND };
        share.trials.lock().insert(Arc::clone(deployment.id()), next);
        if granted {
            gateway.hub.license_trial(gateway.clock.now(), slot, now + hold);
        }
    }
    Ok(())
}

/// Says which deployments nobody has probed for three intervals, whoever should have.
fn watch(gateway: &Gateway, share: &Share, now: Timestamp) {
    let live = gateway.live.load();
    for deployment in live.each() {
        let Some(probe) = deployment.model.probe else { continue };
        let ask = Ask { deployment: deployment.id(), interval: watched(&probe), hold: probe.timeout };
        let Some(age) = share.redis.pod().unwatched(now, &ask) else { continue };
        share.unwatched.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            deployment = %deployment.id(),
            seconds = age.as_secs(),
            "no probe was completed for more than three intervals"
        );
    }
}

/// The longest regular distance of two probes.
fn watched(probe: &haleway_health::ProbeParams) -> Duration {
    let idle = if probe.traffic_postpones { probe.idle_interval } else { Duration::ZERO };
    probe.interval.max(idle)
}

/// The slot and the id of every deployment that is configured here.
pub(super) fn slots(gateway: &Gateway) -> Vec<(Slot, Arc<str>)> {
    gateway.live.load().each().map(|deployment| (deployment.slot, Arc::clone(deployment.id()))).collect()
}
