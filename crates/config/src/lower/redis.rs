//! Which Redis the processes share: LiteLLM's places, in LiteLLM's order.
//!
//! 1. `general_settings.coordination_redis`.
//! 2. `litellm_settings.cache_params` with an address, while `cache` is on and its type is a Redis.
//! 3. The same without an address, completed from `REDIS_*`.
//! 4. `router_settings.redis_*`.
//! 5. `REDIS_*` alone, when the file asks for a fleet: a variable that is only there does not make one.

use percent_encoding::percent_decode_str;
use secrecy::SecretString;

use super::field::{Field, fields_of};
use super::section::Reader;
use crate::diag::{Finding, Report, codes};
use crate::env::{self, Environment};
use crate::typed::{Redis, RedisAddress, RedisNodes};
use crate::yaml::{Node, Value};

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
const NAMESPACE: &str = "haleway";

/// The settings of one place, as they are written.
#[derive(Default)]
struct Draft {
    host: Option<String>,
    port: Option<u16>,
    url: Option<String>,
    username: Option<String>,
    password: Option<String>,
    db: Option<i64>,
    tls: bool,
    namespace: Option<String>,
    cluster: Vec<RedisAddress>,
    sentinels: Vec<RedisAddress>,
    service: Option<String>,
    sentinel_password: Option<String>,
}

/// The sections in which LiteLLM looks.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) general: Option<Reader<'a>>,
    pub(crate) litellm: Option<Reader<'a>>,
    pub(crate) router: Option<Reader<'a>>,
}

/// The Redis of the fleet. `wanted`: the file asks for a fleet, so that the environment alone may name it.
pub(crate) fn find(
    places: Places<'_>,
    env: &Environment<'_>,
    wanted: bool,
    report: &Report,
) -> Option<Redis> {
    if let Some(field) = places.general.and_then(|reader| reader.get("coordination_redis")) {
        let draft = Draft::of(field, env);
        if draft.is_addressed() {
            return draft.finish(report);
        }
        report.add(
            field
                .error(codes::BAD_VALUE, "coordination_redis names no server")
                .hint("give it host and port, url, startup_nodes, or sentinel_nodes with service_name"),
        );
        return None;
    }
    if let Some(params) = cache(places.litellm) {
        let own = params.map(|field| Draft::of(field, env)).unwrap_or_default();
        if own.is_addressed() {
            return own.finish(report);
        }
        let from_env = Draft::environment(env);
        if from_env.is_addressed() {
            return Draft { namespace: own.namespace, ..from_env }.finish(report);
        }
    }
    if let Some(draft) = places.router.map(|reader| Draft::router(reader, env)).filter(Draft::is_addressed) {
        return draft.finish(report);
    }
    let draft = Draft::environment(env);
    (wanted && draft.is_addressed()).then(|| draft.finish(report)).flatten()
}

