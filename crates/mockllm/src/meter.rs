//! The cost meter: what reached a deployment, counted where it arrives.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

/// What a deployment was asked and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Calls that arrived, refused ones included.
    pub requests: u64,
    /// Calls being served now.
    pub in_flight: u64,
    /// The most calls served at a time.
    pub max_in_flight: u64,
    /// Calls answered to the end.
    pub completed: u64,
    /// Calls whose client left first.
    pub cancelled: u64,
    /// Calls the script itself broke off.
    pub aborted: u64,
    /// Prompt tokens of the answers begun.
    pub prompt_tokens: u64,
    /// Completion tokens of the answers begun.
    pub completion_tokens: u64,
    /// Calls per path. Not for `static` scripts, nor the next three.
    pub paths: BTreeMap<String, u64>,
    /// Calls per model.
    pub models: BTreeMap<String, u64>,
    /// Calls per API key (`""`: without).
    pub keys: BTreeMap<String, u64>,
    /// Answers per status.
    pub statuses: BTreeMap<u16, u64>,
}

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kept {
    /// Milliseconds since the mock started.
    pub at_ms: u64,
    /// Number of the connection it came over, counted by the mock from 1.
    pub connection: u64,
    /// The method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body: JSON, else the fields of a form with the size of its files, else a string; `null` when it is larger
    /// than 256 KiB and no form.
    pub body: Value,
}

impl Kept {
    /// The first header with this name (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(candidate, _)| candidate == name).map(|(_, value)| value.as_str())
    }
}

/// Paths, models and keys counted apart; later ones are counted together under `…`.
const MAX_NAMES: usize = 256;

/// The meter of one deployment.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    requests: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
    completed: AtomicU64,
    cancelled: AtomicU64,
    aborted: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    detail: Mutex<Detail>,
}

#[derive(Debug, Default)]
struct Detail {
    paths: BTreeMap<String, u64>,
    models: BTreeMap<String, u64>,
    keys: BTreeMap<String, u64>,
    statuses: BTreeMap<u16, u64>,
    kept: VecDeque<Kept>,
}

impl Meter {
    /// Counts an arrival; the ticket counts how it ends.
    pub(crate) fn arrive(self: &Arc<Self>) -> Ticket {
        self.requests.fetch_add(1, Relaxed);
        let now = self.in_flight.fetch_add(1, Relaxed) + 1;
        self.max_in_flight.fetch_max(now, Relaxed);
        Ticket { meter: Arc::clone(self), end: End::Cancelled }
    }

    pub(crate) fn asked(&self, path: &str, model: Option<&str>, key: Option<&str>, kept: Kept, keep: usize) {
        let mut detail = self.detail.lock();
        bump(&mut detail.paths, path);
        if let Some(model) = model {
            bump(&mut detail.models, model);
        }
        bump(&mut detail.keys, key.unwrap_or_default());
        detail.kept.push_back(kept);
        while detail.kept.len() > keep {
            detail.kept.pop_front();
        }
    }

    pub(crate) fn answered(&self, status: u16, prompt_tokens: u64, completion_tokens: u64) {
        self.prompt_tokens.fetch_add(prompt_tokens, Relaxed);
        self.completion_tokens.fetch_add(completion_tokens, Relaxed);
        *self.detail.lock().statuses.entry(status).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> Counts {
        let detail = self.detail.lock();
        Counts {
            requests: self.requests.load(Relaxed),
            in_flight: self.in_flight.load(Relaxed),
            max_in_flight: self.max_in_flight.load(Relaxed),
            completed: self.completed.load(Relaxed),
            cancelled: self.cancelled.load(Relaxed),
            aborted: self.aborted.load(Relaxed),
            prompt_tokens: self.prompt_tokens.load(Relaxed),
            completion_tokens: self.completion_tokens.load(Relaxed),
            paths: detail.paths.clone(),
            models: detail.models.clone(),
            keys: detail.keys.clone(),
            statuses: detail.statuses.clone(),
        }
    }

    pub(crate) fn kept(&self) -> Vec<Kept> {
        self.detail.lock().kept.iter().cloned().collect()
    }

    /// Starts anew; calls in flight stay in flight.
    pub(crate) fn reset(&self) {
        for counter in [
            &self.requests,
            &self.completed,
            &self.cancelled,
            &self.aborted,
            &self.prompt_tokens,
            &self.completion_tokens,
        ] {
            counter.store(0, Relaxed);
        }
        self.max_in_flight.store(self.in_flight.load(Relaxed), Relaxed);
        *self.detail.lock() = Detail::default();
    }
}

fn bump(counts: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
        return;
    }
    let name = if counts.len() < MAX_NAMES { name } else { "…" };
    *counts.entry(name.to_owned()).or_default() += 1;
}

#[derive(Clone, Copy, Debug)]
enum End {
    Completed,
    Cancelled,
    Aborted,
}

/// One call being served. Dropped without a word, its client has left.
#[derive(Debug)]
pub(crate) struct Ticket {
    meter: Arc<Meter>,
    end: End,
}

impl Ticket {
    pub(crate) fn complete(&mut self) {
        self.end = End::Completed;
    }

    pub(crate) fn abort(&mut self) {
        self.end = End::Aborted;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let meter = &self.meter;
        meter.in_flight.fetch_sub(1, Relaxed);
        match self.end {
            End::Completed => meter.completed.fetch_add(1, Relaxed),
            End::Cancelled => meter.cancelled.fetch_add(1, Relaxed),
            End::Aborted => meter.aborted.fetch_add(1, Relaxed),
        };
    }
}
