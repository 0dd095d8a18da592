//! Messages and responses over chat completions, chat completions over responses, and what none of them can say.

use bytes::Bytes;
use haleway_providers::{Call, CallOptions, Operation, Refusal, Reply, Step, Target};
use haleway_wire::Envelope;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{any, deployment};
use crate::golden::Golden;

/// The deployment of a model; without a name, one that has only chat completions.
fn target(model: &str, _: Operation) -> Target {
    let model = if model == "group" { "deepseek/chat" } else { model };
    any(model, None).unwrap()
}

fn upstream(model: &str, operation: Operation) -> Target {
    target(if model == "group" { "openai/responses/gpt-5" } else { model }, operation)
}

fn messages() -> Golden {
    Golden::of(Operation::Messages, "bridge/messages", target)
}

fn responses() -> Golden {
    Golden::of(Operation::Responses, "bridge/responses", target)
}

fn over_responses() -> Golden {
    Golden::of(Operation::Chat, "bridge/upstream", upstream)
}

#[test]
fn requests_are_said_on_the_deployments_wire() {
    messages().requests(9, |_, _| {});
    responses().requests(5, |_, _| {});
    over_responses().requests(3, |name, call| {
        assert!(call.uri.path().ends_with("/responses"), "{name}: {}", call.uri);
    });
}

#[test]
fn answers_come_back_on_the_clients_wire() {
    messages().answers(10);
    responses().answers(10);
    over_responses().answers(5);
}

#[test]
fn streams_come_back_on_the_clients_wire_and_end_as_it_wants() {
    let mut streams = messages().streams(13);
    streams.extend(responses().streams(10));
    streams.extend(over_responses().streams(5));
    for (name, last) in streams {
        match name.as_str() {
            "error" | "failed_finish" | "failed" => {
                assert!(matches!(last, Step::Failed(_)), "{name}: {last:?}")
            }
            "cut" => assert_eq!(last, Step::More),
            _ => assert_eq!(last, Step::Done, "{name}"),
        }
    }
}

fn ask(model: &str, operation: Operation, body: &Value) -> Result<Call, Refusal> {
    let options = CallOptions { created: 1_764_500_000, ..CallOptions::default() };
    let text = body.to_string();
    target(model, operation).call(operation, &Envelope::parse(text.as_bytes()).unwrap(), None, options)
}

#[test]
fn what_the_bridge_cannot_say_is_refused_with_its_place_and_may_be_served_elsewhere() {
    let said = |key: &str, value: Value| {
        let mut body = json!({"model": "g", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]});
        body[key] = value;
        (Operation::Messages, body)
    };
    let block = |block: Value| said("messages", json!([{"role": "user", "content": [block]}]));
    let response = |key: &str, value: Value| {
        let mut body = json!({"model": "g", "input": "x"});
        body[key] = value;
        (Operation::Responses, body)
    };
    for ((operation, body), param) in [
        (said("tools", json!([{"type": "web_search_20250305", "name": "web_search"}])), "tools[0]"),
        (said("mcp_servers", json!([{"url": "x"}])), "mcp_servers"),
        (said("container", json!("c_1")), "container"),
        (block(json!({"type": "server_tool_use", "id": "a"})), "messages[0].content[0]"),
        (
            block(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            "messages[0].content[0].source",
        ),
        (response("previous_response_id", json!("resp_1")), "previous_response_id"),
        (response("background", json!(true)), "background"),
        (response("conversation", json!("conv_1")), "conversation"),
        (response("prompt", json!({"id": "p"})), "prompt"),
        (response("tools", json!([{"type": "web_search"}])), "tools[0]"),
        (response("top_logprobs", json!(3)), "top_logprobs"),
        (response("input", json!([{"type": "item_reference", "id": "i"}])), "input[0]"),
        (
            response(
                "input",
                json!([{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]),
            ),
            "input[0].content[0]",
        ),
    ] {
        let refusal = ask("deepseek/chat", operation, &body).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.param.as_deref(), refusal.retry_other),
            ("untranslatable_request", Some(param), true),
            "{body}"
        );
    }
    for (name, value) in [("stop", json!("END")), ("n", json!(2)), ("logprobs", json!(true))] {
        let mut body = json!({"messages": [{"role": "user", "content": "x"}]});
        body[name] = value;
        let refusal = ask("openai/responses/gpt-5", Operation::Chat, &body).unwrap_err();
        assert_eq!((refusal.param.as_deref(), refusal.retry_other), (Some(name), true));
    }
}

