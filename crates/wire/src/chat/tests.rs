use proptest::prelude::*;

use super::*;

fn chunk(choices: &str) -> ChunkFacts {
    inspect_chunk(format!(r#"{{"id":"c","object":"chat.completion.chunk","choices":{choices}}}"#).as_bytes())
}

#[test]
fn output_is_anything_the_model_said() {
    for delta in [
        r#"{"content":"a"}"#,
        r#"{"content":" "}"#,
        r#"{"reasoning_content":"hm"}"#,
        r#"{"reasoning":"hm"}"#,
        r#"{"content":null,"tool_calls":[{"index":0,"function":{"name":"f"}}]}"#,
        r#"{"refusal":"no"}"#,
        r#"{"content":[{"type":"thinking","thinking":[]}]}"#,
        r#"{"audio":{"id":"a"}}"#,
    ] {
        assert!(
            chunk(&format!(r#"[{{"index":0,"delta":{delta},"finish_reason":null}}]"#)).has_output,
            "{delta}"
        );
    }
    for delta in
        [r#"{"role":"assistant","content":""}"#, "{}", r#"{"content":null}"#, r#"{"tool_calls":[]}"#, "null"]
    {
        let facts = chunk(&format!(r#"[{{"index":0,"delta":{delta}}}]"#));
        assert!(!facts.has_output && !facts.malformed, "{delta}");
    }
    assert!(chunk(r#"[{"text":"a","index":0}]"#).has_output);
    assert!(chunk(r#"[{"delta":{}},{"delta":{"content":"second"}}]"#).has_output);
}

#[test]
fn endings_usage_errors_and_the_end_mark_are_seen() {
    assert_eq!(chunk(r#"[{"delta":{},"finish_reason":"length"}]"#).finish, Some(Finish::Length));
    assert!(inspect_chunk(b"[DONE]").is_done && inspect_chunk(b" [DONE] ").is_done);
    let facts = inspect_chunk(br#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,"completion_tokens_details":{"reasoning_tokens":3},"prompt_tokens_details":{"cached_tokens":8}}}"#);
    let usage = Usage {
        prompt_tokens: 9,
        completion_tokens: 4,
        total_tokens: 13,
        reasoning_tokens: 3,
        cached_tokens: 8,
        cache_written_tokens: 0,
    };
    assert_eq!(facts.usage, Some(usage));
    for error in [r#"{"error":{"message":"x"}}"#, r#"{"error":"x"}"#, r#"{"object":"error","message":"x"}"#] {
        let facts = inspect_chunk(error.as_bytes());
        assert!(facts.error && !facts.malformed, "{error}");
    }
    assert!(!inspect_chunk(br#"{"choices":[],"error":null}"#).error);
    for broken in ["", "{", "<html>", "[]", "1", r#"{"a":1}"#] {
        assert!(inspect_chunk(broken.as_bytes()).malformed, "{broken:?}");
    }
}

#[test]
fn unusual_types_do_not_hide_the_rest() {
    let body = r#"{"choices":[{"delta":{"content":"a","content":"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":"9","completion_tokens":2.5}}"#;
    let facts = inspect_chunk(body.as_bytes());
    assert!(facts.has_output && !facts.malformed);
    assert_eq!(facts.finish, Some(Finish::Stop));
    assert_eq!(
        inspect_chunk(br#"{"choices":[{"delta":{"content":"a"},"finish_reason":7}],"usage":"x"}"#).finish,
        None
    );
    assert!(inspect_chunk(br#"{"choices":[{"delta":{"content":"a"},"finish_reason":7}]}"#).has_output);
}

#[test]
fn the_other_wires_streams_are_read_by_their_types() {
    let see = |kind, data: &str| inspect_event(kind, data.as_bytes());
    let responses = |data| see(StreamKind::Responses, data);
    assert!(responses(r#"{"type":"response.output_text.delta","delta":"a"}"#).has_output);
    assert!(!responses(r#"{"type":"response.created","response":{}}"#).has_output);
    let done = responses(
        r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":2,"output_tokens":3}}}"#,
    );
    assert_eq!(
        (done.is_done, done.finish, done.usage.unwrap().total_tokens),
        (true, Some(Finish::Length), 5)
    );
    assert!(responses(r#"{"type":"response.failed","response":{"error":{"code":"x"}}}"#).error);
    let messages = |data| see(StreamKind::Messages, data);
    assert!(
        messages(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#)
            .has_output
    );
    assert!(
        !messages(r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}"#)
            .has_output
    );
    assert!(
        messages(
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}"#
        )
        .has_output
    );
    assert_eq!(
        messages(
            r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":3}}"#
        )
        .finish,
        Some(Finish::Length)
    );
    assert!(messages(r#"{"type":"message_stop"}"#).is_done);
    assert!(messages(r#"{"type":"error","error":{"type":"overloaded_error"}}"#).error);
    assert!(messages(r#"{"error":{"message":"x"}}"#).error);
    assert!(messages("{").malformed && messages("{}").malformed);
}

#[test]
fn an_answer_is_usable_when_it_holds_what_it_promises() {
    use AnswerKind::{Chat, Completion, Embedding, Messages, Rerank, Responses};
    let table = [
        (Chat, r#"{"choices":[{"message":{"content":"2"}}]}"#, true, true),
        (Chat, r#"{"choices":[{"message":{"content":" \n"}}]}"#, false, true),
        (Chat, r#"{"choices":[{"message":{"content":null,"tool_calls":[{}]}}]}"#, true, true),
        (Chat, r#"{"choices":[{"message":{"content":[{"type":"text","text":"2"}]}}]}"#, true, true),
        (Chat, r#"{"choices":[{"message":{"refusal":"no"}}]}"#, true, true),
        (Chat, r#"{"choices":[]}"#, false, false),
        (Chat, r#"{"choices":null}"#, false, false),
        (Chat, r#"{"choices":[{"message":"hi"}]}"#, false, false),
        (Completion, r#"{"choices":[{"text":"\n\nHello"}]}"#, true, true),
        (Embedding, r#"{"data":[{"embedding":[0.1,0]}]}"#, true, true),
        (Embedding, r#"{"data":[{"embedding":[0,0.0]}]}"#, false, true),
        (Embedding, r#"{"data":[{"embedding":[null]}]}"#, false, false),
        (Embedding, r#"{"data":[{"embedding":[]}]}"#, false, false),
        (Embedding, r#"{"data":[{"embedding":"AACAPw=="}]}"#, true, true),
        (Embedding, r#"{"data":[{"embedding":"AAAAAA=="}]}"#, false, true),
        (Embedding, r#"{"data":[]}"#, false, false),
        (
            Responses,
            r#"{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"2"}]}]}"#,
            true,
            true,
        ),
        (Responses, r#"{"status":"incomplete","output":[{"type":"reasoning"}]}"#, false, true),
        (Messages, r#"{"content":[{"type":"text","text":"2"}],"stop_reason":"end_turn"}"#, true, true),
        (Messages, r#"{"content":[]}"#, false, true),
        (Rerank, r#"{"results":[{"index":0,"relevance_score":0.1}]}"#, true, true),
        (Rerank, r#"[{"index":0,"score":0.1}]"#, true, true),
        (Rerank, r#"{"results":[{"index":0,"relevance_score":null}]}"#, false, false),
    ];
    for (kind, body, usable, structure) in table {
        let facts = inspect_answer(body.as_bytes(), kind);
        assert_eq!((facts.usable_output, facts.structure_ok), (usable, structure), "{kind:?} {body}");
    }
    let blank = inspect_answer(br#"{"choices":[{"message":{"content":""},"finish_reason":"length"}],"usage":{"completion_tokens_details":{"reasoning_tokens":16}}}"#, Chat);
    assert_eq!((blank.finish, blank.reasoning_tokens, blank.has_reasoning), (Some(Finish::Length), 16, true));
    for body in
        [r#"{"error":"x"}"#, r#"{"base_resp":{"status_code":1008}}"#, r#"{"status":"failed","output":[]}"#]
    {
        assert!(inspect_answer(body.as_bytes(), Chat).error, "{body}");
    }
}

proptest! {
    #[test]
    fn any_bytes_can_be_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..128), text in "\\PC{0,60}") {
        for kind in [StreamKind::Chat, StreamKind::Responses, StreamKind::Messages] {
            inspect_event(kind, &bytes);
            inspect_event(kind, text.as_bytes());
        }
        inspect_answer(&bytes, AnswerKind::Chat);
    }
}
