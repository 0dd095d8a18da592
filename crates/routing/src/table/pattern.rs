//! Wildcards in model names: `openai/*` is asked for as `openai/gpt-4o` and hands `gpt-4o` on.
//!
//! Every `*` takes any text, the first one as much as it can, as in LiteLLM's `(.*)`.

use std::sync::Arc;

/// Wildcards that one pattern may hold.
pub const MAX_STARS: usize = 4;

/// A model name with at least one `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: Arc<str>,
    stars: usize,
}

/// What the wildcards of a pattern took, borrowed from the name that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures<'a> {
    whole: &'a str,
    parts: [&'a str; MAX_STARS],
    len: usize,
}

impl<'a> Captures<'a> {
    /// What the first wildcard took; `None` when no wildcard was involved.
    pub fn first(&self) -> Option<&'a str> {
        self.parts.get(..self.len).and_then(|parts| parts.first()).copied()
    }

    /// `model` with its wildcards replaced in order; `None` when it holds none, or no wildcard was asked for.
    /// A model with fewer wildcards than the name is replaced whole by what was asked for, as LiteLLM does.
    pub fn substitute(&self, model: &str) -> Option<String> {
        let stars = model.bytes().filter(|&byte| byte == b'*').count();
        if stars == 0 || self.len == 0 {
            return None;
        }
        if self.len > stars {
            return Some(self.whole.to_owned());
        }
        let mut text = String::with_capacity(model.len() + self.whole.len());
        let mut parts = self.parts.iter().take(self.len);
        for (index, piece) in model.split('*').enumerate() {
            if index > 0 {
                text.push_str(parts.next().copied().unwrap_or("*"));
            }
            text.push_str(piece);
        }
        Some(text)
    }
}

impl Pattern {
    /// `text` as a pattern; `None` when it holds no `*` or more than [`MAX_STARS`].
    pub(crate) fn new(text: &Arc<str>) -> Option<Self> {
        let stars = text.bytes().filter(|&byte| byte == b'*').count();
        (1..=MAX_STARS).contains(&stars).then(|| Self { text: Arc::clone(text), stars })
    }

    /// Sorts the most specific first: more literal text, then fewer wildcards.
    pub(crate) fn specificity(&self) -> (std::cmp::Reverse<usize>, usize) {
        (std::cmp::Reverse(self.text.len() - self.stars), self.stars)
    }

    /// What the wildcards take of `model`, when it matches.
    pub(crate) fn captures<'a>(&self, model: &'a str) -> Option<Captures<'a>> {
        let mut pieces = self.text.rsplit('*');
        let mut rest = model.strip_suffix(pieces.next()?)?;
        let mut found = Captures { whole: model, parts: [""; MAX_STARS], len: self.stars };
        for index in (0..self.stars).rev() {
            let piece = pieces.next()?;
            // The leftmost piece is anchored; the others go as far right as they fit, which gives the first
            // wildcard the most.
            let at = if index == 0 {
                if rest.starts_with(piece) { 0 } else { return None }
            } else {
                rest.rfind(piece)?
            };
            *found.parts.get_mut(index)? = rest.get(at + piece.len()..)?;
            rest = rest.get(..at)?;
        }
        Some(found)
    }
}
