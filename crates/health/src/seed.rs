//! Deterministic spreading: a hash and a generator whose seeds are arguments.
//!
//! Stagger and jitter need numbers that look random and differ between processes, yet the same seed must
//! replay the same run. Both functions are splitmix64 (public domain), which is enough for spreading.

/// One step of splitmix64.
pub(crate) const fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A hash of `bytes` under `seed`: equal for equal arguments in every process and version.
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    bytes.chunks(8).fold(mix(seed ^ bytes.len() as u64), |state, chunk| {
        let mut word = [0_u8; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(state ^ u64::from_le_bytes(word))
    })
}

/// A generator of spreading factors.
#[derive(Clone, Debug)]
pub(crate) struct Spread(u64);

impl Spread {
    /// The generator that starts at `seed`.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A factor in `1 - share ..= 1 + share`, for `share` in 0 to 1.
    pub(crate) fn factor(&mut self, share: f64) -> f64 {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        1.0 + share * (2.0 * unit - 1.0)
    }
}
