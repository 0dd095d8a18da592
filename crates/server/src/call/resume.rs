//! Going on with a chat stream that broke after its first output (`haleway.stream.resume`).
//!
//! What the caller has read is kept; when the provider breaks off, the text is given to another deployment as the beginning of its
//! answer, and what it adds goes to the caller as chunks of the same stream. Only where that cannot go wrong: one answer in free
//! text, no tool call begun, and a deployment known to go on with a text. Everything else ends with the error event, as without
//! it. The deployment that broke off is blamed all the same, once.

mod stitch;

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use haleway_health::Slot;
use haleway_providers::prefill::{go_on, may_go_on};
use haleway_providers::{ClientBody, Operation};
use haleway_routing::CallPlan;
use http::{HeaderMap, HeaderValue};

use crate::call::attempt::Ended;
use crate::call::failure::Failed;
use crate::call::guard::Attempt;
use crate::call::read::{self, Wishes};
use crate::call::stream::StreamReader;
use crate::call::trail::Trail;
use crate::call::{Next, Session};
use crate::deployment::{CallLimits, Deployment};
use crate::gateway::{Gateway, Live};

pub(crate) use stitch::Story;

/// Deployments looked at for one continuation.
const LOOKS: usize = 64;
/// Attempts for one continuation.
const ATTEMPTS: u32 = 2;

/// What is needed to go on with a stream.
#[derive(Debug)]
pub(crate) struct Resume {
    call: Arc<Kept>,
    pub(crate) story: Story,
    tried: Vec<Slot>,
    left: u8,
}

/// The call, for as long as its stream.
#[derive(Debug)]
struct Kept {
    gateway: Arc<Gateway>,
    live: Arc<Live>,
    model: String,
    bytes: Bytes,
    wishes: Wishes,
    headers: Option<HeaderMap>,
    limits: CallLimits,
    began: haleway_health::Timestamp,
    call_id: HeaderValue,
}

/// A stream that goes on with another.
pub(crate) struct Continued {
    pub(crate) held: VecDeque<Bytes>,
    pub(crate) reader: Box<StreamReader>,
    pub(crate) attempt: Attempt,
}

/// The search for a deployment that goes on.
pub(crate) struct Search(Pin<Box<dyn Future<Output = Option<Continued>> + Send>>);

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Search")
    }
}

impl Search {
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Continued>> {
        self.0.as_mut().poll(cx)
    }
}

impl Resume {
    /// For the call of `session`, when its stream could be continued. `deployment` serves it now.
    pub(crate) fn of(
        session: &Session<'_>,
        wishes: &Wishes,
        deployment: &Deployment,
        plan: &CallPlan<'_>,
    ) -> Option<Box<Self>> {
        let left = session.live.config.haleway.calls.resumptions;
        if left == 0 || session.operation != Operation::Chat || !may_go_on(session.body.members) {
            return None;
        }
        let mut tried: Vec<Slot> = plan.trail().iter().map(|failed| failed.attempt.slot).collect();
        tried.push(deployment.slot);
        let call = Kept {
            gateway: Arc::clone(session.gateway),
            live: Arc::clone(session.live),
            model: session.model.to_owned(),
            bytes: Bytes::copy_from_slice(session.bytes),
            wishes: wishes.clone(),
            headers: session.headers.cloned(),
            limits: session.limits,
            began: session.began,
            call_id: session.call_id.clone(),
        };
        Some(Box::new(Self { call: Arc::new(call), story: Story::default(), tried, left }))
    }

    /// The search for somebody who goes on after `failed`, if that makes sense.
    pub(crate) fn search(&mut self, failed: &Failed) -> Option<Search> {
        let text = self.story.text().filter(|_| failed.retry_other)?.to_owned();
        self.left = self.left.checked_sub(1)?;
        let kept = &self.call;
        if !kept.gateway.retries.take(kept.gateway.clock.now()) {
            return None;
        }
        let (kept, tried) = (Arc::clone(kept), self.tried.clone());
        Some(Search(Box::pin(async move { kept.find(&text, &tried).await })))
    }

    /// `deployment` goes on from here.
    pub(crate) fn goes_on(&mut self, deployment: &Deployment) {
        self.tried.push(deployment.slot);
        self.story.goes_on();
    }
}

impl Kept {
    async fn find(&self, text: &str, tried: &[Slot]) -> Option<Continued> {
        let request = read::envelope(&self.bytes).ok()?;
        let resolution = self.live.table.resolve(&self.model).ok()?;
        let tags: Vec<&str> = self.wishes.tags.iter().map(String::as_str).collect();
        let session = Session {
            gateway: &self.gateway,
            live: &self.live,
            operation: Operation::Chat,
            body: ClientBody { members: &request, form: None },
            errand: None,
            stream: true,
            model: &self.model,
            began: self.began,
            limits: self.limits,
            call_id: &self.call_id,
            bytes: &self.bytes,
            wish: crate::call::realtime::Wish::default(),
            headers: self.headers.as_ref(),
        };
        let call = session.for_router(&self.wishes, &tags, resolution.group).ok()?;
        let mut plan = CallPlan::new(call, &resolution);
        for slot in tried {
            plan.exclude(*slot);
        }
        let (mut trail, mut attempts) = (Trail::default(), 0);
        for _ in 0..LOOKS {
            let Next::Try { attempt: step, generation, trial } = session.next(&mut plan, None, &mut trail)
            else {
                return None;
            };
            let deployment = self.live.deployment(step.slot)?;
            let form = deployment.target.prefill(deployment.model.info.supports_prefill);
            let Some(body) = form.and_then(|form| go_on(&request, text, form)) else {
                plan.exclude(step.slot);
                continue;
            };
            let members = read::envelope(&body).ok()?;
            let session = Session { body: ClientBody { members: &members, form: None }, ..session };
            let ended = Box::pin(session.attempt(deployment, generation, trial, &plan)).await;
            match ended {
                Ended::Stream { held, reader, attempt, .. } => {
                    return Some(Continued { held, reader, attempt });
                }
                Ended::Failed(failed, evidence) => {
                    tracing::debug!(deployment = %deployment.id(), class = %failed.class, "a continuation failed");
                    evidence.report();
                }
                // Nobody else's fault, and of no use here.
                Ended::Answer { .. } | Ended::Download { .. } | Ended::Session(_) | Ended::Refused(_) => {}
            }
            attempts += 1;
            if attempts == ATTEMPTS {
                return None;
            }
            plan.exclude(step.slot);
        }
        None
    }
}
