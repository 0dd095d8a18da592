//! The heads of forms and parts: boundary, names, types.

use super::{FormError, MAX_BOUNDARY};

/// What the head of a part says.
pub(super) struct Facts {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
}

/// Whether a `content-type` is that of a form.
pub(super) fn is_form(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("multipart/form-data")
}

/// The boundary that a `content-type` names.
pub(super) fn boundary(content_type: &str) -> Result<String, FormError> {
    if !is_form(content_type) {
        return Err(FormError::NotAForm);
    }
    let (_, parameters) = content_type.split_once(';').unwrap_or((content_type, ""));
    let boundary = parameters_of(parameters)
        .find(|(name, _)| name.eq_ignore_ascii_case("boundary"))
        .map(|(_, value)| value)
        .ok_or(FormError::NoBoundary)?;
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? !#$%&*^`|~@".contains(&byte);
    let usable = !boundary.is_empty()
        && boundary.len() <= MAX_BOUNDARY
        && boundary.bytes().all(legal)
        && !boundary.ends_with(' ');
    if usable { Ok(boundary) } else { Err(FormError::NoBoundary) }
}

/// A boundary as a parameter's value: in quotes where a bare word would not do.
pub(super) fn quoted(boundary: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if boundary.bytes().all(bare) { boundary.to_owned() } else { format!("\"{boundary}\"") }
}

/// A name inside quotes, as browsers write it.
pub(super) fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// Reads the header lines of a part; `None` when there is no form-data disposition with a name among them.
pub(super) fn read(head: &[u8]) -> Option<Facts> {
    let text = String::from_utf8_lossy(head);
    let mut facts = None;
    let mut content_type = None;
    for line in text.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-disposition") {
            facts = Some(disposition(value)?);
        } else if name.eq_ignore_ascii_case("content-type") {
            content_type = Some(value.trim().to_owned());
        }
    }
    let (name, file_name) = facts?;
    Some(Facts { name, file_name, content_type })
}

fn disposition(value: &str) -> Option<(String, Option<String>)> {
    let (kind, parameters) = value.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return None;
    }
    let (mut name, mut file_name, mut extended) = (None, None, None);
    for (key, value) in parameters_of(parameters) {
        if key.eq_ignore_ascii_case("name") {
            name = Some(value);
        } else if key.eq_ignore_ascii_case("filename") {
            file_name = Some(value);
        } else if key.eq_ignore_ascii_case("filename*") {
            extended = Some(value.rsplit('\'').next().unwrap_or_default().to_owned());
        }
    }
    Some((name?, file_name.or(extended)))
}

/// `; a=b; c="d;\"e"`: names and values. A backslash escapes a quote and nothing else: old browsers send paths.
fn parameters_of(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([';', ' ', '\t']);
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let value = match after.strip_prefix('"') {
            Some(inner) => {
                let end = closing_quote(inner)?;
                let (value, tail) = inner.split_at_checked(end)?;
                rest = tail.get(1..).unwrap_or("");
                value.replace("\\\"", "\"")
            }
            None => {
                let (value, tail) = after.split_at_checked(after.find(';').unwrap_or(after.len()))?;
                rest = tail;
                value.trim().to_owned()
            }
        };
        Some((name.trim(), value))
    })
}

fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let closes = |at: &usize| *at == 0 || bytes.get(at - 1) != Some(&b'\\');
    memchr::memchr_iter(b'"', bytes).find(closes)
}
