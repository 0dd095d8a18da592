//! Mutants of the health core: small faults, kept as patches, each of which a named test must notice.
//!
//! A test that stays green when the code is broken guards nothing. `crates/health/mutants/*.patch` are unified
//! diffs that start with `# killed-by: <test>` and `# why: <what the fault would do to an operator>`. Each is
//! applied to a copy of the workspace, where its test passes before and must fail after.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::finding::say;
use crate::process::{Stopwatch, stdout};
use crate::tree;

const FOLDER: &str = "crates/health/mutants";
const PACKAGE: &str = "haleway-health";

/// One fault.
#[derive(Debug)]
struct Mutant {
    name: String,
    patch: PathBuf,
    /// The test that must notice: its name, with or without the modules before it.
    killed_by: String,
    why: String,
    /// The files it changes, as paths from the root.
    changes: Vec<String>,
}

/// What became of a mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    Survived,
    DoesNotApply,
    DoesNotCompile,
    NoSuchTest,
    /// The test fails without the fault, so its failure with it says nothing.
    FailsAnyway,
}

impl Fate {
    fn text(self) -> &'static str {
        match self {
            Fate::Killed => "killed",
            Fate::Survived => "SURVIVED",
            Fate::DoesNotApply => "DOES NOT APPLY",
            Fate::DoesNotCompile => "DOES NOT COMPILE",
            Fate::NoSuchTest => "NO SUCH TEST",
            Fate::FailsAnyway => "TEST FAILS WITHOUT IT",
        }
    }
}

/// How a run of one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Passed,
    Failed,
    NoneFound,
    NotBuilt,
}

/// Runs every mutant; whether all were killed.
pub(crate) fn run(root: &Path) -> Result<bool> {
    let mutants = read_all(&root.join(FOLDER))?;
    let copy = Copy::of(root)?;
    let mut survivors = 0;
    for mutant in &mutants {
        let watch = Stopwatch::start();
        let fate = judge(mutant, &copy)?;
        survivors += usize::from(fate != Fate::Killed);
        let seconds = watch.read().as_secs_f64();
        say(&format!("{:<22} {:<36} {seconds:>5.1} s  {}", fate.text(), mutant.name, mutant.killed_by));
        if fate != Fate::Killed {
            say(&format!("    {FOLDER}/{}.patch: {}", mutant.name, mutant.why));
        }
    }
    say(&format!("mutants: {} killed, {survivors} not", mutants.len() - survivors));
    Ok(survivors == 0)
}

fn judge(mutant: &Mutant, copy: &Copy) -> Result<Fate> {
    match copy.test(&mutant.killed_by)? {
        Run::Passed => {}
        Run::NoneFound => return Ok(Fate::NoSuchTest),
        Run::Failed => return Ok(Fate::FailsAnyway),
        Run::NotBuilt => bail!("{PACKAGE} does not build without any mutant"),
    }
    if !copy.apply(&mutant.patch)? {
        return Ok(Fate::DoesNotApply);
    }
    let run = copy.test(&mutant.killed_by);
    copy.restore(&mutant.changes)?;
    Ok(match run? {
        Run::Failed => Fate::Killed,
        Run::Passed => Fate::Survived,
        Run::NotBuilt => Fate::DoesNotCompile,
        Run::NoneFound => Fate::NoSuchTest,
    })
}

fn read_all(folder: &Path) -> Result<Vec<Mutant>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("no mutants: cannot read {}", folder.display()))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "patch") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        bail!("no mutants in {}", folder.display());
    }
    paths.into_iter().map(|path| parse(&fs::read_to_string(&path)?, path)).collect()
}

fn parse(text: &str, patch: PathBuf) -> Result<Mutant> {
    let head = |key: &str| {
        let found = text.lines().take(2).find_map(|line| line.strip_prefix(key));
        found
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
            .with_context(|| format!("{}: one of the first two lines must be `{key} ...`", patch.display()))
    };
    let changes: Vec<String> =
        text.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(str::to_owned).collect();
    if changes.is_empty() {
        bail!("{}: changes no file; paths must be given as `+++ b/<path from the root>`", patch.display());
    }
    let name = patch.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Mutant { name, killed_by: head("# killed-by:")?, why: head("# why:")?, changes, patch })
}

/// A copy of the workspace outside its tree, kept between runs so that only what changed is built again.
#[derive(Debug)]
struct Copy {
    root: PathBuf,
    at: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn of(root: &Path) -> Result<Self> {
        let id = root.to_string_lossy().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let at = std::env::temp_dir().join(format!("haleway-mutants-{id:016x}"));
        let copy = Self { root: root.to_path_buf(), target: at.join("target"), at: at.join("tree") };
        fs::create_dir_all(&copy.at)?;
        let wanted = tree::files(root)?;
        copy.restore(&wanted)?;
        copy.remove_others(&copy.at, &wanted)?;
        Ok(copy)
    }

