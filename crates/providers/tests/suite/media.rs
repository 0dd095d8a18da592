//! Calls with files and sound: where they go, what they hold there, and what comes back. The answers of Deepgram and
//! ElevenLabs are golden files (see `golden`).

use base64::Engine as _;
use bytes::Bytes;
use haleway_providers::{
    Call, CallOptions, ClientBody, Judgement, Mode, Operation, ProbeAnswer, ProbeMemory, ProbeSettings,
    Refusal, Reply, Target, judge,
};
use haleway_wire::{Envelope, Form};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::common::{any, deployment};
use crate::golden::Golden;

/// The call of a form with these fields and a file.
pub(crate) fn upload(target: &Target, operation: Operation, fields: &Value) -> Result<Call, Refusal> {
    let mut form = Form::new("b");
    for (name, value) in fields.as_object().unwrap() {
        form.push_text(name, value.as_str().unwrap());
    }
    form.push_file(operation.file().unwrap(), "a.wav", "audio/wav", Bytes::from_static(b"RIFFsound"));
    let fields = fields.to_string();
    let members = Envelope::parse(fields.as_bytes()).unwrap();
    target.call(operation, ClientBody { members: &members, form: Some(&form) }, None, CallOptions::default())
}

/// The fields of a form that is sent, files as their size.
fn sent(call: &Call) -> Value {
    let form = Form::parse(call.headers["content-type"].to_str().unwrap(), &call.body.to_bytes()).unwrap();
    let fields = form.parts().iter().map(|part| {
        let value = part.text().map_or_else(|| json!(part.content.len()), Value::from);
        (part.name.clone(), value)
    });
    Value::Object(fields.collect())
}

#[test]
fn uploads_go_where_each_provider_has_them() {
    use Operation::{ImageEdits, ImageVariations, Transcriptions, Translations};
    let azure = json!({"model": "azure/d", "api_base": "https://r.openai.azure.com", "api_key": "k", "api_version": "2024-10-21"});
    let v1 = json!({"model": "azure/d", "api_base": "https://r.openai.azure.com", "api_key": "k", "api_version": "preview"});
    let services = json!({"model": "azure_ai/gpt-image-2", "api_base": "https://r.services.ai.azure.com", "api_key": "k", "api_version": "v"});
    let below = "https://r.openai.azure.com/openai/deployments/d";
    for (params, operation, url) in [
        (json!({"model": "openai/w"}), Transcriptions, "https://api.openai.com/v1/audio/transcriptions"),
        (json!({"model": "openai/w"}), Translations, "https://api.openai.com/v1/audio/translations"),
        (json!({"model": "openai/w"}), ImageEdits, "https://api.openai.com/v1/images/edits"),
        (json!({"model": "openai/w"}), ImageVariations, "https://api.openai.com/v1/images/variations"),
        (json!({"model": "groq/w"}), Transcriptions, "https://api.groq.com/openai/v1/audio/transcriptions"),
        (json!({"model": "groq/w"}), Translations, "https://api.groq.com/openai/v1/audio/translations"),
        (json!({"model": "xai/w"}), Transcriptions, "https://api.x.ai/v1/stt"),
        (json!({"model": "mistral/w"}), Transcriptions, "https://api.mistral.ai/v1/audio/transcriptions"),
        (azure.clone(), Transcriptions, &format!("{below}/audio/transcriptions?api-version=2024-10-21")),
        (azure.clone(), ImageEdits, &format!("{below}/images/edits?api-version=2024-10-21")),
        (v1, Translations, "https://r.openai.azure.com/openai/v1/audio/translations?api-version=preview"),
        (
            services,
            ImageEdits,
            "https://r.services.ai.azure.com/openai/deployments/gpt-image-2/images/edits?api-version=v",
        ),
    ] {
        let mut params = params;
        params["api_key"] = json!("k");
        let call = upload(&deployment(params.clone(), None, &[]).unwrap(), operation, &json!({})).unwrap();
        assert_eq!(call.uri.to_string(), url, "{params} {operation}");
    }
    for (model, operation) in
        [("mistral/w", Translations), ("groq/w", ImageVariations), ("anthropic/c", Transcriptions)]
    {
        let refusal = upload(&any(model, None).unwrap(), operation, &json!({})).unwrap_err();
        assert_eq!((refusal.code, refusal.retry_other), ("unsupported_operation", true), "{model}");
    }
}

