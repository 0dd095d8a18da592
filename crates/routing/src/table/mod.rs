//! The routing table: everything about deployments that changes only with the configuration.
//!
//! Built once per configuration and shared. A name is resolved by hash look-ups (alias, then group name, then
//! deployment id), then by the wildcards, the most specific first. Members of a group lie side by side, with what
//! selection reads in one small record.

mod build;
mod cycles;
mod pattern;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use haleway_health::Slot;

use crate::input::{Alias, Settings};
use crate::retry::RetryPolicy;

pub use build::{BuildError, TableBuilder, Unresolved};
pub use cycles::fallback_cycles;
pub use pattern::{Captures, MAX_STARS};

use pattern::Pattern;

/// The place of a model group in a table: groups are numbered in the order of their first deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupIx(pub u32);

/// What selection reads of one deployment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) slot: Slot,
    pub(crate) order: i32,
    /// `weight`, `rpm`, `tpm` as shares; 0 = not given.
    pub(crate) shares: [f32; 3],
    pub(crate) price: f32,
    /// Limits; the maximum of the type = none.
    pub(crate) rpm: u32,
    pub(crate) max_parallel: u32,
    pub(crate) tpm: u64,
    pub(crate) max_input_tokens: u64,
    pub(crate) blocked: bool,
    /// Blocked or limited in any way.
    pub(crate) restricted: bool,
}

/// What is asked of a deployment less often.
#[derive(Clone, Debug)]
pub(crate) struct Detail {
    pub(crate) id: Arc<str>,
    pub(crate) pattern: Option<Arc<str>>,
    pub(crate) tags: Box<[Arc<str>]>,
}

#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Arc<str>,
    pub(crate) members: Range<usize>,
    pub(crate) retry_policy: RetryPolicy,
}

/// A step of a fallback chain, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The name as configured or as the caller gave it.
    pub model: Arc<str>,
    /// The group it stands for.
    pub group: GroupIx,
    /// The one deployment it stands for, when it is a deployment's id.
    pub only: Option<Slot>,
}

/// A cause of falling back that may have a chain of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackKind {
    /// Any cause.
    General,
    /// The prompt does not fit.
    ContextWindow,
    /// A content filter refused.
    ContentPolicy,
}

type Chains = HashMap<Arc<str>, Box<[Hop]>>;

/// Which way a name led to its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// It is the group's name.
    Name,
    /// It is an alias.
    Alias,
    /// It is a deployment's id.
    Id,
    /// A wildcard took it.
    Wildcard,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolution<'a> {
    /// The group.
    pub group: GroupIx,
    /// The one deployment, when its id was asked for.
    pub only: Option<Slot>,
    /// What the group's wildcards took.
    pub captures: Captures<'a>,
    /// Which way it was found.
    pub via: Via,
}

/// No group, alias, deployment or wildcard answers to this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no model group, alias, deployment id or wildcard answers to the name {0:?}")]
pub struct NoSuchModel(pub String);

#[derive(Clone, Debug)]
enum Entry {
    Group(GroupIx),
    Deployment(GroupIx, Slot),
}

/// The routing table of one configuration.
#[derive(Debug)]
pub struct Table {
    settings: Settings,
    names: HashMap<Arc<str>, Entry>,
    alias_targets: HashMap<Arc<str>, Arc<str>>,
    wildcards: Box<[(Pattern, GroupIx)]>,
    groups: Box<[Group]>,
    members: Box<[Member]>,
    details: Box<[Detail]>,
    by_slot: HashMap<Slot, usize>,
    aliases: Box<[Alias]>,
    general: Chains,
    context_window: Chains,
    content_policy: Chains,
    unresolved: Box<[Unresolved]>,
}

impl Table {
    /// What `model` stands for: alias, then group name, then deployment id, then the most specific wildcard. An
    /// alias outranks a group of its name, as in LiteLLM: it is how a group's traffic is sent elsewhere.
    ///
    /// # Errors
    /// When nothing answers to the name.
    pub fn resolve<'a>(&'a self, model: &'a str) -> Result<Resolution<'a>, NoSuchModel> {
        // An alias of an alias is not followed: LiteLLM does not, and it could go round.
        let (name, via) = match self.alias_targets.get(model) {
            Some(target) => (target.as_ref(), Some(Via::Alias)),
            None => (model, None),
        };
        let found = match self.names.get(name) {
            Some(&Entry::Group(group)) => Some((group, None, Captures::default(), Via::Name)),
            Some(&Entry::Deployment(group, slot)) => Some((group, Some(slot), Captures::default(), Via::Id)),
            None => self
                .wildcards
                .iter()
                .find_map(|(pattern, group)| Some((*group, None, pattern.captures(name)?, Via::Wildcard))),
        };
        found
            .map(|(group, only, captures, own)| Resolution { group, only, captures, via: via.unwrap_or(own) })
            .ok_or_else(|| NoSuchModel(model.to_owned()))
    }

