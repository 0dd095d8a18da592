//! Golden files of a wire, side by side in one folder: `*.request.json` → `*.upstream.json`,
//! `*.answer.json` → `*.out.json`, `*.stream` → `*.out.stream`. A result that is missing is written and fails, to
//! be read and kept.
//!
//! What a name begins with says the operation: `embed`, `complete`, `picture_`, `rerank`, or a chat. An answer is read by the call of
//! the request of the same name, if there is one.

use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};
use haleway_providers::{
    Call, CallOptions, EventReader, Framing, Operation, Reply, Step, Target, Translator,
};
use haleway_wire::Envelope;
use haleway_wire::eventstream::write_frame;
use serde_json::Value;

/// One wire's files.
pub(crate) struct Golden {
    folder: PathBuf,
    /// The deployment that serves a model; `group` stands for any.
    target: fn(&str, Operation) -> Target,
    /// The operation of all, where the names do not say it.
    operation: Option<Operation>,
}

impl Golden {
    pub(crate) fn new(wire: &str, target: fn(&str, Operation) -> Target) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(wire);
        Self { folder, target, operation: None }
    }

    /// Files of which all are of one operation.
    pub(crate) fn of(operation: Operation, folder: &str, target: fn(&str, Operation) -> Target) -> Self {
        Self { operation: Some(operation), ..Self::new(folder, target) }
    }

    pub(crate) fn inputs(&self, ending: &str) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = std::fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(ending) && !name.ends_with(".out.stream"))
            .map(|name| {
                let text = std::fs::read_to_string(self.folder.join(&name)).unwrap();
                (name.trim_end_matches(ending).to_owned(), text)
            })
            .collect();
        found.sort();
        found
    }

    pub(crate) fn compare(&self, name: &str, found: &str) {
        let path = self.folder.join(name);
        let Ok(golden) = std::fs::read_to_string(&path) else {
            std::fs::write(&path, found).unwrap();
            panic!("{name} was missing: read it, and keep it if it is right");
        };
        assert_eq!(found, golden, "{name}");
    }

    fn call(&self, name: &str, request: &str, stream: bool) -> Call {
        let model = serde_json::from_str::<Value>(request).unwrap()["model"].as_str().unwrap().to_owned();
        let operation = self.operation.unwrap_or_else(|| operation(name));
        let options = CallOptions { stream, created: 1_764_500_000, ..CallOptions::default() };
        (self.target)(&model, operation)
            .call(operation, &Envelope::parse(request.as_bytes()).unwrap(), None, options)
            .unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"))
    }

    /// The reader of the answers to a case.
    pub(crate) fn reader(&self, name: &str, stream: bool) -> Box<dyn Translator> {
        const ANY: &str =
            r#"{"model":"group","messages":[{"role":"user","content":"x"}],"input":"x","prompt":"x"}"#;
        const ANY_RESPONSE: &str = r#"{"model":"group","input":"x"}"#;
        let any = if self.operation == Some(Operation::Responses) { ANY_RESPONSE } else { ANY };
        let request = std::fs::read_to_string(self.folder.join(format!("{name}.request.json")));
        match self.call(name, &request.unwrap_or_else(|_| any.to_owned()), stream).reply {
            Reply::Translated(reader) => reader,
            Reply::Passthrough => panic!("{name}: not translated"),
        }
    }

    /// Every request; `also` looks at each call.
    pub(crate) fn requests(&self, least: usize, also: impl Fn(&str, &Call)) {
        let cases = self.inputs(".request.json");
        assert!(cases.len() >= least);
        for (name, text) in cases {
            let request: Value = serde_json::from_str(&text).unwrap();
            let call = self.call(&name, &text, request["stream"] == true);
            also(&name, &call);
            self.compare(&format!("{name}.upstream.json"), &pretty(&call.body.to_bytes()));
        }
    }

    /// Every whole answer.
    pub(crate) fn answers(&self, least: usize) {
        let cases = self.inputs(".answer.json");
        assert!(cases.len() >= least);
        for (name, text) in cases {
            let out = self.reader(&name, false).answer(text.as_bytes()).unwrap();
            self.compare(&format!("{name}.out.json"), &pretty(&out));
        }
    }

    /// Every stream; how each ended.
    pub(crate) fn streams(&self, least: usize) -> Vec<(String, Step)> {
        let cases = self.inputs(".stream");
        assert!(cases.len() >= least);
        cases
            .into_iter()
            .map(|(name, text)| {
                let (mut out, last) = streamed(self.reader(&name, true), &text);
                let is_chat = self.operation.is_none_or(|operation| operation == Operation::Chat);
                if last == Step::Done && is_chat {
                    out.push_str("data: [DONE]\n\n");
                }
                self.compare(&format!("{name}.out.stream"), &out);
                (name, last)
            })
            .collect()
    }
}

fn operation(name: &str) -> Operation {
    if name.starts_with("embed") {
        Operation::Embeddings
    } else if name.starts_with("complete") {
        Operation::Completions
    } else if name.starts_with("picture_") {
        Operation::Images
    } else if name.starts_with("rerank") {
        Operation::Rerank
    } else {
        Operation::Chat
    }
}

/// AWS frames of lines `name payload`; the name of an exception begins with `exception:`.
pub(crate) fn framed(text: &str) -> Vec<u8> {
    let mut out = BytesMut::new();
    for line in text.lines() {
        let (name, payload) = line.split_once(' ').unwrap();
        let headers = match name.strip_prefix("exception:") {
            Some(name) => [(":message-type", "exception"), (":exception-type", name)],
            None => [(":message-type", "event"), (":event-type", name)],
        };
        write_frame(&mut out, &headers, payload.as_bytes()).unwrap();
    }
    out.to_vec()
}

pub(crate) fn pretty(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap();
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap())
}

/// Runs a stream through a reader: its chunks as the client gets them, and how it ended. Events after the end
/// must say nothing.
fn streamed(reader: Box<dyn Translator>, text: &str) -> (String, Step) {
    let mut reply = Reply::Translated(reader);
    let mut decoder = EventReader::new(reply.framing());
    match reply.framing() {
        Framing::Sse | Framing::JsonLines => decoder.push(text.as_bytes()),
        Framing::AwsEventStream => decoder.push(&framed(text)),
    }
    let Reply::Translated(reader) = &mut reply else { panic!("not translated") };
    let mut out = String::new();
    let mut last = Step::More;
    let mut ended = false;
    while let Some(event) = decoder.next_event().unwrap().or_else(|| decoder.finish()) {
        let mut chunks: Vec<Bytes> = Vec::new();
        let step = reader.event(event.name(), &event.data, &mut chunks);
        assert!(!ended || (chunks.is_empty() && step == Step::More), "the stream says more after its end");
        for chunk in chunks {
            serde_json::from_slice::<Value>(&chunk).unwrap();
            out.push_str(&format!("data: {}\n\n", std::str::from_utf8(&chunk).unwrap()));
        }
        if !ended {
            ended = step == Step::Done;
            last = step;
        }
    }
    if !ended {
        let mut chunks = Vec::new();
        if reader.end(&mut chunks) == Step::Done {
            last = Step::Done;
        }
        for chunk in chunks {
            out.push_str(&format!("data: {}\n\n", std::str::from_utf8(&chunk).unwrap()));
        }
    }
    (out, last)
}
