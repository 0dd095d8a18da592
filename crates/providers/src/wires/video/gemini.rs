//! Veo by the Gemini API: `predictLongRunning`, and operations.

use serde_json::{Map, Value, json};

use super::asked::{Asked, Picture};
use super::{Job, State};
use crate::Untranslatable;

pub(super) fn request(asked: &Asked) -> Map<String, Value> {
    let mut instance = Map::new();
    instance.insert("prompt".to_owned(), asked.prompt.as_str().into());
    match &asked.picture {
        Some(Picture::Data(kind, data)) => {
            let image = json!({ "bytesBase64Encoded": data, "mimeType": kind });
            instance.insert("image".to_owned(), image);
        }
        Some(Picture::Url(url)) => {
            instance.insert("image".to_owned(), json!({ "gcsUri": url }));
        }
        None => {}
    }
    let mut parameters = Map::new();
    if let Some((width, height)) = asked.size {
        parameters.insert("aspectRatio".to_owned(), (if width >= height { "16:9" } else { "9:16" }).into());
    }
    if let Some(seconds) = asked.seconds {
        parameters.insert("durationSeconds".to_owned(), seconds.into());
    }
    parameters.extend(asked.foreign.clone());
    let mut body = Map::new();
    body.insert("instances".to_owned(), json!([instance]));
    if !parameters.is_empty() {
        body.insert("parameters".to_owned(), parameters.into());
    }
    body
}

pub(super) fn read(answer: &Value) -> Result<Job, Untranslatable> {
    let name = answer.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| Untranslatable("the operation has no name".to_owned()))?;
    let mut job = Job { id: name.to_owned(), model: model(name), ..Job::default() };
    if answer.get("done").and_then(Value::as_bool) != Some(true) {
        job.state = if answer.get("metadata").is_some() { State::InProgress } else { State::Queued };
        return Ok(job);
    }
    job.state = State::Failed;
    if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
        let text = |name: &str| {
            error.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        };
        job.error = Some((text("code").unwrap_or_default(), text("message").unwrap_or_default()));
        return Ok(job);
    }
    let made = answer.pointer("/response/generateVideoResponse");
    job.video = made
        .and_then(|made| made.pointer("/generatedSamples/0/video/uri"))
        .and_then(Value::as_str)
        .map(str::to_owned);
    if job.video.is_some() {
        job.state = State::Completed;
    } else {
        let reasons =
            made.and_then(|made| made.pointer("/raiMediaFilteredReasons/0")).and_then(Value::as_str);
        let message = reasons.unwrap_or("the operation ended without a video");
        job.error = Some(("content_policy_violation".to_owned(), message.to_owned()));
    }
    Ok(job)
}

/// The model in `models/{model}/operations/{id}`.
fn model(name: &str) -> Option<String> {
    Some(name.strip_prefix("models/")?.split('/').next()?.to_owned())
}
