//! Videos on wires that are not OpenAI's: Google's long-running predictions, DashScope's and Volcengine's tasks.
//!
//! All three take a request, give back the name of a job, and are asked for it later; the finished job says where its
//! video is. So each is a table of words ([`Face`]) around one reader.

mod asked;
mod dashscope;
mod gemini;
mod volcengine;

use bytes::Bytes;
use http::{HeaderValue, Method, Uri, header};
use serde_json::{Map, Value, json};

use super::chat::{written_for, wrong};
use super::follow;
use crate::objects::{Action, Errand, segment};
use crate::registry::Wire;
use crate::target::Target;
use crate::{Call, CallOptions, Operation, Progress, Refusal, Reply, Step, Translator, Untranslatable};

use asked::Asked;

/// Whose words are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    Gemini,
    DashScope,
    Volcengine,
}

const FACES: [(Wire, Face); 3] =
    [(Wire::Gemini, Face::Gemini), (Wire::DashScope, Face::DashScope), (Wire::Jobs, Face::Volcengine)];

/// A job as its provider tells it.
#[derive(Debug, Default)]
struct Job {
    id: String,
    state: State,
    model: Option<String>,
    created: Option<u64>,
    seconds: Option<String>,
    /// Where the video is, once there is one.
    video: Option<String>,
    /// Code and message of a failure.
    error: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Queued,
    InProgress,
    Completed,
    Failed,
}

impl State {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// The call that does an errand on `wire`.
pub(crate) fn errand(
    target: &Target,
    wire: Wire,
    errand: &Errand<'_>,
    model: Option<&str>,
    options: CallOptions,
) -> Result<Call, Refusal> {
    let unsupported = || Refusal::unsupported(target.provider.id, Operation::Videos);
    let face = FACES.iter().find(|(spoken, _)| *spoken == wire).map(|(_, face)| *face);
    let face = face.ok_or_else(unsupported)?;
    let create = target.route_uri(Operation::Videos, model)?.ok_or_else(unsupported)?;
    let name = model.unwrap_or(&target.wire_model);
    let (uri, body) = match errand.action {
        Action::Create => {
            let body = face.request(name, &Asked::read(errand.body)?);
            (create.clone(), Some(written_for(target, body)))
        }
        Action::Get(id) | Action::Content(id) => (face.job(target, &create, id)?, None),
        Action::Delete(id) if face == Face::Volcengine => (face.job(target, &create, id)?, None),
        Action::List if face == Face::Volcengine => (create.clone(), None),
        Action::Delete(_) | Action::List | Action::Cancel(_) | Action::Remix(_) => {
            let message =
                format!("{} keeps no list of videos that could be shown or changed", target.provider.id);
            return Err(Refusal { code: "unsupported_operation", ..Refusal::invalid("id", message) });
        }
    };
    let mut call = target.bare(errand.action.method(), uri);
    if let Some(body) = body {
        call.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        call.body = body.into();
    }
    if face == Face::DashScope && call.method == Method::POST {
        call.headers.insert("x-dashscope-async", HeaderValue::from_static("enable"));
    }
    call.reply = Reply::Translated(Box::new(Reader {
        face,
        own: create,
        created: options.created,
        model: name.to_owned(),
        asks_for: match errand.action {
            Action::Content(_) => Wanted::Bytes,
            Action::List => Wanted::List,
            Action::Delete(id) => Wanted::Removal(id.to_owned()),
            Action::Create | Action::Get(_) | Action::Cancel(_) | Action::Remix(_) => Wanted::One,
        },
    }));
    Ok(call)
}

impl Face {
    fn request(self, model: &str, asked: &Asked) -> Map<String, Value> {
        match self {
            Self::Gemini => gemini::request(asked),
            Self::DashScope => dashscope::request(model, asked),
            Self::Volcengine => volcengine::request(model, asked),
        }
    }

