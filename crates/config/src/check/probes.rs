//! Settings about the body of a probe that do not change it.
//!
//! Not a table of modes and keys: the probe is built with the setting and with another value, as the prober builds
//! it, and where the two are one and the same the setting has no effect.

use haleway_health::ProbeDepth;
use haleway_providers::{Mode, ProbeMemory, ProbeSettings, Target};

use super::Facts;
use crate::diag::{Finding, codes};
use crate::lower::model::Parts;
use crate::typed::Model;

/// Another value under a key.
type Change = fn(&mut ProbeSettings);

const KEYS: &[(&str, Change)] = &[
    ("health_check_max_tokens", |set| set.max_tokens = set.max_tokens.map(|cap| cap.saturating_add(1))),
    ("health_check_max_tokens_reasoning", |set| {
        set.max_tokens_reasoning = set.max_tokens_reasoning.map(|cap| cap.saturating_add(1));
    }),
    ("health_check_max_tokens_non_reasoning", |set| {
        set.max_tokens_non_reasoning = set.max_tokens_non_reasoning.map(|cap| cap.saturating_add(1));
    }),
    ("health_check_supports_max_tokens", |set| {
        set.supports_max_tokens = set.supports_max_tokens.map(|is| !is)
    }),
    ("health_check_reasoning_effort", |set| set.reasoning_effort = other(set.reasoning_effort.take())),
    ("health_check_voice", |set| set.voice = other(set.voice.take())),
    ("health_check_model", |set| set.model = other(set.model.take())),
    ("health_check_params", |set| set.params.clear()),
];

fn other(text: Option<String>) -> Option<String> {
    text.map(|text| format!("{text}-"))
}

/// Checks one deployment whose calls are decided.
pub(super) fn check(facts: &Facts<'_>, model: &Model, parts: &Parts<'_>, target: &Target) {
    if model.probe_params.depth == ProbeDepth::Free {
        return;
    }
    let settings = &model.info.probe;
    let memory = ProbeMemory::default();
    if let Err(cannot) = target.probe(target.mode, settings, &memory, 0) {
        // A mode that is none has been said.
        let known = model.info.mode.as_deref().is_none_or(|mode| Mode::from_name(mode).is_some());
        if model.probe.is_some() && known {
            let field = parts.info.and_then(|info| info.get("mode")).unwrap_or(parts.model);
            let message = format!("this deployment cannot be probed: {}", cannot.message);
            let hint = "its health is what its traffic shows; set model_info.disable_background_health_check: true to \
                        accept that";
            facts.report.add(Finding::warning(codes::CANNOT_PROBE, field.span(), message).hint(hint));
        }
        return;
    }
    let Some(info) = parts.info else { return };
    for (name, change) in KEYS {
        let Some(entry) = info.map.get(name).filter(|entry| !entry.value.is_null()) else { continue };
        let mut changed = settings.clone();
        change(&mut changed);
        // What is learnt of a model may make a setting count that does not count yet.
        let learnt = ProbeMemory { reasons: true, ..ProbeMemory::default() };
        let same = [&memory, &learnt]
            .into_iter()
            .all(|memory| sent(target, settings, memory) == sent(target, &changed, memory));
        if changed != *settings && same {
            let message = format!("{name} does not change the probe of a deployment of mode {}", target.mode);
            let hint = "this mode has no use for it, or another key outranks it";
            facts.report.add(Finding::warning(codes::PROBE_OFF, entry.key, message).hint(hint));
        }
    }
}

/// What goes over the wire.
fn sent(target: &Target, settings: &ProbeSettings, memory: &ProbeMemory) -> Option<(String, Vec<u8>)> {
    let probe = target.probe(target.mode, settings, memory, 0).ok()?;
    Some((probe.call.uri.to_string(), probe.call.body.to_bytes().to_vec()))
}
