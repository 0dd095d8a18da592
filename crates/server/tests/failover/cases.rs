//! The faults, and what must come of each.

use std::time::Duration;

use haleway_mockllm::Act;
use haleway_testkit::{Behaviour, Script, Yaml};
use serde_json::json;

use crate::bed::{Got, Kind, Seen};
use crate::bytes::Sends;

/// Every limit of the cases that wait for one.
const LIMIT: Duration = Duration::from_secs(1);
/// Longer than any limit.
const LONG: Duration = Duration::from_secs(600);

/// What the first provider does.
pub(crate) enum Provider {
    Does(Box<Script>),
    /// Bytes, whatever is asked.
    Sends(Sends),
    /// Nobody listens there.
    Refuses,
}

/// What a case needs besides two deployments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Settings {
    Default,
    /// One second for a whole answer and for each phase of a stream of the first deployment.
    ShortLimits,
    /// Isolations of one second.
    ShortIsolation,
}

impl Settings {
    pub(crate) fn apply(self, yaml: Yaml) -> Yaml {
        // A hold without a stated wait outlasts ten calls on the slowest machine.
        let yaml = yaml
            .set("haleway.profile", "resilient")
            .set("haleway.health.hold.default", "60s")
            .set("general_settings.background_health_checks", false);
        match self {
            Self::Default => yaml,
            Self::ShortLimits => yaml
                .set("d1.litellm_params.timeout", 1)
                .set("d1.model_info.haleway.stream.first_token", "1s")
                .set("d1.model_info.haleway.stream.gap", "1s"),
            Self::ShortIsolation => {
                yaml.set("haleway.health.isolation.base", "1s").set("haleway.health.ramp.length", "1s")
            }
        }
    }
}

/// One fault.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) provider: fn(Kind) -> Provider,
    pub(crate) settings: Settings,
    /// `None`: there is no such fault of a whole answer.
    pub(crate) whole: Option<Row>,
    pub(crate) stream: Option<Row>,
}

impl Case {
    pub(crate) const fn row(&self, kind: Kind) -> Option<&Row> {
        match kind {
            Kind::Whole => self.whole.as_ref(),
            Kind::Stream => self.stream.as_ref(),
        }
    }
}

/// What one kind of caller must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) got: Got,
    /// Why the first deployment failed, in the header; empty when it did not fail before the answer began.
    pub(crate) reason: &'static str,
    /// Requests at the first and the second provider in the first call.
    pub(crate) requests: (u64, u64),
    /// A limit had to pass before the call could move on or end.
    pub(crate) waits: bool,
    /// State of the first deployment after the first call.
    pub(crate) after_one: &'static str,
    /// Requests at the first provider in ten calls.
    pub(crate) in_ten: u64,
    /// State of the first deployment after ten calls.
    pub(crate) after_ten: &'static str,
}

impl Row {
    pub(crate) fn matches(&self, seen: &Seen) -> bool {
        let (told, skipped) = match self.reason {
            "" => ("1", String::new()),
            reason => ("2", format!("d1={reason}")),
        };
        let later = if self.got == Got::Whole { 0 } else { self.in_ten - 1 };
        (seen.first, seen.requests, seen.after_one) == (self.got, self.requests, self.after_one)
            && (seen.requests_in_ten, seen.after_ten) == (self.in_ten, self.after_ten)
            && (seen.told.as_str(), seen.skipped.as_str()) == (told, skipped.as_str())
            && seen.later_failed == later
            && (!self.waits || seen.took >= LIMIT)
    }

