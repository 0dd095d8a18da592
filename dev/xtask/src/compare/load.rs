//! One run of `wrk`, and what it printed.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::stdout;

/// What one run saw.
#[derive(Debug, PartialEq)]
pub(super) struct Load {
    pub(super) requests: u64,
    /// Answers that were not a success, and socket errors.
    pub(super) failed: u64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

/// Sends the same request over `connections` connections for `seconds`, from core 1.
pub(super) fn run(script: &Path, port: u16, connections: usize, seconds: u64) -> Result<Load> {
    let printed = stdout(
        Command::new("taskset")
            .args(["-c", "1", "wrk", "-t1", "--latency", "--timeout", "5s"])
            .arg(format!("-c{connections}"))
            .arg(format!("-d{seconds}s"))
            .arg("-s")
            .arg(script)
            .arg(format!("http://127.0.0.1:{port}/v1/chat/completions")),
    )?;
    parse(&printed).with_context(|| format!("wrk printed something unexpected:\n{printed}"))
}

fn parse(printed: &str) -> Option<Load> {
    let after = |key: &str| printed.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
    let requests = printed.lines().find_map(|line| line.trim().split_once(" requests in "))?.0;
    let refused = after("Non-2xx or 3xx responses:").map_or(Some(0), |count| count.parse().ok())?;
    let broken: u64 = after("Socket errors:").map_or(0, |line| {
        line.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse::<u64>().ok()).sum()
    });
    Some(Load {
        requests: requests.parse().ok()?,
        failed: refused + broken,
        p50_us: microseconds(after("50%")?)?,
        p99_us: microseconds(after("99%")?)?,
    })
}

/// `0.91ms` and its like.
fn microseconds(text: &str) -> Option<f64> {
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let factor = match &text[unit..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    Some(text[..unit].parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "Running 8s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n  \
        Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.51ms  200.00us   9.00ms   90.00%\n    \
        Req/Sec    42.00k     1.00k   45.00k    75.00%\n  Latency Distribution\n     50%  910.00us\n     \
        75%    1.60ms\n     90%    1.80ms\n     99%    2.10ms\n  336000 requests in 8.01s, 400.00MB read\n";

    #[test]
    fn a_run_is_read() {
        let load = parse(PRINTED).unwrap();
        assert_eq!(load, Load { requests: 336_000, failed: 0, p50_us: 910.0, p99_us: 2_100.0 });
    }

    #[test]
    fn failures_of_both_kinds_are_counted() {
        let text = format!(
            "{PRINTED}  Socket errors: connect 0, read 3, write 0, timeout 2\n  Non-2xx or 3xx responses: 7\n"
        );
        assert_eq!(parse(&text).unwrap().failed, 12);
    }

    #[test]
    fn anything_else_is_not_a_run() {
        assert_eq!(parse("unable to connect to 127.0.0.1:1 Connection refused\n"), None);
    }
}
