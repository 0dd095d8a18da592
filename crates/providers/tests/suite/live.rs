//! Gemini's live sessions: where they begin, and what both sides' messages become.

use haleway_providers::{Dialogue, Mode, ProbeMemory, ProbeSettings, Target, Turn};
use serde_json::{Value, json};

use crate::common::deployment;

fn target(params: Value) -> Target {
    deployment(params, Some("realtime"), &[]).unwrap()
}

fn dialogue(beta: bool) -> Dialogue {
    let target = target(json!({"model": "gemini/gemini-3.1-flash-live-preview", "api_key": "k"}));
    target.dialogue(None, "1", beta, false).unwrap()
}

fn say(dialogue: &mut Dialogue, event: &Value) -> Turn {
    dialogue.caller(event.to_string().as_bytes())
}

fn hear(dialogue: &mut Dialogue, message: &Value) -> Vec<Value> {
    let turn = dialogue.provider(message.to_string().as_bytes());
    assert_eq!((turn.renew, turn.to_provider), (None, vec![]));
    read(&turn.to_caller)
}

fn read(events: &[String]) -> Vec<Value> {
    events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn update(session: &Value) -> Value {
    json!({"type": "session.update", "event_id": "e7", "session": session})
}

fn text(words: &str) -> Value {
    json!({"type": "conversation.item.create", "item": {"type": "message", "role": "user",
        "content": [{"type": "input_text", "text": words}]}})
}

#[test]
fn sessions_begin_beside_the_versions_and_name_the_model_first() {
    let of_vertex = "projects/p/locations/us-central1/publishers/google/models/gemini-live";
    for (params, url, model) in [
        (
            json!({"model": "gemini/g-live", "api_key": "k"}),
            "https://generativelanguage.googleapis.com/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
            "models/g-live",
        ),
        (
            json!({"model": "gemini/g-live", "api_key": "k", "api_base": "http://own.example/g/v1alpha"}),
            "http://own.example/g/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContent",
            "models/g-live",
        ),
        (
            json!({"model": "vertex_ai/gemini-live", "vertex_project": "p", "vertex_location": "us-central1", "api_key": "t"}),
            "https://us-central1-aiplatform.googleapis.com/ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent",
            of_vertex,
        ),
    ] {
        let target = target(params);
        let traffic = target.session(None, None).unwrap();
        let settings = ProbeSettings::default();
        let probe = target.probe(Mode::Realtime, &settings, &ProbeMemory::default(), 1).unwrap();
        for call in [&traffic, &probe.call] {
            assert_eq!(call.uri.to_string(), url);
            let hello: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
            assert_eq!(hello, json!({"setup": {"model": model}}));
        }
        assert!(probe.is_free());
    }
}

#[test]
fn other_providers_need_no_interpreter() {
    let target = target(json!({"model": "openai/gpt-realtime", "api_key": "k"}));
    assert!(target.dialogue(None, "1", false, false).is_none());
    assert!(target.session(None, None).unwrap().body.is_empty());
}

#[test]
fn what_a_caller_states_first_becomes_another_set_up() {
    let mut dialogue = dialogue(false);
    assert_eq!(read(&[dialogue.opened()])[0]["type"], "session.created");
    let session = json!({"type": "realtime", "instructions": "Be brief.", "output_modalities": ["audio"],
        "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}}],
        "tool_choice": "auto", "max_output_tokens": 99,
        "audio": {"input": {"format": {"type": "audio/pcm", "rate": 24000}, "transcription": {"model": "any"},
            "turn_detection": {"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 300}},
            "output": {"voice": "echo"}}});
    let turn = say(&mut dialogue, &update(&session));
    let setup: Value = serde_json::from_str(&turn.renew.unwrap()).unwrap();
    assert_eq!(
        setup["setup"],
        json!({"model": "models/gemini-3.1-flash-live-preview",
            "generationConfig": {"responseModalities": ["AUDIO"], "maxOutputTokens": 99,
                "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Puck"}}}},
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}}]}],
            "realtimeInputConfig": {"automaticActivityDetection": {"silenceDurationMs": 300}},
            "inputAudioTranscription": {}, "outputAudioTranscription": {}})
    );
    let updated = &read(&turn.to_caller)[0];
    assert_eq!(
        (&updated["type"], &updated["session"]["audio"]["output"]["voice"]),
        (&json!("session.updated"), &json!("echo"))
    );
    // The same once more is no news, and neither is it after something was said.
    assert_eq!(say(&mut dialogue, &update(&session)).renew, None);
    say(&mut dialogue, &text("hi"));
    assert_eq!(kinds(&read(&say(&mut dialogue, &update(&session)).to_caller)), ["session.updated"]);
    let late = say(&mut dialogue, &update(&json!({"instructions": "Be long."})));
    assert_eq!((late.renew, read(&late.to_caller)[0]["error"]["param"].clone()), (None, json!("session")));
}

