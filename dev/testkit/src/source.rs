//! Files and environment variables that exist only in a test.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haleway_config::Source;
use parking_lot::Mutex;

/// Files and variables by name. Clones are the same: a test may change them while a gateway runs.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: Arc<Mutex<HashMap<PathBuf, Vec<u8>>>>,
    vars: Arc<Mutex<HashMap<String, String>>>,
}

impl Memory {
    /// Writes a file.
    pub fn file(&self, path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) {
        self.files.lock().insert(path.into(), text.into());
    }

    /// Takes the file at `path` away.
    pub fn remove(&self, path: impl AsRef<Path>) {
        self.files.lock().remove(path.as_ref());
    }

    /// Sets a variable.
    pub fn set_var(&self, name: &str, value: &str) {
        self.vars.lock().insert(name.to_owned(), value.to_owned());
    }
}

impl Source for Memory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.lock().get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn var(&self, name: &str) -> Option<String> {
        self.vars.lock().get(name).cloned()
    }
}
