//! Gemini's live sessions over real sockets: the caller speaks OpenAI's events, the provider its own messages.

use haleway_mockllm::{Act, Behaviour};
use haleway_testkit::Yaml;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::bed::Bed;
use crate::realtime::{Caller, bed, enter, event, header, hear, say, until};

fn live(yaml: Yaml) -> Yaml {
    ["d1", "d2"].iter().fold(yaml, |yaml, id| {
        yaml.set(&format!("{id}.litellm_params.model"), "gemini/g-live")
            .set(&format!("{id}.model_info.mode"), "realtime")
    })
}

/// Everything up to the event of this type, which is the last.
async fn through(caller: &mut Caller, last: &str) -> Vec<Value> {
    let mut events = Vec::new();
    loop {
        let event = event(caller).await;
        let done = event["type"] == last;
        events.push(event);
        if done {
            return events;
        }
    }
}

fn joined(events: &[Value], kind: &str) -> String {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .map(|event| event["delta"].as_str().unwrap())
        .collect()
}

fn bad(bed: &Bed) -> u32 {
    let slot = bed.gateway.hub.snapshot().find("d1").unwrap();
    bed.gateway.hub.detail(slot, bed.gateway.clock.now()).unwrap().evidence.window_failed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_events_reach_gemini_and_its_answer_comes_back_as_events() {
    let bed = bed(Behaviour::ok(), live).await;
    let (mut caller, headers) = enter(&bed).await;
    assert_eq!(header(&headers, "x-litellm-model-id"), "d1");
    assert_eq!(event(&mut caller).await["type"], "session.created");
    let session = json!({ "type": "realtime", "instructions": "Be brief.", "output_modalities": ["text"] });
    say(&mut caller, json!({ "type": "session.update", "session": session })).await;
    assert_eq!(event(&mut caller).await["session"]["instructions"], "Be brief.");
    assert_eq!(bed.requests("u1"), 2, "the session was begun anew");
    until("the first one is told", || bed.mock.counts("u1").completed == 1).await;
    let content = json!([{ "type": "input_text", "text": "Hi." }]);
    let item = json!({ "type": "message", "role": "user", "content": content });
    say(&mut caller, json!({ "type": "conversation.item.create", "item": item })).await;
    say(&mut caller, json!({ "type": "response.create" })).await;
    let events = through(&mut caller, "response.done").await;
    assert_eq!(joined(&events, "response.output_text.delta"), "Hello! How can I help you today?");
    assert_eq!(events.last().unwrap()["response"]["status"], "completed");
    say(&mut caller, json!({ "type": "response.cancel" })).await;
    assert_eq!(event(&mut caller).await["error"]["code"], "untranslatable_request");
    caller.close(None).await.unwrap();
    until("the provider is told", || bed.mock.counts("u1").completed == 2).await;
    assert_eq!((bed.settled_state().await, bad(&bed)), ("HEALTHY", 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sound_is_answered_in_sound_with_its_words() {
    let bed = bed(Behaviour::ok(), live).await;
    let (mut caller, _) = enter(&bed).await;
    assert_eq!(event(&mut caller).await["type"], "session.created");
    say(&mut caller, json!({ "type": "input_audio_buffer.append", "audio": "AAAA" })).await;
    say(&mut caller, json!({ "type": "input_audio_buffer.commit" })).await;
    let events = through(&mut caller, "response.done").await;
    assert_eq!(joined(&events, "response.output_audio_transcript.delta"), "Hello! How can I help you today?");
    assert!(joined(&events, "response.output_audio.delta").starts_with("AAAA"));
    assert_eq!(bed.requests("u1"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_says_no_in_its_goodbye_is_replaced_and_the_reason_counts() {
    let bed = bed(Behaviour::of(Act::ErrorEvent), live).await;
    let (mut caller, headers) = enter(&bed).await;
    assert_eq!(header(&headers, "x-litellm-model-id"), "d2");
    assert_eq!(event(&mut caller).await["type"], "session.created");
    caller.close(None).await.unwrap();
    bed.settled_state().await;
    let slot = bed.gateway.hub.snapshot().find("d1").unwrap();
    let evidence = bed.gateway.hub.detail(slot, bed.gateway.clock.now()).unwrap().evidence;
    let class = evidence.latest.map(|latest| latest.class);
    assert_eq!(
        (class, evidence.config_sightings),
        (Some("auth"), 1),
        "the key is wrong, not the line broken"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_set_up_that_the_provider_refuses_is_the_callers_affair() {
    let bed = bed(Behaviour::ok(), live).await;
    let (mut caller, _) = enter(&bed).await;
    assert_eq!(event(&mut caller).await["type"], "session.created");
    say(&mut caller, json!({ "type": "session.update", "session": { "temperature": 7 } })).await;
    let error = event(&mut caller).await;
    assert!(error["error"]["message"].as_str().unwrap().contains("temperature must be"), "{error}");
    let Message::Close(Some(frame)) = hear(&mut caller).await else { panic!("no goodbye") };
    assert_eq!(frame.code, CloseCode::Policy);
    assert_eq!((bed.settled_state().await, bad(&bed)), ("HEALTHY", 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_session_that_breaks_off_is_told_and_counts_once() {
    let bed = bed(Behaviour::cut(2), live).await;
    let (mut caller, _) = enter(&bed).await;
    assert_eq!(event(&mut caller).await["type"], "session.created");
    say(&mut caller, json!({ "type": "response.create" })).await;
    let events = through(&mut caller, "error").await;
    assert_eq!(events.last().unwrap()["error"]["code"], "session_cut");
    until("it is counted", || bad(&bed) == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_sets_a_session_up_and_says_goodbye() {
    let bed = bed(Behaviour::of(Act::ErrorEvent), live).await;
    for id in ["d1", "d2"] {
        let live = bed.gateway.live.load_full();
        haleway_server::probe_now(&bed.gateway, live.find(id).unwrap(), haleway_server::Asked::ByName).await;
    }
    let report = |id: &str| {
        let live = bed.gateway.live.load_full();
        format!("{:?}", bed.gateway.reports.latest(live.find(id).unwrap().slot).unwrap().verdict)
    };
    assert!(report("d1").contains("Auth"), "{}", report("d1"));
    assert_eq!(report("d2"), "Healthy { degraded: None }");
    until("the probe said goodbye", || bed.mock.counts("u2").completed == 1).await;
    let kept = bed.mock.kept("u2");
    let probe = kept.first().unwrap();
    assert!(probe.path.ends_with(".GenerativeService.BidiGenerateContent"), "{}", probe.path);
    assert!(probe.header("x-goog-api-key").is_some(), "the key is in no URL");
}