#[test]
fn a_form_is_changed_only_where_it_must_be() {
    let params = json!({
        "model": "openai/whisper-1", "api_key": "k", "language": "de", "prompt": "names", "temperature": 0.2,
        "max_tokens": 5, "timestamp_granularities": ["word"], "extra_body": {"set": true}, "additional_drop_params": ["user"],
    });
    let target = deployment(params, Some("audio_transcription"), &[]).unwrap();
    let fields = json!({"language": "en", "model": "group", "user": "u", "fallbacks": "x", "stream": "true", "set": "no", "x_own": " y "});
    let call = upload(&target, Operation::Transcriptions, &fields).unwrap();
    let expected = json!({
        "language": "en", "model": "whisper-1", "stream": "true", "x_own": " y ", "file": 9,
        "prompt": "names", "temperature": "0.2", "timestamp_granularities[]": "word", "set": "true",
    });
    assert_eq!(sent(&call), expected);
    assert!(matches!(call.reply, Reply::Passthrough));
    // A model of the URL only is written into the form; a wildcard's is what it took.
    let wildcard = deployment(json!({"model": "openai/*", "api_key": "k"}), None, &[]).unwrap();
    let form = {
        let mut form = Form::new("b");
        form.push_file("file", "a", "audio/wav", Bytes::from_static(b"x"));
        form
    };
    let members = Envelope::parse(b"{}").unwrap();
    let body = ClientBody { members: &members, form: Some(&form) };
    let call =
        wildcard.call(Operation::Transcriptions, body, Some("whisper-9"), CallOptions::default()).unwrap();
    assert_eq!(sent(&call), json!({"file": 1, "model": "whisper-9"}));
}

#[test]
fn deepgram_is_sent_the_sound_and_a_query() {
    let params =
        json!({"model": "deepgram/nova-3", "api_key": "k", "smart_format": true, "keyterm": ["a b", "c"]});
    let target = deployment(params, None, &[]).unwrap();
    assert_eq!(target.mode, Mode::AudioTranscription, "what it is for when nothing is said");
    let fields =
        json!({"model": "g", "language": "de", "response_format": "verbose_json", "temperature": "0"});
    let call = upload(&target, Operation::Transcriptions, &fields).unwrap();
    assert_eq!(
        call.uri.to_string(),
        "https://api.deepgram.com/v1/listen?model=nova-3&language=de&keyterm=a%20b&keyterm=c&smart_format=true"
    );
    assert_eq!(
        (&call.headers["content-type"], &call.headers["authorization"]),
        (&"audio/wav".parse().unwrap(), &"Token k".parse().unwrap())
    );
    assert_eq!(call.body.to_bytes(), "RIFFsound");
    for (field, value) in [("response_format", "srt"), ("prompt", "names"), ("include", "logprobs")] {
        let refusal = upload(&target, Operation::Transcriptions, &json!({field: value})).unwrap_err();
        assert_eq!((refusal.code, refusal.param.as_deref()), ("untranslatable_request", Some(field)));
    }
}

fn speech(target: &Target, body: &Value) -> Result<Call, Refusal> {
    let body = body.to_string();
    target.call(Operation::Speech, &Envelope::parse(body.as_bytes()).unwrap(), None, CallOptions::default())
}

