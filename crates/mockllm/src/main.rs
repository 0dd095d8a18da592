//! `mockllm [PORT[=SCRIPT]]…`: mock providers on loopback ports.
//!
//! Without arguments one on any free port. A script name is that of the deployment the port serves (default: `default`);
//! its script is then set over HTTP. Prints one line `NAME http://127.0.0.1:PORT` per port, and ends on Ctrl-C or SIGTERM.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use haleway_mockllm::Mock;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do when stderr is gone too.
            drop(writeln!(io::stderr(), "mockllm: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run() -> io::Result<()> {
    // Before the first line is printed: whoever reads it may already want us gone.
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    let mock = Mock::new();
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.is_empty() {
        wanted.push("0".to_owned());
    }
    for argument in &wanted {
        let (port, name) = argument.split_once('=').unwrap_or((argument, "default"));
        let number: u16 = port.parse().map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{port:?} is not a port number"))
        })?;
        let opened = mock.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, number)), name).await?;
        writeln!(io::stdout(), "{name} http://{}", opened.address())?;
    }
    io::stdout().flush()?;
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    mock.shutdown().await;
    Ok(())
}
