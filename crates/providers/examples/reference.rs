//! Prints `docs/providers.md`, for `cargo xtask gen`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(haleway_providers::reference().as_bytes())
}
