//! The life of a request: authenticate → admit → read → resolve → plan → attempt, until served or given up → relay.
//!
//! This file is the whole story; each step is one function elsewhere. The rules it keeps: one budget per call, health
//! read anew before every attempt, exactly one outcome per attempt, and nothing committed to the caller while another
//! deployment could still serve the call.

pub(crate) mod attempt;
mod cost;
pub mod download;
pub(crate) mod failure;
mod form;
pub(crate) mod guard;
pub(crate) mod headers;
pub(crate) mod judge;
mod many;
pub(crate) mod place;
pub(crate) mod read;
pub(crate) mod realtime;
pub(crate) mod refusal;
pub mod relay;
mod resume;
pub(crate) mod stream;
mod suspicion;
pub(crate) mod trace;
mod trail;
mod whole;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haleway_config::TraceLevel;
use haleway_health::{Generation, Timestamp, TrialLease};
use haleway_providers::{Caller, ClientBody, Errand, Operation};
use haleway_routing::{
    self as routing, CallPlan, Facts, GiveUp, Health as _, Resolution, Step, Strategy, View,
};
use haleway_wire::chat::{StreamKind, Usage};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};

use crate::body::Body;
use crate::call::attempt::{Ask, Ended};
use crate::call::failure::Failed;
use crate::call::guard::Attempt;
use crate::call::place::Place;
use crate::call::read::Wishes;
use crate::call::realtime::{Begun, Door};
use crate::call::resume::Resume;
use crate::call::suspicion::Suspicion;
use crate::call::trace::Trace;
use crate::call::trail::Trail;
use crate::deployment::{AttemptLimits, CallLimits, Deployment, header_value};
use crate::error::{ApiError, ErrorShape};
use crate::gateway::{Gateway, Live};

/// Serves one model call. `path_model` is the model named in the URL, which outranks the body.
pub async fn handle<B>(
    gateway: &Arc<Gateway>,
    operation: Operation,
    path_model: Option<&str>,
    request: Request<B>,
) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let call_id = call_id(request.headers());
    match serve(gateway, operation, path_model, &call_id, request).await {
        Ok(response) => response,
        Err(mut error) => {
            headers::refused(error.headers_mut(), &call_id);
            error.into_response(error_shape(operation))
        }
    }
}

/// The error shape that the clients of an operation understand.
pub(crate) fn error_shape(operation: Operation) -> ErrorShape {
    if matches!(operation, Operation::Messages | Operation::CountTokens) {
        ErrorShape::Anthropic
    } else {
        ErrorShape::OpenAi
    }
}

async fn serve<B>(
    gateway: &Arc<Gateway>,
    operation: Operation,
    path_model: Option<&str>,
    call_id: &HeaderValue,
    request: Request<B>,
) -> Result<Response<Body>, ApiError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let began = gateway.clock.now();
    let live = gateway.live.load_full();
    let (head, body) = request.into_parts();
    let place = match live.keys.admit(&head.headers).and_then(|_| Place::take(gateway, &live)) {
        Ok(place) => place,
        Err(refused) => {
            read::discard(&head.headers, pin!(body)).await;
            return Err(refused);
        }
    };
    let bytes = read::body(&head.headers, body, live.max_body).await?;
    let form = form::read(operation, &head.headers, &bytes)?;
    let fields = form.as_ref().map(form::members);
    let envelope = read::envelope(fields.as_ref().map_or(&bytes[..], String::as_bytes))?;
    read::required(operation, &envelope)?;
    let model = read::model(&envelope, path_model)?;
    let stream = read::stream(&envelope)?;
    let wishes = Wishes::read(&envelope, &head.headers);
    let session = Session {
        gateway,
        live: &live,
        operation,
        body: ClientBody { members: &envelope, form: form.as_ref() },
        errand: None,
        stream,
        model: &model,
        began,
        limits: call_limits(&live, &wishes, stream),
        call_id,
        bytes: &bytes,
        wish: realtime::Wish::default(),
        headers: Some(&head.headers),
    };
    match live.table.resolve(&model) {
        Ok(resolution) => session.counted(&wishes, &resolution, place, None).await,
        Err(_) if many::is_list(operation, &model) => Box::pin(many::serve(session, &wishes, place)).await,
        Err(_) => Err(refusal::unknown_model(&model)),
    }
}

