//! From what happened to what is written: pure but for reading the gateway.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Event, EventKind, Slot, Source, State, Timestamp, Transition};
use haleway_providers::catalogue::Usd;
use haleway_store::{Check, Details, Incident, Noticed, Return, Spent, Write};
use haleway_telemetry::ProbeRung as Rung;
use serde_json::json;

use crate::deployment::{Deployment, nanodollars};
use crate::gateway::Gateway;
use crate::prober::ledger::Line;

/// LiteLLM's rule: a row although nothing changed, when the last one is this old.
const REFRESH: Duration = Duration::from_secs(3_600);
/// How often rows are looked for that are due for a refresh.
const REFRESH_PERIOD: Duration = Duration::from_secs(60);
/// LiteLLM's name for a prober that is part of no fleet.
const ALONE: &str = "background_health_check";

/// Days since the epoch, UTC.
pub(super) const fn day_of(now: Timestamp) -> u64 {
    now.as_millis() / (24 * 60 * 60 * 1000)
}

/// What the store remembers of this day, and of every deployment's last row.
#[derive(Debug)]
pub(super) struct Recalled {
    pub(super) spent: Vec<Spent>,
    pub(super) latest: Vec<Check>,
}

/// What is to be written next.
#[derive(Debug)]
pub(super) struct Collector {
    run: String,
    next_event: u64,
    next_refresh: Timestamp,
    /// When the last row of a deployment was made.
    rows: HashMap<Arc<str>, Timestamp>,
    /// What earlier lives and other processes spent on this day, which is in the ledger of this process too.
    recalled: HashMap<(u64, Arc<str>, &'static str), Line>,
    told: HashMap<(Arc<str>, &'static str), (u64, Line)>,
    /// What the probes of a slot cost: on its day so far, and in this process's life.
    cost: HashMap<Slot, (Usd, Usd)>,
    /// What they had cost when an incident began.
    at_begin: HashMap<Slot, Usd>,
}

impl Collector {
    pub(super) fn new(run: String) -> Self {
        Self {
            run,
            next_event: 0,
            next_refresh: Timestamp::from_millis(0),
            rows: HashMap::new(),
            recalled: HashMap::new(),
            told: HashMap::new(),
            cost: HashMap::new(),
            at_begin: HashMap::new(),
        }
    }

    /// Takes in what the store remembers of this day and of every deployment's last row.
    pub(super) fn recall(&mut self, gateway: &Gateway, recalled: &Recalled, now: Timestamp) {
        let Recalled { spent, latest } = recalled;
        let live = gateway.live.load();
        let day = day_of(now);
        for spent in spent {
            let rung = Rung::ALL.into_iter().find(|rung| rung.as_str() == spent.rung);
            let (Some(deployment), Some(rung)) = (live.find(&spent.deployment), rung) else { continue };
            let line = Line {
                requests: spent.requests,
                usd: Usd::from_femtodollars(u128::from(spent.nanousd) * 1_000_000),
                tokens: spent.tokens,
                estimated: spent.estimated,
                unpriced: spent.unpriced,
            };
            gateway.ledger.recall(deployment.id(), rung, &line, now);
            let id = Arc::clone(deployment.id());
            if let Some((known_day, told)) = self.told.get_mut(&(Arc::clone(&id), rung.as_str()))
                && *known_day == day
            {
                *told = told.plus(&line);
            }
            self.recalled.insert((day, id, rung.as_str()), line);
        }
        for check in latest {
            let id =
                check.model_id.as_deref().and_then(|id| live.find(id)).map(|found| Arc::clone(found.id()));
            if let Some(id) = id {
                self.rows.insert(id, Timestamp::from_millis(check.created_at));
            }
        }
        for deployment in live.each() {
            let sum = gateway.ledger.account(deployment.id(), now).sum().usd;
            self.cost.insert(deployment.slot, (sum, Usd::ZERO));
        }
    }

    /// What happened since the last call.
    pub(super) fn collect(&mut self, gateway: &Gateway, now: Timestamp, write: &mut dyn FnMut(Write)) {
        self.spent(gateway, now, write);
        let drained = gateway.hub.events(self.next_event);
        self.next_event = drained.next;
        for event in &drained.events {
            self.event(gateway, event, now, write);
        }
        if drained.missed > 0 {
            // What the last row says may be outdated: a row for everybody.
            self.rows.clear();
            self.next_refresh = now;
        }
        if now >= self.next_refresh {
            self.next_refresh = now + REFRESH_PERIOD;
            self.refresh(gateway, now, write);
        }
    }

    fn event(&mut self, gateway: &Gateway, event: &Event, now: Timestamp, write: &mut dyn FnMut(Write)) {
        let EventKind::Moved { slot, id, group, transition, .. } = &event.kind else { return };
        let Some(by) = observer(gateway, *slot, now) else { return };
        let (from, to) = (transition.from, transition.to);
        write(Write::Check(moved(gateway, *slot, id, group, transition, &by, now)));
        self.rows.insert(Arc::clone(id), now);
        let cost = self.cost.get(slot).map_or(Usd::ZERO, |(_, life)| *life);
        if from.eligible() && !to.eligible() {
            self.at_begin.insert(*slot, cost);
            write(Write::Began(began(gateway, *slot, id, group, transition, &by)));
        } else if to.eligible() && (!from.eligible() || from == State::Unknown) {
            // Out of `UNKNOWN`, too: the process that saw it leave may be gone.
            let since = self.at_begin.remove(slot).unwrap_or(Usd::ZERO);
            let spent = Usd::from_femtodollars(cost.femtodollars().saturating_sub(since.femtodollars()));
            write(Write::Ended(Return {
                deployment: id.to_string(),
                at: transition.at.as_millis(),
                probe_nanousd: nanodollars(spent),
            }));
        }
    }

    fn refresh(&mut self, gateway: &Gateway, now: Timestamp, write: &mut dyn FnMut(Write)) {
        let live = gateway.live.load();
        self.rows.retain(|id, _| live.find(id).is_some());
        for deployment in live.each() {
            let id = deployment.id();
            if self.rows.get(id).is_some_and(|last| last.until(now) < REFRESH) {
                continue;
            }
            if let Some(check) = refreshed(gateway, deployment, now) {
                write(Write::Check(check));
                self.rows.insert(Arc::clone(id), now);
            }
        }
    }

    /// The lines of the ledger that changed.
    fn spent(&mut self, gateway: &Gateway, now: Timestamp, write: &mut dyn FnMut(Write)) {
        let day = day_of(now);
        for deployment in gateway.live.load().each() {
            let account = gateway.ledger.account(deployment.id(), now);
            self.add_cost(deployment.slot, account.sum().usd);
            for rung in Rung::ALL {
                let line = account.line(rung);
                let key = (Arc::clone(deployment.id()), rung.as_str());
                let known = self.told.get(&key).is_some_and(|told| *told == (day, line));
                if line.requests == 0 || known {
                    continue;
                }
                let recalled = self.recalled.get(&(day, Arc::clone(&key.0), key.1));
                let own = line.minus(&recalled.copied().unwrap_or_default());
                self.told.insert(key, (day, line));
                if own.requests > 0 {
                    write(Write::Spent(self.signed(deployment.id(), rung, day, &own)));
                }
            }
        }
    }

    fn signed(&self, id: &str, rung: Rung, utc_day: u64, own: &Line) -> Spent {
        Spent {
            utc_day,
            deployment: id.to_owned(),
            rung: rung.as_str().to_owned(),
            run: self.run.clone(),
            requests: own.requests,
            nanousd: nanodollars(own.usd),
            tokens: own.tokens,
            estimated: own.estimated,
            unpriced: own.unpriced,
        }
    }

    fn add_cost(&mut self, slot: Slot, today: Usd) {
        let (before, life) = self.cost.entry(slot).or_default();
        // Less than before: a new day.
        let new = today.femtodollars().checked_sub(before.femtodollars()).unwrap_or(today.femtodollars());
        *life = *life + Usd::from_femtodollars(new);
        *before = today;
    }
}

/// Who writes about `slot`, when it is this process: the one whose evidence decided.
fn observer(gateway: &Gateway, slot: Slot, now: Timestamp) -> Option<String> {
    let seen_by = gateway.hub.detail(slot, now)?.observer;
    match &gateway.share {
        Some(share) => (*seen_by == *share.name()).then_some(seen_by),
        None => Some(ALONE.to_owned()),
    }
}

/// How long the attempt that was sent at `sent_at` took, when it was a probe.
fn latency(gateway: &Gateway, slot: Slot, sent_at: Option<Timestamp>) -> Option<f64> {
    let report = gateway.reports.latest(slot)?;
    sent_at.is_none_or(|sent| sent == report.sent_at).then_some(report.latency.as_secs_f64() * 1_000.0)
}

fn moved(
    gateway: &Gateway,
    slot: Slot,
    id: &Arc<str>,
    group: &str,
    transition: &Transition,
    by: &str,
    now: Timestamp,
) -> Check {
    let healthy = transition.to.eligible();
    let evidence = transition.evidence.map(|seen| {
        json!({
            "class": seen.class.as_str(),
            "scope": seen.scope.as_str(),
            "source": seen.source.as_str(),
            "depth": seen.depth.as_str(),
            "status": seen.status,
            "reason": seen.reason,
        })
    });
    let sent_at = transition.evidence.map(|seen| seen.sent_at);
    Check {
        health_check_id: uuid::Uuid::now_v7().to_string(),
        model_name: group.to_owned(),
        model_id: Some(id.to_string()),
        healthy,
        error_message: (!healthy).then(|| explanation(gateway, slot, now)).flatten(),
        response_time_ms: sent_at.and_then(|sent| latency(gateway, slot, Some(sent))),
        details: Some(Details::from(&json!({
            "from": transition.from.as_str(),
            "state": transition.to.as_str(),
            "cause": transition.cause.as_str(),
            "scope": transition.scope.as_str(),
            "source": transition.source.map(Source::as_str),
            "at": crate::routes::rfc3339(transition.at),
            "price_usd": transition.evidence.map(|seen| Usd::from_femtodollars(u128::from(seen.price_nanousd) * 1_000_000).dollars()),
            "evidence": evidence,
        }))),
        checked_by: Some(by.to_owned()),
        checked_at: sent_at.unwrap_or(transition.at).as_millis(),
        created_at: now.as_millis(),
    }
}

fn refreshed(gateway: &Gateway, deployment: &Deployment, now: Timestamp) -> Option<Check> {
    let slot = deployment.slot;
    let by = observer(gateway, slot, now)?;
    let detail = gateway.hub.detail(slot, now)?;
    let age = Duration::try_from_secs_f64(detail.age_seconds?).ok()?;
    let healthy = gateway.hub.snapshot().verdict(slot).state.eligible();
    let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    Some(Check {
        health_check_id: uuid::Uuid::now_v7().to_string(),
        model_name: detail.model_group,
        model_id: Some(detail.id),
        healthy,
        error_message: (!healthy).then_some(detail.explanation),
        response_time_ms: latency(gateway, slot, None),
        details: Some(Details::from(&json!({
            "state": detail.state,
            "cause": detail.cause,
            "scope": detail.scope,
            "source": detail.source,
            "price_usd": detail.evidence.latest.as_ref().map(|seen| seen.price_usd),
            "evidence": detail.evidence.latest,
        }))),
        checked_by: Some(by),
        checked_at: now.as_millis().saturating_sub(age_ms),
        created_at: now.as_millis(),
    })
}

fn began(
    gateway: &Gateway,
    slot: Slot,
    id: &Arc<str>,
    group: &str,
    transition: &Transition,
    by: &str,
) -> Incident {
    let noticed_by = match transition.source {
        Some(Source::Probe) => Noticed::Probe,
        Some(Source::Traffic | Source::Trial) => Noticed::Traffic,
        Some(Source::Peer) => Noticed::Inference,
        None if transition.to.by_operator() => Noticed::Operator,
        None => Noticed::Inference,
    };
    Incident {
        incident_id: uuid::Uuid::now_v7().to_string(),
        deployment: id.to_string(),
        model_name: group.to_owned(),
        began_at: transition.at.as_millis(),
        ended_at: None,
        cause: transition.cause.as_str().to_owned(),
        noticed_by,
        observer: by.to_owned(),
        message: explanation(gateway, slot, transition.at),
        probe_nanousd: 0,
    }
}

fn explanation(gateway: &Gateway, slot: Slot, now: Timestamp) -> Option<String> {
    Some(gateway.hub.detail(slot, now)?.explanation)
}
