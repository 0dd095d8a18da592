//! One deployment's trouble is not another's.

use crate::{Connection, Deadlines, Settings, Upstream};
use haleway_mockllm::Behaviour;
use tokio_util::task::TaskTracker;

use super::bed::{bed, secs, timed, to, within_a_second};

#[tokio::test(start_paused = true)]
async fn e29_two_hundred_parked_calls_do_not_delay_another_deployment() {
    let bed = bed(Behaviour::hang());
    bed.mock.script("u2", Behaviour::ok().latency(secs(1)));
    bed.mock.attach(&bed.net, "u2", 80, "u2");
    let parked = TaskTracker::new();
    for _ in 0..200 {
        let upstream = bed.upstream.clone();
        parked.spawn(async move {
            upstream.send(to("u1", false), Deadlines::default(), Connection::Pooled).await
        });
    }
    within_a_second("200 parked", || bed.mock.counts("u1").in_flight == 200).await;
    let other = Upstream::new(&bed.network, &Settings::default());
    for _ in 0..100 {
        let (reply, took) =
            timed(other.send(to("u2", false), Deadlines::default(), Connection::Pooled)).await;
        reply.unwrap().read_all(1 << 20).await.unwrap();
        assert_eq!(took, 1000);
    }
    assert_eq!(bed.mock.counts("u1").in_flight, 200);
}

#[tokio::test(start_paused = true)]
async fn parked_calls_do_not_even_delay_their_own_deployment() {
    let hangs = std::iter::repeat_n(Behaviour::hang(), 50);
    let bed = bed(haleway_mockllm::Script::first(hangs));
    let parked = TaskTracker::new();
    for _ in 0..50 {
        let upstream = bed.upstream.clone();
        parked.spawn(async move {
            upstream.send(to("u1", false), Deadlines::default(), Connection::Pooled).await
        });
    }
    within_a_second("50 parked", || bed.mock.counts("u1").in_flight == 50).await;
    bed.ok(Connection::Pooled).await;
}

#[tokio::test(start_paused = true)]
async fn the_future_of_a_call_stays_small() {
    let bed = bed(Behaviour::ok());
    let call = bed.upstream.send(to("u1", false), Deadlines::total(secs(1)), Connection::Pooled);
    let size = size_of_val(&call);
    assert!(size <= 2048, "{size} bytes are moved and held per call in flight");
    call.await.unwrap();
}
