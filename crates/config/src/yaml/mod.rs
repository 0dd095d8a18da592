//! YAML as a tree of located nodes, with PyYAML's answers.
//!
//! LiteLLM reads its file with PyYAML's `safe_load`, which is YAML 1.1: `yes` is true, `010` is eight, `1:30` is
//! ninety and `1e3` is a string. A drop-in needs these answers and not YAML 1.2's. What PyYAML refuses is an
//! error here too, with a place; what it accepts silently and people do not mean (a key given twice) is a
//! warning.

mod build;
mod merge;
mod parse;
pub(crate) mod scalar;
#[cfg(test)]
mod tests;

pub(crate) use parse::{decode, parse};
pub(crate) use scalar::Value;

use crate::diag::FileId;

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    pub(crate) file: FileId,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// One node of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Scalar(Scalar),
    Seq(Vec<Node>),
    Map(Map),
}

/// A scalar: what PyYAML makes of it, and the text it made it from.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) value: Value,
    /// The environment variable whose value this is; messages name it and never show the value.
    pub(crate) variable: Option<String>,
}

/// A mapping, merged and without duplicates, in order of the first appearance of each key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pub(crate) entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Span,
    /// The key's text; keys that are no strings keep their spelling.
    pub(crate) name: String,
    pub(crate) value: Node,
}

impl Map {
    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.name == name)
    }
}

impl Node {
    pub(crate) fn as_map(&self) -> Option<&Map> {
        match &self.kind {
            Kind::Map(map) => Some(map),
            Kind::Scalar(_) | Kind::Seq(_) => None,
        }
    }

    pub(crate) fn as_seq(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Seq(items) => Some(items),
            Kind::Scalar(_) | Kind::Map(_) => None,
        }
    }

    pub(crate) fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            Kind::Seq(_) | Kind::Map(_) => None,
        }
    }

    /// The text of a scalar that is a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        self.as_scalar().filter(|scalar| scalar.value == Value::Str).map(|scalar| scalar.text.as_str())
    }

    pub(crate) fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.value == Value::Null)
    }

    /// What the node is, for a message: "a string", "a list".
    pub(crate) fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Seq(_) => "a list",
            Kind::Map(_) => "a mapping",
            Kind::Scalar(scalar) => scalar.value.describe(),
        }
    }

    /// The node as JSON. Numbers keep their value; dates are text; what JSON cannot say (`.inf`) is text too.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.kind {
            Kind::Seq(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Kind::Map(map) => Json::Object(map.to_json()),
            Kind::Scalar(scalar) => match scalar.value {
                Value::Null => Json::Null,
                Value::Bool(flag) => Json::Bool(flag),
                Value::Int(number) => u64::try_from(number)
                    .map(Json::from)
                    .or_else(|_| i64::try_from(number).map(Json::from))
                    .unwrap_or_else(|_| Json::String(scalar.text.clone())),
                Value::Float(number) => serde_json::Number::from_f64(number)
                    .map_or_else(|| Json::String(scalar.text.clone()), Json::Number),
                Value::Str | Value::Date => Json::String(scalar.text.clone()),
            },
        }
    }
}

impl Map {
    pub(crate) fn to_json(&self) -> serde_json::Map<String, serde_json::Value> {
        self.entries.iter().map(|entry| (entry.name.clone(), entry.value.to_json())).collect()
    }
}
