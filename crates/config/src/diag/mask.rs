//! Secrets out of the lines that findings show.
//!
//! A finding about `rpm` may sit on the line that also holds `api_key`, in a flow mapping. What is known to be a
//! secret from the tree is masked by position; a second pass over the text of the line covers files that never
//! became a tree.

use std::ops::Range;

use crate::yaml::{Kind, Node, Span};

/// Words whose presence in a key makes its value a secret.
const SECRET_WORDS: [&str; 9] = [
    "api_key",
    "apikey",
    "master_key",
    "salt_key",
    "password",
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
pub(crate) fn is_secret_key(key: &str) -> bool {
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

/// The line with every secret character replaced; lengths in characters stay.
pub(crate) fn line(text: &str, range: Range<usize>, secrets: &[Range<usize>]) -> String {
    let Some(line) = text.get(range.clone()) else { return String::new() };
    let by_text = secrets_of_line(line);
    let hidden = |at: usize| {
        let absolute = range.start + at;
        by_text.iter().any(|part| part.contains(&at)) || secrets.iter().any(|part| part.contains(&absolute))
    };
    line.char_indices().map(|(at, c)| if hidden(at) && !c.is_whitespace() { '*' } else { c }).collect()
}

/// What follows `api_key:` and the like, up to the end of the value.
fn secrets_of_line(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (colon, _) in line.match_indices(':') {
        let before = line.get(..colon).unwrap_or("").trim_end_matches(['"', '\'', ' ']);
        let key_start =
            before.rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).map_or(0, |at| at + 1);
        if !before.get(key_start..).is_some_and(is_secret_key) {
            continue;
        }
        let rest = line.get(colon + 1..).unwrap_or("");
        let value = rest.trim_start();
        let start = line.len() - value.len();
        if value.starts_with("os.environ/") || value.is_empty() {
            continue;
        }
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let length = match quote {
            Some(quote) => value.get(1..).and_then(|rest| rest.find(quote)).map_or(value.len(), |at| at + 2),
            None => value.find([',', '}', ']', ' ', '\t']).unwrap_or(value.len()),
        };
        found.push(start..start + length);
    }
    found
}
