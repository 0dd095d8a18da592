//! JSON that is written and shown as it is, and never taken apart in between.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A JSON text. Ten thousand of them are read for one page, where building values would cost most of the time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Details(Box<RawValue>);

impl Details {
    /// The text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// The JSON in `text`, if it is some.
    pub(crate) fn from_text(text: String) -> Option<Self> {
        RawValue::from_string(text).ok().map(Self)
    }
}

impl From<&Value> for Details {
    fn from(value: &Value) -> Self {
        // A value is always JSON.
        Self::from_text(value.to_string()).unwrap_or_else(|| Self(RawValue::NULL.to_owned()))
    }
}

impl PartialEq for Details {
    /// The same value, however it is written: PostgreSQL orders members anew.
    fn eq(&self, other: &Self) -> bool {
        let read = |details: &Self| serde_json::from_str::<Value>(details.as_str()).ok();
        self.as_str() == other.as_str() || read(self) == read(other)
    }
}
