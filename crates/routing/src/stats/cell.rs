//! The numbers of one deployment, each in one atomic word so that readers never see half of a change.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use haleway_health::Timestamp;

use super::Used;

/// Time in which the weight of an old first token falls to 1/e. LLM traffic is sparse: 10 s, the usual value for
/// RPC, would forget between two requests.
const EWMA_TAU_MS: f32 = 30_000.0;
/// Latency samples that the running mean remembers (LiteLLM's `max_latency_list_size`).
const LATENCY_SAMPLES: u64 = 10;
/// A mean without a sample for this long is forgotten (LiteLLM's `ttl`).
const LATENCY_TTL_S: u64 = 3600;
/// What one failure adds at least, in milliseconds.
const PENALTY_MIN_MS: f32 = 5_000.0;
/// What failures add at most, in milliseconds.
const PENALTY_MAX_MS: f32 = 60_000.0;
/// Time in which a penalty halves, in milliseconds.
const PENALTY_HALF_MS: f32 = 10_000.0;

/// Numbers of one deployment. 64 bytes: one cache line.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Cell {
    in_flight: AtomicU32,
    /// Milliseconds (f32) and when (u32, wrapping milliseconds).
    first_token: AtomicU64,
    /// Milliseconds (f32), samples (8 bits), when (24 bits, seconds).
    latency: AtomicU64,
    /// Milliseconds (f32) and when (u32, wrapping milliseconds).
    penalty: AtomicU64,
    /// Minute (u32) and requests in it (u32).
    requests: AtomicU64,
    /// Minute (20 bits) and tokens in it (44 bits).
    tokens: AtomicU64,
}

const TOKEN_BITS: u32 = 44;

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is meant: times wrap, and ages tell"
)]
const fn low(word: u64) -> u32 {
    word as u32
}

const fn pack(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

const fn high(word: u64) -> u32 {
    low(word >> 32)
}

const fn stamp(now: Timestamp) -> u32 {
    low(now.as_millis())
}

/// Milliseconds since `then`; 0 when another thread's `now` was a little later.
#[expect(clippy::cast_precision_loss, reason = "ages feed a decay")]
const fn age(now: Timestamp, then: u32) -> f32 {
    let age = stamp(now).wrapping_sub(then);
    if age > u32::MAX / 2 { 0.0 } else { age as f32 }
}

#[expect(clippy::cast_possible_truncation, reason = "latencies fit")]
pub(super) fn millis(span: Duration) -> f32 {
    (span.as_secs_f64() * 1_000.0) as f32
}

const fn minute(now: Timestamp) -> u64 {
    now.as_millis() / 60_000
}

/// Replaces the word by `next` of it; a writer that comes between is seen and taken into account.
fn update(word: &AtomicU64, next: impl Fn(u64) -> u64) {
    let mut seen = word.load(Relaxed);
    while let Err(other) = word.compare_exchange_weak(seen, next(seen), Relaxed, Relaxed) {
        seen = other;
    }
}

impl Cell {
    pub(super) fn begin(&self, now: Timestamp) {
        self.in_flight.fetch_add(1, Relaxed);
        update(&self.requests, |word| {
            let this = low(minute(now));
            let before = if high(word) == this { low(word) } else { 0 };
            pack(this, before.saturating_add(1))
        });
    }

    pub(super) fn end(&self) {
        self.in_flight.fetch_sub(1, Relaxed);
    }

    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight.load(Relaxed)
    }

    /// Takes a higher value at once and comes down slowly: peak-sensitive.
    pub(super) fn saw_first_token(&self, now: Timestamp, latency: Duration) {
        let sample = millis(latency);
        update(&self.first_token, |word| {
            let decay = (-age(now, low(word)) / EWMA_TAU_MS).exp();
            let before = f32::from_bits(high(word));
            let smoothed = sample + (before - sample) * decay;
            pack(if word == 0 || sample > before { sample } else { smoothed }.to_bits(), stamp(now))
        });
    }

    #[inline]
    pub(super) fn first_token_ms(&self, now: Timestamp) -> Option<f32> {
        let word = self.first_token.load(Relaxed);
        (word != 0).then(|| f32::from_bits(high(word)) * (-age(now, low(word)) / EWMA_TAU_MS).exp())
    }

    #[expect(clippy::cast_precision_loss, reason = "at most 10")]
    pub(super) fn saw_latency(&self, now: Timestamp, sample: f32) {
        let seconds = (now.as_millis() / 1_000) & 0xff_ffff;
        update(&self.latency, |word| {
            let count = ((word >> 24) & 0xff).min(LATENCY_SAMPLES - 1) + 1;
            let before = f32::from_bits(high(word));
            let mean = before + (sample - before) / count as f32;
            pack(mean.to_bits(), 0) | count << 24 | seconds
        });
    }

    #[inline]
    pub(super) fn latency_ms(&self, now: Timestamp) -> Option<f32> {
        let word = self.latency.load(Relaxed);
        let age = (now.as_millis() / 1_000).wrapping_sub(word & 0xff_ffff) & 0xff_ffff;
        (word != 0 && age < LATENCY_TTL_S).then(|| f32::from_bits(high(word)))
    }

    /// Adds to the penalty: at least [`PENALTY_MIN_MS`], at least the time that was lost, at least what the
    /// deployment's successes take.
    pub(super) fn saw_failure(&self, now: Timestamp, elapsed: Duration) {
        let usual = self.first_token_ms(now).unwrap_or(0.0).max(self.latency_ms(now).unwrap_or(0.0));
        let added = millis(elapsed).max(usual).max(PENALTY_MIN_MS);
        update(&self.penalty, |word| {
            pack((decayed(word, now) + added).min(PENALTY_MAX_MS).to_bits(), stamp(now))
        });
    }

    #[inline]
    pub(super) fn penalty_ms(&self, now: Timestamp) -> f32 {
        decayed(self.penalty.load(Relaxed), now)
    }

    pub(super) fn used_tokens(&self, now: Timestamp, tokens: u64) {
        let mask = (1_u64 << TOKEN_BITS) - 1;
        let this = minute(now) << TOKEN_BITS;
        update(&self.tokens, |word| {
            let before = if word & !mask == this { word & mask } else { 0 };
            this | before.saturating_add(tokens).min(mask)
        });
    }

    #[inline]
    pub(super) fn used_this_minute(&self, now: Timestamp) -> Used {
        let mask = (1_u64 << TOKEN_BITS) - 1;
        let (requests, tokens) = (self.requests.load(Relaxed), self.tokens.load(Relaxed));
        let this = minute(now);
        Used {
            requests: if high(requests) == low(this) { low(requests) } else { 0 },
            tokens: if tokens & !mask == this << TOKEN_BITS { tokens & mask } else { 0 },
        }
    }

    /// Forgets what was learnt of speed and failures; load and usage stay true.
    pub(super) fn restart(&self) {
        for word in [&self.first_token, &self.latency, &self.penalty] {
            word.store(0, Relaxed);
        }
    }
}

#[inline]
fn decayed(word: u64, now: Timestamp) -> f32 {
    if word == 0 { 0.0 } else { f32::from_bits(high(word)) * (-age(now, low(word)) / PENALTY_HALF_MS).exp2() }
}
