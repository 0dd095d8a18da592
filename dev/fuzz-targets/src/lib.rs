//! What any bytes must never break, one function per parser that reads what others wrote: each takes bytes and panics when a
//! promise is broken.
//!
//! The fuzzer (`fuzz/`) calls them with inputs that it grows; the tests here call them with the corpus and with a bounded
//! number of changes of it, so that every run of the suite exercises them without a fuzzer.
#![expect(clippy::expect_used, clippy::panic, reason = "a broken promise ends the run")]

mod provider;

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use haleway_config::{Options, Source, load, render};
use haleway_wire::{Change, Envelope, Form, eventstream, sse, wait};
use http::{HeaderMap, HeaderName, HeaderValue};

pub use provider::{answer, bridge, stream};

/// One target.
pub type Target = fn(&[u8]);

/// Every target by its name, which is also the name of its corpus.
pub const TARGETS: [(&str, Target); 9] = [
    ("sse", events),
    ("eventstream", frames),
    ("envelope", envelope),
    ("wait", waits),
    ("config", config),
    ("form", form),
    ("answer", answer),
    ("stream", stream),
    ("bridge", bridge),
];

/// Splits off the first bytes as small numbers that steer the rest.
pub(crate) fn steered<const N: usize>(data: &[u8]) -> ([usize; N], &[u8]) {
    let (head, rest) = data.split_at_checked(N).unwrap_or((&[], data));
    let mut numbers = [0; N];
    for (number, byte) in numbers.iter_mut().zip(head) {
        *number = usize::from(*byte);
    }
    (numbers, rest)
}

/// Server-sent events: in whatever pieces they come, the raw bytes of all events are the stream.
pub fn events(data: &[u8]) {
    let ([step], input) = steered::<1>(data);
    let mut decoder = sse::Decoder::new(64 * 1024);
    let mut whole = Vec::new();
    for piece in input.chunks(step + 1) {
        decoder.push(piece);
        while let Ok(Some(event)) = decoder.next_event() {
            whole.extend_from_slice(&event.raw);
        }
    }
    if let Some(event) = decoder.finish() {
        whole.extend_from_slice(&event.raw);
    }
    assert_eq!(whole, input, "bytes were lost or made up");
    // What is written reads back as one event with the same lines.
    let mut out = BytesMut::new();
    sse::write_event(&mut out, Some("x"), input);
    let mut again = sse::Decoder::default();
    again.push(&out);
    let event = again.next_event().ok().flatten().expect("an event that was written");
    assert_eq!(event.name(), Some("x"));
}

/// Frames of an AWS event stream: what is accepted is within the input, and what is written reads back.
pub fn frames(data: &[u8]) {
    let ([step], input) = steered::<1>(data);
    let mut decoder = eventstream::Decoder::default();
    let mut total = 0;
    for piece in input.chunks(step + 1) {
        decoder.push(piece);
        while let Ok(Some(frame)) = decoder.next_frame() {
            total += frame.raw.len();
        }
    }
    assert!(total <= input.len(), "frames are larger than their stream");
    let mut out = BytesMut::new();
    if eventstream::write_frame(&mut out, &[(":event-type", "x")], input).is_ok() {
        let mut decoder = eventstream::Decoder::default();
        decoder.push(&out);
        let frame = decoder.next_frame().ok().flatten().expect("a frame that was written");
        assert_eq!(frame.payload, input);
    }
}

/// A JSON body: its members are found as JSON has them, and a change leaves every other byte's meaning.
pub fn envelope(data: &[u8]) {
    let Ok(envelope) = Envelope::parse(data) else { return };
    let parsed: serde_json::Value = serde_json::from_slice(data).expect("an envelope is JSON");
    let members = parsed.as_object().expect("an envelope is an object");
    for (name, value) in members {
        let found = envelope.get(name).expect("a member that is there");
        let found: serde_json::Value = serde_json::from_str(found.get()).expect("a member is JSON");
        assert_eq!(&found, value, "{name}");
    }
    let patched = envelope.patched(&[Change::set_str("model", "x\"y")]);
    let after: serde_json::Value = serde_json::from_slice(&patched).expect("a changed envelope is JSON");
    assert_eq!(after.get("model").and_then(serde_json::Value::as_str), Some("x\"y"));
    for (name, value) in members.iter().filter(|(name, _)| *name != "model") {
        assert_eq!(after.get(name), Some(value), "{name}");
    }
}

/// Waits in headers and bodies: never longer than the cap.
pub fn waits(data: &[u8]) {
    const NAMES: [&str; 6] = [
        "retry-after",
        "retry-after-ms",
        "x-ratelimit-reset-requests",
        "x-ratelimit-reset-tokens",
        "anthropic-ratelimit-requests-reset",
        "ratelimit-reset",
    ];
    const CAP: Duration = Duration::from_secs(3600);
    let ([which, now], rest) = steered::<2>(data);
    let split = rest.len() / 2;
    let (value, body) = rest.split_at_checked(split).unwrap_or((rest, &[]));
    let mut headers = HeaderMap::new();
    let name = NAMES.get(which % NAMES.len()).copied().unwrap_or("retry-after");
    if let Ok(value) = HeaderValue::from_bytes(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
    let now = (now as u64) << 36;
    for found in [wait::parse(&headers, body, now, CAP), wait::from_headers(&headers, now, CAP)] {
        assert!(found.is_none_or(|wait| wait.length <= CAP), "{found:?}");
    }
}

/// A configuration file that includes itself.
struct Alone<'a>(&'a [u8]);

impl Source for Alone<'_> {
    fn read(&self, _path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.0.to_vec())
    }

    fn var(&self, name: &str) -> Option<String> {
        (name == "SET").then(|| "sk-canary-1".to_owned())
    }
}

/// A configuration: findings stand inside the file, and can be shown.
pub fn config(data: &[u8]) {
    let loaded = load(Path::new("config.yaml"), &Alone(data), &Options::default());
    let lines = String::from_utf8_lossy(data).lines().count() + 1;
    for found in &loaded.diagnostics {
        assert!(found.line as usize <= lines, "line {} of {lines}: {}", found.line, found.message);
        assert!(found.line == 0 || found.column > 0, "a line without a column");
    }
    assert!(loaded.config.is_some() || !loaded.diagnostics.is_empty(), "refused without a word");
    let shown = render(&loaded.diagnostics, false);
    assert!(!shown.contains("sk-canary-1"), "a secret is shown");
}

/// A form: what is read can be written and read again.
pub fn form(data: &[u8]) {
    let Ok(form) = Form::parse("multipart/form-data; boundary=b", &Bytes::copy_from_slice(data)) else {
        return;
    };
    let mut copy = Form::new("b2");
    for part in form.parts() {
        match part.text() {
            Some(text) if part.file_name.is_none() => copy.push_text(&part.name, text),
            Some(_) | None => {}
        }
    }
    let parts = copy.parts().len();
    assert!(parts <= form.parts().len());
}
