//! Reading one mapping of the file by the key table: unknown keys are reported when it is opened, so that code
//! that reads values never looks for them.

use crate::diag::{Fate, Finding, Report, codes, did_you_mean, nearest};
use crate::keys::{CALL_PARAMS, Key, SHOWN_INFO, Section, Support};
use crate::lower::field::Field;
use crate::yaml::{Entry, Kind, Map, Node, Span};

/// A mapping that is being read as a section.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) section: Section,
    pub(crate) map: &'a Map,
    pub(crate) report: &'a Report,
}

impl<'a> Reader<'a> {
    /// Opens a section and judges its keys.
    pub(crate) fn open(section: Section, map: &'a Map, report: &'a Report) -> Self {
        let reader = Self { section, map, report };
        map.entries.iter().for_each(|entry| reader.judge(entry));
        reader
    }

    /// Opens the value of an entry; reports one that is no mapping. Nothing is an empty section.
    pub(crate) fn of_entry(section: Section, entry: &'a Entry, report: &'a Report) -> Option<Self> {
        match &entry.value.kind {
            Kind::Map(map) => Some(Self::open(section, map, report)),
            Kind::Scalar(_) if entry.value.is_null() => None,
            Kind::Scalar(_) | Kind::Seq(_) => {
                let message = format!("{} must be a mapping, not {}", entry.name, entry.value.describe());
                report.add(Finding::error(codes::WRONG_TYPE, visible(&entry.value, entry.key), message));
                None
            }
        }
    }

    /// The value of a key, when it is there and not null.
    pub(crate) fn get(&self, name: &'static str) -> Option<Field<'a>> {
        #[cfg(test)]
        self.report.read.borrow_mut().insert((self.section.name(), name.to_owned()));
        let entry = self.map.get(name)?;
        if entry.value.is_null() {
            return None;
        }
        Some(Field { name, key: entry.key, value: &entry.value, report: self.report })
    }

    /// Whether the section sets any key about health or cooldown.
    pub(crate) fn health_key(&self) -> Option<&'a Entry> {
        self.map.entries.iter().find(|entry| self.section.key(&entry.name).is_some_and(|key| key.health))
    }

    fn judge(&self, entry: &Entry) {
        match self.section.key(&entry.name) {
            Some(Key { support: Support::Works, .. }) => self.fate(entry, Fate::Read),
            Some(Key { support: Support::Inert(why), .. }) => {
                self.fate(entry, Fate::Inert(why));
                if !is_off(&entry.value) && self.report.first(self.section.name(), &entry.name) {
                    let message = format!("{} has no effect", self.full(&entry.name));
                    self.report.add(Finding::warning(codes::NO_EFFECT, entry.key, message).hint(why));
                }
            }
            None => self.unknown(entry),
        }
    }

    fn fate(&self, entry: &Entry, fate: Fate) {
        self.report.fate(self.full(&entry.name), fate);
    }

    fn unknown(&self, entry: &Entry) {
        let name = entry.name.as_str();
        // Reported where it is read, with more to say.
        if self.section == Section::Router
            && matches!(name, "health_check_interval" | "health_check_concurrency")
        {
            self.fate(entry, Fate::Unknown);
            return;
        }
        let known = self.section.keys().map(|key| key.name);
        let free = match self.section {
            Section::Params => CALL_PARAMS,
            Section::Info => SHOWN_INFO,
            Section::Top | Section::Entry | Section::Router | Section::Litellm | Section::General => &[],
        };
        if free.contains(&name) {
            self.fate(entry, Fate::PassedOn);
            return;
        }
        let home = self.home_of(name);
        let takes_any = matches!(self.section, Section::Params | Section::Info) && home.is_none();
        self.fate(entry, if takes_any { Fate::PassedOn } else { Fate::Unknown });
        if let Some(home) = home {
            self.report.add(
                Finding::warning(
                    codes::MISPLACED_KEY,
                    entry.key,
                    format!("{} has no effect here", self.full(name)),
                )
                .hint(format!("{name} belongs under {}", home.name())),
            );
            return;
        }
        match self.section {
            Section::Params => {
                self.extra(entry, known.chain(CALL_PARAMS.iter().copied()), "is sent to the provider")
            }
            Section::Info => {
                self.extra(entry, known.chain(SHOWN_INFO.iter().copied()), "is only shown by /v1/model/info")
            }
            Section::Top | Section::Entry | Section::Router | Section::Litellm | Section::General => {
                let message = format!("{} is not a known setting and has no effect", self.full(name));
                let finding = Finding::warning(codes::UNKNOWN_KEY, entry.key, message);
                self.report.add(finding.maybe_hint(self.cure(name, known)));
            }
        }
    }

    /// A key of a section that takes any: only a likely slip is a warning.
    fn extra<'n>(&self, entry: &Entry, known: impl Iterator<Item = &'n str>, fate: &str) {
        let name = entry.name.as_str();
        let message = format!("{} is not a known setting; it {fate}", self.full(name));
        self.report.add(match did_you_mean(name, known) {
            Some(cure) => Finding::warning(codes::UNKNOWN_KEY, entry.key, message).hint(cure),
            None if self.report.first(self.section.name(), name) => {
                Finding::note(codes::EXTRA_KEY, entry.key, message)
            }
            None => return,
        });
    }

    /// What to write instead, and what holds until then.
    fn cure<'n>(&self, name: &str, known: impl Iterator<Item = &'n str>) -> Option<String> {
        let meant = nearest(name, known)?;
        let until = match (self.section, meant) {
            (Section::General, "health_check_interval") => {
                "; until then its default holds: 300 seconds in profile litellm"
            }
            (Section::Router, "cooldown_time") => "; until then its default of 5 seconds holds",
            _ => "",
        };
        Some(format!("did you mean `{meant}`?{until}"))
    }

    /// Another section in which the key has an effect, when one is meant without doubt.
    fn home_of(&self, name: &str) -> Option<Section> {
        let free = matches!(self.section, Section::Params | Section::Info);
        // What can be set for all comes before what can be set for one deployment.
        let homes = [Section::Router, Section::Litellm, Section::General].into_iter().chain(Section::ALL);
        homes.filter(|section| *section != self.section).find(|section| {
            section.key(name).is_some_and(|key| {
                let distinct = key.health
                    || matches!(section, Section::Top)
                    || (*section == Section::Info && name == "mode");
                key.support == Support::Works && (distinct || !free)
            })
        })
    }

    fn full(&self, name: &str) -> String {
        match self.section {
            Section::Top => name.to_owned(),
            Section::Entry
            | Section::Params
            | Section::Info
            | Section::Router
            | Section::Litellm
            | Section::General => {
                format!("{}.{name}", self.section.name())
            }
        }
    }
}

/// A setting that is switched off asks for nothing, so its lack of effect is no news.
fn is_off(value: &Node) -> bool {
    use crate::yaml::Value;
    match &value.kind {
        Kind::Scalar(scalar) => matches!(scalar.value, Value::Null | Value::Bool(false)),
        Kind::Seq(items) => items.is_empty(),
        Kind::Map(map) => map.entries.is_empty(),
    }
}

/// What to underline for a value: the value when it is on one line, else the key.
pub(crate) fn visible(value: &Node, key: Span) -> Span {
    match value.kind {
        Kind::Scalar(_) if value.span.end > value.span.start => value.span,
        Kind::Scalar(_) | Kind::Seq(_) | Kind::Map(_) => key,
    }
}
