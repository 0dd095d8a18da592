//! Findings about the whole: names that lead nowhere, times that do not fit together, settings that can have no
//! effect. Each looks at the typed configuration and points at the line that has to change.

mod budgets;
mod doubles;
mod groups;
mod limits;
mod probes;
mod providers;
mod times;

use crate::Source;
use crate::diag::Report;
use crate::lower::field::Field;
use crate::lower::health::{self, Draft};
use crate::lower::model::Parts;
use crate::lower::router::Names;
use crate::lower::section::Reader;
use crate::typed::{Config, Model};
use crate::yaml::{Map, Span};

/// What the checks look at.
pub(crate) struct Facts<'a> {
    pub(crate) config: &'a Config,
    /// The entries that `config.models` came from, in the same order.
    pub(crate) parts: &'a [Parts<'a>],
    pub(crate) names: &'a Names<'a>,
    pub(crate) health: &'a health::General<'a>,
    /// `haleway.groups`.
    pub(crate) groups: &'a [(Field<'a>, &'a Map)],
    /// Global values before those that nobody set followed others.
    pub(crate) global: &'a Draft,
    pub(crate) redis: bool,
    /// `use_shared_health_check`.
    pub(crate) shared: Option<Field<'a>>,
    /// The `haleway` section.
    pub(crate) haleway: Option<Field<'a>>,
    pub(crate) top: Reader<'a>,
    pub(crate) litellm: Option<Reader<'a>>,
    pub(crate) general: Option<Reader<'a>>,
    pub(crate) router: Option<Reader<'a>>,
    pub(crate) source: &'a dyn Source,
    pub(crate) report: &'a Report,
}

impl<'a> Facts<'a> {
    /// Where a key of the `haleway.health` section stands, by its dotted name.
    fn health_key(&self, name: &str) -> Option<Span> {
        dotted(self.haleway?.value.as_map()?.get("health")?.value.as_map()?, name)
    }

    /// The models with their entries.
    fn entries(&self) -> impl Iterator<Item = (&'a Model, &'a Parts<'a>)> + use<'a> {
        self.config.models.iter().zip(self.parts)
    }

    /// Where a key of `general_settings` or `router_settings` stands.
    fn key(&self, name: &str) -> Option<Span> {
        [self.router, self.general]
            .into_iter()
            .flatten()
            .find_map(|reader| reader.map.get(name))
            .map(|entry| entry.key)
    }
}

/// Where a dotted key stands in a mapping that may nest it, and may hold it under `health`.
fn dotted(map: &Map, name: &str) -> Option<Span> {
    let inner = |name: &str| map.get(name).and_then(|entry| entry.value.as_map());
    let whole = || map.get(name).map(|entry| entry.key);
    let nested = || name.split_once('.').and_then(|(first, rest)| Some(inner(first)?.get(rest)?.key));
    whole().or_else(nested).or_else(|| dotted(inner("health")?, name))
}

/// Runs every check.
pub(crate) fn run(facts: &Facts<'_>) {
    groups::check(facts);
    limits::check(facts);
    doubles::check(facts);
    budgets::check(facts);
    providers::check(facts);
    times::check(facts);
}
