//! The table of all deployments' numbers: blocks of cells that outlive a reload.

use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Slot, Timestamp};

use super::cell::{Cell, millis};
use super::{Stats, Used};

const BLOCK: usize = 64;

#[derive(Debug)]
struct Block([Cell; BLOCK]);

/// Load and speed of every deployment of this process, by slot. Reads and writes are lock-free.
#[derive(Clone, Debug, Default)]
pub struct StatsTable {
    blocks: Vec<Arc<Block>>,
}

/// What a served request tells about speed and use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// From sending to the end of the answer.
    pub total: Duration,
    /// From sending to the first output, for a stream.
    pub first_token: Option<Duration>,
    /// Tokens of the answer, when known: latency is compared per token, as LiteLLM does.
    pub completion_tokens: u64,
    /// Tokens of prompt and answer.
    pub total_tokens: u64,
}

/// A request in flight. Dropping it ends the request without judging it.
#[derive(Debug)]
pub struct Running {
    block: Arc<Block>,
    index: usize,
}

impl StatsTable {
    /// A table with room for `slots` deployments.
    pub fn new(slots: usize) -> Self {
        Self::default().extended(slots)
    }

    /// The same numbers with room for at least `slots` deployments: for a reload.
    #[must_use]
    pub fn extended(&self, slots: usize) -> Self {
        let mut blocks = self.blocks.clone();
        while blocks.len() * BLOCK < slots {
            blocks.push(Arc::new(Block(std::array::from_fn(|_| Cell::default()))));
        }
        Self { blocks }
    }

    /// Counts a request that is about to be sent. `None` when the table has no such slot.
    pub fn begin(&self, slot: Slot, now: Timestamp) -> Option<Running> {
        let (block, index) = self.place(slot)?;
        block.0.get(index)?.begin(now);
        Some(Running { block: Arc::clone(block), index })
    }

    /// Forgets what was learnt of the speed and the failures of `slot`: for its return to rotation.
    pub fn restart(&self, slot: Slot) {
        if let Some(cell) = self.cell(slot) {
            cell.restart();
        }
    }

    #[inline]
    fn place(&self, slot: Slot) -> Option<(&Arc<Block>, usize)> {
        let slot = slot.0 as usize;
        Some((self.blocks.get(slot / BLOCK)?, slot % BLOCK))
    }

    #[inline]
    fn cell(&self, slot: Slot) -> Option<&Cell> {
        let (block, index) = self.place(slot)?;
        block.0.get(index)
    }
}

impl Running {
    /// The first output came, `latency` after sending.
    pub fn first_token(&self, now: Timestamp, latency: Duration) {
        if let Some(cell) = self.cell() {
            cell.saw_first_token(now, latency);
        }
    }

    /// The request was served. A stream's first token is taken from [`Running::first_token`]; an answer in one
    /// piece counts as its own first token.
    #[expect(clippy::cast_precision_loss, reason = "token counts are small")]
    pub fn served(self, now: Timestamp, sample: &Sample) {
        if let Some(cell) = self.cell() {
            if sample.first_token.is_none() {
                cell.saw_first_token(now, sample.total);
            }
            let whole = millis(sample.first_token.unwrap_or(sample.total));
            let per_token = sample.first_token.is_none() && sample.completion_tokens > 0;
            cell.saw_latency(now, if per_token { whole / sample.completion_tokens as f32 } else { whole });
            if sample.total_tokens > 0 {
                cell.used_tokens(now, sample.total_tokens);
            }
        }
    }

    /// The deployment failed the request, `elapsed` after sending.
    pub fn failed(self, now: Timestamp, elapsed: Duration) {
        if let Some(cell) = self.cell() {
            cell.saw_failure(now, elapsed);
        }
    }

    fn cell(&self) -> Option<&Cell> {
        self.block.0.get(self.index)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(cell) = self.cell() {
            cell.end();
        }
    }
}

impl Stats for StatsTable {
    #[inline]
    fn in_flight(&self, slot: Slot) -> u32 {
        self.cell(slot).map_or(0, Cell::in_flight)
    }

    #[inline]
    fn first_token_ms(&self, slot: Slot, now: Timestamp) -> Option<f32> {
        self.cell(slot)?.first_token_ms(now)
    }

    #[inline]
    fn latency_ms(&self, slot: Slot, now: Timestamp) -> Option<f32> {
        self.cell(slot)?.latency_ms(now)
    }

    #[inline]
    fn penalty_ms(&self, slot: Slot, now: Timestamp) -> f32 {
        self.cell(slot).map_or(0.0, |cell| cell.penalty_ms(now))
    }

    #[inline]
    fn used_this_minute(&self, slot: Slot, now: Timestamp) -> Used {
        self.cell(slot).map_or_else(Used::default, |cell| cell.used_this_minute(now))
    }
}
