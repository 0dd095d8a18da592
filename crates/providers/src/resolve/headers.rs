//! The headers of every call to a deployment, built once. Every value is marked sensitive when it carries the
//! credential or came from the operator, so that no debug print of a header map shows it.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::ExposeSecret;

use super::key::Key;
use super::{Plan, ResolveError, google};
use crate::registry::Auth;
use crate::wires::azure::Face;

/// Content type, the provider's own headers, the credential and the operator's headers, later ones winning.
pub(super) fn build(
    plan: &Plan<'_>,
    key: Option<&Key>,
    azure: Option<&Face>,
) -> Result<HeaderMap, ResolveError> {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers
        .insert(header::USER_AGENT, HeaderValue::from_static(concat!("haleway/", env!("CARGO_PKG_VERSION"))));
    for (name, value) in plan.name.provider.headers {
        put(&mut headers, name, value, false)?;
    }
    if azure == Some(&Face::Claude) {
        put(&mut headers, "anthropic-version", "2023-06-01", false)?;
    }
    if let Some(key) = key {
        credential(&mut headers, plan, key, azure)?;
    }
    if let Some(organization) = organization(plan) {
        put(&mut headers, "openai-organization", &organization, false)?;
    }
    for (name, value) in plan.source.extra_headers {
        put(&mut headers, name, value, true)?;
    }
    Ok(headers)
}

fn credential(
    headers: &mut HeaderMap,
    plan: &Plan<'_>,
    key: &Key,
    azure: Option<&Face>,
) -> Result<(), ResolveError> {
    if key.aws.is_some() {
        return Ok(());
    }
    let text = key.secret.expose_secret();
    match plan.name.provider.auth {
        Auth::GoogleOauth if google::is_express(key) => put(headers, google::KEY_HEADER, text, true),
        Auth::IbmIam if key.is_zen() => put(headers, "authorization", &format!("ZenApiKey {text}"), true),
        Auth::Bearer | Auth::Aws | Auth::GoogleOauth | Auth::IbmIam => bearer(headers, text),
        Auth::AzureAi if key.is_token() => bearer(headers, text),
        Auth::Token => put(headers, "authorization", &format!("Token {text}"), true),
        Auth::Header(name) => put(headers, name, text, true),
        Auth::Anthropic if key.is_token() || text.starts_with("sk-ant-oat") => bearer(headers, text),
        Auth::Anthropic => put(headers, "x-api-key", text, true),
        Auth::Azure if key.is_token() || azure.is_some_and(Face::is_v1) => bearer(headers, text),
        Auth::Azure => put(headers, "api-key", text, true),
        Auth::AzureAi => match azure {
            Some(Face::Claude) => {
                put(headers, "x-api-key", text, true)?;
                put(headers, "api-key", text, true)
            }
            // Mistral's OCR on Azure AI takes a bearer token on every host.
            Some(Face::Services) if plan.source.mode == Some("ocr") => bearer(headers, text),
            Some(Face::Services) => put(headers, "api-key", text, true),
            Some(Face::Classic { .. } | Face::V1 { .. } | Face::Serverless) | None => bearer(headers, text),
        },
    }
}

fn bearer(headers: &mut HeaderMap, key: &str) -> Result<(), ResolveError> {
    put(headers, "authorization", &format!("Bearer {key}"), true)
}

/// OpenAI's organization, where OpenAI itself is called.
fn organization(plan: &Plan<'_>) -> Option<String> {
    match plan.name.provider.id {
        "openai" => {
            plan.source.organization.map(str::to_owned).or_else(|| (plan.source.env)("OPENAI_ORGANIZATION"))
        }
        _ => plan.source.organization.map(str::to_owned),
    }
    .filter(|organization| !organization.is_empty())
}

fn put(headers: &mut HeaderMap, name: &str, value: &str, secret: bool) -> Result<(), ResolveError> {
    let illegal = |part| ResolveError::InvalidHeader { name: name.to_owned(), part };
    let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| illegal("name"))?;
    let mut value = HeaderValue::from_str(value.trim()).map_err(|_| illegal("value"))?;
    value.set_sensitive(secret);
    headers.insert(header, value);
    Ok(())
}
