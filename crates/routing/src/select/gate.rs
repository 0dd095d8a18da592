//! What keeps a deployment out for this call whatever its health: the call's own path, the configuration, limits.

use crate::select::Query;
use crate::stats::Stats;
use crate::table::{Member, Table};

/// Why a deployment is no candidate for this call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The call named another deployment.
    NotNamed,
    Tried,
    Blocked,
    Tags,
    ContextWindow,
    Requests,
    Tokens,
    Parallel,
}

/// Which tags admit a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tagged {
    /// Tags do not matter.
    Any,
    /// The call's own tags.
    Own,
    /// The tag `default`.
    Default,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Gate<'a> {
    table: &'a Table,
    query: &'a Query<'a>,
    tagged: Tagged,
    limits: bool,
    /// Neither the call nor the settings can stop anyone who was not tried and is not limited.
    open: bool,
}

const DEFAULT_TAG: &str = "default";

impl<'a> Gate<'a> {
    pub(super) fn new(table: &'a Table, query: &'a Query<'a>) -> Self {
        let settings = table.settings();
        let limits = settings.limits();
        let mut gate = Self { table, query, tagged: Tagged::Any, limits, open: false };
        if settings.tag_filtering {
            gate.tagged = gate.tagging();
        }
        gate.open = query.only.is_none() && gate.tagged == Tagged::Any && !settings.pre_call_checks;
        gate
    }

    /// LiteLLM's rule: the call's tags decide while anyone has them; otherwise those tagged `default`; a call
    /// without tags may go anywhere when no one is tagged so.
    fn tagging(&self) -> Tagged {
        let members = self.table.members(self.query.group);
        let any = |tagged: Tagged| members.iter().any(|member| self.has(member, tagged));
        if !self.query.facts.tags.is_empty() {
            return if any(Tagged::Own) { Tagged::Own } else { Tagged::Default };
        }
        if any(Tagged::Default) { Tagged::Default } else { Tagged::Any }
    }

    fn has(&self, member: &Member, tagged: Tagged) -> bool {
        let tags = self.table.detail(member.slot).map_or(&[] as &[_], |detail| &detail.tags);
        let carries = |wanted: &str| tags.iter().any(|tag| **tag == *wanted);
        match tagged {
            Tagged::Any => true,
            Tagged::Default => carries(DEFAULT_TAG),
            Tagged::Own if self.table.settings().tags_match_any => {
                self.query.facts.tags.iter().any(|tag| carries(tag))
            }
            Tagged::Own => self.query.facts.tags.iter().all(|tag| carries(tag)),
        }
    }

    /// What stops `member`, if anything does. Nearly always nothing can, and that is seen at a glance.
    #[inline]
    pub(super) fn stops<S: Stats + ?Sized>(&self, member: &Member, stats: &S) -> Option<Stop> {
        let tried = !self.query.tried.is_empty() && self.query.tried.contains(&member.slot);
        if self.open && !tried && !member.restricted { None } else { self.checked(member, tried, stats) }
    }

    #[inline(never)]
    fn checked<S: Stats + ?Sized>(&self, member: &Member, tried: bool, stats: &S) -> Option<Stop> {
        if tried {
            return Some(Stop::Tried);
        }
        if !self.open
            && let Some(stop) = self.barred(member)
        {
            return Some(stop);
        }
        if member.restricted { self.limited(member, stats) } else { None }
    }

    /// What the call asks for and the member cannot give.
    fn barred(&self, member: &Member) -> Option<Stop> {
        let query = self.query;
        if query.only.is_some_and(|only| only != member.slot) {
            return Some(Stop::NotNamed);
        }
        if self.tagged != Tagged::Any && !self.has(member, self.tagged) {
            return Some(Stop::Tags);
        }
        let too_long = query.facts.input_tokens.is_some_and(|prompt| prompt > member.max_input_tokens);
        (self.table.settings().pre_call_checks && too_long).then_some(Stop::ContextWindow)
    }

    /// The member's own limits.
    #[inline]
    fn limited<S: Stats + ?Sized>(&self, member: &Member, stats: &S) -> Option<Stop> {
        if member.blocked {
            return Some(Stop::Blocked);
        }
        if member.max_parallel != u32::MAX && stats.in_flight(member.slot) >= member.max_parallel {
            return Some(Stop::Parallel);
        }
        if !self.limits {
            return None;
        }
        let used = stats.used_this_minute(member.slot, self.query.now);
        // LiteLLM stops one request before the limit; the number in the configuration is what is meant.
        if used.requests >= member.rpm {
            return Some(Stop::Requests);
        }
        let prompt = self.query.facts.input_tokens.unwrap_or(0);
        let full = used.tokens >= member.tpm || used.tokens.saturating_add(prompt) > member.tpm;
        full.then_some(Stop::Tokens)
    }
}
