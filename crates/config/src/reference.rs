//! The page about LiteLLM's keys (`docs/litellm-keys.md`), printed from the table that the checks read.

use std::fmt::Write;

use crate::keys::{Section, Support};

const HEAD: &str = "# LiteLLM's configuration keys

Generated from the key table (`cargo xtask gen`). A key is **supported**, or **accepted without effect** (a warning says why), or
unknown (a warning, with the nearest known name). `haleway config check FILE` sorts the keys of a file into these lists. What
stands in `litellm_params` and is not listed is sent to the provider; what stands in `model_info` and is not listed is shown by
`/v1/model/info`. The `haleway` section is described in [configuration.md](configuration.md).
";

/// The page.
pub fn litellm_keys() -> String {
    let mut page = HEAD.to_owned();
    for section in Section::ALL {
        let name = section.name();
        let mut supported: Vec<&str> =
            section.keys().filter(|key| key.support == Support::Works).map(|key| key.name).collect();
        supported.sort_unstable();
        let quoted: Vec<String> = supported.iter().map(|key| format!("`{key}`")).collect();
        line(&mut page, format_args!("\n## {name}\n\nSupported: {}.", quoted.join(", ")));
        let mut inert: Vec<(&str, &str)> = section
            .keys()
            .filter_map(|key| match key.support {
                Support::Works => None,
                Support::Inert(why) => Some((key.name, why)),
            })
            .collect();
        if inert.is_empty() {
            continue;
        }
        inert.sort_unstable();
        line(&mut page, format_args!("\n| accepted without effect | because |\n|---|---|"));
        for (key, why) in inert {
            line(&mut page, format_args!("| `{key}` | {why} |"));
        }
    }
    page
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    if page.write_fmt(text).is_ok() {
        page.push('\n');
    }
}
