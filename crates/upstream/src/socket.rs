//! A session over a WebSocket: opened over the deployment's own connector, so that name, proxy, TLS and deadlines are
//! those of every other call, and handed over only when the provider has spoken.
//!
//! A handshake that succeeds proves little: some providers accept it with a bad key and refuse in the first event. So
//! the first event belongs to the opening, with a deadline of its own.

use std::fmt;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use haleway_wire::Payload;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

use crate::client::{Connection, Reply, Upstream};
use crate::deadline::{Deadlines, Phase, due, earliest};
use crate::fault::{Fault, FaultKind};

/// Largest message, in bytes: sound in base64 comes in pieces of at most 15 MiB.
const MAX_MESSAGE: usize = 32 * 1024 * 1024;
/// How long the other side may take to say goodbye.
const FAREWELL: Duration = Duration::from_secs(1);

/// A WebSocket, of either side.
pub type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// The provider's answer to a handshake.
#[derive(Debug)]
pub enum Opened {
    /// It speaks.
    Session(Box<Session>),
    /// It answered like to any other request.
    Refused(Box<Reply>),
}

/// A session whose provider has accepted.
pub struct Session {
    socket: Socket,
    headers: HeaderMap,
    hello: Payload,
    started: Instant,
    deadlines: Deadlines,
}

impl Upstream {
    /// Begins a session with `request`, to which the handshake's own headers are added. Its body, if it has one, is the first
    /// message after the handshake.
    ///
    /// # Errors
    /// A [`Fault`] when no answer came, or one that is no handshake; a refusal is [`Opened::Refused`].
    pub async fn open(&self, mut request: Request<Payload>, deadlines: Deadlines) -> Result<Opened, Fault> {
        let started = Instant::now();
        let key = generate_key();
        let value = HeaderValue::from_str(&key)
            .map_err(|_| Fault::new(FaultKind::Local, false, "no key for the handshake could be made"))?;
        let hello = std::mem::replace(request.body_mut(), Payload::empty());
        let headers = request.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(SEC_WEBSOCKET_KEY, value);
        let (response, _) = self.head(request, started, deadlines, Connection::Fresh).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(Opened::Refused(Box::new(Reply::new(response, false, started, deadlines))));
        }
        let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes);
        if accepted != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
            return Err(Fault::new(FaultKind::Protocol, true, "the handshake was accepted with a wrong key"));
        }
        let headers = response.headers().clone();
        let upgraded = hyper::upgrade::on(response).await.map_err(|error| Fault::cut(&error))?;
        let socket = socket(upgraded, Role::Client).await;
        Ok(Opened::Session(Box::new(Session { socket, headers, hello, started, deadlines })))
    }
}

/// A WebSocket over a connection that was upgraded.
pub async fn socket(upgraded: Upgraded, role: Role) -> Socket {
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), role, Some(config)).await
}

impl Session {
    /// The headers of the accepted handshake.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The first event, or in its place the goodbye of a provider that says why it leaves.
    ///
    /// # Errors
    /// `Closed` when the provider ended the session instead, `Timeout` when it says nothing in time.
    pub async fn first(&mut self) -> Result<Message, Fault> {
        let deadline = earliest([
            due(self.started, self.deadlines.first_token, Phase::FirstToken),
            due(self.started, self.deadlines.total, Phase::Total),
        ]);
        let hello = std::mem::replace(&mut self.hello, Payload::empty());
        let spoken = first_event(&mut self.socket, hello);
        match deadline {
            None => spoken.await,
            Some((at, phase)) => {
                tokio::time::timeout_at(at, spoken).await.unwrap_or_else(|_| Err(Fault::timeout(phase)))
            }
        }
    }

    /// The socket, for the conversation.
    pub fn into_socket(self) -> Socket {
        self.socket
    }

    /// Says goodbye with code 1000, and waits a second at most for the answer.
    pub async fn close(mut self: Box<Self>) {
        let farewell = async {
            // A provider that is gone needs none.
            if self.socket.close(Some(normal())).await.is_ok() {
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        drop(tokio::time::timeout(FAREWELL, farewell).await);
    }
}

/// A goodbye without a complaint.
fn normal() -> CloseFrame {
    CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::default() }
}

async fn first_event(socket: &mut Socket, hello: Payload) -> Result<Message, Fault> {
    let broke = |error| Fault::new(FaultKind::Cut, true, format!("the session broke: {error}"));
    if !hello.is_empty() {
        let text = Utf8Bytes::try_from(hello.to_bytes())
            .map_err(|_| Fault::new(FaultKind::Local, false, "the first message is no text"))?;
        socket.send(Message::Text(text)).await.map_err(broke)?;
    }
    loop {
        match socket.next().await {
            Some(Ok(event @ (Message::Text(_) | Message::Binary(_)))) => return Ok(event),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(Some(frame))))
                if !frame.reason.is_empty() && !matches!(frame.code, CloseCode::Normal | CloseCode::Away) =>
            {
                return Ok(Message::Close(Some(frame)));
            }
            Some(Ok(Message::Close(_))) | None => {
                return Err(Fault::new(
                    FaultKind::Closed,
                    true,
                    "the session was closed before its first event",
                ));
            }
            Some(Err(error)) => return Err(broke(error)),
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
