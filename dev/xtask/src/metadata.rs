//! The part of `cargo metadata` that the rules read.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process::stdout;

/// What cargo knows of the workspace and everything it builds on this platform.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    #[serde(default)]
    pub(crate) resolve: Option<Resolve>,
}

/// A package, of the workspace or from outside.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// Where it comes from; `None` for a path of this workspace.
    pub(crate) source: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) manifest_path: String,
    pub(crate) dependencies: Vec<Dependency>,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
}

/// A dependency as declared.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

/// Something cargo builds from a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

/// The resolved graph.
#[derive(Debug, Deserialize)]
pub(crate) struct Resolve {
    pub(crate) nodes: Vec<Node>,
}

/// One package of the graph and what it uses.
#[derive(Debug, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) dependencies: Vec<String>,
}

impl Metadata {
    /// The packages of this workspace.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }
}

/// Asks cargo, for the platform this runs on.
pub(crate) fn read(root: &Path) -> Result<Metadata> {
    let version = stdout(Command::new("rustc").arg("-vV"))?;
    let host =
        version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc -vV names no host")?;
    let json = stdout(
        Command::new("cargo")
            .args(["metadata", "--format-version", "1", "--filter-platform", host])
            .current_dir(root),
    )?;
    serde_json::from_str(&json).context("cargo metadata printed something unexpected")
}
