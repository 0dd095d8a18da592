//! Claude on Vertex AI: Anthropic's body, with a version in it and the model in the URL instead.

use std::borrow::Cow;

use haleway_wire::{Change, Envelope};

use crate::Refusal;
use crate::target::Encoded;
use crate::wires::{Encode, anthropic};

const VERSION: &[u8] = br#""vertex-2023-10-16""#;

/// The body of a chat completion or of a client's own message.
pub(in crate::wires) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let mut encoded = anthropic::encode(encode)?;
    let body = encoded.body.clone();
    if let Ok(members) = Envelope::parse(&body) {
        let mut changes = vec![Change::Remove("model")];
        if members.get("anthropic_version").is_none() {
            changes.push(Change::Set("anthropic_version", Cow::Borrowed(VERSION)));
        }
        encoded.body = members.patched(&changes);
    }
    Ok(encoded)
}
