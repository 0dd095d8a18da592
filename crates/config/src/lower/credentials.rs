//! `credential_list`: values that deployments share by name (`litellm_credential_name`).

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde_json::Value;

use super::section::Reader;
use crate::diag::{Finding, Report, codes, did_you_mean};
use crate::typed::LitellmParams;
use crate::yaml::Map;

/// The named values of a file.
#[derive(Default)]
pub(crate) struct Named<'a>(BTreeMap<String, &'a Map>);

impl<'a> Named<'a> {
    /// Reads `credential_list`; entries that cannot be used are reported.
    pub(crate) fn read(top: Reader<'a>, report: &Report) -> Self {
        let mut named = Self::default();
        let list = top.get("credential_list").and_then(|field| field.list()).unwrap_or_default();
        for node in list {
            let wrong = |what: &str| report.add(Finding::error(codes::WRONG_TYPE, node.span, what));
            let Some(entry) = node.as_map() else {
                wrong("an entry of credential_list is a mapping with credential_name and credential_values");
                continue;
            };
            let name = entry.get("credential_name").and_then(|entry| entry.value.as_scalar());
            let values = entry.get("credential_values").and_then(|entry| entry.value.as_map());
            match (name, values) {
                (Some(name), Some(values)) => {
                    if named.0.insert(name.text.to_string(), values).is_some() {
                        wrong("this credential_name is taken by an earlier entry");
                    }
                }
                (None, _) => wrong("an entry of credential_list needs a credential_name"),
                (Some(_), None) => wrong("an entry of credential_list needs credential_values, a mapping"),
            }
        }
        named
    }

    /// Gives a deployment the values it names, where it sets none itself, as LiteLLM does.
    pub(crate) fn fill(&self, reader: Reader<'_>, params: &mut LitellmParams) {
        let Some(field) = reader.get("litellm_credential_name") else { return };
        let Some(name) = field.text() else { return };
        let Some(values) = self.0.get(&name) else {
            let message = format!("no entry of credential_list is called {name:?}");
            let cure = did_you_mean(&name, self.0.keys().map(String::as_str));
            field.report.add(field.error(codes::BAD_VALUE, message).maybe_hint(cure));
            return;
        };
        for entry in &values.entries {
            let value = entry.value.to_json();
            let text = match &value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
            };
            match entry.name.as_str() {
                "api_key" => {
                    params.api_key.get_or_insert_with(|| SecretString::from(text));
                }
                "api_base" | "base_url" => {
                    params.api_base.get_or_insert(text);
                }
                "api_version" => {
                    params.api_version.get_or_insert(text);
                }
                "organization" => {
                    params.organization.get_or_insert(text);
                }
                "custom_llm_provider" => {
                    params.custom_llm_provider.get_or_insert(text);
                }
                name => {
                    if !params.rest.contains_key(name) {
                        params.rest.insert(name.to_owned(), value);
                    }
                }
            }
        }
    }
}
