//! A PostgreSQL server of the test's own: own directory, free port, and gone with the test.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sqlx::{Connection, Executor, PgConnection};
use tokio::time::{Instant, sleep};

/// Longest time that a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Server {
    programs: PathBuf,
    directory: PathBuf,
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// Makes and starts one.
    pub(crate) async fn start(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("haleway-postgres-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { programs: programs(), directory, port, child: None };
        if is_root() {
            // PostgreSQL refuses to run as root.
            let done = Command::new("chown").arg("postgres").arg(&server.directory).status().unwrap();
            assert!(done.success(), "there is no user postgres");
        }
        let data = server.data();
        let done = server
            .command("initdb")
            .args([
                "--auth",
                "trust",
                "--username",
                "postgres",
                "--no-sync",
                "--encoding",
                "UTF8",
                "--pgdata",
            ])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(done.unwrap().success(), "initdb failed");
        server.run().await;
        server
    }

    fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// One of PostgreSQL's programs, as a user whom it accepts, that ends when this process does.
    fn command(&self, program: &str) -> Command {
        let path = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"])
                .arg(path);
            command
        } else {
            Command::new(path)
        };
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Starts the server and waits until it answers; also after it was killed.
    pub(crate) async fn run(&mut self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let answers = PgConnection::connect(&self.url("public")).await.is_ok();
            if answers {
                return;
            }
            assert!(Instant::now() < end, "PostgreSQL did not start");
            // What is left of a killed server can keep a new one from starting, for a moment.
            let ended = self.child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some());
            if ended {
                let child = self
                    .command("postgres")
                    .arg("-D")
                    .arg(self.data())
                    .args(["-p", &self.port.to_string(), "-k"])
                    .arg(&self.directory)
                    .args(["-c", "listen_addresses=127.0.0.1", "-c", "log_min_messages=panic"])
                    .stderr(Stdio::null())
                    .spawn();
                self.child = Some(child.unwrap());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// A URL as Prisma writes it, with `schema` as the place of all tables.
    pub(crate) fn url(&self, schema: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres?schema={schema}&connection_limit=5", self.port)
            .replace("?schema=public&connection_limit=5", "")
    }

    /// Makes the empty schema `name`, and answers its URL.
    pub(crate) async fn schema(&self, name: &str) -> String {
        self.sql(&format!("CREATE SCHEMA {name}")).await;
        self.url(name)
    }

    pub(crate) async fn sql(&self, statements: &str) {
        let mut connection = PgConnection::connect(&self.url("public")).await.unwrap();
        connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(statements))).await.unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        drop(std::fs::remove_dir_all(&self.directory));
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Where PostgreSQL's programs are: Debian keeps them out of the path.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin"));
    let path = std::env::split_paths(env!("PATH")).collect::<Vec<_>>();
    let has_them =
        |place: &PathBuf| Path::new(place).join("initdb").exists() && place.join("postgres").exists();
    debian.chain(path).find(has_them).expect("PostgreSQL is not installed: apt-get install postgresql")
}
