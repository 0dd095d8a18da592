//! Paths in `additional_drop_params`: members deep in a request that are never sent.
//!
//! `tools[*].function.strict` takes a member out of every element of a list, `messages[0].name` out of one,
//! `response_format.json_schema` out of an object. What a path does not lead to stays as it was written, byte for byte.

use std::borrow::Cow;

use haleway_wire::{Change, Envelope};
use serde_json::value::RawValue;

/// A path of more than one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DropPath {
    member: String,
    rest: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A member of an object.
    Member(String),
    /// One element of a list, counted from 0.
    Element(usize),
    /// Every element of a list.
    Each,
}

impl DropPath {
    /// Reads a path. `Ok(None)` for a plain name.
    ///
    /// # Errors
    /// The text, when it is neither.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, String> {
        if !text.contains(['.', '[']) {
            return Ok(None);
        }
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (name, mut brackets) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() {
                return Err(text.to_owned());
            }
            steps.push(Step::Member(name.to_owned()));
            while !brackets.is_empty() {
                let (inner, rest) = brackets
                    .strip_prefix('[')
                    .and_then(|inside| inside.split_once(']'))
                    .ok_or_else(|| text.to_owned())?;
                steps.push(match inner {
                    "*" => Step::Each,
                    number => Step::Element(number.parse().map_err(|_| text.to_owned())?),
                });
                brackets = rest;
            }
        }
        let mut steps = steps.into_iter();
        match steps.next() {
            Some(Step::Member(member)) if steps.len() > 0 => Ok(Some(Self { member, rest: steps.collect() })),
            Some(_) | None => Err(text.to_owned()),
        }
    }

    /// The change to a body from which the path's end is taken out; `None` when it leads nowhere.
    pub(crate) fn change<'a>(&'a self, body: &Envelope<'_>) -> Option<Change<'a>> {
        let value = without(body.get(&self.member)?, &self.rest)?;
        Some(Change::Set(&self.member, Cow::Owned(value.into_bytes())))
    }
}

/// `value` without what `path` leads to; `None` when it leads nowhere.
fn without(value: &RawValue, path: &[Step]) -> Option<String> {
    let (step, rest) = path.split_first()?;
    if let Step::Member(name) = step {
        let object = Envelope::parse(value.get().as_bytes()).ok()?;
        let inner = object.get(name)?;
        let change = if rest.is_empty() {
            Change::Remove(name)
        } else {
            Change::Set(name, Cow::Owned(without(inner, rest)?.into_bytes()))
        };
        return String::from_utf8(object.patched(&[change]).to_vec()).ok();
    }
    let list: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
    let mut changed = false;
    let mut kept: Vec<Cow<'_, str>> = Vec::with_capacity(list.len());
    for (index, element) in list.into_iter().enumerate() {
        let meant = *step == Step::Each || *step == Step::Element(index);
        if meant && rest.is_empty() {
            changed = true;
            continue;
        }
        let without = meant.then(|| without(element, rest)).flatten();
        changed |= without.is_some();
        kept.push(without.map_or(Cow::Borrowed(element.get()), Cow::Owned));
    }
    changed.then(|| format!("[{}]", kept.join(",")))
}
