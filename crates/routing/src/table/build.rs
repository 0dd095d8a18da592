//! From plain inputs to a table. What the configuration should have refused is refused here too, so that a table
//! that exists is consistent.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Chains, Detail, Entry, Group, GroupIx, Hop, Member, Pattern, Table};
use crate::input::{Alias, Deployment, Fallbacks, Settings};

/// Collects the inputs of a [`Table`].
#[derive(Clone, Debug, Default)]
pub struct TableBuilder {
    settings: Settings,
    deployments: Vec<Deployment>,
    aliases: Vec<Alias>,
    fallbacks: Fallbacks,
}

/// Why a table cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two deployments share an id.
    #[error("two deployments have the id {0:?}")]
    DuplicateId(Arc<str>),
    /// Two deployments share a slot.
    #[error("two deployments have the slot {0}")]
    DuplicateSlot(u32),
    /// A group's name holds more wildcards than a table can capture.
    #[error("the model name {0:?} holds more than {max} wildcards", max = super::MAX_STARS)]
    TooManyWildcards(Arc<str>),
}

/// A name that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The group or alias that names it.
    pub from: Arc<str>,
    /// The name that nothing answers to.
    pub to: Arc<str>,
}

impl TableBuilder {
    /// A builder with these router settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Adds a deployment. Groups are numbered in the order of their first one.
    pub fn deployment(&mut self, deployment: Deployment) -> &mut Self {
        self.deployments.push(deployment);
        self
    }

    /// Adds an alias. A group of the same name outranks it.
    pub fn alias(&mut self, alias: Alias) -> &mut Self {
        self.aliases.push(alias);
        self
    }

    /// Sets the fallback chains.
    pub fn fallbacks(&mut self, fallbacks: Fallbacks) -> &mut Self {
        self.fallbacks = fallbacks;
        self
    }

    /// The table.
    ///
    /// # Errors
    /// When ids or slots repeat, or a name holds too many wildcards.
    pub fn build(self) -> Result<Table, BuildError> {
        let Self { settings, deployments, aliases, mut fallbacks } = self;
        let groups = grouped(deployments);
        let mut table = Table {
            settings,
            names: HashMap::new(),
            alias_targets: aliases.iter().map(|a| (Arc::clone(&a.name), Arc::clone(&a.target))).collect(),
            wildcards: Box::default(),
            groups: Box::default(),
            members: Box::default(),
            details: Box::default(),
            by_slot: HashMap::new(),
            aliases: aliases.into(),
            general: Chains::new(),
            context_window: Chains::new(),
            content_policy: Chains::new(),
            unresolved: Box::default(),
        };
        table.fill(groups)?;
        table.name_deployments()?;

        let mut lost = Vec::new();
        for alias in &table.aliases {
            if table.resolve(&alias.target).is_err() {
                lost.push(Unresolved { from: Arc::clone(&alias.name), to: Arc::clone(&alias.target) });
            }
        }
        if !fallbacks.default.is_empty() {
            fallbacks.general.entry("*".into()).or_insert(fallbacks.default);
        }
        table.general = table.chains(&fallbacks.general, &mut lost);
        table.context_window = table.chains(&fallbacks.context_window, &mut lost);
        table.content_policy = table.chains(&fallbacks.content_policy, &mut lost);
        table.unresolved = lost.into();
        Ok(table)
    }
}

/// Deployments by group, groups in the order of their first deployment.
fn grouped(deployments: Vec<Deployment>) -> Vec<(Arc<str>, Vec<Deployment>)> {
    let mut places: HashMap<Arc<str>, usize> = HashMap::new();
    let mut groups: Vec<(Arc<str>, Vec<Deployment>)> = Vec::new();
    for deployment in deployments {
        let next = groups.len();
        let place = *places.entry(Arc::clone(&deployment.group)).or_insert(next);
        if place == next {
            groups.push((Arc::clone(&deployment.group), Vec::new()));
        }
        if let Some((_, members)) = groups.get_mut(place) {
            members.push(deployment);
        }
    }
    groups
}

