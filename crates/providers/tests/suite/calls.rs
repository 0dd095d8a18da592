//! What goes over the wire for a client's call: the client's bytes, with what the deployment adds and takes away.

use haleway_providers::{CallOptions, Operation, is_usage_chunk};
use haleway_wire::Envelope;
use serde_json::{Value, json};

use crate::common::{any, body, call, deployment};

fn own(extra: Value) -> haleway_providers::Target {
    let mut params =
        json!({"model": "openai/m-wire", "api_base": "http://own.local/v1", "api_key": "sk-canary-1"});
    params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    deployment(params, None, &[]).unwrap()
}

fn sent(extra: Value, client: &str, options: CallOptions) -> (String, bool) {
    let call = own(extra)
        .call(Operation::Chat, &Envelope::parse(client.as_bytes()).unwrap(), None, options)
        .unwrap();
    (String::from_utf8(call.body.to_bytes().to_vec()).unwrap(), call.strip_usage)
}

#[test]
fn only_the_model_changes_and_unknown_fields_keep_their_bytes() {
    let client = r#"{ "model" : "group", "foo":{"a" : 1.50e3,"b":[ 1 ]}, "seed":12345678901234567890123, "messages":[] }"#;
    let (body, _) = sent(json!({}), client, CallOptions::default());
    assert_eq!(
        body,
        r#"{"model":"m-wire","foo":{"a" : 1.50e3,"b":[ 1 ]},"seed":12345678901234567890123,"messages":[]}"#
    );
}

