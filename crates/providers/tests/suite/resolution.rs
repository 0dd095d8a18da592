//! Where a model string leads: to its provider, to its provider's host, or to a refusal that says what to do.

use haleway_providers::registry::PROVIDERS;
use haleway_providers::{Mode, ModeOrigin, Operation, ProbeMemory, ProbeSettings, ResolveError};
use serde_json::{Value, json};

use crate::common::{any, call, deployment, url};

fn at(params: Value) -> Result<haleway_providers::Target, ResolveError> {
    deployment(params, None, &[])
}

#[test]
fn the_registry_is_the_reference_table() {
    let table: Value = serde_json::from_str(include_str!("../fixtures/providers.json")).unwrap();
    let table = table.as_object().unwrap();
    assert_eq!(PROVIDERS.len(), 41);
    for provider in &PROVIDERS {
        let row = &table[provider.id];
        let listed: Vec<&str> =
            row["key_env"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        // A signing key is no bearer token.
        let listed: Vec<&str> = match provider.id {
            "bedrock_mantle" => listed.into_iter().filter(|name| *name != "AWS_ACCESS_KEY_ID").collect(),
            "databricks" => listed.into_iter().filter(|name| *name == "DATABRICKS_API_KEY").collect(),
            _ => listed,
        };
        assert_eq!(provider.key_env, listed, "{}", provider.id);
        let bases: Vec<&str> =
            row["base_env"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
        // The bases of pictures and videos are not the base of chat.
        let bases: Vec<&str> =
            bases.into_iter().filter(|name| !name.ends_with("_IMAGE") && !name.ends_with("_VIDEO")).collect();
        assert_eq!(provider.base_env, bases, "{}", provider.id);
        for mode in row["modes"].as_object().unwrap().keys() {
            assert!(provider.endpoint(Mode::from_name(mode).unwrap()).is_some(), "{} {mode}", provider.id);
        }
        if let Some(base) = row["base"].as_str().filter(|base| !base.contains('{')) {
            assert_eq!(provider.base, Some(base), "{}", provider.id);
        }
    }
}

#[test]
fn each_openai_like_provider_is_called_where_its_row_says() {
    let table: Value = serde_json::from_str(include_str!("../fixtures/providers.json")).unwrap();
    let mut seen = 0;
    for provider in
        PROVIDERS.iter().filter(|provider| provider.wire.as_str() == "openai" && provider.id != "azure_ai")
    {
        let Some(prefix) = provider.prefixes.first() else { continue };
        let Some(base) = provider.base.filter(|base| !base.contains('{')) else { continue };
        let target = any(&format!("{prefix}/some-model"), None).unwrap();
        let modes = &table[provider.id]["modes"];
        for (mode, operation) in [("chat", Operation::Chat), ("embedding", Operation::Embeddings)] {
            let Some(path) = modes[mode]["path"].as_str().filter(|path| path.starts_with('/')) else {
                continue;
            };
            assert_eq!(url(&target, operation), Some(format!("{base}{path}")), "{} {mode}", provider.id);
            seen += 1;
        }
    }
    assert!(seen >= 25, "{seen}");
}

/// A deployment's parameters and what they lead to: full name, id on the wire, URL of a chat call.
type Lead = (Value, &'static str, &'static str, &'static str);

fn lead_to(rows: impl IntoIterator<Item = Lead>) {
    for (mut params, full, id, url_of_chat) in rows {
        params["api_key"] = json!("sk-canary-1");
        let target = at(params).unwrap();
        assert_eq!((target.full_model.as_str(), target.wire_model.as_str()), (full, id));
        assert_eq!(url(&target, Operation::Chat).as_deref(), Some(url_of_chat), "{full}");
    }
}

#[test]
fn model_strings_name_provider_and_id() {
    let own = "http://own.example:8000/v1";
    lead_to([
        (json!({"model": "gpt-4o"}), "openai/gpt-4o", "gpt-4o", "https://api.openai.com/v1/chat/completions"),
        (
            json!({"model": "openai/gpt-4o"}),
            "openai/gpt-4o",
            "gpt-4o",
            "https://api.openai.com/v1/chat/completions",
        ),
        (
            json!({"model": "openai/org/x", "api_base": own}),
            "openai/org/x",
            "org/x",
            "http://own.example:8000/v1/chat/completions",
        ),
        (
            json!({"model": "mix:7b", "custom_llm_provider": "openai", "api_base": own}),
            "openai/mix:7b",
            "mix:7b",
            "http://own.example:8000/v1/chat/completions",
        ),
        (
            json!({"model": "mix:7b", "api_base": own}),
            "openai/mix:7b",
            "mix:7b",
            "http://own.example:8000/v1/chat/completions",
        ),
        (
            json!({"model": "hosted_vllm/a/b", "api_base": own}),
            "hosted_vllm/a/b",
            "a/b",
            "http://own.example:8000/v1/chat/completions",
        ),
    ]);
}

#[test]
fn model_strings_name_the_place_too() {
    lead_to([
        (
            json!({"model": "groq/openai/gpt-oss-20b"}),
            "groq/openai/gpt-oss-20b",
            "openai/gpt-oss-20b",
            "https://api.groq.com/openai/v1/chat/completions",
        ),
        (
            json!({"model": "fireworks_ai/llama-v3p1"}),
            "fireworks_ai/llama-v3p1",
            "accounts/fireworks/models/llama-v3p1",
            "https://api.fireworks.ai/inference/v1/chat/completions",
        ),
        (
            json!({"model": "huggingface/together/org/m"}),
            "huggingface/together/org/m",
            "org/m:together",
            "https://router.huggingface.co/v1/chat/completions",
        ),
        (
            json!({"model": "claude-haiku-4-5"}),
            "anthropic/claude-haiku-4-5",
            "claude-haiku-4-5",
            "https://api.anthropic.com/v1/messages",
        ),
        (
            json!({"model": "anthropic/x", "api_base": "https://own.example/v1/"}),
            "anthropic/x",
            "x",
            "https://own.example/v1/messages",
        ),
        (
            json!({"model": "qwencloud/qwen3"}),
            "qwencloud/qwen3",
            "qwen3",
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions",
        ),
        (
            json!({"model": "databricks/m", "api_base": "https://ws.example"}),
            "databricks/m",
            "m",
            "https://ws.example/serving-endpoints/chat/completions",
        ),
        (
            json!({"model": "bedrock_mantle/m", "aws_region_name": "eu-west-1"}),
            "bedrock_mantle/m",
            "m",
            "https://bedrock-mantle.eu-west-1.api.aws/v1/chat/completions",
        ),
    ]);
}

#[test]
fn azure_has_two_faces() {
    let resource = "https://res.openai.azure.com";
    for (model, base, version, chat, responses) in [
        (
            "azure/dep",
            resource,
            Some("2024-06-01"),
            "/openai/deployments/dep/chat/completions?api-version=2024-06-01",
            "/openai/responses?api-version=2024-06-01",
        ),
        (
            "azure/dep",
            resource,
            None,
            "/openai/deployments/dep/chat/completions?api-version=2025-02-01-preview",
            "/openai/responses?api-version=2025-02-01-preview",
        ),
        (
            "azure/o_series/dep",
            "https://res.openai.azure.com/",
            None,
            "/openai/deployments/dep/chat/completions?api-version=2025-02-01-preview",
            "/openai/responses?api-version=2025-02-01-preview",
        ),
        ("azure/dep", resource, Some("v1"), "/openai/v1/chat/completions", "/openai/v1/responses"),
        (
            "azure/dep",
            resource,
            Some("preview"),
            "/openai/v1/chat/completions?api-version=preview",
            "/openai/v1/responses?api-version=preview",
        ),
        (
            "azure/dep",
            "https://res.openai.azure.com/openai/v1",
            None,
            "/openai/v1/chat/completions",
            "/openai/v1/responses",
        ),
        (
            "azure/dep",
            "https://res.openai.azure.com/openai/v1/",
            Some("2024-06-01"),
            "/openai/v1/chat/completions",
            "/openai/v1/responses",
        ),
        (
            "azure/other",
            "https://res.openai.azure.com/openai/deployments/dep",
            Some("2024-06-01"),
            "/openai/deployments/dep/chat/completions?api-version=2024-06-01",
            "/openai/responses?api-version=2024-06-01",
        ),
        (
            "azure/dep",
            "https://res.openai.azure.com/openai/deployments/dep/chat/completions?api-version=2024-10-21",
            None,
            "/openai/deployments/dep/chat/completions?api-version=2024-10-21",
            "/openai/responses?api-version=2024-10-21",
        ),
    ] {
        let mut params = json!({ "model": model, "api_base": base, "api_key": "k" });
        if let Some(version) = version {
            params["api_version"] = json!(version);
        }
        let target = at(params).unwrap();
        assert_eq!(
            url(&target, Operation::Chat),
            Some(format!("{resource}{chat}")),
            "{model} {base} {version:?}"
        );
        assert_eq!(
            url(&target, Operation::Responses),
            Some(format!("{resource}{responses}")),
            "{model} {base}"
        );
    }
}

#[test]
fn azure_presents_its_key_as_the_face_wants() {
    let params = |version: &str| json!({"model": "azure/d", "api_base": "https://r.openai.azure.com", "api_key": "k1", "api_version": version});
    let classic = crate::common::headers(&at(params("2024-06-01")).unwrap());
    assert_eq!(classic.get("api-key").map(|v| v.as_bytes()), Some(&b"k1"[..]));
    assert!(!classic.contains_key("authorization"));
    let v1 = crate::common::headers(&at(params("v1")).unwrap());
    assert_eq!(v1.get("authorization").map(|v| v.as_bytes()), Some(&b"Bearer k1"[..]));
    let entra = json!({"model": "azure/d", "api_base": "https://r.openai.azure.com"});
    let entra = deployment(entra, None, &[("AZURE_AD_TOKEN", "t1")]).unwrap();
    assert_eq!(
        crate::common::headers(&entra).get("authorization").map(|v| v.as_bytes()),
        Some(&b"Bearer t1"[..])
    );
}

#[test]
fn azure_ai_serves_by_host_and_by_model() {
    let target =
        |model: &str, base: &str| at(json!({"model": model, "api_base": base, "api_key": "k"})).unwrap();
    let services = target("azure_ai/phi", "https://res.services.ai.azure.com");
    assert_eq!(
        url(&services, Operation::Chat).unwrap(),
        "https://res.services.ai.azure.com/models/chat/completions"
    );
    assert!(crate::common::headers(&services).contains_key("api-key"));
    let serverless = target("azure_ai/phi", "https://phi.eastus.models.ai.azure.com");
    assert_eq!(
        url(&serverless, Operation::Chat).unwrap(),
        "https://phi.eastus.models.ai.azure.com/chat/completions"
    );
    assert!(crate::common::headers(&serverless).contains_key("authorization"));
    let claude = target("azure_ai/claude-haiku-4-5", "https://res.services.ai.azure.com");
    assert_eq!(
        url(&claude, Operation::Chat).unwrap(),
        "https://res.services.ai.azure.com/anthropic/v1/messages"
    );
    assert!(crate::common::headers(&claude).contains_key("x-api-key"));
}

#[test]
fn an_unknown_prefix_is_refused_by_name_with_the_cure() {
    let error = at(json!({"model": "ai21/jamba-mini", "api_key": "sk-canary-1"})).unwrap_err();
    assert_eq!(error.code(), "unknown_provider");
    assert!(error.to_string().contains("\"ai21\""), "{error}");
    for (written, meant) in [
        ("opnai/gpt-4o", "openai"),
        ("antropic/x", "anthropic"),
        ("togetherai/x", "together_ai"),
        ("Groq/x", "groq"),
    ] {
        let text = at(json!({"model": written, "api_key": "sk-canary-1"})).unwrap_err().to_string();
        assert!(text.contains(&format!("did you mean {meant:?}")), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }
    let custom = at(json!({"model": "x", "custom_llm_provider": "nobody", "api_key": "k"})).unwrap_err();
    assert!(custom.to_string().contains("\"nobody\""));
}

#[test]
fn a_bare_unknown_name_needs_a_base() {
    for name in ["jamba-mini", "gpt-oss-20b", "my-model"] {
        let error = at(json!({"model": name, "api_key": "sk-canary-1"})).unwrap_err();
        assert_eq!(error.code(), "no_provider", "{name}");
        assert!(error.to_string().contains("api_base"));
    }
    let empty = at(json!({"model": "openai/", "api_key": "k"})).unwrap_err();
    assert_eq!(empty.code(), "empty_model");
}

#[test]
fn a_key_of_the_environment_goes_to_no_other_providers_host() {
    let env = [("OPENAI_API_KEY", "sk-canary-1"), ("GROQ_API_KEY", "gsk-canary")];
    let foreign = json!({"model": "openai/llama", "api_base": "https://api.groq.com/openai/v1"});
    let error = deployment(foreign.clone(), None, &env).unwrap_err();
    assert_eq!(error.code(), "foreign_api_base");
    assert!(error.to_string().contains("groq") && !error.to_string().contains("canary"), "{error}");
    let mut own_key = foreign;
    own_key["api_key"] = json!("gsk-own");
    assert!(deployment(own_key, None, &env).is_ok());
    // At the operator's own server the provider's variable is the operator's choice.
    let own = json!({"model": "openai/x", "api_base": "http://127.0.0.1:9/v1"});
    let target = deployment(own, None, &env).unwrap();
    assert_eq!(
        crate::common::headers(&target).get("authorization").unwrap().as_bytes(),
        b"Bearer sk-canary-1"
    );
    // A bare name at a known host is that host's, not OpenAI's.
    let bare = json!({"model": "llama-3", "api_base": "https://api.groq.com/openai/v1"});
    let target = deployment(bare, None, &env).unwrap();
    assert_eq!(target.provider.id, "groq");
    assert_eq!(
        crate::common::headers(&target).get("authorization").unwrap().as_bytes(),
        b"Bearer gsk-canary"
    );
}

#[test]
fn a_path_on_the_providers_own_platform_is_not_used_at_another_base() {
    let hosted = any("nvidia_nim/nvidia/rerank", Some("rerank")).unwrap();
    assert_eq!(
        url(&hosted, Operation::Rerank).unwrap(),
        "https://ai.api.nvidia.com/v1/retrieval/nvidia/rerank/reranking"
    );
    let own =
        json!({"model": "nvidia_nim/nvidia/rerank", "api_base": "http://nim.local:8000/v1", "api_key": "k"});
    let own = deployment(own, Some("rerank"), &[]).unwrap();
    assert_eq!(url(&own, Operation::Rerank).unwrap(), "http://nim.local:8000/v1/ranking");
}

#[test]
fn bases_that_name_an_endpoint_are_cut_to_what_the_paths_extend() {
    for (model, base, expected) in [
        ("ollama/x", "http://own.local:11434/", "http://own.local:11434/api/chat"),
        ("ollama/x", "http://own.local:11434/api/generate", "http://own.local:11434/api/chat"),
        ("ollama_chat/x", "http://own.local:11434/v1", "http://own.local:11434/api/chat"),
        ("ollama_chat/x", "http://own.local/below/api/chat", "http://own.local/below/api/chat"),
        ("cohere/x", "https://api.cohere.com/v2/chat", "https://api.cohere.com/v2/chat"),
        ("cohere_chat/x", "https://own.example/v1", "https://own.example/v2/chat"),
        (
            "gemini/x",
            "https://generativelanguage.googleapis.com",
            "https://generativelanguage.googleapis.com/v1beta/models/x:generateContent",
        ),
        (
            "gemini/x",
            "https://generativelanguage.googleapis.com/v1",
            "https://generativelanguage.googleapis.com/v1/models/x:generateContent",
        ),
        ("gemini/x", "https://own.example/google", "https://own.example/google/models/x:generateContent"),
    ] {
        let target = at(json!({"model": model, "api_base": base, "api_key": "k"})).unwrap();
        assert_eq!(url(&target, Operation::Chat).as_deref(), Some(expected), "{base}");
    }
}

#[test]
fn keys_and_bases_come_from_the_environment_in_order() {
    let env = [
        ("TOGETHERAI_API_KEY", "third"),
        ("TOGETHER_AI_API_KEY", "second"),
        ("TOGETHER_AI_API_BASE", "http://base.local/v9/"),
    ];
    let target = deployment(json!({"model": "together_ai/x"}), None, &env).unwrap();
    assert_eq!(crate::common::headers(&target).get("authorization").unwrap().as_bytes(), b"Bearer second");
    assert_eq!(target.api_base, "http://base.local/v9");
    assert_eq!(target.endpoint, "http://base.local:80");
}

#[test]
fn what_is_missing_is_named_with_its_variables() {
    let key = at(json!({"model": "fireworks_ai/x"})).unwrap_err();
    assert_eq!(key.code(), "missing_api_key");
    assert!(
        key.to_string().contains("FIREWORKS_API_KEY") && key.to_string().contains("FIREWORKS_AI_TOKEN"),
        "{key}"
    );
    let base = at(json!({"model": "hosted_vllm/x"})).unwrap_err();
    assert_eq!(base.code(), "missing_api_base");
    assert!(base.to_string().contains("HOSTED_VLLM_API_BASE"), "{base}");
}

#[test]
fn the_operators_own_servers_need_no_key() {
    for model in ["hosted_vllm/x", "lm_studio/x", "xinference/x", "openai/x"] {
        let target = at(json!({"model": model, "api_base": "http://own.local:1/v1"})).unwrap();
        assert!(!crate::common::headers(&target).contains_key("authorization"), "{model}");
    }
}

#[test]
fn a_base_that_is_no_url_is_named_without_its_secrets() {
    for (base, says) in [
        ("own.local/v1", "http://"),
        ("ftp://own.local", "scheme"),
        ("https://user:pw-canary@own.local", "credentials"),
        ("http://own.local:99999/v1", "port"),
        ("http://own.local:port/v1", "port"),
        ("http://", ""),
    ] {
        let error = at(json!({"model": "hosted_vllm/x", "api_base": base})).unwrap_err();
        assert_eq!(error.code(), "invalid_api_base", "{base}: {error}");
        assert!(error.to_string().contains(says) && !error.to_string().contains("canary"), "{error}");
    }
}

#[test]
fn a_header_that_cannot_be_sent_is_named_without_its_value() {
    let params = json!({"model": "hosted_vllm/x", "api_base": "http://own.local/v1", "extra_headers": {"x-sub": "canary\n1"}});
    let error = at(params).unwrap_err();
    assert_eq!(error.code(), "invalid_header");
    assert!(error.to_string().contains("x-sub") && !error.to_string().contains("canary"), "{error}");
}

#[test]
fn a_mode_that_is_served_over_another_api_is_not_refused() {
    let target = any("gemini/gemini-2.5-flash", Some("responses")).unwrap();
    assert!(!target.serves(Operation::Responses) && target.serves(Operation::Chat));
    let probe = target.probe(Mode::Responses, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    assert!(probe.call.uri.path().ends_with(":generateContent"), "{}", probe.call.uri);
}

#[test]
fn a_bedrock_region_is_kept_beside_the_id() {
    for (model, id, region) in [
        ("bedrock/us-west-2/m.x-v1:0", "m.x-v1:0", Some("us-west-2")),
        ("bedrock/converse/ca-west-1/m.x", "m.x", Some("ca-west-1")),
        ("bedrock/global.m.x", "global.m.x", None),
        ("bedrock/us-gov-east-1/m", "m", Some("us-gov-east-1")),
        (
            "bedrock/arn:aws:bedrock:us-west-2::foundation-model/a.r-v1:0",
            "arn:aws:bedrock:us-west-2::foundation-model/a.r-v1:0",
            None,
        ),
    ] {
        let name = haleway_providers::split_model(model, None, None).unwrap();
        assert_eq!((name.id.as_str(), name.region.as_deref()), (id, region), "{model}");
    }
}

#[test]
fn modes_come_from_the_first_source_that_knows() {
    for (model, mode, expected, origin) in [
        ("openai/text-embedding-3-small", Some("chat"), Mode::Chat, ModeOrigin::Configured),
        ("openai/x", Some("made_up"), Mode::Chat, ModeOrigin::ConfiguredUnknown),
        ("azure/responses/stub", None, Mode::Responses, ModeOrigin::ModelString),
        ("text-completion-openai/x", None, Mode::Completion, ModeOrigin::ModelString),
        ("openai/text-embedding-3-small", None, Mode::Embedding, ModeOrigin::Catalogue),
        ("openai/text-embedding-9-tiny", None, Mode::Embedding, ModeOrigin::Name),
        ("hosted_vllm/BAAI/bge-reranker-v2", None, Mode::Rerank, ModeOrigin::Name),
        ("openai/whisper-1", None, Mode::AudioTranscription, ModeOrigin::Catalogue),
        ("openai/gpt-image-1", None, Mode::ImageGeneration, ModeOrigin::Catalogue),
        ("openai/gpt-5-pro", None, Mode::Responses, ModeOrigin::Catalogue),
        ("openai/omni-moderation-latest", None, Mode::Chat, ModeOrigin::CatalogueUnknown),
        ("voyage/voyage-3", None, Mode::Embedding, ModeOrigin::Catalogue),
        ("voyage/voyage-99", None, Mode::Embedding, ModeOrigin::Provider),
        ("openai/gpt-4o", None, Mode::Chat, ModeOrigin::Catalogue),
        ("openai/gpt-unheard-of", None, Mode::Chat, ModeOrigin::Default),
    ] {
        let target = any(model, mode).unwrap();
        assert_eq!((target.mode, target.mode_origin), (expected, origin), "{model}");
    }
}

#[test]
fn one_deployments_mode_is_no_siblings() {
    let mode = |stated| any("openai/gpt-4o", stated).unwrap().mode;
    assert_eq!((mode(Some("batch")), mode(None)), (Mode::Batch, Mode::Chat));
    assert_eq!((mode(None), mode(Some("search")), mode(None)), (Mode::Chat, Mode::Chat, Mode::Chat));
}

#[test]
fn a_base_model_tells_what_a_deployment_with_a_name_of_its_own_is() {
    let params = json!({"model": "azure/prod-7", "api_base": "https://r.example", "api_key": "k"});
    let nameless = deployment(params.clone(), None, &[]).unwrap();
    assert!(nameless.known.is_none() && nameless.prices.is_empty());
    let mut params = params;
    params["base_model"] = json!("azure/gpt-5-nano");
    let target = deployment(params, None, &[]).unwrap();
    let facts = target.known.as_ref().unwrap().facts();
    assert_eq!((facts.name.as_ref(), target.mode_origin), ("azure/gpt-5-nano", ModeOrigin::Catalogue));
    assert_eq!(target.prices, facts.prices);
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":9}"#;
    let sent = crate::common::body(&call(&target, Operation::Chat, body).unwrap());
    assert_eq!(sent["max_completion_tokens"], 9, "it reasons, whatever its name");
}

#[test]
fn a_model_that_answers_chat_with_images_loads_where_images_are_not_spoken() {
    let target = at(json!({"model": "gemini/gemini-2.5-flash-image", "api_key": "k"})).unwrap();
    assert_eq!((target.mode, target.mode_origin), (Mode::ImageGeneration, ModeOrigin::Catalogue));
    assert!(target.serves(Operation::Chat));
}

#[test]
fn credentials_are_told_apart_and_not_shown() {
    let of = |key: &str, model: &str| at(json!({"model": model, "api_key": key})).unwrap();
    let one = of("sk-canary-1", "openai/a");
    assert_eq!(one.credential, of("sk-canary-1", "openai/b").credential);
    assert_ne!(one.credential, of("sk-canary-2", "openai/a").credential);
    assert_ne!(one.credential, of("sk-canary-1", "groq/a").credential);
    let shown = format!("{one:?} {:?}", crate::common::headers(&one));
    assert!(!shown.contains("canary"), "{shown}");
}

#[test]
fn a_mode_that_a_provider_cannot_serve_is_refused_by_name_at_load() {
    let params =
        json!({"model": "bedrock/amazon.nova-sonic-v1:0", "api_key": "k", "aws_region_name": "us-east-1"});
    let refused = deployment(params.clone(), Some("realtime"), &[]).unwrap_err();
    assert_eq!(refused.code(), "wire_not_supported");
    assert!(refused.to_string().contains("bedrock"), "{refused}");
    assert!(deployment(params, Some("chat"), &[]).is_ok());
}
