//! The names of the fleet's keys.
//!
//! Deployments are spread over sixteen buckets. Everything of a bucket carries its tag, so that each script touches one
//! slot of a cluster.

use crate::id::hash;

/// Number of buckets.
pub const BUCKETS: u8 = 16;

/// One of the sixteen shares of all deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket(u8);

impl Bucket {
    /// The bucket of a deployment: the same in every pod and version.
    pub fn of(deployment: &str) -> Self {
        Self((hash(deployment, 0) % u64::from(BUCKETS)) as u8)
    }

    /// The bucket of this number.
    pub fn numbered(number: u8) -> Option<Self> {
        (number < BUCKETS).then_some(Self(number))
    }

    /// Every bucket, in order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..BUCKETS).map(Self)
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Makes keys in one namespace.
#[derive(Clone, Debug)]
pub(super) struct Names {
    prefix: String,
}

impl Names {
    pub(super) fn new(namespace: &str) -> Self {
        Self { prefix: format!("{namespace}:fleet:") }
    }

    fn tagged(&self, bucket: Bucket, name: &str) -> String {
        format!("{}{{hb{}}}:{name}", self.prefix, bucket.0)
    }

    /// Hash: the permit book's record.
    pub(super) fn permit(&self, deployment: &str) -> String {
        self.tagged(Bucket::of(deployment), &format!("permit:{deployment}"))
    }

    /// String: who holds the trial of a caller's request.
    pub(super) fn trial(&self, deployment: &str) -> String {
        self.tagged(Bucket::of(deployment), &format!("trial:{deployment}"))
    }

    /// Hash: what the fleet knows, by deployment.
    pub(super) fn snapshot(&self, bucket: Bucket) -> String {
        self.tagged(bucket, "snapshot")
    }

    /// Number: version of the latest line of the snapshot.
    pub(super) fn version(&self, bucket: Bucket) -> String {
        self.tagged(bucket, "version")
    }

    /// Hash: heartbeats, by pod.
    pub(super) fn pods(&self) -> String {
        format!("{}pods", self.prefix)
    }

    /// Hash: what probes used up today.
    pub(super) fn spent(&self) -> String {
        format!("{}spent", self.prefix)
    }

    /// Channel: lines of the snapshot as they are written, and failures that pods saw.
    pub(super) fn channel(&self) -> String {
        format!("{}news", self.prefix)
    }
}
