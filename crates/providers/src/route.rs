//! URLs, built once per deployment and operation.

use http::Uri;

use crate::registry::Wire;

/// The URL of one operation.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// The wire spoken there.
    pub(crate) wire: Wire,
    fixed: Uri,
    fixed_stream: Option<Uri>,
    /// Set when the URL holds the model's name: `{model}` stands for it.
    pattern: Option<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    whole: String,
    stream: Option<String>,
}

impl Route {
    /// A URL (and another one for streams, if there is one) with `{model}` where the model's name goes, or `{modelId}` where it
    /// is one segment.
    pub(crate) fn new(
        wire: Wire,
        whole: &str,
        stream: Option<&str>,
        model: &str,
    ) -> Result<Self, http::uri::InvalidUri> {
        let pattern = whole
            .contains("{model")
            .then(|| Pattern { whole: whole.to_owned(), stream: stream.map(str::to_owned) });
        Ok(Self {
            wire,
            fixed: fill(whole, model)?,
            fixed_stream: stream.map(|stream| fill(stream, model)).transpose()?,
            pattern,
        })
    }

    /// The URL for the deployment's own model, or for `model`.
    pub(crate) fn uri(&self, model: Option<&str>, stream: bool) -> Result<Uri, http::uri::InvalidUri> {
        match (&self.pattern, model) {
            (Some(pattern), Some(model)) => match (&pattern.stream, stream) {
                (Some(text), true) => fill(text, model),
                (Some(_) | None, _) => fill(&pattern.whole, model),
            },
            (Some(_) | None, _) => Ok(match (&self.fixed_stream, stream) {
                (Some(uri), true) => uri.clone(),
                (Some(_) | None, _) => self.fixed.clone(),
            }),
        }
    }
}

/// Where the voice goes in a URL that names one.
const VOICE: &str = "{voice_id}";

/// What one request adds to its deployment's URL. By default nothing.
#[derive(Debug, Default)]
pub(crate) struct Place {
    /// The voice, where the URL names one.
    pub(crate) voice: Option<String>,
    /// Parameters of the query.
    pub(crate) query: Vec<(String, String)>,
}

impl Place {
    /// The whole URL.
    pub(crate) fn complete(
        &self,
        uri: Result<Uri, http::uri::InvalidUri>,
    ) -> Result<Uri, http::uri::InvalidUri> {
        if self.voice.is_none() && self.query.is_empty() {
            return uri;
        }
        let mut text = uri?.to_string();
        if let Some(voice) = &self.voice {
            text = text.replace(VOICE, &segment(voice));
        }
        for (name, value) in &self.query {
            let separator = if text.contains('?') { '&' } else { '?' };
            text.push(separator);
            text.push_str(&segment(name));
            text.push('=');
            text.push_str(&segment(value));
        }
        text.parse()
    }
}

/// A text as one segment of a path, or as one word of a query.
fn segment(text: &str) -> String {
    encoded(text).replace('/', "%2F").replace('@', "%40")
}

fn fill(pattern: &str, model: &str) -> Result<Uri, http::uri::InvalidUri> {
    if pattern.contains("{model}") {
        pattern.replace("{model}", &encoded(model)).parse()
    } else if pattern.contains("{modelId}") {
        // One segment, whatever is in it: an ARN has slashes.
        pattern.replace("{modelId}", &segment(model)).parse()
    } else {
        pattern.parse()
    }
}

/// A model's name as one path segment or query value. A slash stays: `org/model` names are paths to those
/// providers that put them there.
pub(crate) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'/' | b'@') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for nibble in [byte >> 4, byte & 15] {
                out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0').to_ascii_uppercase());
            }
        }
    }
    out
}
