//! Writing to the terminal: one line per error, causes after it, colours only for people.

use std::io::{IsTerminal, Write};

/// Prints `text` to standard output. A reader that has gone away is no error.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Prints `text` to standard error.
pub(crate) fn complain(text: &str) {
    let mut out = std::io::stderr().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Prints an error and its causes.
pub(crate) fn error(error: &anyhow::Error) {
    complain(&format!("error: {error:#}\n"));
}

/// Whether standard error is read by a person.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether standard output is read by a person.
pub(crate) fn stdout_is_terminal() -> bool {
    std::io::stdout().is_terminal()
}
