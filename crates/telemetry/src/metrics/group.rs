//! Handles of one model group's series.

use std::sync::{Arc, OnceLock};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

use super::families::Families;
use super::labels::{Group, Request, Text};

/// Classes of status; the last one is for callers who left.
const STATUS_CLASSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "cancelled"];
const CANCELLED: usize = 5;
/// Status that stands for a caller who left.
const CLIENT_CLOSED: u16 = 499;

/// The series of one model group.
#[derive(Debug)]
pub struct GroupMetrics {
    families: Arc<Families>,
    name: Arc<str>,
    panic: Gauge,
    requests: [OnceLock<Counter>; STATUS_CLASSES.len()],
}

impl GroupMetrics {
    pub(super) fn new(families: &Arc<Families>, name: &Arc<str>) -> Self {
        Self {
            panic: families.panic.get_or_create_owned(&Group { model_group: Text::new(name) }),
            families: Arc::clone(families),
            name: Arc::clone(name),
            requests: std::array::from_fn(|_| OnceLock::new()),
        }
    }

    /// A request was answered with `status`; 499 stands for a caller who left.
    pub fn answered(&self, status: u16) {
        let index =
            if status == CLIENT_CLOSED { CANCELLED } else { usize::from((status / 100).clamp(1, 5)) - 1 };
        if let Some(cell) = self.requests.get(index) {
            cell.get_or_init(|| self.families.requests.get_or_create_owned(&self.request(index))).inc();
        }
    }

    /// Whether the group is in panic.
    pub fn panic(&self, on: bool) {
        self.panic.set(i64::from(on));
    }

    fn request(&self, index: usize) -> Request {
        let status_class = STATUS_CLASSES.get(index).copied().unwrap_or("");
        Request { model_group: Text::new(&self.name), status_class }
    }

    pub(super) fn remove(&self) {
        self.families.panic.remove(&Group { model_group: Text::new(&self.name) });
        for index in 0..STATUS_CLASSES.len() {
            self.families.requests.remove(&self.request(index));
        }
    }
}
