//! Health and administration on a listener of its own (`haleway.admin_listen`).
//!
//! It has its own thread and its own runtime: a process whose workers are all busy with traffic still answers its
//! liveness probe at once (report G01).

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, anyhow};
use haleway_server::serve::{Limits, bind, serve};
use haleway_server::{Gateway, Routes};
use tokio_util::sync::CancellationToken;

/// The administrative listener.
#[derive(Debug)]
pub(crate) struct Admin {
    stop: CancellationToken,
    thread: JoinHandle<()>,
}

impl Admin {
    /// Listens on `addr`.
    ///
    /// # Errors
    /// When the address cannot be bound or the thread cannot be started.
    pub(crate) fn start(gateway: &Arc<Gateway>, addr: SocketAddr) -> anyhow::Result<Self> {
        let stop = CancellationToken::new();
        let routes = Routes::all(gateway);
        let token = stop.clone();
        let (ready, bound) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("haleway-admin".to_owned())
            .spawn(move || {
                let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                    Ok(runtime) => runtime,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                runtime.block_on(async move {
                    let listener = match bind(addr).await {
                        Ok(listener) => listener,
                        Err(error) => return drop(ready.send(Err(error))),
                    };
                    drop(ready.send(Ok(())));
                    let handler = move |request| {
                        let routes = routes.clone();
                        async move { routes.answer_page(request).await }
                    };
                    serve(listener, handler.clone(), handler, Limits::default(), token).await;
                });
            })
            .context("the administrative thread cannot be started")?;
        bound
            .recv()
            .map_err(|_| anyhow!("the administrative thread ended"))?
            .context("haleway.admin_listen")?;
        tracing::info!(%addr, "health and administration");
        Ok(Self { stop, thread })
    }

    /// Ends the listener.
    pub(crate) fn stop(self) {
        self.stop.cancel();
        if self.thread.join().is_err() {
            tracing::warn!("the administrative thread ended in a fault");
        }
    }
}
