//! Volcengine's tasks of content generation.

use serde_json::{Map, Value, json};

use super::asked::{Asked, Picture};
use super::{Job, State};
use crate::Untranslatable;

pub(super) fn request(model: &str, asked: &Asked) -> Map<String, Value> {
    let mut content = vec![json!({ "type": "text", "text": asked.prompt })];
    let url = match &asked.picture {
        Some(Picture::Data(kind, data)) => Some(format!("data:{kind};base64,{data}")),
        Some(Picture::Url(url)) => Some(url.clone()),
        None => None,
    };
    if let Some(url) = url {
        content.push(json!({ "type": "image_url", "image_url": { "url": url } }));
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("content".to_owned(), content.into());
    if let Some((width, height)) = asked.size {
        body.insert("ratio".to_owned(), (if width >= height { "16:9" } else { "9:16" }).into());
    }
    if let Some(seconds) = asked.seconds {
        body.insert("duration".to_owned(), seconds.into());
    }
    body.extend(asked.foreign.clone());
    body
}

pub(super) fn read(answer: &Value) -> Result<Job, Untranslatable> {
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let id = text("/id").ok_or_else(|| Untranslatable("the task has no id".to_owned()))?;
    let state = match text("/status").as_deref() {
        Some("running") => State::InProgress,
        Some("succeeded") => State::Completed,
        Some("failed" | "cancelled" | "expired") => State::Failed,
        Some(_) | None => State::Queued,
    };
    let error = (state == State::Failed).then(|| {
        let code = text("/error/code").or_else(|| text("/status"));
        (code.unwrap_or_default(), text("/error/message").unwrap_or_default())
    });
    Ok(Job {
        id,
        state,
        model: text("/model"),
        created: answer.get("created_at").and_then(Value::as_u64),
        seconds: answer.get("duration").and_then(Value::as_u64).map(|seconds| seconds.to_string()),
        video: text("/content/video_url"),
        error,
    })
}