    /// The model to put on the wire for `slot` when its configured model holds wildcards; `None` when the
    /// configured model is to be used as it is.
    pub fn wire_model(&self, slot: Slot, captures: &Captures<'_>) -> Option<String> {
        captures.substitute(self.detail(slot)?.pattern.as_deref()?)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The group named `name`, wildcards by their pattern.
    pub fn group(&self, name: &str) -> Option<GroupIx> {
        match self.names.get(name) {
            Some(&Entry::Group(group)) => Some(group),
            Some(Entry::Deployment(..)) | None => None,
        }
    }

    /// The group of the deployment in `slot`.
    pub fn group_of(&self, slot: Slot) -> Option<GroupIx> {
        let index = *self.by_slot.get(&slot)?;
        let group = self.groups.partition_point(|group| group.members.end <= index);
        u32::try_from(group).ok().map(GroupIx)
    }

    /// The name of `group`; empty for one that does not exist.
    pub fn group_name(&self, group: GroupIx) -> &str {
        self.groups.get(group.0 as usize).map_or("", |group| &group.name)
    }

    /// The deployments of `group`, in the order of the configuration.
    pub fn slots(&self, group: GroupIx) -> impl ExactSizeIterator<Item = Slot> + '_ {
        self.members(group).iter().map(|member| member.slot)
    }

    /// The id of the deployment in `slot`; empty for a hole.
    pub fn id(&self, slot: Slot) -> &str {
        self.detail(slot).map_or("", |detail| &detail.id)
    }

    /// Aliases, hidden ones included.
    pub fn aliases(&self) -> &[Alias] {
        &self.aliases
    }

    /// Settings of the router.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Fallback targets and aliases that lead nowhere, left out of the table.
    pub const fn unresolved(&self) -> &[Unresolved] {
        &self.unresolved
    }

    /// Whether calls of `group` have anywhere else to go, whatever the cause.
    pub fn has_fallback(&self, group: GroupIx) -> bool {
        let name = self.group_name(group);
        self.fallbacks(FallbackKind::General, name, group).iter().any(|hop| hop.group != group)
    }

    /// The chain for `kind` of a call that asked for `model` and was served by `group`: the entry of the name
    /// asked for, else of the group, else of `*`. Empty when there is none.
    pub fn fallbacks(&self, kind: FallbackKind, model: &str, group: GroupIx) -> &[Hop] {
        let chains = match kind {
            FallbackKind::General => &self.general,
            FallbackKind::ContextWindow => &self.context_window,
            FallbackKind::ContentPolicy => &self.content_policy,
        };
        chains
            .get(model)
            .or_else(|| chains.get(self.group_name(group)))
            .or_else(|| chains.get("*"))
            .map_or(&[], |hops| hops)
    }

    /// `name` as a step of a fallback chain, for chains that a caller gives.
    ///
    /// # Errors
    /// When nothing answers to the name.
    pub fn hop(&self, name: &str) -> Result<Hop, NoSuchModel> {
        let found = self.resolve(name)?;
        Ok(Hop { model: name.into(), group: found.group, only: found.only })
    }

    pub(crate) fn members(&self, group: GroupIx) -> &[Member] {
        let range = self.groups.get(group.0 as usize).map_or(0..0, |group| group.members.clone());
        self.members.get(range).unwrap_or_default()
    }

    pub(crate) fn detail(&self, slot: Slot) -> Option<&Detail> {
        self.details.get(*self.by_slot.get(&slot)?)
    }

    pub(crate) fn retry_policy(&self, group: GroupIx) -> RetryPolicy {
        self.groups.get(group.0 as usize).map_or_else(RetryPolicy::default, |group| group.retry_policy)
    }
}

#[cfg(test)]
mod tests;
