//! Who is to blame: from a provider's answer to a class, and from the class to what follows.
//!
//! Two stages. The first reads status, headers and body and names a [`Class`] by ordered rules that are data
//! (`rules.json`); a status that no rule says more about has a default, and so has every status that nobody
//! listed. The second is one table for all providers: [`consequence`]. Any bytes end as a named class.

use std::time::Duration;

use haleway_health::{Class, Scope};
use haleway_wire::wait;
use http::HeaderMap;
use serde_json::Value;

use crate::Mode;

mod closing;
mod consequence;
mod extract;
mod parsed;
mod redact;
mod rules;
mod success;
mod transport;

#[cfg(test)]
mod tests;

pub use closing::closing;
pub use consequence::{Consequence, RetryOther, RetrySame, consequence};
pub use redact::redact;
pub(crate) use redact::without;
pub use transport::{Transport, classify_transport};

use extract::Extract;
use parsed::Parsed;
use rules::Situation;

/// Longest upstream message that a fault carries, in bytes.
const MAX_MESSAGE: usize = 1024;
/// Longest upstream code that a fault carries, in bytes.
const MAX_CODE: usize = 64;
/// How long a quota that lasts until the end of a day is left alone before it is tried again.
const DAILY: Duration = Duration::from_secs(3600);
/// Waits read from prose or from reset counters are within the provider's own rounding below this, and say no
/// more than the class does.
const MIN_INFERRED_WAIT: Duration = Duration::from_secs(2);

/// A provider's answer, as far as it was read.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The provider's id, such as `openai`; rules of one provider are bound to it.
    pub provider: &'a str,
    /// What was asked for.
    pub mode: Mode,
    /// HTTP status; 101 for a WebSocket that opened, whose first event is the body.
    pub status: u16,
    /// Headers of the answer.
    pub headers: &'a HeaderMap,
    /// The body or its beginning; only the first 64 KiB are looked at.
    pub body: &'a [u8],
    /// Now, in epoch milliseconds, for waits that are stated as moments.
    pub now_ms: u64,
}

/// What an attempt came to and what follows. A class of [`Class::Ok`] is a usable answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The cause.
    pub class: Class,
    /// What the cause applies to.
    pub scope: Scope,
    /// The provider's status, or the one carried inside a 200, or the one that stands for a transport fault.
    pub status: u16,
    /// The wait that the provider stated.
    pub retry_after: Option<Duration>,
    /// The stated wait was absurd and was cut.
    pub retry_after_clamped: bool,
    /// How long the scope is best left alone, the stated wait included; zero when counting decides.
    pub cooldown: Duration,
    /// Whether the same deployment may be asked again for this request.
    pub retry_same: RetrySame,
    /// Whether another deployment may be asked.
    pub retry_other: RetryOther,
    /// The status for the client.
    pub client_status: u16,
    /// The `error.type` for the client; empty when the client sees a success.
    pub client_type: &'static str,
    /// The `error.code` of the class, where it has one.
    pub client_code: Option<&'static str>,
    /// The provider's code, bounded and without keys.
    pub code: Option<String>,
    /// The provider's message, bounded and without keys.
    pub message: String,
    /// A fixed word for the detail, such as `first_token`; empty when the class says it all.
    pub reason: &'static str,
    /// No rule knew the code, or the status is not listed: the table may lack something.
    pub unlisted: bool,
    /// The deployment's own settings are the cause.
    pub misconfigured: bool,
    /// A quota that lasts until the end of the day.
    pub daily: bool,
    /// The class is the status's: nothing in the answer said more.
    pub by_status: bool,
}

/// Statuses that an operator reads otherwise than the tables do, where nothing in the answer says more than its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusLists {
    /// The provider's fault: counted, and another deployment is asked.
    pub upstream: Vec<u16>,
    /// The caller's fault: passed on, and counted against nobody.
    pub caller: Vec<u16>,
}

impl StatusLists {
    /// The fault as the operator reads it.
    pub fn read(&self, fault: Fault) -> Fault {
        let class = match fault.status {
            _ if !fault.by_status => return fault,
            status if self.upstream.contains(&status) => Class::ServerError,
            status if self.caller.contains(&status) => Class::BadRequest,
            _ => return fault,
        };
        Fault { code: fault.code, message: fault.message, ..Fault::new(class, fault.status, "") }
    }
}

impl Fault {
    /// A fault of `class` with everything that follows from it. `status` is the provider's, or 0.
    pub fn new(class: Class, status: u16, message: &str) -> Self {
        let row = consequence(class);
        Self {
            class,
            scope: class.default_scope(),
            status,
            retry_after: None,
            retry_after_clamped: false,
            cooldown: row.cooldown,
            retry_same: row.retry_same,
            retry_other: row.retry_other,
            client_status: row.client_status,
            client_type: row.client_type,
            client_code: row.client_code,
            code: None,
            message: clean(message, MAX_MESSAGE),
            reason: "",
            unlisted: false,
            misconfigured: false,
            daily: false,
            by_status: false,
        }
    }

