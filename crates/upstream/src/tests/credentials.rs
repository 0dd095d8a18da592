//! Credentials from token services in memory, on the paused clock.

use std::sync::Arc;
use std::time::Duration;

use haleway_mockllm::net::MemNet;
use haleway_mockllm::{Behaviour, Mock};
use haleway_providers::credential::Credential;
use haleway_providers::credential::CredentialSource;
use haleway_providers::credential::google::GoogleSource;
use haleway_providers::credential::ibm::IbmSource;
use secrecy::SecretString;
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::bed::MemDial;
use crate::{CredentialHandle, Credentials, Lease, Network};

/// 2026-11-30T12:00:00Z, when each test begins.
const START_MS: u64 = 1_796_040_000_000;

struct Bed {
    mock: Mock,
    credentials: Credentials,
}

impl Bed {
    fn new() -> Self {
        let (mock, net) = (Mock::new(), MemNet::new());
        mock.attach(&net, "iam.local", 80, "iam");
        let network = Network::in_memory(Arc::new(MemDial(net))).unwrap();
        let start = tokio::time::Instant::now();
        let wall = move || {
            let passed = tokio::time::Instant::now().duration_since(start);
            START_MS + u64::try_from(passed.as_millis()).unwrap()
        };
        let credentials = Credentials::new(&network, wall, TaskTracker::new(), CancellationToken::new());
        Self { mock, credentials }
    }

    /// The service hands out this token, for so many seconds.
    fn token(&self, token: &str, seconds: u64) {
        self.mock.script("iam", answer(token, seconds));
    }

    fn handle(&self, key: &str) -> CredentialHandle {
        let source = IbmSource { api_key: SecretString::from(key), url: "http://iam.local/token".to_owned() };
        self.credentials.of(&Arc::new(CredentialSource::Ibm(source)))
    }

    fn exchanges(&self) -> u64 {
        self.mock.counts("iam").requests
    }
}

fn answer(token: &str, seconds: u64) -> Behaviour {
    Behaviour::status(200).body(json!({"access_token": token, "expires_in": seconds}))
}

