//! A world for tests: a table by short names, health by hand, and a driver that plays a plan to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Slot, Timestamp};

use crate::*;

pub(crate) const fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Everyone in rotation unless said otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) admissions: BTreeMap<Slot, Admission>,
    pub(crate) rules: BTreeMap<GroupIx, GroupRule>,
    pub(crate) whys: BTreeMap<Slot, Why>,
}

impl World {
    pub(crate) fn set(&mut self, slot: u32, rank: u8, weight: f32) {
        self.admissions.insert(Slot(slot), Admission { rank, trial: false, weight });
    }

    pub(crate) fn out(&mut self, slot: u32, code: &'static str, until: Option<u64>) {
        self.set(slot, Admission::OUT, 0.0);
        self.whys.insert(Slot(slot), Why { code, cause: "", status: 0, until: until.map(at) });
    }

    pub(crate) fn rule(&mut self, group: u32, last_resort: LastResort) {
        self.rules.insert(GroupIx(group), GroupRule { last_resort, ..GroupRule::CALM });
    }
}

impl Health for World {
    fn admission(&self, slot: Slot) -> Admission {
        self.admissions.get(&slot).copied().unwrap_or(Admission::IN)
    }
    fn group(&self, group: GroupIx) -> GroupRule {
        self.rules.get(&group).copied().unwrap_or(GroupRule::CALM)
    }
    fn why(&self, slot: Slot) -> Why {
        self.whys.get(&slot).copied().unwrap_or(Why { code: "out", cause: "", status: 0, until: None })
    }
}

/// Deployments `g1`, `g2`, … for each `(group, count)`, slots in order.
pub(crate) fn builder(settings: Settings, groups: &[(&str, u32)]) -> TableBuilder {
    let mut builder = TableBuilder::new(settings);
    let mut slot = 0;
    for (group, count) in groups {
        for n in 1..=*count {
            builder.deployment(Deployment::new(Slot(slot), &format!("{group}{n}"), group));
            slot += 1;
        }
    }
    builder
}

pub(crate) fn table(settings: Settings, groups: &[(&str, u32)], fallbacks: &[(&str, &[&str])]) -> Table {
    let mut builder = builder(settings, groups);
    builder.fallbacks(Fallbacks { general: chains(fallbacks), ..Fallbacks::default() });
    builder.build().unwrap()
}

pub(crate) fn chains(chains: &[(&str, &[&str])]) -> BTreeMap<Arc<str>, Vec<Arc<str>>> {
    chains.iter().map(|(from, to)| ((*from).into(), to.iter().map(|name| (*name).into()).collect())).collect()
}

pub(crate) fn retries(n: u32) -> Settings {
    Settings { num_retries: Some(n), ..Settings::default() }
}

/// How a call went.
#[derive(Debug)]
pub(crate) struct Played {
    /// Ids tried, in order.
    pub(crate) order: Vec<String>,
    /// Waits before each, in milliseconds.
    pub(crate) waits: Vec<u64>,
    /// Who served, or why not.
    pub(crate) end: Result<String, GiveUp>,
    /// When it ended.
    pub(crate) ended: Timestamp,
}

impl Played {
    pub(crate) fn order(&self) -> Vec<&str> {
        self.order.iter().map(String::as_str).collect()
    }
}

/// Plays `call`; `answer` gives each attempt's failure and how long it took, and may change the world.
pub(crate) fn play(
    table: &Table,
    world: &mut World,
    call: Call<'_>,
    answer: impl FnMut(&str, &mut World, Timestamp) -> Option<(Failure, Duration)>,
) -> Played {
    let mut plan = CallPlan::new(call.clone(), &table.resolve(call.model).unwrap());
    play_plan(table, world, &mut plan, None, answer)
}

pub(crate) fn play_plan(
    table: &Table,
    world: &mut World,
    plan: &mut CallPlan<'_>,
    share: Option<&RetryShare>,
    mut answer: impl FnMut(&str, &mut World, Timestamp) -> Option<(Failure, Duration)>,
) -> Played {
    let mut now = at(0);
    let mut last = None;
    let mut played = Played { order: Vec::new(), waits: Vec::new(), end: Err(GiveUp::Refused), ended: now };
    for random in 0..1_000_u64 {
        let view = View { table, health: world, stats: &NoStats, retries: share };
        match plan.next(now, random << 40, last.as_ref(), &view) {
            Step::GiveUp(why) => played.end = Err(why),
            Step::Wait { until } => {
                now = until;
                last = None;
                continue;
            }
            Step::Try(attempt) => {
                now = now + attempt.wait;
                let id = table.id(attempt.slot).to_owned();
                played.order.push(id.clone());
                played.waits.push(attempt.wait.as_millis().try_into().unwrap());
                if let Some((failure, took)) = answer(&id, world, now) {
                    now = now + took;
                    last = Some(failure);
                    continue;
                }
                played.end = Ok(id);
            }
        }
        played.ended = now;
        return played;
    }
    panic!("the plan does not end: {played:?}");
}