impl Table {
    /// Lays the groups' members out side by side.
    fn fill(&mut self, input: Vec<(Arc<str>, Vec<Deployment>)>) -> Result<(), BuildError> {
        let (mut groups, mut members, mut details, mut wildcards) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let limits = self.settings.limits();
        for (index, (name, deployments)) in (0_u32..).zip(input) {
            let start = members.len();
            if name.contains('*') {
                let pattern =
                    Pattern::new(&name).ok_or_else(|| BuildError::TooManyWildcards(Arc::clone(&name)))?;
                wildcards.push((pattern, GroupIx(index)));
            }
            for deployment in deployments {
                if self.by_slot.insert(deployment.slot, members.len()).is_some() {
                    return Err(BuildError::DuplicateSlot(deployment.slot.0));
                }
                members.push(member(&deployment, limits));
                details.push(Detail {
                    id: deployment.id,
                    pattern: deployment.pattern.filter(|pattern| pattern.contains('*')),
                    tags: deployment.tags.into(),
                });
            }
            let retry_policy =
                self.settings.group_retry_policy.get(&name).copied().unwrap_or(self.settings.retry_policy);
            self.names.insert(Arc::clone(&name), Entry::Group(GroupIx(index)));
            groups.push(Group { name, members: start..members.len(), retry_policy });
        }
        wildcards.sort_by_key(|(pattern, group)| (pattern.specificity(), group.0));
        self.groups = groups.into();
        self.members = members.into();
        self.details = details.into();
        self.wildcards = wildcards.into();
        Ok(())
    }

    /// Adds ids: a group's name outranks an equal id.
    fn name_deployments(&mut self) -> Result<(), BuildError> {
        let mut seen = std::collections::HashSet::new();
        for (index, group) in (0_u32..).zip(&self.groups) {
            let range = group.members.clone();
            let pairs = self.members.get(range.clone()).into_iter().flatten();
            for (member, detail) in pairs.zip(self.details.get(range).into_iter().flatten()) {
                if !seen.insert(Arc::clone(&detail.id)) {
                    return Err(BuildError::DuplicateId(Arc::clone(&detail.id)));
                }
                self.names
                    .entry(Arc::clone(&detail.id))
                    .or_insert(Entry::Deployment(GroupIx(index), member.slot));
            }
        }
        Ok(())
    }

    /// Chains with their targets resolved; those that lead nowhere are left out and noted.
    fn chains(&self, input: &BTreeMap<Arc<str>, Vec<Arc<str>>>, lost: &mut Vec<Unresolved>) -> Chains {
        let mut chains = Chains::new();
        for (from, targets) in input {
            let mut hops: Vec<Hop> = Vec::new();
            for to in targets {
                match self.hop(to) {
                    Ok(hop) => hops.push(hop),
                    Err(_) => lost.push(Unresolved { from: Arc::clone(from), to: Arc::clone(to) }),
                }
            }
            chains.insert(Arc::clone(from), hops.into());
        }
        chains
    }
}

/// The price LiteLLM assumes for a deployment without one: 5 US dollars per token in and out.
const UNKNOWN_PRICE: f32 = 10.0;

fn member(deployment: &Deployment, limits: bool) -> Member {
    #[expect(clippy::cast_possible_truncation, reason = "shares and prices are compared, not added up")]
    fn share(value: f64) -> f32 {
        if value.is_finite() && value > 0.0 { value as f32 } else { 0.0 }
    }
    #[expect(clippy::cast_precision_loss, reason = "a share of 2^24 requests is exact enough")]
    fn count(value: Option<u64>) -> f64 {
        value.unwrap_or(0) as f64
    }
    Member {
        slot: deployment.slot,
        order: deployment.order.unwrap_or(i32::MAX),
        shares: [
            share(deployment.weight.unwrap_or(0.0)),
            share(count(deployment.rpm)),
            share(count(deployment.tpm)),
        ],
        price: deployment.price.map_or(UNKNOWN_PRICE, share),
        rpm: deployment.rpm.map_or(u32::MAX, |rpm| u32::try_from(rpm).unwrap_or(u32::MAX)),
        max_parallel: deployment.max_parallel.unwrap_or(u32::MAX),
        tpm: deployment.tpm.unwrap_or(u64::MAX),
        max_input_tokens: deployment.max_input_tokens.unwrap_or(u64::MAX),
        blocked: deployment.blocked,
        restricted: deployment.blocked
            || deployment.max_parallel.is_some()
            || limits && (deployment.rpm.is_some() || deployment.tpm.is_some()),
    }
}
