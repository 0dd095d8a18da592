//! The one tree that everything is read from: the main file with its includes, references resolved.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use secrecy::SecretString;

use crate::Source;
use crate::diag::{Finding, Report, Severity, codes};
use crate::keys::{Section, Support};
use crate::yaml::{self, Entry, Kind, Map, Node, Scalar, Span, Value};

/// What a value that refers to an environment variable begins with.
const PREFIX: &str = "os.environ/";

/// The whole configuration as one mapping, before references are resolved; `None` when the main file is none.
pub(crate) fn read(path: &Path, source: &dyn Source, report: &Report) -> Option<Map> {
    let mut seen = vec![plain(path)];
    let main = read_file(path, None, source, report)?;
    include(main, path, &mut seen, source, report)
}

/// One file as a mapping. `from` is the place that includes it.
fn read_file(path: &Path, from: Option<Span>, source: &dyn Source, report: &Report) -> Option<Map> {
    let fail = |reason: String| {
        let message = format!("cannot read {}: {reason}", path.display());
        report.add(match from {
            Some(span) => Finding::error(codes::FILE, span, message),
            None => Finding::placeless(Severity::Error, codes::FILE, message),
        });
    };
    let bytes = source.read(path).map_err(|error| fail(error.to_string())).ok()?;
    let text = yaml::decode(bytes).map_err(fail).ok()?;
    let file = report.file(path, text.clone());
    let root = yaml::parse(file, &text, report)?;
    report.hide_secrets(&root);
    match root.kind {
        Kind::Map(map) => Some(map),
        Kind::Scalar(_) if root.is_null() => Some(Map::default()),
        Kind::Scalar(_) | Kind::Seq(_) => {
            let message = format!("a configuration is a mapping of sections, not {}", root.describe());
            let span = Span { end: root.span.end.min(root.span.start + 1), ..root.span };
            report.add(Finding::error(codes::WRONG_TYPE, span, message));
            None
        }
    }
}

/// Applies the `include` of a file: paths are relative to that file, each file counts once.
fn include(
    mut main: Map,
    path: &Path,
    seen: &mut Vec<PathBuf>,
    source: &dyn Source,
    report: &Report,
) -> Option<Map> {
    let Some(at) = main.entries.iter().position(|entry| entry.name == "include") else { return Some(main) };
    let entry = main.entries.remove(at);
    for item in names(&entry, report) {
        let Some(name) = item.as_str() else { continue };
        let file = path.parent().unwrap_or(Path::new("")).join(name);
        let known = plain(&file);
        if seen.contains(&known) {
            continue;
        }
        seen.push(known);
        let Some(part) = read_file(&file, Some(item.span), source, report) else { continue };
        let Some(part) = include(part, &file, seen, source, report) else { continue };
        part.entries.into_iter().for_each(|entry| join(&mut main, entry, report));
    }
    Some(main)
}

/// A path without `.` and `a/..`, to tell whether two names are one file.
fn plain(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(found.components().next_back(), Some(Component::Normal(_))) => {
                found.pop();
            }
            Component::ParentDir | Component::Normal(_) | Component::RootDir | Component::Prefix(_) => {
                found.push(part)
            }
        }
    }
    found
}

/// The file names that an `include` gives.
fn names<'a>(entry: &'a Entry, report: &Report) -> Vec<&'a Node> {
    let wrong = |span: Span, found: &str| {
        let message = format!("include must be a list of file names, not {found}");
        report.add(Finding::error(codes::INCLUDE_SHAPE, span, message).hint("write include: [other.yaml]"));
    };
    let Some(items) = entry.value.as_seq() else {
        if !entry.value.is_null() {
            wrong(entry.key, entry.value.describe());
        }
        return Vec::new();
    };
    for item in items.iter().filter(|item| item.as_str().is_none()) {
        wrong(item.span, item.describe());
    }
    items.iter().collect()
}

/// One section of an included file into the including one, as LiteLLM does: lists grow, all else is replaced.
fn join(main: &mut Map, entry: Entry, report: &Report) {
    let Some(old) = main.get_mut(&entry.name) else {
        main.entries.push(entry);
        return;
    };
    match (&mut old.value.kind, entry.value.kind) {
        (Kind::Seq(items), Kind::Seq(more)) => items.extend(more),
        (before, after) => {
            if let (Kind::Map(before), Kind::Map(after)) = (&*before, &after) {
                report_lost(&entry.name, entry.key, old.key, before, after, report);
            }
            *before = after;
            old.key = entry.key;
            old.value.span = entry.value.span;
        }
    }
}

fn report_lost(name: &str, here: Span, there: Span, before: &Map, after: &Map, report: &Report) {
    let lost: Vec<&str> = before
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .filter(|key| after.get(key).is_none())
        .collect();
    let place = report.place(there);
    let what = if lost.is_empty() { String::new() } else { format!("; lost: {}", lost.join(", ")) };
    let message =
        format!("this {name} replaces the whole {name} of {}:{}{what}", place.file.display(), place.line);
    report.add(
        Finding::warning(codes::INCLUDE_REPLACES, here, message)
            .hint("only lists such as model_list are joined; keep each other section in one file"),
    );
}

