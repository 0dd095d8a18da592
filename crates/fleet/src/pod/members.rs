//! Who is in the fleet, as one pod sees it, and who of them goes first.
//!
//! Each pod says every [`HEARTBEAT`] that it is there; one that was not heard for three of them is gone. The order for a
//! deployment is by rendezvous hashing: each pod has a number per deployment and the highest goes first, so a pod that
//! joins or leaves moves only the deployments it is first for.

use std::collections::BTreeMap;
use std::time::Duration;

use haleway_health::Timestamp;

use super::Role;
use crate::PodId;
use crate::id::{hash, mix};

/// How often a pod says that it is there.
pub const HEARTBEAT: Duration = Duration::from_secs(2);
/// How long after its last heartbeat a pod counts as there.
const GONE_AFTER: Duration = Duration::from_secs(7);

/// What a heartbeat says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// How long ago it was sent.
    pub age: Duration,
    /// What the pod is for.
    pub role: Role,
    /// Whether it has heard of a grant that is older than its interval.
    pub informed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    sent: Timestamp,
    role: Role,
    informed: bool,
    weight: u64,
}

/// The fleet as one pod sees it. The pod itself is always part of it.
#[derive(Debug)]
pub struct Members {
    me: PodId,
    role: Role,
    weight: u64,
    others: BTreeMap<PodId, Member>,
}

impl Members {
    /// A pod that has heard of no other.
    pub fn new(me: PodId, role: Role) -> Self {
        Self { weight: hash(me.as_str(), 0), me, role, others: BTreeMap::new() }
    }

    /// Takes in a heartbeat. An older one than the latest of its pod changes nothing.
    pub fn beat(&mut self, now: Timestamp, pod: &PodId, beat: Beat) {
        if *pod == self.me {
            return;
        }
        let sent = now - beat.age;
        self.others.retain(|_, member| member.sent + GONE_AFTER >= now);
        if self.others.get(pod).is_some_and(|known| known.sent > sent) || sent + GONE_AFTER < now {
            return;
        }
        let member = Member { sent, role: beat.role, informed: beat.informed, weight: hash(pod.as_str(), 0) };
        self.others.insert(pod.clone(), member);
    }

    /// The pods that are there, this one included, with their roles.
    pub fn live(&self, now: Timestamp) -> impl Iterator<Item = (&PodId, Role)> {
        std::iter::once((&self.me, self.role)).chain(self.others(now).map(|(pod, member)| (pod, member.role)))
    }

    /// Whether any other pod that is there has heard of a grant that is older than its interval.
    pub fn informed(&self, now: Timestamp) -> bool {
        self.others(now).any(|(_, member)| member.informed)
    }

    /// This pod's place among those that claim, for `deployment`: 0 goes first. A pod that saw the latest probe fail
    /// goes last.
    pub fn rank(&self, now: Timestamp, deployment: &str, doubted_by: Option<&PodId>) -> u32 {
        let key = hash(deployment, 0);
        let place = |pod: &PodId, weight: u64| (doubted_by != Some(pod), mix(key ^ weight));
        let mine = (place(&self.me, self.weight), &self.me);
        let before = self
            .others(now)
            .filter(|(_, member)| member.role.claims())
            .filter(|(pod, member)| (place(pod, member.weight), *pod) > mine)
            .count();
        u32::try_from(before).unwrap_or(u32::MAX)
    }

    fn others(&self, now: Timestamp) -> impl Iterator<Item = (&PodId, &Member)> {
        self.others.iter().filter(move |(_, member)| member.sent + GONE_AFTER >= now)
    }
}
