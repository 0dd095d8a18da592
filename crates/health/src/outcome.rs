//! One piece of evidence: the result of one attempt, with who saw it, when it was sent and what it cost.

use std::time::Duration;

use crate::{Class, Scope, Timestamp};

/// The place of a deployment in this process's tables. Stable for the life of the process: a removed
/// deployment leaves a hole, a reload appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// Counts a deployment's changes of state. Evidence from an older generation moves nothing.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Generation(pub u32);

/// Names one trial lease; a verdict that carries another one changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrialId(pub u64);

/// How the evidence came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A background or on-demand probe.
    Probe,
    /// A caller's request.
    Traffic,
    /// The one attempt that decides an isolation, by probe or by a caller's request.
    Trial,
    /// Another pod's evidence.
    Peer,
}

impl Source {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Traffic => "traffic",
            Self::Trial => "trial",
            Self::Peer => "peer",
        }
    }
}

/// How much of the road a probe travelled. Only generation proves that the model can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// A call that costs nothing: list of models, count of tokens.
    Free,
    /// A real call of the deployment's operation. All traffic is of this depth.
    Generation,
}

impl Depth {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Generation => "generation",
        }
    }
}

/// What a passed call at [`Depth::Free`] shows beyond that somebody answers. A real call shows everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Proof {
    /// The credential is accepted.
    pub credential: bool,
    /// The credential may use the model, or the model's endpoint is ready. That the model is listed is less.
    pub model: bool,
    /// The account can pay.
    pub credit: bool,
}

impl Proof {
    /// Only that somebody answers.
    pub const NOTHING: Self = Self { credential: false, model: false, credit: false };
    /// What a list of models shows.
    pub const CREDENTIAL: Self = Self { credential: true, ..Self::NOTHING };
}

/// The result of one attempt on one deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The cause, as the classifier names it.
    pub class: Class,
    /// What the cause applies to.
    pub scope: Scope,
    /// How the evidence came about.
    pub source: Source,
    /// How much of the road it travelled.
    pub depth: Depth,
    /// What it shows when it passed at [`Depth::Free`]; without meaning otherwise.
    pub proof: Proof,
    /// HTTP status the provider answered, or the one that stands for the fault (408 for an own deadline,
    /// 500 for a broken connection); 0 when nothing was sent.
    pub status: u16,
    /// A fixed word for the phase or detail, such as `first_token` or `stream_cut`; empty when the class says
    /// it all.
    pub reason: &'static str,
    /// When the attempt was sent. This, not the time of reading, is the age of the evidence.
    pub sent_at: Timestamp,
    /// From sending to the end of the answer, or to the fault.
    pub latency: Duration,
    /// From sending to the first output of a stream.
    pub first_token: Option<Duration>,
    /// The wait the provider stated, already clamped.
    pub retry_after: Option<Duration>,
    /// Price of the attempt in billionths of a US dollar; 0 for traffic, which the caller pays.
    pub price_nanousd: u64,
    /// The deployment's generation when the attempt was sent.
    pub generation: Generation,
    /// The lease, when this is a trial.
    pub trial: Option<TrialId>,
    /// A hash of the request, set when the same request failed the same way on another deployment too: the
    /// request, not the deployment, may be what is broken.
    pub shared_failure: Option<u64>,
}

impl Outcome {
    /// Whether a success like this one proves that the credential is accepted.
    pub(crate) fn proves_credential(&self) -> bool {
        self.depth == Depth::Generation || self.proof.credential
    }

    /// Whether a success like this one proves that the account can pay.
    pub(crate) fn proves_credit(&self) -> bool {
        self.depth == Depth::Generation || self.proof.credit
    }

    /// Whether a success like this one disproves a fault of `class` of the configuration.
    pub(crate) fn disproves(&self, class: Option<Class>) -> bool {
        match class {
            _ if self.depth == Depth::Generation => true,
            Some(Class::Auth) => self.proof.credential,
            Some(Class::ModelNotFound | Class::Permission) => self.proof.model,
            Some(_) | None => false,
        }
    }

    /// Evidence of `class` with that class's default scope, sent at `sent_at`, and nothing else known.
    pub const fn new(class: Class, source: Source, sent_at: Timestamp, generation: Generation) -> Self {
        Self {
            class,
            scope: class.default_scope(),
            source,
            depth: Depth::Generation,
            proof: Proof::CREDENTIAL,
            status: 0,
            reason: "",
            sent_at,
            latency: Duration::ZERO,
            first_token: None,
            retry_after: None,
            price_nanousd: 0,
            generation,
            trial: None,
            shared_failure: None,
        }
    }
}
