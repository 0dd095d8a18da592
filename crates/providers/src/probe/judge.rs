//! The judgement of a probe's answer. Healthy means a success status, a legal structure and usable content; the
//! rest is named by the classifier, as it would be for traffic.

use haleway_health::{Class, Effect};
use http::HeaderMap;

use super::verdict::{self, Verdict};
use super::{Expectation, Finding, Judgement, ProbeMemory, fault, free, repair, transcription};
use crate::registry::Wire;
use crate::target::Target;
use crate::{Mode, Operation, Reply, wires};

/// How far the escalated output cap goes, in tokens.
const CAP_MAX: u64 = 1024;

/// The answer to a probe, as received. A stream may be cut after its first output ([`Expectation::enough`]).
#[derive(Clone, Copy, Debug)]
pub struct ProbeAnswer<'a> {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The body, up to the reader's limit.
    pub body: &'a [u8],
    /// Milliseconds since the Unix epoch, for waits stated as dates.
    pub now_ms: u64,
}

impl Expectation {
    /// Whether `body`, the part of a streamed answer read so far, shows output: the rest need not be read.
    pub fn enough(&self, target: &Target, body: &[u8]) -> bool {
        self.stream && verdict::stream_has_output(reply(target, self.mode), body)
    }
}

/// What the answer to a probe says. Lessons are written into `memory`.
pub fn judge(
    target: &Target,
    expect: &Expectation,
    answer: &ProbeAnswer<'_>,
    memory: &mut ProbeMemory,
) -> Judgement {
    if let Some(check) = &expect.http {
        return super::http::judge(target, check, answer);
    }
    if expect.free {
        return free::judge(target, expect, answer);
    }
    // 101: the first event of a session is its answer.
    if answer.status != 101 && !(200..300).contains(&answer.status) {
        return refused(target, expect, answer, memory);
    }
    let is_stream = verdict::is_stream(answer.headers, answer.body);
    let verdict = match expect.mode {
        Mode::Batch if target.provider.id == "vertex_ai" && super::batch::is_googles(answer.body) => {
            Verdict::Usable
        }
        Mode::AudioSpeech if matches!(reply(target, expect.mode), Reply::Passthrough) => {
            verdict::speech(answer.headers, answer.body)
        }
        Mode::AudioSpeech if wires::gemini::speech::is_silent(answer.body) => Verdict::Blank,
        Mode::AudioTranscription => {
            transcription::judge(reply(target, expect.mode), answer.headers, answer.body)
        }
        Mode::Realtime => {
            let live = target.wire(Operation::Realtime) == Some(Wire::GeminiLive);
            super::realtime::judge(answer.body, live)
        }
        Mode::AudioSpeech
        | Mode::Chat
        | Mode::Completion
        | Mode::Embedding
        | Mode::ImageGeneration
        | Mode::ImageEdit
        | Mode::VideoGeneration
        | Mode::Rerank
        | Mode::Batch
        | Mode::Responses
        | Mode::Ocr
        | Mode::AnthropicMessages
        | Mode::Http => verdict::read(expect, reply(target, expect.mode), answer.body, is_stream),
    };
    match verdict {
        Verdict::Usable if is_stream && !expect.stream => {
            Judgement::Healthy { degraded: Some("unrequested_stream") }
        }
        Verdict::Usable => Judgement::Healthy { degraded: None },
        Verdict::Filtered => Judgement::Healthy { degraded: Some("content_policy") },
        Verdict::OutOfBudget => out_of_budget(expect, memory),
        Verdict::Unfinished => Judgement::Unknown(finding(
            Class::Timeout,
            "still_running",
            answer,
            "the work was accepted and had not ended when the provider answered",
        )),
        Verdict::Blank => {
            unhealthy(finding(Class::MalformedResponse, "blank_output", answer, "the answer is blank"))
        }
        Verdict::Failed(what) => unhealthy(finding(Class::ServerError, what, answer, "the provider gave up")),
        Verdict::Error => unhealthy(fault::finding(target, expect.mode, answer)),
        Verdict::Malformed(what) => unhealthy(finding(
            Class::MalformedResponse,
            "",
            answer,
            &format!("the answer is not as promised: {what}"),
        )),
    }
}

