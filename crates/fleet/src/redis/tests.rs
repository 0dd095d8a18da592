//! Against a real `redis-server`, which each test starts for itself.

mod conformance;
mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haleway_health::Timestamp;

use self::server::Server;
use super::*;
use crate::pod::Trouble;

/// A clock that tests turn, so that no test waits.
#[derive(Clone, Debug)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_700_000_000_000)))
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn pass(&self, span: Duration) {
        self.0.fetch_add(millis(span), Ordering::SeqCst);
    }
}

fn settings(server: &Server, namespace: &str) -> Settings {
    Settings {
        nodes: Nodes::Single(("127.0.0.1".to_owned(), server.port())),
        tls: false,
        username: None,
        password: None,
        db: 0,
        namespace: namespace.to_owned(),
    }
}

/// A pod that has reached the store and waited until it may claim.
async fn pod(server: &Server, namespace: &str, name: &str, clock: &Clock) -> RedisFleet {
    let time = clock.clone();
    let fleet =
        RedisFleet::new(settings(server, namespace), PodId::new(name), Role::All, 1, move || time.now());
    fleet.reach().await.unwrap();
    for _ in 0..3 {
        fleet.pod().link_mut().succeeded(clock.now());
    }
    clock.pass(Duration::from_secs(5));
    fleet
}

fn ask(deployment: &Arc<str>, interval: u64) -> Ask<'_> {
    Ask { deployment, interval: Duration::from_millis(interval), hold: Duration::from_millis(interval) }
}

/// Claims as soon as the pod would, without waiting: its clock is turned to when it wants to.
async fn claim(fleet: &RedisFleet, clock: &Clock, ask: &Ask<'_>) -> Claim {
    for _ in 0..20 {
        let calls = fleet.tally().claims;
        let claim = fleet.claim(clock.now(), ask).await;
        match &claim {
            Claim::Wait(until) if fleet.tally().claims == calls => clock.pass(clock.now().until(*until)),
            Claim::Wait(_) | Claim::Granted(_) => return claim,
        }
    }
    panic!("the pod never asks the store");
}

async fn granted(fleet: &RedisFleet, clock: &Clock, ask: &Ask<'_>) -> Grant {
    let until = tokio::time::Instant::now() + Duration::from_secs(10);
    while tokio::time::Instant::now() < until {
        if let Claim::Granted(permit) = claim(fleet, clock, ask).await {
            return permit.redeem(clock.now()).unwrap();
        }
        tokio::task::yield_now().await;
    }
    panic!("no permit in ten seconds");
}

#[tokio::test]
async fn of_many_pods_one_is_granted_and_only_its_verdict_counts() {
    let (server, clock) = (Server::start(), Clock::new());
    let first = pod(&server, "n", "a", &clock).await;
    let second = pod(&server, "n", "b", &clock).await;
    let d: Arc<str> = Arc::from("d");
    let terms = ask(&d, 100);
    let grant = granted(&first, &clock, &terms).await;
    assert!(matches!(claim(&second, &clock, &terms).await, Claim::Wait(_)), "the hold runs");
    first.commit(clock.now(), &grant).await.unwrap();
    assert_eq!(first.commit(clock.now(), &grant).await, Err(Stale { seq: grant.seq() }));
    let next = granted(&second, &clock, &terms).await;
    assert_eq!(next.seq(), grant.seq() + 1);
    assert_eq!(first.commit(clock.now(), &grant).await, Err(Stale { seq: grant.seq() }));
    assert_eq!((first.tally().commits, first.tally().stale), (1, 2));
}

#[tokio::test]
async fn a_line_is_pushed_and_an_overtaken_one_is_not_written() {
    let (server, clock) = (Server::start(), Clock::new());
    let writer = pod(&server, "n", "a", &clock).await;
    let reader = pod(&server, "n", "b", &clock).await;
    let Published::Written(line) = writer.publish("d", 0, true, "{\"x\": 1}").await.unwrap() else {
        panic!("nobody else writes")
    };
    assert_eq!((line.decision, line.payload.as_str()), (line.version, "{\"x\": 1}"));
    let message = tokio::time::timeout(Duration::from_secs(10), reader.message()).await.unwrap();
    assert_eq!(message, Some(Message::Line { deployment: "d".to_owned(), line: line.clone() }));

    assert_eq!(reader.publish("d", 0, false, "old").await.unwrap(), Published::Overtaken(line.clone()));
    let Published::Written(next) = reader.publish("d", line.version, false, "new").await.unwrap() else {
        panic!("it knew the latest line")
    };
    assert!(next.version > line.version);
    assert_eq!(next.decision, line.decision, "evidence is no decision");
    let bucket = Bucket::of("d");
    assert_eq!(writer.read(bucket).await.unwrap(), [("d".to_owned(), next.clone())]);
    assert_eq!(writer.versions().await.unwrap()[usize::from(bucket.number())], next.version);
}

