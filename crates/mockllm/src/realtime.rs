//! OpenAI's realtime API, as far as a gateway can tell: a session that says what it is, and answers in text.
//!
//! `status`, `close`, `reset` and `hang` happen before the handshake, as they do to any call. After it:
//! `hang_after_headers` says nothing, `empty` says goodbye at once, `error_event` refuses in the first event (`body`, or
//! an invalid key), `cut` breaks the line after `after` events.

use futures_util::{SinkExt, StreamExt};
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::answer::Told;
use crate::live;
use crate::meter::Ticket;
use crate::request::Call;
use crate::script::{Act, Behaviour};

pub(crate) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Whether a call asks for a session.
pub(crate) fn is_asked(call: &Call) -> bool {
    (call.path().trim_end_matches('/').ends_with("/realtime") || live::is_path(call.path()))
        && call.head.headers.contains_key(SEC_WEBSOCKET_KEY)
}

/// The headers that accept a handshake.
pub(crate) fn accepted(asked: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let key = asked.get(SEC_WEBSOCKET_KEY).map_or(&b""[..], HeaderValue::as_bytes);
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key)) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    if asked.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("realtime"));
    }
    headers
}

/// A session, from the handshake to its end.
pub(crate) async fn serve(
    upgrade: OnUpgrade,
    live: bool,
    behaviour: Behaviour,
    told: Told,
    mut ticket: Ticket,
) {
    if let Ok(upgraded) = upgrade.await {
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
        // A line that breaks is the end of a session, whoever broke it.
        drop(if live {
            live::speak(socket, &behaviour, &told).await
        } else {
            speak(socket, &behaviour, &told).await
        });
    }
    ticket.complete();
}

async fn speak(
    mut socket: Socket,
    behaviour: &Behaviour,
    told: &Told,
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    match behaviour.act {
        Act::HangAfterHeaders => {
            while let Some(Ok(_)) = socket.next().await {}
            return Ok(());
        }
        Act::Empty => return socket.close(None).await,
        Act::ErrorEvent => {
            let event = behaviour.body.clone().unwrap_or_else(|| {
                json!({ "type": "error", "event_id": "event_1", "error": {
                    "type": "invalid_request_error", "code": "invalid_api_key",
                    "message": "Incorrect API key provided.", "param": null } })
            });
            socket.send(Message::text(event.to_string())).await?;
            return socket.close(None).await;
        }
        Act::Ok
        | Act::Status
        | Act::Static
        | Act::Hang
        | Act::Stall
        | Act::Cut
        | Act::OnlyComments
        | Act::Html
        | Act::Malformed
        | Act::Close
        | Act::Reset
        | Act::ResetAfterHeaders => {}
    }
    let mut left = if behaviour.act == Act::Cut { behaviour.after } else { u32::MAX };
    let session = json!({ "type": "session.created", "event_id": "event_1", "session": {
        "type": "realtime", "object": "realtime.session", "id": format!("sess_{}", told.id), "model": told.model } });
    let mut events = vec![session];
    loop {
        for event in events.drain(..) {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            socket.send(Message::text(event.to_string())).await?;
        }
        match socket.next().await {
            Some(Ok(Message::Text(said))) => events = answer(&said, told),
            Some(Ok(Message::Close(_))) | None => return socket.close(None).await,
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
        }
    }
}

/// What an event of the client is answered with.
fn answer(said: &str, told: &Told) -> Vec<Value> {
    let event: Value = serde_json::from_str(said).unwrap_or_default();
    let id = &told.id;
    match event.get("type").and_then(Value::as_str) {
        Some("session.update") => {
            vec![json!({ "type": "session.updated", "event_id": "event_2", "session": event.get("session") })]
        }
        Some("conversation.item.create") => {
            vec![
                json!({ "type": "conversation.item.added", "event_id": "event_3", "item": event.get("item") }),
            ]
        }
        Some("response.create") => {
            let mut events = vec![json!({ "type": "response.created", "event_id": "event_4",
                "response": { "id": format!("resp_{id}"), "object": "realtime.response", "status": "in_progress", "output": [] } })];
            for piece in &told.pieces {
                events.push(json!({ "type": "response.output_text.delta", "event_id": "event_5",
                    "response_id": format!("resp_{id}"), "item_id": "item_1", "output_index": 0,
                    "content_index": 0, "delta": piece }));
            }
            events.push(json!({ "type": "response.output_text.done", "event_id": "event_6",
                "response_id": format!("resp_{id}"), "item_id": "item_1", "output_index": 0,
                "content_index": 0, "text": told.text() }));
            events.push(json!({ "type": "response.done", "event_id": "event_7",
                "response": { "id": format!("resp_{id}"), "object": "realtime.response", "status": "completed", "output": [] } }));
            events
        }
        Some(_) | None => vec![json!({ "type": "error", "event_id": "event_8", "error": {
            "type": "invalid_request_error", "code": "invalid_event", "message": "Unknown event.", "param": "type" } })],
    }
}
