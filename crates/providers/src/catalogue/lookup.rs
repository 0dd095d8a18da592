//! Under which names a deployment's model may stand in a catalogue, the most telling first.
//!
//! The rules are LiteLLM's, so that a model is found here when it is found there: with the provider's prefix, as it
//! stands, without what a provider's own naming adds (Bedrock's routes and regions, the version of a Vertex model, the
//! owner of a fine-tuned one, a date). A row of another provider is never taken.

use super::facts::ModelFacts;
use super::{Catalogue, CatalogueRow};
use crate::registry::provider_of_prefix;

impl Catalogue {
    /// What the catalogue says about `model` of `provider`, both in LiteLLM's words. The model may carry the
    /// provider's prefix.
    pub fn find(&self, provider: &str, model: &str) -> Option<ModelFacts<'_>> {
        self.row(provider, model).and_then(|row| self.packed.facts(row))
    }

    /// The row that speaks about a deployment: of its `base_model` when it states one that is known, else of its model.
    pub fn row_of(&self, provider: &str, model: &str, base_model: Option<&str>) -> Option<CatalogueRow> {
        let base = base_model.and_then(|base_model| self.base_row(provider, base_model));
        let row = base.or_else(|| self.row(provider, model))?;
        Some(CatalogueRow { catalogue: self.clone(), row })
    }

    /// [`Catalogue::find`] for `model_info.base_model`, which may name another provider's model by its prefix.
    pub fn find_base(&self, provider: &str, base_model: &str) -> Option<ModelFacts<'_>> {
        self.base_row(provider, base_model).and_then(|row| self.packed.facts(row))
    }

    fn base_row(&self, provider: &str, base_model: &str) -> Option<usize> {
        let other = || {
            let (prefix, _) = base_model.split_once('/')?;
            provider_of_prefix(prefix)?;
            self.row(prefix, base_model)
        };
        self.row(provider, base_model).or_else(other).or_else(|| self.packed.search(&[base_model]))
    }

    /// [`Catalogue::find`] for an image model whose price depends on the image: `quality` such as `low`, `size` such as
    /// `1024x1024`. Falls back to the model's own row.
    pub fn find_image(
        &self,
        provider: &str,
        model: &str,
        quality: &str,
        size: &str,
    ) -> Option<ModelFacts<'_>> {
        let model = without_prefix(provider, model);
        let (width, height) = size.split_once('x').unwrap_or((size, ""));
        let sized: [&[&str]; 4] = [
            &[provider, "/", quality, "/", width, "-x-", height, "/", model],
            &[quality, "/", width, "-x-", height, "/", model],
            &[provider, "/", width, "-x-", height, "/", model],
            &[width, "-x-", height, "/", model],
        ];
        let found = sized.iter().find_map(|key| self.of_provider(provider, key));
        found.or_else(|| self.row(provider, model)).and_then(|row| self.packed.facts(row))
    }

    fn row(&self, provider: &str, model: &str) -> Option<usize> {
        let usual = provider_of_prefix(provider).and_then(|found| found.prefixes.first()).copied();
        let model = without_prefix(provider, model);
        for form in forms(provider, model) {
            let prefixed = |prefix: &str| self.of_provider(provider, &[prefix, "/", form]);
            let found = prefixed(provider)
                .or_else(|| usual.filter(|usual| *usual != provider).and_then(prefixed))
                .or_else(|| self.of_provider(provider, &[form]));
            if found.is_some() {
                return found;
            }
        }
        // A provider whose own ids begin with its name.
        self.of_provider(provider, &[provider, "/", provider, "/", model])
    }

    fn of_provider(&self, provider: &str, key: &[&str]) -> Option<usize> {
        let row = self.packed.search(key)?;
        is_of(self.packed.provider(row)?, provider).then_some(row)
    }
}

fn without_prefix<'m>(provider: &str, model: &'m str) -> &'m str {
    model.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/')).unwrap_or(model)
}

/// Whether a row of `owner` speaks about models of `provider`.
pub(super) fn is_of(owner: &str, provider: &str) -> bool {
    let family = |name: &str| owner.starts_with(name) && provider.starts_with(name);
    owner == provider
        || owner.is_empty()
        || ["vertex_ai", "fireworks_ai", "bedrock"].into_iter().any(family)
        || (provider == "azure_ai" && matches!(owner, "azure" | "openai"))
        || matches!(
            (provider_of_prefix(owner), provider_of_prefix(provider)),
            (Some(one), Some(other)) if one.id == other.id
        )
}

/// A model's name, then the shorter ones it may stand for.
fn forms<'m>(provider: &str, model: &'m str) -> impl Iterator<Item = &'m str> {
    let shorter: [Option<&str>; 3] = if provider.starts_with("bedrock") {
        let routed = bedrock_route(model);
        let placed = bedrock_region(routed);
        [Some(routed), Some(placed), Some(bedrock_area(placed))]
    } else if provider.starts_with("vertex_ai") || matches!(provider, "gemini" | "databricks") {
        [model.split_once('@').map(|(id, _)| id), without_number(model), None]
    } else if let Some(tuned) = without_owner(model) {
        [Some(tuned), without_date(tuned.strip_prefix("ft:").unwrap_or(tuned)), None]
    } else {
        [without_date(model), None, None]
    };
    std::iter::once(model).chain(shorter.into_iter().flatten().filter(move |form| *form != model))
}

/// `converse/anthropic.claude…` without its route.
fn bedrock_route(model: &str) -> &str {
    const ROUTES: [&str; 9] = [
        "bedrock/",
        "converse/",
        "invoke/",
        "converse_like/",
        "async_invoke/",
        "chat_completions/",
        "openai/",
        "mantle/",
        "claude_platform/",
    ];
    ROUTES.iter().fold(model, |model, route| model.strip_prefix(route).unwrap_or(model))
}

/// `us-west-2/anthropic.claude…` without its region.
fn bedrock_region(model: &str) -> &str {
    match model.split_once('/') {
        Some((segment, rest)) if crate::resolve::model::is_region(segment) => rest,
        Some(_) | None => model,
    }
}

/// `us.anthropic.claude…` without the area that an inference profile serves.
fn bedrock_area(model: &str) -> &str {
    const AREAS: [&str; 9] = ["us", "eu", "apac", "global", "jp", "au", "us-gov", "ca", "sa"];
    match model.split_once('.') {
        Some((area, rest)) if AREAS.contains(&area) => rest,
        Some(_) | None => model,
    }
}

/// `gemini-1.5-flash-001` without its version.
fn without_number(model: &str) -> Option<&str> {
    let (id, version) = model.rsplit_once('-')?;
    (!version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

/// `ft:gpt-4o-mini-2024-07-18:org:suffix:id` without its owner, suffix and id.
fn without_owner(model: &str) -> Option<&str> {
    let from = model.find("ft:")?;
    let tuned = model.get(from..)?;
    let mut shorter = tuned;
    for _ in 0..3 {
        shorter = shorter.rsplit_once(':')?.0;
    }
    shorter.starts_with("ft:").then_some(shorter)
}

/// `gpt-4o-2024-08-06` or `claude-haiku-4-5-20251001` without its date.
fn without_date(model: &str) -> Option<&str> {
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    let (id, last) = model.rsplit_once('-')?;
    if digits(last, 8) {
        return Some(id);
    }
    let (id, month) = id.rsplit_once('-').filter(|_| digits(last, 2))?;
    let (id, year) = id.rsplit_once('-').filter(|_| digits(month, 2))?;
    digits(year, 4).then_some(id)
}
