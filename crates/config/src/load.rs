//! The way in: one call from a path to a checked configuration or to everything that is wrong with it.

use std::path::Path;

use secrecy::ExposeSecret;

use crate::diag::{KeyLists, Report};
use crate::stored::{self, StoredModel};
use crate::{Config, Diagnostic, Severity, Source, lower, tree};

/// How strictly to judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Warnings are as good as errors: there is no [`Config`] when one is found. Their severity stays. The file can
    /// ask for the same (`haleway.strict`).
    pub strict: bool,
}

/// What came of reading a configuration.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration; `None` when a finding forbids it.
    pub config: Option<Config>,
    /// Every finding, in order of file and line.
    pub diagnostics: Vec<Diagnostic>,
    /// What becomes of every key of LiteLLM's sections.
    pub keys: KeyLists,
    /// Whether warnings were as good as errors.
    pub strict: bool,
}

impl Loaded {
    /// Findings of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// Reads the configuration at `path`.
pub fn load(path: &Path, source: &dyn Source, options: &Options) -> Loaded {
    load_with(path, source, options, &[])
}

/// Reads the configuration at `path`, with models that are stored elsewhere behind those of its `model_list`, when it
/// says that models are stored. A finding about one of them has [`StoredModel::place`] as its file.
pub fn load_with(path: &Path, source: &dyn Source, options: &Options, stored: &[StoredModel]) -> Loaded {
    let report = Report::default();
    let config = tree::read(path, source, &report).map(|mut root| {
        let environment = tree::environment(&mut root, source, &report);
        let var = |name: &str| {
            source.var(name).or_else(|| environment.get(name).map(|value| value.expose_secret().to_owned()))
        };
        let stores = lower::stores_models(&root, &var, source, &report);
        let models = stored.iter().filter(|_| stores).map(|model| model.node(&report)).collect();
        stored::append(&mut root, models);
        tree::resolve(&mut root, &var, &report);
        lower::lower(&root, environment, source, &report)
    });
    let strict = options.strict || config.as_ref().is_some_and(|config| config.haleway.strict);
    let keys = report.fates();
    let diagnostics = report.finish(path);
    let forbidden = |finding: &Diagnostic| match finding.severity {
        Severity::Error => true,
        Severity::Warning => strict,
        Severity::Note => false,
    };
    let config = config.filter(|_| !diagnostics.iter().any(forbidden));
    Loaded { config, diagnostics, keys, strict }
}
