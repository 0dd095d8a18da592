//! The layer rule: who may use whom, and which crates stay free of I/O.
//!
//! Layers only work when nobody reaches up or sideways, and decision code is only testable on a paused clock when
//! it cannot reach a socket, a file or a runtime at all. Both are read off the dependency lists, so that a slip is
//! found when the line is written and not when the code is read.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::finding::Finding;
use crate::metadata::{self, Package};
use crate::process::stdout;
use crate::tree::line_of;

/// The layers, lowest first. A crate may use crates of the layers below its own, never of its own.
const LAYERS: &[&[&str]] = &[
    &["haleway-wire", "haleway-health"],
    &["haleway-providers"],
    &["haleway-routing"],
    &["haleway-config"],
    &["haleway-upstream", "haleway-fleet", "haleway-store", "haleway-telemetry"],
    &["haleway-server"],
    &["haleway"],
    &["haleway-testkit", "haleway-fleet-sim", "haleway-fuzz-targets", "xtask"],
];

/// Crates that use no other crate of the workspace, so that they can stand in for the outside world.
const ALONE: &[&str] = &["haleway-mockllm"];

/// Crates that may use the ones standing alone in what they ship.
const USES_ALONE: &[&str] = &["haleway", "haleway-testkit", "xtask"];

/// Crates that any test may use.
const TEST_HELPERS: &[&str] = &["haleway-mockllm", "haleway-testkit"];

/// Crates that decide, and therefore do no I/O, own no thread and read no clock.
const PURE: &[&str] =
    &["haleway-wire", "haleway-health", "haleway-providers", "haleway-routing", "haleway-config"];

/// What a pure crate may not reach through normal dependencies, however indirectly.
const IO: &[&str] = &["tokio", "hyper", "redis", "sqlx", "axum", "mio", "rustls"];

/// A workspace crate's dependency on another one.
#[derive(Debug)]
struct Use<'a> {
    user: &'a str,
    used: &'a str,
    /// Only for tests.
    dev: bool,
}

/// Reads the workspace and applies both rules.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>> {
    let metadata = metadata::read(root)?;
    let members: Vec<&Package> = metadata.members().collect();
    let names: Vec<&str> = members.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in &members {
        let manifest = Path::new(&package.manifest_path);
        let file = manifest.strip_prefix(root).unwrap_or(manifest).display().to_string();
        let content = std::fs::read_to_string(manifest)?;
        if !is_placed(&package.name) {
            findings.push(Finding::new(
                file,
                0,
                format!("{} stands in no layer", package.name),
                "give it a place in LAYERS, dev/xtask/src/layers.rs",
            ));
            continue;
        }
        for dependency in package.dependencies.iter().filter(|dep| names.contains(&dep.name.as_str())) {
            let edge = Use {
                user: &package.name,
                used: &dependency.name,
                dev: dependency.kind.as_deref() == Some("dev"),
            };
            if let Some((what, cure)) = objection(&edge) {
                findings.push(Finding::new(file.clone(), line_of(&content, &dependency.name), what, cure));
            }
        }
        if PURE.contains(&package.name.as_str()) {
            let tree = stdout(
                Command::new("cargo")
                    .args(["tree", "--package", &package.name, "--edges", "normal"])
                    .args(["--prefix", "depth", "--format", " {p}"])
                    .current_dir(root),
            )?;
            findings.extend(reached(&tree).into_iter().map(|path| {
                Finding::new(
                    file.clone(),
                    path.get(1).map_or(0, |first| line_of(&content, first)),
                    format!("a pure crate reaches I/O: {}", path.join(" -> ")),
                    "drop the dependency or its feature; take what it reads as an argument",
                )
            }));
        }
    }
    Ok(findings)
}

fn is_placed(name: &str) -> bool {
    rank(name).is_some() || ALONE.contains(&name)
}

fn rank(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

/// Why a dependency is not allowed and what to do, or `None` when it is fine.
fn objection(edge: &Use<'_>) -> Option<(String, String)> {
    let Use { user, used, dev } = *edge;
    if dev && TEST_HELPERS.contains(&used) {
        return None;
    }
    if ALONE.contains(&user) {
        return Some((
            format!("{user} uses {used}, but stands in for the outside world"),
            "write what it needs in its own terms".into(),
        ));
    }
    if ALONE.contains(&used) {
        return (!USES_ALONE.contains(&user)).then(|| {
            (format!("{user} ships {used}"), "move it to [dev-dependencies], or to the binary".into())
        });
    }
    let lower = rank(used) < rank(user);
    (!lower).then(|| {
        (
            format!("{user} uses {used}, which is not of a lower layer"),
            "move the shared part down, or pass it in as a value or a trait".into(),
        )
    })
}

/// The paths by which a tree printed by `cargo tree --prefix depth` reaches I/O, one per crate reached.
fn reached(tree: &str) -> Vec<Vec<String>> {
    let mut path: Vec<String> = Vec::new();
    let mut found: Vec<Vec<String>> = Vec::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        let (Some(depth), Some(name)) = (words.next().and_then(|word| word.parse().ok()), words.next())
        else {
            continue;
        };
        path.truncate(depth);
        path.push(name.to_owned());
        let known = found.iter().any(|other| other.last() == path.last());
        if IO.contains(&name) && !known {
            found.push(path.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(user: &str, used: &str, dev: bool) -> bool {
        objection(&Use { user, used, dev }).is_some()
    }

    #[test]
    fn reaching_down_is_allowed() {
        assert!(!refused("haleway-providers", "haleway-wire", false));
        assert!(!refused("haleway-server", "haleway-health", false));
        assert!(!refused("haleway", "haleway-server", false));
    }

    #[test]
    fn reaching_up_or_sideways_is_refused() {
        assert!(refused("haleway-health", "haleway-providers", false));
        assert!(refused("haleway-routing", "haleway-server", true));
        assert!(refused("haleway-upstream", "haleway-fleet", false));
        assert!(refused("haleway-wire", "haleway-health", false));
    }

    #[test]
    fn the_mock_stands_alone_and_is_not_shipped_in_libraries() {
        assert!(refused("haleway-mockllm", "haleway-wire", false));
        assert!(refused("haleway-server", "haleway-mockllm", false));
        assert!(!refused("haleway-server", "haleway-mockllm", true));
        assert!(!refused("haleway", "haleway-mockllm", false));
    }

    #[test]
    fn a_new_crate_must_be_given_a_place() {
        assert!(!is_placed("haleway-surprise"));
        assert!(is_placed("haleway-wire"));
    }

    #[test]
    fn io_below_a_pure_crate_is_found_with_its_path() {
        let tree = "0 haleway-wire v0.1.0 (/x)\n1 bytes v1.0.0\n1 http-body-util v0.1.0\n2 tokio v1.54.0\n\
                    3 mio v1.0.0\n1 memchr v2.0.0\n2 tokio v1.54.0 (*)\n";
        let paths = reached(tree);
        assert_eq!(paths.len(), 2, "tokio once, mio once: {paths:?}");
        assert_eq!(paths[0], ["haleway-wire", "http-body-util", "tokio"]);
        assert_eq!(paths[1], ["haleway-wire", "http-body-util", "tokio", "mio"]);
    }

    #[test]
    fn a_pure_tree_is_clean() {
        assert!(reached("0 haleway-wire v0.1.0\n1 bytes v1\n1 tokio-free v1\n").is_empty());
    }
}
