use super::*;

const DAY: u64 = 24 * 60 * 60 * 1000;

fn a() -> Arc<str> {
    "a".into()
}

fn b() -> Arc<str> {
    "b".into()
}

fn noon(day: u64) -> Timestamp {
    Timestamp::from_millis(day * DAY + DAY / 2)
}

/// Cents.
fn cents(count: u64) -> Usd {
    Usd::from_femtodollars(10_000_000_000_000).times(count)
}

fn paid(price: Usd) -> Charge {
    Charge { usd: Some(price), estimated: false, tokens: 15 }
}

/// Sends probes that cost `price` until a cap stops them; how many, and the cap.
fn spend(ledger: &Ledger, deployment: &Arc<str>, caps: &Caps, price: Usd, now: Timestamp) -> (u32, Stop) {
    for sent in 0..1_000 {
        match ledger.reserve(deployment, caps, Some(price), now) {
            Ok(reservation) => reservation.settle(Rung::Generation, &paid(price), now),
            Err(stop) => return (sent, stop),
        }
    }
    panic!("no cap stopped it");
}

#[test]
fn a_daily_number_of_probes_ends_paying_until_midnight() {
    let ledger = Ledger::default();
    let caps = Caps { probes: Some(3), ..Caps::default() };
    let (sent, stop) = spend(&ledger, &a(), &caps, cents(1), noon(10));
    assert_eq!((sent, stop.cap, stop.until), (3, Cap::Probes, Timestamp::from_millis(11 * DAY)));
    assert!(stop.news, "told once");
    assert!(!ledger.reserve(&a(), &caps, None, noon(10)).unwrap_err().news, "and not again");
    assert!(ledger.reserve(&b(), &caps, None, noon(10)).is_ok(), "another deployment has its own");
    assert!(ledger.reserve(&a(), &caps, None, stop.until).is_ok(), "a new day");
}

#[test]
fn dollars_are_capped_for_one_and_for_all() {
    let ledger = Ledger::default();
    let caps = Caps { usd: Some(cents(10)), total_usd: Some(cents(15)), ..Caps::default() };
    let (sent, stop) = spend(&ledger, &a(), &caps, cents(3), noon(1));
    assert_eq!((sent, stop.cap), (3, Cap::Usd), "a fourth would be 12 cents");
    let (sent, stop) = spend(&ledger, &b(), &caps, cents(3), noon(1));
    assert_eq!((sent, stop.cap), (2, Cap::TotalUsd));
    assert_eq!(ledger.total(noon(1)).sum().usd, cents(15));
    assert_eq!(ledger.account(&b(), noon(1)).stopped(), Some(Cap::TotalUsd));
}

#[test]
fn all_together_have_a_number_of_probes() {
    let ledger = Ledger::default();
    let caps = Caps { total_probes: Some(2), ..Caps::default() };
    let (sent, _) = spend(&ledger, &a(), &caps, Usd::ZERO, noon(1));
    let stop = ledger.reserve(&b(), &caps, None, noon(1)).unwrap_err();
    assert_eq!((sent, stop.cap, stop.news), (2, Cap::TotalProbes, false), "told by the first");
}

#[test]
fn i12_probes_in_flight_together_cannot_pass_a_cap() {
    let ledger = Ledger::default();
    let caps = Caps { usd: Some(cents(10)), ..Caps::default() };
    let flying: Vec<_> =
        (0..20).map_while(|_| ledger.reserve(&a(), &caps, Some(cents(4)), noon(1)).ok()).collect();
    assert_eq!(flying.len(), 2);
    drop(flying);
    assert!(ledger.reserve(&a(), &caps, Some(cents(4)), noon(1)).is_ok(), "given back unused");
    assert_eq!(ledger.account(&a(), noon(1)).sum().requests, 0);
}

#[test]
fn a_cap_of_nothing_lets_nothing_through() {
    let ledger = Ledger::default();
    for caps in [
        Caps { probes: Some(0), ..Caps::default() },
        Caps { usd: Some(Usd::ZERO), ..Caps::default() },
        Caps { total_probes: Some(0), ..Caps::default() },
        Caps { total_usd: Some(Usd::ZERO), ..Caps::default() },
    ] {
        assert!(ledger.reserve(&a(), &caps, None, noon(1)).is_err(), "{caps:?}");
    }
}

#[test]
fn free_calls_are_written_down_and_use_up_nothing() {
    let ledger = Ledger::default();
    let caps = Caps { probes: Some(1), ..Caps::default() };
    for _ in 0..5 {
        ledger.free(&a(), noon(1));
    }
    assert!(ledger.reserve(&a(), &caps, None, noon(1)).is_ok());
    let account = ledger.account(&a(), noon(1));
    assert_eq!((account.line(Rung::Free).requests, account.sum().usd), (5, Usd::ZERO));
}

#[test]
fn an_unknown_price_is_not_zero() {
    let ledger = Ledger::default();
    let reservation = ledger.reserve(&a(), &Caps::default(), None, noon(1)).unwrap();
    reservation.settle(Rung::OnDemand, &Charge { usd: None, estimated: false, tokens: 15 }, noon(1));
    let line = ledger.account(&a(), noon(1)).line(Rung::OnDemand);
    assert_eq!((line.requests, line.unpriced, line.tokens, line.usd), (1, 1, 15, Usd::ZERO));
}

#[test]
fn a_probe_over_midnight_counts_on_the_day_of_its_answer() {
    let ledger = Ledger::default();
    let caps = Caps { probes: Some(1), ..Caps::default() };
    let late = Timestamp::from_millis(2 * DAY - 1);
    let reservation = ledger.reserve(&a(), &caps, Some(cents(1)), late).unwrap();
    let early = Timestamp::from_millis(2 * DAY + 1);
    assert!(ledger.reserve(&a(), &caps, None, early).is_err(), "still reserved");
    reservation.settle(Rung::Generation, &paid(cents(1)), early);
    assert_eq!(ledger.account(&a(), early).sum().usd, cents(1));
    assert_eq!(ledger.account(&a(), noon(3)).sum().requests, 0);
}

#[test]
fn yesterdays_deployments_are_forgotten_but_for_what_is_in_flight() {
    let ledger = Ledger::default();
    let flying = ledger.reserve(&a(), &Caps::default(), Some(cents(2)), noon(1)).unwrap();
    ledger.free(&b(), noon(1));
    ledger.free(&a(), noon(2));
    assert_eq!(ledger.book.lock().known(), 1, "only the one whose probe is still out");
    drop(flying);
    assert_eq!(ledger.total(noon(3)).sum().usd, Usd::ZERO);
}

#[test]
fn the_page_names_the_cap_and_the_end_of_the_day() {
    let ledger = Ledger::default();
    let caps = Caps { probes: Some(1), usd: Some(cents(50)), ..Caps::default() };
    spend(&ledger, &a(), &caps, cents(1), noon(20_787));
    let shown = ProbeCost::of_deployment(&ledger.account(&a(), noon(20_787)), &caps, noon(20_787));
    assert_eq!(
        serde_json::to_value(&shown).unwrap(),
        serde_json::json!({
            "day": "2026-11-30",
            "requests": 1, "usd": 0.01, "tokens": 15, "estimated_requests": 0, "unpriced_requests": 0,
            "rungs": {"generation": {
                "requests": 1, "usd": 0.01, "tokens": 15, "estimated_requests": 0, "unpriced_requests": 0,
            }},
            "budget": {
                "probes_per_day": 1, "usd_per_day": 0.5,
                "used_up": "probes_per_day", "resumes_at": "2026-12-01T00:00:00.000Z",
            },
        })
    );
}
