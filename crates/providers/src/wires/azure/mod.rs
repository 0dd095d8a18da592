//! Azure's faces of OpenAI's wire. The bodies are OpenAI's; what differs is where they go: below a deployment's
//! path with an `api-version`, below `/openai/v1`, or to a Foundry host's inference path.

use crate::Operation;
use crate::registry::Wire;
use crate::resolve::Plan;
use crate::resolve::base::Base;

/// Which of Azure's URL forms a deployment uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// `/openai/deployments/{deployment}/…?api-version=…`.
    Classic {
        /// Everything before `/openai`.
        root: String,
        /// The deployment's own path, when the base names it.
        deployment: Option<String>,
        /// The API version.
        version: String,
    },
    /// `/openai/v1/…`.
    V1 {
        /// Everything before `/openai`.
        root: String,
        /// `preview` is asked for in the query.
        preview: bool,
    },
    /// Azure AI: `/models/…` on `*.services.ai.azure.com`.
    Services,
    /// Azure AI: a serverless host of one model.
    Serverless,
    /// Azure AI: Claude behind `/anthropic`.
    Claude,
}

impl Face {
    /// The face of a deployment; `None` when the provider is not Azure.
    pub(crate) fn of(plan: &Plan<'_>) -> Option<Self> {
        match plan.name.provider.id {
            "azure" => Some(Self::of_openai(plan)),
            "azure_ai" if plan.name.id.starts_with("claude-") => Some(Self::Claude),
            "azure_ai" if plan.base.host.ends_with(".services.ai.azure.com") => Some(Self::Services),
            "azure_ai" => Some(Self::Serverless),
            _ => None,
        }
    }

    fn of_openai(plan: &Plan<'_>) -> Self {
        let given = plan.source.api_version.map(str::to_owned).filter(|version| !version.is_empty());
        let in_base = plan.base.query.as_deref().and_then(|query| {
            query.split('&').find_map(|pair| pair.strip_prefix("api-version=")).map(str::to_owned)
        });
        let base = &plan.base.text;
        if let Some((root, rest)) = base.split_once("/openai/deployments/") {
            let deployment = rest.split('/').next().unwrap_or(rest);
            return Self::Classic {
                root: root.to_owned(),
                deployment: Some(format!("{root}/openai/deployments/{deployment}")),
                version: given.or(in_base).unwrap_or_else(|| default_version(plan)),
            };
        }
        let v1_base =
            base.strip_suffix("/openai/v1").or_else(|| base.split_once("/openai/v1/").map(|(root, _)| root));
        let root = v1_base.unwrap_or_else(|| base.strip_suffix("/openai").unwrap_or(base)).to_owned();
        match given.or(in_base) {
            Some(version) if matches!(version.as_str(), "v1" | "latest" | "preview") => {
                Self::V1 { root, preview: version == "preview" }
            }
            // A base that ends in /openai/v1 says which face it is; the classic path below it never exists.
            Some(_) | None if v1_base.is_some() => Self::V1 { root, preview: false },
            Some(version) => Self::Classic { root, deployment: None, version },
            None => Self::Classic { root, deployment: None, version: default_version(plan) },
        }
    }

    /// Whether this is the v1 face.
    pub(crate) const fn is_v1(&self) -> bool {
        matches!(self, Self::V1 { .. })
    }

    /// The list of batches.
    pub(crate) fn batches(&self) -> Option<String> {
        match self {
            Self::Classic { root, version, .. } => {
                Some(format!("{root}/openai/batches?api-version={version}&limit=1"))
            }
            Self::V1 { root, .. } => Some(format!("{root}/openai/v1/batches?limit=1")),
            Self::Services | Self::Serverless | Self::Claude => None,
        }
    }

    /// The URL of a free call of the registry, on the face that it belongs to.
    pub(crate) fn free(&self, plan: &Plan<'_>, path: &str) -> Option<String> {
        match self {
            Self::Classic { root, version, .. } => {
                let path = path.strip_suffix("{v}").filter(|path| path.starts_with("/openai/models"))?;
                Some(format!("{root}{path}{version}"))
            }
            Self::V1 { root, preview } => {
                let query = if *preview { "?api-version=preview" } else { "" };
                (path == "/openai/v1/models").then(|| format!("{root}{path}{query}"))
            }
            Self::Services => {
                let root = plan.base.text.strip_suffix("/models").unwrap_or(&plan.base.text);
                (path == "/models/info").then(|| format!("{root}{path}"))
            }
            Self::Serverless | Self::Claude => None,
        }
    }