#[test]
fn a_broken_request_is_the_callers_mistake_everywhere() {
    for (operation, body, param) in [
        (Operation::Messages, json!({"messages": "x"}), "messages"),
        (Operation::Messages, json!({"messages": [{"role": "robot", "content": "x"}]}), "messages[0].role"),
        (Operation::Messages, json!({"messages": [{"role": "user", "content": 7}]}), "messages[0].content"),
        (Operation::Messages, json!({"messages": [], "tools": 7}), "tools"),
        (Operation::Messages, json!({"messages": [], "thinking": 7}), "thinking"),
        (
            Operation::Messages,
            json!({"messages": [], "output_config": {"format": {"type": "xml"}}}),
            "output_config.format",
        ),
        (Operation::Responses, json!({}), "input"),
        (Operation::Responses, json!({"input": 7}), "input"),
        (Operation::Responses, json!({"input": "x", "instructions": []}), "instructions"),
        (Operation::Responses, json!({"input": "x", "text": {"format": {"type": "xml"}}}), "text.format"),
        (Operation::Responses, json!({"input": [{"role": "user"}]}), "input[0].content"),
        (Operation::Responses, json!({"input": [{"type": "function_call"}]}), "input[0]"),
    ] {
        let refusal = ask("deepseek/chat", operation, &body).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.param.as_deref(), refusal.retry_other),
            ("invalid_value", Some(param), false),
            "{body}"
        );
    }
}

