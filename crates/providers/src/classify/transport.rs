//! Faults without an answer: the connection, the deadlines.

use std::time::Duration;

use haleway_health::{Class, Scope};

use super::{Fault, RetrySame};

/// How an attempt failed without an HTTP answer, or after the head of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Nobody listens there.
    ConnectRefused,
    /// The name does not exist.
    DnsNotFound,
    /// The resolver failed; it may be the resolver's fault.
    DnsFailed,
    /// No TLS session: a bad certificate, no common protocol.
    Tls,
    /// No connection within the connect deadline.
    ConnectTimeout,
    /// The network or the host cannot be reached.
    Unreachable,
    /// The proxy on the way refused.
    Proxy,
    /// The connection broke before the first byte of an answer.
    ResetBeforeResponse,
    /// The connection broke in the middle of a body.
    ResetMidBody,
    /// The peer broke the protocol: bytes that are no HTTP.
    Protocol,
    /// No head of an answer within the deadline.
    FirstByteTimeout,
    /// A stream without a first token within the deadline.
    FirstTokenTimeout,
    /// Silence between two tokens beyond the limit.
    GapTimeout,
    /// The whole answer took too long.
    TotalTimeout,
    /// A stream that ended without its end.
    StreamCut,
    /// The answer, or one event of it, is larger than is accepted.
    TooLarge,
}

impl Transport {
    /// Every transport fault, in the order of declaration.
    pub const ALL: [Self; 16] = [
        Self::ConnectRefused,
        Self::DnsNotFound,
        Self::DnsFailed,
        Self::Tls,
        Self::ConnectTimeout,
        Self::Unreachable,
        Self::Proxy,
        Self::ResetBeforeResponse,
        Self::ResetMidBody,
        Self::Protocol,
        Self::FirstByteTimeout,
        Self::FirstTokenTimeout,
        Self::GapTimeout,
        Self::TotalTimeout,
        Self::StreamCut,
        Self::TooLarge,
    ];

    /// The stable machine name, which is the reason of the outcome.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConnectRefused => "connect_refused",
            Self::DnsNotFound => "dns_nxdomain",
            Self::DnsFailed => "dns_failed",
            Self::Tls => "tls",
            Self::ConnectTimeout => "connect_timeout",
            Self::Unreachable => "unreachable",
            Self::Proxy => "proxy",
            Self::ResetBeforeResponse => "reset_before_response",
            Self::ResetMidBody => "reset_mid_body",
            Self::Protocol => "protocol",
            Self::FirstByteTimeout => "first_byte",
            Self::FirstTokenTimeout => "first_token",
            Self::GapTimeout => "gap",
            Self::TotalTimeout => "total",
            Self::StreamCut => "stream_cut",
            Self::TooLarge => "too_large",
        }
    }

    const fn class(self) -> Class {
        match self {
            Self::ConnectRefused
            | Self::DnsNotFound
            | Self::DnsFailed
            | Self::Tls
            | Self::ConnectTimeout
            | Self::Unreachable
            | Self::Proxy
            | Self::ResetBeforeResponse
            | Self::ResetMidBody => Class::Connection,
            Self::FirstByteTimeout | Self::FirstTokenTimeout | Self::GapTimeout | Self::TotalTimeout => {
                Class::Timeout
            }
            Self::Protocol | Self::StreamCut | Self::TooLarge => Class::MalformedResponse,
        }
    }

    /// A host that refuses, has no name or no valid certificate fails for everyone who asks it.
    const fn names_endpoint(self) -> bool {
        match self {
            Self::ConnectRefused | Self::DnsNotFound | Self::Tls => true,
            Self::DnsFailed
            | Self::ConnectTimeout
            | Self::Unreachable
            | Self::Proxy
            | Self::ResetBeforeResponse
            | Self::ResetMidBody
            | Self::Protocol
            | Self::FirstByteTimeout
            | Self::FirstTokenTimeout
            | Self::GapTimeout
            | Self::TotalTimeout
            | Self::StreamCut
            | Self::TooLarge => false,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::ConnectRefused => "the provider refused the connection",
            Self::DnsNotFound => "the provider's host name does not exist",
            Self::DnsFailed => "the provider's host name could not be looked up",
            Self::Tls => "no secure connection to the provider",
            Self::ConnectTimeout => "no connection to the provider in time",
            Self::Unreachable => "the provider's host cannot be reached",
            Self::Proxy => "the proxy on the way to the provider refused",
            Self::ResetBeforeResponse => "the connection broke before an answer",
            Self::ResetMidBody => "the connection broke within the answer",
            Self::Protocol => "the provider's answer is not HTTP",
            Self::FirstByteTimeout => "the provider did not begin to answer in time",
            Self::FirstTokenTimeout => "the stream did not begin in time",
            Self::GapTimeout => "the stream fell silent",
            Self::TotalTimeout => "the answer was not complete in time",
            Self::StreamCut => "the stream ended without its end mark",
            Self::TooLarge => "the answer is larger than is accepted",
        }
    }
}

/// The fault that a transport failure is.
pub fn classify_transport(transport: Transport) -> Fault {
    let class = transport.class();
    let mut fault = Fault::new(class, 0, transport.words());
    fault.reason = transport.as_str();
    fault.status = fault.client_status;
    if class == Class::Connection {
        // What LiteLLM's clients see for the deployment's own status of a broken connection.
        fault.status = 500;
    }
    if class == Class::Timeout {
        // The gateway's own deadline: SDKs treat 408 as worth another try, 504 would name the provider's proxy.
        fault.status = 408;
        fault.client_status = 408;
    }
    if transport.names_endpoint() {
        fault.scope = Scope::Endpoint;
        fault.retry_same = RetrySame::No;
        fault.cooldown = Duration::from_secs(10);
    }
    if transport == Transport::ConnectTimeout || transport == Transport::Unreachable {
        fault.retry_same = RetrySame::No;
    }
    fault
}