#[test]
fn defaults_of_the_deployment_fill_what_the_client_left_out() {
    let extra = json!({"temperature": 0.2, "max_tokens": 99, "rpm": 5, "weight": 2, "timeout": 3, "input_cost_per_token": 0.1});
    let (body, _) = sent(extra.clone(), r#"{"model":"g","temperature":1}"#, CallOptions::default());
    assert_eq!(body, r#"{"model":"m-wire","temperature":1,"max_tokens":99}"#);
    let (body, _) = sent(extra, r#"{"model":"g","max_completion_tokens":7}"#, CallOptions::default());
    assert_eq!(body, r#"{"model":"m-wire","max_completion_tokens":7,"temperature":0.2}"#);
}

#[test]
fn extra_body_outranks_and_extra_headers_go_along() {
    let extra = json!({"extra_body": {"top_k": 4, "temperature": 0}, "extra_headers": {"X-Sub": "canary", "Authorization": "Basic z"}});
    let target = own(extra);
    let call = call(&target, Operation::Chat, r#"{"model":"g","temperature":1}"#).unwrap();
    assert_eq!(body(&call), json!({"model": "m-wire", "temperature": 0, "top_k": 4}));
    assert_eq!(call.headers["x-sub"], "canary");
    assert_eq!(call.headers["authorization"], "Basic z");
    assert!(call.headers["x-sub"].is_sensitive() && call.headers["authorization"].is_sensitive());
}

#[test]
fn the_gateways_own_fields_stay_here() {
    let client = r#"{"model":"g","messages":[],"api_base":"http://evil","api_key":"x","fallbacks":["y"],"num_retries":2,"litellm_metadata":{},"metadata":{"t":1},"mock_response":"z"}"#;
    let (body, _) = sent(json!({}), client, CallOptions::default());
    assert_eq!(body, r#"{"model":"m-wire","messages":[]}"#);
    let stored = r#"{"model":"g","store":true,"metadata":{"t":1}}"#;
    assert_eq!(
        sent(json!({}), stored, CallOptions::default()).0,
        r#"{"model":"m-wire","store":true,"metadata":{"t":1}}"#
    );
    let flattened = r#"{"model":"g","extra_body":{"guided_json":{"a":1}}}"#;
    assert_eq!(
        sent(json!({}), flattened, CallOptions::default()).0,
        r#"{"model":"m-wire","guided_json":{"a":1}}"#
    );
}

#[test]
fn a15_nothing_of_model_info_reaches_the_wire() {
    let target = own(json!({"model_info": {"supports_canary_flag": true, "note": "canary"}}));
    let call = call(&target, Operation::Chat, r#"{"model":"g","messages":[]}"#).unwrap();
    assert!(!String::from_utf8_lossy(&call.body.to_bytes()).contains("canary"));
}

#[test]
fn drop_params_and_additional_drop_params_take_fields_out() {
    let extra = json!({"additional_drop_params": ["response_format"], "frequency_penalty": 1});
    let client = r#"{"model":"g","response_format":{"type":"text"},"user":"u"}"#;
    assert_eq!(
        sent(extra, client, CallOptions::default()).0,
        r#"{"model":"m-wire","user":"u","frequency_penalty":1}"#
    );
    let reasoner = any("openai/gpt-5-mini", None).unwrap();
    let ask = |drop_params: bool| {
        let client = r#"{"model":"g","temperature":0.3,"max_tokens":5,"logprobs":true}"#;
        let options = CallOptions { drop_params, ..CallOptions::default() };
        body(
            &reasoner
                .call(Operation::Chat, &Envelope::parse(client.as_bytes()).unwrap(), None, options)
                .unwrap(),
        )
    };
    assert_eq!(ask(true), json!({"model": "gpt-5-mini", "max_completion_tokens": 5}));
    assert_eq!(
        ask(false),
        json!({"model": "gpt-5-mini", "temperature": 0.3, "logprobs": true, "max_completion_tokens": 5})
    );
}

#[test]
fn a_stream_is_asked_for_its_usage_and_the_client_sees_it_only_if_it_asked() {
    let stream = CallOptions { stream: true, count_tokens: true, ..CallOptions::default() };
    let plain = r#"{"model":"g","stream":true}"#;
    let (body, strip) = sent(json!({}), plain, stream);
    assert_eq!(
        (body.as_str(), strip),
        (r#"{"model":"m-wire","stream":true,"stream_options":{"include_usage":true}}"#, true)
    );
    let asked = r#"{"model":"g","stream":true,"stream_options":{"include_usage":true}}"#;
    assert!(!sent(json!({}), asked, stream).1);
    let other = r#"{"model":"g","stream":true,"stream_options":{"x":1}}"#;
    let (body, strip) = sent(json!({}), other, stream);
    assert!(strip && body.contains(r#""stream_options":{"x":1,"include_usage":true}"#), "{body}");
    assert!(!sent(json!({}), r#"{"model":"g"}"#, CallOptions::default()).0.contains("stream_options"));
    // Mistral refuses fields it does not know, and sends usage anyway.
    let mistral = any("mistral/m", None).unwrap();
    let call =
        mistral.call(Operation::Chat, &Envelope::parse(plain.as_bytes()).unwrap(), None, stream).unwrap();
    assert_eq!(&call.body.to_bytes()[..], br#"{"model":"m","stream":true}"#);
}

#[test]
fn the_usage_chunk_is_known_by_its_empty_choices() {
    assert!(is_usage_chunk(br#"{"choices":[],"usage":{"total_tokens":3}}"#));
    assert!(!is_usage_chunk(br#"{"choices":[],"usage":null,"prompt_filter_results":[]}"#));
    assert!(!is_usage_chunk(
        br#"{"choices":[{"delta":{"content":"\"usage\""}}],"usage":{"total_tokens":3}}"#
    ));
    assert!(!is_usage_chunk(br#"{"choices":[{"delta":{}}]}"#));
    assert!(!is_usage_chunk(b"[DONE]"));
}

#[test]
fn a_wildcard_serves_the_model_that_was_asked_for() {
    let target = any("openai/*", None).unwrap();
    assert!(target.wildcard);
    let body_text = r#"{"model":"openai/gpt-4o","messages":[]}"#;
    let call = target
        .call(
            Operation::Chat,
            &Envelope::parse(body_text.as_bytes()).unwrap(),
            Some("gpt-4o"),
            CallOptions::default(),
        )
        .unwrap();
    assert_eq!(body(&call)["model"], "gpt-4o");
    let azure = json!({"model": "azure/*", "api_base": "https://r.openai.azure.com", "api_key": "k", "api_version": "2024-06-01"});
    let azure = deployment(azure, None, &[]).unwrap();
    let call = azure
        .call(
            Operation::Chat,
            &Envelope::parse(body_text.as_bytes()).unwrap(),
            Some("my dep/é"),
            CallOptions::default(),
        )
        .unwrap();
    assert_eq!(call.uri.path(), "/openai/deployments/my%20dep/%C3%A9/chat/completions");
}

#[test]
fn an_operation_the_provider_does_not_serve_is_refused_at_once() {
    let refusal =
        call(&any("xai/grok", None).unwrap(), Operation::Embeddings, r#"{"model":"g","input":"x"}"#)
            .unwrap_err();
    assert_eq!((refusal.status, refusal.code, refusal.retry_other), (400, "unsupported_operation", true));
    assert!(
        refusal.message.contains("xai") && refusal.message.contains("/embeddings"),
        "{}",
        refusal.message
    );
    let only_responses = deployment(
        json!({"model": "azure/responses/d", "api_base": "https://r.example", "api_key": "k"}),
        None,
        &[],
    )
    .unwrap();
    assert!(call(&only_responses, Operation::Completions, r#"{"prompt":"x"}"#).is_err());
    assert!(only_responses.serves(Operation::Responses) && !only_responses.serves(Operation::Chat));
}

#[test]
fn embedding_bodies_take_no_chat_defaults() {
    let target = own(json!({"max_tokens": 5, "temperature": 0, "dimensions": 64}));
    let call = call(&target, Operation::Embeddings, r#"{"model":"g","input":["a"]}"#).unwrap();
    assert_eq!(body(&call), json!({"model": "m-wire", "input": ["a"], "dimensions": 64}));
}

#[test]
fn rerank_is_said_in_the_providers_words() {
    let client = r#"{"model":"g","query":"q","documents":["a",{"text":"b"}],"top_n":1}"#;
    let voyage = call(&any("voyage/rerank-2.5", Some("rerank")).unwrap(), Operation::Rerank, client).unwrap();
    assert_eq!(
        body(&voyage),
        json!({"model": "rerank-2.5", "query": "q", "documents": ["a", {"text": "b"}], "top_k": 1})
    );
    let nim = call(&any("nvidia_nim/nvidia/r", Some("rerank")).unwrap(), Operation::Rerank, client).unwrap();
    assert_eq!(
        body(&nim),
        json!({"model": "nvidia/r", "query": {"text": "q"}, "passages": [{"text": "a"}, {"text": "b"}]})
    );
    let haleway_providers::Reply::Translated(mut reader) = nim.reply else { panic!("not translated") };
    let answer =
        reader.answer(br#"{"rankings":[{"index":1,"logit":-1.5}],"usage":{"total_tokens":3}}"#).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["results"], json!([{"index": 1, "relevance_score": -1.5}]));
    assert!(reader.answer(b"<html>").is_err());
}

#[test]
fn parts_of_members_are_never_sent_when_a_path_leads_to_them() {
    let target = deployment(
        json!({"model": "openai/gpt-4o", "api_key": "k", "additional_drop_params": [
            "user", "tools[*].function.strict", "tools[1].x", "messages[0].name", "metadata.a.b", "stop[1]", "nowhere.x",
        ]}),
        None,
        &[],
    )
    .unwrap();
    let client = r#"{"model":"g","user":"u","store":true,"messages":[{"role":"user","name":"n","content":"x"},{"role":"user","name":"kept","content":"y"}],"tools":[{"type":"function","function":{"name":"f","strict":true}},{"type":"function","x":1,"function":{"name":"g","strict":false,"big":12345678901234567890123}}],"metadata":{"a":{"b":1,"c":2}},"stop":["a","b","c"]}"#;
    let call = call(&target, Operation::Chat, client).unwrap();
    let body = call.body.to_bytes();
    let sent = String::from_utf8_lossy(&body);
    assert_eq!(
        sent,
        r#"{"model":"gpt-4o","store":true,"messages":[{"role":"user","content":"x"},{"role":"user","name":"kept","content":"y"}],"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g","big":12345678901234567890123}}],"metadata":{"a":{"c":2}},"stop":["a","c"]}"#
    );
}

#[test]
fn a_path_that_is_none_is_refused_when_the_file_is_read() {
    for path in ["tools[", "tools[x]", "tools[*]x", ".a", "a..b", "a.", "[0]", "tools[*].[0]"] {
        let params = json!({"model": "openai/gpt-4o", "api_key": "k", "additional_drop_params": [path]});
        let error = deployment(params, None, &[]).unwrap_err();
        assert_eq!(error.code(), "invalid_drop_path", "{path}");
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn tokens_are_counted_where_the_messages_are() {
    let client = r#"{"model":"g","messages":[{"role":"user","content":"x"}],"tools":[]}"#;
    let target = deployment(
        json!({"model": "anthropic/claude-haiku-4-5", "api_key": "k", "max_tokens": 5, "temperature": 0}),
        None,
        &[],
    )
    .unwrap();
    let counted = call(&target, Operation::CountTokens, client).unwrap();
    assert_eq!(counted.uri, "https://api.anthropic.com/v1/messages/count_tokens");
    assert_eq!(
        body(&counted),
        json!({"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": "x"}], "tools": []})
    );
    let claude = deployment(
        json!({"model": "azure_ai/claude-haiku-4-5", "api_key": "k", "api_base": "https://r.services.ai.azure.com/anthropic"}),
        None,
        &[],
    )
    .unwrap();
    let counted = call(&claude, Operation::CountTokens, client).unwrap();
    assert_eq!(counted.uri.path(), "/anthropic/v1/messages/count_tokens");
    for model in ["openai/gpt-4o", "gemini/gemini-2.5-flash", "openai/responses/gpt-5", "deepseek/chat"] {
        let refusal = call(&any(model, None).unwrap(), Operation::CountTokens, client).unwrap_err();
        assert_eq!((refusal.code, refusal.retry_other), ("unsupported_operation", true), "{model}");
    }
}
