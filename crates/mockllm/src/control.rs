//! The mock's own HTTP interface: set scripts, open and close ports, read the meter, while it runs.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::Timed;
use crate::mock::{Mock, Shared};
use crate::script::{Behaviour, Script};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenPort {
    script: String,
    #[serde(default)]
    port: u16,
}

/// Answers a call to a `/__` path.
pub(crate) async fn respond(shared: &Arc<Shared>, head: &Parts, body: &[u8]) -> Response<Timed> {
    let path = head.uri.path().trim_start_matches("/__");
    let (what, name) = path.split_once('/').unwrap_or((path, ""));
    let result = match (head.method.clone(), what, name) {
        (Method::GET, "meter", "") => to_json(&shared.all_counts()),
        (Method::GET, "meter", name) => to_json(&Mock::of(shared).counts(name)),
        (Method::DELETE, "meter", "") => {
            shared.reset_meters();
            Ok(json!({}))
        }
        (Method::GET, "kept", name) => to_json(&Mock::of(shared).kept(name)),
        (Method::POST | Method::PUT, "script", name) if !name.is_empty() => set_script(shared, name, body),
        (Method::GET, "script", name) => match shared.find(name) {
            Some(deployment) => to_json(&deployment.running().script),
            None => Err((StatusCode::NOT_FOUND, format!("no deployment {name:?}"))),
        },
        (Method::POST, "port", "") => open_port(shared, body).await,
        (Method::DELETE, "port", port) => close_port(shared, port).await,
        (method, _, _) => {
            Err((StatusCode::NOT_FOUND, format!("no control call {method} {}", head.uri.path())))
        }
    };
    let (status, body) = match result {
        Ok(body) => (StatusCode::OK, body),
        Err((status, message)) => (status, json!({"error": message})),
    };
    let mut response = Response::new(Timed::plain(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

type Answer = Result<Value, (StatusCode, String)>;

fn bad(error: impl ToString) -> (StatusCode, String) {
    (StatusCode::BAD_REQUEST, error.to_string())
}

fn to_json(value: &impl serde::Serialize) -> Answer {
    serde_json::to_value(value).map_err(|error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

/// A script, or a single behaviour as its short form: told apart by `do`, which only a behaviour has.
fn set_script(shared: &Shared, name: &str, body: &[u8]) -> Answer {
    let value: Value = serde_json::from_slice(body).map_err(bad)?;
    let script = if value.get("do").is_some() {
        Script::from(serde_json::from_value::<Behaviour>(value).map_err(bad)?)
    } else {
        serde_json::from_value(value).map_err(bad)?
    };
    shared.set_script(name, script);
    Ok(json!({"script": name}))
}

async fn open_port(shared: &Arc<Shared>, body: &[u8]) -> Answer {
    let wanted: OpenPort = serde_json::from_slice(body).map_err(bad)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, wanted.port));
    let port = Mock::of(shared).listen(address, &wanted.script).await;
    let port = port.map_err(|error| (StatusCode::CONFLICT, error.to_string()))?;
    Ok(json!({"port": port.address().port()}))
}

async fn close_port(shared: &Arc<Shared>, port: &str) -> Answer {
    let number: u16 = port.parse().map_err(bad)?;
    if Mock::of(shared).close(number).await {
        return Ok(json!({"port": number}));
    }
    Err((StatusCode::NOT_FOUND, format!("port {number} is not open")))
}
