//! Anthropic's content blocks, as they are written. Text is carried as the JSON string it came as.

use serde::Serialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One turn.
#[derive(Debug, Serialize)]
pub(super) struct Turn<'a> {
    pub(super) role: &'static str,
    pub(super) content: Vec<Block<'a>>,
}

/// One block.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Block<'a> {
    /// A block that Anthropic itself made and gets back unchanged.
    Raw(&'a RawValue),
    /// A block of ours.
    Made(Made<'a>),
}

/// A block of ours.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Made<'a> {
    Text {
        text: &'a RawValue,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'a RawValue>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'a RawValue>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'a RawValue>,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Box<RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'a RawValue>,
    },
}

/// Where a picture or document is.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: Cow<'a, str>, data: Cow<'a, str> },
    Url { url: Cow<'a, str> },
    File { file_id: Cow<'a, str> },
}

impl<'a> Block<'a> {
    /// Text without marks.
    pub(super) const fn text(text: &'a RawValue) -> Self {
        Self::Made(Made::Text { text, cache_control: None })
    }

    /// Whether this block answers a tool call.
    pub(super) const fn is_result(&self) -> bool {
        matches!(self, Self::Made(Made::ToolResult { .. }))
    }
}
