//! `haleway serve`: load → check → build → listen → wait for the signal → drain.

use std::future::Future;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use haleway_config::{Config, FleetRole, Loaded, Options, Severity, Source, render};
use haleway_server::serve::{Limits, bind, serve};
use haleway_server::{Clock, Gateway, Origin, Parts, Routes};
use haleway_telemetry::{LogFormat, LogSources, init_logging};
use haleway_upstream::Network;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::admin::Admin;
use crate::cli::{LogArgs, ServeArgs};
use crate::output;
use crate::source::System;
use crate::status;

/// Serves until a signal.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<()> {
    args.litellm.refuse()?;
    if args.litellm.health {
        return status::health(args);
    }
    let Some((file, source)) = args.litellm.configuration(args.config.clone()) else {
        bail!("name a configuration with --config FILE")
    };
    let mut origin = Origin::new(file.clone(), Arc::new(source), Options { strict: args.strict });
    origin.role = args.role;
    let config = config_or_refuse(origin.load(), &file)?;
    if args.validate_config {
        return Ok(());
    }
    init_logs(&args.log, Some(&config))?;
    for (flag, why) in args.litellm.without_effect() {
        tracing::warn!(flag, "accepted for LiteLLM's sake, without effect: {why}");
    }
    install_crypto()?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let listener = bind(address(&args.host, args.port)?).await?;
        let gateway = gateway(config)?;
        gateway.follow(origin);
        let reloader = Arc::clone(&gateway);
        gateway.tasks.spawn(async move { reload_on_hangup(&reloader).await });
        let limits = Limits { delay: args.shutdown_delay, drain: args.drain, ..Limits::default() };
        run_gateway(&gateway, listener, limits, wait_for_signal()).await
    })
}

/// The address to listen on: of a name that has several, the IPv4 one.
fn address(host: &str, port: u16) -> anyhow::Result<SocketAddr> {
    let found = (host, port).to_socket_addrs();
    let found: Vec<_> = found.with_context(|| format!("--host {host} is no address to listen on"))?.collect();
    let chosen = found.iter().find(|addr| addr.is_ipv4()).or_else(|| found.first());
    chosen.copied().with_context(|| format!("--host {host} has no address"))
}

/// Prints every finding of a configuration, and refuses when one forbids to serve it.
pub(crate) fn config_or_refuse(loaded: Loaded, file: &Path) -> anyhow::Result<Config> {
    output::complain(&render(&loaded.diagnostics, output::stderr_is_terminal()));
    let (errors, warnings) = (loaded.count(Severity::Error), loaded.count(Severity::Warning));
    let refusal = || {
        let file = file.display();
        format!("{file} cannot be served: {errors} errors, {warnings} warnings; nothing was started")
    };
    loaded.config.with_context(refusal)
}

/// Sets up logs from flags, environment and configuration, in this order.
pub(crate) fn init_logs(args: &LogArgs, config: Option<&Config>) -> anyhow::Result<()> {
    let [haleway_log, rust_log, litellm_log] =
        ["HALEWAY_LOG", "RUST_LOG", "LITELLM_LOG"].map(|name| System.var(name));
    let sources = LogSources {
        detailed_debug: args.detailed_debug,
        flag: args.log_level.as_deref(),
        debug: config.is_some_and(|config| config.litellm.set_verbose),
        haleway_log: haleway_log.as_deref(),
        rust_log: rust_log.as_deref(),
        litellm_log: litellm_log.as_deref(),
    };
    let format = if args.json_logs || config.is_some_and(|config| config.litellm.json_logs) {
        LogFormat::Json
    } else if output::stderr_is_terminal() {
        LogFormat::Coloured
    } else {
        LogFormat::Plain
    };
    init_logging(&sources.filter(), format).context("the log filter cannot be used")
}

/// Makes ring the one TLS provider.
pub(crate) fn install_crypto() -> anyhow::Result<()> {
    match rustls::crypto::ring::default_provider().install_default() {
        Ok(()) => Ok(()),
        Err(_) => bail!("a TLS provider is installed already"),
    }
}

/// One worker per core, without the multi-threaded scheduler's cost where there is only one.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut builder = if cores == 1 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    builder.enable_all().thread_name("haleway").build().context("the runtime cannot be started")
}

/// A gateway over the real network.
pub(crate) fn gateway(config: Config) -> anyhow::Result<Arc<Gateway>> {
    let network = Network::system().context("TLS cannot be set up")?;
    let (clock, seed) = (Clock::start_with_boot_clock(), fastrand::u64(..));
    let host = System.var("HOSTNAME").or_else(|| std::fs::read_to_string("/etc/hostname").ok());
    let host = host.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let fleet = haleway_server::fleet::handle(&config, clock, seed, host);
    let parts = Parts { network, clock, seed, fleet };
    Ok(Gateway::new(config, &System, parts)?)
}

/// Runs `gateway` on `listener` until `end`, then drains.
pub(crate) async fn run_gateway(
    gateway: &Arc<Gateway>,
    listener: TcpListener,
    limits: Limits,
    end: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let addr = listener.local_addr().context("the listener has no address")?;
    let stop_listening = CancellationToken::new();
    let admin = match gateway.live.load().config.haleway.admin_listen {
        Some(addr) => Some(Admin::start(gateway, addr)?),
        None => None,
    };
    gateway.remember().await.context("the store cannot be used")?;
    gateway.warm().await;
    gateway.spawn();
    let routes = Routes::all(gateway);
    let serves = gateway.live.load().config.haleway.fleet.role != FleetRole::Prober;
    let late = {
        let routes = routes.clone();
        move |request| {
            let routes = routes.clone();
            async move { routes.answer_late(request).await }
        }
    };
    let handler = move |request| {
        let routes = routes.clone();
        // Who only probes answers for its health and nothing else.
        async move { if serves { routes.answer(request).await } else { routes.answer_page(request).await } }
    };
    let serving = gateway.tasks.spawn(serve(listener, handler, late, limits, stop_listening.clone()));
    tracing::info!(%addr, "listening");
    end.await;
    let ended_at = tokio::time::Instant::now();
    tracing::info!("shutting down: not ready any more, finishing what runs");
    gateway.shutdown.cancel();
    stop_listening.cancel();
    serving.await.context("the listener ended in a fault")?;
    let taken = tokio::time::Instant::now().duration_since(ended_at);
    gateway.drain_sessions((limits.delay + limits.drain).saturating_sub(taken)).await;
    if let Some(admin) = admin {
        admin.stop();
    }
    gateway.tasks.close();
    if tokio::time::timeout(Duration::from_secs(5), gateway.tasks.wait()).await.is_err() {
        tracing::debug!("background tasks still ran");
    }
    Ok(())
}

/// Reads the configuration again at every SIGHUP. What came of it is in the log.
async fn reload_on_hangup(gateway: &Arc<Gateway>) {
    let mut hangup = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) {
        Ok(hangup) => hangup,
        Err(error) => return tracing::warn!(%error, "SIGHUP cannot be handled"),
    };
    loop {
        tokio::select! {
            () = gateway.shutdown.cancelled() => return,
            _ = hangup.recv() => drop(gateway.reload().await),
        }
    }
}

/// Ctrl-C, or the signal with which an orchestrator ends a process.
pub(crate) async fn wait_for_signal() {
    let interrupt = tokio::signal::ctrl_c();
    match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
        }
        Err(error) => {
            tracing::warn!(%error, "SIGTERM cannot be handled; Ctrl-C ends the process");
            drop(interrupt.await);
        }
    }
}
