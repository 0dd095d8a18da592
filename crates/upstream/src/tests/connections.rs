//! Connections that fail, that were dead all along, that must be new.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Connection, Deadlines, Fault, FaultKind, Settings, Upstream};
use bytes::Bytes;
use haleway_health::Class;
use haleway_mockllm::{Act, Behaviour, Mock, Script};
use http::Request;
use tokio::io::AsyncWriteExt;

use super::bed::{bed, secs, timed, to};

async fn fault_of(behaviour: Behaviour) -> Fault {
    let bed = bed(behaviour);
    let fault = bed.send(Deadlines::default()).await.unwrap_err();
    assert_eq!(bed.mock.counts("u1").requests, 1, "a failure on a new connection is not repeated");
    fault
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_is_refused_and_unsent() {
    let bed = bed(Behaviour::ok());
    bed.net.refuse("u1", 80);
    let fault = bed.send(Deadlines::default()).await.unwrap_err();
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Refused, false));
    assert_eq!(fault.kind().class(), Class::Connection);
}

#[tokio::test(start_paused = true)]
async fn a_close_before_the_head_is_closed() {
    let fault = fault_of(Behaviour::of(Act::Close)).await;
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Closed, true));
}

#[tokio::test(start_paused = true)]
async fn a_reset_before_the_head_is_a_reset() {
    let fault = fault_of(Behaviour::of(Act::Reset)).await;
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Reset, true));
}

#[tokio::test(start_paused = true)]
async fn a_reset_after_the_head_cuts_the_body() {
    let bed = bed(Behaviour::of(Act::ResetAfterHeaders));
    let reply = bed.send(Deadlines::default()).await.unwrap();
    assert_eq!(reply.read_all(1024).await.unwrap_err().kind(), FaultKind::Cut);
}

#[tokio::test(start_paused = true)]
async fn f19_a_dead_idle_connection_is_replaced_and_nobody_notices() {
    let bed = bed(Script::ok().calls_per_connection(1));
    assert!(!bed.ok(Connection::Pooled).await);
    for _ in 0..5 {
        // Answered, and on the new connection.
        bed.ok(Connection::Pooled).await;
    }
    assert_eq!(bed.mock.counts("u1").requests, 6);
}

#[tokio::test(start_paused = true)]
async fn f19_the_replacement_is_reported() {
    let bed = bed(Script::ok().calls_per_connection(1));
    bed.ok(Connection::Pooled).await;
    assert!(bed.ok(Connection::Pooled).await);
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_dies_while_answering_is_not_repeated() {
    let late = Behaviour::of(Act::Close).latency(secs(5));
    let bed = bed(Script::first([Behaviour::ok(), late]));
    bed.ok(Connection::Pooled).await;
    let fault = bed.send(Deadlines::default()).await.unwrap_err();
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Closed, true));
    assert_eq!(bed.mock.counts("u1").requests, 2, "the request may have run: it must not run twice");
}

#[tokio::test(start_paused = true)]
async fn a_dead_idle_connection_and_a_dead_server_are_one_failure() {
    let bed = bed(Script::ok().calls_per_connection(1));
    bed.ok(Connection::Pooled).await;
    bed.net.refuse("u1", 80);
    let fault = bed.send(Deadlines::default()).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Refused);
}

#[tokio::test(start_paused = true)]
async fn f19_fresh_calls_open_a_connection_each_and_pooled_ones_share() {
    let bed = bed(Behaviour::ok());
    for _ in 0..3 {
        bed.ok(Connection::Pooled).await;
    }
    assert_eq!(bed.mock.connections(), 1);
    for _ in 0..3 {
        bed.ok(Connection::Fresh).await;
    }
    assert_eq!(bed.mock.connections(), 4);
    bed.ok(Connection::Pooled).await;
    assert_eq!(bed.mock.connections(), 4);
}

