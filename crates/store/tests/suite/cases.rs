//! What every database must do. Each case gets an empty one.

use std::time::Duration;

use haleway_store::{HistoryQuery, IncidentQuery, ModelRow, Retention, Return, Store, StoreError, Write};

use crate::samples::{NOON, audit, check, incident, model, order, spent};

const DAY: u64 = 24 * 60 * 60 * 1000;

fn page(limit: u32, offset: u64) -> HistoryQuery {
    HistoryQuery { limit, offset, ..HistoryQuery::default() }
}

pub(crate) async fn checks_come_back_as_they_were_newest_first_with_the_real_total(store: Store) {
    let rows: Vec<_> = (0..25)
        .map(|n| check(&format!("c{n:02}"), ["d1", "d2"][n as usize % 2], n % 3 != 0, NOON + n))
        .collect();
    let batch: Vec<_> = rows.iter().cloned().map(Write::Check).collect();
    store.write(&batch).await.unwrap();
    let found = store.history(&page(10, 5)).await.unwrap();
    assert_eq!(found.total, 25);
    let expected: Vec<_> = rows.iter().rev().skip(5).take(10).cloned().collect();
    assert_eq!(found.checks, expected);
    let of = |model: Option<&str>, status: Option<&str>| HistoryQuery {
        model: model.map(str::to_owned),
        status: status.map(str::to_owned),
        ..page(100, 0)
    };
    assert_eq!(store.history(&of(Some("group-d2"), None)).await.unwrap().total, 12);
    let down = store.history(&of(Some("group-d2"), Some("unhealthy"))).await.unwrap();
    assert_eq!((down.total, down.checks.len()), (4, 4));
    assert!(down.checks.iter().all(|row| !row.healthy && row.model_name == "group-d2"));
    // What a caller sends is a value, whatever it looks like.
    assert_eq!(store.history(&of(Some("' OR 1=1 --"), None)).await.unwrap().total, 0);
}

pub(crate) async fn a_batch_whose_answer_was_lost_is_written_again_without_harm(store: Store) {
    let back = Write::Ended(Return { deployment: "d1".to_owned(), at: NOON + 9, probe_nanousd: 40 });
    let batch = [
        Write::Check(check("c1", "d1", false, NOON)),
        incident("i1", "d1", NOON),
        back,
        Write::Spent(spent("run", 3)),
        Write::Order(order("d1", Some("drain"), NOON, None)),
        Write::Audit(audit("a1", NOON)),
    ];
    store.write(&batch).await.unwrap();
    store.write(&batch).await.unwrap();
    assert_eq!(store.history(&page(9, 0)).await.unwrap().total, 1);
    let incidents = store.incidents(&IncidentQuery { limit: 9, ..IncidentQuery::default() }).await.unwrap();
    assert_eq!(incidents.len(), 1);
    assert_eq!((incidents[0].ended_at, incidents[0].probe_nanousd), (Some(NOON + 9), 40));
    assert_eq!(store.spent_on(20_787).await.unwrap()[0].requests, 3);
    assert_eq!(store.audit(9).await.unwrap(), [audit("a1", NOON)]);
}

pub(crate) async fn the_latest_is_one_row_per_deployment_and_never_an_older_one(store: Store) {
    let newer = check("c2", "d1", false, NOON + 100);
    store.write(&[Write::Check(newer.clone())]).await.unwrap();
    let other = check("c3", "d2", true, NOON);
    let late = [Write::Check(check("c1", "d1", true, NOON)), Write::Check(other.clone())];
    store.write(&late).await.unwrap();
    assert_eq!(store.latest().await.unwrap(), [newer, other]);
}

