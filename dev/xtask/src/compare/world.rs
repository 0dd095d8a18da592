//! The upstream, nginx and the gateway: their configs, ports and processes, all in one temporary folder.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::Subject;
use super::load::{self, Load};
use crate::process::{Started, Stopwatch, wait_until};

/// Size of a request and of its answer.
const BODY: usize = 1_024;
const KEY: &str = "sk-compare";
/// How long a gateway may take from its start to its first good answer.
const START: Duration = Duration::from_secs(15);

/// Everything a run needs; nothing of it is left behind.
#[derive(Debug)]
pub(super) struct World {
    folder: TempDir,
    binary: PathBuf,
    upstream: u16,
    nginx: u16,
    haleway: u16,
    request: String,
    answer: String,
}

impl World {
    /// Chooses ports and writes the configs.
    pub(super) fn build(binary: &Path, port: Option<u16>, deployments: usize) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("haleway-compare-").tempdir()?;
        // nginx drops to another user, who must be able to enter.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let [upstream, nginx, free] = free_ports()?;
        let world = Self {
            folder,
            binary: binary.to_path_buf(),
            upstream,
            nginx,
            haleway: port.unwrap_or(free),
            request: request(),
            answer: answer(),
        };
        world.write("upstream.conf", &world.upstream_config())?;
        world.write("nginx.conf", &world.nginx_config())?;
        world.write("haleway.yaml", &haleway_config(upstream, deployments))?;
        world.write("post.lua", &world.script())?;
        Ok(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        fs::write(self.path(name), content).with_context(|| name.to_owned())
    }

    fn port(&self, subject: Subject) -> u16 {
        match subject {
            Subject::Direct => self.upstream,
            Subject::Nginx => self.nginx,
            Subject::Haleway => self.haleway,
        }
    }

    /// Starts a subject on its core; `Direct` is the upstream.
    pub(super) fn start(&self, subject: Subject) -> Result<Started> {
        let log = File::create(self.path("log.txt"))?;
        let mut command = Command::new("taskset");
        match subject {
            Subject::Direct => command.args(["-c", "1", "nginx", "-c"]).arg(self.path("upstream.conf")),
            Subject::Nginx => command.args(["-c", "0", "nginx", "-c"]).arg(self.path("nginx.conf")),
            Subject::Haleway => command
                .args(["-c", "0"])
                .arg(&self.binary)
                .args(["serve", "--host", "127.0.0.1", "--port", &self.haleway.to_string(), "--config"])
                .arg(self.path("haleway.yaml")),
        };
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {}", subject.name()))?;
        Ok(Started(child))
    }

    /// Waits for the first good answer; the time it took. An answer that is not the upstream's is an error.
    pub(super) fn ready(&self, subject: Subject) -> Result<Duration> {
        let watch = Stopwatch::start();
        let mut answered = String::new();
        let came = wait_until(START, || match self.ask(self.port(subject)) {
            Ok(reply) if reply.starts_with("HTTP/1.1 200") => {
                answered = reply;
                true
            }
            Ok(reply) => {
                answered = reply;
                false
            }
            Err(_) => false,
        });
        let took = watch.read();
        if !came {
            let log = fs::read_to_string(self.path("log.txt")).unwrap_or_default();
            bail!("{} does not serve; last answer: {answered:?}; its log:\n{log}", subject.name());
        }
        if !answered.ends_with(&self.answer) {
            say_changed(subject, &answered);
        }
        Ok(took)
    }

