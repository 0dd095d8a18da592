//! A new configuration in a running gateway: what is learnt stays, what is gone stays gone, and no call notices.

use std::time::Duration;

use futures_util::future::join_all;
use haleway_testkit::{Behaviour, Script, World, Yaml};
use http::Method;
use serde_json::{Value, json};

fn probed(yaml: Yaml) -> Yaml {
    yaml.set(
        "haleway",
        json!({"profile": "resilient", "health": {"interval": "10s", "idle_interval": "10s"}}),
    )
    .set("general_settings.master_key", "sk-master")
}

async fn reload(world: &World, yaml: &Yaml) -> (u16, Value) {
    world.source.file("config.yaml", yaml.text());
    world.follow();
    let answer = world.post("/haleway/reload", &json!({})).await;
    (answer.status, answer.json())
}

#[tokio::test(start_paused = true)]
async fn a24_a_rotated_key_serves_after_a_reload_and_the_old_fault_is_forgotten() {
    let yaml =
        Yaml::b1().set("haleway.profile", "resilient").set("d1.litellm_params.api_key", "os.environ/KEY");
    let setup = World::of(yaml.clone()).with_env(&[("KEY", "sk-old")]);
    let world = setup.with_script("u1", Script::ok().key("sk-new")).start().await;
    for _ in 0..20 {
        assert_ne!(world.chat("g").await.status, 200);
        world.pass_secs(5).await;
    }
    assert_eq!(world.state("d1"), "CONFIG_FAULT");
    world.source.set_var("KEY", "sk-new");
    let changes = world.reload(yaml).await.unwrap();
    let changes = serde_json::to_value(changes).unwrap();
    assert_eq!(
        changes,
        json!([{"kind": "deployment_changed", "id": "d1", "model_group": "g", "fields": ["api_key"]}])
    );
    world
        .until("the new key passed its trial", || {
            world.state("d1") == "RAMPING" || world.state("d1") == "HEALTHY"
        })
        .await;
    assert_eq!(world.chat("g").await.status, 200, "{}", world.detail("d1").await);
    assert!(!world.logs.text().contains("sk-new") && !world.logs.text().contains("sk-old"));
}

#[tokio::test(start_paused = true)]
async fn a_bad_file_changes_nothing_and_every_finding_is_told_with_its_place() {
    let yaml = probed(Yaml::b1());
    let world = World::start(yaml.clone()).await;
    for (broken, code) in [
        ("model_list: [", ""),
        ("model_list:\n  - model_name: g\n    litellm_params: {model: nonsense/x}\n", "unknown-provider"),
    ] {
        world.source.file("config.yaml", broken);
        world.follow();
        let answer = world.post("/haleway/reload", &json!({})).await;
        let findings = answer.json()["diagnostics"].clone();
        assert_eq!(answer.status, 422, "{findings}");
        let first = findings.as_array().unwrap().iter().find(|found| found["severity"] == "error").unwrap();
        assert!(first["line"].as_u64() > Some(0) && first["column"].as_u64() > Some(0), "{findings}");
        assert!(
            code.is_empty() || findings.as_array().unwrap().iter().any(|found| found["code"] == code),
            "{findings}"
        );
        assert_eq!(world.chat("g").await.status, 200);
    }
    assert!(world.logs.has("stays in force"));
    let (status, body) = reload(&world, &yaml).await;
    assert_eq!((status, &body["changed"]), (200, &json!([])));
    // Only an operator may.
    let stranger = world.call(Method::POST, "/haleway/reload", &[("authorization", "Bearer sk-x")], "").await;
    assert_eq!(stranger.status, 401);
}

