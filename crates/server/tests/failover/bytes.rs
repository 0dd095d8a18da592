//! Any bytes as a provider's answer: whatever comes, the caller is served by another deployment or told a named class,
//! within the limits of time and memory, and so is the operator who probes.
//!
//! The provider here is a bare socket, because no HTTP server would send these bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use haleway_testkit::Yaml;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::bed::{Bed, Got, KEY, Kind, Topology, yaml};
use crate::cases::Provider;

/// Limits of time of the first deployment.
const LIMIT: Duration = Duration::from_millis(500);
/// No answer is read beyond its limit of 128 MiB; the rest is what the kernel holds.
const MOST: u64 = 160 * 1024 * 1024;
/// The same of a probe, whose limit is 8 MiB.
const MOST_OF_A_PROBE: u64 = 24 * 1024 * 1024;

/// What a socket sends once a request has come.
#[derive(Clone, Debug)]
pub(crate) struct Sends {
    first: Vec<u8>,
    /// Then this, for as long as the other side takes it.
    for_ever: Option<&'static [u8]>,
    /// Closes afterwards instead of staying silent.
    closes: bool,
    sent: Arc<AtomicU64>,
}

impl Sends {
    fn once(bytes: impl Into<Vec<u8>>) -> Self {
        Self { first: bytes.into(), for_ever: None, closes: true, sent: Arc::default() }
    }

    fn whole(head: &str, body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let length = body.len();
        let head = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n");
        Self::once([head.as_bytes(), body].concat())
    }

    fn endless(head: &str, bytes: &'static [u8]) -> Self {
        let head = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n");
        Self { for_ever: Some(bytes), ..Self::once(head) }
    }

    fn silent_after(mut self) -> Self {
        self.closes = false;
        self
    }

    /// Listens until the test ends.
    pub(crate) async fn listen(self) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        #[expect(clippy::disallowed_methods, reason = "ends with the test's runtime")]
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.clone().serve(stream));
            }
        });
        address
    }

    /// One connection. The other side may go at any time: then there is nobody left to send to.
    async fn serve(self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut request = Vec::new();
        while memchr::memmem::find(&request, b"\r\n\r\n").is_none() {
            if stream.read_buf(&mut request).await? == 0 {
                return Ok(());
            }
        }
        stream.write_all(&self.first).await?;
        self.sent.fetch_add(self.first.len() as u64, Ordering::Relaxed);
        if let Some(bytes) = self.for_ever {
            let block = bytes.repeat(1 + 16 * 1024 / bytes.len());
            loop {
                stream.write_all(&block).await?;
                self.sent.fetch_add(block.len() as u64, Ordering::Relaxed);
            }
        }
        if self.closes {
            stream.shutdown().await?;
        }
        // The request's rest, so that closing is no reset; and silence until the other side hangs up.
        while stream.read_buf(&mut request).await? > 0 {
            request.clear();
        }
        Ok(())
    }
}

const JSON: &str = "200 OK\r\ncontent-type: application/json";
const EVENTS: &str = "200 OK\r\ncontent-type: text/event-stream";
const PAGE: &str = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Sign in</body></html>";
/// A gzip stream that unfolds to ten megabytes of zeros begins like this; nobody asked for it.
const GZIP: &[u8] =
    &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xed, 0xc1, 1, 1, 0, 0, 0, 0x80, 0x90, 0xfe, 0xaf, 0xee, 8, 0x0a];

/// Four gigabytes of zeros, folded twice into seven kilobytes.
const BOMB: &[u8] = include_bytes!("../fixtures/bomb.json.gz.gz");

/// What a failure must be called: one of these words, as the header of the attempts shows it.
type Words = &'static [&'static str];

const CLOSED: Words = &["connection_closed", "connection_reset"];
const NO_HTTP: Words = &["bad_http"];
const CUT: Words = &["stream_cut"];
const LATE: Words = &["total", "first_token"];
/// It came, and is no answer.
const UNUSABLE: Words = &[
    "malformed_response",
    "bad_answer",
    "bad_event",
    "bad_frame",
    "no_output",
    "empty_stream",
    "event_too_large",
    "answer_too_large",
];