    fn ask(&self, port: u16) -> Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: compare\r\nauthorization: Bearer {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{}",
            self.request.len(),
            self.request
        )?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply)
    }

    /// Sends requests to a subject.
    pub(super) fn load(&self, subject: Subject, connections: usize, seconds: u64) -> Result<Load> {
        load::run(&self.path("post.lua"), self.port(subject), connections, seconds)
    }

    fn script(&self) -> String {
        format!(
            "wrk.method = 'POST'\nwrk.body = [[{}]]\nwrk.headers['Content-Type'] = 'application/json'\n\
             wrk.headers['Authorization'] = 'Bearer {KEY}'\n",
            self.request
        )
    }

    fn nginx_head(&self, name: &str) -> String {
        let folder = self.folder.path().display();
        let mut head = format!(
            "worker_processes 1;\ndaemon off;\npid {folder}/{name}.pid;\nerror_log {folder}/{name}.log warn;\n\
             events {{ worker_connections 4096; }}\nhttp {{\naccess_log off;\nkeepalive_requests 100000000;\n\
             keepalive_timeout 3600s;\nclient_body_buffer_size 64k;\n"
        );
        for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            head.push_str(&format!("{kind}_temp_path {folder}/{name}-{kind};\n"));
        }
        head
    }

    fn upstream_config(&self) -> String {
        format!(
            "{}default_type application/json;\nserver {{ listen 127.0.0.1:{} backlog=4096;\n\
             location / {{ return 200 '{}'; }} }} }}\n",
            self.nginx_head("upstream"),
            self.upstream,
            self.answer
        )
    }

    fn nginx_config(&self) -> String {
        format!(
            "{}upstream up {{ server 127.0.0.1:{}; keepalive 256; keepalive_requests 100000000; \
             keepalive_timeout 3600s; }}\nserver {{ listen 127.0.0.1:{} backlog=4096;\nlocation / {{ \
             proxy_http_version 1.1; proxy_set_header Connection ''; proxy_pass http://up; }} }} }}\n",
            self.nginx_head("nginx"),
            self.upstream,
            self.nginx
        )
    }
}

/// A changed body is worth knowing but no reason to stop: some gateways rewrite on purpose.
fn say_changed(subject: Subject, reply: &str) {
    crate::finding::say(&format!(
        "note: {} does not pass the answer through unchanged:\n{reply}",
        subject.name()
    ));
}

/// Distinct ports that are free now.
fn free_ports() -> Result<[u16; 3]> {
    let held: Vec<TcpListener> = (0..3)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect::<std::io::Result<_>>()
        .context("no free loopback port")?;
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

/// A config as an operator with health routing would have it; the first deployment serves, the rest are there.
fn haleway_config(upstream: u16, deployments: usize) -> String {
    let mut text = String::from("model_list:\n");
    for number in 0..deployments {
        let group = if number == 0 { "gpt-4o-mini".to_owned() } else { format!("spare-{number}") };
        text.push_str(&format!(
            "  - model_name: {group}\n    litellm_params:\n      model: openai/gpt-4o-mini\n      \
             api_base: http://127.0.0.1:{upstream}/v1\n      api_key: sk-upstream-{number}\n"
        ));
    }
    text.push_str(&format!(
        "general_settings:\n  master_key: {KEY}\n  background_health_checks: true\n  \
         health_check_interval: 60\n  enable_health_check_routing: true\n"
    ));
    text
}

fn request() -> String {
    padded(
        r#"{"model": "gpt-4o-mini", "temperature": 0.2, "max_tokens": 128, "messages": [{"role": "user", "content": ""#,
        r#""}]}"#,
    )
}

fn answer() -> String {
    padded(
        concat!(
            r#"{"id": "chatcmpl-compare1", "object": "chat.completion", "created": 1760000000, "#,
            r#""model": "gpt-4o-mini", "choices": [{"index": 0, "message": {"role": "assistant", "content": ""#
        ),
        concat!(
            r#"", "refusal": null}, "logprobs": null, "finish_reason": "stop"}], "usage": {"prompt_tokens": 180, "#,
            r#""completion_tokens": 120, "total_tokens": 300}, "system_fingerprint": "fp_compare"}"#
        ),
    )
}

/// `head`, words, `tail`: together exactly [`BODY`] bytes.
fn padded(head: &str, tail: &str) -> String {
    let words = "the quick brown fox jumps over the lazy dog ".bytes().cycle();
    let filling: String = words.take(BODY - head.len() - tail.len()).map(char::from).collect();
    format!("{head}{filling}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_json_of_one_kibibyte_that_configs_can_quote() {
        for body in [request(), answer()] {
            assert_eq!(body.len(), BODY);
            serde_json::from_str::<serde_json::Value>(&body).unwrap();
            assert!(!body.contains(['\'', '$', ']']) || !body.contains("]]"), "{body}");
        }
    }

    #[test]
    fn ports_are_distinct() {
        let [a, b, c] = free_ports().unwrap();
        assert!(a != b && b != c && a != c);
    }

    #[test]
    fn only_the_first_deployment_serves() {
        let config = haleway_config(9, 28);
        assert_eq!(config.matches("model_name: gpt-4o-mini").count(), 1);
        assert_eq!(config.matches("api_base: http://127.0.0.1:9/v1").count(), 28);
    }
}
