//! The scripts, ready to be called.

use redis::Script;

const CLOCK: &str = include_str!("scripts/clock.lua");
pub(super) const CLAIM: &str = include_str!("scripts/claim.lua");
pub(super) const COMMIT: &str = include_str!("scripts/commit.lua");

/// All scripts. Each is sent by its hash, and in full when the store does not know it yet.
pub(super) struct Scripts {
    pub(super) claim: Script,
    pub(super) commit: Script,
    pub(super) publish: Script,
    pub(super) beat: Script,
    pub(super) release: Script,
    pub(super) spend: Script,
}

impl Scripts {
    pub(super) fn new() -> Self {
        let timed = |body: &str| Script::new(&format!("{CLOCK}{body}"));
        Self {
            claim: timed(CLAIM),
            commit: timed(COMMIT),
            publish: timed(include_str!("scripts/publish.lua")),
            beat: timed(include_str!("scripts/beat.lua")),
            spend: timed(include_str!("scripts/spend.lua")),
            release: Script::new(include_str!("scripts/release.lua")),
        }
    }
}
