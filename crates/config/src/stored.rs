//! Models that are stored elsewhere than in the file, as entries of its `model_list`: written out as a text of their own,
//! so that findings point into it as they point into a file, and read by the same code as any other entry.

use std::fmt::Write as _;

use serde_json::{Map as JsonMap, Value as Json};

use crate::diag::{FileId, Report};
use crate::yaml::{Entry, Kind, Map, Node, Scalar, Span, Value};

/// A stored model with its secrets in the open.
#[derive(Clone, PartialEq)]
pub struct StoredModel {
    /// Its id, which no other stored model has.
    pub id: String,
    /// `model_name`.
    pub name: String,
    /// `litellm_params`.
    pub params: JsonMap<String, Json>,
    /// `model_info`.
    pub info: JsonMap<String, Json>,
}

impl std::fmt::Debug for StoredModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never the parameters: they hold secrets.
        f.debug_struct("StoredModel").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

impl StoredModel {
    /// What findings about it name as their file.
    pub fn place(&self) -> String {
        format!("stored model {}", self.id)
    }

    /// The entry of `model_list` that it stands for.
    pub(crate) fn node(&self, report: &Report) -> Node {
        let node = report.stored(self.place().as_ref(), |file| {
            let mut writer = Writer { file, text: String::new(), depth: 0 };
            let node = writer.map(&[
                ("model_name".to_owned(), &Json::from(self.name.as_str())),
                ("litellm_params".to_owned(), &Json::Object(self.params.clone())),
                ("model_info".to_owned(), &Json::Object(self.info_with_id())),
            ]);
            (writer.text, node)
        });
        report.hide_secrets(&node);
        node
    }

    /// `model_info`, whose id is the row's whatever else stands in it.
    fn info_with_id(&self) -> JsonMap<String, Json> {
        let mut info = self.info.clone();
        info.insert("id".to_owned(), self.id.as_str().into());
        info
    }
}

/// Writes JSON, one value per line, and notes where each part stands.
struct Writer {
    file: FileId,
    text: String,
    depth: usize,
}

impl Writer {
    fn node(&mut self, json: &Json) -> Node {
        match json {
            Json::Object(map) => {
                let entries: Vec<_> = map.iter().map(|(name, value)| (name.clone(), value)).collect();
                self.map(&entries)
            }
            Json::Array(items) => {
                let start = self.text.len();
                self.text.push('[');
                let mut nodes = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    self.text.push_str(if at == 0 { "" } else { ", " });
                    nodes.push(self.node(item));
                }
                self.text.push(']');
                Node { span: self.span(start), kind: Kind::Seq(nodes) }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => self.scalar(json),
        }
    }

    fn map(&mut self, members: &[(String, &Json)]) -> Node {
        let start = self.text.len();
        self.text.push('{');
        self.depth += 1;
        let mut entries = Vec::with_capacity(members.len());
        for (at, (name, value)) in members.iter().enumerate() {
            self.text.push_str(if at == 0 { "" } else { "," });
            self.line();
            let start = self.text.len();
            self.json(&Json::from(name.as_str()));
            let key = self.span(start);
            self.text.push_str(": ");
            entries.push(Entry { key, name: name.clone(), value: self.node(value) });
        }
        self.depth -= 1;
        self.line();
        self.text.push('}');
        Node { span: self.span(start), kind: Kind::Map(Map { entries }) }
    }

    fn scalar(&mut self, json: &Json) -> Node {
        let start = self.text.len();
        self.json(json);
        let text = json.as_str().map_or_else(|| json.to_string(), str::to_owned);
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(*flag),
            Json::Number(number) => number
                .as_i128()
                .map(Value::Int)
                .or_else(|| number.as_f64().map(Value::Float))
                .unwrap_or(Value::Str),
            Json::String(_) | Json::Array(_) | Json::Object(_) => Value::Str,
        };
        Node { span: self.span(start), kind: Kind::Scalar(Scalar { text, value, variable: None }) }
    }

    fn json(&mut self, json: &Json) {
        // Writing to a string cannot fail.
        let _infallible = write!(self.text, "{json}");
    }

    fn line(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("  ", self.depth));
    }

    fn span(&self, start: usize) -> Span {
        Span { file: self.file, start, end: self.text.len() }
    }
}

/// Puts the stored models behind those of the file.
pub(crate) fn append(root: &mut Map, models: Vec<Node>) {
    if models.is_empty() {
        return;
    }
    match root.get_mut("model_list").map(|entry| &mut entry.value) {
        Some(Node { kind: Kind::Seq(items), .. }) => items.extend(models),
        Some(value) if value.is_null() => value.kind = Kind::Seq(models),
        // No list: that is an error of the file.
        Some(_) => {}
        None => {
            let Some(span) = models.first().map(|model| model.span) else { return };
            let value = Node { span, kind: Kind::Seq(models) };
            root.entries.push(Entry { key: span, name: "model_list".to_owned(), value });
        }
    }
}