pub(crate) async fn an_incident_begins_once_and_ends_once(store: Store) {
    let back = |at| Write::Ended(Return { deployment: "d1".to_owned(), at, probe_nanousd: 7 });
    store.write(&[back(NOON), incident("i1", "d1", NOON), incident("i2", "d1", NOON + 1)]).await.unwrap();
    let open = IncidentQuery { open_only: true, limit: 9, ..IncidentQuery::default() };
    let found = store.incidents(&open).await.unwrap();
    assert_eq!(found.iter().map(|row| row.incident_id.as_str()).collect::<Vec<_>>(), ["i1"]);
    store.write(&[back(NOON + 50), back(NOON + 60), incident("i3", "d1", NOON + 70)]).await.unwrap();
    let all = IncidentQuery { open_only: false, model: Some("d1".to_owned()), ..open };
    let found = store.incidents(&all).await.unwrap();
    let ends: Vec<_> = found.iter().map(|row| (row.incident_id.as_str(), row.ended_at)).collect();
    assert_eq!(ends, [("i3", None), ("i1", Some(NOON + 50))]);
}

pub(crate) async fn the_ledger_adds_up_what_every_life_of_every_process_spent(store: Store) {
    let batch = [spent("one", 2), spent("two", 5), spent("one", 4)].map(Write::Spent);
    store.write(&batch).await.unwrap();
    let found = store.spent_on(20_787).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].requests, found[0].nanousd, found[0].tokens, found[0].estimated),
        (9, 13_500, 135, 2)
    );
    assert!(store.spent_on(20_788).await.unwrap().is_empty());
}

pub(crate) async fn the_newest_order_counts_until_its_time(store: Store) {
    let orders = [
        order("d1", Some("disable"), NOON + 5, None),
        order("d1", Some("drain"), NOON, None),
        order("d2", Some("force-up"), NOON, Some(NOON + 1_000)),
        order("d3", Some("drain"), NOON, None),
    ];
    store.write(&orders.clone().map(Write::Order)).await.unwrap();
    assert_eq!(
        store.orders(NOON + 999).await.unwrap(),
        [&orders[0], &orders[2], &orders[3]].map(Clone::clone)
    );
    // An end that was given before the order that stands does not end it.
    let ends = [order("d1", None, NOON, None), order("d3", None, NOON + 1, None)];
    store.write(&ends.map(Write::Order)).await.unwrap();
    assert_eq!(store.orders(NOON + 1_000).await.unwrap(), [orders[0].clone()]);
}

pub(crate) async fn forgetting_goes_in_small_steps_and_spares_what_stands(store: Store) {
    let now = NOON + 40 * DAY;
    let old = (0..2_500).map(|n| Write::Check(check(&format!("c{n}"), "d1", true, NOON + n)));
    let mut batch: Vec<_> = old.collect();
    batch.extend((0..10).map(|n| Write::Check(check(&format!("n{n}"), "d2", true, now - n))));
    batch.extend([incident("open", "d1", NOON), Write::Order(order("d1", Some("drain"), NOON, None))]);
    batch.push(Write::Audit(audit("a1", NOON)));
    store.write(&batch).await.unwrap();
    let by_age = Retention { age: Some(Duration::from_secs(30 * 86_400)), rows: None };
    assert!(store.forget(by_age, now).await.unwrap());
    assert_eq!(store.history(&page(1, 0)).await.unwrap().total, 1_510);
    assert!(store.forget(by_age, now).await.unwrap());
    assert!(!store.forget(by_age, now).await.unwrap());
    assert_eq!(store.history(&page(1, 0)).await.unwrap().total, 10);
    assert!(store.audit(9).await.unwrap().is_empty());
    let by_rows = Retention { age: None, rows: Some(4) };
    assert!(!store.forget(by_rows, now).await.unwrap());
    let left = store.history(&page(9, 0)).await.unwrap();
    assert_eq!(left.checks.last().map(|row| row.health_check_id.as_str()), Some("n3"));
    assert_eq!(store.latest().await.unwrap().len(), 2, "the latest of d1 is known for ever");
    let open = IncidentQuery { open_only: true, limit: 9, ..IncidentQuery::default() };
    assert_eq!(store.incidents(&open).await.unwrap().len(), 1);
    assert_eq!(store.orders(now).await.unwrap().len(), 1);
}

