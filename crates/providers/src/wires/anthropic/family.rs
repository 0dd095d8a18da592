//! What a Claude's name says about its generation: how much it may write, and how it is told to think.

/// A generation: `claude-sonnet-4-5` is 4.5, `claude-3-opus` 3.0. Names without a number are the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::wires) struct Generation {
    major: u16,
    minor: u16,
}

/// Names that only Anthropic's newest carry.
const NEWEST: Generation = Generation { major: 5, minor: 5 };

impl Generation {
    /// The generation of a model; `None` when the name is nobody's (a Foundry deployment of any name).
    pub(in crate::wires) fn of(model: &str) -> Option<Self> {
        let (_, rest) = model.split_once("claude-")?;
        let mut numbers = rest
            .split(['-', '.', '@', ':'])
            .filter(|part| part.len() <= 2)
            .filter_map(|part| part.parse::<u16>().ok());
        match (numbers.next(), numbers.next()) {
            (Some(major), minor) => Some(Self { major, minor: minor.unwrap_or(0) }),
            (None, _) => Some(NEWEST),
        }
    }

    /// Thinks by itself and takes an effort instead of a budget.
    pub(in crate::wires) fn is_adaptive(self) -> bool {
        self >= Self { major: 4, minor: 6 }
    }

    /// Takes a schema for its answer.
    pub(in crate::wires) fn has_output_format(self) -> bool {
        self >= Self { major: 4, minor: 5 }
    }
}

/// The cap when neither the client nor the deployment sets one, in tokens: the model's maximum, as LiteLLM has
/// it, or what every Claude accepts when the name says nothing.
pub(in crate::wires) fn default_cap(model: &str) -> u64 {
    let Some(generation) = Generation::of(model) else { return 4096 };
    match (generation.major, generation.minor) {
        (..=2, _) | (3, 0) => 4096,
        (3, 5) => 8192,
        (3, _) => 64_000,
        (4, ..=1) if model.contains("opus") => 32_000,
        (4, ..=5) => 64_000,
        (4.., _) => 128_000,
    }
}

/// The thinking budget of an effort on models that take one, in tokens (LiteLLM's figures).
pub(in crate::wires) fn budget(effort: &str) -> Option<u64> {
    match effort {
        "minimal" | "low" => Some(1024),
        "medium" => Some(2048),
        "high" => Some(4096),
        "xhigh" => Some(8192),
        "max" => Some(16_384),
        _ => None,
    }
}

/// The effort's name on models that take one.
pub(in crate::wires) fn effort(effort: &str) -> Option<&'static str> {
    match effort {
        "minimal" | "low" => Some("low"),
        "medium" => Some("medium"),
        "high" => Some("high"),
        "xhigh" => Some("xhigh"),
        "max" => Some("max"),
        _ => None,
    }
}