    /// Whether the answer is usable.
    pub fn is_ok(&self) -> bool {
        self.class == Class::Ok
    }

    /// The fault when the name of the model came from the caller, through a wildcard: a name the provider does
    /// not have is then the caller's mistake and says nothing about the deployment. The client sees the same.
    #[must_use]
    pub fn for_callers_model(mut self) -> Self {
        match self.class {
            Class::ModelNotFound | Class::ModeMismatch => {
                self.class = Class::BadRequest;
                self.scope = Scope::Request;
                self.cooldown = Duration::ZERO;
                self.retry_other = RetryOther::No;
                self.reason = "callers_model";
            }
            Class::Ok
            | Class::Auth
            | Class::Permission
            | Class::Billing
            | Class::RouteNotFound
            | Class::BadRequest
            | Class::ContextWindow
            | Class::ContentPolicy
            | Class::OutputBudget
            | Class::RateLimit
            | Class::RequestExceedsQuota
            | Class::Overloaded
            | Class::ServerError
            | Class::Timeout
            | Class::Connection
            | Class::MalformedResponse
            | Class::Cancelled
            | Class::Conflict
            | Class::Local => {}
        }
        self
    }
}

/// Names the cause of an answer. Never fails: what cannot be read has the default of its status.
pub fn classify(answer: &Answer<'_>) -> Fault {
    let body = answer.body.get(..extract::READ).unwrap_or(answer.body);
    let parsed = Parsed::of(body);
    if matches!(answer.status, 101 | 200..300) {
        success::judge(answer, &parsed)
    } else {
        failure(answer, &parsed)
    }
}

/// Looks at the data of a stream's event, or of a realtime session's, before anything was passed on: an error
/// there is as good as the status it carries. `None` when it is no error.
pub fn first_event(answer: &Answer<'_>) -> Option<Fault> {
    let body = answer.body.get(..extract::READ).unwrap_or(answer.body);
    match Parsed::of(body) {
        Parsed::Json(value) => success::error_in(answer, &value),
        Parsed::Events(values) => values.iter().find_map(|value| success::error_in(answer, value)),
        Parsed::Empty | Parsed::Html(_) | Parsed::Text(_) => None,
    }
}

/// The listed statuses with the class each has when no rule says more, sorted.
pub fn default_statuses() -> Vec<(u16, Class)> {
    rules::default_statuses()
}

/// The class of a status alone, listed or not.
pub fn default_class(status: u16) -> Class {
    rules::default_class(status).0
}

/// An answer whose status says that it is an error.
fn failure(answer: &Answer<'_>, parsed: &Parsed) -> Fault {
    match parsed {
        Parsed::Json(value) => {
            let extract = Extract::of_error(value, answer.headers);
            if answer.status == 404 && is_bare_not_found(&extract) {
                return finish(answer, &extract, Some(value), Verdict::of(Class::RouteNotFound));
            }
            let verdict = by_rules(answer, &extract, Some(value), answer.status);
            finish(answer, &extract, Some(value), verdict)
        }
        Parsed::Events(values) => {
            let value = Value::Array(values.clone());
            let extract = Extract::of_error(&value, answer.headers);
            let verdict = by_rules(answer, &extract, Some(&value), answer.status);
            finish(answer, &extract, Some(&value), verdict)
        }
        Parsed::Text(text) => {
            let extract = Extract::of_text(text, answer.headers);
            let mut verdict = by_rules(answer, &extract, None, answer.status);
            if answer.status == 404 && !verdict.by_rule {
                verdict = Verdict::of(Class::RouteNotFound);
            }
            finish(answer, &extract, None, verdict)
        }
        // A page says who stands in front of the provider, not what the provider means: headers and status count.
        Parsed::Html(_) | Parsed::Empty => {
            let mut extract = Extract::of_text("", answer.headers);
            let mut verdict = by_rules(answer, &extract, None, answer.status);
            // A refused handshake has no body even where the path is right: it names the model.
            if answer.status == 404 && !verdict.by_rule && answer.mode != Mode::Realtime {
                verdict = Verdict::of(Class::RouteNotFound);
            }
            if let Parsed::Html(title) = parsed {
                extract.message = Some(title.clone());
            }
            finish(answer, &extract, None, verdict)
        }
    }
}

/// A class and what the rule that named it added.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    class: Class,
    scope: Option<Scope>,
    config: bool,
    by_rule: bool,
    unlisted: bool,
    /// The status carried in the body, where it stands for the answer's own.
    status: Option<u16>,
}

