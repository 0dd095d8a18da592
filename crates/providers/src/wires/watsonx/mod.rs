//! IBM watsonx: chat in OpenAI's words with another name for the model and a project beside it; texts, embeddings and
//! rankings in IBM's own.

mod chat;
mod rank;
mod text;

use serde_json::{Map, Value};

use super::members::Members;
use super::vectors::{self, Place, Vectors};
use super::{Encode, chat as words};
use crate::registry::Wire;
use crate::resolve::Plan;
use crate::target::Encoded;
use crate::{DeploymentSource, Operation, Refusal, Reply, Translator};

/// The wire's name in messages to callers.
const NAME: &str = "watsonx";
/// LiteLLM's version of the API, unless `api_version` says otherwise.
const VERSION: &str = "2024-03-13";
/// Members that say whose project it is, or who calls; never a model's own.
const OWN: [&str; 6] = ["project_id", "space_id", "token", "zen_api_key", "model_id", "username"];

/// Where a deployment is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Face {
    /// `…/ml/v1`, or `…/ml/v1/deployments/{id}`.
    root: String,
    /// A model that the operator deployed: it belongs to its space, and has paths of its own.
    deployed: bool,
    version: String,
}

impl Face {
    /// The face of a deployment.
    pub(crate) fn of(plan: &Plan<'_>) -> Self {
        let base = plan.base.text.strip_suffix("/ml/v1").unwrap_or(&plan.base.text);
        let version = plan.source.api_version.map(str::to_owned).filter(|version| !version.is_empty());
        let deployed = deployed(&plan.name.id);
        let root = match deployed {
            Some(id) => format!("{base}/ml/v1/deployments/{}", crate::route::encoded(id)),
            None => format!("{base}/ml/v1"),
        };
        Self { root, deployed: deployed.is_some(), version: version.unwrap_or_else(|| VERSION.to_owned()) }
    }

    /// The wire and URL of an operation.
    pub(crate) fn place(&self, operation: Operation) -> Option<(Wire, String)> {
        let path = match operation {
            Operation::Chat => "text/chat",
            Operation::Completions => "text/generation",
            Operation::Embeddings if !self.deployed => "text/embeddings",
            Operation::Rerank if !self.deployed => "text/rerank",
            Operation::Embeddings
            | Operation::Rerank
            | Operation::Responses
            | Operation::Messages
            | Operation::CountTokens
            | Operation::Moderations
            | Operation::Images
            | Operation::Speech
            | Operation::Ocr
            | Operation::Transcriptions
            | Operation::Translations
            | Operation::ImageEdits
            | Operation::ImageVariations
            | Operation::Realtime
            | Operation::Files
            | Operation::Batches
            | Operation::Videos => return None,
        };
        Some((Wire::Watsonx, format!("{}/{path}?version={}", self.root, self.version)))
    }
}

/// The operator's own deployment of a model, if the id names one: `deployment/{id}`.
fn deployed(id: &str) -> Option<&str> {
    id.strip_prefix("deployment/")
}

/// Where streams are asked for.
pub(super) fn stream_url(whole: &str) -> Option<String> {
    let (path, query) = whole.split_at(whole.find('?').unwrap_or(whole.len()));
    ["/text/chat", "/text/generation"]
        .iter()
        .any(|end| path.ends_with(end))
        .then(|| format!("{path}_stream{query}"))
}

/// Makes the deployment's defaults name a project or a space, and nothing that is a secret.
pub(crate) fn settle(source: &DeploymentSource<'_>, params: &mut Vec<(String, Vec<u8>)>) {
    params.retain(|(name, _)| !matches!(name.as_str(), "token" | "zen_api_key" | "username"));
    let says = |params: &Vec<(String, Vec<u8>)>, name: &str| params.iter().any(|(param, _)| param == name);
    if says(params, "project_id") || says(params, "space_id") {
        return;
    }
    let places: [(&str, &[&str]); 2] = [
        ("project_id", &["WATSONX_PROJECT_ID", "WX_PROJECT_ID", "PROJECT_ID"]),
        ("space_id", &["WATSONX_DEPLOYMENT_SPACE_ID", "WATSONX_SPACE_ID", "WX_SPACE_ID", "SPACE_ID"]),
    ];
    for (param, variables) in places {
        let read = |name: &&str| (source.env)(name).filter(|value| !value.trim().is_empty());
        if let Some(value) = variables.iter().find_map(read) {
            params.push((param.to_owned(), crate::target::json_string(value.trim())));
            return;
        }
    }
}

/// The provider's body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    match encode.operation {
        Operation::Chat => chat::encode(encode),
        Operation::Completions => text::encode(encode),
        Operation::Embeddings => embed(encode),
        Operation::Rerank => rank::encode(encode),
        Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Ocr
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime
        | Operation::Files
        | Operation::Batches
        | Operation::Videos => Err(Refusal::unsupported(encode.target.provider.id, encode.operation)),
    }
}

/// Reads the answers to `operation`.
pub(super) fn translator(operation: Operation, created: u64) -> Box<dyn Translator> {
    match operation {
        Operation::Embeddings => Box::new(vectors_of(String::new(), false)),
        Operation::Rerank => Box::new(rank::Ranking),
        Operation::Completions => Box::new(text::Reader::new(created, String::new())),
        Operation::Chat
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Ocr
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime
        | Operation::Files
        | Operation::Batches
        | Operation::Videos => Box::new(chat::Reader::new(created)),
    }
}

/// Whose model, and for which project: the first members of every body.
fn identity(encode: &Encode<'_>, members: &Members<'_>) -> Result<Map<String, Value>, Refusal> {
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    let mut body = Map::new();
    if deployed(model).is_some() {
        return Ok(body);
    }
    body.insert("model_id".to_owned(), model.into());
    for name in ["project_id", "space_id"] {
        if let Some(id) = members.text(name)? {
            body.insert(name.to_owned(), id.as_ref().into());
            return Ok(body);
        }
    }
    let message =
        "watsonx needs a project: set project_id (or WATSONX_PROJECT_ID), or space_id, at the deployment";
    Err(Refusal::untranslatable("project_id", message))
}

fn embed(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, NAME)?;
    let mut body = identity(encode, &members)?;
    body.insert("inputs".to_owned(), asked.inputs.into());
    let mut parameters = Map::new();
    vectors::put_foreign(&mut parameters, &members, &[&OWN[..], &["parameters", "input_type"]].concat())?;
    if let Some(Value::Object(own)) = members.get("parameters").map(words::value).transpose()? {
        parameters.extend(own);
    }
    if !parameters.is_empty() {
        body.insert("parameters".to_owned(), parameters.into());
    }
    let model = encode.model.unwrap_or(&encode.target.wire_model).to_owned();
    let reader = vectors_of(model, asked.base64);
    Ok(Encoded {
        body: words::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    })
}

fn vectors_of(model: String, base64: bool) -> Vectors {
    let place = Place { lists: &["/results"], vector: "/embedding", tokens: "/input_token_count" };
    Vectors { place, model, base64 }
}
