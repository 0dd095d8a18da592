//! Adding, changing and removing a stored model: checked as if it were served, then stored with its line in the audit, then
//! served. What would be bad is not stored.

use std::sync::Arc;
use std::time::Duration;

use haleway_config::{Diagnostic, StoredModel};
use haleway_store::{AuditRow, ModelRow, Sealer, StoreError};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::{PATIENCE, opened};
use crate::gateway::Gateway;
use crate::memory::Memory;

/// LiteLLM's name for the holder of the master key.
const ADMIN: &str = "default_user_id";
/// How long other processes are told that there is news; who is not told looks by itself.
const TELLING: Duration = Duration::from_secs(2);

/// What a caller wants of a model, in LiteLLM's words.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Asked {
    pub(crate) model_name: Option<String>,
    pub(crate) litellm_params: Option<Map<String, Value>>,
    pub(crate) model_info: Option<Map<String, Value>>,
    pub(crate) blocked: Option<bool>,
}

impl Asked {
    /// The id that the caller gives.
    pub(crate) fn id(&self) -> Option<String> {
        let id = self.model_info.as_ref()?.get("id")?;
        let text = id.as_str().map(str::to_owned).or_else(|| Some(id.as_number()?.to_string()));
        text.filter(|id| !id.is_empty())
    }

    /// What becomes of `model`: a null takes a value away.
    fn applied(self, mut model: StoredModel) -> StoredModel {
        merge(&mut model.params, self.litellm_params.unwrap_or_default());
        merge(&mut model.info, self.model_info.unwrap_or_default());
        if let Some(blocked) = self.blocked {
            model.info.insert("blocked".to_owned(), blocked.into());
        }
        model.info.retain(|name, _| name != "db_model" && name != "id");
        StoredModel { name: self.model_name.unwrap_or(model.name), ..model }
    }
}

fn merge(into: &mut Map<String, Value>, changes: Map<String, Value>) {
    for (name, value) in changes {
        if value.is_null() {
            into.remove(&name);
        } else {
            into.insert(name, value);
        }
    }
}

/// Why a model stays as it is.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// `store_model_in_db` is off.
    Off,
    /// There is no database.
    NoDatabase,
    /// There is no key to seal secrets with.
    NoSaltKey,
    /// This process does not know where its configuration comes from.
    NoOrigin,
    /// It is one of the file's.
    InFile(String),
    /// There is none.
    Unknown(String),
    /// There is one with this id.
    Taken(String),
    /// It is sealed with a key that is not known.
    Sealed(String),
    /// Somebody else changed it meanwhile.
    Overtaken(String),
    /// It could not be served.
    Bad(Vec<Diagnostic>),
    /// The database does not answer.
    Lost(StoreError),
}

impl Gateway {
    /// Stores a new model and serves it.
    pub(crate) async fn add_model(self: &Arc<Self>, asked: Asked, origin: &str) -> Result<ModelRow, Refusal> {
        let (memory, sealer) = self.model_store()?;
        let id = asked.id().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let empty = StoredModel { id, name: String::new(), params: Map::new(), info: Map::new() };
        let model = asked.applied(empty);
        if self.live.load().find(&model.id).is_some() {
            return Err(Refusal::Taken(model.id));
        }
        self.check(&model).await?;
        let now = self.clock.now().as_millis();
        let row = sealed(&sealer, &model, now, None)?;
        match soon(memory.store().add_model(&row, &audit("model.new", &row.id, origin, now))).await {
            Ok(()) => {}
            Err(StoreError::Refused(_)) => return Err(Refusal::Taken(row.id)),
            Err(error) => return Err(Refusal::Lost(error)),
        }
        self.models_changed().await;
        Ok(row)
    }

