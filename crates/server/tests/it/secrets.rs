//! A provider quotes the key it refuses: nobody who is not its owner reads it, however short it is.

use haleway_testkit::{Behaviour, World, Yaml};
use serde_json::json;

/// Too short for any pattern of keys.
const KEY: &str = "k9x2";

fn quoting(status: u16) -> Behaviour {
    Behaviour::status(status)
        .body(json!({"error": {"message": format!("Bad key {KEY} for {KEY}y and x{KEY}."), "type": "error"}}))
}

fn yaml() -> Yaml {
    Yaml::b1().set("d1.litellm_params.api_key", KEY).set("general_settings.master_key", "sk-master")
}

/// The word itself; as a part of other words it is no secret.
fn is_quoted(text: &str) -> bool {
    text.contains(&format!("Bad key {KEY} "))
}

#[tokio::test(start_paused = true)]
async fn a_short_key_is_masked_in_errors_pages_events_and_logs() {
    for status in [400, 401, 403, 429, 500] {
        let world = World::of(yaml()).with_script("u1", quoting(status)).start().await;
        let answer = world.chat("g").await;
        assert!(answer.text().contains("Bad key [redacted] for"), "{status}: {}", answer.text());
        world.post("/haleway/deployments/d1/probe", &json!({})).await;
        for path in ["/health", "/haleway/deployments", "/haleway/explain?model=g", "/metrics"] {
            let page = world.get(path).await.text();
            assert!(!is_quoted(&page), "{status} {path}: {page}");
        }
        assert!(
            world.get("/health").await.text().contains("[redacted]"),
            "{status}: the page shows the words"
        );
        assert!(!is_quoted(&world.logs.text()), "{status}: {}", world.logs.text());
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_stream_is_told_in_the_gateways_words_without_the_key() {
    for at in [0, 3] {
        let fault = Behaviour::error_event(at, 500)
            .body(json!({"error": {"message": format!("Bad key {KEY} here."), "type": "server_error"}}));
        let world = World::of(yaml()).with_script("u1", fault).start().await;
        let text = world.chat_stream("g").await.text();
        assert!(!is_quoted(&text) && text.contains("[redacted]"), "{at}: {text}");
        assert!(text.contains("\"class\":\"server_error\""), "{at}: {text}");
    }
}
