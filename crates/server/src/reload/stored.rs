//! Models of the database in a configuration: as many as can be used. One that is bad leaves only itself out, so that
//! whatever was stored, and whoever stored it, the file's own models and the other stored ones are served.

use std::sync::Arc;

use haleway_config::{Diagnostic, Loaded, Severity, StoredModel};

use super::{Files, Origin, cannot_start};
use crate::build::{self, StartError};
use crate::gateway::Gateway;

/// A stored model that is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Its id.
    pub(crate) id: String,
    /// Why: what was found in it.
    pub(crate) findings: Vec<Diagnostic>,
}

/// Loads the configuration of `origin` with those of `models` that can be served.
pub(super) fn load(origin: &Origin, files: Files, mut models: Vec<StoredModel>) -> (Loaded, Vec<LeftOut>) {
    let mut left_out = Vec::new();
    loop {
        let mut loaded = match files {
            Files::Anew => origin.load_with(&models),
            Files::LastGood => origin.load_good(&models),
        };
        let mut bad = of_models(&models, &loaded);
        if bad.is_empty() {
            bad.extend(leads_nowhere(origin, &models, &loaded));
        }
        if bad.is_empty() {
            // What was wrong with those that are left out is said of them.
            loaded.diagnostics.extend(left_out.iter().flat_map(as_warnings));
            return (loaded, left_out);
        }
        models.retain(|model| !bad.iter().any(|found| found.id == model.id));
        left_out.extend(bad);
    }
}

/// The models in which something forbids to take the configuration over.
fn of_models(models: &[StoredModel], loaded: &Loaded) -> Vec<LeftOut> {
    if loaded.config.is_some() {
        return Vec::new();
    }
    let forbids = |finding: &&Diagnostic| match finding.severity {
        Severity::Error => true,
        Severity::Warning => loaded.strict,
        Severity::Note => false,
    };
    let findings = |model: &StoredModel| {
        let place = model.place();
        let of_it = loaded.diagnostics.iter().filter(|finding| finding.file == place);
        let findings: Vec<_> = of_it.filter(forbids).cloned().collect();
        (!findings.is_empty()).then(|| LeftOut { id: model.id.clone(), findings })
    };
    models.iter().filter_map(findings).collect()
}

/// The first model whose calls would have nowhere to go.
fn leads_nowhere(origin: &Origin, models: &[StoredModel], loaded: &Loaded) -> Option<LeftOut> {
    let error = build::targets(loaded.config.as_ref()?, &*origin.source).err()?;
    let StartError::Deployment { id, .. } = &error else { return None };
    let model = models.iter().find(|model| *model.id == **id)?;
    Some(LeftOut { id: model.id.clone(), findings: vec![cannot_start(&error, &model.place())] })
}

/// Findings that do not forbid the whole.
fn as_warnings(left_out: &LeftOut) -> impl Iterator<Item = Diagnostic> + '_ {
    left_out.findings.iter().cloned().map(|finding| Diagnostic { severity: Severity::Warning, ..finding })
}

impl Gateway {
    /// What is wrong with `model` if it were served beside the others, in the place of one with its id; nothing when it can
    /// be served. `None` when this process does not know where its configuration comes from.
    pub(crate) async fn findings_of(self: &Arc<Self>, model: StoredModel) -> Option<Vec<Diagnostic>> {
        let origin = self.origin.get()?.clone();
        let mut models = self.stored.models();
        models.retain(|other| other.id != model.id);
        let id = model.id.clone();
        models.push(model);
        let loading = self.tasks.spawn_blocking(move || load(&origin, Files::LastGood, models));
        let (loaded, left_out) = loading.await.ok()?;
        let of_model = left_out.into_iter().find(|found| found.id == id).map(|found| found.findings);
        Some(match (of_model, loaded.config) {
            (Some(findings), _) => findings,
            (None, Some(_)) => Vec::new(),
            (None, None) => loaded.diagnostics,
        })
    }
}