    /// Where a job is asked for.
    fn job(self, target: &Target, create: &Uri, id: &str) -> Result<Uri, Refusal> {
        let root = format!(
            "{}://{}",
            create.scheme_str().unwrap_or("https"),
            create.authority().map_or("", |authority| authority.as_str())
        );
        let text = match self {
            // The name of an operation is a path.
            Self::Gemini => {
                let path = id.split('/').map(segment).collect::<Result<Vec<_>, _>>()?.join("/");
                format!("{}/{path}", target.api_base)
            }
            Self::DashScope => format!("{root}/api/v1/tasks/{}", segment(id)?),
            Self::Volcengine => format!("{root}{}/{}", create.path(), segment(id)?),
        };
        text.parse().map_err(|_| Refusal::invalid("id", "the id makes no URL"))
    }

    fn read(self, answer: &Value) -> Result<Job, Untranslatable> {
        match self {
            Self::Gemini => gemini::read(answer),
            Self::DashScope => dashscope::read(answer),
            Self::Volcengine => volcengine::read(answer),
        }
    }
}

/// What the caller wants of the answer.
#[derive(Debug)]
enum Wanted {
    One,
    List,
    Bytes,
    Removal(String),
}

#[derive(Debug)]
struct Reader {
    face: Face,
    /// Where jobs are made: whose host may see the credential.
    own: Uri,
    created: u64,
    model: String,
    asks_for: Wanted,
}

impl Reader {
    /// A job in OpenAI's shape.
    fn video(&self, job: Job) -> Value {
        let mut video = Map::new();
        let progress = if job.state == State::Completed { 100 } else { 0 };
        video.insert("id".to_owned(), job.id.into());
        video.insert("object".to_owned(), "video".into());
        video.insert("created_at".to_owned(), job.created.unwrap_or(self.created).into());
        video.insert("status".to_owned(), job.state.as_str().into());
        video.insert("model".to_owned(), job.model.unwrap_or_else(|| self.model.clone()).into());
        video.insert("progress".to_owned(), progress.into());
        if let Some(seconds) = job.seconds {
            video.insert("seconds".to_owned(), seconds.into());
        }
        let error = job.error.map(|(code, message)| json!({ "code": code, "message": message }));
        video.insert("error".to_owned(), error.unwrap_or(Value::Null));
        video.into()
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        match &self.asks_for {
            Wanted::Removal(id) => {
                let gone = json!({ "id": id, "object": "video.deleted", "deleted": true });
                Ok(gone.to_string().into())
            }
            Wanted::List => {
                let answer: Value = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
                let items = answer.get("items").and_then(Value::as_array);
                let items = items.ok_or_else(|| Untranslatable("there is no list of tasks".to_owned()))?;
                let jobs = items.iter().map(|item| Ok(self.video(self.face.read(item)?)));
                let data = jobs.collect::<Result<Vec<Value>, Untranslatable>>()?;
                Ok(json!({ "object": "list", "data": data, "has_more": false }).to_string().into())
            }
            Wanted::One | Wanted::Bytes => {
                let answer: Value = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
                Ok(self.video(self.face.read(&answer)?).to_string().into())
            }
        }
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a video's job is not streamed".to_owned())
    }

    fn continues(&self) -> bool {
        matches!(self.asks_for, Wanted::Bytes)
    }

    fn progress(&mut self, body: &[u8]) -> Result<Progress, Untranslatable> {
        if !self.continues() {
            return self.answer(body).map(Progress::Done);
        }
        let answer: Value = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
        let job = self.face.read(&answer)?;
        match job.video {
            Some(video) if job.state == State::Completed => {
                follow::bytes(&video, &self.own).map(Progress::Fetch)
            }
            Some(_) | None => {
                let message = format!("there is no video: its job is {}", job.state.as_str());
                Ok(Progress::Refused(Refusal { code: "not_ready", ..Refusal::invalid("id", message) }))
            }
        }
    }
}