#[test]
fn speech_is_asked_for_in_each_providers_words() {
    let deepgram = any("deepgram/aura-2-thalia-en", Some("audio_speech")).unwrap();
    let call =
        speech(&deepgram, &json!({"input": "hi", "voice": "alloy", "response_format": "wav", "speed": 1}))
            .unwrap();
    assert_eq!(
        call.uri.to_string(),
        "https://api.deepgram.com/v1/speak?model=aura-2-thalia-en&encoding=linear16&container=wav"
    );
    assert_eq!(call.body.to_bytes(), r#"{"text":"hi"}"#);
    let eleven = any("elevenlabs/eleven_v3", Some("audio_speech")).unwrap();
    let body = json!({"input": "hi", "voice": "my/voice", "speed": 1.1, "response_format": "pcm", "seed": 4, "voice_settings": {"stability": 0.5}});
    let call = speech(&eleven, &body).unwrap();
    assert_eq!(
        call.uri.to_string(),
        "https://api.elevenlabs.io/v1/text-to-speech/my%2Fvoice?output_format=pcm_24000"
    );
    let sent: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
    assert_eq!(sent["voice_settings"], json!({"speed": 1.1, "stability": 0.5}));
    assert_eq!((&sent["text"], &sent["model_id"]), (&json!("hi"), &json!("eleven_v3")));
    let mistral = any("mistral/voxtral-tts", Some("audio_speech")).unwrap();
    let call = speech(&mistral, &json!({"input": "hi", "voice": "v1"})).unwrap();
    let sent: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
    assert_eq!((&sent["voice_id"], sent.get("voice")), (&json!("v1"), None));
    for (target, field, value) in
        [(&deepgram, "instructions", json!("angry")), (&eleven, "response_format", json!("flac"))]
    {
        let refusal = speech(target, &json!({"input": "hi", "voice": "v", field: value})).unwrap_err();
        assert_eq!((refusal.code, refusal.param.as_deref()), ("untranslatable_request", Some(field)));
    }
}

/// The reader of a provider's transcriptions in a format.
fn heard(model: &str, format: &str, answer: &str) -> String {
    let target = any(model, Some("audio_transcription")).unwrap();
    let call = upload(&target, Operation::Transcriptions, &json!({"response_format": format})).unwrap();
    let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
    String::from_utf8(reader.answer(answer.as_bytes()).unwrap().to_vec()).unwrap()
}

#[test]
fn transcriptions_are_said_in_openais_words() {
    for (wire, model) in [("deepgram", "deepgram/nova-3"), ("elevenlabs", "elevenlabs/scribe_v1")] {
        let golden = Golden::new(wire, |model, _| any(model, None).unwrap());
        for (name, answer) in golden.inputs(".answer.json") {
            for format in ["json", "verbose_json", "text"] {
                let out = heard(model, format, &answer);
                let out = if format == "text" { out } else { crate::golden::pretty(out.as_bytes()) };
                golden.compare(&format!("{name}.{format}.out"), &out);
            }
        }
        for broken in ["", "{}", "[]", r#"{"results":{"channels":[]}}"#, r#"{"text":null}"#] {
            let target = any(model, Some("audio_transcription")).unwrap();
            let call = upload(&target, Operation::Transcriptions, &json!({})).unwrap();
            let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
            assert!(reader.answer(broken.as_bytes()).is_err(), "{wire}: {broken}");
        }
    }
}

#[test]
fn a12_a_probe_of_media_reaches_what_traffic_reaches() {
    for (model, mode, operation) in [
        ("openai/whisper-1", Mode::AudioTranscription, Operation::Transcriptions),
        ("groq/whisper-large-v3", Mode::AudioTranscription, Operation::Transcriptions),
        ("azure/w", Mode::AudioTranscription, Operation::Transcriptions),
        ("deepgram/nova-3", Mode::AudioTranscription, Operation::Transcriptions),
        ("elevenlabs/scribe_v1", Mode::AudioTranscription, Operation::Transcriptions),
        ("openai/gpt-image-1", Mode::ImageEdit, Operation::ImageEdits),
        ("azure/i", Mode::ImageEdit, Operation::ImageEdits),
    ] {
        let target = any(model, Some(mode.as_str())).unwrap();
        let probe = target.probe(mode, &ProbeSettings::default(), &ProbeMemory::default(), 3).unwrap().call;
        let traffic = upload(&target, operation, &json!({"model": "g"})).unwrap();
        assert_eq!(probe.uri, traffic.uri, "{model}");
        for name in ["authorization", "api-key", "xi-api-key"] {
            assert_eq!(probe.headers.get(name), traffic.headers.get(name), "{model} {name}");
        }
        if model.starts_with("deepgram") {
            assert_eq!(probe.headers["content-type"], traffic.headers["content-type"]);
            continue;
        }
        let [probe, traffic] = [&probe, &traffic].map(sent);
        for name in ["model", "model_id"] {
            assert_eq!(probe.get(name), traffic.get(name), "{model}");
        }
        assert!(probe[operation.file().unwrap()].as_u64().unwrap() > 1000, "{model}: {probe}");
    }
}

/// The file of a probe.
fn file_of(model: &str, mode: Mode) -> Bytes {
    let target = any(model, Some(mode.as_str())).unwrap();
    let call = target.probe(mode, &ProbeSettings::default(), &ProbeMemory::default(), 3).unwrap().call;
    let form = Form::parse(call.headers["content-type"].to_str().unwrap(), &call.body.to_bytes()).unwrap();
    form.parts().iter().find(|part| part.file_name.is_some()).unwrap().content.clone()
}

#[test]
fn a06_the_clip_is_about_a_second_of_sound_and_the_picture_is_a_png() {
    let wav = file_of("openai/whisper-1", Mode::AudioTranscription);
    let number = |at: usize| u32::from_le_bytes(wav[at..at + 4].try_into().unwrap());
    assert_eq!((&wav[..4], &wav[8..16], &wav[36..40]), (&b"RIFF"[..], &b"WAVEfmt "[..], &b"data"[..]));
    assert_eq!(
        (number(4) as usize + 8, number(24), number(40) as usize + 44),
        (wav.len(), 16_000, wav.len())
    );
    let samples: Vec<i16> =
        wav[44..].chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    assert!((14_400..32_000).contains(&samples.len()), "{}", samples.len());
    assert!(samples.iter().any(|sample| sample.abs() > 15_000), "loud enough");
    // A tone crosses zero evenly; speech does not.
    let crossings = |part: &[i16]| part.windows(2).filter(|pair| (pair[0] < 0) != (pair[1] < 0)).count();
    let counts: Vec<usize> = samples.chunks(1600).map(crossings).collect();
    assert!(
        counts.iter().max().unwrap() > &(counts.iter().filter(|count| **count > 0).min().unwrap() * 2),
        "{counts:?}"
    );
    let png = file_of("openai/gpt-image-1", Mode::ImageEdit);
    assert_eq!((&png[..8], &png[12..16]), (&b"\x89PNG\r\n\x1a\n"[..], &b"IHDR"[..]));
    assert_eq!(
        &png[png.len() - 12..],
        b"\0\0\0\0IEND\xae\x42\x60\x82",
        "with the sum that every PNG ends with"
    );
}

#[test]
fn a_voice_that_is_offered_is_learnt_once() {
    let target = any("openai/tts-1", Some("audio_speech")).unwrap();
    for (refusal, voice) in [
        (
            "[{'type': 'enum', 'loc': ('body', 'voice'), 'msg': \"Input should be 'nova', 'shimmer' or 'echo'\"}]",
            "nova",
        ),
        ("voice must be one of [autumn diana hannah]", "autumn"),
        ("Unsupported voice: must be one of: `celeste-PlayAI`, `x`", "celeste-PlayAI"),
    ] {
        let mut memory = ProbeMemory::default();
        let probe = target.probe(Mode::AudioSpeech, &ProbeSettings::default(), &memory, 1).unwrap();
        let body = json!({"error": {"message": refusal, "type": "invalid_request_error"}}).to_string();
        let headers = HeaderMap::new();
        let answer = ProbeAnswer { status: 400, headers: &headers, body: body.as_bytes(), now_ms: 0 };
        assert_eq!(
            judge(&target, &probe.expect, &answer, &mut memory),
            Judgement::Repair("voice"),
            "{refusal}"
        );
        let again = target.probe(Mode::AudioSpeech, &ProbeSettings::default(), &memory, 1).unwrap().call;
        let sent: Value = serde_json::from_slice(&again.body.to_bytes()).unwrap();
        assert_eq!(sent["voice"], voice, "{refusal}");
        let asked = ProbeSettings { voice: Some("mine".to_owned()), ..ProbeSettings::default() };
        let asked = target.probe(Mode::AudioSpeech, &asked, &memory, 1).unwrap().call;
        let sent: Value = serde_json::from_slice(&asked.body.to_bytes()).unwrap();
        assert_eq!(sent["voice"], "mine", "health_check_voice outranks what was learnt");
    }
}

/// Sound of so many samples, as Google sends it.
fn google_sound(samples: usize) -> Value {
    let data = base64::engine::general_purpose::STANDARD.encode(vec![7_u8; 2 * samples]);
    json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"parts": [
        {"inlineData": {"mimeType": "audio/L16;codec=pcm;rate=16000", "data": data}}]}}]})
}