#[tokio::test]
async fn c11_namespaces_never_meet_and_no_key_lies_outside_of_them() {
    let (server, clock) = (Server::start(), Clock::new());
    let ours = pod(&server, "a", "p", &clock).await;
    let theirs = pod(&server, "b", "p", &clock).await;
    let d: Arc<str> = Arc::from("d1");
    for fleet in [&ours, &theirs] {
        granted(fleet, &clock, &ask(&d, 100)).await;
        fleet.publish("d1", 0, true, "x").await.unwrap();
        fleet.beat("{}").await.unwrap();
        assert!(fleet.claim_trial("d1", Duration::from_secs(5)).await.unwrap());
        assert!(!fleet.claim_trial("d1", Duration::from_secs(5)).await.unwrap(), "one trial in the fleet");
        assert_eq!(fleet.beat("{}").await.unwrap().len(), 1);
    }
    let keys: Vec<String> = ours.command(redis::cmd("KEYS").arg("*")).await.unwrap();
    let records = keys.iter().filter(|key| key.ends_with("permit:d1")).count();
    assert_eq!(records, 2, "each has its own: {keys:?}");
    assert!(keys.iter().all(|key| key.starts_with("a:") || key.starts_with("b:")), "{keys:?}");
}

#[tokio::test]
async fn heartbeats_name_everybody_and_give_the_stores_clock() {
    let (server, clock) = (Server::start(), Clock::new());
    let first = pod(&server, "n", "a", &clock).await;
    let second = pod(&server, "n", "b", &clock).await;
    first.beat("one").await.unwrap();
    let mut beats = second.beat("two").await.unwrap();
    beats.sort_by(|a, b| a.pod.cmp(&b.pod));
    let says: Vec<_> = beats.iter().map(|beat| (beat.pod.as_str(), beat.says.as_str())).collect();
    assert_eq!(says, [("a", "one"), ("b", "two")]);
    assert!(second.clock_offset() > 0, "the test clock is of 2023");
    first.leave().await.unwrap();
    assert_eq!(second.beat("two").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_store_that_takes_no_writes_says_why() {
    let (server, clock) = (Server::start(), Clock::new());
    let fleet = pod(&server, "n", "a", &clock).await;
    let full: String =
        fleet.command(redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("1")).await.unwrap();
    assert_eq!(full, "OK");
    assert_eq!(fleet.publish("d", 0, true, "x").await, Err(Trouble::Full));
    let _: String = fleet.command(redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg("0")).await.unwrap();
    let _: String = fleet.command(redis::cmd("REPLICAOF").arg("127.0.0.1").arg("1")).await.unwrap();
    assert_eq!(fleet.publish("d", 0, true, "x").await, Err(Trouble::ReadOnly));
}

#[tokio::test]
async fn c13_a_frozen_store_is_silent_within_a_deadline() {
    let (server, clock) = (Server::start(), Clock::new());
    let fleet = pod(&server, "n", "a", &clock).await;
    server.freeze();
    let began = tokio::time::Instant::now();
    assert_eq!(fleet.beat("{}").await, Err(Trouble::Silent));
    assert!(tokio::time::Instant::now() - began < Duration::from_secs(5));
    server.thaw();
}

#[tokio::test]
async fn a_password_is_needed_and_never_shown() {
    let (server, clock) = (Server::start(), Clock::new());
    let fleet = pod(&server, "n", "a", &clock).await;
    let _: String =
        fleet.command(redis::cmd("CONFIG").arg("SET").arg("requirepass").arg("hush-hush")).await.unwrap();
    let locked = Settings { password: Some("hush-hush".to_owned().into()), ..settings(&server, "n") };
    assert!(!format!("{locked:?}").contains("hush"));
    let open = RedisFleet::new(settings(&server, "n"), PodId::new("x"), Role::All, 1, Timestamp::default);
    assert_eq!(open.reach().await, Err(Trouble::Refused));
    let let_in = RedisFleet::new(locked, PodId::new("y"), Role::All, 1, Timestamp::default);
    let_in.reach().await.unwrap();
    let_in.beat("{}").await.unwrap();
}

/// Two pods that pay for probes.
async fn spenders(server: &Server, clock: &Clock) -> (RedisFleet, RedisFleet) {
    (pod(server, "n", "a", clock).await, pod(server, "n", "b", clock).await)
}

#[tokio::test]
async fn what_is_reserved_by_any_pod_counts_for_all_and_what_is_given_back_does_not() {
    let (server, clock) = (Server::start(), Clock::new());
    let (a, b) = spenders(&server, &clock).await;
    let caps = SpendCaps { total_probes: Some(2), ..SpendCaps::default() };
    let none = Spent::default();
    let (reached, first) = a.reserve("d1", 700, &caps, &none).await.unwrap();
    assert_eq!((reached, first.probes, first.total_nanousd), (None, 1, 700));
    let (reached, second) = b.reserve("d2", 300, &caps, &none).await.unwrap();
    assert_eq!((reached, second.probes, second.total_probes, second.total_nanousd), (None, 1, 2, 1_000));
    assert_eq!(a.reserve("d1", 0, &caps, &none).await.unwrap().0, Some(Reached::TotalProbes));
    let back = b.settle("d2", second.day, -1, -300, &none).await.unwrap();
    assert_eq!((back.probes, back.total_probes, back.total_nanousd), (0, 1, 700));
    assert_eq!(a.reserve("d1", 0, &caps, &none).await.unwrap().0, None);
    let other_day = a.settle("d1", first.day - 1, -1, -700, &none).await.unwrap();
    assert_eq!(other_day.total_nanousd, 700, "what belongs to another day changes nothing of this one");
}

#[tokio::test]
async fn each_cap_stops_before_it_is_passed() {
    let (server, clock) = (Server::start(), Clock::new());
    let (a, b) = spenders(&server, &clock).await;
    let (none, open) = (Spent::default(), SpendCaps::default());
    a.reserve("d", 600, &open, &none).await.unwrap();
    let caps = [
        (SpendCaps { probes: Some(1), ..open }, Reached::Probes),
        (SpendCaps { nanousd: Some(1_000), ..open }, Reached::Usd),
        (SpendCaps { total_probes: Some(1), ..open }, Reached::TotalProbes),
        (SpendCaps { total_nanousd: Some(1_000), ..open }, Reached::TotalUsd),
    ];
    for (caps, expected) in caps {
        let (reached, spent) = b.reserve("d", 401, &caps, &none).await.unwrap();
        assert_eq!((reached, spent.nanousd), (Some(expected), 600), "{caps:?}");
    }
    let exact = SpendCaps { nanousd: Some(1_000), total_nanousd: Some(1_000), ..open };
    assert_eq!(b.reserve("d", 400, &exact, &none).await.unwrap().0, None, "up to the cap, not beyond");
}

#[tokio::test]
async fn a_store_that_lost_the_book_takes_over_what_is_known() {
    let (server, clock) = (Server::start(), Clock::new());
    let (a, b) = spenders(&server, &clock).await;
    let caps = SpendCaps { probes: Some(3), total_probes: Some(3), ..SpendCaps::default() };
    let mut known = Spent::default();
    for _ in 0..2 {
        known = a.reserve("d", 500, &caps, &known).await.unwrap().1;
    }
    a.command::<Value>(&redis::cmd("FLUSHALL")).await.unwrap();
    let (reached, spent) = a.reserve("d", 500, &caps, &known).await.unwrap();
    assert_eq!((reached, spent.probes, spent.total_nanousd), (None, 3, 1_500));
    assert_eq!(b.reserve("d", 0, &caps, &Spent::default()).await.unwrap().0, Some(Reached::Probes));
    let stale = Spent { day: spent.day - 1, total_probes: 90, ..spent };
    a.command::<Value>(&redis::cmd("FLUSHALL")).await.unwrap();
    assert_eq!(a.reserve("e", 0, &caps, &stale).await.unwrap().1.total_probes, 1, "of another day");
}
