//! The book and the scripts agree, step by step, on histories that no clock of a real store would run through.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::book::{Book, Record, ReplicationId, StoreTime, Terms, Verdict};
use crate::redis::scripts::{CLAIM, COMMIT};

/// Stands in for the scripts' own clock: time and history are the last two arguments.
const GIVEN: &str = "local now, history = tonumber(ARGV[#ARGV - 1]), ARGV[#ARGV]\n";

#[derive(Clone, Debug)]
enum Step {
    Claim { interval: u64, hold: u64, touch: u64, split: u64, pod: u8 },
    Commit { behind: u64, interval: u64, gap: u64 },
    Pass(u64),
    SetBack(u64),
    FailOver,
    Lose,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let span = || prop::sample::select(vec![0_u64, 1, 1_000, 5_000, 25_000, 60_000, 300_000]);
    let step = prop_oneof![
        8 => (span(), span(), span(), prop::sample::select(vec![0_u64, 2_000]), 0..3_u8)
            .prop_map(|(interval, hold, touch, split, pod)| Step::Claim { interval, hold, touch, split, pod }),
        5 => (prop::sample::select(vec![0_u64, 0, 0, 1, 2]), span(), span())
            .prop_map(|(behind, interval, gap)| Step::Commit { behind, interval, gap }),
        6 => (0..70_000_u64).prop_map(Step::Pass),
        1 => (0..4_000_000_u64).prop_map(Step::SetBack),
        1 => Just(Step::FailOver),
        1 => Just(Step::Lose),
    ];
    prop::collection::vec(step, 1..60)
}

/// Both sides of the comparison.
struct Both {
    fleet: RedisFleet,
    claim: redis::Script,
    commit: redis::Script,
    key: String,
    book: Book,
    now: u64,
    history: u32,
}

impl Both {
    fn history(&self) -> ReplicationId {
        ReplicationId::new(&format!("history-{}", self.history))
    }

    async fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Pass(millis) => self.now += millis,
            Step::SetBack(millis) => self.now -= millis,
            Step::FailOver => self.history += 1,
            Step::Lose => {
                let _: u64 = self.fleet.command(redis::cmd("DEL").arg(&self.key)).await.unwrap();
                self.book = Book::new();
            }
            Step::Claim { interval, hold, touch, split, pod } => {
                let terms = Terms {
                    interval: Duration::from_millis(interval),
                    hold: Duration::from_millis(hold),
                    first_touch: Duration::from_millis(touch),
                    split_brain: Duration::from_millis(split),
                };
                let (pod, history) = (PodId::new(&format!("pod-{pod}")), self.history());
                let expected = self.book.claim(StoreTime::from_millis(self.now), &history, &terms, &pod);
                let mut call = self.claim.prepare_invoke();
                call.key(&self.key).arg(pod.as_str());
                for number in [interval, hold, touch, split, self.now] {
                    call.arg(number);
                }
                call.arg(history.as_str());
                let (found, _) = reply::claim(self.fleet.script(&call).await.unwrap()).unwrap();
                prop_assert_eq!(found, expected);
            }
            Step::Commit { behind, interval, gap } => {
                let latest = self.book.record().map_or(1, |record| record.seq);
                let verdict = Verdict {
                    seq: latest.saturating_sub(behind),
                    next_interval: Duration::from_millis(interval),
                    min_gap: Duration::from_millis(gap),
                    state: format!("state {latest}").into(),
                };
                let expected = self.book.commit(StoreTime::from_millis(self.now), &verdict);
                let mut call = self.commit.prepare_invoke();
                call.key(&self.key).arg(verdict.seq).arg(interval).arg(gap).arg(&*verdict.state);
                call.arg(self.now).arg(self.history().as_str());
                prop_assert_eq!(reply::commit(self.fleet.script(&call).await.unwrap()).unwrap(), expected);
            }
        }
        let kept: HashMap<String, String> =
            self.fleet.command(redis::cmd("HGETALL").arg(&self.key)).await.unwrap();
        prop_assert_eq!(kept, self.book.record().map(fields).unwrap_or_default());
        Ok(())
    }
}

/// The record as the store keeps it.
fn fields(record: &Record) -> HashMap<String, String> {
    let time = |at: Option<StoreTime>| at.map(|at| at.as_millis().to_string());
    let span = |span: Duration| Some(span.as_millis().to_string());
    let number = |number: u64| Some(number.to_string());
    let counted = |number: u64| (number > 0).then(|| number.to_string());
    [
        ("seq", number(record.seq)),
        ("cseq", number(record.committed_seq)),
        ("rid", Some(record.replication_id.as_str().to_owned())),
        ("due", time(Some(record.due))),
        ("floor", time(Some(record.floor))),
        ("gap", span(record.gap)),
        ("gts", time(record.granted_at)),
        ("own", record.owner.as_ref().map(ToString::to_string)),
        ("cts", time(record.committed_at)),
        ("rest", span(record.rest)),
        ("st", record.state.as_deref().map(str::to_owned)),
        ("obs", time(record.observed_at)),
        ("oby", record.observed_by.as_ref().map(ToString::to_string)),
        ("ver", counted(record.version)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

#[test]
fn the_scripts_do_what_the_book_says() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (server, clock) = (Server::start(), Clock::new());
    let fleet = runtime.block_on(pod(&server, "n", "p", &clock));
    let both = std::cell::RefCell::new(Both {
        fleet,
        claim: redis::Script::new(&format!("{GIVEN}{CLAIM}")),
        commit: redis::Script::new(&format!("{GIVEN}{COMMIT}")),
        key: "record".to_owned(),
        book: Book::new(),
        now: 0,
        history: 0,
    });
    let mut runner = TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    runner
        .run(&steps(), |steps| {
            let mut both = both.borrow_mut();
            both.now = 1_800_000_000_000;
            runtime.block_on(async {
                both.step(&Step::Lose).await?;
                for step in &steps {
                    both.step(step).await?;
                }
                Ok(())
            })
        })
        .unwrap();
}