#[tokio::test(start_paused = true)]
async fn what_is_learnt_stays_what_is_gone_is_neither_called_nor_probed_and_what_is_new_is_probed() {
    let world = World::of(probed(Yaml::b2())).with_script("u2", Behaviour::status(500)).start().await;
    world.until("d2 is out", || world.state("d2") == "ISOLATED").await;
    let since = world.detail("d2").await["since"].clone();
    world.post("/haleway/deployments/d1/drain", &json!({"reason": "upgrade"})).await;
    let three = probed(Yaml::b2().deployment("g", "d3"));
    let (status, body) = reload(&world, &three).await;
    assert_eq!((status, &body["changed"][0]["kind"]), (200, &json!("deployment_added")), "{body}");
    assert_eq!((world.state("d1"), world.state("d2")), ("DRAINING", "ISOLATED"));
    assert_eq!(world.detail("d2").await["since"], since, "nothing rejuvenates a verdict");
    world
        .until_within(Duration::from_secs(11), "d3 is probed within an interval", || world.requests("u3") > 0)
        .await;
    assert_eq!(world.chat("g").await.deployment(), "d3");
    let (_, body) = reload(&world, &probed(Yaml::new().deployment("g", "d1").deployment("g", "d3"))).await;
    assert_eq!(
        body["changed"][0],
        json!({"kind": "deployment_removed", "id": "d2", "model_group": "g"}),
        "{body}"
    );
    let asked = world.requests("u2");
    world.pass_secs(400).await;
    assert_eq!(world.requests("u2"), asked, "a removed deployment is not probed");
    assert_eq!(world.state("d1"), "DRAINING", "nothing automatic undoes an operator");
    assert!(!world.get("/haleway/deployments").await.text().contains("\"d2\""));
    assert!(!world.get("/metrics").await.text().contains("deployment=\"d2\""));
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_is_followed_and_a_half_written_one_is_not() {
    let world = World::start(probed(Yaml::b1())).await;
    world.follow();
    world.source.file("config.yaml", "model_list: [");
    world.pass_secs(1).await;
    world.source.file("config.yaml", probed(Yaml::b1().deployment("h", "d2")).text());
    world
        .until_within(Duration::from_secs(7), "the new group is there", || {
            world.logs.has("reload: deployment added")
        })
        .await;
    assert_eq!(world.chat("h").await.deployment(), "d2");
    assert!(!world.logs.has("stays in force"), "the half-written file was read");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_reloads_under_load_fail_no_call() {
    let yamls = [
        probed(Yaml::b2()),
        probed(Yaml::new().deployment("g", "d2").deployment("g", "d3")),
        probed(Yaml::new().deployment("g", "d4")),
    ];
    let world = &World::start(yamls[0].clone()).await;
    for number in 1..=4 {
        world.mock.script(&format!("u{number}"), Behaviour::ok().latency(Duration::from_millis(7 * number)));
    }
    let calls = async {
        let mut failed = Vec::new();
        for _ in 0..150 {
            let answers = join_all((0..8).map(|n| async move {
                if n % 2 == 0 { world_chat(world).await } else { world_stream(world).await }
            }));
            failed.extend(answers.await.into_iter().flatten());
        }
        failed
    };
    let reloads = async {
        for round in 0..100_usize {
            world.reload(yamls[(round + 1) % yamls.len()].clone()).await.unwrap();
            world.pass(Duration::from_millis(9)).await;
        }
    };
    let (failed, ()) = tokio::join!(calls, reloads);
    assert!(failed.is_empty(), "{} calls failed: {:?}", failed.len(), failed.first());
}

async fn world_chat(world: &World) -> Option<String> {
    let answer = world.chat("g").await;
    (answer.status != 200).then(|| answer.text())
}

async fn world_stream(world: &World) -> Option<String> {
    let answer = world.chat_stream("g").await;
    (answer.events().last().map(String::as_str) != Some("[DONE]")).then(|| answer.text())
}

#[tokio::test(start_paused = true)]
async fn any_sequence_of_reloads_keeps_operators_orders_and_resurrects_nothing() {
    let mut random = fastrand::Rng::with_seed(11);
    for _ in 0..12 {
        let all = ["d1", "d2", "d3", "d4"];
        let world =
            World::start(probed(all.iter().fold(Yaml::new(), |yaml, id| yaml.deployment("g", id)))).await;
        world.pass_secs(12).await;
        world.post("/haleway/deployments/d1/disable", &json!({})).await;
        let mut there: Vec<&str> = all.to_vec();
        for _ in 0..8 {
            there = all.into_iter().filter(|id| *id == "d1" || random.bool()).collect();
            let yaml = there.iter().fold(Yaml::new(), |yaml, id| yaml.deployment("g", id));
            world.reload(probed(yaml)).await.unwrap();
            assert_eq!(world.state("d1"), "ADMIN_DOWN", "{there:?}");
            let before: Vec<u64> = all.iter().map(|id| world.requests(&id.replace('d', "u"))).collect();
            world.pass_secs(25).await;
            for (id, before) in all.iter().zip(before) {
                let asked = world.requests(&id.replace('d', "u")) - before;
                let is_there = there.contains(id) && *id != "d1";
                assert_eq!(asked > 0, is_there, "{id} was asked {asked} times; there are {there:?}");
            }
        }
        drop(there);
    }
}

#[tokio::test(start_paused = true)]
async fn the_effective_values_are_shown_with_their_origin_and_follow_a_reload() {
    let world = World::start(probed(Yaml::b1())).await;
    let fall = |page: &Value| {
        let rows = page["values"].as_array().unwrap();
        rows.iter().find(|row| row["scope"] == "global" && row["key"] == "fall").unwrap().clone()
    };
    let before = fall(&world.get("/haleway/config").await.json());
    assert_eq!((&before["value"], &before["origin"]), (&json!("3"), &json!("profile resilient")), "{before}");
    reload(&world, &probed(Yaml::b1()).set("haleway.health.fall", 7)).await;
    let page = world.get("/haleway/config").await;
    let after = fall(&page.json());
    assert_eq!(after["value"], "7");
    assert!(after["origin"].as_str().unwrap().starts_with("config.yaml:"), "{after}");
    assert!(!page.text().contains("sk-"), "no secret");
}

#[tokio::test(start_paused = true)]
async fn what_needs_a_restart_is_said_when_it_changes() {
    let world = World::start(probed(Yaml::b1())).await;
    let yaml = probed(Yaml::b1()).set("haleway.admin_listen", "127.0.0.1:4001").set("haleway.health.fall", 7);
    let (_, body) = reload(&world, &yaml).await;
    let changed = body["changed"].as_array().unwrap();
    assert!(changed.contains(&json!({"kind": "needs_restart", "key": "haleway.admin_listen"})), "{body}");
    assert!(changed.iter().any(|change| change["key"] == "fall" && change["to"] == "7"), "{body}");
}

#[tokio::test(start_paused = true)]
async fn a_file_is_followed_whatever_it_held_before_and_while_it_is_away() {
    let world = World::start(probed(Yaml::b1())).await;
    world.follow();
    for (unusable, told) in [
        (Some(b"\xff\xfe not text".to_vec()), 1),
        (Some(b"include: [other.yaml]\nmodel_list: []\n".to_vec()), 2),
        (None, 3),
    ] {
        match unusable {
            Some(bytes) => world.source.file("config.yaml", bytes),
            None => world.source.remove("config.yaml"),
        }
        let refused = || world.logs.count("stays in force") == told;
        world.until_within(Duration::from_secs(15), "it is refused once", refused).await;
        world.pass_secs(30).await;
        assert!(refused(), "and not again: {}", world.logs.text());
        assert_eq!(world.chat("g").await.status, 200);
    }
    world.source.file("config.yaml", probed(Yaml::b1().deployment("h", "d2")).text());
    let added = || world.logs.has("reload: deployment added");
    world.until_within(Duration::from_secs(7), "the file is followed again", added).await;
    assert_eq!(world.chat("h").await.deployment(), "d2");
}

#[tokio::test(start_paused = true)]
async fn a_call_finds_the_deployments_it_began_with_after_two_reloads() {
    let slow = Behaviour::status(500).latency(Duration::from_secs(3));
    let yaml = probed(Yaml::b2()).set("router_settings.num_retries", 2);
    let world = World::of(yaml).with_script("u1", slow.clone()).with_script("u2", slow);
    let world = &world.start().await;
    let calls = join_all((0..6).map(|_| async { world.chat("g").await }));
    let reloads = async {
        world.pass(Duration::from_millis(500)).await;
        for id in ["d3", "d4"] {
            world.reload(probed(Yaml::new().deployment("g", id))).await.unwrap();
        }
        world.pass_secs(1).await;
        for upstream in ["u1", "u2"] {
            world.mock.script(upstream, Behaviour::ok());
        }
    };
    let (answers, ()) = tokio::join!(calls, reloads);
    for answer in answers {
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    world.pass_secs(15).await;
    let asked = world.requests("u1") + world.requests("u2");
    world.pass_secs(60).await;
    assert_eq!(world.requests("u1") + world.requests("u2"), asked, "let go at last");
}

#[tokio::test(start_paused = true)]
async fn warnings_of_a_reload_are_told_as_at_start() {
    let world = World::start(probed(Yaml::b1())).await;
    let (status, body) = reload(&world, &probed(Yaml::b1()).set("litellm_settings.drop_parms", true)).await;
    let found = body["diagnostics"].as_array().unwrap();
    assert_eq!(status, 200);
    assert!(
        found.iter().any(|found| found["code"] == "unknown-key" && found["severity"] == "warning"),
        "{body}"
    );
    assert!(world.logs.has("drop_parms"), "{}", world.logs.text());
}

#[tokio::test(start_paused = true)]
async fn a_budget_and_an_operators_order_outlive_a_deployment_that_goes_and_comes_back() {
    let with_budget = |yaml: Yaml| yaml.set("haleway.health.budget.probes_per_day", 2);
    let both = with_budget(probed(Yaml::b2()));
    let world = World::start(both.clone()).await;
    world
        .until_within(Duration::from_secs(60), "the day's probes are used up", || world.requests("u2") == 2)
        .await;
    world.post("/haleway/deployments/d2/drain", &json!({"reason": "upgrade"})).await;
    world.reload(with_budget(probed(Yaml::b1()))).await.unwrap();
    world.pass_secs(30).await;
    world.reload(both).await.unwrap();
    world.pass_secs(60).await;
    assert_eq!(world.state("d2"), "DRAINING");
    world.post("/haleway/deployments/d2/enable", &json!({})).await;
    world.pass_secs(60).await;
    let cost = world.detail("d2").await["probe_cost"]["rungs"]["generation"].clone();
    assert_eq!(cost["requests"], 2, "the day did not begin anew: {cost}");
}

#[tokio::test(start_paused = true)]
async fn every_section_that_changes_is_named() {
    let world = World::start(probed(Yaml::b1())).await;
    let yaml = probed(Yaml::b1())
        .set("haleway.errors.all_out_status", 529)
        .set("haleway.store.url", "sqlite:other.db")
        .set("d1.model_info.input_cost_per_token", 0.5);
    let (status, body) = reload(&world, &yaml).await;
    let changed = body["changed"].as_array().unwrap();
    assert_eq!(status, 200, "{body}");
    assert!(changed.contains(&json!({"kind": "section", "section": "haleway.errors"})), "{body}");
    assert!(changed.contains(&json!({"kind": "needs_restart", "key": "haleway.store"})), "{body}");
    let fields = changed.iter().find(|change| change["kind"] == "deployment_changed").unwrap();
    assert!(fields["fields"].as_array().unwrap().contains(&json!("prices")), "{body}");
}

#[tokio::test(start_paused = true)]
async fn i04_probes_follow_a_reload_within_one_interval_and_what_is_gone_is_never_probed_again() {
    let world = World::start(probed(Yaml::new().deployment("g", "d1").deployment("g", "d2"))).await;
    world.until("both are probed", || world.requests("u1") > 0 && world.requests("u2") > 0).await;
    let (status, body) =
        reload(&world, &probed(Yaml::new().deployment("g", "d2").deployment("g", "d3"))).await;
    assert_eq!(status, 200, "{body}");
    let (gone, kept) = (world.requests("u1"), world.requests("u2"));
    world.until_within(Duration::from_secs(11), "the new one is probed", || world.requests("u3") > 0).await;
    world.pass_secs(100).await;
    assert_eq!(world.requests("u1"), gone);
    let (kept, new) = (world.requests("u2") - kept, world.requests("u3"));
    // One interval is ten seconds, with jitter.
    assert!((9..=13).contains(&kept) && (9..=13).contains(&new), "one prober only: {kept} and {new}");
}
