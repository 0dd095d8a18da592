//! A caller's headers that reach a provider.
//!
//! By default only those that decide about an answer: the betas that a caller of Anthropic's API asks for, where the provider speaks
//! that API itself. An operator may let a caller's own `x-` headers through. A credential never goes along, and what the
//! deployment states itself stands.

use http::{HeaderMap, HeaderValue};

use crate::registry::Wire;
use crate::{Operation, Target};

const BETAS: &str = "anthropic-beta";

/// What a caller sent beside its body.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The operator lets callers' own headers through (`forward_client_headers_to_llm_api`).
    pub forwards: bool,
    /// One more header that carries the caller's key.
    pub key_header: Option<&'a str>,
}

impl Target {
    /// Takes over from a caller's headers what reaches the provider.
    pub fn forward(&self, operation: Operation, caller: &Caller<'_>, headers: &mut HeaderMap) {
        if caller.forwards {
            for (name, value) in caller.headers {
                if caller.may_pass(name.as_str()) && !self.headers.contains_key(name) {
                    headers.append(name.clone(), value.clone());
                }
            }
        }
        let speaks = matches!(operation, Operation::Messages | Operation::CountTokens)
            && matches!(self.wire(operation), Some(Wire::Anthropic | Wire::VertexAnthropic));
        if (caller.forwards || speaks) && caller.headers.contains_key(BETAS) {
            merge_betas(caller.headers, headers);
        }
    }
}

impl Caller<'_> {
    /// Whether a header is the caller's word to the provider, and no credential or word between it and this gateway.
    fn may_pass(&self, name: &str) -> bool {
        const OURS: [&str; 4] = ["x-stainless-", "x-litellm-", "x-haleway-", "x-amz-"];
        name.starts_with("x-")
            && !OURS.iter().any(|prefix| name.starts_with(prefix))
            && !name.contains("api-key")
            && !self.key_header.is_some_and(|own| own.eq_ignore_ascii_case(name))
    }
}

/// The betas that either asks for, each once.
fn merge_betas(caller: &HeaderMap, headers: &mut HeaderMap) {
    let mut betas: Vec<&str> = Vec::new();
    for value in headers.get_all(BETAS).iter().chain(caller.get_all(BETAS)) {
        let each = value.to_str().unwrap_or_default().split(',').map(str::trim);
        for beta in each.filter(|beta| !beta.is_empty()) {
            if !betas.contains(&beta) {
                betas.push(beta);
            }
        }
    }
    if let Ok(value) = HeaderValue::from_str(&betas.join(",")) {
        headers.insert(BETAS, value);
    }
}
