//! Why no complete answer came: the one error of this crate.
//!
//! hyper, hyper-util, rustls and the kernel each wrap the others' errors. Here the chain is read once and reduced to
//! what the caller acts on: which kind, whether the request may have reached the provider, and a sentence that never
//! holds a URL, a header or a body (they may carry secrets).

use std::error::Error as StdError;
use std::fmt;
use std::io;

use haleway_health::Class;

use crate::deadline::Phase;
use crate::watch::Stale;

/// What went wrong on the way to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The host is there and refused the connection.
    Refused,
    /// No route, or the peer stopped acknowledging.
    Unreachable,
    /// The name did not resolve.
    Dns,
    /// The TLS handshake failed.
    Tls,
    /// The connection was reset before an answer.
    Reset,
    /// The connection was closed before an answer.
    Closed,
    /// What came back is not HTTP, or its head is beyond the limits.
    Protocol,
    /// The deadline of this phase passed.
    Timeout(Phase),
    /// The body ended before it was complete.
    Cut,
    /// The body is larger than the caller's cap.
    TooLarge,
    /// This process could not try: out of descriptors, ports or memory, or an impossible URL.
    Local,
}

impl FaultKind {
    /// The stable name; for a timeout the name of the phase.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Refused => "connection_refused",
            Self::Unreachable => "unreachable",
            Self::Dns => "dns",
            Self::Tls => "tls",
            Self::Reset => "connection_reset",
            Self::Closed => "connection_closed",
            Self::Protocol => "bad_http",
            Self::Timeout(phase) => phase.as_str(),
            Self::Cut => "stream_cut",
            Self::TooLarge => "answer_too_large",
            Self::Local => "local",
        }
    }

    /// The cause as the health core counts it.
    pub const fn class(self) -> Class {
        match self {
            Self::Timeout(_) => Class::Timeout,
            Self::Protocol | Self::TooLarge => Class::MalformedResponse,
            Self::Local => Class::Local,
            Self::Refused
            | Self::Unreachable
            | Self::Dns
            | Self::Tls
            | Self::Reset
            | Self::Closed
            | Self::Cut => Class::Connection,
        }
    }
}

/// No answer, or not a whole one.
#[derive(Clone, Debug)]
pub struct Fault {
    kind: FaultKind,
    sent: bool,
    message: Box<str>,
}

impl Fault {
    pub(crate) fn new(kind: FaultKind, sent: bool, message: impl Into<Box<str>>) -> Self {
        Self { kind, sent, message: message.into() }
    }

    pub(crate) fn timeout(phase: Phase) -> Self {
        let (sent, message) = match phase {
            Phase::Connect => (false, "no connection in time"),
            Phase::FirstByte => (true, "no answer in time"),
            Phase::FirstToken => (true, "no output in time"),
            Phase::Gap => (true, "the stream fell silent"),
            Phase::Total => (true, "the call took longer than it may"),
        };
        Self::new(FaultKind::Timeout(phase), sent, message)
    }

    pub(crate) fn too_large(cap: usize) -> Self {
        Self::new(FaultKind::TooLarge, true, format!("the answer is larger than {cap} bytes"))
    }

    /// What went wrong.
    pub const fn kind(&self) -> FaultKind {
        self.kind
    }

    /// Whether a part of the request may have reached the provider. `false`: sending it elsewhere cannot run it twice.
    pub const fn sent(&self) -> bool {
        self.sent
    }

