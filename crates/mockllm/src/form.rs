//! Forms as the mock reads them: fields as members, files as what is to be known of them.

use bytes::Bytes;
use memchr::memmem::find;
use serde_json::{Map, Value, json};

/// The fields and files of a form; `None` when the body is none.
///
/// A file becomes `{"filename": …, "content_type": …, "bytes": …}`, a name with brackets a list.
pub(crate) fn read(content_type: &str, body: &Bytes) -> Option<Value> {
    let (kind, parameters) = content_type.split_once(';')?;
    let boundary = parameters.trim().strip_prefix("boundary=").filter(|_| kind == "multipart/form-data")?;
    let mark = format!("--{}", boundary.trim_matches('"'));
    let mut members = Map::new();
    let mut rest = find(body, mark.as_bytes()).map(|at| body.slice(at + mark.len()..))?;
    while let Some(part) = rest.strip_prefix(b"\r\n").map(|_| rest.slice(2..)) {
        let end = find(&part, format!("\r\n{mark}").as_bytes())?;
        rest = part.slice(end + 2 + mark.len()..);
        let part = part.slice(..end);
        let head = find(&part, b"\r\n\r\n")?;
        let lines = String::from_utf8_lossy(part.get(..head)?).into_owned();
        put(&mut members, &lines, &part.slice(head + 4..))?;
    }
    Some(Value::Object(members))
}

fn put(members: &mut Map<String, Value>, head: &str, content: &[u8]) -> Option<()> {
    let quoted = |name: &str| {
        let (_, rest) = head.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let name = quoted("; name")?;
    let value = match quoted("; filename") {
        Some(filename) => {
            let kind = head.lines().find_map(|line| line.strip_prefix("Content-Type: "));
            json!({"filename": filename, "content_type": kind, "bytes": content.len()})
        }
        None => match &*String::from_utf8_lossy(content) {
            "true" => Value::Bool(true),
            text => Value::from(text),
        },
    };
    match name.strip_suffix("[]") {
        None => {
            members.insert(name, value);
        }
        Some(name) => {
            let list = members.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut()?.push(value);
        }
    }
    Some(())
}
