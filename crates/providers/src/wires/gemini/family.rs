//! What a Gemini's name says about how it is told to think.

use serde_json::{Value, json};

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thinking {
    /// By a budget in tokens (2.5, and names that do not say their generation).
    Budget,
    /// By a level (3 and newer), which cannot be switched off.
    Level,
}

fn thinking(model: &str) -> Option<Thinking> {
    let (_, rest) = model.split_once("gemini-")?;
    let number = rest.split('-').next().unwrap_or(rest);
    let mut numbers = number.split('.').map(str::parse::<u16>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), _) if major >= 3 => Some(Thinking::Level),
        (Some(Ok(2)), Some(Ok(minor))) if minor >= 5 => Some(Thinking::Budget),
        (Some(Ok(_)), _) => None,
        // `gemini-flash-latest`: the newer ones take a budget, too.
        (Some(Err(_)) | None, _) => Some(Thinking::Budget),
    }
}

/// Whether the model wants the signature of its thoughts back with every function call.
pub(super) fn wants_signatures(model: &str) -> bool {
    thinking(model) == Some(Thinking::Level)
}

/// Whether the model thinks.
pub(super) fn thinks(model: &str) -> bool {
    thinking(model).is_some()
}

/// `thinkingConfig` for an effort; `None` when the effort is not known. LiteLLM's figures.
pub(super) fn config(model: &str, effort: &str) -> Option<Value> {
    let is_pro = model.contains("pro");
    let off = matches!(effort, "none" | "disable");
    match thinking(model)? {
        Thinking::Level => {
            let level = match effort {
                "none" | "disable" | "minimal" if is_pro => "low",
                "none" | "disable" | "minimal" => "minimal",
                "low" => "low",
                "medium" => "medium",
                "high" => "high",
                "xhigh" | "max" => "xhigh",
                _ => return None,
            };
            Some(json!({ "thinkingLevel": level, "includeThoughts": !off }))
        }
        Thinking::Budget => {
            let budget = match effort {
                // Pro thinks always; this is its least.
                "none" | "disable" | "minimal" if is_pro => 128,
                "none" | "disable" => 0,
                "minimal" if model.contains("lite") => 512,
                "minimal" => 1,
                "low" => 1024,
                "medium" => 2048,
                "high" => 4096,
                "xhigh" => 8192,
                "max" => 16_384,
                _ => return None,
            };
            Some(json!({ "thinkingBudget": budget, "includeThoughts": !off }))
        }
    }
}

/// `thinkingConfig` of a probe: no thoughts, where the model is known to take that. Its cap would go into them.
pub(super) fn config_of_probe(model: &str) -> Option<Value> {
    let special = ["image", "tts", "audio", "live"].iter().any(|word| model.contains(word));
    if !model.contains("flash") || special || !model.contains("gemini-") {
        return None;
    }
    match thinking(model)? {
        Thinking::Level => Some(json!({ "thinkingLevel": "minimal" })),
        Thinking::Budget => Some(json!({ "thinkingBudget": 0 })),
    }
}
