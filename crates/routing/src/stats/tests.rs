use std::time::Duration;

use super::*;
use crate::testing::{at, ms};

const D: Slot = Slot(0);

fn served(table: &StatsTable, now: u64, total: u64) {
    let sample = Sample { total: ms(total), ..Sample::default() };
    table.begin(D, at(now)).unwrap().served(at(now), &sample);
}

fn failed(table: &StatsTable, now: u64, took: u64) {
    table.begin(D, at(now)).unwrap().failed(at(now), ms(took));
}

#[test]
fn a_dropped_request_is_no_longer_in_flight_and_judges_nobody() {
    let table = StatsTable::new(1);
    let (one, two) = (table.begin(D, at(0)).unwrap(), table.begin(D, at(0)).unwrap());
    assert_eq!(table.in_flight(D), 2);
    drop(one);
    assert_eq!(table.in_flight(D), 1);
    drop(two);
    assert_eq!((table.in_flight(D), table.latency_ms(D, at(1)), table.penalty_ms(D, at(1))), (0, None, 0.0));
}

#[test]
fn a_peak_counts_at_once_and_fades() {
    let table = StatsTable::new(1);
    served(&table, 1_000, 100);
    served(&table, 1_000, 900);
    assert_eq!(table.first_token_ms(D, at(1_000)), Some(900.0));
    served(&table, 31_000, 100);
    let now = table.first_token_ms(D, at(31_000)).unwrap();
    assert!((300.0..500.0).contains(&now), "1/e of the way up remains: {now}");
    assert!(table.first_token_ms(D, at(121_000)).unwrap() < 50.0, "no news for long: worth another look");
}

#[test]
fn latency_is_the_mean_of_about_ten_samples_and_is_forgotten_after_an_hour() {
    let table = StatsTable::new(1);
    for total in [100, 200, 300] {
        served(&table, 5_000, total);
    }
    assert!((table.latency_ms(D, at(5_000)).unwrap() - 200.0).abs() < 0.1);
    for _ in 0..60 {
        served(&table, 5_000, 1_000);
    }
    assert!(table.latency_ms(D, at(5_000)).unwrap() > 990.0);
    assert!(table.latency_ms(D, at(3_600_000)).is_some());
    assert_eq!(table.latency_ms(D, at(3_700_000)), None);
}

#[test]
fn latency_of_an_answer_counts_per_token_and_that_of_a_stream_to_its_first() {
    let table = StatsTable::new(1);
    let answer = Sample { total: ms(1_000), completion_tokens: 10, ..Sample::default() };
    table.begin(D, at(0)).unwrap().served(at(1_000), &answer);
    assert_eq!(table.latency_ms(D, at(1_000)), Some(100.0));
    let table = StatsTable::new(1);
    let stream = Sample { first_token: Some(ms(50)), ..answer };
    table.begin(D, at(0)).unwrap().served(at(1_000), &stream);
    assert_eq!(table.latency_ms(D, at(1_000)), Some(50.0));
}

#[test]
fn e21_a_failure_never_lowers_a_score() {
    let table = StatsTable::new(1);
    served(&table, 1_000, 150);
    let (latency, first) = (table.latency_ms(D, at(1_000)), table.first_token_ms(D, at(1_000)));
    failed(&table, 1_000, 2);
    assert_eq!((table.latency_ms(D, at(1_000)), table.first_token_ms(D, at(1_000))), (latency, first));
    let penalty = table.penalty_ms(D, at(1_000));
    assert!(penalty >= latency.unwrap());
    failed(&table, 1_000, 20_000);
    assert!(table.penalty_ms(D, at(1_000)) >= penalty + 20_000.0, "lost time counts");
    assert!(table.penalty_ms(D, at(91_000)) < 60.0, "and fades");
    for _ in 0..1_000 {
        failed(&table, 2_000, 60_000);
    }
    assert!(table.penalty_ms(D, at(2_000)) <= 60_000.0, "and is bounded");
}

#[test]
fn f15_scores_start_anew_on_return_but_load_and_use_stay_true() {
    let table = StatsTable::new(1);
    served(&table, 1_000, 90_000);
    failed(&table, 1_000, 90_000);
    let running = table.begin(D, at(1_000));
    table.restart(D);
    assert_eq!(table.first_token_ms(D, at(1_000)), None);
    assert_eq!((table.latency_ms(D, at(1_000)), table.penalty_ms(D, at(1_000))), (None, 0.0));
    assert_eq!((table.in_flight(D), table.used_this_minute(D, at(1_000)).requests), (1, 3));
    drop(running);
}

#[test]
fn use_is_counted_per_minute_of_the_clock() {
    let table = StatsTable::new(1);
    let sample = Sample { total_tokens: 700, ..Sample::default() };
    table.begin(D, at(59_000)).unwrap().served(at(59_500), &sample);
    table.begin(D, at(59_900)).unwrap().served(at(59_950), &sample);
    assert_eq!(table.used_this_minute(D, at(59_999)), Used { requests: 2, tokens: 1_400 });
    assert_eq!(table.used_this_minute(D, at(60_000)), Used { requests: 0, tokens: 0 });
    table.begin(D, at(60_000)).unwrap().served(at(60_500), &sample);
    assert_eq!(table.used_this_minute(D, at(60_900)), Used { requests: 1, tokens: 700 });
}

#[test]
fn a_reload_keeps_the_numbers_and_requests_that_began_before_it() {
    let old = StatsTable::new(3);
    let running = old.begin(D, at(0)).unwrap();
    let new = old.extended(200);
    assert_eq!(new.in_flight(D), 1);
    assert!(new.begin(Slot(199), at(0)).is_some());
    running.served(at(10), &Sample { total: ms(10), ..Sample::default() });
    assert_eq!((new.in_flight(D), new.latency_ms(D, at(10))), (0, Some(10.0)));
}

#[test]
fn a_slot_that_the_table_does_not_have_is_nothing_known() {
    let table = StatsTable::new(1);
    let far = Slot(64);
    assert!(table.begin(far, at(0)).is_none());
    table.restart(far);
    assert_eq!(
        (table.in_flight(far), table.first_token_ms(far, at(0)), table.penalty_ms(far, at(0))),
        (0, None, 0.0)
    );
}

#[test]
fn many_threads_lose_no_count() {
    let table = StatsTable::new(1);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    let sample =
                        Sample { total: Duration::from_millis(5), total_tokens: 3, ..Sample::default() };
                    table.begin(D, at(0)).unwrap().served(at(0), &sample);
                }
            });
        }
    });
    assert_eq!(table.used_this_minute(D, at(0)), Used { requests: 4_000, tokens: 12_000 });
    assert_eq!(table.in_flight(D), 0);
    assert_eq!(table.latency_ms(D, at(0)), Some(5.0));
}