fn token(lease: &Lease) -> &str {
    let Credential::Bearer(value) = &lease.credential else { panic!("no token: {lease:?}") };
    value.to_str().unwrap().strip_prefix("Bearer ").unwrap()
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn fifty_calls_make_one_exchange() {
    let bed = Bed::new();
    let mut slow = answer("one", 3600);
    slow.latency_ms = 500;
    bed.mock.script("iam", slow);
    let (one, same) = (bed.handle("k"), bed.handle("k"));
    let mut calls = JoinSet::new();
    for number in 0..50 {
        let handle = if number % 2 == 0 { one.clone() } else { same.clone() };
        calls.spawn(async move { handle.current().await });
    }
    for lease in calls.join_all().await {
        assert_eq!(token(&lease.unwrap()), "one");
    }
    assert_eq!(bed.exchanges(), 1);
    assert_eq!(token(&bed.handle("k").current().await.unwrap()), "one");
    bed.handle("other").current().await.unwrap();
    assert_eq!(bed.exchanges(), 2, "another source is another credential");
}

#[tokio::test(start_paused = true)]
async fn it_is_renewed_ahead_and_nobody_waits() {
    let bed = Bed::new();
    bed.token("one", 3600);
    let handle = bed.handle("k");
    assert_eq!(token(&handle.current().await.unwrap()), "one");
    bed.token("two", 3600);
    pass(3100).await;
    assert_eq!(token(&handle.current().await.unwrap()), "one", "not before its time");
    pass(220).await;
    assert_eq!(token(&handle.current().await.unwrap()), "two", "five minutes before the end at the latest");
    assert_eq!(bed.exchanges(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_old_one_is_used_for_as_long_as_it_holds() {
    let bed = Bed::new();
    bed.token("one", 3600);
    let handle = bed.handle("k");
    handle.current().await.unwrap();
    bed.mock.script("iam", Behaviour::status(500));
    pass(3560).await;
    assert!(bed.exchanges() > 2, "it is tried again");
    assert_eq!(token(&handle.current().await.unwrap()), "one");
    let state = handle.state();
    assert!(state.available && state.error.as_ref().is_some_and(|error| error.contains("500")), "{state:?}");
    pass(60).await;
    let fault = handle.current().await.unwrap_err();
    assert_eq!(fault.kind, "ibm_iam");
    assert!(fault.to_string().contains("HTTP 500"), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn without_any_calls_fail_at_once_until_the_next_try() {
    let bed = Bed::new();
    bed.mock.script(
        "iam",
        Behaviour::status(401).body(json!({"errorCode": "BXNIM0415E", "errorMessage": "no such key"})),
    );
    let handle = bed.handle("k-canary-1");
    for _ in 0..20 {
        let fault = handle.current().await.unwrap_err();
        assert!(fault.to_string().contains("BXNIM0415E") && !fault.to_string().contains("canary"), "{fault}");
    }
    assert_eq!(bed.exchanges(), 1, "one failure is enough for all of them");
    pass(120).await;
    assert_eq!(bed.exchanges(), 1, "nobody asked");
    bed.token("one", 3600);
    assert_eq!(token(&handle.current().await.unwrap()), "one");
    assert_eq!(handle.state().error, None);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_one_is_fetched_anew_once() {
    let bed = Bed::new();
    bed.token("one", 3600);
    let handle = bed.handle("k");
    let first = handle.current().await.unwrap();
    assert!(handle.renewed(&first).await.is_none(), "it is so fresh that another would be no better");
    pass(600).await;
    bed.token("two", 3600);
    let mut calls = JoinSet::new();
    for _ in 0..10 {
        let (handle, first) = (handle.clone(), first.clone());
        calls.spawn(async move { handle.renewed(&first).await });
    }
    let renewals = calls.join_all().await;
    for lease in &renewals {
        assert_eq!(token(lease.as_ref().unwrap()), "two");
    }
    assert_eq!(bed.exchanges(), 2, "one renewal serves everybody");
    let second = renewals.into_iter().next().flatten().unwrap();
    assert!(handle.renewed(&second).await.is_none());
    assert_eq!(bed.exchanges(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_hangs_ends_as_a_fault() {
    let bed = Bed::new();
    bed.mock.script("iam", Behaviour::hang());
    let fault = bed.handle("k").current().await.unwrap_err();
    assert!(fault.to_string().contains("IBM IAM gave no answer"), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_replaced_is_read_at_the_next_renewal() {
    let bed = Bed::new();
    let folder = std::env::temp_dir().join(format!("haleway-credentials-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("user.json");
    let describe = |token: &str| {
        let text = format!(
            r#"{{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"{token}","token_uri":"http://iam.local/token"}}"#
        );
        std::fs::write(&path, text).unwrap();
    };
    describe("before");
    bed.token("one", 600);
    let source = GoogleSource::File(path.to_str().unwrap().to_owned());
    let handle = bed.credentials.of(&Arc::new(CredentialSource::Google(source)));
    handle.current().await.unwrap();
    describe("after");
    bed.token("two", 600);
    pass(500).await;
    assert_eq!(token(&handle.current().await.unwrap()), "two");
    let asked: Vec<String> = bed.mock.kept("iam").iter().map(|kept| kept.body.to_string()).collect();
    assert!(asked[0].contains("before") && asked[1].contains("after"), "{asked:?}");
    std::fs::remove_file(&path).unwrap();
    pass(600).await;
    let fault = handle.current().await.unwrap_err();
    assert!(fault.to_string().contains("user.json cannot be read"), "{fault}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_ends_the_renewal() {
    let bed = Bed::new();
    bed.token("one", 3600);
    let handle = bed.handle("k");
    handle.current().await.unwrap();
    drop(handle);
    pass(10_000).await;
    assert_eq!(bed.exchanges(), 1);
}