/// `environment_variables`, their own references resolved against the process alone.
pub(crate) fn environment(
    root: &mut Map,
    source: &dyn Source,
    report: &Report,
) -> BTreeMap<String, SecretString> {
    let mut found = BTreeMap::new();
    let Some(entry) = root.get_mut("environment_variables") else { return found };
    if entry.value.as_scalar().is_some_and(|scalar| scalar.value == Value::Null) {
        return found;
    }
    let described = entry.value.describe();
    let Kind::Map(map) = &mut entry.value.kind else {
        let message = format!("environment_variables must be a mapping, not {described}");
        report.add(Finding::error(codes::WRONG_TYPE, entry.key, message));
        return found;
    };
    for entry in &mut map.entries {
        let plain = |name: &str| source.var(name);
        resolve_value(&mut entry.value, &plain, Severity::Error, report);
        if let Some(scalar) = entry.value.as_scalar().filter(|scalar| scalar.value != Value::Null) {
            found.insert(entry.name.clone(), SecretString::from(scalar.text.clone()));
        }
    }
    found
}

/// Resolves every reference as far as LiteLLM does: in mappings, and in mappings inside lists.
pub(crate) fn resolve(root: &mut Map, var: &dyn Fn(&str) -> Option<String>, report: &Report) {
    for top in &mut root.entries {
        let section = Section::ALL.into_iter().find(|section| section.name() == top.name);
        let inert = |section: Section, name: &str| {
            matches!(section.key(name).map(|key| key.support), None | Some(Support::Inert(_)))
        };
        let severity = if inert(Section::Top, &top.name) { Severity::Warning } else { Severity::Error };
        match (&mut top.value.kind, section) {
            // A reference under a key that has no effect cannot stop the start.
            (Kind::Map(map), Some(section)) => {
                for entry in &mut map.entries {
                    let severity =
                        if inert(section, &entry.name) { Severity::Warning } else { Severity::Error };
                    resolve_value(&mut entry.value, var, severity, report);
                }
            }
            _ => resolve_value(&mut top.value, var, severity, report),
        }
    }
}

/// Resolves the references of one value.
pub(crate) fn resolve_one(node: &mut Node, var: &dyn Fn(&str) -> Option<String>, report: &Report) {
    resolve_value(node, var, Severity::Warning, report);
}

fn resolve_value(node: &mut Node, var: &dyn Fn(&str) -> Option<String>, missing: Severity, report: &Report) {
    let span = node.span;
    match &mut node.kind {
        Kind::Map(map) => {
            map.entries.iter_mut().for_each(|entry| resolve_value(&mut entry.value, var, missing, report));
        }
        Kind::Seq(items) => {
            for item in items {
                match item.kind {
                    Kind::Map(_) => resolve_value(item, var, missing, report),
                    Kind::Scalar(_) | Kind::Seq(_) => report_bare(item, report),
                }
            }
        }
        Kind::Scalar(scalar) if scalar.value == Value::Str => {
            resolve_scalar(scalar, span, var, missing, report)
        }
        Kind::Scalar(_) => {}
    }
}

/// References in a list are left alone, as LiteLLM leaves them.
fn report_bare(item: &Node, report: &Report) {
    match &item.kind {
        Kind::Seq(items) => items.iter().for_each(|item| report_bare(item, report)),
        Kind::Scalar(scalar) if scalar.text.starts_with(PREFIX) => report.add(
            Finding::warning(
                codes::REFERENCE_IN_LIST,
                item.span,
                "a reference that is a list item is not resolved",
            )
            .hint("LiteLLM resolves references only as values of keys; write the value itself"),
        ),
        Kind::Scalar(_) | Kind::Map(_) => {}
    }
}

fn resolve_scalar(
    scalar: &mut Scalar,
    span: Span,
    var: &dyn Fn(&str) -> Option<String>,
    missing: Severity,
    report: &Report,
) {
    let Some(name) = scalar.text.strip_prefix(PREFIX).map(str::to_owned) else { return };
    scalar.variable = Some(name.clone());
    match var(&name) {
        // LiteLLM turns these two words into booleans, and nothing else.
        Some(text) if text.trim().eq_ignore_ascii_case("true") => scalar.value = Value::Bool(true),
        Some(text) if text.trim().eq_ignore_ascii_case("false") => scalar.value = Value::Bool(false),
        Some(text) => scalar.text = text,
        None => {
            let message = format!("the environment variable {name} is not set");
            let finding = match missing {
                Severity::Error => Finding::error(codes::MISSING_ENV, span, message),
                Severity::Warning | Severity::Note => Finding::warning(codes::MISSING_ENV, span, message),
            };
            let hint = format!("set {name} in the environment, or under environment_variables");
            report.add(finding.hint(hint));
            scalar.text.clear();
            scalar.value = Value::Null;
        }
    }
}