    const fn after_a_limit(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Nothing reaches a provider that refuses connections.
    const fn unheard(mut self) -> Self {
        self.requests.0 = 0;
        self.in_ten = 0;
        self
    }
}

/// Served by the second deployment; the first is charged: out after five failures in a row.
const fn hard(reason: &'static str) -> Row {
    Row {
        got: Got::Whole,
        reason,
        requests: (1, 1),
        waits: false,
        after_one: "SUSPECT",
        in_ten: 5,
        after_ten: "ISOLATED",
    }
}

/// Served by the second deployment; the first is left alone for the stated or usual wait.
const fn soft(reason: &'static str) -> Row {
    Row { after_one: "held", in_ten: 1, after_ten: "held", ..hard(reason) }
}

/// Broken after commitment.
const fn broken() -> Row {
    Row { got: Got::PartThenError, reason: "", requests: (1, 0), ..hard("") }
}

const fn case(name: &'static str, provider: fn(Kind) -> Provider, row: Row) -> Case {
    Case { name, provider, settings: Settings::Default, whole: Some(row), stream: Some(row) }
}

fn does(script: impl Into<Script>) -> Provider {
    Provider::Does(Box::new(script.into()))
}

/// As the first event of a stream, or as the body of a success.
fn error_inside_success(kind: Kind) -> Provider {
    does(match kind {
        Kind::Whole => Behaviour::ok().body(json!({"error": {"code": 500, "message": "failed inside"}})),
        Kind::Stream => Behaviour::error_event(0, 500),
    })
}

fn slow_to_speak(kind: Kind) -> Provider {
    does(match kind {
        Kind::Whole => Behaviour::ok().latency(LONG),
        Kind::Stream => Behaviour::ok().first_token(LONG),
    })
}

/// The table of `docs/failover.md`.
pub(crate) const CASES: &[Case] = &[
    case("429 with `Retry-After: 60`", |_| does(Behaviour::rate_limited("60")), soft("http_429")),
    case("429 without `Retry-After`", |_| does(Behaviour::status(429)), soft("http_429")),
    case("500", |_| does(Behaviour::status(500)), hard("http_500")),
    case("502", |_| does(Behaviour::status(502)), hard("http_502")),
    case("503", |_| does(Behaviour::status(503)), soft("http_503")),
    case("529", |_| does(Behaviour::status(529)), soft("http_529")),
    case("connection refused", |_| Provider::Refuses, hard("connection_refused").unheard()),
    case("reset before the head", |_| does(Behaviour::of(Act::Reset)), hard("connection_reset")),
    case("reset after the head", |_| does(Behaviour::of(Act::ResetAfterHeaders)), hard("stream_cut")),
    Case {
        settings: Settings::ShortLimits,
        whole: Some(hard("total").after_a_limit()),
        stream: Some(hard("first_token").after_a_limit()),
        ..case("accepts, never answers", |_| does(Behaviour::hang()), hard(""))
    },
    Case {
        settings: Settings::ShortLimits,
        whole: Some(hard("total").after_a_limit()),
        stream: Some(hard("first_token").after_a_limit()),
        ..case("head at once, first token too late", slow_to_speak, hard(""))
    },
    Case {
        settings: Settings::ShortLimits,
        whole: Some(hard("total").after_a_limit()),
        stream: Some(broken().after_a_limit()),
        ..case("stalls in the middle", |_| does(Behaviour::stall(3)), hard(""))
    },
    Case {
        whole: Some(hard("stream_cut")),
        stream: Some(broken()),
        ..case("cut in the middle", |_| does(Behaviour::cut(3)), hard(""))
    },
    case("error inside a 200: first event, or the body", error_inside_success, hard("http_500")),
    Case {
        whole: None,
        ..case(
            "error as second event, nothing said yet",
            |_| does(Behaviour::error_event(1, 500)),
            hard("http_500"),
        )
    },
    Case {
        whole: None,
        ..case("error as an event after output", |_| does(Behaviour::error_event(3, 500)), broken())
    },
    Case {
        whole: Some(hard("malformed_response")),
        stream: Some(hard("empty_stream")),
        ..case("200 without a body", |_| does(Behaviour::of(Act::Empty)), hard(""))
    },
    Case {
        stream: Some(hard("no_output")),
        whole: None,
        ..case("200 with comments only", |_| does(Behaviour::of(Act::OnlyComments).after(3)), hard(""))
    },
    case(
        "every other call fails (500)",
        |_| {
            let pair = [Behaviour::status(500), Behaviour::ok()];
            does(Script::first(pair.iter().cycle().take(10).cloned()))
        },
        Row { in_ten: 10, after_ten: "HEALTHY", ..hard("http_500") },
    ),
];

/// Failures of the outage: five take the deployment out, one more meets its first trial.
pub(crate) const OUTAGE_FAILURES: u64 = 6;

/// Away for a stretch, then back.
pub(crate) const OUTAGE: Case = Case {
    settings: Settings::ShortIsolation,
    ..case("outage", |_| does(Script::fail_then_ok(6, &Behaviour::status(500))), hard("http_500"))
};
