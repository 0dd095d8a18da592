//! `haleway demo`: the real gateway in front of simulated providers that fail and recover.
//!
//! Everything but the providers is real: the configuration is a file that anyone could write, the gateway serves on
//! a loopback port, a small generator sends traffic through it, and this module prints what changes.

mod config;
mod providers;
mod story;
mod traffic;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context;
use haleway_server::serve::{Limits, bind};

use crate::cli::DemoArgs;
use crate::output;
use crate::serve::{
    config_or_refuse, gateway, init_logs, install_crypto, run_gateway, runtime, wait_for_signal,
};
use crate::source::System;

/// The key that the demo's gateway asks for.
const MASTER_KEY: &str = "sk-demo";

/// Runs the demo.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let mut log = args.log.clone();
    // The story tells what happens; logs are for those who ask for them.
    log.log_level.get_or_insert_with(|| "warn,haleway=error".to_owned());
    init_logs(&log, None)?;
    install_crypto()?;
    runtime()?.block_on(demo(args))
}

async fn demo(args: &DemoArgs) -> anyhow::Result<()> {
    let providers = providers::start().await.context("the simulated providers cannot start")?;
    let file = config::write(&providers).context("the demo's configuration cannot be written")?;
    let loaded = haleway_config::load(file.path(), &System, &haleway_config::Options::default());
    let config = config_or_refuse(loaded, file.path())?;
    let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port))).await?;
    let addr = listener.local_addr().context("the listener has no address")?;
    let gateway = gateway(config)?;
    output::print(&story::opening(addr, file.path()));
    gateway.tasks.spawn(traffic::generate(addr, gateway.shutdown.clone()));
    gateway.tasks.spawn(story::tell(std::sync::Arc::clone(&gateway), providers.mock().clone()));
    let end = async {
        match args.seconds {
            Some(seconds) => {
                tokio::select! {
                    () = wait_for_signal() => {}
                    () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
                }
            }
            None => wait_for_signal().await,
        }
    };
    run_gateway(&gateway, listener, Limits::default(), end).await?;
    providers.stop().await;
    output::print("\nThe demo has ended.\n");
    Ok(())
}
