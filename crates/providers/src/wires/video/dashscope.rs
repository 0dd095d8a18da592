//! DashScope's video tasks.

use serde_json::{Map, Value};

use super::asked::{Asked, Picture};
use super::{Job, State};
use crate::Untranslatable;

pub(super) fn request(model: &str, asked: &Asked) -> Map<String, Value> {
    let mut input = Map::new();
    input.insert("prompt".to_owned(), asked.prompt.as_str().into());
    match &asked.picture {
        Some(Picture::Data(kind, data)) => {
            input.insert("img_url".to_owned(), format!("data:{kind};base64,{data}").into());
        }
        Some(Picture::Url(url)) => {
            input.insert("img_url".to_owned(), url.as_str().into());
        }
        None => {}
    }
    let mut parameters = Map::new();
    if let Some((width, height)) = asked.size {
        parameters.insert("size".to_owned(), format!("{width}*{height}").into());
    }
    if let Some(seconds) = asked.seconds {
        parameters.insert("duration".to_owned(), seconds.into());
    }
    parameters.extend(asked.foreign.clone());
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("input".to_owned(), input.into());
    if !parameters.is_empty() {
        body.insert("parameters".to_owned(), parameters.into());
    }
    body
}

pub(super) fn read(answer: &Value) -> Result<Job, Untranslatable> {
    let text = |name: &str| answer.pointer(&format!("/output/{name}")).and_then(Value::as_str);
    let id = text("task_id").ok_or_else(|| Untranslatable("there is no task_id".to_owned()))?;
    let mut job = Job { id: id.to_owned(), video: text("video_url").map(str::to_owned), ..Job::default() };
    job.state = match text("task_status") {
        Some("RUNNING") => State::InProgress,
        Some("SUCCEEDED") => State::Completed,
        // UNKNOWN is a task that has expired.
        Some("FAILED" | "CANCELED" | "UNKNOWN") => State::Failed,
        Some(_) | None => State::Queued,
    };
    if job.state == State::Failed {
        let code = text("code").or_else(|| text("task_status")).unwrap_or_default();
        job.error = Some((code.to_owned(), text("message").unwrap_or_default().to_owned()));
    }
    Ok(job)
}
