//! A session whose provider speaks another wire: every message goes through its interpreter.
//!
//! One loop serves both directions, since what one side says may be answered at once. Before anything was said, the
//! provider's session may be begun anew, as the caller wants it to be.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use haleway_providers::{Dialogue, Turn, UnsignedCall};
use haleway_upstream::{Opened, Socket};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::talk::{CALLER_SILENT, End, FAREWELL, PING_EVERY, Talk, normal, part};
use crate::call::attempt;
use crate::deployment::AttemptLimits;

/// How long a side may take for a message before it counts as gone.
const TAKE: Duration = Duration::from_secs(30);

/// What a session needs that is interpreted.
#[derive(Debug)]
pub(crate) struct Live {
    dialogue: Dialogue,
    /// The provider's session can be begun with it once more.
    call: UnsignedCall,
    limits: AttemptLimits,
}

/// The two sides.
struct Sides {
    caller: Socket,
    provider: Socket,
}

impl Live {
    pub(crate) const fn new(dialogue: Dialogue, call: UnsignedCall, limits: AttemptLimits) -> Self {
        Self { dialogue, call, limits }
    }

    /// Carries a session from its first event to its end.
    pub(super) async fn interpret(mut self, caller: Socket, provider: Socket, mut talk: Talk) {
        let gateway = std::sync::Arc::clone(&talk.gateway);
        let mut sides = Sides { caller, provider };
        let end = tokio::select! {
            end = self.carry(&mut sides, &mut talk) => end,
            () = gateway.end_sessions.cancelled() => End::Shutdown,
        };
        part(end, &mut talk, &mut sides.caller, &mut sides.provider).await;
    }

    async fn carry(&mut self, sides: &mut Sides, talk: &mut Talk) -> End {
        let opened = self.dialogue.opened();
        if let Err(end) = to_caller(&mut sides.caller, Message::text(opened)).await {
            return end;
        }
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut silent = Instant::now() + CALLER_SILENT;
        loop {
            let turn = tokio::select! {
                said = sides.provider.next() => {
                    talk.heard();
                    match said {
                        Some(Ok(Message::Close(frame))) => return End::Provider(frame),
                        Some(Ok(said @ (Message::Text(_) | Message::Binary(_)))) => {
                            self.dialogue.provider(&said.into_data())
                        }
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                        Some(Err(_)) | None => return End::Cut,
                    }
                }
                said = sides.caller.next() => {
                    silent = Instant::now() + CALLER_SILENT;
                    match said {
                        Some(Ok(Message::Close(frame))) => return End::Caller(frame),
                        Some(Ok(said @ (Message::Text(_) | Message::Binary(_)))) => {
                            self.dialogue.caller(&said.into_data())
                        }
                        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                        Some(Err(_)) | None => return End::Caller(None),
                    }
                }
                _ = ping.tick() => match to_caller(&mut sides.caller, Message::Ping(Bytes::new())).await {
                    Ok(()) => continue,
                    Err(end) => return end,
                },
                () = sleep_until(silent) => return End::Caller(None),
            };
            if let Err(end) = self.take(turn, sides, talk).await {
                return end;
            }
        }
    }

    /// Does what a message leads to.
    async fn take(&mut self, turn: Turn, sides: &mut Sides, talk: &mut Talk) -> Result<(), End> {
        if let Some(setup) = turn.renew {
            let renewed = self.renew(setup, talk).await?;
            let mut old = std::mem::replace(&mut sides.provider, renewed);
            // Who does not take the goodbye of a session in which nothing was said loses nothing.
            drop(timeout(FAREWELL, old.send(Message::Close(Some(normal())))).await);
        }
        for message in turn.to_provider {
            match timeout(TAKE, sides.provider.send(Message::text(message))).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Err(End::Cut),
            }
        }
        for event in turn.to_caller {
            to_caller(&mut sides.caller, Message::text(event)).await?;
        }
        Ok(())
    }

    /// The provider's session, begun with another set-up. The same provider served one a moment ago, so what it says
    /// against this one is said against what the caller wants.
    async fn renew(&mut self, setup: String, talk: &mut Talk) -> Result<Socket, End> {
        let deployment = &talk.deployment;
        let Ok(lease) = attempt::authorised(deployment, self.limits).await else { return Err(End::Cut) };
        let now_ms = talk.gateway.clock.now().as_millis();
        let request = self.call.clone().with_body(Bytes::from(setup)).request(now_ms, &lease.credential);
        let opened = deployment.upstream.open(request, self.limits.deadlines).await;
        let Ok(Opened::Session(mut accepted)) = opened else { return Err(End::Cut) };
        match accepted.first().await {
            Ok(Message::Close(Some(CloseFrame { reason, .. }))) => {
                let reason = deployment.target.without_own_secrets(reason.to_string());
                let message = format!("the provider refuses this session: {reason}");
                Err(End::Refused(self.dialogue.refused(&message)))
            }
            Ok(first) if self.dialogue.is_ready(&first.clone().into_data()) => {
                talk.heard();
                Ok(accepted.into_socket())
            }
            Ok(_) | Err(_) => Err(End::Cut),
        }
    }
}

async fn to_caller(caller: &mut Socket, message: Message) -> Result<(), End> {
    match timeout(TAKE, caller.send(message)).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(End::Caller(None)),
    }
}