#[test]
fn gemini_speaks_in_its_own_voices_and_its_samples_become_a_file() {
    for (model, url) in [
        (
            "gemini/gemini-2.5-flash-preview-tts",
            "/v1beta/models/gemini-2.5-flash-preview-tts:generateContent",
        ),
        ("vertex_ai/gemini-2.5-flash-tts", "/models/gemini-2.5-flash-tts:generateContent"),
    ] {
        let params = json!({"model": model, "api_key": "k", "vertex_project": "p"});
        let target = deployment(params, Some("audio_speech"), &[]).unwrap();
        let speak = |body: Value| {
            let text = body.to_string();
            let body = Envelope::parse(text.as_bytes()).unwrap();
            target.call(Operation::Speech, &body, None, CallOptions::default())
        };
        let call = speak(
            json!({"model": "g", "input": "hi", "voice": "nova", "instructions": "calmly", "safetySettings": []}),
        );
        let call = call.unwrap();
        assert!(call.uri.path().ends_with(url), "{}", call.uri);
        assert_eq!(
            crate::common::body(&call),
            json!({
                "contents": [{"role": "user", "parts": [{"text": "calmly\n\nhi"}]}], "safetySettings": [],
                "generationConfig": {"responseModalities": ["AUDIO"],
                    "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Aoede"}}}},
            })
        );
        let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
        let answer = google_sound(300).to_string();
        let file = reader.answer(answer.as_bytes()).unwrap();
        assert_eq!((file.len(), &file[..4], &file[8..16]), (644, &b"RIFF"[..], &b"WAVEfmt "[..]));
        assert_eq!(file[24..28], 16_000_u32.to_le_bytes(), "samples per second");
        assert_eq!(reader.content_type(), "audio/wav");
        let bare =
            speak(json!({"model": "g", "input": "hi", "voice": "Kore", "response_format": "pcm"})).unwrap();
        let Reply::Translated(mut reader) = bare.reply else { panic!("not translated") };
        assert_eq!(
            (reader.answer(answer.as_bytes()).unwrap().len(), reader.content_type()),
            (600, "audio/pcm")
        );
        assert!(
            reader.answer(br#"{"candidates":[{"finishReason":"OTHER"}]}"#).is_err(),
            "silence is no answer"
        );
        let refusal = speak(json!({"model": "g", "input": "hi", "response_format": "mp3"})).unwrap_err();
        assert_eq!(
            (refusal.code, refusal.param.as_deref()),
            ("untranslatable_request", Some("response_format"))
        );
    }
}