#[test]
fn what_has_no_counterpart_is_refused_by_name_and_the_session_stays() {
    for (event, param) in [
        (update(&json!({"tool_choice": "required"})), "session.tool_choice"),
        (update(&json!({"tools": [{"type": "mcp"}]})), "session.tools[0]"),
        (update(&json!({"input_audio_format": "g711_ulaw"})), "session.input_audio_format"),
        (update(&json!({"audio": {"output": {"speed": 1.5}}})), "session.audio.output.speed"),
        (
            update(&json!({"audio": {"input": {"noise_reduction": {"type": "near_field"}}}})),
            "session.audio.input.noise_reduction",
        ),
        (update(&json!({"turn_detection": {"type": "semantic_vad"}})), "session.turn_detection.type"),
        (
            update(&json!({"turn_detection": {"prefix_padding_ms": -1}})),
            "session.turn_detection.prefix_padding_ms",
        ),
        (update(&json!({"tracing": "auto"})), "session.tracing"),
        (update(&json!("x")), "session"),
        (json!({"type": "response.cancel"}), "type"),
        (json!({"type": "conversation.item.truncate"}), "type"),
        (json!({"type": "response.create", "response": {"instructions": "x"}}), "response.instructions"),
        (json!({"type": "input_audio_buffer.append"}), "audio"),
        (json!({"type": "input_audio_buffer.commit"}), "type"),
        (
            json!({"type": "conversation.item.create", "item": {"type": "message", "role": "system", "content": []}}),
            "item.role",
        ),
        (
            json!({"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c"}}),
            "item.call_id",
        ),
        (json!({}), "type"),
    ] {
        let mut dialogue = dialogue(false);
        let before = format!("{dialogue:?}");
        let turn = say(&mut dialogue, &event);
        assert_eq!((turn.renew, turn.to_provider), (None, vec![]), "{event}");
        let answer = read(&turn.to_caller);
        assert_eq!((kinds(&answer), &answer[0]["error"]["param"]), (vec!["error"], &json!(param)), "{event}");
        assert_eq!(answer[0]["error"]["event_id"], event["event_id"]);
        let after = format!("{dialogue:?}").replace("events: 1, items", "events: 0, items");
        assert_eq!(before, after, "{event}");
    }
    let drops = target(json!({"model": "gemini/g-live", "api_key": "k", "drop_params": true}));
    let mut dialogue = drops.dialogue(None, "1", false, false).unwrap();
    let turn = say(
        &mut dialogue,
        &update(&json!({"tracing": "auto", "audio": {"output": {"speed": 2, "voice": "Puck"}}})),
    );
    assert!(turn.renew.unwrap().contains("Puck"));
}