    /// Changes what is `asked` of the stored model `id`.
    pub(crate) async fn change_model(
        self: &Arc<Self>,
        id: &str,
        asked: Asked,
        origin: &str,
    ) -> Result<ModelRow, Refusal> {
        let (memory, sealer) = self.model_store()?;
        let before = soon(memory.store().model(id)).await.map_err(Refusal::Lost)?;
        let before = before.ok_or_else(|| self.unknown(id))?;
        let model = opened(&sealer, &before).map_err(|_| Refusal::Sealed(id.to_owned()))?;
        let model = asked.applied(model);
        self.check(&model).await?;
        let now = self.clock.now().as_millis();
        let row = sealed(&sealer, &model, now, Some(&before))?;
        let audit = audit("model.update", id, origin, now);
        let changed = soon(memory.store().change_model(&before, &row, &audit)).await;
        if !changed.map_err(Refusal::Lost)? {
            return Err(Refusal::Overtaken(id.to_owned()));
        }
        self.models_changed().await;
        Ok(row)
    }

    /// Forgets the stored model `id`: it is neither called nor probed any more.
    pub(crate) async fn drop_model(self: &Arc<Self>, id: &str, origin: &str) -> Result<(), Refusal> {
        let (memory, _) = self.model_store()?;
        let audit = audit("model.delete", id, origin, self.clock.now().as_millis());
        if !soon(memory.store().drop_model(id, &audit)).await.map_err(Refusal::Lost)? {
            return Err(self.unknown(id));
        }
        self.models_changed().await;
        Ok(())
    }

    /// Where models are stored, and what seals them.
    fn model_store(&self) -> Result<(Arc<Memory>, Sealer), Refusal> {
        let live = self.live.load();
        let general = &live.config.general;
        let memory = self.memory.get().ok_or(Refusal::NoDatabase)?;
        if !general.store_models {
            return Err(Refusal::Off);
        }
        let sealer = Sealer::new(&general.salt_keys);
        if !sealer.can_seal() {
            return Err(Refusal::NoSaltKey);
        }
        Ok((Arc::clone(memory), sealer))
    }

    fn unknown(&self, id: &str) -> Refusal {
        let in_file = self.live.load().find(id).is_some_and(|deployment| !deployment.model.stored);
        if in_file { Refusal::InFile(id.to_owned()) } else { Refusal::Unknown(id.to_owned()) }
    }

    async fn check(self: &Arc<Self>, model: &StoredModel) -> Result<(), Refusal> {
        let findings = self.findings_of(model.clone()).await.ok_or(Refusal::NoOrigin)?;
        if findings.is_empty() { Ok(()) } else { Err(Refusal::Bad(findings)) }
    }

    /// Serves what is stored now, and tells the other processes.
    async fn models_changed(self: &Arc<Self>) {
        self.take_in_models().await;
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move {
            let Some(share) = &gateway.share else { return };
            if !matches!(timeout(TELLING, share.tell_models()).await, Ok(Ok(()))) {
                tracing::debug!("the other processes were not told that stored models changed");
            }
        });
    }
}

/// What the database answers, if it does.
async fn soon<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let late = |_| Err(StoreError::Unavailable("no answer in time".to_owned()));
    timeout(PATIENCE, answer).await.unwrap_or_else(late)
}

fn sealed(
    sealer: &Sealer,
    model: &StoredModel,
    now: u64,
    before: Option<&ModelRow>,
) -> Result<ModelRow, Refusal> {
    let params = sealer.seal_params(&model.params).map_err(Refusal::Lost)?;
    let mut info = model.info.clone();
    // As LiteLLM's rows have it.
    info.insert("id".to_owned(), model.id.as_str().into());
    info.insert("db_model".to_owned(), true.into());
    let blocked = info.get("blocked").and_then(Value::as_bool).unwrap_or(false);
    Ok(ModelRow {
        id: model.id.clone(),
        name: model.name.clone(),
        params: Value::Object(params).to_string(),
        info: Some(Value::Object(info).to_string()),
        blocked: blocked && before.is_some_and(|row| row.blocked),
        created_at: before.map_or(now, |row| row.created_at),
        created_by: before.map_or_else(|| ADMIN.to_owned(), |row| row.created_by.clone()),
        updated_at: now,
        updated_by: ADMIN.to_owned(),
    })
}

fn audit(action: &str, model: &str, origin: &str, now: u64) -> AuditRow {
    AuditRow {
        audit_id: uuid::Uuid::now_v7().to_string(),
        at: now,
        // The master key is the only one that may.
        actor: "master".to_owned(),
        origin: origin.to_owned(),
        action: action.to_owned(),
        subject: model.to_owned(),
        reason: String::new(),
        until: None,
    }
}