/// One thing that may come, and what it must be called.
struct Came {
    name: &'static str,
    sends: Sends,
    words: Words,
}

fn came() -> Vec<Came> {
    let case = |name, sends, words| Came { name, sends, words };
    let broken = |rest: &str| Sends::once(format!("HTTP/1.1 {rest}"));
    let many_headers = (0..500).map(|n| format!("\r\nx-h{n}: v")).collect::<String>();
    let long_header = format!("{JSON}\r\nx-long: {}", "a".repeat(1024 * 1024));
    let not_utf8 = b"{\"choices\":[{\"message\":{\"content\":\"\xff\xfe\"}}]}";
    // Which limit comes first, size or time, is the machine's business.
    let endless: Words = &["total", "first_token", "answer_too_large", "event_too_large", "bad_frame"];
    vec![
        case("nothing", Sends::once(""), CLOSED),
        case("no HTTP", Sends::once("SSH-2.0-OpenSSH_9.2\r\n"), NO_HTTP),
        case("bytes", Sends::once([0xff_u8; 64]), NO_HTTP),
        case("half a head", broken("200 OK\r\ncontent-"), CLOSED),
        case("a huge header", Sends::whole(&long_header, "{}"), NO_HTTP),
        case("too many headers", Sends::whole(&format!("{JSON}{many_headers}"), "{}"), NO_HTTP),
        case("an unreadable length", broken("200 OK\r\ncontent-length: -5\r\n\r\n{}"), NO_HTTP),
        case("two lengths", broken("200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}"), NO_HTTP),
        case("a cut body", broken(&format!("{JSON}\r\ncontent-length: 900\r\n\r\n{{\"choices\":")), CUT),
        case(
            "a cut chunk",
            broken(&format!("{EVENTS}\r\ntransfer-encoding: chunked\r\n\r\nff\r\ndata: {{\"cho")),
            CUT,
        ),
        case(
            "a chunk of no size",
            broken(&format!("{JSON}\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n")),
            CUT,
        ),
        case("a web page as a success", Sends::whole("200 OK\r\ncontent-type: text/html", PAGE), UNUSABLE),
        case(
            "a web page as an error",
            Sends::whole("502 Bad Gateway\r\ncontent-type: text/html", PAGE),
            &["http_502"],
        ),
        case("invalid UTF-8", Sends::whole(JSON, not_utf8), UNUSABLE),
        case(
            "a gzip nobody asked for",
            Sends::whole(&format!("{JSON}\r\ncontent-encoding: gzip"), GZIP),
            UNUSABLE,
        ),
        case("a bomb", Sends::whole(&format!("{JSON}\r\ncontent-encoding: gzip, gzip"), BOMB), UNUSABLE),
        case(
            "a bomb of events",
            Sends::whole(&format!("{EVENTS}\r\ncontent-encoding: gzip, gzip"), BOMB),
            UNUSABLE,
        ),
        case("an unnamed bomb", Sends::whole(JSON, BOMB), UNUSABLE),
        case(
            "a bomb as an error",
            Sends::whole(
                "502 Bad Gateway\r\ncontent-type: application/json\r\ncontent-encoding: gzip, gzip",
                BOMB,
            ),
            &["http_502"],
        ),
        case("JSON of another shape", Sends::whole(JSON, "{\"weather\":\"fine\"}"), UNUSABLE),
        case("a list", Sends::whole(JSON, "[1,2,3]"), UNUSABLE),
        case("a number", Sends::whole(JSON, "42"), UNUSABLE),
        case("deep JSON", Sends::whole(JSON, "[".repeat(200_000)), UNUSABLE),
        case("an empty success", Sends::whole(JSON, ""), UNUSABLE),
        case("no content", broken("204 No Content\r\n\r\n"), UNUSABLE),
        case(
            "a redirect",
            Sends::whole("302 Found\r\nlocation: http://127.0.0.1:1/", ""),
            &["route_not_found", "http_302"],
        ),
        case("an unknown status", Sends::whole("799 What", "?"), &["http_799"]),
        case("a body without end", Sends::endless(JSON, b" "), endless),
        case("comments without end", Sends::endless(EVENTS, b": keep-alive\n\n"), endless),
        case("a line without end", Sends::endless(EVENTS, b"data: x"), endless),
        case("silence in the head", broken("200 OK\r\n").silent_after(), LATE),
    ]
}

