//! Which models may stand for a wildcard in its probe: chat models that the pattern serves, the cheapest first.

use jiff::civil::Date;

use super::facts::ModelFacts;
use super::lookup::is_of;
use super::{Catalogue, Usd};
use crate::Mode;
use crate::registry::provider_of_prefix;

/// A model that may stand for a wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeCandidate {
    /// The model's id, without the provider's prefix.
    pub model: String,
    /// The first day on which the provider does not promise to serve it.
    pub deprecated_on: Option<Date>,
}

/// Parts of names of models that are priced like chat but do not hold one, or bill something besides tokens.
const NO_CONVERSATION: [&str; 14] = [
    "guard",
    "moderation",
    "embed",
    "rerank",
    "-base",
    "flux",
    "controlnet",
    "ocr",
    "audio",
    "voxtral",
    "realtime",
    "search",
    "research",
    "image",
];

impl Catalogue {
    /// The chat models of `provider` that `pattern` (on the id, with `*`) serves, the cheapest first, then by name.
    /// None for providers whose names are the operator's own (Azure).
    pub fn probe_candidates(&self, provider: &str, pattern: &str) -> Vec<ProbeCandidate> {
        if provider.starts_with("azure") {
            return Vec::new();
        }
        let mut found: Vec<(Usd, String, Option<Date>)> = self
            .rows()
            .filter(|facts| is_of(&facts.provider, provider) && converses(facts))
            .filter_map(|facts| {
                let id = own_id(&facts.name, provider)?;
                let price = facts.prices.token_pair()?;
                matches(pattern, id).then(|| (price, id.to_owned(), facts.deprecated_on))
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, model, deprecated_on)| ProbeCandidate { model, deprecated_on }).collect()
    }
}

fn converses(facts: &ModelFacts<'_>) -> bool {
    use super::PriceKind::{InputToken, OutputToken};
    let priced = |kind| facts.prices.get(kind).is_some_and(|price| price > Usd::ZERO);
    facts.mode() == Some(Mode::Chat)
        && facts.max_input_tokens.is_some()
        && priced(InputToken)
        && priced(OutputToken)
        && facts.at_endpoint("/v1/chat/completions") != Some(false)
        && !NO_CONVERSATION.iter().any(|part| facts.name.to_ascii_lowercase().contains(part))
}

/// The id behind a row's name, unless the row is about a region, a price class or a fine-tuned model of somebody.
fn own_id<'n>(name: &'n str, provider: &str) -> Option<&'n str> {
    let prefixes = provider_of_prefix(provider).map_or(&[][..], |found| found.prefixes);
    let id = prefixes
        .iter()
        .chain(std::iter::once(&provider))
        .find_map(|prefix| name.strip_prefix(*prefix)?.strip_prefix('/'));
    let bare = id.is_none();
    let id = id.unwrap_or(name);
    let first = id.split('/').next().unwrap_or(id);
    let regional = crate::resolve::model::is_region(first) || first.starts_with("commitment");
    // `together-ai-4.1b-8b`: a class of sizes, not a model.
    let class = bare && (id.starts_with("together-ai-") || id.starts_with("fireworks-ai-"));
    (!regional && !class && !id.starts_with("ft:")).then_some(id)
}

/// Whether a pattern with any number of `*` takes the whole of `text`.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    true
}
