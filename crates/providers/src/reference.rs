//! The reference page of the providers, written from the registry.

use std::fmt::Write as _;

use crate::registry::{Auth, Endpoint, KeyNeed, Method, PROVIDERS, Provider};
use crate::wires;

/// `docs/providers.md`, as it must stand.
pub fn reference() -> String {
    let mut page = String::from(HEAD);
    for provider in &PROVIDERS {
        row(&mut page, provider);
    }
    page.push_str(BETWEEN);
    for provider in &PROVIDERS {
        endpoints(&mut page, provider);
    }
    page
}

const HEAD: &str = "# Providers

Generated from `crates/providers/src/registry` by `cargo xtask gen`; a test compares the two.

A model is written `prefix/name`. An unknown prefix is refused by name. The key and the base are the deployment's
`api_key` and `api_base`, else the first of the environment variables that is set. A provider's key from the
environment is never sent to a base that belongs to another provider. \"Served\" says whether this version speaks the
provider's wire; a deployment of one that it does not speak is refused when the configuration is read.

| provider | prefixes | served | default base | key variables | base variables | credential |
|---|---|---|---|---|---|---|
";

const BETWEEN: &str = "
## AWS

A Bedrock deployment signs with its own keys, a role, a profile or what the platform provides, or sends a Bedrock API
key; the order is in [credentials.md](credentials.md). Each request is signed when it is sent.

The region is the first of: the model string's (`bedrock/us-west-2/...`), its ARN's, `aws_region_name`,
`AWS_REGION_NAME`, `AWS_REGION`, `AWS_DEFAULT_REGION`, `us-west-2`. `model_id` stands for the model on the wire.
Chat goes through Converse, for `bedrock/invoke/` too. Images and files are sent as bytes: the gateway fetches no
URL. Embeddings are served for Amazon Titan (one text per call) and Cohere, images for Stability, Nova Canvas and
Titan, rankings by the agent runtime of the region.

## Gemini, Cohere, Ollama

Chat completions are translated both ways: tools, pictures, stop strings, response formats, `reasoning_effort`, usage,
finish reasons and streams. A provider's own fields (`safety_settings`, `citation_options`, `num_ctx`, `keep_alive`)
go where it reads them. A parameter that changes the answer and cannot be said is refused with its name, or left out
under `drop_params`.

- **gemini** takes pictures, sound and documents inline, and URLs only of Google's files and of YouTube. The signature
  of a thought is in `tool_calls[].provider_specific_fields.thought_signature` and goes back from there. Pictures are
  asked of Imagen by `predict`, of models with `gemini` in their name by `generateContent`. Live
  sessions, here and on Vertex AI, are served as OpenAI's: see [realtime.md](realtime.md).
- **vertex_ai** needs a project (`vertex_project`, `VERTEXAI_PROJECT`, or the credential's own) and a location
  (`vertex_location`, `VERTEXAI_LOCATION`, `VERTEX_LOCATION`, `us-central1`); `global`, `eu` and `us` have hosts of their
  own. The model's name says the wire: `claude-...` speaks Anthropic's (also for `/v1/messages`), `mistral...`,
  `codestral...` and `jamba...` OpenAI's behind `rawPredict`, `publisher/model` OpenAI's at `endpoints/openapi`, a number
  is a tuned model's endpoint, `openai/` and a number an endpoint of the model garden; everything else is Google's own.
  A wildcard serves Google's own models only. URLs of pictures and documents are passed on: Vertex AI fetches them.
  An `api_base` replaces the host; one that names the model is extended by the method alone.
- **watsonx** needs `project_id` or `space_id` (or `WATSONX_PROJECT_ID`, `WATSONX_DEPLOYMENT_SPACE_ID`).
  `watsonx/deployment/ID` is a model that you deployed; `watsonx_text/` is a completion. `api_version` is the API's
  date, `watsonx_region_name` the region. Transcriptions are not served.
- **cohere** answers with v2: `input_type` is `search_document` unless said otherwise; a named tool is the only one
  offered; `return_documents` of a ranking is served by the gateway.
- **ollama** is called by its own API for `ollama/` and `ollama_chat/`: `/api/chat` for chats, `/api/generate` for
  completions. Pictures are sent as base64; the gateway fetches no URL. A probe asks for no thoughts.

## Sound and pictures

Forms (`multipart/form-data`) go to OpenAI's wire and Azure's with the parts they came with: only `model` is written
anew, the gateway's own fields are taken out, and the deployment's defaults are added as fields. Translations are served
where OpenAI's path for them exists (`openai`, any compatible server, `azure`, `groq`, `together_ai`, `fireworks_ai`,
`hosted_vllm`), variations of pictures by `openai` and compatible servers.

