//! Bodies: whole under a cap, cut, cancelled, and no faster than their reader.

use crate::{Deadlines, FaultKind, Relay};
use haleway_mockllm::{Act, Behaviour};

use super::bed::{bed, secs, streamed, within_a_second};

async fn collect(relay: &mut Relay) -> (String, Option<FaultKind>) {
    let mut text = String::new();
    while let Some(data) = relay.next().await {
        match data {
            Ok(data) => text.push_str(std::str::from_utf8(&data).unwrap()),
            Err(fault) => return (text, Some(fault.kind())),
        }
    }
    (text, None)
}

#[tokio::test(start_paused = true)]
async fn a_whole_body_of_any_number_of_frames_is_read() {
    let long = "word ".repeat(100_000);
    let bed = bed(Behaviour::ok().text(long.clone()));
    let body = bed.send(Deadlines::default()).await.unwrap().read_all(1 << 20).await.unwrap();
    let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(json["choices"][0]["message"]["content"], long);
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_its_cap_is_refused_whether_it_says_its_length_or_not() {
    let long = "word ".repeat(10_000);
    let stated = bed(Behaviour::ok().text(long.clone()));
    let fault = stated.send(Deadlines::default()).await.unwrap().read_all(1000).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::TooLarge);
    let chunked = streamed(Behaviour::ok().text(long));
    let fault = chunked.stream(Deadlines::default()).await.unwrap().read_all(1000).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::TooLarge);
}

#[tokio::test(start_paused = true)]
async fn an_empty_body_is_empty() {
    let bed = bed(Behaviour::of(Act::Empty));
    assert!(bed.send(Deadlines::default()).await.unwrap().read_all(10).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn d21_a_cut_stream_gives_what_came_and_then_says_so() {
    let bed = streamed(Behaviour::cut(41).chunks(60).text("w"));
    let (_, _, mut relay) = bed.stream(Deadlines::default()).await.unwrap().into_relay();
    let (text, end) = collect(&mut relay).await;
    assert_eq!(text.matches("data: ").count(), 41);
    assert_eq!(end, Some(FaultKind::Cut));
    assert_eq!(FaultKind::Cut.reason(), "stream_cut");
}

#[tokio::test(start_paused = true)]
async fn d21_a_cut_whole_body_is_no_answer() {
    let bed = bed(Behaviour::cut(0));
    let fault = bed.send(Deadlines::default()).await.unwrap().read_all(1 << 20).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Cut);
}

#[tokio::test(start_paused = true)]
async fn a_complete_stream_ends_without_a_fault() {
    let bed = streamed(Behaviour::ok());
    let (status, headers, mut relay) = bed.stream(Deadlines::default()).await.unwrap().into_relay();
    assert_eq!(status, 200);
    assert_eq!(headers["content-type"], "text/event-stream; charset=utf-8");
    let (text, end) = collect(&mut relay).await;
    assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    assert_eq!((end, relay.received()), (None, text.len() as u64));
}

#[tokio::test(start_paused = true)]
async fn d08_dropping_a_stream_is_seen_by_the_provider_within_a_second() {
    let bed = streamed(Behaviour::ok().gap(secs(1)).chunks(1000).text("w"));
    for _ in 0..20 {
        let (_, _, mut relay) = bed.stream(Deadlines::default()).await.unwrap().into_relay();
        relay.next().await.unwrap().unwrap();
    }
    within_a_second("20 cancelled", || bed.mock.counts("u1").cancelled == 20).await;
    assert_eq!(bed.mock.counts("u1").in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn d08_dropping_a_call_before_its_head_is_seen_by_the_provider_within_a_second() {
    let bed = bed(Behaviour::hang());
    let gone = tokio::time::timeout(secs(3), bed.send(Deadlines::default())).await;
    assert!(gone.is_err());
    within_a_second("cancelled", || bed.mock.counts("u1").cancelled == 1).await;
}

#[tokio::test(start_paused = true)]
async fn dropping_a_stalled_stream_at_its_deadline_closes_the_connection() {
    let bed = streamed(Behaviour::stall(3));
    let deadlines = Deadlines { total: Some(secs(5)), ..Deadlines::default() };
    let (_, _, mut relay) = bed.stream(deadlines).await.unwrap().into_relay();
    assert_eq!(collect(&mut relay).await.1.map(FaultKind::reason), Some("total"));
    drop(relay);
    within_a_second("cancelled", || bed.mock.counts("u1").cancelled == 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_slows_the_upstream_down_instead_of_filling_memory() {
    // 20 MB. What may be under way: the pipe, and hyper's buffers on both sides.
    let bed = streamed(Behaviour::ok().chunks(20_000).text("w".repeat(1000)));
    let (_, _, mut relay) = bed.stream(Deadlines::default()).await.unwrap().into_relay();
    relay.next().await.unwrap().unwrap();
    tokio::time::sleep(secs(3600)).await;
    let counts = bed.mock.counts("u1");
    assert_eq!((counts.in_flight, counts.completed), (1, 0), "the upstream could not get rid of its answer");
    let largest_frame = {
        let mut largest = 0;
        while let Some(data) = relay.next().await {
            largest = largest.max(data.unwrap().len());
        }
        largest
    };
    assert!(relay.received() > 20_000_000, "and nothing was lost");
    assert!(largest_frame <= 64 * 1024, "{largest_frame}");
}
