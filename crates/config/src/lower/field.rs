//! One value and the types it may be read as. A wrong type is reported where it stands; what LiteLLM would read
//! otherwise than it is meant is accepted as meant, and said.

use std::time::Duration;

use crate::Origin;
use crate::diag::{Finding, Report, codes, did_you_mean, is_secret_key};
use crate::lower::section::visible;
use crate::yaml::{Kind, Map, Node, Scalar, Span, Value};

/// A value under a key.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) name: &'a str,
    pub(crate) key: Span,
    pub(crate) value: &'a Node,
    pub(crate) report: &'a Report,
}

impl<'a> Field<'a> {
    /// What to underline.
    pub(crate) fn span(&self) -> Span {
        visible(self.value, self.key)
    }

    pub(crate) fn origin(&self) -> Origin {
        self.report.origin(self.key)
    }

    pub(crate) fn error(&self, code: &'static str, message: impl Into<String>) -> Finding {
        Finding::error(code, self.span(), message)
    }

    pub(crate) fn warning(&self, code: &'static str, message: impl Into<String>) -> Finding {
        Finding::warning(code, self.span(), message)
    }

    /// The value for a message: never a secret.
    pub(crate) fn shown(&self) -> String {
        match &self.value.kind {
            Kind::Scalar(_) if is_secret_key(self.name) => "a hidden value".to_owned(),
            Kind::Scalar(Scalar { variable: Some(name), .. }) => format!("the value of {name}"),
            Kind::Scalar(scalar) if scalar.value == Value::Str => format!("{:?}", scalar.text),
            Kind::Scalar(scalar) => scalar.text.clone(),
            Kind::Seq(_) | Kind::Map(_) => self.value.describe().to_owned(),
        }
    }

    pub(crate) fn wrong(&self, expected: &str) {
        let message = format!("{} must be {expected}, not {}", self.name, self.shown());
        self.report.add(self.error(codes::WRONG_TYPE, message));
    }

    fn loose(&self, expected: &str) {
        let found = self.value.describe();
        let message = format!("{} is {found}; it is read as {expected}", self.name);
        self.report.add(self.warning(codes::LOOSE_TYPE, message).hint("write it as a plain number"));
    }

    /// A string. Numbers and booleans become their text; a date keeps its text, which is said.
    pub(crate) fn text(&self) -> Option<String> {
        let Kind::Scalar(scalar) = &self.value.kind else {
            self.wrong("a string");
            return None;
        };
        if scalar.value == Value::Date {
            let message = format!("YAML reads {} as a date; the text is kept", scalar.text);
            let note = Finding::note(codes::DATE_AS_TEXT, self.span(), message);
            self.report.add(note.hint(format!("write it in quotes: \"{}\"", scalar.text)));
        }
        Some(scalar.text.clone())
    }

    /// A boolean as Python sees it: anything but nothing, zero and emptiness is true, `"false"` too.
    pub(crate) fn truth(&self) -> bool {
        let truth = match &self.value.kind {
            Kind::Seq(items) => !items.is_empty(),
            Kind::Map(map) => !map.entries.is_empty(),
            Kind::Scalar(scalar) => match scalar.value {
                Value::Null => false,
                Value::Bool(flag) => return flag,
                Value::Int(number) => number != 0,
                Value::Float(number) => number != 0.0,
                Value::Date => true,
                Value::Str => !scalar.text.is_empty(),
            },
        };
        let message = format!("{} is {}, which LiteLLM takes as {truth}", self.name, self.shown());
        self.report.add(self.warning(codes::LOOSE_TYPE, message).hint("write true or false, without quotes"));
        truth
    }

    /// A number, with the leniency of [`Self::loose`] for one in quotes.
    pub(crate) fn number(&self) -> Option<f64> {
        let number = self.quiet_number();
        match (&number, self.value.as_str()) {
            (None, _) => self.wrong("a number"),
            (Some(number), Some(_)) => self.loose(&format!("the number {number}")),
            (Some(_), None) => {}
        }
        number
    }

    /// Whether this is the number zero, of any type.
    pub(crate) fn is_zero(&self) -> bool {
        self.quiet_number() == Some(0.0)
    }