    /// The wire and URL pattern of an operation.
    pub(crate) fn place(&self, plan: &Plan<'_>, operation: Operation) -> Option<(Wire, String)> {
        match self {
            Self::Classic { root, deployment, version } => {
                if operation == Operation::Realtime {
                    return Some((Wire::Realtime, session(plan, root, version)));
                }
                classic(root, deployment.as_deref(), version, operation)
            }
            Self::V1 { root, preview } => match operation {
                Operation::Chat
                | Operation::Completions
                | Operation::Embeddings
                | Operation::Responses
                | Operation::Images
                | Operation::Speech
                | Operation::Files
                | Operation::Batches
                | Operation::Videos
                | Operation::Transcriptions
                | Operation::Translations
                | Operation::ImageEdits => {
                    let query = if *preview { "?api-version=preview" } else { "" };
                    Some((Wire::Azure, format!("{root}/openai/v1{}{query}", operation.path())))
                }
                Operation::Realtime => {
                    let query = if *preview { "&api-version=preview" } else { "" };
                    Some((Wire::Realtime, format!("{root}/openai/v1/realtime?model={{model}}{query}")))
                }
                Operation::Messages
                | Operation::CountTokens
                | Operation::Moderations
                | Operation::Rerank
                | Operation::Ocr
                | Operation::ImageVariations => None,
            },
            Self::Services => services(plan, operation),
            Self::Serverless => match operation {
                Operation::Chat | Operation::Embeddings | Operation::Completions => {
                    Some((Wire::OpenAi, plan.extended(operation.path())))
                }
                Operation::Rerank => Some((Wire::Rerank, format!("{}/v1/rerank", without_v1(plan.base)))),
                Operation::Ocr => Some((Wire::MistralOcr, format!("{}{OCR}", without_v1(plan.base)))),
                Operation::Responses
                | Operation::Messages
                | Operation::CountTokens
                | Operation::Moderations
                | Operation::Images
                | Operation::Speech
                | Operation::Files
                | Operation::Batches
                | Operation::Videos
                | Operation::Transcriptions
                | Operation::Translations
                | Operation::ImageEdits
                | Operation::ImageVariations
                | Operation::Realtime => None,
            },
            Self::Claude => match operation {
                Operation::Chat | Operation::Messages | Operation::CountTokens => {
                    let root = plan.base.text.strip_suffix("/anthropic").unwrap_or(&plan.base.root);
                    let below = if operation == Operation::CountTokens { "/count_tokens" } else { "" };
                    Some((Wire::Anthropic, format!("{root}/anthropic/v1/messages{below}")))
                }
                Operation::Completions
                | Operation::Embeddings
                | Operation::Responses
                | Operation::Moderations
                | Operation::Images
                | Operation::Speech
                | Operation::Rerank
                | Operation::Ocr
                | Operation::Files
                | Operation::Batches
                | Operation::Videos
                | Operation::Transcriptions
                | Operation::Translations
                | Operation::ImageEdits
                | Operation::ImageVariations
                | Operation::Realtime => None,
            },
        }
    }
}

/// The classic face: most operations below a deployment, what is not a deployment's beside it.
fn classic(
    root: &str,
    deployment: Option<&str>,
    version: &str,
    operation: Operation,
) -> Option<(Wire, String)> {
    let place = match operation {
        Operation::Responses | Operation::Files | Operation::Batches => {
            format!("{root}/openai{}", operation.path())
        }
        Operation::Videos => format!("{root}/openai/v1/videos"),
        Operation::Chat
        | Operation::Completions
        | Operation::Embeddings
        | Operation::Images
        | Operation::Speech
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits => match deployment {
            Some(deployment) => format!("{deployment}{}", operation.path()),
            None => format!("{root}/openai/deployments/{{model}}{}", operation.path()),
        },
        Operation::Messages
        | Operation::Moderations
        | Operation::Rerank
        | Operation::Ocr
        | Operation::ImageVariations
        | Operation::CountTokens
        | Operation::Realtime => return None,
    };
    Some((Wire::Azure, format!("{place}?api-version={version}")))
}

fn services(plan: &Plan<'_>, operation: Operation) -> Option<(Wire, String)> {
    let root = plan.base.text.strip_suffix("/models").unwrap_or(&plan.base.text);
    match operation {
        Operation::Chat | Operation::Embeddings => {
            Some((Wire::OpenAi, format!("{root}/models{}", operation.path())))
        }
        Operation::Responses => Some((Wire::OpenAi, format!("{root}/openai/v1/responses"))),
        Operation::Rerank => Some((Wire::Rerank, format!("{root}/v1/rerank"))),
        Operation::Ocr => Some((Wire::MistralOcr, format!("{root}{OCR}"))),
        Operation::Files | Operation::Batches => {
            let (below, version) = (operation.path(), version(plan));
            Some((Wire::Azure, format!("{root}/openai{below}?api-version={version}")))
        }
        Operation::Images | Operation::ImageEdits => {
            let version = version(plan);
            Some((
                Wire::OpenAi,
                format!("{root}/openai/deployments/{{model}}{}?api-version={version}", operation.path()),
            ))
        }
        Operation::Completions
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Speech
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageVariations
        | Operation::Realtime => None,
    }
}

/// Where sessions begin: the v1 path, unless the operator asks for an API version of the beta.
fn session(plan: &Plan<'_>, root: &str, version: &str) -> String {
    if plan.source.api_version.is_some() || plan.base.query.is_some() {
        format!("{root}/openai/realtime?api-version={version}&deployment={{model}}")
    } else {
        format!("{root}/openai/v1/realtime?model={{model}}")
    }
}

/// Mistral's OCR on Azure AI.
const OCR: &str = "/providers/mistral/azure/ocr";

fn version(plan: &Plan<'_>) -> String {
    plan.source.api_version.map_or_else(|| default_version(plan), str::to_owned)
}

fn without_v1(base: &Base) -> &str {
    base.text.strip_suffix("/v1").unwrap_or(&base.text)
}

/// LiteLLM's default version, or the environment's.
fn default_version(plan: &Plan<'_>) -> String {
    (plan.source.env)("AZURE_API_VERSION")
        .filter(|version| !version.is_empty())
        .unwrap_or_else(|| "2025-02-01-preview".to_owned())
}
