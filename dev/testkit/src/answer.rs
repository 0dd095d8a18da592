//! What a client got.

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt;
use serde_json::Value;

/// A whole answer of the gateway.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, to its end.
    pub body: Bytes,
}

impl Answer {
    /// Reads a response to its end.
    #[expect(clippy::disallowed_methods, reason = "the gateway's own answer in a test needs no cap")]
    pub async fn read(response: Response<haleway_server::Body>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("the body ends well").to_bytes();
        Self { status: head.status.as_u16(), headers: head.headers, body }
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {} {}", self.status, self.text()))
    }

    /// A header; empty when absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("headers are text"))
    }

    /// The deployment that answered (`x-litellm-model-id`).
    pub fn deployment(&self) -> &str {
        self.header("x-litellm-model-id")
    }

    /// A member of the error in the body, by `error.{name}`; `Null` when absent.
    pub fn error(&self, name: &str) -> Value {
        self.json()["error"][name].clone()
    }

    /// The data of each server-sent event, in order.
    pub fn events(&self) -> Vec<String> {
        let text = self.text();
        text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
    }
}
