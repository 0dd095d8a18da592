use haleway_health::Class;

use super::*;

fn labels(deployment: &str) -> DeploymentLabels {
    DeploymentLabels {
        deployment: deployment.into(),
        model_group: "gpt".into(),
        mode: "chat".into(),
        model: "openai/gpt-4o".into(),
        provider: "openai".into(),
        api_base: "https://api.openai.com/v1".into(),
    }
}

fn series(metrics: &Metrics) -> Vec<String> {
    metrics.encode().lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[track_caller]
fn has(metrics: &Metrics, line: &str) {
    let text = metrics.encode();
    assert!(text.lines().any(|own| own == line), "no line {line} in\n{text}");
}

#[test]
fn every_family_is_written_under_its_documented_name() {
    let metrics = Metrics::new();
    let d = metrics.deployment(&labels("d1"));
    d.state(4);
    d.transition("ISOLATED", "timeout");
    d.probed(ProbeVerdict::Unhealthy);
    d.paid(ProbeRung::Generation, 0.0025);
    d.paid(ProbeRung::Free, 0.0);
    d.served();
    d.failed(Class::RateLimit, 429, true);
    d.cooled_down(429);
    metrics.group(&"gpt".into()).answered(200);
    metrics.group(&"gpt".into()).panic(true);
    metrics.unlisted_error("openai");
    metrics.health_totals(&HealthTotals { trials_granted: 3, trials_lost: 1, late_verdicts: 2 });

    has(&metrics, r#"haleway_deployment_state{deployment="d1",model_group="gpt",mode="chat"} 4"#);
    has(&metrics, r#"haleway_transitions_total{deployment="d1",to="ISOLATED",cause="timeout"} 1"#);
    has(&metrics, r#"haleway_probes_total{deployment="d1",verdict="unhealthy"} 1"#);
    has(&metrics, r#"haleway_probe_cost_usd_total{deployment="d1",rung="generation"} 0.0025"#);
    has(&metrics, r#"haleway_probe_requests_total{deployment="d1",rung="free"} 1"#);
    has(&metrics, r#"haleway_attempts_total{deployment="d1",class="rate_limit"} 1"#);
    has(&metrics, r#"haleway_requests_total{model_group="gpt",status_class="2xx"} 1"#);
    has(&metrics, r#"haleway_panic{model_group="gpt"} 1"#);
    has(&metrics, r#"haleway_unlisted_errors_total{provider="openai"} 1"#);
    has(&metrics, "haleway_trials_granted_total 3");
    has(&metrics, "haleway_trials_lost_total 1");
    has(&metrics, "haleway_late_verdicts_total 2");
    let own = r#"litellm_model_name="openai/gpt-4o",model_id="d1",api_base="https://api.openai.com/v1",api_provider="openai""#;
    has(&metrics, &format!("litellm_deployment_state{{{own}}} 2"));
    has(&metrics, &format!("litellm_deployment_cooled_down_total{{{own},exception_status=\"429\"}} 1"));
    has(&metrics, &format!("litellm_deployment_success_responses_total{{{own}}} 1"));
    has(&metrics, &format!("litellm_deployment_failure_responses_total{{{own},exception_status=\"429\"}} 1"));
    has(&metrics, &format!("litellm_deployment_total_requests_total{{{own}}} 2"));
    assert!(metrics.encode().ends_with("# EOF\n"));
}

#[test]
fn a_complete_outage_is_cleared_on_the_same_series() {
    let metrics = Metrics::new();
    let d = metrics.deployment(&labels("d1"));
    d.cooled_down(500);
    d.returned();
    let states: Vec<_> =
        series(&metrics).into_iter().filter(|line| line.starts_with("litellm_deployment_state")).collect();
    assert_eq!(states.len(), 1);
    assert!(states[0].ends_with(" 0"));
}

#[test]
fn what_the_caller_caused_is_no_outage() {
    let metrics = Metrics::new();
    let d = metrics.deployment(&labels("d1"));
    d.failed(Class::BadRequest, 400, false);
    assert!(
        series(&metrics)
            .iter()
            .any(|line| line.starts_with("litellm_deployment_state") && line.ends_with(" 0"))
    );
}

#[test]
fn h07_names_made_by_clients_make_one_series_in_all() {
    let metrics = Metrics::new();
    metrics.group(&"gpt".into()).answered(200);
    let before = series(&metrics).len();
    for n in 0..10_000 {
        metrics.named_by_caller(&format!("made-up-{n}")).answered(404);
    }
    metrics.named_by_caller("gpt").answered(200);
    assert_eq!(series(&metrics).len(), before + 1);
    has(&metrics, r#"haleway_requests_total{model_group="other",status_class="4xx"} 10000"#);
    has(&metrics, r#"haleway_requests_total{model_group="gpt",status_class="2xx"} 2"#);
}

#[test]
fn a_reload_removes_the_series_of_what_is_gone_and_keeps_the_counts_of_the_rest() {
    let metrics = Metrics::new();
    let empty = series(&metrics).len();
    for name in ["d1", "d2"] {
        let d = metrics.deployment(&labels(name));
        d.served();
        d.failed(Class::Timeout, 408, true);
        d.cooled_down(408);
        d.transition("ISOLATED", "timeout");
        d.probed(ProbeVerdict::Healthy);
        d.paid(ProbeRung::Trial, 1.0);
    }
    metrics.group(&"gpt".into()).answered(200);
    metrics.group(&"old".into()).answered(200);
    metrics.retain(|labels| &*labels.deployment == "d2", |group| group == "gpt");
    let text = metrics.encode();
    assert!(!text.contains("\"d1\"") && !text.contains("\"old\""), "{text}");
    metrics.deployment(&labels("d2")).served();
    has(&metrics, r#"haleway_attempts_total{deployment="d2",class="ok"} 2"#);
    metrics.retain(|_| false, |_| false);
    assert_eq!(series(&metrics).len(), empty);
}

#[test]
fn a_changed_base_url_is_another_info_series_of_the_same_deployment() {
    let metrics = Metrics::new();
    let moved = DeploymentLabels { api_base: "https://eu.example".into(), ..labels("d1") };
    metrics.deployment(&labels("d1")).served();
    metrics.deployment(&moved);
    metrics.retain(|labels| labels.api_base == moved.api_base, |_| true);
    metrics.deployment(&moved).state(1);
    has(&metrics, r#"haleway_deployment_state{deployment="d1",model_group="gpt",mode="chat"} 1"#);
    assert_eq!(metrics.encode().matches("haleway_deployment_info{").count(), 1);
}

#[test]
fn a_caller_who_left_is_counted_apart_and_odd_statuses_stay_in_range() {
    let metrics = Metrics::new();
    for status in [499, 0, 799] {
        metrics.other().answered(status);
    }
    has(&metrics, r#"haleway_requests_total{model_group="other",status_class="cancelled"} 1"#);
    has(&metrics, r#"haleway_requests_total{model_group="other",status_class="1xx"} 1"#);
    has(&metrics, r#"haleway_requests_total{model_group="other",status_class="5xx"} 1"#);
}

#[test]
fn totals_never_go_back() {
    let metrics = Metrics::new();
    metrics.health_totals(&HealthTotals { trials_granted: 5, ..HealthTotals::default() });
    metrics.health_totals(&HealthTotals { trials_granted: 3, ..HealthTotals::default() });
    has(&metrics, "haleway_trials_granted_total 5");
}
