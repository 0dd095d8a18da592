//! What a caller gets, and what it costs, when a provider fails: sixteen faults and more over real sockets.
//!
//! Each fault meets four callers: whole answers and streams, with a second deployment in the group and with a
//! fallback group. What they must get is data in [`cases`]; `docs/failover.md` shows the same table and is compared
//! with what was measured. Times are printed, not compared: only that a deadline was waited for where one must be.

#[cfg(test)]
mod bed;
#[cfg(test)]
mod bytes;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod live;
#[cfg(test)]
mod realtime;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod table;

use futures_util::future::join_all;

use bed::{Bed, Got, Kind, PATIENCE, Seen, Topology};
use cases::{CASES, Case};
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_ends_as_the_manual_says() {
    let runs = CASES.iter().map(|case| async move { (case, measure(case).await) });
    let measured: Vec<(&Case, Vec<Seen>)> = join_all(runs).await;
    println!("{}", table::measured(&measured));
    let mut wrong = Vec::new();
    for (case, seen) in &measured {
        for seen in seen {
            let row = case.row(seen.kind);
            if !row.is_some_and(|row| row.matches(seen)) {
                wrong.push(format!("{}\n  want {row:?}\n  got  {seen:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The four callers of a case.
async fn measure(case: &Case) -> Vec<Seen> {
    let callers = [Topology::Sibling, Topology::Fallback]
        .into_iter()
        .flat_map(|topology| [Kind::Whole, Kind::Stream].map(|kind| (topology, kind)))
        .filter(|(_, kind)| case.row(*kind).is_some());
    join_all(
        callers.map(|(topology, kind)| async move { Bed::start(case, topology, kind).await.run(kind).await }),
    )
    .await
}

/// A provider that is away for a stretch and comes back: no caller notices either, and it serves again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_ends_and_the_provider_serves_again() {
    for topology in [Topology::Sibling, Topology::Fallback] {
        let bed = Bed::start(&cases::OUTAGE, topology, Kind::Stream).await;
        let until = Instant::now() + PATIENCE;
        let mut calls = 0;
        while bed.mock.counts("u1").completed < cases::OUTAGE_FAILURES + 5 {
            assert!(Instant::now() < until, "{topology:?}: {} is not back", bed.settled_state().await);
            assert_eq!(bed.call(Kind::Stream).await.got, Got::Whole, "{topology:?}, call {calls}");
            calls += 1;
        }
        let asked = bed.requests("u1");
        println!(
            "outage, {topology:?}: {calls} calls, all whole; the failing provider was asked {asked} times"
        );
        assert_eq!(
            bed.mock.counts("u1").statuses[&500],
            cases::OUTAGE_FAILURES,
            "five tell, one trial fails"
        );
    }
}

#[test]
fn at_least_sixteen_faults_are_told() {
    assert!(CASES.len() >= 16);
    let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CASES.len());
}

#[test]
fn the_manual_shows_what_is_tested() {
    table::compare_with_manual();
}