#[test]
fn a_probe_of_geminis_speech_is_judged_by_its_sound() {
    let target = any("gemini/gemini-2.5-flash-preview-tts", Some("audio_speech")).unwrap();
    let mut memory = ProbeMemory::default();
    let probe = target.probe(Mode::AudioSpeech, &ProbeSettings::default(), &memory, 1).unwrap();
    let headers = HeaderMap::new();
    let mut verdict = |body: &Value| {
        let body = body.to_string();
        let answer = ProbeAnswer { status: 200, headers: &headers, body: body.as_bytes(), now_ms: 0 };
        judge(&target, &probe.expect, &answer, &mut memory)
    };
    assert!(matches!(verdict(&google_sound(2000)), Judgement::Healthy { degraded: None }));
    assert!(matches!(verdict(&google_sound(10)), Judgement::Unhealthy(_)), "a header and no sound");
    assert!(matches!(verdict(&json!({"candidates": []})), Judgement::Unhealthy(_)));
}

#[test]
fn gemini_writes_down_what_it_hears() {
    for model in ["gemini/gemini-2.5-flash", "vertex_ai/gemini-2.5-flash"] {
        let params = json!({"model": model, "api_key": "k", "vertex_project": "p"});
        let target = deployment(params, Some("audio_transcription"), &[]).unwrap();
        let fields =
            json!({"language": "de", "prompt": "Haleway", "temperature": "0.2", "response_format": "text"});
        let call = upload(&target, Operation::Transcriptions, &fields).unwrap();
        assert!(call.uri.path().ends_with("/models/gemini-2.5-flash:generateContent"), "{}", call.uri);
        let body = crate::common::body(&call);
        assert_eq!(
            body["contents"][0]["parts"][0],
            json!({"inlineData": {"mimeType": "audio/wav", "data": "UklGRnNvdW5k"}})
        );
        let task = body["contents"][0]["parts"][1]["text"].as_str().unwrap();
        assert!(task.contains("\"de\"") && task.contains("Haleway"), "{task}");
        assert_eq!(body["generationConfig"], json!({"temperature": 0.2}));
        let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
        let heard = br#"{"candidates":[{"finishReason":"STOP","content":{"parts":[{"text":" hello \n"}]}}]}"#;
        assert_eq!(reader.answer(heard).unwrap(), "hello\n");
        assert!(reader.answer(b"{}").is_err());
        let refusal =
            upload(&target, Operation::Transcriptions, &json!({"response_format": "srt"})).unwrap_err();
        assert!(refusal.retry_other, "another provider may have subtitles");
    }
}
