//! What a catalogue says about one model, and how its columns are called.

use std::borrow::Cow;

use jiff::civil::Date;

use super::prices::{PriceKind, Prices};
use crate::Mode;

/// What a catalogue says about one model. Empty or `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelFacts<'a> {
    /// The name of the row: a model, with its provider's prefix where LiteLLM's price map has one.
    pub name: Cow<'a, str>,
    /// The provider, in LiteLLM's words.
    pub provider: Cow<'a, str>,
    /// What it serves, in LiteLLM's words: more than there are [`Mode`]s (`search`, `moderation`, …).
    pub kind: Cow<'a, str>,
    /// The endpoints it is served at, separated by commas: `/v1/chat/completions,/v1/responses`.
    pub endpoints: Cow<'a, str>,
    /// The most tokens a request may have.
    pub max_input_tokens: Option<u64>,
    /// The most tokens an answer may have.
    pub max_output_tokens: Option<u64>,
    /// The length of its vectors.
    pub vector_dimensions: Option<u64>,
    /// Requests per minute that the provider grants.
    pub rpm: Option<u64>,
    /// Tokens per minute that the provider grants.
    pub tpm: Option<u64>,
    /// The first day on which the provider does not promise to serve it.
    pub deprecated_on: Option<Date>,
    /// It can reason before it answers.
    pub reasoning: Option<bool>,
    /// It always reasons.
    pub always_thinks: Option<bool>,
    /// It reasons unless told not to.
    pub thinks_by_default: Option<bool>,
    /// It takes the reasoning effort `none`.
    pub effort_none: Option<bool>,
    /// It takes the reasoning effort `minimal`.
    pub effort_minimal: Option<bool>,
    /// It takes `temperature` and its like.
    pub sampling: Option<bool>,
    /// What its units cost.
    pub prices: Prices,
}

impl ModelFacts<'_> {
    /// What it serves, when that is something this gateway can probe or call.
    pub fn mode(&self) -> Option<Mode> {
        Mode::from_name(&self.kind)
    }

    /// Whether the provider no longer promises to serve it on `today`.
    pub fn is_retired(&self, today: Date) -> bool {
        self.deprecated_on.is_some_and(|day| day <= today)
    }

    /// Whether it is served at `endpoint`, as far as the catalogue says; `None` when it lists no endpoints.
    pub fn at_endpoint(&self, endpoint: &str) -> Option<bool> {
        (!self.endpoints.is_empty())
            .then(|| self.endpoints.split(',').any(|listed| listed.trim() == endpoint))
    }
}

/// Whole numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    MaxInput,
    MaxOutput,
    VectorDimensions,
    Rpm,
    Tpm,
}

impl Count {
    pub(super) const ALL: [Self; 5] =
        [Self::MaxInput, Self::MaxOutput, Self::VectorDimensions, Self::Rpm, Self::Tpm];

    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::MaxInput => "max_in",
            Self::MaxOutput => "max_out",
            Self::VectorDimensions => "vec_dim",
            Self::Rpm => "rpm",
            Self::Tpm => "tpm",
        }
    }

    /// LiteLLM's key.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::MaxInput => "max_input_tokens",
            Self::MaxOutput => "max_output_tokens",
            Self::VectorDimensions => "output_vector_size",
            Self::Rpm => "rpm",
            Self::Tpm => "tpm",
        }
    }

    pub(super) fn of<'f>(self, facts: &'f mut ModelFacts<'_>) -> &'f mut Option<u64> {
        match self {
            Self::MaxInput => &mut facts.max_input_tokens,
            Self::MaxOutput => &mut facts.max_output_tokens,
            Self::VectorDimensions => &mut facts.vector_dimensions,
            Self::Rpm => &mut facts.rpm,
            Self::Tpm => &mut facts.tpm,
        }
    }
}

/// What is true or false of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    Reasoning,
    AlwaysThinks,
    ThinksByDefault,
    EffortNone,
    EffortMinimal,
    Sampling,
}

impl Flag {
    pub(super) const ALL: [Self; 6] = [
        Self::Reasoning,
        Self::AlwaysThinks,
        Self::ThinksByDefault,
        Self::EffortNone,
        Self::EffortMinimal,
        Self::Sampling,
    ];

    pub(super) const fn column(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::AlwaysThinks => "thinking_always_on",
            Self::ThinksByDefault => "thinking_default_on",
            Self::EffortNone => "none_effort",
            Self::EffortMinimal => "minimal_effort",
            Self::Sampling => "sampling_params",
        }
    }

    /// LiteLLM's key.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Reasoning => "supports_reasoning",
            Self::AlwaysThinks => "thinking_always_on",
            Self::ThinksByDefault => "thinking_on_by_default",
            Self::EffortNone => "supports_none_reasoning_effort",
            Self::EffortMinimal => "supports_minimal_reasoning_effort",
            Self::Sampling => "supports_sampling_params",
        }
    }

    pub(super) fn of<'f>(self, facts: &'f mut ModelFacts<'_>) -> &'f mut Option<bool> {
        match self {
            Self::Reasoning => &mut facts.reasoning,
            Self::AlwaysThinks => &mut facts.always_thinks,
            Self::ThinksByDefault => &mut facts.thinks_by_default,
            Self::EffortNone => &mut facts.effort_none,
            Self::EffortMinimal => &mut facts.effort_minimal,
            Self::Sampling => &mut facts.sampling,
        }
    }
}

/// A column of a catalogue file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Model,
    Provider,
    Kind,
    Endpoints,
    DeprecatedOn,
    Count(Count),
    Flag(Flag),
    Price(PriceKind),
}

impl Column {
    /// Every column, in the order in which a catalogue is written.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        [Self::Model, Self::Provider, Self::Kind, Self::Endpoints, Self::DeprecatedOn]
            .into_iter()
            .chain(Count::ALL.into_iter().map(Self::Count))
            .chain(Flag::ALL.into_iter().map(Self::Flag))
            .chain(PriceKind::ALL.iter().copied().map(Self::Price))
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Provider => "provider",
            Self::Kind => "mode",
            Self::Endpoints => "endpoints",
            Self::DeprecatedOn => "deprecated_on",
            Self::Count(count) => count.column(),
            Self::Flag(flag) => flag.column(),
            Self::Price(kind) => kind.column(),
        }
    }

    /// The column of this name.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::all().find(|column| column.name() == name)
    }
}
