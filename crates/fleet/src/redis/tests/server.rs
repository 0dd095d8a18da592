//! A private `redis-server` on a free port of the loopback, gone with the test.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The server.
pub(super) struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    pub(super) fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = std::env::temp_dir().join(format!("haleway-redis-{}-{port}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"])
            .args(["--port", &port.to_string(), "--dir"])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("these tests need redis-server 7 in PATH");
        let mut server = Self { child, port, folder };
        server.wait();
        server
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Stops it from answering, without closing anything.
    pub(super) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(super) fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(name).arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Reads its log until it says that it is ready. The rest of the log is read away, so that it never blocks.
    fn wait(&mut self) {
        let mut log = BufReader::new(self.child.stdout.take().unwrap()).lines();
        let ready =
            log.by_ref().map_while(Result::ok).any(|line| line.contains("Ready to accept connections"));
        assert!(ready, "redis-server did not come up");
        std::thread::spawn(move || log.map_while(Result::ok).for_each(drop));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
        let _removed = std::fs::remove_dir_all(&self.folder);
    }
}
