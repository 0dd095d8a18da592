//! What a pod is for.

use std::str::FromStr;

/// What a pod is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Serves and probes.
    #[default]
    All,
    /// Serves, and never claims a permit.
    Gateway,
    /// Probes, and serves no model traffic.
    Prober,
}

/// A word that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no role: all, gateway or prober")]
pub struct UnknownRole(pub String);

impl Role {
    /// Whether it claims permits.
    pub const fn claims(self) -> bool {
        matches!(self, Self::All | Self::Prober)
    }

    /// Whether it serves model traffic.
    pub const fn serves(self) -> bool {
        matches!(self, Self::All | Self::Gateway)
    }

    /// The word for it in configuration, on the command line and in heartbeats.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Gateway => "gateway",
            Self::Prober => "prober",
        }
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(word: &str) -> Result<Self, UnknownRole> {
        [Self::All, Self::Gateway, Self::Prober]
            .into_iter()
            .find(|role| role.as_str() == word)
            .ok_or_else(|| UnknownRole(word.to_owned()))
    }
}
