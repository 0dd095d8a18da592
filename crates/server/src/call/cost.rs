//! What a served call cost: the tokens that its answer states, at the prices of the model that was asked.

use haleway_providers::catalogue::{Usage, Usd};
use haleway_providers::{Operation, Target};
use haleway_wire::chat;

/// The counts of an answer as prices take them.
pub(crate) fn usage(counts: &chat::Usage, operation: Operation) -> Usage {
    // Anthropic counts cached tokens beside the others, everybody else among them.
    let beside = if operation == Operation::Messages {
        counts.cached_tokens.saturating_add(counts.cache_written_tokens)
    } else {
        0
    };
    Usage {
        input_tokens: counts.prompt_tokens.saturating_add(beside),
        cache_read_tokens: counts.cached_tokens,
        cache_write_tokens: counts.cache_written_tokens,
        output_tokens: counts.completion_tokens,
        reasoning_tokens: counts.reasoning_tokens,
        ..Usage::default()
    }
}

/// What `usage` cost at `target`; `captured` is what a wildcard's `*` stood for.
pub(crate) fn of(target: &Target, captured: Option<&str>, usage: &Usage) -> Option<Usd> {
    match captured {
        None => target.prices.cost(usage),
        Some(captured) => target.prices_of(Some(&target.wire_model.replacen('*', captured, 1))).cost(usage),
    }
}
