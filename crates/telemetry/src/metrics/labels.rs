//! Labels of the metric families. Values come from the configuration or from enums, never from a caller, so the
//! number of series is bounded by the configuration.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};

/// A label value from the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Text(pub(super) Arc<str>);

impl EncodeLabelValue for Text {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), fmt::Error> {
        self.0.as_ref().encode(encoder)
    }
}

impl Text {
    pub(super) fn new(text: &Arc<str>) -> Self {
        Self(Arc::clone(text))
    }
}

/// `deployment`, `model_group`, `mode`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Stated {
    pub(super) deployment: Text,
    pub(super) model_group: Text,
    pub(super) mode: Text,
}

/// What may change without the deployment becoming another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Info {
    pub(super) deployment: Text,
    pub(super) model_group: Text,
    pub(super) mode: Text,
    pub(super) model: Text,
    pub(super) provider: Text,
    pub(super) api_base: Text,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Transition {
    pub(super) deployment: Text,
    pub(super) to: &'static str,
    pub(super) cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Probe {
    pub(super) deployment: Text,
    pub(super) verdict: &'static str,
}

/// What a request of a probe was for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Rung {
    pub(super) deployment: Text,
    pub(super) rung: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct AttemptClass {
    pub(super) deployment: Text,
    pub(super) class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Group {
    pub(super) model_group: Text,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Request {
    pub(super) model_group: Text,
    pub(super) status_class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Provider {
    pub(super) provider: &'static str,
}

/// LiteLLM's labels of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Litellm {
    pub(super) litellm_model_name: Text,
    pub(super) model_id: Text,
    pub(super) api_base: Text,
    pub(super) api_provider: Text,
}

/// LiteLLM's labels of a deployment's failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct LitellmStatus {
    pub(super) litellm_model_name: Text,
    pub(super) model_id: Text,
    pub(super) api_base: Text,
    pub(super) api_provider: Text,
    pub(super) exception_status: u16,
}

impl Litellm {
    pub(super) fn with_status(&self, exception_status: u16) -> LitellmStatus {
        let Self { litellm_model_name, model_id, api_base, api_provider } = self.clone();
        LitellmStatus { litellm_model_name, model_id, api_base, api_provider, exception_status }
    }
}
