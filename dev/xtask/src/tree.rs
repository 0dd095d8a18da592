//! The files of the workspace: where its root is, what belongs to it, and how to read them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// The workspace root: the folder two levels above this package's manifest.
pub(crate) fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).context("xtask must live in dev/xtask")?;
    Ok(root.to_path_buf())
}

/// Every file that is tracked or would be (not ignored), as paths from the root, sorted. Files deleted in the
/// work tree but still in the index are left out.
pub(crate) fn files(root: &Path) -> Result<Vec<String>> {
    let listing = process::stdout(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root),
    )?;
    let mut files: Vec<String> = listing
        .split('\0')
        .filter(|name| !name.is_empty() && root.join(name).is_file())
        .map(str::to_owned)
        .collect();
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

/// A text file with its path from the root.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) name: String,
    pub(crate) content: String,
}

/// The files whose name `wanted` accepts and whose content is text.
pub(crate) fn texts(root: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    for name in files(root)? {
        if !wanted(&name) {
            continue;
        }
        let bytes = std::fs::read(root.join(&name)).with_context(|| name.clone())?;
        if let Ok(content) = String::from_utf8(bytes) {
            texts.push(Text { name, content });
        }
    }
    Ok(texts)
}

/// The line (from 1) of the first line of `content` that contains `needle`, or 0.
pub(crate) fn line_of(content: &str, needle: &str) -> usize {
    content.lines().position(|line| line.contains(needle)).map_or(0, |index| index + 1)
}
