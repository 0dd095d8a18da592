//! A chat request in the making: what the bridges from other clients' wires write.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

/// One message.
#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    pub(super) role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) thinking_blocks: Vec<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<ToolCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_call_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cache_control: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// A message that says nothing yet.
    pub(super) const fn of(role: &'static str) -> Self {
        Self {
            role,
            content: None,
            reasoning_content: None,
            thinking_blocks: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            cache_control: None,
        }
    }

    /// A message with this content.
    pub(super) fn saying(role: &'static str, content: Content<'a>) -> Self {
        Self { content: Some(content), ..Self::of(role) }
    }

    /// A tool's result.
    pub(super) fn result(id: Cow<'a, str>, content: Content<'a>) -> Self {
        Self { tool_call_id: Some(id), ..Self::saying("tool", content) }
    }
}

/// What a message says.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    /// A JSON string as it came.
    Raw(&'a RawValue),
    /// Text.
    Text(Cow<'a, str>),
    /// Parts.
    Parts(Vec<Part<'a>>),
}

impl<'a> Content<'a> {
    /// Parts, made one text where they are nothing but text and bear no mark: many servers take no parts. `None` when
    /// there is nothing in them.
    pub(super) fn of_parts(mut parts: Vec<Part<'a>>, joint: &str) -> Option<Self> {
        if let [Part::Text { text, cache_control: None }] = parts.as_mut_slice() {
            return Some(Self::Text(std::mem::take(text)));
        }
        let plain = parts.iter().all(|part| matches!(part, Part::Text { cache_control: None, .. }));
        if !plain {
            return Some(Self::Parts(parts));
        }
        let texts: Vec<&str> = parts.iter().filter_map(Part::text).collect();
        (!texts.is_empty()).then(|| Self::Text(Cow::Owned(texts.join(joint))))
    }
}

/// One part.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Part<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'a RawValue>,
    },
    ImageUrl {
        image_url: ImageUrl<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'a RawValue>,
    },
    File {
        file: File<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<&'a RawValue>,
    },
    InputAudio {
        input_audio: &'a RawValue,
    },
}

impl<'a> Part<'a> {
    /// Text without a mark.
    pub(super) const fn plain(text: Cow<'a, str>) -> Self {
        Self::Text { text, cache_control: None }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text, .. } => Some(text),
            Self::ImageUrl { .. } | Self::File { .. } | Self::InputAudio { .. } => None,
        }
    }
}

/// Where a picture is.
#[derive(Debug, Serialize)]
pub(super) struct ImageUrl<'a> {
    pub(super) url: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<&'a RawValue>,
}

/// A file, by its bytes or by its id.
#[derive(Debug, Default, Serialize)]
pub(super) struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_data: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_id: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) filename: Option<Cow<'a, str>>,
}

/// A tool that the assistant called.
#[derive(Debug, Serialize)]
pub(super) struct ToolCall<'a> {
    pub(super) id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Debug, Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    arguments: Cow<'a, str>,
}

impl<'a> ToolCall<'a> {
    /// A call of the function `name`; `arguments` is the text of a JSON object.
    pub(super) const fn new(id: Cow<'a, str>, name: Cow<'a, str>, arguments: Cow<'a, str>) -> Self {
        Self { id, kind: "function", function: Called { name, arguments } }
    }
}

/// A function that may be called.
#[derive(Debug, Serialize)]
pub(super) struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<&'a RawValue>,
}

/// Its description.
#[derive(Debug, Serialize)]
pub(super) struct Function<'a> {
    pub(super) name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parameters: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strict: Option<bool>,
}

impl<'a> Tool<'a> {
    /// A function tool.
    pub(super) const fn new(function: Function<'a>, cache_control: Option<&'a RawValue>) -> Self {
        Self { kind: "function", function, cache_control }
    }
}

/// The choice among tools.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Choice<'a> {
    /// `auto`, `none` or `required`.
    Word(&'static str),
    /// One function.
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Name<'a>,
    },
}

/// A function's name.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Name<'a> {
    name: Cow<'a, str>,
}

impl<'a> Choice<'a> {
    /// The function `name`.
    pub(super) const fn named(name: Cow<'a, str>) -> Self {
        Self::Named { kind: "function", function: Name { name } }
    }
}