#[tokio::test(start_paused = true)]
async fn f19_a_name_that_moved_is_followed_at_once_by_probes_and_by_traffic_within_the_age() {
    let bed = bed(Behaviour::ok());
    bed.ok(Connection::Pooled).await;
    let elsewhere = Mock::new();
    elsewhere.attach(&bed.net, "u1", 80, "u2");
    bed.ok(Connection::Fresh).await;
    assert_eq!(elsewhere.counts("u2").requests, 1);
    // The old server still answers; traffic every 30 s keeps its connection warm.
    for _ in 0..11 {
        tokio::time::sleep(secs(30)).await;
        bed.ok(Connection::Pooled).await;
    }
    assert_eq!(elsewhere.counts("u2").requests, 3, "after 300 s the connection is not used again");
    assert_eq!(bed.mock.counts("u1").requests, 10);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed_before_a_load_balancer_would() {
    let bed = bed(Behaviour::ok());
    bed.ok(Connection::Pooled).await;
    tokio::time::sleep(secs(51)).await;
    assert!(!bed.ok(Connection::Pooled).await, "not found dead: not used");
    assert_eq!(bed.mock.connections(), 2);
}

#[tokio::test(start_paused = true)]
async fn something_that_is_not_http_is_a_protocol_fault() {
    let bed = bed(Behaviour::ok());
    bed.net.register("u1", 80, |mut stream| {
        let _detached = tokio_util::task::TaskTracker::new().spawn(async move {
            stream.write_all(b"220 smtp.example ESMTP\r\n").await.unwrap();
            std::future::pending::<()>().await;
        });
    });
    let fault = bed.send(Deadlines::default()).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Protocol);
    assert_eq!(fault.kind().class(), Class::MalformedResponse);
}

#[tokio::test(start_paused = true)]
async fn heads_beyond_the_limits_are_protocol_faults() {
    let mut many = Behaviour::status(200);
    many.headers = (0..150).map(|number| (format!("x-{number}"), "v".to_owned())).collect();
    assert_eq!(fault_of(many).await.kind(), FaultKind::Protocol);
    let mut large = Behaviour::status(200);
    large.headers = BTreeMap::from([("x-large".to_owned(), "v".repeat(100 * 1024))]);
    assert_eq!(fault_of(large).await.kind(), FaultKind::Protocol);
}

#[tokio::test(start_paused = true)]
async fn redirects_are_answers_and_the_credential_does_not_travel() {
    let bed = bed(Behaviour::status(307).header("location", "http://evil/v1/chat/completions"));
    bed.mock.attach(&bed.net, "evil", 80, "evil");
    assert_eq!(bed.send(Deadlines::default()).await.unwrap().status, 307);
    assert_eq!(bed.mock.counts("evil").requests, 0);
}

#[tokio::test(start_paused = true)]
async fn tls_against_a_plain_port_is_a_tls_fault() {
    let bed = bed(Behaviour::ok());
    bed.mock.attach(&bed.net, "u1", 443, "u1");
    let request = Request::get("https://u1/v1/models").body(Bytes::new()).unwrap();
    let fault = bed.upstream.send(request, Deadlines::total(secs(5)), Connection::Pooled).await.unwrap_err();
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Tls, false));
}

#[tokio::test(start_paused = true)]
async fn a_tls_handshake_that_hangs_is_a_connect_timeout() {
    let bed = bed(Behaviour::ok());
    bed.net.register("u1", 443, |stream| {
        let _detached = tokio_util::task::TaskTracker::new().spawn(async move {
            let _open = stream;
            std::future::pending::<()>().await;
        });
    });
    let request = Request::get("https://u1/v1/models").body(Bytes::new()).unwrap();
    let sending = bed.upstream.send(request, Deadlines::default(), Connection::Pooled);
    let (result, took) = timed(sending).await;
    assert_eq!((result.unwrap_err().reason(), took), ("connect", 5000));
}

#[tokio::test(start_paused = true)]
async fn the_connect_deadline_is_the_deployments_own() {
    let bed = bed(Behaviour::ok());
    bed.net.blackhole("u1", 80, true);
    let settings = Settings { connect: Duration::from_millis(250), ..Settings::default() };
    let upstream = Upstream::new(&bed.network, &settings);
    let (result, took) =
        timed(upstream.send(to("u1", false), Deadlines::default(), Connection::Pooled)).await;
    assert_eq!((result.unwrap_err().reason(), took), ("connect", 250));
}

#[tokio::test(start_paused = true)]
async fn a_relative_url_is_our_own_fault() {
    let bed = bed(Behaviour::ok());
    let request = Request::get("/v1/models").body(Bytes::new()).unwrap();
    let fault = bed.upstream.send(request, Deadlines::default(), Connection::Pooled).await.unwrap_err();
    assert_eq!((fault.kind(), fault.sent()), (FaultKind::Local, false));
    assert_eq!(fault.kind().class(), Class::Local);
}

#[tokio::test(start_paused = true)]
async fn faults_never_show_what_was_sent() {
    let acts = [Act::Close, Act::Reset, Act::Hang];
    for act in acts {
        let bed = bed(Behaviour::of(act));
        let fault = bed.send(Deadlines::total(secs(1))).await.unwrap_err();
        let shown = format!("{fault} {fault:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
