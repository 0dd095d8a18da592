//! What a deployment's probes have learnt about it. Kept per deployment and stored across restarts, so that a
//! repair costs one request once.

use serde::{Deserialize, Serialize};

/// What earlier probes learnt. The default has learnt nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProbeMemory {
    /// The smallest output cap the provider accepts, in tokens.
    pub cap_floor: Option<u64>,
    /// The cap that left room for an answer after the model's reasoning, in tokens.
    pub cap_raised: Option<u64>,
    /// `max_tokens` is refused: say `max_completion_tokens`.
    pub completion_tokens: bool,
    /// Only streams are served.
    pub stream_only: bool,
    /// The model was seen to reason.
    pub reasons: bool,
    /// Body fields the provider refused and that are left out from now on.
    pub dropped: Vec<String>,
    /// A voice the provider said it has.
    pub voice: Option<String>,
    /// Models of the catalogue that the provider does not have, so that another stands for the wildcard.
    pub absent: Vec<String>,
    /// The `input_type` an embedding model demands.
    pub input_type: Option<String>,
}
