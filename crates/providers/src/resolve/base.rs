//! The base URL of a deployment: from the parameters, the environment or the provider, made regular.

use http::Uri;

use super::{DeploymentSource, ModelName, ResolveError};
use crate::registry::Provider;

/// A base URL without a trailing slash, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// `scheme://host[:port]/path`, as it is extended by paths.
    pub(crate) text: String,
    /// `scheme://host[:port]`, as written.
    pub(crate) root: String,
    /// The host in lower case.
    pub(crate) host: String,
    /// `scheme://host:port` with the port spelled out.
    pub(crate) endpoint: String,
    /// The query of the base, put onto every URL.
    pub(crate) query: Option<String>,
}

impl Base {
    /// Reads and checks a base.
    pub(crate) fn parse(text: &str) -> Result<Self, ResolveError> {
        let invalid =
            |reason: &str| ResolveError::InvalidBase { base: shown(text), reason: reason.to_owned() };
        if !text.contains("://") {
            return Err(invalid("it must begin with http:// or https://"));
        }
        let uri: Uri =
            text.trim().parse().map_err(|error: http::uri::InvalidUri| invalid(&error.to_string()))?;
        let scheme = match uri.scheme_str() {
            Some(scheme @ ("http" | "https")) => scheme,
            Some(_) => return Err(invalid("the scheme must be http or https")),
            None => return Err(invalid("it must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or_else(|| invalid("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("credentials do not belong into the URL: use api_key"));
        }
        let host = authority.host().to_ascii_lowercase();
        if host.is_empty() {
            return Err(invalid("it has no host"));
        }
        let stated = authority.as_str().rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        if stated.is_some_and(|(_, port)| !port.is_empty()) && authority.port_u16().is_none() {
            return Err(invalid("its port is no number from 0 to 65535"));
        }
        let port = authority.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        let root = format!("{scheme}://{authority}");
        let path = uri.path().trim_end_matches('/');
        Ok(Self {
            text: format!("{root}{path}"),
            endpoint: format!("{scheme}://{host}:{port}"),
            root,
            host,
            query: uri.query().map(str::to_owned),
        })
    }

    /// The path, without a trailing slash.
    pub(crate) fn path(&self) -> &str {
        self.text.get(self.root.len()..).unwrap_or("")
    }

    /// Drops `suffix` from the path, if it ends with it.
    pub(crate) fn without_suffix(mut self, suffix: &str) -> Self {
        if let Some(kept) = self.text.strip_suffix(suffix) {
            self.text.truncate(kept.len().max(self.root.len()));
        }
        self
    }

    /// Adds to the path.
    pub(crate) fn with(mut self, path: &str) -> Self {
        self.text.push_str(path);
        self
    }
}

/// A base fit for messages: without user, password and query.
fn shown(text: &str) -> String {
    let text = text.split('?').next().unwrap_or(text);
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
        }
        None => text.rsplit('@').next().unwrap_or(text).to_owned(),
    }
}

/// The base of a deployment, and whether it is the provider's default.
pub(crate) fn find(name: &ModelName, source: &DeploymentSource<'_>) -> Result<(Base, bool), ResolveError> {
    let (env, provider) = (source.env, name.provider);
    // LiteLLM's own name for it on Bedrock.
    let runtime = source.params.get("aws_bedrock_runtime_endpoint").and_then(serde_json::Value::as_str);
    let given = source.api_base.or(runtime.filter(|_| provider.id == "bedrock")).map(str::to_owned);
    let given = given.filter(|base| !base.trim().is_empty());
    let from_env =
        || provider.base_env.iter().find_map(|name| env(name).filter(|value| !value.trim().is_empty()));
    if let Some(text) = given.or_else(from_env) {
        return Ok((regular(provider, Base::parse(&text)?), false));
    }
    let default = match name.prefix.as_str() {
        // One platform, two hosts, each with its own keys.
        "qwencloud" => Some("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
        _ => provider.base,
    };
    let Some(default) = default else {
        return Err(ResolveError::MissingBase { provider: provider.id, variables: provider.base_env });
    };
    let default = match provider.id {
        "vertex_ai" => super::google::base(name.region.as_deref().unwrap_or_default()),
        "watsonx" => match super::text(source, "watsonx_region_name") {
            Some(region) => format!("https://{}.ml.cloud.ibm.com", region.trim()),
            None => default.to_owned(),
        },
        _ => default.replace("{region}", name.region.as_deref().unwrap_or_default()),
    };
    Ok((Base::parse(&default)?, true))
}

/// What operators write, made what the provider's paths extend.
fn regular(provider: &Provider, base: Base) -> Base {
    match provider.id {
        // Full endpoint URLs are a common habit; every path of these providers hangs below the prefix.
        "databricks" if base.path().is_empty() => base.with("/serving-endpoints"),
        "huggingface" if !base.path().ends_with("/v1") => {
            base.without_suffix("/v1/chat/completions").with("/v1")
        }
        "anthropic" => base.without_suffix("/messages").without_suffix("/v1"),
        "azure" | "azure_ai" | "vertex_ai" | "watsonx" => base,
        "gemini" if base.path().is_empty() && base.host == "generativelanguage.googleapis.com" => {
            base.with("/v1beta")
        }
        "cohere" => {
            ["/chat", "/embed", "/rerank", "/v2", "/v1"].iter().fold(base, |b, end| b.without_suffix(end))
        }
        "ollama" => ["/chat/completions", "/chat", "/generate", "/embeddings", "/embed", "/api", "/v1"]
            .iter()
            .fold(base, |base, end| base.without_suffix(end)),
        _ => base.without_suffix("/chat/completions").without_suffix("/embeddings"),
    }
}
