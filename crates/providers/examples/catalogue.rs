//! Reads a catalogue (`FILE`: a table or LiteLLM's price map) and writes its packed form to standard output, for
//! `src/catalogue/builtin.bin`. Without `FILE` it prints the built-in one as a table.

use std::io::Write;

use haleway_providers::catalogue::Catalogue;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    match std::env::args_os().nth(1) {
        Some(path) => out.write_all(Catalogue::read(&std::fs::read(path)?)?.packed())?,
        None => out.write_all(Catalogue::builtin().to_table().as_bytes())?,
    }
    Ok(())
}
