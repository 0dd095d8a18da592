//! Any HTTP service that stands beside the models: a path, and the status that says it is well.

use std::time::Duration;

use http::{HeaderValue, Method, Uri, header};

use super::{CannotProbe, Expectation, Finding, Judgement, Probe, ProbeAnswer, fault};
use crate::Mode;
use crate::catalogue::Prices;
use crate::target::Target;
use haleway_health::Class;

/// What a service is asked, and what it must answer. The default asks for the base itself and takes any success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpCheck {
    /// The path below the base, with its slash; may have a query. Empty: the base itself.
    pub path: String,
    /// `GET`, `HEAD`, `OPTIONS` or `POST`, without a body.
    pub method: Method,
    /// The status that it must answer; `None`: any 2xx.
    pub status: Option<u16>,
    /// The longest it may take; `None`: the probe's own timeout.
    pub max_latency: Option<Duration>,
}

impl Default for HttpCheck {
    fn default() -> Self {
        Self { path: String::new(), method: Method::GET, status: None, max_latency: None }
    }
}

pub(super) fn probe(target: &Target, check: &HttpCheck) -> Result<Probe, CannotProbe> {
    let uri: Uri = format!("{}{}", target.api_base, check.path).parse().map_err(|_| CannotProbe {
        code: "invalid_settings",
        message: format!("the path {:?} of the http probe makes no URL", check.path),
    })?;
    let mut call = target.bare(check.method.clone(), uri);
    call.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let expect = Expectation {
        candidate: None,
        mode: Mode::Http,
        free: false,
        stream: false,
        repaired: false,
        cap: None,
        dimensions: None,
        documents: 0,
        http: Some(check.clone()),
    };
    Ok(Probe { call, expect, deadline: Duration::from_secs(5), prices: Prices::NONE })
}

/// The status decides; what an unexpected one means is the classifier's to say.
pub(super) fn judge(target: &Target, check: &HttpCheck, answer: &ProbeAnswer<'_>) -> Judgement {
    let is_well = check.status.map_or((200..300).contains(&answer.status), |status| status == answer.status);
    if is_well {
        return Judgement::Healthy { degraded: None };
    }
    let wanted = check.status.map_or_else(|| "a 2xx".to_owned(), |status| status.to_string());
    let message = format!("the service answered {}, not {wanted}", answer.status);
    if answer.status < 400 {
        let class = Class::MalformedResponse;
        return Judgement::Unhealthy(Finding {
            class,
            scope: class.default_scope(),
            reason: "unexpected_status",
            status: answer.status,
            retry_after: None,
            message,
        });
    }
    Judgement::Unhealthy(Finding { message, ..fault::finding(target, Mode::Http, answer) })
}