/// Blank, because the cap was reached: more room once, and then it is alive with a cap that is too small.
fn out_of_budget(expect: &Expectation, memory: &mut ProbeMemory) -> Judgement {
    match expect.cap {
        Some(cap) if !expect.repaired && cap < CAP_MAX => {
            memory.cap_raised = Some(cap.saturating_mul(16).clamp(CAP_MAX / 4, CAP_MAX));
            memory.reasons = true;
            Judgement::Repair("output_cap_raised")
        }
        Some(_) | None => Judgement::Healthy { degraded: Some("output_budget") },
    }
}

/// An error status: a lesson if there is one to learn, else what the classifier says.
fn refused(
    target: &Target,
    expect: &Expectation,
    answer: &ProbeAnswer<'_>,
    memory: &mut ProbeMemory,
) -> Judgement {
    let lesson = repair::lesson(target, expect, answer);
    if let Some(lesson) = lesson {
        if !expect.repaired {
            return Judgement::Repair(lesson.learn(memory));
        }
        if lesson.is_alive() {
            return Judgement::Healthy { degraded: Some("output_budget") };
        }
    }
    let mut finding = fault::finding(target, expect.mode, answer);
    if matches!(finding.class, Class::ModeMismatch | Class::RouteNotFound) {
        finding.message = format!(
            "{} (probed as {}, from {}: set model_info.mode if that is wrong)",
            finding.message,
            expect.mode,
            target.mode_origin.as_str()
        );
    }
    if let Some(candidate) = &expect.candidate
        && finding.class == Class::ModelNotFound
    {
        return absent(candidate, expect, finding, memory);
    }
    if finding.class == Class::ContentPolicy {
        return Judgement::Healthy { degraded: Some("content_policy") };
    }
    if finding.class == Class::OutputBudget {
        return Judgement::Healthy { degraded: Some("output_budget") };
    }
    match finding.class.effect() {
        // Configured with the wrong mode: no answer will ever be good, and the operator must see it.
        Effect::Neutral if finding.class == Class::ModeMismatch => unhealthy(finding),
        Effect::Alive | Effect::Neutral => {
            if finding.reason.is_empty() {
                finding.reason = "probe_invalid";
            }
            Judgement::Unknown(finding)
        }
        Effect::Ok | Effect::Hard | Effect::Soft | Effect::Config | Effect::Budget => unhealthy(finding),
    }
}

/// The catalogue named a model that the provider does not have: another one stands for the wildcard from now on.
fn absent(
    candidate: &str,
    expect: &Expectation,
    mut finding: Finding,
    memory: &mut ProbeMemory,
) -> Judgement {
    memory.absent.push(candidate.to_owned());
    if !expect.repaired {
        return Judgement::Repair("model_absent");
    }
    finding.reason = "probe_invalid";
    Judgement::Unknown(finding)
}

fn unhealthy(finding: Finding) -> Judgement {
    Judgement::Unhealthy(finding)
}

fn finding(class: Class, reason: &'static str, answer: &ProbeAnswer<'_>, message: &str) -> Finding {
    let scope = class.default_scope();
    Finding { class, scope, reason, status: answer.status, retry_after: None, message: message.to_owned() }
}

/// How the probe's answer is read: by the wire of the operation that was called.
pub(super) fn reply(target: &Target, mode: Mode) -> Reply {
    super::body::operation(mode)
        .ok()
        .and_then(|operation| target.wire(operation).map(|wire| wires::reply(wire, operation, 0)))
        .unwrap_or(Reply::Passthrough)
}
