//! Configurations of tests, said in one line each.
//!
//! JSON is YAML: the file that the gateway reads is written as JSON, so that any value can be set by path.

use serde_json::{Map, Value, json};

/// A configuration in the making.
#[derive(Clone, Debug)]
pub struct Yaml {
    models: Vec<Value>,
    sections: Map<String, Value>,
}

impl Default for Yaml {
    fn default() -> Self {
        Self::new()
    }
}

impl Yaml {
    /// No deployment yet; `num_retries: 0`, and no master key is asked for.
    pub fn new() -> Self {
        Self { models: Vec::new(), sections: Map::new() }.set("router_settings.num_retries", 0)
    }

    /// One group `g` with one deployment `d1→u1`.
    pub fn b1() -> Self {
        Self::new().deployment("g", "d1")
    }

    /// One group `g` with `d1→u1` and `d2→u2`.
    pub fn b2() -> Self {
        Self::b1().deployment("g", "d2")
    }

    /// Groups `g` (`d1→u1`) and `h` (`d2→u2`), with `h` as the fallback of `g`.
    pub fn b2f() -> Self {
        Self::b1().deployment("h", "d2").set("router_settings.fallbacks", json!([{"g": ["h"]}]))
    }

    /// Adds the deployment `dN→uN` with key `sk-canary-N` to a group.
    #[must_use]
    pub fn deployment(mut self, group: &str, id: &str) -> Self {
        let number = id.trim_start_matches(|c: char| !c.is_ascii_digit());
        self.models.push(json!({
            "model_name": group,
            "litellm_params": {
                "model": "openai/stub",
                "api_base": format!("http://u{number}/v1"),
                "api_key": format!("sk-canary-{number}"),
            },
            "model_info": {"id": id},
        }));
        self
    }

    /// Background probes every `seconds`.
    #[must_use]
    pub fn probed_every(self, seconds: u64) -> Self {
        self.set("general_settings.background_health_checks", true)
            .set("general_settings.health_check_interval", seconds)
    }

    /// Sets a value by dotted path: `router_settings.…`, or `d1.litellm_params.…`. `Null` removes it.
    ///
    /// # Panics
    /// When a part of the path is no mapping.
    #[must_use]
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        let mut parts: Vec<&str> = path.split('.').collect();
        let last = parts.pop().expect("split yields a part");
        let model = self
            .models
            .iter_mut()
            .find(|model| parts.first().is_some_and(|id| model["model_info"]["id"] == **id));
        let mut at = match model {
            Some(model) => {
                parts.remove(0);
                model.as_object_mut().expect("a model is a mapping")
            }
            None => &mut self.sections,
        };
        for part in parts {
            let next = at.entry(part).or_insert_with(|| json!({}));
            at = next.as_object_mut().unwrap_or_else(|| panic!("{part} in {path} is no mapping"));
        }
        let value = value.into();
        if value.is_null() {
            at.remove(last);
        } else {
            at.insert(last.to_owned(), value);
        }
        self
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut file = self.sections.clone();
        file.insert("model_list".to_owned(), self.models.clone().into());
        serde_json::to_string_pretty(&file).expect("values are JSON")
    }
}

impl From<Yaml> for String {
    fn from(yaml: Yaml) -> Self {
        yaml.text()
    }
}
