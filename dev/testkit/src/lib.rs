//! The whole gateway in one test: real configuration, real routes, real health, providers and network in memory.
//!
//! A [`World`] is a running gateway whose hosts `u1` to `u9` (port 80) are mock providers of the same names. It opens
//! no socket, reads no file and no environment, and waits only on tokio's clock, so that a test marked
//! `#[tokio::test(start_paused = true)]` runs minutes in milliseconds and the same way every time.
//!
//! ```text
//! let world = World::start(Yaml::b2().set("router_settings.allowed_fails", 0)).await;
//! world.mock.script("u1", Behaviour::status(500));
//! assert_eq!(world.chat("g").await.status, 500);
//! world.until("d1 is out", || world.state("d1") == "ISOLATED").await;
//! ```
#![expect(clippy::expect_used, clippy::panic, reason = "a harness fails the test that uses it by panicking")]

mod answer;
mod logs;
mod source;
mod world;
mod yaml;

pub use answer::Answer;
pub use haleway_mockllm::{Behaviour, Counts, Kept, Mock, Script, net::MemNet};
pub use logs::{Line, Logs};
pub use source::Memory;
pub use world::{Setup, World};
pub use yaml::Yaml;