    fn quiet_number(&self) -> Option<f64> {
        let scalar = self.value.as_scalar()?;
        match scalar.value {
            #[expect(clippy::cast_precision_loss, reason = "settings are small numbers")]
            Value::Int(number) => Some(number as f64),
            Value::Float(number) if number.is_finite() => Some(number),
            Value::Str => scalar.text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
            Value::Null | Value::Bool(_) | Value::Float(_) | Value::Date => None,
        }
    }

    /// A whole number of at least `least`.
    pub(crate) fn count(&self, least: u64) -> Option<u64> {
        let Some(number) = self.whole() else {
            self.wrong("a whole number");
            return None;
        };
        let count = u64::try_from(number).ok().filter(|count| *count >= least);
        if count.is_none() {
            let message = format!("{} must be at least {least}, not {number}", self.name);
            self.report.add(self.error(codes::BAD_VALUE, message));
        }
        count
    }

    /// A whole number that fits 32 bits.
    pub(crate) fn count32(&self, least: u64) -> Option<u32> {
        Some(u32::try_from(self.count(least)?).unwrap_or(u32::MAX))
    }

    /// A whole number; one with a zero fraction or in quotes is accepted and said.
    pub(crate) fn whole(&self) -> Option<i128> {
        let scalar = self.value.as_scalar()?;
        let number = match scalar.value {
            Value::Int(number) => return Some(number),
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
            Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => number as i128,
            Value::Str => scalar.text.trim().parse().ok()?,
            Value::Null | Value::Bool(_) | Value::Float(_) | Value::Date => return None,
        };
        self.loose(&format!("the number {number}"));
        Some(number)
    }

    /// Seconds, as LiteLLM writes times.
    pub(crate) fn seconds(&self) -> Option<Duration> {
        self.seconds_of(self.number()?)
    }

    /// A number of seconds that was read from this field.
    pub(crate) fn seconds_of(&self, seconds: f64) -> Option<Duration> {
        let span = Duration::try_from_secs_f64(seconds).ok();
        if span.is_none() {
            let message =
                format!("{} must be a number of seconds from 0 up, not {}", self.name, self.shown());
            self.report.add(self.error(codes::BAD_VALUE, message));
        }
        span
    }

    /// A mapping.
    pub(crate) fn map(&self) -> Option<&'a Map> {
        let map = self.value.as_map();
        if map.is_none() {
            self.wrong("a mapping");
        }
        map
    }

    /// A list.
    pub(crate) fn list(&self) -> Option<&'a [Node]> {
        let list = self.value.as_seq();
        if list.is_none() {
            self.wrong("a list");
        }
        list
    }

    /// A list of strings, each with its node.
    pub(crate) fn strings(&self) -> Vec<(&'a Node, String)> {
        let Some(items) = self.list() else { return Vec::new() };
        items.iter().filter_map(|item| self.item(item).text().map(|text| (item, text))).collect()
    }

    /// An item of this list as a field of the same name.
    pub(crate) fn item(&self, item: &'a Node) -> Self {
        Self { key: item.span, value: item, ..*self }
    }

    /// The entries of a mapping, each as a field of its own name; null values left out.
    pub(crate) fn fields(&self) -> Vec<Self> {
        let Some(map) = self.map() else { return Vec::new() };
        fields_of(map, self.report)
    }

    /// One of a few names.
    pub(crate) fn one_of<T: Copy>(&self, code: &'static str, names: &[(&'static str, T)]) -> Option<T> {
        let text = self.value.as_scalar().map(|scalar| scalar.text.as_str()).unwrap_or_default();
        let found = names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let list = names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            let message = format!("{} cannot be {}; it is one of {list}", self.name, self.shown());
            let hint = did_you_mean(text, names.iter().map(|(name, _)| *name));
            self.report.add(self.error(code, message).maybe_hint(hint));
        }
        found
    }
}

/// The entries of a mapping as fields, null values left out.
pub(crate) fn fields_of<'a>(map: &'a Map, report: &'a Report) -> Vec<Field<'a>> {
    let field = |entry: &'a crate::yaml::Entry| Field {
        name: &entry.name,
        key: entry.key,
        value: &entry.value,
        report,
    };
    map.entries.iter().filter(|entry| !entry.value.is_null()).map(field).collect()
}
