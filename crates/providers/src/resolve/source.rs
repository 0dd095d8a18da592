//! What the configuration says about one deployment, and how its resolution can fail.

use std::fmt;

use secrecy::SecretString;
use serde_json::{Map, Value};

use crate::catalogue::{Catalogue, Prices};
use crate::classify::StatusLists;

/// One deployment as configured: the parts of `litellm_params` and `model_info` that decide where a call goes.
#[derive(Clone)]
pub struct DeploymentSource<'a> {
    /// `litellm_params.model`, as written.
    pub model: &'a str,
    /// `litellm_params.custom_llm_provider`.
    pub custom_llm_provider: Option<&'a str>,
    /// Statuses that the operator reads otherwise.
    pub statuses: &'a StatusLists,
    /// `litellm_params.api_base`.
    pub api_base: Option<&'a str>,
    /// `litellm_params.api_key`.
    pub api_key: Option<SecretString>,
    /// `litellm_params.api_version`.
    pub api_version: Option<&'a str>,
    /// `litellm_params.organization`.
    pub organization: Option<&'a str>,
    /// `model_info.mode`.
    pub mode: Option<&'a str>,
    /// `model_info.base_model`: the catalogue's name for the model, where the deployment's own says nothing.
    pub base_model: Option<&'a str>,
    /// The prices that the deployment states itself.
    pub prices: &'a Prices,
    /// What is known about models.
    pub catalogue: &'a Catalogue,
    /// `litellm_params.extra_headers`, in order.
    pub extra_headers: &'a [(String, String)],
    /// `litellm_params.extra_body`: fields that are put into every body.
    pub extra_body: Option<&'a Map<String, Value>>,
    /// The remaining `litellm_params`: defaults of a call, applied where the client sets none.
    pub params: &'a Map<String, Value>,
    /// `litellm_params.drop_params`.
    pub drop_params: bool,
    /// `litellm_params.additional_drop_params`: fields never sent, by name or by a path such as
    /// `tools[*].function.strict`.
    pub additional_drop_params: &'a [String],
    /// Reads an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Reads a file of text, such as the description of a Google credential, which names its project.
    pub file: &'a dyn Fn(&str) -> Option<String>,
}

impl fmt::Debug for DeploymentSource<'_> {
    /// The model and base only: parameters may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeploymentSource")
            .field("model", &self.model)
            .field("custom_llm_provider", &self.custom_llm_provider)
            .field("api_base", &self.api_base)
            .finish_non_exhaustive()
    }
}

/// Why a deployment cannot be resolved. The text names the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The prefix names no provider we know.
    #[error("unknown provider {prefix:?} in model {model:?}{}", suggestion.as_ref().map(|name| format!(": did you mean {name:?}?")).unwrap_or_default())]
    UnknownProvider {
        /// The prefix, or `custom_llm_provider`.
        prefix: String,
        /// The model as written.
        model: String,
        /// A provider with a similar name.
        suggestion: Option<&'static str>,
    },
    /// No prefix, and the name is not one that belongs to a provider.
    #[error(
        "model {model:?} names no provider: write it as \"provider/{model}\", set custom_llm_provider, or give api_base for an OpenAI-compatible server"
    )]
    NoProvider {
        /// The model as written.
        model: String,
    },
    /// There is a prefix and nothing after it.
    #[error("model {model:?} has no name after its provider")]
    EmptyModel {
        /// The model as written.
        model: String,
    },
    /// The provider has no default base and none is given.
    #[error("{provider} needs an api_base{}", or_variables(variables))]
    MissingBase {
        /// The provider.
        provider: &'static str,
        /// The environment variables looked at.
        variables: &'static [&'static str],
    },
    /// The provider takes no calls without a key and none is given.
    #[error("{provider} needs an api_key{}", or_variables(variables))]
    MissingKey {
        /// The provider.
        provider: &'static str,
        /// The environment variables looked at.
        variables: &'static [&'static str],
    },
    /// The base belongs to another provider, and the only key found is this provider's.
    #[error(
        "api_base {base:?} belongs to {owner}: give the deployment its own api_key, the {provider} key of the environment is not sent there"
    )]
    ForeignBase {
        /// The provider of the model string.
        provider: &'static str,
        /// The provider the base belongs to.
        owner: &'static str,
        /// The base, without credentials.
        base: String,
    },
    /// The base is no absolute `http` or `https` URL.
    #[error("api_base {base:?} is not a usable URL: {reason}")]
    InvalidBase {
        /// The base as written, without credentials.
        base: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A header's name or value cannot be sent. Values are never shown.
    #[error("header {name:?} cannot be sent: its {part} is not legal in HTTP")]
    InvalidHeader {
        /// The header's name.
        name: String,
        /// `name` or `value`.
        part: &'static str,
    },
    /// A parameter or variable that describes a credential cannot be followed.
    #[error("{param} cannot be used: {reason}")]
    InvalidCredential {
        /// The parameter or the variable.
        param: &'static str,
        /// What is wrong with it, without a part of it.
        reason: String,
    },
    /// Nothing says which Google Cloud project is called.
    #[error(
        "vertex_ai needs a vertex_project (or the environment variable VERTEXAI_PROJECT): the credential names none, or its file cannot be read now"
    )]
    MissingProject,
    /// An entry of `additional_drop_params` is neither a name nor a path.
    #[error("additional_drop_params: {path:?} is no name and no path such as tools[*].function.strict")]
    InvalidDropPath {
        /// The entry as written.
        path: String,
    },
    /// The provider is known, its wire is not spoken yet.
    #[error("{provider} is known but its wire ({wire}) is not supported by this version")]
    WireNotSupported {
        /// The provider.
        provider: &'static str,
        /// The wire.
        wire: &'static str,
    },
}

fn or_variables(variables: &[&str]) -> String {
    match variables {
        [] => String::new(),
        [one] => format!(" (or the environment variable {one})"),
        many => format!(" (or one of the environment variables {})", many.join(", ")),
    }
}

impl ResolveError {
    /// The stable machine name.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownProvider { .. } => "unknown_provider",
            Self::NoProvider { .. } => "no_provider",
            Self::EmptyModel { .. } => "empty_model",
            Self::MissingBase { .. } => "missing_api_base",
            Self::MissingKey { .. } => "missing_api_key",
            Self::ForeignBase { .. } => "foreign_api_base",
            Self::InvalidBase { .. } => "invalid_api_base",
            Self::InvalidHeader { .. } => "invalid_header",
            Self::InvalidCredential { .. } => "invalid_credential",
            Self::MissingProject => "missing_project",
            Self::InvalidDropPath { .. } => "invalid_drop_path",
            Self::WireNotSupported { .. } => "wire_not_supported",
        }
    }
}
