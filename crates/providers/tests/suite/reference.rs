//! The reference page is the registry.

use std::path::Path;

#[test]
fn the_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers.md");
    let page = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        page == haleway_providers::reference(),
        "docs/providers.md is not current: run `cargo xtask gen`"
    );
}
