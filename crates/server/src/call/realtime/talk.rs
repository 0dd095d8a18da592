//! A session that was begun: events in both directions until one side leaves, and who is told what then.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt, StreamExt};
use haleway_health::{Class, Generation, Outcome, Source, Timestamp};
use haleway_routing::{Running, Sample};
use haleway_upstream::{Socket, socket};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::{Begun, Door};
use crate::call::place::Place;
use crate::deployment::Deployment;
use crate::gateway::Gateway;

/// How often a caller is asked whether it is still there.
pub(super) const PING_EVERY: Duration = Duration::from_secs(30);
/// A caller that says nothing for this long, not even to a ping, is gone.
pub(super) const CALLER_SILENT: Duration = Duration::from_secs(90);
/// How long a goodbye may take.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);
/// How long a caller may take to go on after its handshake was answered.
const ENTER: Duration = Duration::from_secs(10);

/// The evidence of a session. Its success was reported when it began; it counts as load until it ends.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) generation: Generation,
    pub(crate) running: Option<Running>,
    /// From the call to the first event.
    pub(crate) latency: Duration,
    /// When the provider was last heard.
    pub(crate) heard_at: Timestamp,
}

impl Talk {
    pub(super) fn heard(&mut self) {
        self.heard_at = self.gateway.clock.now();
    }

    /// The session ended as sessions end. What it lasted is no measure of speed: the wait for its first event is.
    pub(super) fn ended(&mut self) {
        if let Some(running) = self.running.take() {
            let sample = Sample {
                total: self.latency,
                first_token: Some(self.latency),
                completion_tokens: 0,
                total_tokens: 0,
            };
            running.served(self.gateway.clock.now(), &sample);
        }
    }

    /// The provider broke the session off. What speaks against it is as young as its last word.
    fn broken(&mut self, reason: &'static str) {
        let now = self.gateway.clock.now();
        if let Some(running) = self.running.take() {
            running.failed(now, self.latency);
        }
        let mut outcome = Outcome::new(Class::Connection, Source::Traffic, self.heard_at, self.generation);
        outcome.reason = reason;
        outcome.status = 500;
        outcome.latency = self.latency;
        self.deployment.metrics.failed(Class::Connection, 500, true);
        self.gateway.hub.report(now, self.deployment.slot, &outcome);
    }
}

/// How a session ended.
#[derive(Debug)]
pub(super) enum End {
    /// The caller said goodbye, or is gone.
    Caller(Option<CloseFrame>),
    /// The provider said goodbye.
    Provider(Option<CloseFrame>),
    /// The provider's connection broke.
    Cut,
    /// The provider does not take what the caller wants its session to be; the last event.
    Refused(String),
    /// The gateway goes down.
    Shutdown,
}

/// Carries a session from its first event to its end.
pub(crate) async fn converse(begun: Begun, door: Door, place: Place) {
    let Begun { accepted, first, mut talk, live } = begun;
    let Ok(Ok(upgraded)) = timeout(ENTER, door.upgrade).await else {
        // The caller left between its handshake and our answer.
        talk.ended();
        return accepted.close().await;
    };
    if let Some(live) = live {
        let caller = socket(upgraded, Role::Server).await;
        live.interpret(caller, accepted.into_socket(), talk).await;
        return drop(place);
    }
    let (mut to_caller, mut from_caller) = socket(upgraded, Role::Server).await.split();
    let (mut to_provider, mut from_provider) = accepted.into_socket().split();
    let gateway = Arc::clone(&talk.gateway);
    let end = tokio::select! {
        end = down(&mut from_provider, &mut to_caller, first, &mut talk) => end,
        end = up(&mut from_caller, &mut to_provider) => end,
        () = gateway.end_sessions.cancelled() => End::Shutdown,
    };
    part(end, &mut talk, &mut to_caller, &mut to_provider).await;
    drop(place);
}

