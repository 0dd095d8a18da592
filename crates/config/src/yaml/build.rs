//! From events to a tree: tags, aliases within a budget, merge keys, duplicate keys.

use std::collections::HashMap;

use granit_parser::{Event, ScalarStyle, Tag};

use super::merge::{self, RawEntry};
use super::scalar::{self, Value};
use super::{Kind, Node, Scalar, Span};
use crate::diag::{FileId, Report, codes};

/// Nodes that aliases may add, all together.
const ALIAS_BUDGET: usize = 100_000;
/// Levels of nesting, aliases included.
const MAX_DEPTH: usize = 300;

/// Why no tree comes of it.
pub(crate) struct Problem {
    pub(crate) span: Span,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// A collection whose end has not been seen.
struct Open {
    span: Span,
    anchor: usize,
    content: Content,
}

enum Content {
    Seq(Vec<Node>),
    Map { entries: Vec<RawEntry>, key: Option<Node> },
}

/// What an alias stands for.
struct Anchored {
    node: Node,
    size: usize,
    height: usize,
}

/// Builds one tree.
pub(crate) struct Builder<'r> {
    report: &'r Report,
    file: FileId,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    added: usize,
    root: Option<Node>,
}

impl<'r> Builder<'r> {
    pub(crate) fn new(file: FileId, report: &'r Report) -> Self {
        Self { report, file, open: Vec::new(), anchors: HashMap::new(), added: 0, root: None }
    }

    pub(crate) fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let node = scalar_node(text.into_owned(), style, tag.as_deref(), span)?;
                self.remember(anchor, &node);
                self.place(node)
            }
            Event::SequenceStart(_, anchor, tag) => {
                collection_tag(tag.as_deref(), "seq", span)?;
                self.open.push(Open { span, anchor, content: Content::Seq(Vec::new()) });
                Ok(())
            }
            Event::MappingStart(_, anchor, tag) => {
                collection_tag(tag.as_deref(), "map", span)?;
                self.open.push(Open {
                    span,
                    anchor,
                    content: Content::Map { entries: Vec::new(), key: None },
                });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(..)
            | Event::DocumentEnd
            | Event::Anchor(..)
            | Event::UnresolvedAlias(_)
            | Event::Comment(..) => Ok(()),
            // The enum may grow: what is no node, alias or end adds nothing to the tree.
            _ => Ok(()),
        }
    }

    /// The tree; an empty document is null.
    pub(crate) fn finish(self) -> Node {
        let nothing = Scalar { text: String::new(), value: Value::Null, variable: None };
        let span = Span { file: self.file, start: 0, end: 0 };
        self.root.unwrap_or(Node { span, kind: Kind::Scalar(nothing) })
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Problem> {
        let Some(target) = self.anchors.get(&anchor) else {
            let message = "an alias inside the node it stands for".to_owned();
            return Err(Problem { span, code: codes::YAML_SYNTAX, message });
        };
        self.added = self.added.saturating_add(target.size);
        if self.added > ALIAS_BUDGET || self.open.len() + target.height > MAX_DEPTH {
            let message = format!("aliases grow the file beyond {ALIAS_BUDGET} nodes or {MAX_DEPTH} levels");
            return Err(Problem { span, code: codes::YAML_BUDGET, message });
        }
        let node = target.node.clone();
        self.place(node)
    }

    fn close(&mut self, end: Span) -> Result<(), Problem> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let mut span = open.span;
        span.end = span.end.max(end.end);
        let kind = match open.content {
            Content::Seq(items) => Kind::Seq(items),
            Content::Map { entries, .. } => Kind::Map(merge::entries(entries, self.report)?),
        };
        let node = Node { span, kind };
        self.remember(open.anchor, &node);
        self.place(node)
    }

    fn remember(&mut self, anchor: usize, node: &Node) {
        if anchor != 0 {
            let (size, height) = measure(node);
            self.anchors.insert(anchor, Anchored { node: node.clone(), size, height });
        }
    }

    fn place(&mut self, node: Node) -> Result<(), Problem> {
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(Content::Seq(items)) => items.push(node),
            Some(Content::Map { entries, key }) => match key.take() {
                None => *key = Some(checked_key(node)?),
                Some(key) => entries.push(RawEntry { key, value: node }),
            },
        }
        Ok(())
    }
}

fn checked_key(node: Node) -> Result<Node, Problem> {
    match node.kind {
        Kind::Scalar(_) => Ok(node),
        Kind::Seq(_) | Kind::Map(_) => Err(Problem {
            span: node.span,
            code: codes::YAML_SYNTAX,
            message: format!("{} cannot be a key", node.describe()),
        }),
    }
}

/// Nodes and levels of a tree.
fn measure(node: &Node) -> (usize, usize) {
    let children: Vec<(usize, usize)> = match &node.kind {
        Kind::Scalar(_) => Vec::new(),
        Kind::Seq(items) => items.iter().map(measure).collect(),
        Kind::Map(map) => map.entries.iter().map(|entry| measure(&entry.value)).collect(),
    };
    let size = children.iter().map(|(size, _)| size).sum::<usize>();
    let height = children.iter().map(|(_, height)| *height).max().unwrap_or(0);
    (size + 1, height + 1)
}

fn scalar_node(text: String, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Node, Problem> {
    let value = match tag {
        None if style == ScalarStyle::Plain => scalar::resolve(&text),
        None => Value::Str,
        Some(tag) => tagged(tag, &text, style).ok_or_else(|| Problem {
            span,
            code: codes::YAML_TAG,
            message: format!("the tag {} cannot be applied to {text:?}", tag.original()),
        })?,
    };
    if value == Value::Str && style == ScalarStyle::Plain && text == "=" && tag.is_none() {
        let message = "`=` alone is a reserved value in YAML 1.1; quote it".to_owned();
        return Err(Problem { span, code: codes::YAML_SYNTAX, message });
    }
    Ok(Node { span, kind: Kind::Scalar(Scalar { text, value, variable: None }) })
}

fn tagged(tag: &Tag, text: &str, style: ScalarStyle) -> Option<Value> {
    // `!` alone leaves the choice to the resolver, as PyYAML does.
    if tag.original() == "!" {
        return Some(if style == ScalarStyle::Plain { scalar::resolve(text) } else { Value::Str });
    }
    match tag.core_suffix()? {
        "str" => Some(Value::Str),
        "null" => Some(Value::Null),
        "bool" => scalar::bool_of(text).map(Value::Bool),
        "int" => scalar::int(text).map(Value::Int),
        "float" => scalar::float(text).or_else(|| text.replace('_', "").parse().ok()).map(Value::Float),
        "timestamp" => (scalar::resolve(text) == Value::Date).then_some(Value::Date),
        _ => None,
    }
}

fn collection_tag(tag: Option<&Tag>, expected: &str, span: Span) -> Result<(), Problem> {
    match tag {
        Some(tag) if tag.original() != "!" && tag.core_suffix() != Some(expected) => Err(Problem {
            span,
            code: codes::YAML_TAG,
            message: format!("the tag {} has no meaning in a configuration", tag.original()),
        }),
        Some(_) | None => Ok(()),
    }
}
