//! DashScope's own wire, where its OpenAI face does not reach: images and speech by multimodal generation.
//!
//! An image may be a task that is asked for until it ends; speech is offered at an address. Videos have their own
//! module (`video`).

use bytes::Bytes;
use http::Uri;
use serde_json::{Map, Value, json};

use super::chat::wrong;
use super::members::Members;
use super::{Encode, chat, follow};
use crate::objects::segment;
use crate::target::Encoded;
use crate::{Follow, Operation, Progress, Refusal, Reply, Step, Translator, Untranslatable};

/// OpenAI's parameters of images and speech; the others are DashScope's own.
const OPENAI: [&str; 13] = [
    "prompt",
    "n",
    "size",
    "quality",
    "style",
    "response_format",
    "background",
    "input",
    "voice",
    "speed",
    "instructions",
    "stream_format",
    "language_type",
];

/// The provider's body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let unsupported = || Refusal::unsupported(encode.target.provider.id, encode.operation);
    let own = encode.target.route_uri(encode.operation, encode.model)?.ok_or_else(unsupported)?;
    let (input, mut parameters) = if encode.operation == Operation::Images {
        image(&members)?
    } else if encode.operation == Operation::Speech {
        (speech(&members)?, Map::new())
    } else {
        return Err(unsupported());
    };
    for (name, raw) in members.foreign().filter(|(name, _)| !OPENAI.contains(name)) {
        parameters.insert(name.to_owned(), chat::value(raw)?);
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), encode.model.unwrap_or(&encode.target.wire_model).into());
    body.insert("input".to_owned(), input);
    if !parameters.is_empty() {
        body.insert("parameters".to_owned(), parameters.into());
    }
    let reader = Reader { created: encode.options.created, own, looks: 0 };
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    })
}

/// Reads the answers to any of its operations.
pub(super) fn translator(created: u64) -> Box<dyn Translator> {
    Box::new(Reader { created, own: Uri::default(), looks: 0 })
}

fn image(members: &Members<'_>) -> Result<(Value, Map<String, Value>), Refusal> {
    let prompt = members.text("prompt")?.ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?;
    let input = json!({ "messages": [{ "role": "user", "content": [{ "text": prompt }] }] });
    let mut parameters = Map::new();
    if let Some(size) = members.text("size")?.filter(|size| size != "auto") {
        parameters.insert("size".to_owned(), size.replace('x', "*").into());
    }
    if let Some(count) = members.read::<u64>("n", "a positive integer")?.filter(|count| *count != 1) {
        parameters.insert("n".to_owned(), count.into());
    }
    Ok((input, parameters))
}

fn speech(members: &Members<'_>) -> Result<Value, Refusal> {
    let text = members.text("input")?.ok_or_else(|| Refusal::invalid("input", "input is missing"))?;
    let mut input = Map::new();
    input.insert("text".to_owned(), text.into());
    for name in ["voice", "language_type"] {
        if let Some(value) = members.text(name)? {
            input.insert(name.to_owned(), value.into());
        }
    }
    Ok(input.into())
}

#[derive(Debug)]
struct Reader {
    created: u64,
    /// Where the call was made: whose host may see the credential.
    own: Uri,
    looks: usize,
}

impl Reader {
    fn task(&mut self, id: &str) -> Result<Follow, Untranslatable> {
        let id = segment(id).map_err(|refusal| Untranslatable(refusal.message))?;
        let scheme = self.own.scheme_str().unwrap_or("https");
        let host = self.own.authority().map_or("", |authority| authority.as_str());
        let uri: Result<Uri, _> = format!("{scheme}://{host}/api/v1/tasks/{id}").parse();
        let uri = uri.map_err(|error| Untranslatable(error.to_string()))?;
        let wait = follow::wait(self.looks);
        self.looks += 1;
        Ok(Follow { uri, wait, credential: true })
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        match self.progress(body)? {
            Progress::Done(answer) => Ok(answer),
            Progress::Again(_) | Progress::Fetch(_) | Progress::Refused(_) => {
                Err(Untranslatable("the answer is at another place".to_owned()))
            }
        }
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("images and speech are not streamed".to_owned())
    }

    fn continues(&self) -> bool {
        true
    }

    fn progress(&mut self, body: &[u8]) -> Result<Progress, Untranslatable> {
        let answer: Value = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
        let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
        if let Some(url) = text("/output/audio/url") {
            return follow::bytes(url, &self.own).map(Progress::Fetch);
        }
        let images = images(&answer);
        match (text("/output/task_id"), text("/output/task_status")) {
            (Some(id), Some("PENDING" | "RUNNING")) => self.task(id).map(Progress::Again),
            (Some(_), Some("FAILED" | "CANCELED" | "UNKNOWN")) => {
                let said = text("/output/message").unwrap_or("no reason is given");
                Err(Untranslatable(format!("the task failed: {said}")))
            }
            (_, _) if images.is_empty() => {
                Err(Untranslatable("there is neither an image nor sound in the answer".to_owned()))
            }
            (_, _) => {
                Ok(Progress::Done(json!({ "created": self.created, "data": images }).to_string().into()))
            }
        }
    }
}

/// The images of an answer or of a task.
fn images(answer: &Value) -> Vec<Value> {
    let list = |pointer: &str| answer.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let said = list("/output/choices")
        .filter_map(|choice| choice.pointer("/message/content")?.as_array())
        .flatten()
        .filter_map(|part| part.get("image"));
    let made = list("/output/results").filter_map(|result| result.get("url"));
    said.chain(made).map(|url| json!({ "url": url })).collect()
}