pub(crate) fn call_limits(live: &Live, wishes: &Wishes, stream: bool) -> CallLimits {
    let caller = if stream { wishes.stream_timeout.or(wishes.timeout) } else { wishes.timeout };
    CallLimits { caller, ..live.limits }
}

pub(crate) fn call_id(headers: &HeaderMap) -> HeaderValue {
    headers.get("x-litellm-call-id").cloned().unwrap_or_else(|| {
        // Not a secret: a fast generator will do.
        let id = uuid::Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes()).into_uuid();
        header_value(id.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()))
    })
}

/// One call of one model.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    pub(crate) gateway: &'a Arc<Gateway>,
    pub(crate) live: &'a Arc<Live>,
    pub(crate) operation: Operation,
    pub(crate) body: ClientBody<'a>,
    /// Set when the call is about objects (`crate::errands`).
    pub(crate) errand: Option<&'a Errand<'a>>,
    pub(crate) stream: bool,
    pub(crate) model: &'a str,
    pub(crate) began: Timestamp,
    pub(crate) limits: CallLimits,
    pub(crate) call_id: &'a HeaderValue,
    pub(crate) bytes: &'a [u8],
    /// What is asked of a realtime session.
    pub(crate) wish: realtime::Wish<'a>,
    /// The caller's own.
    pub(crate) headers: Option<&'a HeaderMap>,
}

