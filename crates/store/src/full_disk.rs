//! A disk that is full, as SQLite tells it: its file may not grow.

use std::path::{Path, PathBuf};

use crate::engine::{Kind, Statement};
use crate::{Check, HistoryQuery, Retention, Store, StoreError, Write};

const AT: u64 = 1_796_040_000_000;
const ALL: HistoryQuery = HistoryQuery { model: None, status: None, limit: 1, offset: 0 };

/// A file that goes away with the test.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("haleway-full-{}.db", std::process::id()));
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        for end in ["", "-wal", "-shm"] {
            let mut name = self.0.clone().into_os_string();
            name.push(end);
            drop(std::fs::remove_file(Path::new(&name)));
        }
    }
}

fn batch(number: u64) -> Vec<Write> {
    let row = |row| Check {
        health_check_id: format!("b{number}r{row}"),
        model_name: "g".to_owned(),
        model_id: Some("d1".to_owned()),
        healthy: row % 2 == 0,
        error_message: None,
        response_time_ms: Some(12.5),
        details: None,
        checked_by: None,
        checked_at: AT + number,
        created_at: AT + number,
    };
    (0..500).map(|number| Write::Check(row(number))).collect()
}

async fn may_have(store: &Store, pages: u64) {
    let limit = Statement::new(format!("PRAGMA max_page_count = {pages}"));
    store.engine.run(&[limit]).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_takes_no_batch_in_part_goes_on_answering_and_takes_the_rest_when_there_is_room() {
    let file = File::new();
    let store = Store::at(&format!("sqlite:{}", file.0.display())).unwrap();
    store.migrate().await.unwrap();
    store.write(&batch(0)).await.unwrap();
    let pages = store.engine.rows(&Statement::new("PRAGMA page_count"), &[Kind::Int]).await.unwrap();
    may_have(&store, pages.into_iter().next().and_then(|mut row| row.count()).unwrap() + 20).await;

    let mut written = 1;
    let error = loop {
        match store.write(&batch(written)).await {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 9, "the disk is full");
    };
    // Not `Refused`: the batch waits, and nothing of it is dropped.
    assert!(matches!(&error, StoreError::Unavailable(text) if text.contains("full")), "{error}");
    assert_eq!(store.history(&ALL).await.unwrap().total, written * 500, "all of a batch or nothing");
    assert_eq!(store.latest().await.unwrap().len(), 1);

    // Forgetting needs no room, and makes some.
    let retention = Retention { age: None, rows: Some(100) };
    while store.forget(retention, AT).await.unwrap() {}
    store.write(&batch(written)).await.unwrap();
    assert_eq!(store.history(&ALL).await.unwrap().total, 600);

    may_have(&store, 1 << 30).await;
    store.write(&batch(written + 1)).await.unwrap();
    assert_eq!(store.history(&ALL).await.unwrap().total, 1_100);
}