#[test]
fn a_written_turn_is_answered_in_writing() {
    let mut dialogue = dialogue(false);
    say(&mut dialogue, &update(&json!({"output_modalities": ["text"]})));
    let turn = say(&mut dialogue, &text("hi"));
    assert_eq!(turn.to_provider, Vec::<String>::new(), "it waits for response.create");
    assert_eq!(kinds(&read(&turn.to_caller)), ["conversation.item.added", "conversation.item.done"]);
    let turn = say(&mut dialogue, &json!({"type": "response.create"}));
    assert_eq!(
        read(&turn.to_provider),
        [
            json!({"clientContent": {"turns": [{"role": "user", "parts": [{"text": "hi"}]}], "turnComplete": true}})
        ]
    );
    let part = |text: &str| json!({"serverContent": {"modelTurn": {"parts": [{"text": "hm", "thought": true}, {"text": text}]}}});
    let first = hear(&mut dialogue, &part("He"));
    assert_eq!(
        kinds(&first),
        [
            "response.created",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta"
        ]
    );
    assert_eq!(kinds(&hear(&mut dialogue, &part("llo"))), ["response.output_text.delta"]);
    let end = json!({"serverContent": {"turnComplete": true},
        "usageMetadata": {"promptTokenCount": 3, "responseTokenCount": 2, "totalTokenCount": 5}});
    let last = hear(&mut dialogue, &end);
    assert_eq!(
        kinds(&last),
        [
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "conversation.item.added",
            "conversation.item.done",
            "response.done"
        ]
    );
    assert_eq!(last[0]["text"], "Hello");
    let response = &last[5]["response"];
    assert_eq!((&response["status"], &response["usage"]["output_tokens"]), (&json!("completed"), &json!(2)));
    assert_eq!(response["output"][0]["content"][0], json!({"type": "output_text", "text": "Hello"}));
    assert_eq!(first[0]["response"]["id"], response["id"]);
    assert_eq!(hear(&mut dialogue, &json!({"serverContent": {"turnComplete": true}})), [] as [Value; 0]);
}

