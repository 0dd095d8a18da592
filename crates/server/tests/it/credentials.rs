//! Deployments whose credential is fetched: what callers, health and operators see of it.

use haleway_testkit::{Behaviour, Script, World};
use serde_json::json;

const MODELS: &str = "model_list:
- {model_name: g, litellm_params: {model: watsonx/m, api_base: http://u1, api_key: k-canary-1, project_id: p, order: 1}, model_info: {id: d1}}
- {model_name: g, litellm_params: {model: openai/m, api_base: http://u2/v1, api_key: k, order: 2}, model_info: {id: d2}}
- {model_name: alone, litellm_params: {model: watsonx/m, api_base: http://u1, api_key: k-canary-1, project_id: p}, model_info: {id: d3}}
";

fn token(token: &str) -> Behaviour {
    Behaviour::status(200).body(json!({"access_token": token, "expires_in": 3600}))
}

fn said(text: &str) -> Behaviour {
    let choice =
        json!({"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
    Behaviour::status(200).body(json!({"id": "c", "model": "m", "choices": [choice], "created": 1}))
}

async fn world(iam: impl Into<Script>, upstream: impl Into<Script>) -> World {
    World::of(MODELS)
        .with_env(&[("WATSONX_IAM_URL", "http://u9/identity/token")])
        .with_script("u9", iam)
        .with_script("u1", upstream)
        .start()
        .await
}

#[tokio::test(start_paused = true)]
async fn no_credential_is_a_local_fault_and_another_deployment_serves() {
    let world = world(Behaviour::status(500), said("x")).await;
    for _ in 0..5 {
        let answer = world.chat("g").await;
        assert_eq!((answer.status, answer.deployment()), (200, "d2"));
    }
    assert_eq!(world.requests("u1"), 0, "nothing is sent without a credential");
    assert!(world.is_in("d1"), "{}", world.state("d1"));
    let answer = world.chat("alone").await;
    assert_eq!(answer.status, 500);
    let error = answer.json();
    assert_eq!(error["error"]["code"], "credential_unavailable", "{error}");
    assert_eq!(error["error"]["class"], "local", "{error}");
    let text = error.to_string();
    assert!(text.contains("IBM IAM") && !text.contains("canary"), "{text}");
    let detail = world.detail("d1").await;
    assert_eq!(detail["credential"]["kind"], "ibm_iam", "{detail}");
    assert_eq!(detail["credential"]["available"], false, "{detail}");
    assert_eq!(world.requests("u9"), 1, "one failed exchange stands for all that share the source");
    world.mock.script("u9", token("one"));
    world.pass_secs(61).await;
    assert_eq!(world.chat("g").await.deployment(), "d1");
    let sent = world.mock.kept("u1");
    assert_eq!(sent.last().and_then(|kept| kept.header("authorization")), Some("Bearer one"));
    assert_eq!(world.detail("d1").await["credential"]["available"], true);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_the_provider_no_longer_takes_is_replaced_within_the_call() {
    let expired = Behaviour::status(401)
        .body(json!({"errors": [{"code": "authentication_token_expired", "message": "x"}]}));
    let world = world(token("one"), said("x")).await;
    assert_eq!(world.chat("alone").await.status, 200);
    world.pass_secs(120).await;
    world.mock.script("u9", token("two"));
    world.mock.script("u1", Script::first([expired, said("y")]));
    let answer = world.chat("alone").await;
    assert_eq!(answer.status, 200, "{}", answer.json());
    let sent = world.mock.kept("u1");
    let tokens: Vec<_> =
        sent.iter().rev().take(2).map(|kept| kept.header("authorization").unwrap_or("-")).collect();
    assert_eq!(tokens, ["Bearer two", "Bearer one"]);
    assert!(world.is_in("d3"));
}