#[test]
fn a_road_of_the_deployments_own_wins_and_its_bytes_pass() {
    let message = json!({"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]});
    let call = ask("anthropic/claude-haiku-4-5", Operation::Messages, &message).unwrap();
    assert!(matches!(call.reply, Reply::Passthrough));
    let response = json!({"model":"m","input":"x","previous_response_id":"resp_1"});
    for model in ["openai/gpt-5", "openai/responses/gpt-5", "azure/gpt-5"] {
        let call = ask(model, Operation::Responses, &response).unwrap();
        assert!(matches!(call.reply, Reply::Passthrough), "{model}");
        assert!(call.uri.path().ends_with("/responses"), "{model}");
    }
    let chat = json!({"messages":[{"role":"user","content":"x"}]});
    assert!(ask("openai/gpt-5", Operation::Chat, &chat).unwrap().uri.path().ends_with("/chat/completions"));
}

#[test]
fn mode_responses_serves_chat_over_responses() {
    let params = json!({"model": "openai/o1-pro", "api_key": "k", "max_tokens": 500, "temperature": 1});
    let target = deployment(params, Some("responses"), &[]).unwrap();
    let body = br#"{"messages":[{"role":"user","content":"x"}]}"#;
    let call =
        target.call(Operation::Chat, &Envelope::parse(body).unwrap(), None, CallOptions::default()).unwrap();
    assert!(call.uri.path().ends_with("/v1/responses"));
    let body: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
    assert_eq!(
        (&body["model"], &body["max_output_tokens"], &body["temperature"], &body["store"]),
        (&json!("o1-pro"), &json!(500), &json!(1), &json!(false))
    );
    assert!(body.get("messages").is_none());
}

#[test]
fn drop_params_leaves_out_what_cannot_be_said() {
    let params = json!({"model": "openai/responses/gpt-5", "api_key": "k", "drop_params": true, "additional_drop_params": ["user"]});
    let target = deployment(params, None, &[]).unwrap();
    let body = br#"{"messages":[{"role":"user","content":"x"}],"stop":["END"],"n":2,"user":"u"}"#;
    let call =
        target.call(Operation::Chat, &Envelope::parse(body).unwrap(), None, CallOptions::default()).unwrap();
    let body: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
    assert_eq!(body, json!({"input": [{"role": "user", "content": "x"}], "store": false, "model": "gpt-5"}));
}

#[test]
fn an_answer_that_says_it_failed_is_no_message() {
    for body in [
        &b"<html>"[..],
        b"",
        b"{}",
        br#"{"error":{"message":"no"}}"#,
        br#"{"choices":[]}"#,
        br#"{"choices":[{"message":{"content":""},"finish_reason":"error"}]}"#,
        br#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{broken"}}]},"finish_reason":"tool_calls"}]}"#,
    ] {
        let mut reader = messages().reader("basic", false);
        assert!(reader.answer(body).is_err(), "{}", String::from_utf8_lossy(body));
    }
    for body in [&b"{}"[..], br#"{"status":"failed","output":[]}"#, br#"{"error":{"code":"x"},"output":[]}"#]
    {
        let mut reader = over_responses().reader("basic", false);
        assert!(reader.answer(body).is_err(), "{}", String::from_utf8_lossy(body));
    }
}

/// Keys that the bridges read.
const NAMES: &[&str] = &[
    "role",
    "content",
    "type",
    "text",
    "source",
    "input",
    "id",
    "name",
    "tool_use_id",
    "call_id",
    "arguments",
    "output",
    "delta",
    "choices",
    "message",
    "tool_calls",
    "function",
    "index",
    "usage",
    "finish_reason",
    "reasoning_content",
    "thinking_blocks",
    "signature",
    "response",
    "item",
    "output_index",
    "messages",
    "tools",
    "tool_choice",
    "thinking",
    "system",
    "instructions",
    "summary",
    "status",
    "error",
];

/// Values that they tell apart.
const WORDS: &[&str] = &[
    "user",
    "assistant",
    "system",
    "tool",
    "text",
    "image",
    "tool_use",
    "tool_result",
    "thinking",
    "message",
    "function",
    "function_call",
    "function_call_output",
    "reasoning",
    "input_text",
    "stop",
    "tool_calls",
    "response.created",
    "response.output_text.delta",
    "response.output_item.added",
    "response.completed",
    "response.function_call_arguments.delta",
    "",
    "{}",
    "{\"a\":1}",
    "é\u{0}\"\\",
];

/// JSON of any shape, with the names that the bridges read among its keys.
fn value() -> impl Strategy<Value = Value> {
    let (names, words) = (prop::sample::select(NAMES), prop::sample::select(WORDS));
    let leaf = prop_oneof![
        Just(Value::Null),
        prop::bool::ANY.prop_map(Value::from),
        proptest::prelude::any::<i32>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_a_request_or_a_refusal(turns in prop::collection::vec(value(), 0..4), tools in value(), more in value()) {
        for (model, operation, name) in [
            ("deepseek/chat", Operation::Messages, "messages"),
            ("gemini/gemini-2.5-flash", Operation::Messages, "messages"),
            ("openai/responses/gpt-5", Operation::Messages, "messages"),
            ("openai/responses/gpt-5", Operation::Chat, "messages"),
            ("deepseek/chat", Operation::Responses, "input"),
        ] {
            let mut body = json!({"tools": tools, "thinking": more, "system": more, "text": more, "response_format": more});
            body[name] = turns.clone().into();
            if let Ok(call) = ask(model, operation, &body) {
                prop_assert!(serde_json::from_slice::<Value>(&call.body.to_bytes()).unwrap().is_object());
            }
        }
    }

    #[test]
    fn any_json_is_an_event_or_an_answer_or_none(events in prop::collection::vec(value(), 0..8)) {
        for (golden, name) in [(messages(), "type"), (responses(), "type"), (over_responses(), "choices")] {
            let mut reader = golden.reader("basic", true);
            let mut chunks: Vec<Bytes> = Vec::new();
            for event in &events {
                let event = event.to_string();
                let _answer = reader.answer(event.as_bytes());
                reader.event(None, event.as_bytes(), &mut chunks);
            }
            reader.end(&mut chunks);
            for chunk in chunks {
                let chunk: Value = serde_json::from_slice(&chunk).unwrap();
                prop_assert!(chunk.get(name).is_some());
            }
        }
    }

    #[test]
    fn text_and_tool_calls_survive_both_ways(
        said in "\\PC{1,40}",
        id in "[a-z0-9_]{1,12}",
        name in "[a-z]{1,8}",
        key in "[a-z]{1,6}",
        input in "\\PC{1,20}",
    ) {
        // What an assistant said goes to the provider; the provider says the same; the client reads it.
        let turn = json!([
            {"type": "text", "text": said},
            {"type": "tool_use", "id": id, "name": name, "input": {(key.as_str()): input}},
        ]);
        let body = json!({"max_tokens": 5, "messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": turn}]});
        let call = ask("deepseek/chat", Operation::Messages, &body).unwrap();
        let sent: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
        let answer = json!({"choices": [{"message": sent["messages"][1], "finish_reason": "tool_calls"}]});
        let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
        let got: Value = serde_json::from_slice(&reader.answer(answer.to_string().as_bytes()).unwrap()).unwrap();
        prop_assert_eq!(&got["content"], &turn);

        let items = json!([
            {"role": "user", "content": "x"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]},
            {"type": "function_call", "call_id": id, "name": name, "arguments": input},
        ]);
        let call = ask("deepseek/chat", Operation::Responses, &json!({"input": items})).unwrap();
        let sent: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
        let answer = json!({"choices": [{"message": sent["messages"][1], "finish_reason": "tool_calls"}]});
        let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
        let got: Value = serde_json::from_slice(&reader.answer(answer.to_string().as_bytes()).unwrap()).unwrap();
        prop_assert_eq!(&got["output"][0]["content"][0]["text"], &json!(said));
        prop_assert_eq!(&got["output"][1]["arguments"], &json!(input));
        prop_assert_eq!(&got["output"][1]["call_id"], &json!(id));
    }
}
