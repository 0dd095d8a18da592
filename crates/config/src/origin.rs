//! Where an effective value came from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Where an effective value came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    #[default]
    Default,
    /// The preset of this name.
    Profile(&'static str),
    /// A line of a configuration file.
    File {
        /// The file, as it was named.
        file: Arc<Path>,
        /// The line, from 1.
        line: u32,
    },
    /// A model in the database.
    Stored {
        /// `stored model` and its id.
        model: Arc<Path>,
    },
    /// An environment variable.
    Env(&'static str),
    /// The catalogue of models.
    Catalogue,
    /// It follows from the effective value of another key.
    Derived(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::File { file, line } => write!(f, "{}:{line}", file.display()),
            Self::Stored { model } => write!(f, "{}", model.display()),
            Self::Catalogue => f.write_str("catalogue"),
            Self::Env(name) => write!(f, "environment {name}"),
            Self::Derived(key) => write!(f, "follows {key}"),
        }
    }
}
