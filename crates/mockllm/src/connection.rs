//! One connection: hyper serves it, the script may end it.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::answer::{Outcome, Told, outcome, refusal};
use crate::body::{Abort, Timed, millis_between};
use crate::control;
use crate::form;
use crate::live;
use crate::meter::{Kept, Ticket};
use crate::mock::{Deployment, Running, Shared};
use crate::net::MemStream;
use crate::realtime;
use crate::request::{Call, key};
use crate::script::Act;

/// The largest request body: images and audio included.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// The largest body that is kept for inspection.
const MAX_KEPT: usize = 256 * 1024;

/// A byte stream that can end in a reset.
pub(crate) trait Abortable: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// Dropping the stream from now on resets the connection.
    fn reset_on_drop(&mut self);
}

impl Abortable for TcpStream {
    fn reset_on_drop(&mut self) {
        // Fails only on a socket that is gone, which is as good as reset.
        drop(self.set_zero_linger());
    }
}

impl Abortable for MemStream {
    fn reset_on_drop(&mut self) {
        Self::reset_on_drop(self);
    }
}

struct Line<T: Abortable> {
    stream: T,
    reset: Arc<AtomicBool>,
}

impl<T: Abortable> Drop for Line<T> {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Acquire) {
            self.stream.reset_on_drop();
        }
    }
}

impl<T: Abortable> AsyncRead for Line<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<T: Abortable> AsyncWrite for Line<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// What one connection remembers.
struct Visit {
    shared: Arc<Shared>,
    /// The deployment of the port it came to.
    name: Arc<str>,
    number: u64,
    calls: AtomicU64,
    reset: Arc<AtomicBool>,
}

