//! The ordered rules, as data: `rules.json`, read once.
//!
//! The first rule that holds names the class. Codes are compared without case, `_`, `-` and blanks, so that
//! `RateLimitExceeded`, `rate_limit_exceeded` and `rate-limit-exceeded` are one; a message holds a pattern when
//! the pattern's pieces between `*` follow one another closely.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use haleway_health::{Class, Scope};
use serde::{Deserialize, Deserializer};

use super::extract::Extract;
use crate::Mode;

/// The pieces of one pattern may be this far apart, in bytes: within a sentence, not across a page.
const MAX_GAP: usize = 160;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    // The file is compiled in and a test parses it, so the empty table never serves.
    serde_json::from_str::<Table>(include_str!("rules.json")).unwrap_or_default()
});

/// Everything in `rules.json`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Table {
    /// Codes that say no more than the status does.
    #[serde(deserialize_with = "folded_set")]
    plain: HashSet<String>,
    /// Codes of an authentication failure that a fresh token cures.
    #[serde(deserialize_with = "folded_set")]
    refresh: HashSet<String>,
    /// Words of an authentication failure that a fresh token cures.
    refresh_msg: Vec<String>,
    /// Error words that stand for a status, for errors that arrive without one.
    #[serde(deserialize_with = "folded_map")]
    words: HashMap<String, u16>,
    rules: Vec<Rule>,
    default: HashMap<u16, Name>,
}

/// One rule: what to look at, the values that make it hold, and the conditions around it.
#[derive(Debug, Deserialize)]
struct Rule {
    class: Name,
    #[serde(rename = "k")]
    look_at: LookAt,
    #[serde(rename = "v")]
    values: Vec<String>,
    #[serde(default, rename = "p")]
    providers: Vec<String>,
    #[serde(default, rename = "s")]
    statuses: Vec<u16>,
    #[serde(default, rename = "m")]
    modes: Vec<String>,
    /// Holds only with (true) or without (false) a stated wait.
    #[serde(default)]
    wait: Option<bool>,
    #[serde(default, deserialize_with = "scope")]
    scope: Option<Scope>,
    /// The deployment's own settings are the cause.
    #[serde(default)]
    config: bool,
    /// For the reader of the file.
    #[serde(default, rename = "why")]
    _why: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LookAt {
    Code,
    Msg,
    Fin,
    Status,
    Key,
    Orig,
}

/// A class by its stable name.
#[derive(Clone, Copy, Debug)]
struct Name(Class);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Class::from_name(&name).map(Self).ok_or_else(|| serde::de::Error::custom(format!("no class {name}")))
    }
}

/// What surrounds an extract.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation<'a> {
    pub(super) provider: &'a str,
    pub(super) mode: Mode,
    pub(super) status: u16,
    pub(super) has_wait: bool,
}

/// What a rule decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    pub(super) class: Class,
    pub(super) scope: Option<Scope>,
    pub(super) config: bool,
}

/// The first rule that holds.
pub(super) fn decide(extract: &Extract, situation: Situation<'_>) -> Option<Decision> {
    let rule = TABLE.rules.iter().find(|rule| rule.holds(extract, situation))?;
    Some(Decision { class: rule.class.0, scope: rule.scope, config: rule.config })
}

impl Rule {
    fn holds(&self, extract: &Extract, situation: Situation<'_>) -> bool {
        let around = (self.providers.is_empty() || self.providers.iter().any(|p| p == situation.provider))
            && (self.statuses.is_empty() || self.statuses.contains(&situation.status))
            && (self.modes.is_empty() || self.modes.iter().any(|mode| mode == situation.mode.as_str()))
            && self.wait.is_none_or(|wait| wait == situation.has_wait);
        around && self.values.iter().any(|value| self.found(value, extract, situation.status))
    }

    fn found(&self, value: &str, extract: &Extract, status: u16) -> bool {
        match self.look_at {
            LookAt::Code => extract.codes.iter().any(|code| same_code(code, value)),
            LookAt::Msg => holds_pattern(&extract.text, value),
            LookAt::Fin => extract.finishes.iter().any(|finish| finish == value),
            LookAt::Status => value.parse() == Ok(status),
            LookAt::Key => {
                value.rsplit('.').next().is_some_and(|key| extract.metadata.iter().any(|k| k == key))
            }
            LookAt::Orig => extract.original_status.is_some_and(|status| value.parse() == Ok(status)),
        }
    }
}

