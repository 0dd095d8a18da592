//! Which Redis, by which name, for what.

use std::time::Duration;

use haleway_config::{FleetRole, LitellmKeys, Redis, RedisNodes};
use secrecy::ExposeSecret;

use crate::table::Table;

fn table(rest: &str) -> Table {
    Table::text(format!(
        "model_list: [{{model_name: g, litellm_params: {{model: openai/a, api_key: k}}}}]\n{rest}"
    ))
}

fn redis(table: &Table) -> Option<Redis> {
    table.config().haleway.fleet.redis
}

fn host(table: &Table) -> Option<(String, u16)> {
    match redis(table)?.nodes {
        RedisNodes::Single(address) => Some(address),
        RedisNodes::Cluster(_) | RedisNodes::Sentinel { .. } => None,
    }
}

#[test]
fn the_first_of_litellms_places_counts() {
    let coordination = "general_settings: {coordination_redis: {host: a, port: 1}}\n";
    let cache = "litellm_settings: {cache: true, cache_params: {type: redis, host: b, port: '2'}}\n";
    let router = "router_settings: {redis_host: c, redis_port: 3}\n";
    let named = |name: &str, port| Some((name.to_owned(), port));
    assert_eq!(host(&table(&format!("{coordination}{cache}{router}"))), named("a", 1));
    assert_eq!(host(&table(&format!("{cache}{router}"))), named("b", 2));
    assert_eq!(host(&table(router)), named("c", 3));
    let bare = "litellm_settings: {cache: true}\n";
    assert_eq!(host(&table(&format!("{bare}{router}")).var("REDIS_HOST", "d")), named("d", 6379));
    assert_eq!(host(&table("litellm_settings: {cache: true, cache_params: {type: s3}}\n")), None);
}

#[test]
fn a_variable_alone_makes_no_fleet_unless_the_file_asks_for_one() {
    assert_eq!(host(&table("").var("REDIS_HOST", "d")), None);
    let asked = "general_settings: {background_health_checks: true, use_shared_health_check: true}\n";
    assert!(host(&table(asked).var("REDIS_HOST", "d")).is_some());
    assert!(host(&table("haleway: {fleet: {namespace: x}}\n").var("REDIS_HOST", "d")).is_some());
}

#[test]
fn a_url_says_everything_and_is_never_shown() {
    let rest = "general_settings: {coordination_redis: {url: 'rediss://us%40er:hu%2Fsh@h:7/3'}}\n";
    let found = redis(&table(rest)).unwrap();
    assert!(matches!(&found.nodes, RedisNodes::Single((host, 7)) if host == "h"));
    assert_eq!((found.tls, found.db, found.username.as_deref()), (true, 3, Some("us@er")));
    assert_eq!(found.password.as_ref().unwrap().expose_secret(), "hu/sh");
    assert!(!format!("{found:?}").contains("hu/sh"));
    let bad = table("general_settings: {coordination_redis: {url: 'http://h:hush@1'}}\n");
    assert_eq!(bad.found("bad-value").len(), 1);
    assert!(!format!("{:?}", bad.load().diagnostics).contains("hush"));
}

#[test]
fn clusters_and_sentinels_in_the_file_and_in_the_environment() {
    let cluster =
        table("general_settings: {coordination_redis: {startup_nodes: [{host: a, port: 1}, {host: b}]}}\n");
    assert!(
        matches!(redis(&cluster).unwrap().nodes, RedisNodes::Cluster(nodes) if nodes.len() == 2 && nodes[1].1 == 6379)
    );
    let sentinel =
        "general_settings: {coordination_redis: {sentinel_nodes: [[s, 26380]], service_name: prod}}\n";
    let RedisNodes::Sentinel { sentinels, service, .. } = redis(&table(sentinel)).unwrap().nodes else {
        panic!("sentinels")
    };
    assert_eq!((sentinels, service.as_str()), (vec![("s".to_owned(), 26380)], "prod"));
    let asked = "haleway: {fleet: {role: prober}}\n";
    let found = redis(&table(asked).var("REDIS_CLUSTER_NODES", r#"[{"host": "a", "port": "7"}]"#)).unwrap();
    assert!(matches!(found.nodes, RedisNodes::Cluster(nodes) if nodes == [("a".to_owned(), 7)]));
    let odd = table(asked).var("REDIS_SENTINEL_NODES", "a:1");
    assert_eq!(odd.found("env-value").len(), 1);
}

#[test]
fn our_own_section() {
    let fleet =
        table("haleway: {fleet: {namespace: prod, role: gateway, litellm_keys: off, full_sync: 10s}}\n")
            .var("REDIS_HOST", "r")
            .config()
            .haleway
            .fleet;
    assert_eq!((fleet.role, fleet.litellm_keys), (FleetRole::Gateway, LitellmKeys::Off));
    assert_eq!((fleet.full_sync, fleet.redis.unwrap().namespace.as_str()), (Duration::from_secs(10), "prod"));
    for (rest, code) in [
        ("{namespace: 'a{b}'}", "bad-value"),
        ("{role: leader}", "bad-value"),
        ("{full_sync: soon}", "bad-value"),
        ("{owner_index: 2, owner_count: 2}", "bad-value"),
        ("{namspace: a}", "unknown-key"),
    ] {
        assert_eq!(table(&format!("haleway: {{fleet: {rest}}}\n")).found(code).len(), 1, "{rest}");
    }
    assert_eq!(table("general_settings: {coordination_redis: {port: 1}}\n").found("bad-value").len(), 1);
}

#[test]
fn several_processes_without_redis_are_warned_of_unless_they_divide_the_probes() {
    let warned = |table: &Table| table.found("replicas-without-redis").len();
    let many = || table("").var("HALEWAY_REPLICAS", "3");
    assert_eq!(warned(&many()), 1);
    assert_eq!(warned(&table("").var("HALEWAY_REPLICAS", "1")), 0);
    assert_eq!(
        warned(&table("general_settings: {coordination_redis: {host: r}}\n").var("HALEWAY_REPLICAS", "3")),
        0
    );
    let shares = many().var("HALEWAY_OWNER_INDEX", "0").var("HALEWAY_OWNER_COUNT", "3");
    assert_eq!((warned(&shares), shares.config().haleway.fleet.share), (0, Some((0, 3))));
    let file = table("haleway: {fleet: {owner_index: 1, owner_count: 2}}\n").var("HALEWAY_REPLICAS", "2");
    assert_eq!((warned(&file), file.config().haleway.fleet.share), (0, Some((1, 2))));
}

#[test]
fn a_share_in_the_environment_that_is_none_is_refused_and_leaves_the_warning() {
    for (index, count) in [("3", "3"), ("x", "3"), ("0", "none")] {
        let table = table("")
            .var("HALEWAY_REPLICAS", "3")
            .var("HALEWAY_OWNER_INDEX", index)
            .var("HALEWAY_OWNER_COUNT", count);
        assert_eq!(table.config().haleway.fleet.share, None);
        assert!(!table.found("env-value").is_empty(), "{index} of {count}");
        assert_eq!(table.found("replicas-without-redis").len(), 1);
    }
}