/// Serves a connection to its end.
pub(crate) async fn serve<T: Abortable>(shared: Arc<Shared>, stream: T, name: Arc<str>, number: u64) {
    let reset = Arc::new(AtomicBool::new(false));
    let line = Line { stream, reset: Arc::clone(&reset) };
    let visit = Arc::new(Visit { shared, name, number, calls: AtomicU64::new(0), reset });
    let service = service_fn(move |request| {
        let visit = Arc::clone(&visit);
        async move { visit.respond(request).await }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.header_read_timeout(None);
    // Broken connections are this crate's trade: neither ours nor the client's are worth a word.
    drop(builder.serve_connection(TokioIo::new(line), service).with_upgrades().await);
}

impl Visit {
    async fn respond(&self, request: Request<Incoming>) -> Result<Response<Timed>, Abort> {
        let (head, body) = request.into_parts();
        let nth = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if head.uri.path().starts_with("/__") {
            return Ok(control::respond(&self.shared, &head, &read(body).await?).await);
        }
        let by_key = key(&head.headers).and_then(|key| self.shared.find(key));
        let is_by_key = by_key.is_some();
        let mut deployment = by_key.unwrap_or_else(|| self.shared.ensure(&self.name));
        let mut running = deployment.running();
        if let Some(prepared) = &running.prepared {
            // For load: counted, drained, and nothing else.
            let ticket = deployment.meter.arrive();
            read(body).await?;
            return Ok(self.response(prepared.clone(), ticket, None));
        }
        let raw = read(body).await?;
        let kind = head.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let form = kind.and_then(|kind| form::read(kind, &raw));
        let is_form = form.is_some();
        let body = form.unwrap_or_else(|| serde_json::from_slice(&raw).unwrap_or(Value::Null));
        let call = Call { head, raw, body, is_form, connection: self.number };
        if !is_by_key && let Some(by_model) = call.model().and_then(|model| self.shared.find(model)) {
            deployment = by_model;
            running = deployment.running();
        }
        if running.script.calls_per_connection.is_some_and(|limit| nth > limit) {
            return Err(Abort);
        }
        let ticket = deployment.meter.arrive();
        self.note(&call, &deployment, &running);
        self.act(&call, &deployment, &running, ticket).await
    }

    fn note(&self, call: &Call, deployment: &Deployment, running: &Running) {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let kept = Kept {
            at_ms: millis_between(self.shared.started, Instant::now()),
            connection: call.connection,
            method: call.head.method.to_string(),
            path: call.head.uri.to_string(),
            headers: call.head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: if call.raw.len() > MAX_KEPT && !call.is_form {
                Value::Null
            } else if call.body.is_null() {
                Value::String(String::from_utf8_lossy(&call.raw).into_owned())
            } else {
                call.body.clone()
            },
        };
        let key = key(&call.head.headers);
        deployment.meter.asked(call.path(), call.model(), key, kept, running.script.keep);
    }

    async fn act(
        &self,
        call: &Call,
        deployment: &Deployment,
        running: &Running,
        mut ticket: Ticket,
    ) -> Result<Response<Timed>, Abort> {
        let place = match &running.place {
            None => None,
            Some(place) => Some(Arc::clone(place).acquire_owned().await.map_err(|_closed| Abort)?),
        };
        if let Some(refused) = refusal(call, &running.script) {
            deployment.meter.answered(refused.status.as_u16(), 0, 0);
            return Ok(self.response(refused, ticket, place));
        }
        let number = running.accepted.fetch_add(1, Ordering::Relaxed);
        let behaviour = running.script.behaviour(number, Instant::now().duration_since(running.since));
        if behaviour.latency_ms > 0 {
            tokio::time::sleep(Duration::from_millis(behaviour.latency_ms)).await;
        }
        match behaviour.act {
            Act::Hang => {
                let Err(never) = std::future::pending::<Result<Infallible, Infallible>>().await;
                match never {}
            }
            Act::Close | Act::Reset => {
                self.reset.store(behaviour.act == Act::Reset, Ordering::Release);
                ticket.abort();
                return Err(Abort);
            }
            Act::Ok
            | Act::Status
            | Act::Static
            | Act::HangAfterHeaders
            | Act::Stall
            | Act::Cut
            | Act::ErrorEvent
            | Act::Empty
            | Act::OnlyComments
            | Act::Html
            | Act::Malformed
            | Act::ResetAfterHeaders => {}
        }
        let told = Told::new(call, &running.script, behaviour, number, self.shared.uptime());
        if behaviour.act != Act::Status
            && realtime::is_asked(call)
            && let Some(upgrade) = call.head.extensions.get::<OnUpgrade>().cloned()
        {
            deployment.meter.answered(101, 0, 0);
            let mut answer = Response::new(Timed::nothing());
            *answer.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
            *answer.headers_mut() = realtime::accepted(&call.head.headers);
            self.shared.carry(realtime::serve(
                upgrade,
                live::is_path(call.path()),
                behaviour.clone(),
                told,
                ticket,
            ));
            return Ok(answer);
        }
        let outcome = outcome(call, behaviour, &told);
        let (prompt, completion) =
            if outcome.status.is_success() { (told.prompt_tokens, told.completion_tokens) } else { (0, 0) };
        deployment.meter.answered(outcome.status.as_u16(), prompt, completion);
        let mut response = self.response(outcome, ticket, place);
        if let Ok(id) = http::HeaderValue::from_str(&format!("req_{}", told.id)) {
            response.headers_mut().entry("x-request-id").or_insert(id);
        }
        Ok(response)
    }

    fn response(
        &self,
        outcome: Outcome,
        ticket: Ticket,
        place: Option<OwnedSemaphorePermit>,
    ) -> Response<Timed> {
        let mut response = Response::new(Timed::new(outcome.pieces, ticket, place, Arc::clone(&self.reset)));
        *response.status_mut() = outcome.status;
        *response.headers_mut() = outcome.headers;
        response
    }
}

/// The whole request body.
async fn read(body: Incoming) -> Result<Bytes, Abort> {
    #[expect(clippy::disallowed_methods, reason = "the body is capped by Limited")]
    let collected = Limited::new(body, MAX_BODY).collect().await;
    collected.map(http_body_util::Collected::to_bytes).map_err(|_broken| Abort)
}
