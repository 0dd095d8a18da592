//! Names of model groups that are used somewhere: in fallbacks, aliases, policies, lists.

use std::collections::BTreeMap;

use haleway_health::Slot;
use haleway_routing::{BuildError, Table, TableBuilder, fallback_cycles};

use super::Facts;
use crate::diag::{Finding, codes, did_you_mean};
use crate::lower::field::Field;
use crate::typed::Model;
use crate::yaml::Span;

pub(super) fn check(facts: &Facts<'_>) {
    shares(facts);
    cycles(facts);
    listed_groups(facts);
    let Some(table) = table(facts) else { return };
    for (group, members) in &facts.names.chains {
        if group.name != "*" {
            known(facts, &table, group.name, group.key, "the fallbacks of this group are never used");
        }
        for member in members {
            leads(facts, &table, *member, "this fallback leads nowhere");
            itself(facts, &table, *group, *member);
        }
    }
    for member in &facts.names.defaults {
        leads(facts, &table, *member, "this fallback leads nowhere");
    }
    for (alias, target) in &facts.names.aliases {
        shadow(facts, &table, *alias);
        leads(facts, &table, *target, "this alias leads nowhere");
    }
    for group in &facts.names.retry_groups {
        known(facts, &table, group.name, group.key, "this retry policy is never used");
    }
    for (group, _) in facts.groups {
        if table.group(group.name).is_none() {
            unknown(facts, group.name, group.key, "these settings apply to nothing");
        }
    }
}

/// The routing table of these models, to ask what a name stands for.
fn table(facts: &Facts<'_>) -> Option<Table> {
    let mut builder = TableBuilder::new(facts.config.router.settings.clone());
    for (slot, model) in (0..).map(Slot).zip(&facts.config.models) {
        builder.deployment(model.routing(slot));
    }
    for alias in &facts.config.router.aliases {
        builder.alias(alias.clone());
    }
    match builder.build() {
        Ok(table) => Some(table),
        Err(error) => {
            if let BuildError::TooManyWildcards(name) = &error {
                let parts = facts.parts.iter().find(|parts| parts.name.value.as_str() == Some(name));
                if let Some(parts) = parts {
                    facts.report.add(Finding::error(codes::BAD_VALUE, parts.name.span(), error.to_string()));
                }
            }
            // Ids that repeat are reported where ids are checked.
            None
        }
    }
}

fn leads(facts: &Facts<'_>, table: &Table, field: Field<'_>, so: &str) {
    if let Some(name) = field.value.as_str() {
        known(facts, table, name, field.span(), so);
    }
}

/// A fallback that is its own group by another name. One by the same name is a cycle of one, and said as such.
fn itself(facts: &Facts<'_>, table: &Table, group: Field<'_>, member: Field<'_>) {
    let Some(name) = member.value.as_str().filter(|name| *name != group.name) else { return };
    let place = |name: &str| table.resolve(name).ok().map(|found| (found.group, found.only));
    if place(group.name).is_some_and(|from| place(name) == Some(from)) {
        let message = format!("{name:?} is {:?} by another name: this fallback is never taken", group.name);
        facts.report.add(
            Finding::warning(codes::FALLBACK_SELF, member.span(), message).hint("name another model group"),
        );
    }
}

/// An alias comes before a group of its name, which nobody can then ask for.
fn shadow(facts: &Facts<'_>, table: &Table, alias: Field<'_>) {
    if table.group(alias.name).is_some() {
        let message = format!("the alias {:?} hides the model group of that name", alias.name);
        let hint = "the group can only be reached by the ids of its deployments; rename one of the two";
        facts.report.add(Finding::warning(codes::ALIAS_SHADOWS, alias.key, message).hint(hint));
    }
}

fn known(facts: &Facts<'_>, table: &Table, name: &str, span: Span, so: &str) {
    if table.resolve(name).is_err() {
        unknown(facts, name, span, so);
    }
}

