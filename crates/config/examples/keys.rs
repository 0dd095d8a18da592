//! Prints `docs/litellm-keys.md`, for `cargo xtask gen`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().lock().write_all(haleway_config::litellm_keys().as_bytes())
}
