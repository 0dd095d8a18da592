//! A little traffic: a few calls a second to every group, by way of the gateway's own port.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio_util::sync::CancellationToken;

use super::MASTER_KEY;

const EVERY: Duration = Duration::from_millis(250);

/// Sends calls until `end`.
pub(super) async fn generate(gateway: SocketAddr, end: CancellationToken) {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let calls = [
        (
            "/v1/chat/completions",
            r#"{"model":"chat","messages":[{"role":"user","content":"Say something."}]}"#,
        ),
        (
            "/v1/chat/completions",
            r#"{"model":"fast","messages":[{"role":"user","content":"Quickly."}],"stream":true}"#,
        ),
        ("/v1/embeddings", r#"{"model":"embed","input":["a","b"]}"#),
    ];
    let mut beat = tokio::time::interval(EVERY);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    for (path, body) in calls.iter().cycle() {
        tokio::select! {
            () = end.cancelled() => return,
            _ = beat.tick() => {}
        }
        let call = send(&client, gateway, path, body);
        tokio::select! {
            () = end.cancelled() => return,
            () = call => {}
        }
    }
}

async fn send(
    client: &Client<HttpConnector, Full<Bytes>>,
    gateway: SocketAddr,
    path: &str,
    body: &'static str,
) {
    let request = Request::post(format!("http://{gateway}{path}"))
        .header(header::AUTHORIZATION, format!("Bearer {MASTER_KEY}"))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from_static(body.as_bytes())));
    let Ok(request) = request else { return };
    match client.request(request).await {
        Ok(response) => {
            #[expect(clippy::disallowed_methods, reason = "the body is capped by Limited")]
            let body = Limited::new(response.into_body(), 1024 * 1024).collect().await;
            if let Err(error) = body {
                tracing::debug!(%error, "the demo's caller did not get a whole answer");
            }
        }
        Err(error) => tracing::debug!(%error, "the demo's caller got no answer"),
    }
}
