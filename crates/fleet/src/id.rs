//! Names of pods, and the numbers by which a fleet agrees without talking.

use std::fmt;
use std::sync::Arc;

/// The name of one process of the fleet, unique among all that share a store. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodId(Arc<str>);

impl PodId {
    /// A pod of this name.
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which of `count` equal shares of all deployments one belongs to: the same in every process. For processes that
/// share no store.
pub fn share_of(deployment: &str, count: u32) -> u32 {
    (hash(deployment, 0) % u64::from(count.max(1))) as u32
}

/// One step of splitmix64 (public domain).
pub(crate) const fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of `text` under `seed`. Equal for equal arguments in every pod and version: pods that run different
/// versions side by side must agree on who goes first.
pub(crate) fn hash(text: &str, seed: u64) -> u64 {
    text.bytes().fold(mix(seed ^ text.len() as u64), |state, byte| mix(state ^ u64::from(byte)))
}
