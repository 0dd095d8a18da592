//! Rows for tests.

use haleway_store::{AuditRow, Check, Details, Incident, ModelRow, Noticed, Order, Spent, Write};
use serde_json::json;

/// A time that any calendar has: 2026-11-30, noon.
pub(crate) const NOON: u64 = 1_796_040_000_000;

pub(crate) fn check(id: &str, deployment: &str, healthy: bool, at: u64) -> Check {
    Check {
        health_check_id: id.to_owned(),
        model_name: format!("group-{deployment}"),
        model_id: Some(deployment.to_owned()),
        healthy,
        error_message: (!healthy).then(|| "it's \"down\" – 502".to_owned()),
        response_time_ms: Some(12.5),
        details: Some(Details::from(
            &json!({"state": if healthy { "HEALTHY" } else { "ISOLATED" }, "price_usd": 0.000_1}),
        )),
        checked_by: Some("pod-a".to_owned()),
        checked_at: at,
        created_at: at + 7,
    }
}

pub(crate) fn incident(id: &str, deployment: &str, at: u64) -> Write {
    Write::Began(Incident {
        incident_id: id.to_owned(),
        deployment: deployment.to_owned(),
        model_name: "g".to_owned(),
        began_at: at,
        ended_at: None,
        cause: "server_error".to_owned(),
        noticed_by: Noticed::Traffic,
        observer: "pod-a".to_owned(),
        message: None,
        probe_nanousd: 0,
    })
}

pub(crate) fn spent(run: &str, requests: u64) -> Spent {
    Spent {
        utc_day: 20_787,
        deployment: "d1".to_owned(),
        rung: "generation".to_owned(),
        run: run.to_owned(),
        requests,
        nanousd: requests * 1_500,
        tokens: requests * 15,
        estimated: 1,
        unpriced: 0,
    }
}

pub(crate) fn order(deployment: &str, command: Option<&str>, given_at: u64, until: Option<u64>) -> Order {
    Order {
        deployment: deployment.to_owned(),
        command: command.map(str::to_owned),
        given_at,
        until,
        reason: "maintenance".to_owned(),
    }
}

pub(crate) fn audit(id: &str, at: u64) -> AuditRow {
    AuditRow {
        audit_id: id.to_owned(),
        at,
        actor: "master".to_owned(),
        origin: "127.0.0.1".to_owned(),
        action: "drain".to_owned(),
        subject: "d1".to_owned(),
        reason: "maintenance".to_owned(),
        until: None,
    }
}

pub(crate) fn model(id: &str, name: &str, at: u64) -> ModelRow {
    ModelRow {
        id: id.to_owned(),
        name: name.to_owned(),
        params: r#"{"model": "sealed", "rpm": 60}"#.to_owned(),
        info: Some(r#"{"id": "m"}"#.to_owned()),
        blocked: false,
        created_at: at,
        created_by: "default_user_id".to_owned(),
        updated_at: at,
        updated_by: "default_user_id".to_owned(),
    }
}
