//! Vertex AI: one platform, several wires. The model's name says which: Google's own models speak Gemini's, Claude
//! Anthropic's behind `rawPredict`, Mistral and Jamba OpenAI's behind the same, other partners OpenAI's at
//! `endpoints/openapi`; embeddings, pictures and rankings have bodies of their own.

mod claude;
mod embed;
mod imagen;
mod rank;

pub(super) use claude::encode as claude;
pub(super) use embed::{content as embed_content, predict as embed};
pub(super) use imagen::encode as imagen;
pub(super) use rank::encode as rank;

use super::Encode;
use crate::registry::Wire;
use crate::resolve::Plan;
use crate::{Operation, Translator};

/// The host of rankings, which belong to another product.
const RANKING: &str = "https://discoveryengine.googleapis.com/v1";

/// The path of live sessions, which stands beside the versions.
const LIVE: &str = "/ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent";

/// Where a deployment is called, and on which wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Face {
    /// Everything before `/publishers/…` or `/endpoints/…`; the whole path before `:method` when the operator's base
    /// names the model itself.
    root: String,
    /// The operator's base names the model.
    whole: bool,
    /// The model.
    id: String,
    /// What its name says.
    family: Family,
    /// Rankings are asked of another host, which the operator's base does not stand for.
    ranking: Option<String>,
    /// Where live sessions begin, and the model as they name it.
    live: Option<Live>,
}

