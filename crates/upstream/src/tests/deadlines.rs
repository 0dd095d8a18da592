//! Each phase has its own clock and its own reason.

use crate::{Deadlines, Fault, FaultKind, Phase, Relay};
use haleway_mockllm::{Act, Behaviour};

use super::bed::{bed, secs, streamed, timed};

fn contains(data: &[u8], part: &[u8]) -> bool {
    data.windows(part.len()).any(|window| window == part)
}

/// Reads to the end, telling the relay of output as a server would.
async fn drain(relay: &mut Relay) -> Result<u32, Fault> {
    let mut outputs = 0;
    while let Some(data) = relay.next().await {
        if contains(&data?, br#""delta":{"content""#) {
            relay.output_seen();
            outputs += 1;
        }
    }
    Ok(outputs)
}

#[tokio::test(start_paused = true)]
async fn a_silent_route_runs_into_the_connect_deadline_unsent() {
    let bed = bed(Behaviour::ok());
    bed.net.blackhole("u1", 80, true);
    let (result, took) = timed(bed.send(Deadlines::total(secs(60)))).await;
    let fault = result.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Timeout(Phase::Connect));
    assert_eq!((fault.reason(), fault.sent(), took), ("connect", false, 5000));
}

#[tokio::test(start_paused = true)]
async fn a_hang_runs_into_the_first_byte_deadline() {
    let bed = bed(Behaviour::hang());
    let deadlines = Deadlines { first_byte: Some(secs(7)), total: Some(secs(60)), ..Deadlines::default() };
    let (result, took) = timed(bed.send(deadlines)).await;
    let fault = result.unwrap_err();
    assert_eq!((fault.reason(), fault.sent(), took), ("first_byte", true, 7000));
}

#[tokio::test(start_paused = true)]
async fn a_hang_runs_into_the_total_when_that_is_sooner() {
    let bed = bed(Behaviour::hang());
    let deadlines = Deadlines { first_byte: Some(secs(60)), total: Some(secs(3)), ..Deadlines::default() };
    let (result, took) = timed(bed.send(deadlines)).await;
    assert_eq!((result.unwrap_err().reason(), took), ("total", 3000));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_comes_runs_into_the_total() {
    let bed = bed(Behaviour::of(Act::HangAfterHeaders));
    let (result, took) =
        timed(async { bed.send(Deadlines::total(secs(4))).await.unwrap().read_all(1024).await }).await;
    assert_eq!((result.unwrap_err().reason(), took), ("total", 4000));
}

#[tokio::test(start_paused = true)]
async fn a27_a_slow_answer_within_its_total_is_no_failure_and_is_asked_once() {
    let bed = bed(Behaviour::ok().latency(std::time::Duration::from_millis(1200)));
    let reply = bed.send(Deadlines::total(secs(2))).await.unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(bed.mock.counts("u1").requests, 1);
}

const D19: Deadlines =
    Deadlines { first_byte: None, first_token: Some(secs(5)), gap: Some(secs(2)), total: None };

#[tokio::test(start_paused = true)]
async fn d19_first_token_within_its_limit_and_a_long_answer_are_fine() {
    let bed = streamed(
        Behaviour::ok().first_token(secs(3)).gap(std::time::Duration::from_millis(900)).text("a b c d e "),
    );
    let (_, _, mut relay) = bed.stream(D19).await.unwrap().into_relay();
    let (outputs, took) = timed(drain(&mut relay)).await;
    assert_eq!(outputs.unwrap(), 5);
    assert!(took > 8000, "{took}");
}

#[tokio::test(start_paused = true)]
async fn d19_a_late_first_token_fails_with_that_reason() {
    let bed = streamed(Behaviour::ok().first_token(secs(6)));
    let (result, took) = timed(async {
        let (_, _, mut relay) = bed.stream(D19).await.unwrap().into_relay();
        drain(&mut relay).await
    })
    .await;
    assert_eq!((result.unwrap_err().reason(), took), ("first_token", 5000));
}

#[tokio::test(start_paused = true)]
async fn d19_the_first_token_limit_also_covers_the_wait_for_the_head() {
    let bed = streamed(Behaviour::hang());
    let (result, took) = timed(bed.stream(D19)).await;
    assert_eq!((result.unwrap_err().reason(), took), ("first_token", 5000));
}

#[tokio::test(start_paused = true)]
async fn d11_a_stream_of_comments_is_silence() {
    let bed = streamed(Behaviour::of(Act::OnlyComments).after(60).gap(secs(1)));
    let (result, took) = timed(async {
        let (_, _, mut relay) = bed.stream(D19).await.unwrap().into_relay();
        drain(&mut relay).await
    })
    .await;
    assert_eq!((result.unwrap_err().reason(), took), ("first_token", 5000));
}

#[tokio::test(start_paused = true)]
async fn a_stall_after_output_fails_after_the_gap() {
    let bed = streamed(Behaviour::stall(4).gap(secs(1)));
    let (result, took) = timed(async {
        let (_, _, mut relay) = bed.stream(D19).await.unwrap().into_relay();
        drain(&mut relay).await
    })
    .await;
    // Outputs at 0, 1 and 2 s, then silence for 2 s.
    assert_eq!((result.unwrap_err().reason(), took), ("gap", 4000));
}

#[tokio::test(start_paused = true)]
async fn comments_between_outputs_do_not_hide_a_stall() {
    let bed = streamed(Behaviour::of(Act::OnlyComments).after(60).gap(secs(1)));
    let (_, _, mut relay) = bed.stream(D19).await.unwrap().into_relay();
    relay.next().await.unwrap().unwrap();
    relay.output_seen();
    let (result, took) = timed(drain(&mut relay)).await;
    assert_eq!((result.unwrap_err().reason(), took), ("gap", 2000));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_pauses_is_not_the_upstreams_silence() {
    let bed = streamed(Behaviour::ok().gap(secs(1)).text("a b c d e f "));
    let (_, _, mut relay) = bed.stream(D19).await.unwrap().into_relay();
    let mut outputs = 0;
    while let Some(data) = relay.next().await {
        if contains(&data.unwrap(), br#""delta":{"content""#) {
            relay.output_seen();
            outputs += 1;
        }
        // Longer than the gap, by far.
        tokio::time::sleep(secs(30)).await;
    }
    assert_eq!(outputs, 6);
}

#[tokio::test(start_paused = true)]
async fn a_stream_longer_than_the_total_ends_with_that_reason() {
    let bed = streamed(Behaviour::ok().gap(secs(1)).chunks(60).text("w"));
    let deadlines = Deadlines { total: Some(secs(10)), ..D19 };
    let (result, took) = timed(async {
        let (_, _, mut relay) = bed.stream(deadlines).await.unwrap().into_relay();
        drain(&mut relay).await
    })
    .await;
    assert_eq!((result.unwrap_err().reason(), took), ("total", 10_000));
}
