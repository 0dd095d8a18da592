//! Retries, fallbacks and streams that survive a failing provider: the reports about them, on the paused clock.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::{Either, join, join_all, select};
use haleway_config::{Options, load, render};
use haleway_mockllm::{Act, Phase, Plan};
use haleway_testkit::{Answer, Behaviour, Memory, Script, World, Yaml};
use serde_json::{Value, json};
use tokio::time::Instant;

const TEXT: &str = "Hello! How can I help you today?";

/// Which deployments were skipped or failed, and why.
fn skipped(answer: &Answer) -> &str {
    answer.header("x-haleway-skipped")
}

fn attempts(answer: &Answer) -> u64 {
    answer.header("x-haleway-attempts").parse().unwrap()
}

/// The text of a stream, and whether it ended with an error event and with an end mark.
fn told(answer: &Answer) -> (String, bool, bool) {
    let (mut text, mut failed, mut ended) = (String::new(), false, false);
    for event in answer.events() {
        ended |= event == "[DONE]";
        let event: Value = serde_json::from_str(&event).unwrap_or_default();
        failed |= event["error"].is_object();
        text += event["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
    }
    (text, failed, ended)
}

async fn latest(world: &World, id: &str) -> Value {
    world.detail(id).await["evidence"]["latest"].clone()
}

#[tokio::test(start_paused = true)]
async fn d11_a_stream_that_says_nothing_is_a_failure_and_is_failed_over() {
    let silent = |act| Behaviour::of(act).after(3);
    for (behaviour, class, status, reason) in [
        (silent(Act::Empty), "malformed_response", 502, "empty_stream"),
        (silent(Act::OnlyComments), "malformed_response", 502, "no_output"),
        (Behaviour::error_event(0, 429), "rate_limit", 429, ""),
        (Behaviour::of(Act::HangAfterHeaders), "timeout", 408, "first_token"),
    ] {
        let yaml = Yaml::b2f()
            .set("haleway.profile", "resilient")
            .set("general_settings.background_health_checks", false);
        let world = World::of(yaml).with_script("u1", behaviour.clone()).start().await;
        let answer = world.chat_stream("g").await;
        assert_eq!((answer.status, told(&answer)), (200, (TEXT.to_owned(), false, true)), "{behaviour:?}");
        assert_eq!((answer.deployment(), attempts(&answer)), ("d2", 2), "{behaviour:?}");
        assert_eq!((world.requests("u1"), world.requests("u2")), (1, 1), "{behaviour:?}");
        let charged = latest(&world, "d1").await;
        assert_eq!(
            (&charged["class"], &charged["status"], &charged["reason"]),
            (&json!(class), &json!(status), &json!(reason)),
            "{behaviour:?}"
        );
    }
}

/// An opening event, a ping, an empty delta: until something is said, another deployment may still serve the call.
#[tokio::test(start_paused = true)]
async fn d11_an_error_after_lifecycle_events_is_failed_over_on_every_wire() {
    for (model, path, prompt, opening, end) in [
        ("openai/stub", "/v1/chat/completions", "messages", 1, "[DONE]"),
        ("openai/stub", "/v1/responses", "input", 2, "response.completed"),
        ("anthropic/stub", "/v1/messages", "messages", 3, "message_stop"),
    ] {
        let yaml = Yaml::b2f().set("d1.litellm_params.model", model).set("d2.litellm_params.model", model);
        let error = Behaviour::error_event(opening, 529);
        let world = World::of(yaml).with_script("u1", error).start().await;
        let body = json!({
            "model": "g",
            "stream": true,
            "max_tokens": 50,
            prompt: [{"role": "user", "content": "How are you?"}],
        });
        let answer = world.post(path, &body).await;
        assert_eq!((answer.status, answer.deployment(), attempts(&answer)), (200, "d2", 2), "{path}");
        assert!(answer.text().contains(end), "{path}: {}", answer.text());
        assert!(!answer.text().contains("overloaded"), "{path}: {}", answer.text());
        assert_eq!(world.mock.counts("u1").statuses[&200], 1, "{path}: the error came inside a 200");
    }
}

#[tokio::test(start_paused = true)]
async fn d19_long_thinking_is_not_failing_and_each_limit_has_its_reason() {
    let yaml = Yaml::b2f()
        .set("d1.model_info.haleway.stream.first_token", "5s")
        .set("d1.model_info.haleway.stream.gap", "2s");
    let secs = Duration::from_secs;
    let thinking = Behaviour::ok().first_token(secs(3)).gap(Duration::from_millis(700));
    let world = World::of(yaml).with_script("u1", thinking).start().await;
    let began = Instant::now();
    let answer = world.chat_stream("g").await;
    assert_eq!((answer.deployment(), told(&answer)), ("d1", (TEXT.to_owned(), false, true)));
    assert!(Instant::now().duration_since(began) > secs(7), "first token at 3 s, the rest in 0.7 s steps");
    assert_eq!(world.detail("d1").await["evidence"]["failed_requests"], 0);

    world.mock.script("u1", Behaviour::ok().first_token(secs(6)));
    let began = Instant::now();
    let answer = world.chat_stream("g").await;
    let took = Instant::now().duration_since(began);
    assert_eq!((answer.deployment(), skipped(&answer)), ("d2", "d1=first_token"));
    assert!((secs(5)..Duration::from_millis(5_100)).contains(&took), "{took:?}");

    world.mock.script("u1", Behaviour::ok().gap(secs(3)));
    let (text, failed, ended) = told(&world.chat_stream("d1").await);
    assert!(!text.is_empty() && TEXT.starts_with(&text) && failed && !ended, "{text:?}");
    assert_eq!(latest(&world, "d1").await["reason"], "gap");
}

#[tokio::test(start_paused = true)]
async fn d21_a_cut_stream_ends_with_an_error_event_and_counts_once() {
    let cut = Behaviour::cut(41).chunks(60).text("tick ");
    let world = World::of(Yaml::b1()).with_script("u1", cut).start().await;
    let answer = world.chat_stream("g").await;
    assert_eq!(told(&answer), ("tick ".repeat(40), true, false));
    world.until("the cut is known", || world.state("d1") == "SUSPECT").await;
    assert_eq!(world.detail("d1").await["evidence"]["failed_requests"], 1);
    assert_eq!(latest(&world, "d1").await["reason"], "stream_cut");
    assert_eq!(world.requests("u1"), 1);
}

#[tokio::test(start_paused = true)]
async fn d22_a_stream_that_nobody_can_serve_is_an_error_status() {
    for (status, class) in [(503, "overloaded"), (429, "rate_limit")] {
        let world = World::of(Yaml::b2f())
            .with_script("u1", Behaviour::status(status))
            .with_script("u2", Behaviour::status(status))
            .start()
            .await;
        let answer = world.chat_stream("g").await;
        assert_eq!((answer.status, answer.error("class")), (status, json!(class)));
        assert_eq!(answer.header("content-type"), "application/json");
        assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    }
}

#[tokio::test(start_paused = true)]
async fn e10_a_retry_goes_where_the_first_attempt_did_not_and_time_brings_back() {
    let yaml = Yaml::b2()
        .set("router_settings.num_retries", 2)
        .set("router_settings.allowed_fails", 0)
        .set("router_settings.cooldown_time", 1)
        .set("d1.litellm_params.order", 1)
        .set("d2.litellm_params.order", 2);
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    let began = Instant::now();
    assert_eq!(skipped(&world.chat("g").await), "d1=http_500");
    assert_eq!((world.requests("u1"), world.requests("u2")), (1, 1));
    assert_eq!(world.chats("g", 20).await["d2"], 20);
    assert_eq!(world.requests("u1"), 1, "no retry and no call goes to what was just cooled");
    while world.requests("u1") == 1 {
        assert!(Instant::now().duration_since(began) < Duration::from_secs(2), "d1 is not tried again");
        world.pass(Duration::from_millis(100)).await;
        assert_eq!(world.chat("g").await.deployment(), "d2");
    }
    assert!(Instant::now().duration_since(began) >= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn e13_a_fallback_does_not_begin_the_budget_anew_and_cycles_are_told() {
    for profile in ["litellm", "resilient"] {
        let yaml = Yaml::new()
            .deployment("a", "d1")
            .deployment("b", "d2")
            .set("haleway.profile", profile)
            .set("router_settings.num_retries", 2)
            .set("router_settings.max_fallbacks", 5)
            .set("router_settings.fallbacks", json!([{"a": ["b"]}, {"b": ["a"]}]));
        let source = Memory::default();
        source.file("config.yaml", yaml.text());
        let told = render(&load("config.yaml".as_ref(), &source, &Options::default()).diagnostics, false);
        assert!(told.contains("fallback-cycle") && told.contains("a -> b -> a"), "{told}");

        let world = World::of(yaml)
            .with_script("u1", Behaviour::status(503))
            .with_script("u2", Behaviour::status(503))
            .start()
            .await;
        let answer = world.chat("a").await;
        let (first, second) = (world.requests("u1"), world.requests("u2"));
        assert_eq!(answer.status, 503);
        assert!(first >= 1 && second >= 1 && first + second <= 6, "{profile}: {first} + {second}");
        assert_eq!(attempts(&answer), first + second, "{profile}");
    }
}

#[tokio::test(start_paused = true)]
async fn e14_walking_past_dead_keys_costs_no_retry_and_no_wait() {
    let mut yaml = Yaml::new().set("router_settings.num_retries", 1);
    for number in 1..=5 {
        let id = format!("d{number}");
        yaml = yaml.deployment("g", &id).set(&format!("{id}.litellm_params.order"), number);
    }
    let refuses = || Script::ok().key("sk-another");
    let world = (1..=4)
        .fold(World::of(yaml), |setup, number| setup.with_script(&format!("u{number}"), refuses()))
        .start()
        .await;
    let began = Instant::now();
    let answer = world.chat("g").await;
    assert_eq!((answer.status, answer.deployment(), attempts(&answer)), (200, "d5", 5));
    assert!(Instant::now().duration_since(began) < Duration::from_millis(200));
    let answer = world.chat("g").await;
    assert_eq!((answer.deployment(), attempts(&answer)), ("d5", 1), "{}", skipped(&answer));
    assert_eq!((1..=4).map(|number| world.requests(&format!("u{number}"))).sum::<u64>(), 4);
}

#[tokio::test(start_paused = true)]
async fn e20_naming_a_fallback_is_enough() {
    let world = World::of(Yaml::b2f()).with_script("u1", Behaviour::status(503)).start().await;
    let answer = world.chat("g").await;
    assert_eq!((answer.status, answer.deployment(), attempts(&answer)), (200, "d2", 2));
}

#[tokio::test(start_paused = true)]
async fn e23_a_fleet_that_calls_into_an_overload_does_not_reach_it() {
    let yaml = Yaml::b1()
        .set("router_settings.num_retries", 3)
        .set("haleway.profile", "resilient")
        .set("haleway.health.all_out", "fail")
        .set("haleway.health.isolate_lone", true)
        .set("general_settings.background_health_checks", false);
    let world = World::of(yaml).with_script("u1", Behaviour::status(529)).start().await;
    for _ in 0..60 {
        for _ in 0..30 {
            let answer = world.chat("g").await;
            assert_eq!(answer.status, 503);
            assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
        }
        world.pass_secs(1).await;
    }
    assert!(world.requests("u1") <= 10, "{} of 1800 calls reached the provider", world.requests("u1"));
}

/// The end of a hold lets one call through to find out; the others that come with it are answered or wait.
#[tokio::test(start_paused = true)]
async fn e23_a_herd_that_waits_for_the_end_of_an_overload_does_not_go_at_once() {
    for (all_out, served) in [("fail", 1), ("wait", 50)] {
        let yaml = Yaml::b1()
            .set("router_settings.num_retries", 0)
            .set("haleway.profile", "resilient")
            .set("haleway.health.all_out", all_out)
            .set("general_settings.background_health_checks", false);
        let busy = Behaviour::rate_limited("5");
        let world = World::of(yaml).with_script("u1", busy).start().await;
        assert_eq!(world.chat("g").await.status, 429);
        assert_eq!(world.requests("u1"), 1);
        world.mock.script("u1", Behaviour::ok().latency(Duration::from_millis(300)));
        world.pass_secs(7).await;
        let most = std::cell::Cell::new(0);
        let herd = join_all((0..50).map(|_| world.chat("g")));
        let watch = async {
            world.until("the first call of the herd arrives", || world.requests("u1") > 1).await;
            for _ in 0..10 {
                most.set(most.get().max(world.requests("u1") - 1));
                world.pass(Duration::from_millis(20)).await;
            }
        };
        let (answers, ()) = join(herd, watch).await;
        assert_eq!(most.get(), 1, "{all_out}: while the first one finds out");
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), served, "{all_out}");
        assert_eq!(world.chat("g").await.status, 200);
    }
}

/// E02: `wait` needs no deadline of the caller's; the call's own timeout bounds it.
#[tokio::test(start_paused = true)]
async fn e02_wait_sits_a_limit_out_without_a_deadline_of_the_callers() {
    let waits = |timeout: u64| {
        Yaml::b1()
            .set("router_settings.num_retries", 0)
            .set("router_settings.timeout", timeout)
            .set("haleway.profile", "resilient")
            .set("haleway.health.all_out", "wait")
            .set("general_settings.background_health_checks", false)
    };
    for (timeout, status) in [(60, 200), (3, 503)] {
        let busy = Behaviour::rate_limited("5");
        let world = World::of(waits(timeout)).with_script("u1", busy).start().await;
        assert_eq!(world.chat("g").await.status, 429);
        world.mock.script("u1", Behaviour::ok());
        let began = Instant::now();
        assert_eq!(world.chat("g").await.status, status, "timeout {timeout}");
        let took = Instant::now().duration_since(began).as_secs_f64();
        assert!(if status == 200 { (5.0..7.0).contains(&took) } else { took < 0.1 }, "{took}");
    }
}

#[tokio::test(start_paused = true)]
async fn e23_retries_do_not_multiply_the_load_of_an_outage() {
    // Health cannot help here: nothing may cool down.
    let yaml = Yaml::b2()
        .set("router_settings.num_retries", 3)
        .set("router_settings.disable_cooldowns", true)
        .set("haleway.profile", "litellm");
    let world = World::of(yaml)
        .with_script("u1", Behaviour::status(500))
        .with_script("u2", Behaviour::status(500))
        .start()
        .await;
    let mut ends = BTreeMap::<String, usize>::new();
    for _ in 0..20 {
        for answer in join_all((0..100).map(|_| world.chat("g"))).await {
            assert_eq!(answer.status, 500);
            *ends.entry(answer.header("x-haleway-gave-up").to_owned()).or_default() += 1;
        }
    }
    // Whether a call gets all its retries before the share is used up is a matter of chance.
    let known = ends.keys().all(|end| end == "retry_share" || end == "retries_exhausted");
    assert!(known && ends["retry_share"] > 1_000, "{ends:?}");
    let reached = world.requests("u1") + world.requests("u2");
    // 2,000 calls, a fifth again, 100 saved up, and 10 for each second that the back-offs took.
    assert!(reached <= 2_000 + 400 + 100 + 600, "{reached}: unbounded it would be 8,000");
    assert!(reached > 2_100, "{reached}: the first calls are retried");
}

#[tokio::test(start_paused = true)]
async fn e29_a_hanging_deployment_delays_no_other() {
    let world = World::of(Yaml::b2())
        .with_script("u1", Behaviour::hang())
        .with_script("u2", Behaviour::ok().latency(Duration::from_millis(20)))
        .start()
        .await;
    let parked = Box::pin(join_all((0..200).map(|_| world.chat("d1"))));
    let others = Box::pin(async {
        world.until("200 calls are parked", || world.mock.counts("u1").in_flight == 200).await;
        let mut slowest = Duration::ZERO;
        for _ in 0..100 {
            let began = Instant::now();
            assert_eq!(world.chat("d2").await.status, 200);
            slowest = slowest.max(Instant::now().duration_since(began));
        }
        slowest
    });
    let Either::Right((slowest, parked)) = select(parked, others).await else {
        panic!("the parked calls ended");
    };
    assert!(slowest <= Duration::from_millis(21), "{slowest:?}");
    drop(parked);
    world.until("their callers gone, the calls end", || world.mock.counts("u1").in_flight == 0).await;
}

#[tokio::test(start_paused = true)]
async fn e30_each_failed_attempt_is_charged_to_its_own_deployment() {
    let yaml = Yaml::b2().set("router_settings.num_retries", 1).set("router_settings.allowed_fails", 2);
    let world = World::of(yaml)
        .with_script("u1", Behaviour::status(502))
        .with_script("u2", Behaviour::status(502))
        .start()
        .await;
    for call in 1..=3 {
        assert!(world.is_in("d1") && world.is_in("d2"), "call {call}");
        let answer = world.chat("g").await;
        assert_eq!((answer.status, attempts(&answer)), (502, 2));
    }
    assert_eq!((world.requests("u1"), world.requests("u2")), (3, 3));
    assert_eq!((world.state("d1"), world.state("d2")), ("ISOLATED", "ISOLATED"));
}

#[tokio::test(start_paused = true)]
async fn e32_a_silent_target_is_asked_once_while_another_exists() {
    let yaml = Yaml::b2f().set("router_settings.num_retries", 4).set("router_settings.timeout", 1);
    let world = World::of(yaml).with_script("u1", Behaviour::hang()).start().await;
    let began = Instant::now();
    let answer = world.chat("g").await;
    let took = Instant::now().duration_since(began);
    assert_eq!((answer.deployment(), world.requests("u1")), ("d2", 1));
    assert!(took <= Duration::from_millis(1_100), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn e32_a_lone_silent_target_takes_no_longer_than_its_attempts() {
    let yaml = Yaml::b1().set("router_settings.num_retries", 4).set("router_settings.timeout", 1);
    let world = World::of(yaml).with_script("u1", Behaviour::hang()).start().await;
    let began = Instant::now();
    let answer = world.chat("g").await;
    let took = Instant::now().duration_since(began);
    assert_eq!((answer.status, attempts(&answer)), (408, world.requests("u1")));
    assert!((1..=5).contains(&world.requests("u1")));
    assert!(took <= Duration::from_secs(attempts(&answer)) + Duration::from_millis(50), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn f19_a_connection_that_died_idle_is_nobodys_failure() {
    let yaml = Yaml::b1().probed_every(2);
    let script = Script::ok().calls_per_connection(1);
    let world = World::of(yaml).with_script("u1", script).start().await;
    for call in 0..20 {
        assert_eq!(world.chat("g").await.status, 200, "call {call}");
        world.pass(Duration::from_millis(1_500)).await;
    }
    let evidence = &world.detail("d1").await["evidence"];
    assert_eq!(
        (&evidence["failed_requests"], &evidence["failed_probes"], &evidence["window_failed"]),
        (&json!(0), &json!(0), &json!(0))
    );
    assert_eq!(world.state("d1"), "HEALTHY");
}

#[tokio::test(start_paused = true)]
async fn f19_a_name_that_moved_is_followed_by_probes_and_traffic() {
    let interval = 60;
    let yaml = Yaml::b1().probed_every(interval).set("general_settings.enable_health_check_routing", true);
    let world = World::of(yaml).start().await;
    assert_eq!(world.chat("g").await.status, 200);
    world.mock.attach(&world.net, "u1", 80, "u2");
    let probes = || world.mock.kept("u2").iter().filter(|kept| kept.body["max_tokens"].is_number()).count();
    let calls = || world.requests("u2") - probes() as u64;
    let began = Instant::now();
    let since = || Instant::now().duration_since(began);
    let (mut probed, mut served) = (None, None);
    while probed.is_none() || served.is_none() {
        assert!(
            since() < Duration::from_secs(5 * 60 + 2 * interval),
            "probes {probed:?}, traffic {served:?}"
        );
        world.pass_secs(5).await;
        assert_eq!(world.chat("g").await.status, 200);
        probed = probed.or((probes() > 0).then(since));
        served = served.or((calls() > 0).then(since));
    }
    assert_eq!(world.detail("d1").await["evidence"]["window_failed"], 0);
}

#[tokio::test(start_paused = true)]
async fn g13_the_health_page_does_not_wait_for_the_slowest() {
    let mut yaml = Yaml::new();
    for number in 0..50 {
        let (id, host) = (format!("d{number}"), if number < 2 { "u2" } else { "u1" });
        yaml = yaml
            .deployment("g", &id)
            .set(&format!("{id}.litellm_params.api_base"), format!("http://{host}/v1"))
            .set(&format!("{id}.model_info.health_check_timeout"), 2);
    }
    let hang = || Behaviour::hang();
    let page = |world: World| async move {
        let began = Instant::now();
        let answer = world.get("/health").await;
        (answer, Instant::now().duration_since(began), world)
    };
    let world = World::of(yaml.clone()).with_script("u2", hang()).start().await;
    let (answer, took, _world) = page(world).await;
    assert!(took <= Duration::from_millis(2_100), "fresh: {took:?}");
    let json = answer.json();
    assert_eq!((&json["healthy_count"], &json["unhealthy_count"]), (&json!(48), &json!(2)));
    for row in json["unhealthy_endpoints"].as_array().unwrap() {
        assert!(row.to_string().to_lowercase().contains("timeout"), "{row}");
    }

    let world = World::of(yaml.probed_every(300)).with_script("u2", hang()).start().await;
    let (answer, took, _world) = page(world).await;
    assert!(took < Duration::from_millis(50), "from state: {took:?}");
    assert_eq!(answer.status, 200);
}

#[tokio::test(start_paused = true)]
async fn g13_a_live_check_has_a_deadline_and_says_what_it_did_not_reach() {
    let mut yaml = Yaml::new();
    for number in 0..40 {
        let id = format!("d{number}");
        yaml = yaml
            .deployment("g", &id)
            .set(&format!("{id}.litellm_params.api_base"), "http://u1/v1")
            .set(&format!("{id}.model_info.health_check_timeout"), 60);
    }
    let world = World::of(yaml).with_script("u1", Behaviour::hang()).start().await;
    let began = Instant::now();
    let json = world.get("/health").await.json();
    assert_eq!(Instant::now().duration_since(began), Duration::from_secs(65));
    assert_eq!((&json["healthy_count"], &json["unhealthy_count"]), (&json!(0), &json!(16)), "{json}");
    assert_eq!(json["unknown_count"], 24);
    for row in json["unknown_endpoints"].as_array().unwrap() {
        assert_eq!(
            (&row["live_check"], &row["reason"]),
            (&json!("out_of_time"), &json!("live_check_out_of_time"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn h03_four_refusals_have_four_codes() {
    let limited = Yaml::b1()
        .set("d1.litellm_params.rpm", 1)
        .set("router_settings.optional_pre_call_checks", json!(["enforce_model_rate_limits"]));
    let world = World::start(limited).await;
    assert_eq!(world.chat("g").await.status, 200);
    let limit = world.chat("g").await;

    let all_out = Yaml::b2().set("router_settings.allowed_fails", 0).set("haleway.health.all_out", "fail");
    let world = World::of(all_out)
        .with_script("u1", Behaviour::status(500))
        .with_script("u2", Behaviour::status(500))
        .start()
        .await;
    for id in ["d1", "d2"] {
        assert_eq!(world.chat(id).await.status, 500);
    }
    let reached = world.requests("u1") + world.requests("u2");
    let out = world.chat("g").await;
    assert_eq!(world.requests("u1") + world.requests("u2"), reached, "{}", out.text());

    let unknown = world.chat("nobody").await;

    let tagged = Yaml::b1()
        .set("d1.litellm_params.tags", json!(["paid"]))
        .set("router_settings.enable_tag_filtering", true);
    let world = World::start(tagged).await;
    let forbidden = world.chat_with("g", &json!({"metadata": {"tags": ["free"]}})).await;

    let all = [&limit, &out, &unknown, &forbidden];
    assert_eq!(
        all.map(|answer| answer.error("class").as_str().unwrap().to_owned()),
        ["gateway_limit", "all_out", "not_configured", "not_allowed"]
    );
    assert_eq!(all.map(|answer| answer.headers.contains_key("retry-after")), [true, true, false, false]);
    let why = |answer: &Answer| answer.error("haleway")["deployments"].clone();
    assert_eq!(why(&limit)[0]["reason"], "rpm_used_up");
    assert_eq!((&why(&out)[0]["reason"], &why(&out)[1]["reason"]), (&json!("cooldown"), &json!("cooldown")));
    assert_eq!(why(&forbidden)[0]["reason"], "tags");
    assert_eq!(out.error("haleway")["retry_after_seconds"], 5);
    for answer in all {
        assert!(
            !answer.text().contains("sk-canary") && !answer.text().contains("http://u"),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn h04_every_answer_names_who_served_and_why_others_did_not() {
    let world = crate::trace::three().await;
    let answer = world.chat("g").await;
    assert_eq!((answer.deployment(), attempts(&answer)), ("d3", 2));
    assert_eq!(skipped(&answer), "d1=cooldown(429, 12s), d2=http_500");
    let answer = world.chat_stream("g").await;
    assert_eq!((answer.deployment(), attempts(&answer)), ("d3", 2));
    assert_eq!(skipped(&answer), "d1=cooldown(429, 12s), d2=http_500");

    world.mock.script("u3", Behaviour::status(502));
    let answer = world.chat("g").await;
    assert_eq!((answer.status, answer.deployment(), attempts(&answer)), (502, "d3", 2));
    assert!(skipped(&answer).ends_with("d2=http_500, d3=http_502"), "{}", skipped(&answer));
}

/// A retry that sits out a stated wait finds another generation of the deployment's health; its failure counts.
#[tokio::test(start_paused = true)]
async fn a_failure_after_a_wait_counts_as_what_it_is() {
    let yaml = Yaml::b2().set("haleway.profile", "litellm");
    let world = World::of(yaml).with_script("u1", Behaviour::rate_limited("12")).start().await;
    let began = Instant::now();
    let answer = world.chat_with("d1", &json!({"num_retries": 1})).await;
    assert_eq!((answer.status, attempts(&answer), world.requests("u1")), (429, 2, 2));
    assert!(Instant::now().duration_since(began) >= Duration::from_secs(12));
    assert_eq!(world.state("d1"), "ISOLATED");
}

/// What went out while a call waited for it is not asked again.
#[tokio::test(start_paused = true)]
async fn e10_health_is_read_again_after_a_wait() {
    let yaml = Yaml::b1().set("general_settings.master_key", "sk-master");
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    let once_more = json!({"num_retries": 1});
    let waiting = world.chat_with("g", &once_more);
    let disabling = async {
        world.until("the first attempt failed", || world.mock.counts("u1").completed == 1).await;
        assert_eq!(world.post("/haleway/deployments/d1/disable", &json!({})).await.status, 200);
    };
    let (answer, ()) = Box::pin(join(waiting, disabling)).await;
    assert_eq!((answer.status, world.requests("u1")), (500, 1));
}

/// A minute without a provider, at two calls per second: no caller notices, few calls find out, and it comes back.
#[tokio::test(start_paused = true)]
async fn an_outage_of_a_minute_is_found_by_few_and_over_when_it_is_over() {
    let yaml = Yaml::b2()
        .set("router_settings.num_retries", 1)
        .set("haleway.profile", "resilient")
        .set("general_settings.background_health_checks", false);
    let phase = |seconds: u64, behaviour| Phase { for_ms: seconds * 1_000, behaviour };
    let phases = [phase(60, Behaviour::ok()), phase(60, Behaviour::status(500)), phase(600, Behaviour::ok())];
    let outage = Script { plan: Plan::Cycle(phases.into()), ..Script::ok() };
    let world = World::of(yaml).with_script("u1", outage).start().await;
    let failures = || world.mock.counts("u1").statuses.get(&500).copied().unwrap_or_default();
    for call in 0..600 {
        let answer = world.chat("g").await;
        assert_eq!(answer.status, 200, "call {call}");
        world.pass(Duration::from_millis(500)).await;
    }
    assert_eq!(
        failures(),
        6,
        "five calls find out, one is the trial in the middle; about 60 would have met it"
    );
    assert_eq!(world.state("d1"), "HEALTHY");
}

/// Each phase has its own limit, per deployment, and its own reason; the call goes on where somebody answers.
#[tokio::test(start_paused = true)]
async fn a_phase_that_takes_too_long_is_named_and_the_next_deployment_serves() {
    for (key, phase) in [("timeouts.connect", "connect"), ("timeouts.first_byte", "first_byte")] {
        let yaml = Yaml::b1()
            .set(&format!("d1.model_info.haleway.{key}"), "700ms")
            .deployment("spare", "d2")
            .set("router_settings.num_retries", 0)
            .set("router_settings.fallbacks", json!([{"g": ["spare"]}]));
        let world =
            World::of(yaml).with_script("u1", Behaviour::ok().latency(Duration::from_secs(9))).start().await;
        if phase == "connect" {
            world.net.blackhole("u1", 80, true);
        }
        let began = Instant::now();
        let answer = world.chat("g").await;
        let took = Instant::now().duration_since(began);
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
        assert!((700..1_500).contains(&took.as_millis()), "{phase}: {took:?}");
        let skipped = answer.header("x-haleway-skipped");
        assert!(skipped.contains(phase), "{phase}: {skipped}");
    }
}