- **gemini** and **vertex_ai** speak and listen by `generateContent`. Speech is `wav` (the default) or `pcm`; a voice is one of
  Google's (`Kore`, `Puck`, ...), OpenAI's names stand for one each; `instructions` are said before the text, `speed` cannot
  be. A recording is sent inline with the task to write it down, with `language` and `prompt` as hints; `verbose_json` has
  no words and no duration.
- **deepgram** is sent the file as the body. OpenAI's `language` and Deepgram's own fields (`smart_format`, `diarize`, ...)
  stand in the query. `response_format` may be `json`, `verbose_json` (with words) or `text`; `prompt` cannot be said. The
  voice of speech is part of the model's name (`deepgram/aura-2-thalia-en`), so `voice` is passed over.
- **elevenlabs** takes a voice's id as `voice`; `alloy` stands for the voice that LiteLLM takes for it. `response_format` of
  speech may be `mp3`, `opus` or `pcm`; ElevenLabs' own `output_format` outranks it. Transcriptions are as with Deepgram.
- **mistral** is sent `voice` as `voice_id`.

What one of them cannot say is refused with the field's name; another deployment of the group then serves the call.

## Replicate, DashScope

- **replicate**: `owner/name`, `owner/name:version`, `deployments/owner/name`. A conversation becomes one prompt and a
  `system_prompt`; there are no tools, pictures and streams on this wire. A probe whose prediction goes on says nothing.
- **dashscope** speaks OpenAI's API for chats, embeddings and rankings, and its own for images, speech and videos. Speech
  is fetched from where DashScope offers it.

Files, batches, videos and OCR are in [objects.md](objects.md).

## Paths

Per mode, below the base; `*` marks a wire this version does not speak yet. `{root}` is the base without its path.

";

fn row(page: &mut String, provider: &Provider) {
    let prefixes: Vec<String> = provider.prefixes.iter().map(|prefix| format!("`{prefix}/`")).collect();
    let base = provider.base.map_or_else(|| "`api_base` is needed".to_owned(), |base| format!("`{base}`"));
    let optional = match provider.key {
        KeyNeed::Required => "",
        KeyNeed::Optional => " (optional)",
    };
    // A String takes every write.
    let _always = writeln!(
        page,
        "| {} | {} | {} | {base} | {} | {} | {}{optional} |",
        provider.id,
        or_dash(&prefixes),
        if wires::spoken(provider.wire) { "yes" } else { "not yet" },
        or_dash(&code(provider.key_env)),
        or_dash(&code(provider.base_env)),
        auth(provider.auth),
    );
}

fn endpoints(page: &mut String, provider: &Provider) {
    let places: Vec<String> = provider.endpoints.iter().map(place).collect();
    let free: Vec<String> = provider
        .free
        .iter()
        .map(|call| {
            let proves: Vec<&str> = call.proves.iter().map(|proof| proof.as_str()).collect();
            format!("`{}{}` proves {}", verb(call.method), call.path, proves.join(", "))
        })
        .collect();
    let _always = writeln!(page, "- **{}**: {}.", provider.id, places.join("; "));
    if !free.is_empty() {
        let _always = writeln!(page, "  - free: {}.", free.join("; "));
    }
}

fn place(endpoint: &Endpoint) -> String {
    let mark = if wires::spoken(endpoint.wire) { "" } else { "*" };
    format!("{} `{}{}`{mark}", endpoint.mode, verb(endpoint.method), endpoint.path)
}

const fn verb(method: Method) -> &'static str {
    match method {
        Method::Get => "GET ",
        Method::WebSocket => "WS ",
        Method::Post | Method::PostForm => "",
    }
}

fn code(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

fn or_dash(list: &[String]) -> String {
    if list.is_empty() { "-".to_owned() } else { list.join(", ") }
}

fn auth(auth: Auth) -> String {
    match auth {
        Auth::Bearer => "`Authorization: Bearer`".to_owned(),
        Auth::Token => "`Authorization: Token`".to_owned(),
        Auth::Header(name) => format!("`{name}`"),
        Auth::Azure => "`api-key`, or bearer for Entra tokens and the v1 face".to_owned(),
        Auth::AzureAi => "`api-key` on `*.services.ai.azure.com`, bearer elsewhere".to_owned(),
        Auth::Anthropic => "`x-api-key`, or bearer for tokens".to_owned(),
        Auth::Aws => "AWS Signature Version 4, or a Bedrock API key as bearer".to_owned(),
        Auth::GoogleOauth => "Google OAuth token as bearer".to_owned(),
        Auth::IbmIam => "IBM IAM token as bearer".to_owned(),
    }
}