/// The model of each wire that is tried.
const WIRES: [(&str, &str); 4] = [
    ("openai", "openai/stub"),
    ("anthropic", "anthropic/claude-haiku-4-5"),
    ("gemini", "gemini/gemini-2.5-flash"),
    ("bedrock", "bedrock/anthropic.claude-3-haiku-20240307-v1:0"),
];

fn settings(model: &str) -> Yaml {
    yaml(Topology::Sibling)
        .set("haleway.profile", "resilient")
        .set("general_settings.master_key", KEY)
        .set("general_settings.background_health_checks", false)
        .set("d1.litellm_params.model", model)
        .set(
            "d1.litellm_params.aws_region_name",
            if model.starts_with("bedrock") { json!("eu-west-1") } else { json!(null) },
        )
        .set("d1.litellm_params.timeout", LIMIT.as_secs_f64())
        .set(
            "d1.model_info.haleway",
            json!({"stream": {"first_token": "500ms", "gap": "500ms"}, "timeout": "500ms"}),
        )
}

/// The classes that the words of a case belong to.
fn classes(words: Words) -> Vec<&'static str> {
    let class = |word: &&'static str| match *word {
        "connection_closed" | "connection_reset" | "stream_cut" => "connection",
        "total" | "first_token" => "timeout",
        "http_502" | "http_799" => "server_error",
        "route_not_found" | "http_302" => "route_not_found",
        _ => "malformed_response",
    };
    words.iter().map(class).collect()
}

/// What a case showed that it must not.
async fn faults_of(wire: &str, model: &str, came: &Came) -> Vec<String> {
    let bed = Bed::with(Provider::Sends(came.sends.clone()), settings(model), Topology::Sibling).await;
    let mut wrong = Vec::new();
    for kind in [Kind::Whole, Kind::Stream] {
        let mut complain = |what: String| wrong.push(format!("{wire}, {kind:?}, {}: {what}", came.name));
        // With another deployment at hand, the caller is served.
        let reply = bed.call(kind).await;
        let word = reply.skipped.strip_prefix("d1=").unwrap_or_default();
        // Once out, it is not even asked.
        if word.starts_with("config_fault(route_not_found") && kind == Kind::Stream {
            continue;
        }
        if reply.got != Got::Whole || reply.attempts != "2" || !came.words.contains(&word) {
            complain(format!("{:?}, skipped {:?}, {} attempts", reply.got, reply.skipped, reply.attempts));
        }
        // Without one, the caller is told, before anything of it was passed on.
        let alone = bed.call_to("d1", kind).await;
        if !matches!(alone.got, Got::Error(_)) || !classes(came.words).contains(&alone.class.as_str()) {
            complain(format!("alone: {:?} {:?}", alone.got, alone.class));
        }
        let sent = came.sends.sent.swap(0, Ordering::Relaxed);
        if sent > 3 * MOST {
            complain(format!("{sent} bytes were read"));
        }
    }
    // The operator who probes sees it too.
    let probed = bed.probe("d1").await;
    let class = &probed["deployment"]["evidence"]["latest_probe"]["class"];
    if class.as_str().is_none_or(|class| !classes(came.words).contains(&class)) {
        wrong.push(format!("{wire}, {}: probed {class}: {probed}", came.name));
    }
    let sent = came.sends.sent.load(Ordering::Relaxed);
    if sent > MOST_OF_A_PROBE {
        wrong.push(format!("{wire}, {}: a probe read {sent} bytes", came.name));
    }
    wrong
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_bytes_end_as_a_named_failure_on_every_wire_and_another_deployment_serves() {
    let wires = WIRES.map(|(wire, model)| async move {
        let cases = came();
        let mut wrong = Vec::new();
        // A few at a time: some of them send as fast as they can.
        for some in cases.chunks(6) {
            let faults = join_all(some.iter().map(|came| faults_of(wire, model, came))).await;
            wrong.extend(faults.into_iter().flatten());
        }
        wrong
    });
    let wrong = join_all(wires).await.concat();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