fn unknown(facts: &Facts<'_>, name: &str, span: Span, so: &str) {
    let message = format!("there is no model group {name:?}: {so}");
    let hint = did_you_mean(name, facts.config.groups());
    facts.report.add(if facts.config.general.store_models {
        // A model that is added later may bring it.
        Finding::note(codes::UNKNOWN_GROUP, span, message).maybe_hint(hint)
    } else {
        Finding::warning(codes::UNKNOWN_GROUP, span, message).maybe_hint(hint)
    });
}

fn cycles(facts: &Facts<'_>) {
    let fallbacks = &facts.config.router.fallbacks;
    for chains in [&fallbacks.general, &fallbacks.context_window, &fallbacks.content_policy] {
        for cycle in fallback_cycles(chains) {
            let Some(first) = cycle.first() else { continue };
            let names: Vec<&str> = cycle.iter().chain([first]).map(|name| &**name).collect();
            let Some((field, _)) = facts.names.chains.iter().find(|(field, _)| field.name == &**first) else {
                continue;
            };
            let message = format!("these fallbacks go in a circle: {}", names.join(" -> "));
            facts.report.add(
                Finding::warning(codes::FALLBACK_CYCLE, field.key, message)
                    .hint("a call visits no group twice, so the last step is never taken"),
            );
        }
    }
}

/// `background_health_check_model_groups` compares exact group names; an alias matches nothing.
fn listed_groups(facts: &Facts<'_>) {
    let Some(field) = facts.health.groups_field else { return };
    let groups = facts.config.groups();
    for item in field.value.as_seq().unwrap_or_default() {
        let Some(name) = item.as_str() else { continue };
        if groups.contains(&name) {
            continue;
        }
        let alias = facts.config.router.aliases.iter().find(|alias| &*alias.name == name);
        match alias {
            Some(alias) => {
                let message = format!("{name:?} is an alias; only names of model groups are probed");
                let hint = format!("write {:?}", alias.target);
                facts.report.add(Finding::warning(codes::ALIAS_NOT_GROUP, item.span, message).hint(hint));
            }
            None => unknown(facts, name, item.span, "nothing is probed for it"),
        }
    }
}

/// A group in which only some deployments have a share: the others get none.
fn shares(facts: &Facts<'_>) {
    type Get = fn(&Model) -> bool;
    const SHARES: [(&str, Get); 3] = [
        ("weight", |model| model.params.weight.is_some_and(|weight| weight > 0.0)),
        ("rpm", |model| model.params.rpm.is_some_and(|rpm| rpm > 0)),
        ("tpm", |model| model.params.tpm.is_some_and(|tpm| tpm > 0)),
    ];
    if facts.config.router.settings.strategy != haleway_routing::Strategy::SimpleShuffle {
        return;
    }
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, model) in facts.config.models.iter().enumerate() {
        groups.entry(&model.name).or_default().push(index);
    }
    for (group, members) in groups {
        let has = |get: Get, index: &usize| facts.config.models.get(*index).is_some_and(get);
        // The first kind of share that anybody has decides.
        let kind = SHARES.iter().find(|(_, get)| members.iter().any(|index| has(*get, index)));
        let Some((name, get)) = kind else { continue };
        let without: Vec<usize> = members.iter().copied().filter(|index| !has(*get, index)).collect();
        let Some(parts) = without.first().and_then(|index| facts.parts.get(*index)) else { continue };
        let ids: Vec<&str> = without
            .iter()
            .filter_map(|index| facts.config.models.get(*index))
            .map(|model| short(&model.id))
            .collect();
        let message = format!(
            "group {group:?} is shared by {name}, and has no {name} for {}: no traffic",
            ids.join(", ")
        );
        facts.report.add(
            Finding::warning(codes::PARTIAL_SHARE, parts.name.span(), message)
                .hint(format!("give every deployment of {group:?} a {name}, or none")),
        );
    }
}

/// Enough of an id to find it.
fn short(id: &str) -> &str {
    if id.len() == 64 { id.get(..12).unwrap_or(id) } else { id }
}
