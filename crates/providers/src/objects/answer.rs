//! Answers about objects, with the ids in them sealed.

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::{Change, Envelope};
use serde_json::value::RawValue;

use super::id::seal;
use crate::Operation;
use crate::target::json_string;

/// The members that hold the id of an object which the same deployment keeps.
const IDS: [&str; 7] = [
    "id",
    "input_file_id",
    "output_file_id",
    "error_file_id",
    "remixed_from_video_id",
    "first_id",
    "last_id",
];

/// The answer of `deployment` with ids that lead back to it; `None` when it is no JSON object. Everything else in it
/// keeps its bytes.
pub fn sealed(operation: Operation, deployment: &str, body: &[u8]) -> Option<Bytes> {
    let answer = Envelope::parse(body).ok()?;
    let list = answer.get("data").and_then(|data| serde_json::from_str::<Vec<&RawValue>>(data.get()).ok());
    let list = list.map(|items| {
        let items: Vec<Cow<'_, [u8]>> = items
            .into_iter()
            .map(|item| match Envelope::parse(item.get().as_bytes()) {
                Ok(item) => Cow::Owned(item.patched(&ids(operation, deployment, &item)).to_vec()),
                Err(_) => Cow::Borrowed(item.get().as_bytes()),
            })
            .collect();
        [b"[".as_slice(), &items.join(b",".as_slice()), b"]"].concat()
    });
    let mut changes = ids(operation, deployment, &answer);
    if let Some(list) = list {
        changes.push(Change::Set("data", Cow::Owned(list)));
    }
    Some(answer.patched(&changes))
}

fn ids(operation: Operation, deployment: &str, object: &Envelope<'_>) -> Vec<Change<'static>> {
    IDS.iter()
        .filter_map(|name| {
            let id = object.str(name).filter(|id| !id.is_empty())?;
            let usual = if name.ends_with("file_id") { "file-" } else { usual(operation) };
            Some(Change::Set(name, Cow::Owned(json_string(&seal(deployment, &id, usual)))))
        })
        .collect()
}

/// The prefix of ids whose provider gives them none.
const fn usual(operation: Operation) -> &'static str {
    match operation {
        Operation::Batches => "batch_",
        Operation::Videos => "video_",
        Operation::Files
        | Operation::Chat
        | Operation::Completions
        | Operation::Embeddings
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Rerank
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime
        | Operation::Ocr => "file-",
    }
}
