//! What providers keep: files, batches, videos and predictions; and pages that are read.
//!
//! Nothing is remembered: an object that is asked for exists, and has come to its good end. So any id works, and a test
//! that wants one that does not scripts a status.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::answer::{Reply, Told};
use crate::request::{Call, Operation};

/// The bytes of every video: the head of an MP4.
const MP4: &[u8] = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom";

/// The answer to a call about an object.
pub(crate) fn answer(operation: Operation, call: &Call, told: &Told) -> Reply {
    if operation == Operation::Ocr {
        return Reply::Json(page(told));
    }
    let (id, verb) = place(call.path());
    let method = &call.head.method;
    if verb == Some("content") {
        return if operation == Operation::Videos {
            Reply::Raw("video/mp4", Bytes::from_static(MP4))
        } else {
            Reply::Raw(
                "application/octet-stream",
                Bytes::from(format!("content of {}", id.unwrap_or_default())),
            )
        };
    }
    let made = format!("{}{}", prefix(operation), told.id);
    let object = if operation == Operation::Files {
        file(id.unwrap_or(&made), call, told)
    } else if operation == Operation::Batches {
        batch(id.unwrap_or(&made), verb.or(id.map(|_| "done")), call, told)
    } else if operation == Operation::Videos {
        video(id.filter(|_| verb.is_none()).unwrap_or(&made), id, told)
    } else {
        prediction(id.unwrap_or(&made), told)
    };
    Reply::Json(match (method, id) {
        (&Method::GET, None) => {
            let first = object["id"].clone();
            json!({
                "object": "list",
                "data": [object],
                "has_more": false,
                "first_id": first,
                "last_id": first,
            })
        }
        (&Method::DELETE, Some(id)) => json!({"id": id, "object": object["object"], "deleted": true}),
        (_, _) => object,
    })
}

/// The object's id and what follows it.
fn place(path: &str) -> (Option<&str>, Option<&str>) {
    let mut segments = path.trim_end_matches('/').split('/');
    let _resource = segments.find(|segment| ["files", "batches", "videos", "predictions"].contains(segment));
    (segments.next(), segments.next())
}

fn prefix(operation: Operation) -> &'static str {
    const PREFIXES: [(Operation, &str); 3] =
        [(Operation::Files, "file-"), (Operation::Batches, "batch_"), (Operation::Videos, "video_")];
    PREFIXES.iter().find(|(kept, _)| *kept == operation).map_or("", |(_, prefix)| prefix)
}

fn file(id: &str, call: &Call, told: &Told) -> Value {
    json!({
        "id": id,
        "object": "file",
        "bytes": call.raw.len(),
        "created_at": told.created,
        "filename": "mock.jsonl",
        "purpose": "batch",
        "status": "processed",
    })
}

/// `state` is what is done to an existing batch; a new one is being validated.
fn batch(id: &str, state: Option<&str>, call: &Call, told: &Told) -> Value {
    let status = match state {
        None => "validating",
        Some("cancel") => "cancelling",
        Some(_) => "completed",
    };
    json!({
        "id": id,
        "object": "batch",
        "endpoint": call.body.get("endpoint").and_then(Value::as_str).unwrap_or("/v1/chat/completions"),
        "completion_window": "24h",
        "created_at": told.created,
        "input_file_id": call.body.get("input_file_id").and_then(Value::as_str).unwrap_or("file-input"),
        "output_file_id": (status == "completed").then_some("file-output"),
        "error_file_id": null,
        "status": status,
        "request_counts": {"total": 1, "completed": 1, "failed": 0},
    })
}

/// `of` is an existing video; without it, or beside it, a new one is queued.
fn video(id: &str, of: Option<&str>, told: &Told) -> Value {
    let is_new = of != Some(id);
    json!({
        "id": id,
        "object": "video",
        "created_at": told.created,
        "model": told.model,
        "status": if is_new { "queued" } else { "completed" },
        "progress": if is_new { 0 } else { 100 },
        "seconds": "4",
        "size": "720x1280",
        "remixed_from_video_id": of.filter(|_| is_new),
    })
}

fn prediction(id: &str, told: &Told) -> Value {
    json!({
        "id": id,
        "model": told.model,
        "status": "succeeded",
        "output": told.pieces,
        "error": null,
        "metrics": {"input_token_count": told.prompt_tokens, "output_token_count": told.completion_tokens},
    })
}

fn page(told: &Told) -> Value {
    json!({
        "pages": [{
            "index": 0,
            "markdown": told.text(),
            "images": [],
            "dimensions": {"dpi": 200, "height": 120, "width": 296},
        }],
        "model": told.model,
        "usage_info": {"pages_processed": 1, "doc_size_bytes": 1024},
    })
}
