//! What reading a configuration needs from outside. This crate opens no file and reads no environment: the
//! binary passes the real thing, tests pass a table.

use std::io;
use std::path::Path;

/// Files and environment variables.
pub trait Source {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// Whatever the file system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The environment variable `name`, when it is set and is text.
    fn var(&self, name: &str) -> Option<String>;
}
