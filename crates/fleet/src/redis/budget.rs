//! What the fleet's probes may use up in a day: reserved in the store before a permit is asked for.
//!
//! The book of the day is one hash on the store's clock. A reservation whose process dies stays counted, so that the caps
//! hold whatever crashes; a store that came back empty takes over what its callers still know.

use redis::{RedisResult, Value};

use super::{RedisFleet, reply};
use crate::pod::Trouble;

/// Probes and billionths of a dollar: of one deployment, and of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Days since the Unix epoch, UTC, by the store's clock.
    pub day: u64,
    /// Probes of the deployment.
    pub probes: u64,
    /// Their price in billionths of a dollar.
    pub nanousd: u64,
    /// Probes of all.
    pub total_probes: u64,
    /// Their price in billionths of a dollar.
    pub total_nanousd: u64,
}

/// What a day may use up. `None` = no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendCaps {
    /// Probes of the deployment.
    pub probes: Option<u64>,
    /// Billionths of a dollar of the deployment.
    pub nanousd: Option<u64>,
    /// Probes of all.
    pub total_probes: Option<u64>,
    /// Billionths of a dollar of all.
    pub total_nanousd: Option<u64>,
}

/// Which cap is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// Probes of the deployment.
    Probes,
    /// Dollars of the deployment.
    Usd,
    /// Probes of all.
    TotalProbes,
    /// Dollars of all.
    TotalUsd,
}

impl RedisFleet {
    /// Reserves one probe of `deployment` that may cost `nanousd`. `known`: what this process last heard.
    ///
    /// # Errors
    /// When the store does not answer; whether it was reserved is not known then, and counts as if it was.
    pub async fn reserve(
        &self,
        deployment: &str,
        nanousd: u64,
        caps: &SpendCaps,
        known: &Spent,
    ) -> Result<(Option<Reached>, Spent), Trouble> {
        self.spend(deployment, 0, (1, i64::try_from(nanousd).unwrap_or(i64::MAX)), caps, known).await
    }

    /// Adds `probes` and `nanousd`, which may be below zero, to what `deployment` used up on `day`.
    ///
    /// # Errors
    /// When the store does not answer; what was reserved stays counted then.
    pub async fn settle(
        &self,
        deployment: &str,
        day: u64,
        probes: i64,
        nanousd: i64,
        known: &Spent,
    ) -> Result<Spent, Trouble> {
        let answer = self.spend(deployment, day, (probes, nanousd), &SpendCaps::default(), known).await?;
        Ok(answer.1)
    }

    async fn spend(
        &self,
        deployment: &str,
        day: u64,
        (probes, nanousd): (i64, i64),
        caps: &SpendCaps,
        known: &Spent,
    ) -> Result<(Option<Reached>, Spent), Trouble> {
        let cap = |cap: Option<u64>| cap.and_then(|cap| i64::try_from(cap).ok()).unwrap_or(-1);
        let mut call = self.scripts.spend.prepare_invoke();
        call.key(self.names.spent()).arg(deployment).arg(day).arg(probes).arg(nanousd);
        for cap in [caps.probes, caps.nanousd, caps.total_probes, caps.total_nanousd].map(cap) {
            call.arg(cap);
        }
        for number in [known.day, known.probes, known.nanousd, known.total_probes, known.total_nanousd] {
            call.arg(number);
        }
        let value = self.script(&call).await?;
        read(value).map_err(|error| self.failed(&error))
    }
}

fn read(value: Value) -> RedisResult<(Option<Reached>, Spent)> {
    let (what, day, probes, nanousd, total_probes, total_nanousd): (u8, u64, i64, i64, i64, i64) =
        reply::read(value)?;
    let reached = match what {
        0 => None,
        1 => Some(Reached::Probes),
        2 => Some(Reached::Usd),
        3 => Some(Reached::TotalProbes),
        4 => Some(Reached::TotalUsd),
        _ => return Err(reply::odd()),
    };
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    let spent = Spent {
        day,
        probes: count(probes),
        nanousd: count(nanousd),
        total_probes: count(total_probes),
        total_nanousd: count(total_nanousd),
    };
    Ok((reached, spent))
}
