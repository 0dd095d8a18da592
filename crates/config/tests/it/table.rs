//! A source made of fixtures, texts and variables, and short ways to ask what came of them.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use haleway_config::{Config, Diagnostic, Loaded, Options, Severity, Source, load, render};

/// Files of a folder, files in memory, and variables.
#[derive(Default)]
pub(crate) struct Table {
    folder: PathBuf,
    files: HashMap<PathBuf, Vec<u8>>,
    vars: HashMap<String, String>,
}

impl Table {
    pub(crate) fn fixtures(folder: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder);
        Self { folder, ..Self::default() }
    }

    /// One file named `config.yaml`.
    pub(crate) fn text(text: impl AsRef<[u8]>) -> Self {
        Self::default().file("config.yaml", text)
    }

    pub(crate) fn file(mut self, name: &str, text: impl AsRef<[u8]>) -> Self {
        self.files.insert(name.into(), text.as_ref().to_vec());
        self
    }

    pub(crate) fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn load(&self) -> Loaded {
        self.load_file("config.yaml")
    }

    pub(crate) fn load_file(&self, name: &str) -> Loaded {
        load(Path::new(name), self, &Options::default())
    }

    pub(crate) fn strict(&self) -> Loaded {
        load(Path::new("config.yaml"), self, &Options { strict: true })
    }

    /// The configuration; there must be one.
    #[expect(clippy::panic, reason = "a helper of tests")]
    pub(crate) fn config(&self) -> Config {
        let loaded = self.load();
        loaded.config.unwrap_or_else(|| panic!("{}", render(&loaded.diagnostics, false)))
    }

    /// The findings with this code.
    pub(crate) fn found(&self, code: &str) -> Vec<Diagnostic> {
        self.load().diagnostics.into_iter().filter(|finding| finding.code == code).collect()
    }

    /// The only finding that is an error or a warning.
    pub(crate) fn only(&self) -> Diagnostic {
        let loaded = self.load();
        let mut found: Vec<Diagnostic> =
            loaded.diagnostics.iter().filter(|finding| finding.severity != Severity::Note).cloned().collect();
        assert_eq!(found.len(), 1, "{}", render(&loaded.diagnostics, false));
        found.remove(0)
    }
}

impl Source for Table {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.files.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None if self.folder.as_os_str().is_empty() => Err(io::ErrorKind::NotFound.into()),
            None => std::fs::read(self.folder.join(path)),
        }
    }

    fn var(&self, name: &str) -> Option<String> {
        self.vars.get(name).cloned()
    }
}

/// A file with one group of two deployments `d1` and `d2`, and whatever else.
pub(crate) fn two(rest: &str) -> Table {
    Table::text(format!(
        "model_list:\n\
         - model_name: g\n  litellm_params: {{model: openai/a, api_key: k1}}\n  model_info: {{id: d1}}\n\
         - model_name: g\n  litellm_params: {{model: openai/a, api_key: k2}}\n  model_info: {{id: d2}}\n{rest}"
    ))
    .var("LITELLM_MASTER_KEY", "sk-master")
}

/// One deployment with these `litellm_params` and `model_info`.
pub(crate) fn one(params: &str, info: &str) -> Table {
    Table::text(format!(
        "model_list:\n- model_name: g\n  litellm_params: {{model: openai/a, api_key: k, {params}}}\n  model_info: {{id: d1, {info}}}\n"
    ))
    .var("LITELLM_MASTER_KEY", "sk-master")
}