    /// Makes these files equal to the originals; equal ones are not touched, so that cargo sees no change.
    fn restore(&self, files: &[String]) -> Result<()> {
        for name in files {
            let (from, to) = (self.root.join(name), self.at.join(name));
            let content = fs::read(&from).with_context(|| name.clone())?;
            if fs::read(&to).ok().as_ref() != Some(&content) {
                if let Some(folder) = to.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(&to, content).with_context(|| to.display().to_string())?;
            }
        }
        Ok(())
    }

    /// Removes files that the original no longer has.
    fn remove_others(&self, folder: &Path, wanted: &[String]) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(&self.at)?.to_string_lossy().into_owned();
            if path.is_dir() {
                self.remove_others(&path, wanted)?;
            } else if wanted.binary_search(&name).is_err() {
                fs::remove_file(&path)?;
            }
        }
        Ok(())
    }

    /// Applies a patch whole or not at all; whether it applied.
    fn apply(&self, patch: &Path) -> Result<bool> {
        let status = Command::new("git")
            .args(["apply", "--whitespace=nowarn"])
            .arg(patch)
            .current_dir(&self.at)
            .env("GIT_CEILING_DIRECTORIES", self.at.parent().unwrap_or(&self.at))
            .stderr(Stdio::null())
            .status()
            .context("cannot start git apply")?;
        Ok(status.success())
    }

    /// Runs one test of the health crate.
    fn test(&self, name: &str) -> Result<Run> {
        let mut build = self.nextest("--no-run", name);
        if stdout(&mut build).is_err() {
            return Ok(Run::NotBuilt);
        }
        let status = self
            .nextest("--no-fail-fast", name)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .status()
            .context("cannot start cargo nextest")?;
        Ok(match status.code() {
            Some(0) => Run::Passed,
            Some(4) => Run::NoneFound,
            _ => Run::Failed,
        })
    }

    fn nextest(&self, option: &str, test: &str) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(["nextest", "run", "--package", PACKAGE, "--no-tests", "fail", option, "--filterset"])
            .arg(filter(test))
            .current_dir(&self.at)
            .env("CARGO_TARGET_DIR", &self.target);
        command
    }
}

/// The nextest filter for a test given with or without its modules.
fn filter(test: &str) -> String {
    format!("test(/(^|::){test}$/)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# killed-by: machine::tests::late_success\n# why: a stale answer would restore a dead one\n\
                        --- a/crates/health/src/m.rs\n+++ b/crates/health/src/m.rs\n@@ -1 +1 @@\n-a\n+b\n";

    #[test]
    fn a_patch_is_read() {
        let mutant = parse(GOOD, "x/late.patch".into()).unwrap();
        assert_eq!(
            (mutant.name.as_str(), mutant.killed_by.as_str()),
            ("late", "machine::tests::late_success")
        );
        assert_eq!(mutant.changes, ["crates/health/src/m.rs"]);
    }

    #[test]
    fn a_patch_without_its_test_reason_or_change_is_refused() {
        for bad in [
            GOOD.replace("# killed-by: machine::tests::late_success", "# killed-by:"),
            GOOD.replace("# why", "# because"),
            GOOD.replace("+++ b/", "+++ "),
        ] {
            assert!(parse(&bad, "x/late.patch".into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_folder_without_mutants_is_an_error_not_a_success() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_all(folder.path()).is_err());
        assert!(read_all(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn a_patch_applies_to_the_copy_and_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let (root, at) = (folder.path().join("root"), folder.path().join("tree"));
        fs::create_dir_all(root.join("crates/health/src")).unwrap();
        fs::write(root.join("crates/health/src/m.rs"), "a\n").unwrap();
        let patch = folder.path().join("late.patch");
        fs::write(&patch, GOOD).unwrap();
        let copy = Copy { target: at.join("target"), at, root };
        fs::create_dir_all(&copy.at).unwrap();
        let changes = ["crates/health/src/m.rs".to_owned()];
        copy.restore(&changes).unwrap();
        assert!(copy.apply(&patch).unwrap());
        assert_eq!(fs::read_to_string(copy.at.join(&changes[0])).unwrap(), "b\n");
        assert!(!copy.apply(&patch).unwrap(), "a patch that does not fit is told");
        copy.restore(&changes).unwrap();
        assert_eq!(fs::read_to_string(copy.at.join(&changes[0])).unwrap(), "a\n");
    }
}
