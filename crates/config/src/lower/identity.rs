//! The id of a deployment that was given none: 64 hexadecimal digits over what decides where its calls go.
//!
//! LiteLLM hashes the whole entry with its key, so a rotated key or another weight makes a new deployment and
//! everything learnt about the old one is lost. Here the id depends on the group's name and on the target alone;
//! entries that are equal in these are told apart by their number.

use std::collections::HashMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::typed::LitellmParams;

/// Keys of the provider that decide where a call goes.
const PLACES: [&str; 8] = [
    "aws_region_name",
    "vertex_project",
    "vertex_location",
    "region_name",
    "watsonx_region_name",
    "project_id",
    "space_id",
    "deployment_id",
];

/// Gives out ids, and remembers which were given.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    seen: HashMap<String, u32>,
}

impl Ids {
    /// The id of the next deployment of `group` with these parameters.
    pub(crate) fn next(&mut self, group: &str, params: &LitellmParams) -> String {
        let mut parts: Vec<String> = vec![group.to_owned(), params.model.clone()];
        let texts =
            [&params.custom_llm_provider, &params.api_base, &params.api_version, &params.organization];
        parts.extend(texts.into_iter().map(|text| text.clone().unwrap_or_default()));
        parts.extend(
            PLACES.iter().map(|key| params.rest.get(*key).map(ToString::to_string).unwrap_or_default()),
        );
        // Lengths in front keep ("ab", "c") and ("a", "bc") apart.
        let key = parts.iter().fold(String::new(), |mut key, part| {
            key.push_str(&part.len().to_string());
            key.push(':');
            key.push_str(part);
            key
        });
        let count = self.seen.entry(key.clone()).or_default();
        *count += 1;
        let digest = Sha256::digest(format!("haleway deployment {count} {key}"));
        digest.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _infallible = write!(hex, "{byte:02x}");
            hex
        })
    }
}
