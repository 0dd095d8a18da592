//! Models that live in the database (`store_model_in_db`): read when they changed, opened, and handed to a reload like any
//! change of the configuration.
//!
//! Level, not edge: a task compares a mark of the table with the one that it read last, every five seconds and at once when
//! another process says that there is news. A row that cannot be opened is told by its id and left out; while the
//! database is lost, what was read last is served on.

mod change;

use std::sync::Arc;
use std::time::Duration;

use haleway_config::StoredModel;
use haleway_store::{ModelRow, ModelsMark, Sealer, StoreError};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::timeout;

pub(crate) use change::{Asked, Refusal};

use crate::gateway::Gateway;
use crate::reload::{Files, LeftOut};

/// How often the mark of the table is compared.
const PERIOD: Duration = Duration::from_secs(5);
/// How long the database may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The stored models as this process knows them.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    known: Mutex<Known>,
    /// One taking in at a time.
    turn: tokio::sync::Mutex<()>,
    wake: Notify,
}

#[derive(Debug, Default)]
struct Known {
    models: Vec<StoredModel>,
    mark: Option<ModelsMark>,
    /// Ids of rows that cannot be opened, and why.
    sealed: Vec<(String, String)>,
    left_out: Vec<LeftOut>,
    lost: bool,
}

impl Stored {
    /// Those that were read last, their secrets in the open.
    pub(crate) fn models(&self) -> Vec<StoredModel> {
        self.known.lock().models.clone()
    }

    /// Notes which of them are not served.
    pub(crate) fn leave_out(&self, left_out: Vec<LeftOut>) {
        let mut known = self.known.lock();
        for LeftOut { id, findings } in left_out.iter().filter(|found| !known.left_out.contains(found)) {
            let reason = findings.first().map_or("", |finding| finding.message.as_str());
            tracing::error!(model = %id, "a stored model is left out: {reason}");
        }
        known.left_out = left_out;
    }

    /// Every stored model that is not served, with why.
    pub(crate) fn not_served(&self) -> Vec<(String, String)> {
        let known = self.known.lock();
        let bad = known.left_out.iter().map(|found| {
            let reason = found.findings.first().map_or("", |finding| finding.message.as_str());
            (found.id.clone(), reason.to_owned())
        });
        known.sealed.iter().cloned().chain(bad).collect()
    }

    /// Has the table looked at now.
    pub(crate) fn look(&self) {
        self.wake.notify_one();
    }
}

impl Gateway {
    /// Takes the stored models in and follows them until shutdown.
    pub(crate) async fn follow_models(self: &Arc<Self>) {
        self.take_in_models().await;
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = gateway.shutdown.cancelled() => return,
                    () = gateway.stored.wake.notified() => {}
                    () = tokio::time::sleep(PERIOD) => {}
                }
                gateway.take_in_models().await;
            }
        });
    }

    /// Reads the stored models if they changed, and serves what they are now.
    async fn take_in_models(self: &Arc<Self>) {
        // To the end of the reload: who changed something finds it served then.
        let _turn = self.stored.turn.lock().await;
        let result = timeout(PATIENCE, self.read_models()).await.unwrap_or_else(|_| {
            Err(StoreError::Unavailable(format!("no answer within {} s", PATIENCE.as_secs())))
        });
        let lost = std::mem::replace(&mut self.stored.known.lock().lost, result.is_err());
        match result {
            Ok(true) => drop(self.reload_from(Files::LastGood).await),
            Ok(false) => {}
            Err(error) if !lost => {
                tracing::error!(%error, "stored models cannot be read: those that were read last are served");
            }
            Err(_) => {}
        }
    }

    /// Reads the stored models; whether they are other than before.
    async fn read_models(&self) -> Result<bool, StoreError> {
        let Some(memory) = self.memory.get().filter(|_| self.origin.get().is_some()) else {
            return Ok(false);
        };
        let general = self.live.load().config.general.clone();
        if !general.store_models {
            // Switched on again, they are read anew.
            *self.stored.known.lock() = Known::default();
            return Ok(false);
        }
        // The mark first: what changes in between is found by the next look.
        let mark = memory.store().models_mark().await?;
        if self.stored.known.lock().mark == Some(mark) {
            return Ok(false);
        }
        let rows = memory.store().models().await?;
        let sealer = Sealer::new(&general.salt_keys);
        let (mut models, mut sealed) = (Vec::new(), Vec::new());
        for row in &rows {
            match opened(&sealer, row) {
                Ok(model) => models.push(model),
                Err(reason) => sealed.push((row.id.clone(), reason)),
            }
        }
        let mut known = self.stored.known.lock();
        for (id, reason) in sealed.iter().filter(|found| !known.sealed.contains(found)) {
            tracing::error!(model = %id, reason, "a stored model cannot be opened, and is left out");
        }
        let differs = known.models != models || known.mark.is_none() && !models.is_empty();
        known.models = models;
        known.sealed = sealed;
        known.mark = Some(mark);
        Ok(differs)
    }
}

/// A row with its secrets in the open.
fn opened(sealer: &Sealer, row: &ModelRow) -> Result<StoredModel, String> {
    let params = object(&row.params).ok_or("its litellm_params are no JSON object")?;
    let params = sealer.open_params(&params).map_err(|error| error.to_string())?;
    let mut info = row.info.as_deref().and_then(object).unwrap_or_default();
    info.retain(|name, value| !value.is_null() && name != "db_model");
    if row.blocked {
        info.insert("blocked".to_owned(), true.into());
    }
    Ok(StoredModel { id: row.id.clone(), name: row.name.clone(), params, info })
}

/// A JSON object; LiteLLM's client stores some as a string that holds one.
fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text).ok()? {
        Value::Object(map) => Some(map),
        Value::String(inner) => serde_json::from_str(&inner).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}