/// The class of a status that no rule says more about, and whether the status is one that is listed.
///
/// Statuses nobody listed follow who can have caused them: 5xx and up the provider, redirects the address, other
/// 4xx the caller.
pub(super) fn default_class(status: u16) -> (Class, bool) {
    if let Some(name) = TABLE.default.get(&status) {
        return (name.0, true);
    }
    let class = match status {
        300..400 => Class::RouteNotFound,
        400..500 => Class::BadRequest,
        200..300 => Class::MalformedResponse,
        _ => Class::ServerError,
    };
    (class, false)
}

/// The listed statuses with their classes, sorted.
pub(super) fn default_statuses() -> Vec<(u16, Class)> {
    let mut all: Vec<_> = TABLE.default.iter().map(|(status, name)| (*status, name.0)).collect();
    all.sort_unstable_by_key(|(status, _)| *status);
    all
}

/// Whether one of the codes is neither known to a rule nor plain: the table may lack something.
pub(super) fn has_unknown_code(extract: &Extract) -> bool {
    extract.codes.iter().any(|code| {
        let folded = fold(code);
        !TABLE.plain.contains(&folded) && !folded.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// The status that the codes of an error stand for, for errors inside a 200.
pub(super) fn carried_status(extract: &Extract) -> Option<u16> {
    let number = |code: &String| code.parse().ok().filter(|status| (400..600).contains(status));
    let word = |code: &String| TABLE.words.get(&fold(code)).copied();
    extract.codes.iter().find_map(number).or_else(|| extract.codes.iter().find_map(word))
}

/// Whether an authentication failure is cured by a fresh token rather than by a new key.
pub(super) fn wants_fresh_token(extract: &Extract) -> bool {
    extract.codes.iter().any(|code| TABLE.refresh.contains(&fold(code)))
        || TABLE.refresh_msg.iter().any(|words| holds_pattern(&extract.text, words))
}

/// Two codes are the same without case, `_`, `-` and blanks.
fn same_code(left: &str, right: &str) -> bool {
    folded_bytes(left).eq(folded_bytes(right))
}

fn folded_bytes(code: &str) -> impl Iterator<Item = u8> {
    code.bytes().filter(|byte| !matches!(byte, b'_' | b'-' | b' ')).map(|byte| byte.to_ascii_lowercase())
}

fn fold(code: &str) -> String {
    folded_bytes(code).map(char::from).collect()
}

/// Whether the pieces of `pattern` between `*` occur in this order, each close after the one before.
pub(super) fn holds_pattern(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text.contains(pattern) };
    text.match_indices(first).any(|(at, _)| follows(text, at + first.len(), rest))
}

fn follows(text: &str, after: usize, rest: &str) -> bool {
    let Some(tail) = text.get(after..) else { return false };
    let (piece, rest) = rest.split_once('*').map_or((rest, None), |(piece, rest)| (piece, Some(rest)));
    match tail.find(piece) {
        Some(gap) if gap <= MAX_GAP => rest.is_none_or(|rest| follows(text, after + gap + piece.len(), rest)),
        Some(_) | None => false,
    }
}

fn folded_set<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HashSet<String>, D::Error> {
    Ok(Vec::<String>::deserialize(deserializer)?.iter().map(|code| fold(code)).collect())
}

fn folded_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<HashMap<String, u16>, D::Error> {
    let words = HashMap::<String, u16>::deserialize(deserializer)?;
    Ok(words.iter().map(|(word, status)| (fold(word), *status)).collect())
}

fn scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Scope>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let all =
        [Scope::Request, Scope::Model, Scope::Credential, Scope::Account, Scope::Endpoint, Scope::Provider];
    match all.into_iter().find(|scope| scope.as_str() == name) {
        Some(scope) => Ok(Some(scope)),
        None => Err(serde::de::Error::custom(format!("no scope {name}"))),
    }
}

#[cfg(test)]
pub(super) fn parse_table() -> Result<Table, serde_json::Error> {
    serde_json::from_str(include_str!("rules.json"))
}

#[cfg(test)]
impl Table {
    pub(super) fn rule_count(&self) -> usize {
        self.rules.len()
    }
}
