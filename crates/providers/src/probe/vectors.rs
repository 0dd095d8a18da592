//! Embeddings that are vectors and rankings that rank.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::verdict::Verdict;

/// An embedding answer: the first vector is non-empty, finite, not all zero and of the configured length.
pub(super) fn embedding(value: &Value, dimensions: Option<usize>) -> Verdict {
    let Some(first) = value.get("data").and_then(Value::as_array).and_then(|data| data.first()) else {
        return Verdict::Malformed("no embeddings".to_owned());
    };
    let vector = match first.get("embedding") {
        Some(Value::Array(list)) => list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>(),
        Some(Value::String(text)) => floats(text),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => None,
    };
    let Some(vector) = vector.filter(|vector| vector.iter().all(|number| number.is_finite())) else {
        return Verdict::Malformed("the embedding is no list of finite numbers".to_owned());
    };
    if vector.is_empty() {
        return Verdict::Malformed("the embedding is empty".to_owned());
    }
    match dimensions {
        Some(dimensions) if dimensions != vector.len() => Verdict::Malformed(format!(
            "the embedding has {} dimensions, {dimensions} are configured",
            vector.len()
        )),
        Some(_) | None if vector.iter().all(|number| *number == 0.0) => Verdict::Blank,
        Some(_) | None => Verdict::Usable,
    }
}

/// The little-endian `f32`s of a base64 text.
fn floats(text: &str) -> Option<Vec<f64>> {
    let bytes = STANDARD.decode(text).ok()?;
    if bytes.is_empty() || bytes.len() % 4 != 0 {
        return None;
    }
    let float =
        |chunk: &[u8]| <[u8; 4]>::try_from(chunk).ok().map(|bytes| f64::from(f32::from_le_bytes(bytes)));
    bytes.chunks_exact(4).map(float).collect()
}

/// A ranking: non-empty, every index is a document's, every score a number.
pub(super) fn rerank(value: &Value, documents: usize) -> Verdict {
    let list = ["results", "data", "rankings"].iter().find_map(|key| value.get(*key)).unwrap_or(value);
    let Some(list) = list.as_array().filter(|list| !list.is_empty()) else {
        return Verdict::Malformed("no results".to_owned());
    };
    for row in list {
        let index = row.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        if index.is_none_or(|index| index >= documents.max(1)) {
            return Verdict::Malformed("a result names a document that was not sent".to_owned());
        }
        let score =
            ["relevance_score", "relevanceScore", "score", "logit"].iter().find_map(|key| row.get(*key));
        if !score.and_then(Value::as_f64).is_some_and(f64::is_finite) {
            return Verdict::Malformed("a result has no score".to_owned());
        }
    }
    Verdict::Usable
}