    /// The stable name of the kind: [`FaultKind::reason`].
    pub const fn reason(&self) -> &'static str {
        self.kind.reason()
    }

    /// One plain sentence, free of URLs, headers and bodies.
    pub const fn message(&self) -> &str {
        &self.message
    }

    /// A failure to connect that the kernel or the resolver reported.
    pub(crate) fn connecting(error: &(dyn StdError + 'static)) -> Self {
        let mut kind = FaultKind::Unreachable;
        walk(error, &mut |error| {
            if error.is::<DnsFault>() {
                kind = FaultKind::Dns;
                return true;
            }
            let Some(found) = error.downcast_ref::<io::Error>().and_then(of_io) else {
                return false;
            };
            kind = found;
            true
        });
        Self::new(kind, false, describe(error))
    }

    /// A failure of the TLS handshake.
    pub(crate) fn tls(error: &(dyn StdError + 'static)) -> Self {
        Self::new(FaultKind::Tls, false, describe(error))
    }

    /// What the client says when no head of an answer came.
    pub(crate) fn sending(error: &hyper_util::client::legacy::Error) -> Self {
        let mut fault = None;
        let mut is_hyper = false;
        walk(error, &mut |error| {
            if let Some(connecting) = error.downcast_ref::<Self>() {
                fault = Some(connecting.clone());
            } else if let Some(io) = error.downcast_ref::<io::Error>() {
                fault = of_io(io).map(|kind| Self::new(kind, true, describe(io)));
            } else if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
                is_hyper = true;
                fault = of_hyper(hyper);
            }
            fault.is_some()
        });
        fault.unwrap_or_else(|| {
            if is_hyper {
                // Something came that hyper could make no sense of.
                return Self::new(FaultKind::Protocol, true, describe(error));
            }
            // Without a cause it is hyper-util's own refusal: a relative URL, an unknown version or method.
            Self::new(FaultKind::Local, false, "the request cannot be sent")
        })
    }

    /// What the body says when it ends too early.
    pub(crate) fn cut(error: &hyper::Error) -> Self {
        Self::new(FaultKind::Cut, true, describe(error))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason(), self.message)
    }
}

impl StdError for Fault {}

/// Marks an error of the resolver, which the connector otherwise hides behind its own.
#[derive(Debug, thiserror::Error)]
#[error("the name does not resolve")]
pub(crate) struct DnsFault(#[source] pub(crate) io::Error);

/// Whether a kept-alive connection had died before this exchange.
pub(crate) fn is_stale(error: &hyper_util::client::legacy::Error) -> bool {
    walk(error, &mut |error| error.is::<Stale>())
}

/// What hyper's own error says; `None` where the cause below it says more.
fn of_hyper(error: &hyper::Error) -> Option<Fault> {
    if error.is_canceled() || error.is_closed() {
        // Handed back unsent: the connection closed before it took the request.
        return Some(Fault::new(
            FaultKind::Closed,
            false,
            "the connection closed before the request was sent",
        ));
    }
    if error.is_incomplete_message() {
        return Some(Fault::new(FaultKind::Closed, true, "the connection closed before an answer"));
    }
    error.is_user().then(|| Fault::new(FaultKind::Local, false, "the request cannot be sent"))
}

/// Linux and BSD numbers: too many open files, in the process and in the system; no buffer space.
const LOCAL_ERRNO: [i32; 3] = [24, 23, 105];

/// The kind an I/O error stands for; `None` when only its own cause can tell.
fn of_io(error: &io::Error) -> Option<FaultKind> {
    if error.raw_os_error().is_some_and(|number| LOCAL_ERRNO.contains(&number)) {
        return Some(FaultKind::Local);
    }
    #[expect(clippy::wildcard_enum_match_arm, reason = "ErrorKind is open-ended")]
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(FaultKind::Refused),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            Some(FaultKind::Reset)
        }
        io::ErrorKind::UnexpectedEof => Some(FaultKind::Closed),
        io::ErrorKind::TimedOut
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown => Some(FaultKind::Unreachable),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory | io::ErrorKind::PermissionDenied => {
            Some(FaultKind::Local)
        }
        // A payload (TLS, a marker) is looked into by the walk; anything else broke the connection.
        _ => error.get_ref().is_none().then_some(FaultKind::Reset),
    }
}

/// Visits an error and its causes, outermost first, until `visit` says stop. `io::Error` hides its payload from
/// `source`, so it is opened by hand.
fn walk(error: &(dyn StdError + 'static), visit: &mut dyn FnMut(&(dyn StdError + 'static)) -> bool) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if visit(error) {
            return true;
        }
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(payload) => Some(payload),
            None => error.source(),
        };
    }
    false
}

/// The innermost cause, in its own words: outer ones only say "error trying to connect".
fn describe(error: &(dyn StdError + 'static)) -> String {
    let mut innermost = String::new();
    walk(error, &mut |error| {
        innermost = error.to_string();
        false
    });
    innermost
}
