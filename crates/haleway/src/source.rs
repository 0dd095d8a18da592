//! The real files and the real environment.

use std::io;
use std::path::Path;

use haleway_config::Source;

/// Reads the process's files and environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct System;

impl Source for System {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}