pub(crate) async fn a_stored_model_is_added_once_changed_by_who_knows_it_and_gone_when_it_is_dropped(
    store: Store,
) {
    let (one, two) = (model("m1", "g", NOON), model("m2", "g", NOON + 1));
    store.add_model(&two, &audit("a1", NOON)).await.unwrap();
    store.add_model(&one, &audit("a2", NOON)).await.unwrap();
    assert_eq!(parsed(store.models().await.unwrap()), parsed(vec![one.clone(), two.clone()]));
    let error = store.add_model(&one, &audit("a3", NOON)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");

    let changed = ModelRow { name: "h".to_owned(), info: None, updated_at: NOON + 9, ..one.clone() };
    assert!(store.change_model(&one, &changed, &audit("a4", NOON)).await.unwrap());
    assert!(!store.change_model(&one, &changed, &audit("a5", NOON)).await.unwrap(), "it changed meanwhile");
    let found = store.model("m1").await.unwrap().unwrap();
    assert_eq!(parsed(vec![found.clone()]), parsed(vec![changed]));
    assert!(store.change_model(&found, &found, &audit("a6", NOON)).await.unwrap());
    assert!(store.model("m1").await.unwrap().unwrap().updated_at > NOON + 9, "however slow a clock is");

    assert!(store.drop_model("m1", &audit("a7", NOON)).await.unwrap());
    assert!(!store.drop_model("m1", &audit("a8", NOON)).await.unwrap());
    assert_eq!(store.model("m1").await.unwrap(), None);
    let done: Vec<_> = store.audit(9).await.unwrap().into_iter().map(|row| row.audit_id).collect();
    assert_eq!(done, ["a7", "a6", "a4", "a2", "a1"], "what was not done is not in the audit");
}

pub(crate) async fn every_change_to_the_stored_models_changes_their_mark(store: Store) {
    let mut marks = vec![store.models_mark().await.unwrap()];
    let row = model("m1", "g", NOON);
    store.add_model(&row, &audit("a1", NOON)).await.unwrap();
    marks.push(store.models_mark().await.unwrap());
    store.change_model(&row, &row, &audit("a2", NOON)).await.unwrap();
    marks.push(store.models_mark().await.unwrap());
    store.add_model(&model("m2", "g", NOON), &audit("a3", NOON)).await.unwrap();
    marks.push(store.models_mark().await.unwrap());
    store.drop_model("m2", &audit("a4", NOON)).await.unwrap();
    assert_eq!(store.models_mark().await.unwrap(), marks[2]);
    for (at, mark) in marks.iter().enumerate() {
        assert!(!marks[..at].contains(mark), "{marks:?}");
    }
}

/// Rows with their JSON read: databases space and order it as they like.
fn parsed(rows: Vec<ModelRow>) -> Vec<(ModelRow, serde_json::Value, serde_json::Value)> {
    let json = |text: &str| serde_json::from_str(text).unwrap();
    let bare = |row: ModelRow| ModelRow { params: String::new(), info: None, ..row };
    let read =
        |row: ModelRow| (bare(row.clone()), json(&row.params), json(row.info.as_deref().unwrap_or("null")));
    rows.into_iter().map(read).collect()
}

/// Every case by name, as `case!(name)`.
macro_rules! every_case {
    ($case:ident) => {
        $case!(checks_come_back_as_they_were_newest_first_with_the_real_total);
        $case!(a_batch_whose_answer_was_lost_is_written_again_without_harm);
        $case!(the_latest_is_one_row_per_deployment_and_never_an_older_one);
        $case!(an_incident_begins_once_and_ends_once);
        $case!(the_ledger_adds_up_what_every_life_of_every_process_spent);
        $case!(the_newest_order_counts_until_its_time);
        $case!(forgetting_goes_in_small_steps_and_spares_what_stands);
        $case!(a_stored_model_is_added_once_changed_by_who_knows_it_and_gone_when_it_is_dropped);
        $case!(every_change_to_the_stored_models_changes_their_mark);
    };
}
pub(crate) use every_case;
