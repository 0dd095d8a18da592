//! Wire formats of model providers and their clients: the borrowed JSON envelope, forms, SSE, error bodies.
//!
//! Nothing here knows a provider or a deployment. The rule of the crate is that bytes which nobody has to
//! change are never parsed into values and never written anew: an unknown member, a large integer and the
//! spelling of a number reach the other side as they came.

pub mod chat;
mod envelope;
pub mod error_body;
pub mod eventstream;
pub mod form;
mod payload;
pub mod sse;
pub mod wait;

pub use envelope::{Change, Envelope, EnvelopeError, EnvelopeErrorKind, MAX_DEPTH};
pub use form::{Form, FormError};
pub use payload::Payload;
