//! What the scripts answer.

use std::time::Duration;

use redis::{ErrorKind, FromRedisValue, ParsingError, RedisError, RedisResult, Value};

use crate::book::{Answer, Refused};

/// A line of the snapshot: what the fleet knows of one deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Rises with every line of the bucket.
    pub version: u64,
    /// The version of the line that brought the present decision.
    pub decision: u64,
    /// What is known, in the words of the pod that wrote it.
    pub payload: String,
}

impl Line {
    /// Reads `version decision payload`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (version, rest) = text.split_once(' ')?;
        let (decision, payload) = rest.split_once(' ')?;
        Some(Self {
            version: version.parse().ok()?,
            decision: decision.parse().ok()?,
            payload: payload.to_owned(),
        })
    }
}

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// It was written.
    Written(Line),
    /// Somebody wrote since this pod last read: that is there, and this was not written.
    Overtaken(Line),
}

/// A pod's heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Its name.
    pub pod: String,
    /// How long ago it was sent, by the store's clock.
    pub age: Duration,
    /// What it says of itself.
    pub says: String,
}

/// Something pushed by another pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A line was written.
    Line {
        /// The deployment.
        deployment: String,
        /// What is known now.
        line: Line,
    },
    /// A pod saw a deployment fail.
    Failed {
        /// The deployment.
        deployment: String,
        /// What the pod says of it.
        says: String,
    },
    /// A pod counted callers' requests.
    Counted {
        /// The pod.
        pod: String,
        /// What the pod says of them.
        says: String,
    },
    /// The models in the database changed.
    Models {
        /// The pod that changed them.
        pod: String,
    },
}

impl Message {
    /// Reads a message of the channel.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('\n')?;
        match kind {
            "line" => {
                let (_bucket, rest) = rest.split_once('\n')?;
                let (deployment, line) = rest.split_once('\n')?;
                Some(Self::Line { deployment: deployment.to_owned(), line: Line::read(line)? })
            }
            "failed" => {
                let (deployment, says) = rest.split_once('\n')?;
                Some(Self::Failed { deployment: deployment.to_owned(), says: says.to_owned() })
            }
            "counted" => {
                let (pod, says) = rest.split_once('\n')?;
                Some(Self::Counted { pod: pod.to_owned(), says: says.to_owned() })
            }
            "models" => Some(Self::Models { pod: rest.to_owned() }),
            _ => None,
        }
    }
}

/// An answer that is not in the form in which the scripts answer.
pub(super) fn odd() -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, "a script answered in another form"))
}

pub(super) fn read<T: FromRedisValue>(value: Value) -> RedisResult<T> {
    T::from_redis_value(value).map_err(|_: ParsingError| odd())
}

/// The answer to a claim, and the store's clock.
pub(super) fn claim(value: Value) -> RedisResult<(Answer, u64)> {
    let (what, span, seq, now): (String, u64, u64, u64) = read(value)?;
    let span = Duration::from_millis(span);
    let answer = match what.as_str() {
        "touch" => Answer::Touch { wait: span },
        "wait" => Answer::Wait { wait: span },
        "quarantine" => Answer::Quarantine { wait: span },
        "grant" => Answer::Grant { seq, next: span },
        _ => return Err(odd()),
    };
    Ok((answer, now))
}

/// The answer to a verdict.
pub(super) fn commit(value: Value) -> RedisResult<Result<Duration, Refused>> {
    let (what, number, _now): (String, u64, u64) = read(value)?;
    match what.as_str() {
        "ok" => Ok(Ok(Duration::from_millis(number))),
        "stale" => Ok(Err(Refused::Stale { latest: number })),
        "gone" => Ok(Err(Refused::Gone)),
        _ => Err(odd()),
    }
}
