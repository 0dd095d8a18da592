//! Secrets out of the lines that findings show.
//!
//! A finding about `rpm` may sit on the line that also holds `api_key`, in a flow mapping. What is known to be a
//! secret from the tree is masked by position; a second pass over the text of the line covers files that never
//! became a tree.

use std::ops::Range;

use crate::yaml::{Kind, Node, Span};

/// Words whose presence in a key makes its value a secret.
const SECRET_WORDS: [&str; 13] = [
    "api_key",
    "apikey",
    "master_key",
    "masterkey",
    "private_key",
    "salt_key",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "authorization",
];
/// Keys with such a word that are no secrets.
const NOT_SECRET: [&str; 12] = [
    "max_tokens",
    "tokens",
    "token_",
    "_tokens",
    "per_token",
    "tokenizer",
    "credential_name",
    "credential_list",
    "_key_name",
    "secret_name",
    "token_type",
    "token_file",
];

/// Whether the value of this key is a secret.
pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let key = key.as_str();
    if matches!(key, "key" | "drain_endpoint_token") || key.ends_with("_access_key") {
        return true;
    }
    // A connection string carries its password.
    if matches!(key, "database_url" | "redis_url") {
        return true;
    }
    SECRET_WORDS.iter().any(|word| key.contains(word)) && !NOT_SECRET.iter().any(|word| key.contains(word))
}

/// Spans of the secret scalars of a tree.
pub(crate) fn secrets(node: &Node, secret: bool, found: &mut Vec<Span>) {
    match &node.kind {
        Kind::Scalar(scalar) => {
            if secret && !scalar.text.is_empty() && !scalar.text.starts_with("os.environ/") {
                found.push(node.span);
            }
        }
        Kind::Seq(items) => items.iter().for_each(|item| secrets(item, secret, found)),
        Kind::Map(map) => {
            for entry in &map.entries {
                let headers =
                    matches!(entry.name.as_str(), "extra_headers" | "environment_variables" | "headers");
                secrets(&entry.value, secret || headers || is_secret_key(&entry.name), found);
            }
        }
    }
}

/// Lines above one that are looked at for the secret key it may belong to: a private key is about fifty lines.
const LINES_ABOVE: usize = 100;

/// The line with every secret character replaced; lengths in characters stay.
pub(crate) fn line(text: &str, range: Range<usize>, secrets: &[Range<usize>]) -> String {
    let Some(line) = text.get(range.clone()) else { return String::new() };
    let mut by_text = secrets_of_line(line);
    if continues_a_secret(text.get(..range.start).unwrap_or(""), line) {
        by_text.push(0..line.len());
    }
    // Of the secrets of the file, those of this line: a file may have thousands, and a finding for each.
    let secrets: Vec<_> =
        secrets.iter().filter(|part| part.start < range.end && range.start < part.end).collect();
    let hidden = |at: usize| {
        let absolute = range.start + at;
        by_text.iter().any(|part| part.contains(&at)) || secrets.iter().any(|part| part.contains(&absolute))
    };
    line.char_indices().map(|(at, c)| if hidden(at) && !c.is_whitespace() { '*' } else { c }).collect()
}

/// What follows `api_key:` and the like, up to the end of the value; and what looks like a secret wherever it stands.
fn secrets_of_line(line: &str) -> Vec<Range<usize>> {
    let mut found = secrets_by_shape(line);
    for (colon, _) in line.match_indices(':') {
        let Some(key_start) = secret_key_before(line, colon) else { continue };
        let rest = line.get(colon + 1..).unwrap_or("");
        let value = rest.trim_start();
        let start = line.len() - value.len();
        if value.starts_with("os.environ/") || value.is_empty() {
            continue;
        }
        // The first key of a line outside of `{}`: its value ends with the line, whatever it holds.
        let block =
            line.get(..key_start).is_some_and(|before| before.chars().all(|c| " \t-?\"'".contains(c)));
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let length = match quote {
            Some(quote) => value.get(1..).and_then(|rest| rest.find(quote)).map_or(value.len(), |at| at + 2),
            None if block => value.len(),
            None => value.find([',', '}', ']']).unwrap_or(value.len()),
        };
        found.push(start..start + length);
    }
    found
}

/// Where the key in front of this colon begins, if it is a secret's.
fn secret_key_before(line: &str, colon: usize) -> Option<usize> {
    let before = line.get(..colon)?.trim_end_matches(['"', '\'', ' ']);
    let start = before
        .rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))
        .map_or(0, |at| at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8));
    before.get(start..).is_some_and(is_secret_key).then_some(start)
}

/// Credentials inside a URL, and keys of the usual form under a name that is misspelt.
fn secrets_by_shape(line: &str) -> Vec<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '}' | ']' | '{' | '[');
    let until = |start: usize| {
        line.get(start..).and_then(|rest| rest.find(ends)).map_or(line.len(), |length| start + length)
    };
    let mut found = Vec::new();
    for (at, _) in line.match_indices("://") {
        let start = at + 3;
        let authority =
            line.get(start..until(start)).unwrap_or("").split(['/', '?', '#']).next().unwrap_or("");
        // A password may hold a slash: the last `@` of the value counts then.
        let whole = line.get(start..until(start)).unwrap_or("");
        if let Some(length) =
            authority.rfind('@').or_else(|| whole.rfind('@').filter(|_| authority.contains(':')))
        {
            found.push(start..start + length);
        }
    }
    for (at, _) in line.match_indices("sk-") {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        if !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.')) {
            found.push(at..until(at));
        }
    }
    found
}

/// Whether the line is part of the value of a secret key above it: a block scalar, a list, a mapping.
fn continues_a_secret(above: &str, line: &str) -> bool {
    let indent_of = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut indent = indent_of(line);
    for line in above.lines().rev().take(LINES_ABOVE).filter(|line| !line.trim().is_empty()) {
        let own = indent_of(line);
        if own >= indent {
            continue;
        }
        indent = own;
        let key = line.find(':').and_then(|colon| secret_key_before(line, colon));
        if key
            .is_some_and(|start| line.get(..start).is_some_and(|b| b.chars().all(|c| " \t-?\"'".contains(c))))
        {
            return true;
        }
        if indent == 0 {
            break;
        }
    }
    false
}
