//! Model providers that do what they are told: for tests, for the demo and for load.
//!
//! A [`Mock`] is a set of named deployments. Each runs a [`Script`]: what to answer, how slowly, and how to fail, now,
//! in sequence or by the clock. A call finds its deployment by API key, else by model name, else by the port it came
//! to. Every deployment has a cost meter ([`Counts`], [`Kept`]): the question "how often was this provider really
//! called, and with what?" is answered here, at the only place that cannot be wrong about it.
//!
//! The same mock serves real sockets ([`Mock::listen`]) and a network in memory ([`net::MemNet`]); all waiting is
//! `tokio::time`, so that tests run on the paused clock. While it runs it is steered over HTTP:
//!
//! | call | effect |
//! |---|---|
//! | `GET /__meter`, `GET /__meter/{name}` | counts of all deployments, of one |
//! | `DELETE /__meter` | all counts and kept requests start anew |
//! | `GET /__kept/{name}` | the last requests, whole |
//! | `POST /__script/{name}` | a [`Script`], or a single [`Behaviour`], as JSON: from now on |
//! | `GET /__script/{name}` | the script that runs |
//! | `POST /__port` `{"script": name, "port": 0}` | opens a port (0: any); answers `{"port": n}` |
//! | `DELETE /__port/{n}` | closes it: connections are refused, open ones are dropped |

mod answer;
mod anthropic;
mod body;
mod connection;
mod control;
mod error_body;
mod form;
mod live;
mod media;
mod meter;
mod mock;
pub mod net;
mod objects;
mod openai;
mod realtime;
mod request;
mod script;

#[cfg(test)]
mod tests;

pub use meter::{Counts, Kept};
pub use mock::{Mock, Port};
pub use script::{Act, Behaviour, Phase, Plan, Script};