/// `cache_params` of a cache that is on and kept in Redis; the inner `None` = it has none.
fn cache(litellm: Option<Reader<'_>>) -> Option<Option<Field<'_>>> {
    let reader = litellm?;
    let params = reader.get("cache_params");
    let on = reader.get("cache").and_then(|field| field.value.as_scalar().map(|scalar| &scalar.value));
    on.filter(|value| !matches!(value, Value::Bool(false)))?;
    let kind = params.and_then(|field| field.value.as_map()?.get("type")?.value.as_str());
    kind.is_none_or(|kind| kind.starts_with("redis")).then_some(params)
}

impl Draft {
    fn of(field: Field<'_>, env: &Environment<'_>) -> Self {
        let mut draft = Self::default();
        let Some(map) = field.map() else { return draft };
        for field in fields_of(map, field.report) {
            draft.take(field.name, field);
        }
        // A password is the one thing that LiteLLM's deployments keep out of the file.
        draft.password = draft.password.or_else(|| env.text(env::REDIS_PASSWORD));
        draft
    }

    fn router(reader: Reader<'_>, env: &Environment<'_>) -> Self {
        let mut draft = Self::default();
        for name in [
            "redis_host",
            "redis_url",
            "redis_port",
            "redis_password",
            "redis_db",
            "redis_username",
            "redis_startup_nodes",
        ] {
            if let Some(field) = reader.get(name) {
                draft.take(name.trim_start_matches("redis_"), field);
            }
        }
        draft.password = draft.password.or_else(|| env.text(env::REDIS_PASSWORD));
        draft
    }

    fn environment(env: &Environment<'_>) -> Self {
        let nodes = |variable, port| {
            env.text(variable)
                .map(|text| {
                    env_nodes(&text, port).unwrap_or_else(|| {
                        env.unreadable(variable, r#"JSON such as [{"host": "a", "port": 6379}]"#);
                        Vec::new()
                    })
                })
                .unwrap_or_default()
        };
        Self {
            host: env.text(env::REDIS_HOST),
            port: env.count(env::REDIS_PORT).and_then(|port| u16::try_from(port).ok()),
            url: env.text(env::REDIS_URL),
            username: env.text(env::REDIS_USERNAME),
            password: env.text(env::REDIS_PASSWORD),
            db: env.text(env::REDIS_DB).and_then(|text| text.trim().parse().ok()),
            tls: env.flag(env::REDIS_SSL),
            namespace: None,
            cluster: nodes(env::REDIS_CLUSTER_NODES, PORT),
            sentinels: nodes(env::REDIS_SENTINEL_NODES, SENTINEL_PORT),
            service: env.text(env::REDIS_SERVICE_NAME),
            sentinel_password: env.text(env::REDIS_SENTINEL_PASSWORD),
        }
    }

    fn take(&mut self, name: &str, field: Field<'_>) {
        match name {
            "host" => self.host = field.text(),
            "port" => self.port = field.count(1).and_then(|port| u16::try_from(port).ok()),
            "url" => self.url = field.text(),
            "username" => self.username = field.text(),
            "password" => self.password = field.text(),
            "db" => self.db = field.count(0).and_then(|db| i64::try_from(db).ok()),
            "ssl" => self.tls = field.truth(),
            "namespace" => self.namespace = field.text(),
            "startup_nodes" | "redis_startup_nodes" => self.cluster = nodes(field, PORT),
            "sentinel_nodes" => self.sentinels = nodes(field, SENTINEL_PORT),
            "service_name" => self.service = field.text(),
            "sentinel_password" => self.sentinel_password = field.text(),
            _ => {}
        }
    }

    fn is_addressed(&self) -> bool {
        self.host.is_some() || self.url.is_some() || !self.cluster.is_empty() || !self.sentinels.is_empty()
    }

    fn finish(mut self, report: &Report) -> Option<Redis> {
        if let Some(url) = self.url.take()
            && self.read_url(&url).is_none()
        {
            report.add(
                Finding::placeless(
                    crate::Severity::Error,
                    codes::BAD_VALUE,
                    "the URL of the Redis cannot be read",
                )
                .hint("write it as redis://user:password@host:6379/0, or rediss:// for TLS"),
            );
            return None;
        }
        let nodes = if !self.sentinels.is_empty() {
            RedisNodes::Sentinel {
                sentinels: self.sentinels,
                service: self.service.unwrap_or_else(|| "mymaster".to_owned()),
                password: self.sentinel_password.map(SecretString::from),
            }
        } else if self.cluster.is_empty() {
            RedisNodes::Single((self.host?, self.port.unwrap_or(PORT)))
        } else {
            RedisNodes::Cluster(self.cluster)
        };
        Some(Redis {
            nodes,
            tls: self.tls,
            username: self.username.filter(|name| !name.is_empty()),
            password: self.password.filter(|password| !password.is_empty()).map(SecretString::from),
            db: self.db.unwrap_or(0),
            namespace: self.namespace.clone().unwrap_or_else(|| NAMESPACE.to_owned()),
            litellm_namespace: self.namespace,
        })
    }

    /// `redis[s]://[user][:password]@host[:port][/db]`.
    fn read_url(&mut self, url: &str) -> Option<()> {
        let (scheme, rest) = url.trim().split_once("://")?;
        self.tls = match scheme {
            "redis" => self.tls,
            "rediss" => true,
            _ => return None,
        };
        let (rest, _query) = rest.split_once('?').unwrap_or((rest, ""));
        let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
        if let Some(login) = login {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            self.username = Some(plain(user)).filter(|user| !user.is_empty()).or(self.username.take());
            self.password = Some(plain(password)).filter(|word| !word.is_empty()).or(self.password.take());
        }
        let (place, db) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = address(place, PORT)?;
        self.host = Some(host);
        self.port = Some(port);
        if !db.is_empty() {
            self.db = Some(db.parse().ok()?);
        }
        Some(())
    }
}

/// `host`, `host:port` or `[v6]:port`.
fn address(text: &str, port: u16) -> Option<RedisAddress> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let port = rest.strip_prefix(':').map_or(Some(port), |port| port.parse().ok())?;
        return Some((host.to_owned(), port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, text)) => (host, text.parse().ok()?),
        None => (text, port),
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// A list of `{host, port}`, of `[host, port]`, or of `host:port`.
fn nodes(field: Field<'_>, port: u16) -> Vec<RedisAddress> {
    let Some(items) = field.list() else { return Vec::new() };
    items
        .iter()
        .filter_map(|item| {
            let found = node(item, port);
            if found.is_none() {
                let message = format!("{} has an entry without a host", field.name);
                field
                    .report
                    .add(field.error(codes::BAD_VALUE, message).hint("write it as {host: a, port: 6379}"));
            }
            found
        })
        .collect()
}

fn node(item: &Node, port: u16) -> Option<RedisAddress> {
    let number = |node: &Node| node.as_scalar()?.text.trim().parse().ok();
    if let Some(map) = item.as_map() {
        let host = map.get("host")?.value.as_scalar()?.text.clone();
        return Some((host, map.get("port").and_then(|entry| number(&entry.value)).unwrap_or(port)));
    }
    if let Some(pair) = item.as_seq() {
        let host = pair.first()?.as_scalar()?.text.clone();
        return Some((host, pair.get(1).and_then(number).unwrap_or(port)));
    }
    address(item.as_str()?, port)
}

/// The same in a variable, as JSON.
fn env_nodes(text: &str, port: u16) -> Option<Vec<RedisAddress>> {
    let values: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    let number = |value: &serde_json::Value| match value {
        serde_json::Value::Number(number) => u16::try_from(number.as_u64()?).ok(),
        serde_json::Value::String(text) => text.parse().ok(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => None,
    };
    values
        .iter()
        .map(|value| match value {
            serde_json::Value::Object(map) => Some((
                map.get("host")?.as_str()?.to_owned(),
                map.get("port").and_then(number).unwrap_or(port),
            )),
            serde_json::Value::Array(pair) => {
                Some((pair.first()?.as_str()?.to_owned(), pair.get(1).and_then(number).unwrap_or(port)))
            }
            serde_json::Value::String(text) => address(text, port),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => None,
        })
        .collect()
}
