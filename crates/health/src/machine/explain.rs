//! One sentence that says why a deployment is in its state and what comes next.

use std::fmt::Write as _;
use std::time::Duration;

use super::Machine;
use crate::transition::Observation;
use crate::{Cause, Class, Source, State, Timestamp};

impl Machine {
    /// The verdict as one sentence, such as "ISOLATED for 12 s: 5 failures in a row from traffic (last
    /// server_error 503, sent 14 s ago); one trial in 18 s (isolation 1 in a row)."
    pub fn explain(&self, now: Timestamp) -> String {
        let mut text = format!("{} for {}: {}", self.state, brief(self.since.until(now)), self.why());
        self.push_evidence(&mut text, now);
        self.push_next(&mut text, now);
        if let Some(note) = self.note() {
            push(&mut text, format_args!("; note: {note}"));
        }
        text.push('.');
        text
    }

    fn why(&self) -> String {
        let params = &self.params;
        match self.cause {
            Cause::Start => "nothing is known yet".to_owned(),
            Cause::Class(class) if self.source.is_none() => {
                format!("{class} for the whole {}", self.scope.as_str())
            }
            Cause::Class(class) => format!("{class}{}", self.witness()),
            Cause::ConsecutiveFailures => {
                format!("{} failures in a row from traffic", params.consecutive_failures)
            }
            Cause::FailureRatio => format!(
                "more than {:.0} % of the answers within {} failed",
                params.window.failure_ratio * 100.0,
                brief(params.window.length)
            ),
            Cause::ProbeFailures => format!("{} failed probe(s) in a row", params.fall),
            Cause::Policy(class) => format!("more failures of class {class} than the policy allows"),
            Cause::LostTrial => "the trial's verdict never came".to_owned(),
            Cause::FailedTrial => "the trial failed".to_owned(),
            Cause::RampFailure => "a failure during the ramp".to_owned(),
            Cause::Stale => "the evidence became too old".to_owned(),
            Cause::Operator => "an operator's command".to_owned(),
            Cause::SlowFirstToken => {
                format!("most first tokens took longer than {}", brief(params.stream.slow_first_token))
            }
            Cause::Wedged => {
                format!("requests in flight without output for more than {}", brief(params.stream.gap))
            }
            Cause::Domain(scope) => format!("others of its {} fail too", scope.as_str()),
            Cause::Recovered => format!("good evidence{}", self.witness()),
            Cause::Timer => "the wait is over".to_owned(),
            Cause::ConfigChanged => "the configuration changed".to_owned(),
        }
    }

    const fn witness(&self) -> &'static str {
        match self.source {
            Some(Source::Probe) => " from a probe",
            Some(Source::Traffic) => " from traffic",
            Some(Source::Trial) => " from the trial",
            Some(Source::Peer) => " from another pod",
            None => "",
        }
    }

    fn push_evidence(&self, text: &mut String, now: Timestamp) {
        let Some(Observation { class, status, reason, sent_at, .. }) = self.latest else { return };
        push(text, format_args!(" (last {class}"));
        if status > 0 && class != Class::Ok {
            push(text, format_args!(" {status}"));
        }
        if !reason.is_empty() {
            push(text, format_args!(" {reason}"));
        }
        push(text, format_args!(", sent {} ago)", brief(sent_at.until(now))));
    }

    fn push_next(&self, text: &mut String, now: Timestamp) {
        let left = self.until().map(|until| brief(now.until(until)));
        match (self.state, left) {
            (State::Isolated, Some(left)) if self.params.isolation.trial => {
                push(text, format_args!("; one trial in {left} (isolation {} in a row)", self.step));
            }
            (State::Isolated, Some(left)) => push(text, format_args!("; back in {left}")),
            (State::ConfigFault | State::Budget, Some(left)) => {
                push(text, format_args!("; tested again in {left}"))
            }
            (State::Trial, Some(left)) if self.trial.is_some() => {
                push(text, format_args!("; its verdict is due within {left}"));
            }
            (State::Trial, Some(left)) => push(text, format_args!("; the next attempt in {left}")),
            (State::Trial, None) => text.push_str("; the next attempt decides"),
            (State::Ramping, _) => push(
                text,
                format_args!("; at {:.0} % of its weight", f64::from(self.standing(now).weight) * 100.0),
            ),
            (State::AdminDown | State::Draining | State::ForcedUp, Some(left)) => {
                push(text, format_args!("; ends in {left}"));
            }
            _ if now < self.hold_until => {
                push(text, format_args!("; asked to wait, held for {}", brief(now.until(self.hold_until))));
                if let Some(stated) = self.hold_clamped {
                    push(
                        text,
                        format_args!(" (it stated {}, which is more than the longest hold)", brief(stated)),
                    );
                }
            }
            _ if self.on_probation(now) => {
                text.push_str("; the wait that it asked for is over, one request at a time finds out");
            }
            _ => {}
        }
    }
}

fn push(text: &mut String, args: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _infallible = text.write_fmt(args);
}

/// A duration in the largest unit that keeps it readable.
fn brief(span: Duration) -> String {
    let millis = span.as_millis();
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..120_000 => format!("{} s", millis / 1_000),
        120_000..7_200_000 => format!("{} min", millis / 60_000),
        _ => format!("{} h", millis / 3_600_000),
    }
}
