//! What the demo prints: where to look, every change of state as it happens, and now and then a table.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::EventKind;
use haleway_mockllm::Mock;
use haleway_server::Gateway;

use super::{MASTER_KEY, providers};
use crate::output;

const TABLE_EVERY: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What is said first.
pub(super) fn opening(addr: SocketAddr, config: &Path) -> String {
    let mut text =
        format!("Haleway serves on http://{addr} (key {MASTER_KEY}), in front of simulated providers:\n\n");
    for simulated in &providers::ALL {
        let providers::Simulated { group, id, character, .. } = simulated;
        text += &format!("  {group:<6} {id:<14} {character}\n");
    }
    text += &format!("\nThe configuration is {}. While traffic runs, look at:\n\n", config.display());
    let look = [
        ("every verdict", "/haleway/deployments"),
        ("why is it so?", "/haleway/explain?model=chat"),
        ("LiteLLM's page", "/health"),
        ("metrics", "/metrics"),
    ];
    for (what, path) in look {
        text +=
            &format!("  {what:<15} curl -s -H 'Authorization: Bearer {MASTER_KEY}' 'http://{addr}{path}'\n");
    }
    text += &format!(
        "  {:<15} curl -si -H 'Authorization: Bearer {MASTER_KEY}' http://{addr}/v1/chat/completions -d '{}'\n",
        "a call", r#"{"model":"chat","messages":[{"role":"user","content":"hi"}]}"#,
    );
    text + "\nCtrl-C ends it. What happens:\n\n"
}

/// Prints what happens until shutdown.
pub(super) async fn tell(gateway: Arc<Gateway>, mock: Mock) {
    let started = gateway.clock.now();
    let mut seen = 0;
    let mut table_at = started + TABLE_EVERY;
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        tokio::select! {
            () = gateway.shutdown.cancelled() => return,
            _ = look.tick() => {}
        }
        let drained = gateway.hub.events(seen);
        seen = drained.next;
        for event in drained.events {
            let at = event.at.since(started).as_secs_f64();
            match event.kind {
                EventKind::Moved { slot, id, transition, .. } => {
                    let why = gateway.hub.detail(slot, event.at).map(|detail| detail.explanation);
                    let (from, to) = (transition.from.as_str(), transition.to.as_str());
                    let why = why.unwrap_or_default();
                    output::print(&format!("{at:6.1} s  {id:<14} {from:>12} → {to:<12} {why}\n"));
                }
                EventKind::Panic { name, to, .. } => {
                    output::print(&format!("{at:6.1} s  group {name}: {}\n", to.as_str()));
                }
                EventKind::Pod { suspect } => {
                    output::print(&format!("{at:6.1} s  this process suspects itself: {suspect}\n"));
                }
            }
        }
        let now = gateway.clock.now();
        if now >= table_at {
            table_at = now + TABLE_EVERY;
            output::print(&table(&gateway, &mock, now.since(started)));
        }
    }
}

fn table(gateway: &Gateway, mock: &Mock, after: Duration) -> String {
    let mut text = format!("\nafter {} s        state          weight  requests it saw\n", after.as_secs());
    for detail in gateway.hub.details(gateway.clock.now()) {
        let requests = mock.counts(&detail.id).requests;
        text += &format!("  {:<15} {:<14} {:>5.2}  {requests}\n", detail.id, detail.state, detail.weight);
    }
    text.push('\n');
    text
}