#[test]
fn speech_goes_both_ways_and_an_interruption_cancels() {
    let mut dialogue = dialogue(true);
    let turn = say(&mut dialogue, &json!({"type": "input_audio_buffer.append", "audio": "AAAA"}));
    let sound = json!({"realtimeInput": {"audio": {"data": "AAAA", "mimeType": "audio/pcm;rate=24000"}}});
    assert_eq!(read(&turn.to_provider), std::slice::from_ref(&sound));
    hear(&mut dialogue, &json!({"serverContent": {"inputTranscription": {"text": "good day"}}}));
    let spoken = json!({"serverContent": {"modelTurn": {"parts": [{"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "BBBB"}}]},
        "outputTranscription": {"text": "Hi"}}});
    let events = hear(&mut dialogue, &spoken);
    assert_eq!(
        kinds(&events),
        [
            "conversation.item.input_audio_transcription.completed",
            "response.created",
            "response.output_item.added",
            "response.content_part.added",
            "response.audio.delta",
            "response.audio_transcript.delta"
        ]
    );
    assert_eq!((&events[0]["transcript"], &events[4]["delta"]), (&json!("good day"), &json!("BBBB")));
    let events = hear(&mut dialogue, &json!({"serverContent": {"interrupted": true}}));
    assert_eq!(events.first().unwrap()["type"], "input_audio_buffer.speech_started");
    assert_eq!(events.last().unwrap()["response"]["status"], "cancelled");
    let turn = say(&mut dialogue, &json!({"type": "input_audio_buffer.commit"}));
    assert_eq!(read(&turn.to_provider), [json!({"realtimeInput": {"audioStreamEnd": true}})]);
    assert_eq!(kinds(&read(&turn.to_caller)), ["input_audio_buffer.committed", "conversation.item.created"]);
}

#[test]
fn without_detection_the_caller_says_where_its_speech_begins_and_ends() {
    let mut dialogue = dialogue(false);
    let turn = say(&mut dialogue, &update(&json!({"audio": {"input": {"turn_detection": null}}})));
    assert!(turn.renew.unwrap().contains(r#""automaticActivityDetection":{"disabled":true}"#));
    let append = json!({"type": "input_audio_buffer.append", "audio": "AAAA"});
    let sent = |turn: &Turn| -> Vec<String> {
        let kind =
            |message: &Value| message["realtimeInput"].as_object().unwrap().keys().next().unwrap().clone();
        read(&turn.to_provider).iter().map(kind).collect()
    };
    assert_eq!(sent(&say(&mut dialogue, &append)), ["activityStart", "audio"]);
    assert_eq!(sent(&say(&mut dialogue, &append)), ["audio"]);
    assert_eq!(
        say(&mut dialogue, &json!({"type": "input_audio_buffer.commit"})).to_provider,
        Vec::<String>::new()
    );
    assert_eq!(sent(&say(&mut dialogue, &json!({"type": "response.create"}))), ["activityEnd"]);
    // An answer without words is one all the same.
    let events = hear(&mut dialogue, &json!({"serverContent": {"turnComplete": true}}));
    assert_eq!(kinds(&events), ["response.created", "response.done"]);
}

#[test]
fn functions_end_an_answer_and_their_results_go_when_the_next_is_asked_for() {
    let mut dialogue = dialogue(false);
    let call = json!({"toolCall": {"functionCalls": [{"id": "c1", "name": "f", "args": {"a": 1}}]}});
    let events = hear(&mut dialogue, &call);
    assert_eq!(
        kinds(&events),
        [
            "response.created",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "conversation.item.added",
            "conversation.item.done",
            "response.done"
        ]
    );
    let item = &events[7]["response"]["output"][0];
    assert_eq!((&item["call_id"], &item["arguments"]), (&json!("c1"), &json!(r#"{"a":1}"#)));
    let result = |output: &str| {
        json!({"type": "conversation.item.create",
        "item": {"type": "function_call_output", "call_id": "c1", "output": output}})
    };
    assert_eq!(say(&mut dialogue, &result("sunny")).to_provider, Vec::<String>::new());
    let turn = say(&mut dialogue, &json!({"type": "response.create"}));
    assert_eq!(
        read(&turn.to_provider),
        [
            json!({"toolResponse": {"functionResponses": [{"id": "c1", "name": "f", "response": {"output": "sunny"}}]}})
        ]
    );
    assert_eq!(kinds(&read(&say(&mut dialogue, &result("again")).to_caller)), ["error"]);
}

proptest::proptest! {
    /// Nothing that either side sends ends the process, and every answer is an event.
    #[test]
    fn any_messages_are_borne(said: Vec<(bool, Vec<u8>)>, picks: Vec<(bool, u8)>) {
        let known = [
            r#"{"serverContent":{"modelTurn":{"parts":[{"text":"a"},{"inlineData":{"data":"AA"}},7]}}}"#,
            r#"{"serverContent":{"interrupted":true}}"#, r#"{"serverContent":{"turnComplete":true}}"#,
            r#"{"toolCall":{"functionCalls":[{},{"id":"c","name":"f"}]}}"#, r#"{"serverContent":7,"usageMetadata":[]}"#,
            r#"{"type":"response.create"}"#, r#"{"type":"input_audio_buffer.append","audio":"AA"}"#,
            r#"{"type":"session.update","session":{"modalities":["text"],"turn_detection":null}}"#,
            r#"{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c","output":"[]"}}"#,
            r#"{"type":"input_audio_buffer.commit"}"#,
        ];
        let mut dialogue = dialogue(false);
        let picked = picks.iter().map(|(side, pick)| (*side, known[usize::from(*pick) % known.len()].as_bytes().to_vec()));
        for (side, bytes) in said.into_iter().chain(picked) {
            let turn = if side { dialogue.caller(&bytes) } else { dialogue.provider(&bytes) };
            for event in read(&turn.to_caller) {
                proptest::prop_assert!(event["type"].is_string());
            }
            read(&turn.to_provider);
        }
    }
}
