//! What the registry is told about a deployment and about a model group.
//!
//! A specification is identity, place in the tree of fault domains, and numbers. It holds no secret and no
//! URL with credentials: a credential and an account are hashes, an endpoint is `scheme://host:port`.

use std::sync::Arc;

use crate::{PanicParams, Params, ProbeParams, Proof};

/// The place of a model group in this process's tables. Stable for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupIx(pub u32);

/// One deployment, as the configuration describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The deployment's id: the key of everything learnt about it, across reloads and restarts.
    pub id: Arc<str>,
    /// Name of the model group it serves.
    pub group: Arc<str>,
    /// What it serves, such as `chat`. Health is kept per (deployment, mode).
    pub mode: &'static str,
    /// Hash of provider and key; deployments with equal values share one credential.
    pub credential: u64,
    /// Hash of the account that pays; the credential's value when nothing better is known.
    pub account: u64,
    /// `scheme://host:port` that is called.
    pub endpoint: Arc<str>,
    /// Name of the provider.
    pub provider: Arc<str>,
    /// The numbers of its machine.
    pub params: Params,
    /// How it is probed; `None` = never in the background.
    pub probe: Option<ProbeParams>,
    /// Why it is not probed, when it is not.
    pub skip_reason: Option<&'static str>,
    /// Hash of what decides whether a configuration fault may be healed: key and base URL. A reload that
    /// changes it lets a deployment out for a configuration fault try again.
    pub identity: u64,
    /// Weight in the share that panic and the ejection cap look at, above 0; 1 unless configured.
    pub weight: f32,
    /// Estimated price of one real probe in billionths of a US dollar: the cheapest member of a fault domain is
    /// probed for all.
    pub probe_price_nanousd: u64,
    /// A real probe costs so much that a free call goes first and pays only while the deployment is out.
    pub costly: bool,
    /// What the free call of its provider shows when it passes; `None` when there is no free call.
    pub free_call: Option<Proof>,
    /// Most probes in flight at this endpoint; `None` = the limit given to the planner.
    pub endpoint_limit: Option<u16>,
}

impl Spec {
    /// A deployment with `params`, not probed, alone in every fault domain, weight 1.
    pub fn new(id: &str, group: &str, params: Params) -> Self {
        let own = crate::seed::hash(id.as_bytes(), 0);
        Self {
            id: Arc::from(id),
            group: Arc::from(group),
            mode: "chat",
            credential: own,
            account: own,
            endpoint: Arc::from(format!("http://{id}")),
            provider: Arc::from(id),
            params,
            probe: None,
            skip_reason: None,
            identity: 0,
            weight: 1.0,
            probe_price_nanousd: 0,
            costly: false,
            free_call: None,
            endpoint_limit: None,
        }
    }
}

/// One model group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSpec {
    /// Its name.
    pub name: Arc<str>,
    /// What it does when too few members are in.
    pub panic: PanicParams,
    /// Whether a call that finds the group out may go to another group.
    pub has_fallback: bool,
}

impl GroupSpec {
    /// A group without a fallback.
    pub fn new(name: &str, panic: PanicParams) -> Self {
        Self { name: Arc::from(name), panic, has_fallback: false }
    }
}
