//! Licences of everything that is built, and dependencies that are never allowed.
//!
//! One TLS provider (ring) and no C library that must be found on the host: the second one is what makes a binary
//! fail on somebody else's machine.

use std::path::Path;

use anyhow::Result;
use spdx::{Expression, ParseMode};

use crate::finding::Finding;
use crate::metadata::{self, Metadata, Package};
use crate::tree::line_of;

/// Licences that ask for no more than a notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Exceptions that only widen an allowed licence.
const ALLOWED_EXCEPTIONS: &[&str] = &["LLVM-exception"];

/// Packages that are refused whatever their licence, and why.
const FORBIDDEN: &[(&str, &str)] = &[
    ("openssl-sys", "rustls with ring is the only TLS"),
    ("native-tls", "rustls with ring is the only TLS"),
    ("aws-lc-rs", "ring is the only rustls provider; two make rustls panic at first use"),
    ("aws-lc-sys", "ring is the only rustls provider; two make rustls panic at first use"),
];

/// Reads the dependency graph and applies the rules.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>> {
    let metadata = metadata::read(root)?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
    Ok(judge(&metadata, &lock))
}

fn judge(metadata: &Metadata, lock: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &metadata.packages {
        if let Some((what, cure)) = objection(package) {
            let line = line_of(lock, &format!("name = \"{}\"", package.name));
            let users = users_of(metadata, package).join(", ");
            let cure = if users.is_empty() { cure } else { format!("{cure} (used by {users})") };
            findings.push(Finding::new(
                "Cargo.lock",
                line,
                format!("{} {}: {what}", package.name, package.version),
                cure,
            ));
        }
    }
    findings
}

fn objection(package: &Package) -> Option<(String, String)> {
    if let Some((_, why)) = FORBIDDEN.iter().find(|(name, _)| *name == package.name) {
        return Some((format!("never allowed: {why}"), "turn off the feature that brings it".into()));
    }
    if package.source.as_deref().is_some_and(|source| source.starts_with("git+")) {
        return Some(("comes from a git repository".into(), "use a released version".into()));
    }
    let Some(licence) = &package.license else {
        return Some(("states no licence".into(), "replace it".into()));
    };
    match Expression::parse_mode(licence, ParseMode::LAX) {
        Err(error) => Some((format!("licence {licence:?} is not understood: {error}"), "replace it".into())),
        Ok(expression) if expression.evaluate(is_allowed) => None,
        Ok(_) => Some((
            format!("licence {licence:?} is not on the list"),
            "replace it, or argue for its licence in dev/xtask/src/licences.rs".into(),
        )),
    }
}

fn is_allowed(wanted: &spdx::LicenseReq) -> bool {
    let licence = wanted.license.id().is_some_and(|id| ALLOWED.contains(&id.name));
    let addition = match &wanted.addition {
        None => true,
        Some(addition) => addition.id().is_some_and(|id| ALLOWED_EXCEPTIONS.contains(&id.name)),
    };
    licence && addition
}

/// Names of the packages that use `package` directly.
fn users_of<'a>(metadata: &'a Metadata, package: &Package) -> Vec<&'a str> {
    let nodes = metadata.resolve.as_ref().map(|resolve| resolve.nodes.as_slice()).unwrap_or_default();
    let users = nodes.iter().filter(|node| node.dependencies.contains(&package.id));
    users
        .filter_map(|node| metadata.packages.iter().find(|other| other.id == node.id))
        .map(|other| other.name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, source: &str, licence: Option<&str>) -> Package {
        Package {
            id: name.into(),
            name: name.into(),
            version: "1.0.0".into(),
            source: Some(source.into()),
            license: licence.map(Into::into),
            manifest_path: String::new(),
            dependencies: Vec::new(),
            targets: Vec::new(),
        }
    }

    fn refused(licence: &str) -> bool {
        objection(&package("x", "registry", Some(licence))).is_some()
    }

    #[test]
    fn permissive_licences_pass() {
        for licence in [
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
            "GPL-3.0-only OR MIT",
        ] {
            assert!(!refused(licence), "{licence}");
        }
    }

    #[test]
    fn other_licences_are_refused() {
        for licence in ["GPL-3.0-only", "MIT AND MPL-2.0", "Apache-2.0 WITH Classpath-exception-2.0", "Mine"]
        {
            assert!(refused(licence), "{licence}");
        }
        assert!(objection(&package("x", "registry", None)).is_some());
    }

    #[test]
    fn a_second_tls_provider_and_git_sources_are_refused() {
        assert!(objection(&package("aws-lc-sys", "registry", Some("ISC"))).is_some());
        assert!(objection(&package("openssl-sys", "registry", Some("MIT"))).is_some());
        assert!(objection(&package("fork", "git+https://example.com/fork", Some("MIT"))).is_some());
    }

    #[test]
    fn a_finding_names_the_line_of_the_lock_and_the_user() {
        let metadata = Metadata {
            packages: vec![
                package("app", "registry", Some("MIT")),
                package("bad", "registry", Some("GPL-2.0")),
            ],
            workspace_members: Vec::new(),
            resolve: Some(metadata::Resolve {
                nodes: vec![metadata::Node { id: "app".into(), dependencies: vec!["bad".into()] }],
            }),
        };
        let found = judge(&metadata, "[[package]]\nname = \"app\"\n[[package]]\nname = \"bad\"\n");
        assert_eq!((found.len(), found[0].line), (1, 4));
        assert!(found[0].cure.ends_with("(used by app)"), "{}", found[0].cure);
    }
}