impl Session<'_> {
    /// Runs the call and counts its answer for the group that was asked for.
    pub(crate) async fn counted(
        &self,
        wishes: &Wishes,
        resolution: &Resolution<'_>,
        place: Place,
        door: Option<Door>,
    ) -> Result<Response<Body>, ApiError> {
        let answer = self.run(wishes, resolution, place, door).await;
        if let Some(series) = self.live.group_metrics.get(resolution.group.0 as usize) {
            let status = |response: &Response<Body>| response.status().as_u16();
            series.answered(answer.as_ref().map_or_else(ApiError::status, status));
        }
        answer
    }

    async fn run(
        &self,
        wishes: &Wishes,
        resolution: &Resolution<'_>,
        place: Place,
        door: Option<Door>,
    ) -> Result<Response<Body>, ApiError> {
        let tags: Vec<&str> = wishes.tags.iter().map(String::as_str).collect();
        let mut plan = CallPlan::new(self.for_router(wishes, &tags, resolution.group)?, resolution);
        let mut trail = Trail::default();
        let mut suspicion = Suspicion::default();
        let mut last: Option<LastFailure> = None;
        let mut failure = None;
        loop {
            let (step, mut generation, trial) =
                match self.next(&mut plan, failure.take().as_ref(), &mut trail) {
                    Next::Try { attempt, generation, trial } => (attempt, generation, trial),
                    Next::TrialTaken => continue,
                    Next::Wait(until) => {
                        self.wait(until, &mut trail).await;
                        continue;
                    }
                    Next::GiveUp(reason) => return Err(self.give_up(reason, last.as_ref(), &plan, &trail)),
                };
            if !step.wait.is_zero() {
                tokio::time::sleep(step.wait).await;
                trail.waited(step.wait);
                match self.still_open(&step) {
                    Some(now) => generation = now,
                    None => continue,
                }
            }
            let Some(deployment) = self.live.deployment(step.slot) else {
                return Err(ApiError::internal("the chosen deployment is no longer there"));
            };
            let sent = self.gateway.clock.now();
            let failed = match self.attempt(deployment, generation, trial, &plan).await {
                Ended::Answer { status, headers, body, usage } => {
                    suspicion.acquit();
                    let mut response = self.answer(deployment, &plan, &trail, status, &headers, body);
                    self.state_cost(response.headers_mut(), deployment, &plan, usage);
                    return Ok(response);
                }
                Ended::Download { headers, relay, attempt } => {
                    suspicion.acquit();
                    let download = download::Download::new(*relay, attempt, place);
                    return Ok(self.download(deployment, &plan, &trail, &headers, download));
                }
                Ended::Stream { headers, held, reader, attempt } => {
                    suspicion.acquit();
                    let mut relay = relay::Relay::new(held, *reader, attempt, place);
                    relay.resume(Resume::of(self, wishes, deployment, &plan));
                    return Ok(self.stream(deployment, &plan, &trail, &headers, relay));
                }
                Ended::Session(begun) => {
                    suspicion.acquit();
                    return self.join(deployment, &plan, &trail, *begun, door, place);
                }
                Ended::Failed(failed, evidence) => {
                    suspicion.weigh(evidence, || read::fingerprint(self.bytes));
                    failed
                }
                Ended::Refused(refused) if refused.retry_other => Box::new(Failed::untranslatable(refused)),
                Ended::Refused(refused) => return Err(refusal::untranslatable(&refused)),
            };
            tracing::debug!(deployment = %deployment.id(), class = %failed.class, status = failed.upstream_status, reason = failed.reason, "attempt failed");
            trail.failed(deployment, &failed, self.gateway.clock.now().since(sent));
            failure = Some(failed.for_plan());
            let is_final = failed.is_final;
            // What a provider said tells more than that another wire could not say the request.
            if failed.refusal.is_none() || last.is_none() {
                last = Some(LastFailure { failed, deployment: Arc::clone(deployment) });
            }
            if is_final {
                return Err(self.give_up(GiveUp::NotRetryable, last.as_ref(), &plan, &trail));
            }
        }
    }

    fn for_router<'c>(
        &'c self,
        wishes: &Wishes,
        tags: &'c [&'c str],
        group: routing::GroupIx,
    ) -> Result<routing::Call<'c>, ApiError> {
        let hop = |name: &String| self.live.table.hop(name).map_err(|_| refusal::unknown_model(name));
        let fallbacks = wishes
            .fallbacks
            .as_ref()
            .map(|names| names.iter().map(hop).collect::<Result<Vec<_>, _>>())
            .transpose()?;
        let group_retries = self.live.group_retries.get(group.0 as usize).copied().flatten();
        // Four bytes of JSON make about one token: enough to tell a prompt that cannot fit. Of a file they say nothing.
        let checks =
            self.live.table.settings().pre_call_checks && self.body.form.is_none() && self.errand.is_none();
        Ok(routing::Call {
            model: self.model,
            facts: Facts { tags, input_tokens: checks.then_some(self.bytes.len() as u64 / 4) },
            num_retries: wishes.num_retries.or(group_retries),
            fallbacks,
            disable_fallbacks: wishes.disable_fallbacks,
            deadline: self.limits.caller.map(|limit| self.began + limit),
            patience: Some(self.began + self.limits.of_call(self.stream)),
        })
    }

    /// Reads health and asks the plan what to do. The snapshot is let go before anything waits.
    fn next(&self, plan: &mut CallPlan<'_>, failure: Option<&routing::Failure>, trail: &mut Trail) -> Next {
        let now = self.gateway.clock.now();
        let snapshot = self.gateway.hub.snapshot();
        let health = self.live.health_view(&snapshot);
        let retries = Some(&self.gateway.retries);
        let view = View { table: &self.live.table, health: &health, stats: &self.live.stats, retries };
        let attempt = match plan.next(now, fastrand::u64(..), failure, &view) {
            Step::Try(attempt) => attempt,
            Step::Wait { until } => return Next::Wait(until),
            Step::GiveUp(reason) => return Next::GiveUp(reason),
        };
        trail.passed_over(now, plan, &attempt, &view, &snapshot);
        let generation = snapshot.generation(attempt.slot);
        if !attempt.trial {
            return Next::Try { attempt, generation, trial: None };
        }
        drop(snapshot);
        match self.gateway.hub.claim_trial(now, attempt.slot, fastrand::u64(..)) {
            Some(lease) => Next::Try { attempt, generation, trial: Some(lease) },
            None => {
                plan.trial_refused();
                Next::TrialTaken
            }
        }
    }

    /// Waits until `until`, but looks again now and then: the attempt of another call may have found out meanwhile.
    /// Not all at once, so that those who wait do not come back together.
    async fn wait(&self, until: Timestamp, trail: &mut Trail) {
        let now = self.gateway.clock.now();
        let look = now + Duration::from_millis(fastrand::u64(250..1_000));
        tokio::time::sleep_until(self.gateway.clock.instant(until.min(look))).await;
        trail.waited(self.gateway.clock.now().since(now));
    }

    /// Health may have moved during a wait: the generation that evidence must carry now; `None` when the target has gone
    /// further out and the plan must look anew.
    fn still_open(&self, step: &routing::Attempt) -> Option<Generation> {
        let snapshot = self.gateway.hub.snapshot();
        let rank = self.live.health_view(&snapshot).admission(step.slot).rank;
        (rank <= step.rank).then(|| snapshot.generation(step.slot))
    }

    async fn attempt(
        &self,
        deployment: &Arc<Deployment>,
        generation: Generation,
        trial: Option<TrialLease>,
        plan: &CallPlan<'_>,
    ) -> Ended {
        let left = self.limits.caller.map(|limit| (self.began + limit).since(self.gateway.clock.now()));
        let captured = self.captured(deployment, plan);
        let ask = Ask {
            operation: self.operation,
            body: self.body,
            captured: captured.as_deref(),
            stream: self.stream,
            count_tokens: self.live.table.settings().strategy == Strategy::UsageBased,
            limits: self.attempt_limits(deployment, left),
            wants_usage: self.stream && read::wants_usage(self.body.members),
            errand: self.errand,
            wish: self.wish,
            caller: self.headers.map(|headers| Caller {
                headers,
                forwards: self.live.config.general.forward_client_headers,
                key_header: self.live.config.general.key_header.as_deref(),
            }),
        };
        let attempt = Attempt::begin(self.gateway, self.live, deployment, generation, trial);
        attempt::run(attempt, &ask).await
    }

    /// The deadlines of an attempt. What is uploaded is heard or painted before the first word comes, so only text is
    /// held to its first token.
    fn attempt_limits(&self, deployment: &Deployment, left: Option<Duration>) -> AttemptLimits {
        // A content may take as long as it likes, as long as it flows.
        let speaks = attempt::speaks(self.operation) || self.errand.is_some();
        let mut limits = deployment.limits(self.stream && speaks, self.limits, left);
        if self.stream && !speaks {
            limits.deadlines.gap = Some(deployment.model.health.stream.gap);
        }
        limits
    }

    /// What the wildcard of a deployment in the present group took from the name that is served.
    fn captured(&self, deployment: &Deployment, plan: &CallPlan<'_>) -> Option<String> {
        if !deployment.target.wildcard {
            return None;
        }
        self.live.table.resolve(plan.model()).ok()?.captures.substitute("*")
    }

    fn answer(
        &self,
        deployment: &Deployment,
        plan: &CallPlan<'_>,
        trail: &Trail,
        status: StatusCode,
        upstream: &HeaderMap,
        body: Bytes,
    ) -> Response<Body> {
        let body = match self.trace(deployment, plan, trail) {
            Some(trace) => told(trace, upstream, body),
            None => body,
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        *response.headers_mut() = self.served_headers(deployment, plan, trail, upstream);
        let kind = upstream.get(CONTENT_TYPE).cloned();
        let kind = kind.unwrap_or(HeaderValue::from_static("application/json"));
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }

    fn download(
        &self,
        deployment: &Deployment,
        plan: &CallPlan<'_>,
        trail: &Trail,
        upstream: &HeaderMap,
        download: download::Download,
    ) -> Response<Body> {
        let mut response = Response::new(Body::Download(Box::new(download)));
        *response.headers_mut() = self.served_headers(deployment, plan, trail, upstream);
        for name in [CONTENT_TYPE, CONTENT_DISPOSITION] {
            if let Some(value) = upstream.get(&name) {
                response.headers_mut().insert(name, value.clone());
            }
        }
        response
    }

    fn stream(
        &self,
        deployment: &Deployment,
        plan: &CallPlan<'_>,
        trail: &Trail,
        upstream: &HeaderMap,
        mut relay: relay::Relay,
    ) -> Response<Body> {
        if let Some(trace) = self.trace(deployment, plan, trail) {
            relay.tell(trace);
        }
        let is_events = relay.is_events();
        let mut response = Response::new(Body::Relay(Box::new(relay)));
        *response.headers_mut() = self.served_headers(deployment, plan, trail, upstream);
        if is_events {
            headers::stream(response.headers_mut());
        } else {
            let kind = upstream.get(CONTENT_TYPE).cloned();
            let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
            response.headers_mut().insert(CONTENT_TYPE, kind);
        }
        response
    }

    /// Lets the caller of a session in.
    fn join(
        &self,
        deployment: &Deployment,
        plan: &CallPlan<'_>,
        trail: &Trail,
        begun: Begun,
        door: Option<Door>,
        place: Place,
    ) -> Result<Response<Body>, ApiError> {
        let door = door.ok_or_else(|| ApiError::internal("a session without a caller"))?;
        let response = door.opened(self.served_headers(deployment, plan, trail, begun.accepted.headers()));
        self.gateway.sessions.spawn(realtime::converse(begun, door, place));
        Ok(response)
    }

    fn served_headers(
        &self,
        deployment: &Deployment,
        plan: &CallPlan<'_>,
        trail: &Trail,
        upstream: &HeaderMap,
    ) -> HeaderMap {
        let total = self.gateway.clock.now().since(self.began);
        let captured = self.captured(deployment, plan);
        let facts = headers::Served {
            deployment,
            captured: captured.as_deref(),
            call_id: self.call_id,
            model_group: plan.model(),
            retries: trail.failures_in(&deployment.model.name),
            fallbacks: plan.fallbacks_entered(),
            attempts: trail.failures() + 1,
            skipped: self.shown(trail),
            panic: trail.panic(),
            total,
        };
        headers::served(&facts, upstream)
    }

    fn level(&self) -> TraceLevel {
        self.live.config.haleway.calls.trace
    }

    /// What the headers say of candidates that did not serve.
    fn shown<'t>(&self, trail: &'t Trail) -> &'t str {
        if self.level() == TraceLevel::Never { "" } else { trail.text() }
    }

    /// How the call was routed, when its answer is to say so.
    fn trace(&self, deployment: &Deployment, plan: &CallPlan<'_>, trail: &Trail) -> Option<Trace> {
        let total = || self.gateway.clock.now().since(self.began);
        trace::is_wanted(self.level(), self.headers).then(|| Trace::served(deployment, plan, trail, total()))
    }

    /// Adds what a whole answer cost, when its usage and its prices are known.
    fn state_cost(
        &self,
        headers: &mut HeaderMap,
        deployment: &Deployment,
        plan: &CallPlan<'_>,
        usage: Option<Usage>,
    ) {
        let Some(usage) = usage else { return };
        let usage = cost::usage(&usage, self.operation);
        let captured = self.captured(deployment, plan);
        if let Some(cost) = cost::of(&deployment.target, captured.as_deref(), &usage) {
            headers::cost(headers, cost);
        }
    }

    fn give_up(
        &self,
        reason: GiveUp,
        last: Option<&LastFailure>,
        plan: &CallPlan<'_>,
        trail: &Trail,
    ) -> ApiError {
        let mut error = match last {
            Some(last) => last.failed.to_error(error_shape(self.operation)),
            None => self.refused(reason, plan),
        };
        let headers = error.headers_mut();
        if let Some(LastFailure { failed, deployment }) = last {
            let limit = self.attempt_limits(deployment, None).stated();
            let captured = self.captured(deployment, plan);
            let upstream = failed.headers.as_deref();
            headers::failed(headers, deployment, captured.as_deref(), self.call_id, limit, upstream);
            headers::gave_up(headers, reason);
        }
        headers::route(headers, trail.failures(), self.shown(trail));
        if self.level() != TraceLevel::Never {
            let last = last.map(|last| &*last.deployment);
            let total = self.gateway.clock.now().since(self.began);
            error.add_detail(Trace::gave_up(reason, last, plan, trail, total).into_object());
        }
        error
    }

    fn refused(&self, reason: GiveUp, plan: &CallPlan<'_>) -> ApiError {
        if reason == GiveUp::OutOfTime {
            return refusal::out_of_time();
        }
        let now = self.gateway.clock.now();
        let snapshot = self.gateway.hub.snapshot();
        let health = self.live.health_view(&snapshot);
        let view = View { table: &self.live.table, health: &health, stats: &self.live.stats, retries: None };
        let refusal = plan.refusal(now, &view);
        refusal::to_error(&refusal, self.model, self.live, now)
    }
}

/// An answer with how it was routed, where it has a place for that.
fn told(mut trace: Trace, upstream: &HeaderMap, body: Bytes) -> Bytes {
    let kind = upstream.get(CONTENT_TYPE).map_or(&b"application/json"[..], |value| value.as_bytes());
    if kind.starts_with(b"text/event-stream") {
        return trace.weave(StreamKind::Chat, body).0;
    }
    let spliced = kind.starts_with(b"application/json").then(|| trace.splice(&body)).flatten();
    spliced.unwrap_or(body)
}

/// The failure that the caller is told of when nothing else works.
struct LastFailure {
    failed: Box<Failed>,
    deployment: Arc<Deployment>,
}

enum Next {
    Try { attempt: routing::Attempt, generation: Generation, trial: Option<TrialLease> },
    TrialTaken,
    Wait(Timestamp),
    GiveUp(GiveUp),
}
