//! Mutants of the health core and of the fleet: small faults, kept as patches, each of which a named test must notice.
//!
//! A test that stays green when the code is broken guards nothing. `crates/health/mutants/*.patch` and
//! `crates/fleet/mutants/*.patch` are unified diffs that start with `# killed-by: <test>` and `# why: <what the fault would do to an operator>`. Each is
//! applied to a copy of the workspace, where its test passes before and must fail after.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::finding::say;
use crate::process::{Stopwatch, stdout};
use crate::tree;

/// Mutants, and the packages whose tests must notice them.
#[derive(Debug)]
struct Suite {
    folder: &'static str,
    packages: &'static [&'static str],
}

const SUITES: &[Suite] = &[
    Suite { folder: "crates/health/mutants", packages: &["haleway-health"] },
    Suite { folder: "crates/fleet/mutants", packages: &["haleway-fleet", "haleway-fleet-sim"] },
];

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

/// A test as it is, without any mutant.
#[derive(Debug, PartialEq, Eq)]
struct Test {
    package: String,
    /// Its name with modules.
    name: String,
    /// The integration test it is in; `None` for the library's own.
    binary: Option<String>,
    passes: bool,
}

/// The tests of a suite as they are.
#[derive(Debug)]
struct Tests(Vec<Test>);

impl Tests {
    /// Reads what nextest says of each test, such as `PASS [   0.012s] ( 5/42) package::binary module::tests::name`.
    fn parse(said: &str) -> Self {
        let line = |line: &str| {
            let (status, rest) = line.trim().split_once(" [")?;
            let (_, rest) = rest.split_once("] (")?;
            let (binary, name) = rest.split_once(") ")?.1.split_once(' ')?;
            let (package, binary) = match binary.split_once("::") {
                Some((package, binary)) => (package, Some(binary.to_owned())),
                None => (binary, None),
            };
            let package = package.to_owned();
            Some(Test { package, name: name.to_owned(), binary, passes: status == "PASS" })
        };
        Self(said.lines().filter_map(line).collect())
    }

    /// The test of this name, with or without modules.
    fn find(&self, name: &str) -> Option<&Test> {
        let ending = format!("::{name}");
        self.0.iter().find(|test| test.name == name || test.name.ends_with(&ending))
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
    let copy = Copy::of(root)?;
    let (mut killed, mut survivors) = (0, 0);
    for suite in SUITES {
        let mutants = read_all(&root.join(suite.folder))?;
        let healthy = copy.all_tests(suite.packages)?;
        for mutant in &mutants {
            let watch = Stopwatch::start();
            let fate = judge(mutant, &copy, &healthy)?;
            let seconds = watch.read().as_secs_f64();
            say(&format!("{:<22} {:<36} {seconds:>5.1} s  {}", fate.text(), mutant.name, mutant.killed_by));
            if fate == Fate::Killed {
                killed += 1;
            } else {
                survivors += 1;
                say(&format!("    {}/{}.patch: {}", suite.folder, mutant.name, mutant.why));
            }
        }
    }
    say(&format!("mutants: {killed} killed, {survivors} not"));
    Ok(survivors == 0)
}

fn judge(mutant: &Mutant, copy: &Copy, healthy: &Tests) -> Result<Fate> {
    let Some(test) = healthy.find(&mutant.killed_by) else { return Ok(Fate::NoSuchTest) };
    if !test.passes {
        return Ok(Fate::FailsAnyway);
    }
    if !copy.apply(&mutant.patch)? {
        return Ok(Fate::DoesNotApply);
    }
    let run = copy.test(test);
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

    /// Runs every test of the packages as they are.
    fn all_tests(&self, packages: &[&str]) -> Result<Tests> {
        let output = self
            .nextest(packages)
            .args(["--no-fail-fast", "--status-level", "pass", "--final-status-level", "none"])
            .stdin(Stdio::null())
            .output()
            .context("cannot start cargo nextest")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let tests = Tests::parse(&said);
        if tests.0.is_empty() {
            bail!("{} do not build or have no tests:\n{said}", packages.join(", "));
        }
        Ok(tests)
    }

    /// Runs one test with what is applied now.
    fn test(&self, test: &Test) -> Result<Run> {
        // Only the binary that the test is in is built.
        let binary = match &test.binary {
            None => vec!["--lib"],
            Some(binary) => vec!["--test", binary],
        };
        let package = [test.package.as_str()];
        if stdout(self.nextest(&package).args(&binary).arg("--no-run")).is_err() {
            return Ok(Run::NotBuilt);
        }
        let status = self
            .nextest(&package)
            .args(&binary)
            .args(["--no-tests", "fail", "--filterset", &format!("test(={})", test.name)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("cannot start cargo nextest")?;
        Ok(match status.code() {
            Some(0) => Run::Passed,
            // The patch took the test away.
            Some(4) => Run::NoneFound,
            _ => Run::Failed,
        })
    }

    fn nextest(&self, packages: &[&str]) -> Command {
        let mut command = Command::new("cargo");
        command
            .args(["nextest", "run", "--color", "never"])
            .args(packages.iter().flat_map(|package| ["--package", *package]))
            .current_dir(&self.at)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        command
    }
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
    fn what_nextest_says_of_each_test_is_read() {
        let tests = Tests::parse(
            "    Starting 3 tests across 2 binaries\n        PASS [   0.012s] (1/3) pkg machine::tests::a01\n        \
             FAIL [   0.010s] (2/3) pkg tests::b02\n     TIMEOUT [  60.000s] (3/3) pkg::it c03\n────────────\n     \
             Summary [   0.2s] 3 tests run: 1 passed, 1 failed, 1 timed out, 0 skipped\n",
        );
        assert_eq!(tests.0.len(), 3, "{tests:?}");
        let passes = |name: &str| tests.find(name).map(|test| test.passes);
        assert_eq!((passes("machine::tests::a01"), passes("a01")), (Some(true), Some(true)));
        assert_eq!((passes("b02"), passes("c03")), (Some(false), Some(false)));
        assert_eq!((passes("01"), passes("d04")), (None, None));
        assert_eq!(tests.find("c03").and_then(|test| test.binary.as_deref()), Some("it"));
        assert_eq!(tests.find("a01").and_then(|test| test.binary.as_deref()), None);
        assert_eq!(tests.find("c03").map(|test| test.package.as_str()), Some("pkg"));
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