/// Tells both sides how their session ended, and what it says of the provider.
pub(super) async fn part(
    end: End,
    talk: &mut Talk,
    to_caller: &mut (impl Sink<Message> + Unpin),
    to_provider: &mut (impl Sink<Message> + Unpin),
) {
    let farewell = async {
        match end {
            End::Caller(frame) => {
                talk.ended();
                say_goodbye(to_provider, frame.filter(may_be_sent).or_else(|| Some(normal()))).await;
                flush(to_caller).await;
            }
            End::Provider(frame) => {
                if frame.as_ref().is_some_and(|frame| is_complaint(frame.code)) {
                    talk.broken("session_closed");
                } else {
                    talk.ended();
                }
                say_goodbye(to_caller, frame.filter(may_be_sent)).await;
                flush(to_provider).await;
            }
            End::Cut => {
                talk.broken("session_cut");
                drop(to_caller.send(Message::text(CUT)).await);
                say_goodbye(to_caller, Some(frame(CloseCode::Error, "the provider broke off the session")))
                    .await;
            }
            End::Refused(event) => {
                talk.ended();
                drop(to_caller.send(Message::text(event)).await);
                let refused = "the provider refuses what the session should be";
                say_goodbye(to_caller, Some(frame(CloseCode::Policy, refused))).await;
            }
            End::Shutdown => {
                talk.ended();
                let away = || Some(frame(CloseCode::Away, "the gateway is shutting down"));
                say_goodbye(to_caller, away()).await;
                say_goodbye(to_provider, away()).await;
            }
        }
    };
    if timeout(FAREWELL, farewell).await.is_err() {
        tracing::debug!("a session's goodbye was not taken");
    }
}

/// The last event of a session that its provider broke off.
const CUT: &str = r#"{"type":"error","error":{"type":"server_error","code":"session_cut","message":"The provider broke off the session.","param":null}}"#;

type Writer = SplitSink<Socket, Message>;

/// From the provider to the caller. Waits for the caller before it reads on, so nothing piles up.
async fn down(from: &mut SplitStream<Socket>, to: &mut Writer, first: Message, talk: &mut Talk) -> End {
    let mut next = Some(first);
    let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let event = match next.take() {
            Some(first) => first,
            None => tokio::select! {
                event = from.next() => match event {
                    Some(Ok(Message::Close(frame))) => return End::Provider(frame),
                    Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {
                        talk.heard();
                        continue;
                    }
                    Some(Ok(event @ (Message::Text(_) | Message::Binary(_)))) => event,
                    Some(Err(_)) | None => return End::Cut,
                },
                _ = ping.tick() => Message::Ping(bytes::Bytes::new()),
            },
        };
        if !event.is_ping() {
            talk.heard();
        }
        if to.send(event).await.is_err() {
            return End::Caller(None);
        }
    }
}

/// From the caller to the provider.
async fn up(from: &mut SplitStream<Socket>, to: &mut Writer) -> End {
    loop {
        match timeout(CALLER_SILENT, from.next()).await {
            Ok(Some(Ok(Message::Close(frame)))) => return End::Caller(frame),
            Ok(Some(Ok(event @ (Message::Text(_) | Message::Binary(_))))) => {
                if to.send(event).await.is_err() {
                    return End::Cut;
                }
            }
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => {}
            Ok(Some(Err(_)) | None) | Err(_) => return End::Caller(None),
        }
    }
}

async fn say_goodbye(to: &mut (impl Sink<Message> + Unpin), frame: Option<CloseFrame>) {
    // Who is gone need not be told.
    drop(to.send(Message::Close(frame)).await);
}

/// Sends the answer to a goodbye, which the other side waits for.
async fn flush(to: &mut (impl Sink<Message> + Unpin)) {
    drop(to.close().await);
}

fn frame(code: CloseCode, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: Utf8Bytes::from_static(reason) }
}

pub(super) fn normal() -> CloseFrame {
    frame(CloseCode::Normal, "")
}

/// Whether a code may stand in a frame: some only describe what was seen.
fn may_be_sent(frame: &CloseFrame) -> bool {
    frame.code.is_allowed()
}

/// Whether a provider's goodbye says that it failed. The end of a session's time is none.
fn is_complaint(code: CloseCode) -> bool {
    matches!(u16::from(code), 1002 | 1003 | 1007 | 1009..=1014)
}