/// A model's live sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Live {
    url: String,
    resource: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Family {
    /// Google's own, and tuned ones.
    Gemini,
    /// Google's own, deployed at an endpoint: its number.
    Tuned(String),
    Claude,
    /// OpenAI's bodies behind `rawPredict`: the publisher.
    Raw(&'static str),
    /// Partners behind OpenAI's paths.
    Partner,
    /// A model of the garden at an endpoint of its own, behind OpenAI's paths: its number.
    Garden(String),
}

impl Family {
    fn of(id: &str) -> Self {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let tuned = id.strip_prefix("gemini/").unwrap_or(id);
        match id.strip_prefix("openai/") {
            Some(number) if is_number(number) => Self::Garden(number.to_owned()),
            _ if is_number(tuned) => Self::Tuned(tuned.to_owned()),
            _ if id.starts_with("claude-") => Self::Claude,
            _ if id.starts_with("mistral") || id.starts_with("codestral") => Self::Raw("mistralai"),
            _ if id.starts_with("jamba") => Self::Raw("ai21"),
            _ if id.contains('/') => Self::Partner,
            _ => Self::Gemini,
        }
    }
}

impl Face {
    /// The face of a deployment. `project` is missing only for an express key.
    pub(crate) fn of(plan: &Plan<'_>, project: Option<&str>) -> Self {
        let base = &plan.base.text;
        let whole = base.contains("/models/") || base.contains("/endpoints/");
        let location = plan.name.region.as_deref().unwrap_or_default();
        let versioned = ["/v1", "/v1beta1"].iter().any(|version| plan.base.path().ends_with(version));
        let version = if versioned { "" } else { "/v1" };
        let root = match project {
            _ if whole => base.clone(),
            Some(project) => format!("{base}{version}/projects/{project}/locations/{location}"),
            None => format!("{base}{version}"),
        };
        let ranking = project.filter(|_| !whole).map(|project| {
            let host = if plan.is_default { RANKING.to_owned() } else { format!("{base}{version}") };
            format!("{host}/projects/{project}/locations/global/rankingConfigs/default_ranking_config:rank")
        });
        let live = project.filter(|_| !whole).map(|project| {
            let host = base.strip_suffix("/v1").or_else(|| base.strip_suffix("/v1beta1")).unwrap_or(base);
            Live {
                url: format!("{host}{LIVE}"),
                resource: format!(
                    "projects/{project}/locations/{location}/publishers/google/models/{{model}}"
                ),
            }
        });
        let (id, family) = (plan.name.id.clone(), Family::of(&plan.name.id));
        Self { root, whole, id, family, ranking, live }
    }

    /// The model as live sessions name it.
    pub(crate) fn live_model(&self) -> Option<&str> {
        self.live.as_ref().map(|live| live.resource.as_str())
    }

    /// The list of batches.
    pub(crate) fn batches(&self) -> Option<String> {
        (!self.whole && self.root.contains("/projects/"))
            .then(|| format!("{}/batchPredictionJobs?pageSize=1", self.root))
    }

    /// The wire and URL pattern of an operation.
    pub(crate) fn place(&self, operation: Operation) -> Option<(Wire, String)> {
        match operation {
            Operation::Chat => Some(match &self.family {
                Family::Gemini | Family::Tuned(_) => (Wire::Gemini, self.method("generateContent")),
                Family::Claude => (Wire::VertexAnthropic, self.method("rawPredict")),
                Family::Raw(_) => (Wire::OpenAi, self.method("rawPredict")),
                Family::Partner | Family::Garden(_) => (Wire::OpenAi, self.openai("chat/completions")),
            }),
            Operation::Messages => match &self.family {
                Family::Claude => Some((Wire::VertexAnthropic, self.method("rawPredict"))),
                Family::Gemini | Family::Tuned(_) | Family::Raw(_) | Family::Partner | Family::Garden(_) => {
                    None
                }
            },
            Operation::Embeddings => match &self.family {
                Family::Gemini | Family::Tuned(_) => Some(self.embeddings()),
                Family::Partner | Family::Garden(_) => Some((Wire::OpenAi, self.openai("embeddings"))),
                Family::Claude | Family::Raw(_) => None,
            },
            Operation::Images => match &self.family {
                // These paint in a chat's answer.
                Family::Gemini if self.id.contains("gemini") => {
                    Some((Wire::Gemini, self.method("generateContent")))
                }
                Family::Gemini => Some((Wire::Imagen, self.method("predict"))),
                Family::Tuned(_) | Family::Claude | Family::Raw(_) | Family::Partner | Family::Garden(_) => {
                    None
                }
            },
            Operation::Speech | Operation::Transcriptions => match &self.family {
                Family::Gemini => Some((Wire::Gemini, self.method("generateContent"))),
                Family::Tuned(_) | Family::Claude | Family::Raw(_) | Family::Partner | Family::Garden(_) => {
                    None
                }
            },
            Operation::Rerank => Some((Wire::GoogleRank, self.ranking.clone()?)),
            Operation::Ocr => match &self.family {
                Family::Raw("mistralai") => Some((Wire::MistralOcr, self.method("rawPredict"))),
                Family::Raw(_)
                | Family::Gemini
                | Family::Tuned(_)
                | Family::Claude
                | Family::Partner
                | Family::Garden(_) => None,
            },
            Operation::Realtime => match &self.family {
                Family::Gemini => Some((Wire::GeminiLive, self.live.as_ref()?.url.clone())),
                Family::Tuned(_) | Family::Claude | Family::Raw(_) | Family::Partner | Family::Garden(_) => {
                    None
                }
            },
            Operation::Completions
            | Operation::Responses
            | Operation::CountTokens
            | Operation::Moderations
            | Operation::Translations
            | Operation::ImageEdits
            | Operation::ImageVariations
            | Operation::Files
            | Operation::Batches
            | Operation::Videos => None,
        }
    }

    fn embeddings(&self) -> (Wire, String) {
        if self.id.starts_with("gemini-embedding-2") {
            // The newest are asked like a chat.
            (Wire::VertexEmbedContent, self.method("embedContent"))
        } else {
            (Wire::VertexEmbed, self.method("predict"))
        }
    }

    /// A method of the model.
    fn method(&self, method: &str) -> String {
        if self.whole {
            return format!("{}:{method}", self.root);
        }
        let publisher = match &self.family {
            Family::Tuned(number) => return format!("{}/endpoints/{number}:{method}", self.root),
            Family::Claude => "anthropic",
            Family::Raw(publisher) => publisher,
            Family::Gemini | Family::Partner | Family::Garden(_) => "google",
        };
        format!("{}/publishers/{publisher}/models/{{model}}:{method}", self.root)
    }

    /// One of OpenAI's paths.
    fn openai(&self, path: &str) -> String {
        if self.whole {
            return format!("{}/{path}", self.root.trim_end_matches("/chat/completions"));
        }
        match &self.family {
            Family::Garden(number) => format!("{}/endpoints/{number}/{path}", self.root),
            Family::Gemini | Family::Tuned(_) | Family::Claude | Family::Raw(_) | Family::Partner => {
                format!("{}/endpoints/openapi/{path}", self.root)
            }
        }
    }
}

/// The wire model of a call.
fn model<'a>(encode: &'a Encode<'_>) -> &'a str {
    encode.model.unwrap_or(&encode.target.wire_model)
}

/// Reads what [`embed`], [`embed_content`], [`imagen`] and [`rank`] are answered.
pub(super) fn translator(wire: Wire, created: u64) -> Box<dyn Translator> {
    if wire == Wire::Imagen {
        Box::new(imagen::Pictures { created })
    } else if wire == Wire::GoogleRank {
        Box::new(rank::Ranking { documents: Vec::new() })
    } else {
        Box::new(embed::Reader::new(String::new(), false))
    }
}
