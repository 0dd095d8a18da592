//! The demo's configuration: a LiteLLM file as anyone would write it, in a temporary folder.

use std::io;
use std::path::{Path, PathBuf};

use super::MASTER_KEY;
use super::providers::Providers;

/// A file that goes away with its owner.
pub(super) struct ConfigFile(PathBuf);

impl ConfigFile {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ConfigFile {
    fn drop(&mut self) {
        // Nobody is left to be told when a temporary file stays behind.
        drop(std::fs::remove_file(&self.0));
    }
}

/// Writes the file.
pub(super) fn write(providers: &Providers) -> io::Result<ConfigFile> {
    let path = std::env::temp_dir().join(format!("haleway-demo-{}.yaml", std::process::id()));
    std::fs::write(&path, text(providers))?;
    Ok(ConfigFile(path))
}

fn text(providers: &Providers) -> String {
    let mut text = String::from("model_list:\n");
    for (simulated, address) in providers.addresses() {
        text += &format!(
            "  - model_name: {group}\n    litellm_params: {{model: openai/{model}, api_base: \"http://{address}/v1\", api_key: sk-{id}, timeout: 5}}\n    model_info: {{id: {id}, mode: {mode}}}\n",
            group = simulated.group,
            model = if simulated.mode == "embedding" { "text-embedding-demo" } else { "gpt-demo" },
            id = simulated.id,
            mode = simulated.mode,
        );
    }
    text + &format!(
        "\
router_settings:
  num_retries: 2
general_settings:
  master_key: {MASTER_KEY}
  background_health_checks: true
  health_check_interval: 5
haleway:
  profile: resilient
  health:
    interval: 5s
    suspect_interval: 1s
    timeout: 3s
    isolation: {{base: 5s, max: 30s}}
    ramp: {{length: 10s}}
"
    )
}