impl Verdict {
    const fn of(class: Class) -> Self {
        Self { class, scope: None, config: false, by_rule: true, unlisted: false, status: None }
    }
}

/// The first rule that holds, else the default of `status`.
fn by_rules(answer: &Answer<'_>, extract: &Extract, body: Option<&Value>, status: u16) -> Verdict {
    let has_wait =
        wait::parse_parts(answer.headers, body, &extract.text, answer.now_ms, wait::DEFAULT_CAP).is_some();
    let situation = Situation { provider: answer.provider, mode: answer.mode, status, has_wait };
    if let Some(decision) = rules::decide(extract, situation) {
        let (scope, config) = (decision.scope, decision.config);
        return Verdict {
            class: decision.class,
            scope,
            config,
            by_rule: true,
            unlisted: false,
            status: None,
        };
    }
    let (class, listed) = rules::default_class(status);
    let unlisted = !listed || rules::has_unknown_code(extract);
    Verdict { class, scope: None, config: false, by_rule: false, unlisted, status: None }
}

/// The fault of a verdict: its class's consequence, and what this answer says beyond it.
fn finish(answer: &Answer<'_>, extract: &Extract, body: Option<&Value>, verdict: Verdict) -> Fault {
    let status = verdict.status.unwrap_or(answer.status);
    let mut fault = Fault::new(verdict.class, status, extract.message.as_deref().unwrap_or_default());
    fault.scope = verdict.scope.unwrap_or(fault.scope);
    fault.misconfigured = verdict.config;
    fault.unlisted = verdict.unlisted;
    fault.by_status = !verdict.by_rule;
    fault.code = extract.first_code.as_deref().map(|code| clean(code, MAX_CODE));
    if waits_matter(fault.class) {
        let stated = wait::parse_parts(answer.headers, body, &extract.text, answer.now_ms, wait::DEFAULT_CAP);
        let credible = stated.filter(|wait| is_credible(*wait));
        fault.retry_after = credible.map(|wait| wait.length);
        fault.retry_after_clamped = credible.is_some_and(|wait| wait.clamped);
    }
    if let Some(length) = fault.retry_after {
        // A stated wait is the whole length of a limit; elsewhere it only prolongs what the class has.
        fault.cooldown = if fault.class == Class::RateLimit { length } else { fault.cooldown.max(length) };
    }
    if extract.per_day && fault.class == Class::RateLimit {
        fault.daily = true;
        fault.retry_same = RetrySame::No;
        fault.cooldown = fault.cooldown.max(DAILY);
    }
    if fault.class == Class::Auth && rules::wants_fresh_token(extract) {
        fault.retry_same = RetrySame::AfterTokenRefresh;
    }
    let should_retry = answer.headers.get("x-should-retry").map(http::HeaderValue::as_bytes);
    if should_retry == Some(b"false") {
        fault.retry_same = RetrySame::No;
    }
    fault
}

/// Classes that pass by themselves, or whose end the provider may name.
fn waits_matter(class: Class) -> bool {
    match class {
        Class::RateLimit
        | Class::Overloaded
        | Class::ServerError
        | Class::Timeout
        | Class::Billing
        | Class::Conflict => true,
        Class::Ok
        | Class::Auth
        | Class::Permission
        | Class::ModelNotFound
        | Class::RouteNotFound
        | Class::ModeMismatch
        | Class::BadRequest
        | Class::ContextWindow
        | Class::ContentPolicy
        | Class::OutputBudget
        | Class::RequestExceedsQuota
        | Class::Connection
        | Class::MalformedResponse
        | Class::Cancelled
        | Class::Local => false,
    }
}

fn is_credible(stated: wait::Wait) -> bool {
    match stated.origin {
        wait::WaitOrigin::RetryAfterMs | wait::WaitOrigin::RetryAfter | wait::WaitOrigin::BodyField => true,
        wait::WaitOrigin::Reset | wait::WaitOrigin::Message => stated.length >= MIN_INFERRED_WAIT,
    }
}

/// A 404 that says nothing but 404: the path is unknown, nobody looked for a model.
fn is_bare_not_found(extract: &Extract) -> bool {
    let text = extract.text.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    matches!(
        text,
        "not found"
            | "404"
            | "404 not found"
            | "page not found"
            | "404 page not found"
            | "no route"
            | "route not found"
    )
}

/// Text for a person: no keys, no more than `limit` bytes, no line breaks or control characters.
fn clean(text: &str, limit: usize) -> String {
    let head = extract::head(text, limit.saturating_mul(2));
    let flat: String = redact(head).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    haleway_wire::error_body::bounded(flat.trim(), limit).into_owned()
}
