//! The Security Token Service: keys of a role, for keys or for a token of the workload's own identity. It is asked in
//! forms and answers in XML.

use bytes::Bytes;
use http::Request;
use secrecy::{ExposeSecret, SecretString};

use super::{AwsRole, Spelt, StsPlace};
use crate::credential::{ExchangeError, Fetched, fit_to_show, oauth};
use crate::sigv4::{AwsKeys, Place};

const VERSION: (&str, &str) = ("Version", "2011-06-15");

/// `AssumeRole`, signed with `keys`. `now_ms` is in milliseconds since the Unix epoch.
///
/// # Errors
/// When the service's address is no URL.
pub fn assume_role(
    sts: &StsPlace,
    role: &AwsRole,
    keys: &AwsKeys,
    now_ms: u64,
) -> Result<Request<Bytes>, ExchangeError> {
    let mut pairs = vec![
        ("Action", "AssumeRole"),
        VERSION,
        ("RoleArn", role.arn.as_str()),
        ("RoleSessionName", role.session.as_str()),
    ];
    pairs.extend(role.external_id.as_deref().map(|id| ("ExternalId", id)));
    let mut request = post(sts, &pairs)?;
    let (method, uri, body) = (request.method().clone(), request.uri().clone(), request.body().clone());
    let place = Place { region: sts.region.clone(), service: "sts" };
    place.sign(keys, &method, &uri, request.headers_mut(), &body, now_ms / 1000);
    Ok(request)
}

/// `AssumeRoleWithWebIdentity`, which the token itself authorises.
///
/// # Errors
/// When the service's address is no URL.
pub fn assume_role_with_web_identity(
    sts: &StsPlace,
    role: &AwsRole,
    token: &SecretString,
) -> Result<Request<Bytes>, ExchangeError> {
    post(
        sts,
        &[
            ("Action", "AssumeRoleWithWebIdentity"),
            VERSION,
            ("RoleArn", &role.arn),
            ("RoleSessionName", &role.session),
            ("WebIdentityToken", token.expose_secret()),
        ],
    )
}

fn post(sts: &StsPlace, pairs: &[(&str, &str)]) -> Result<Request<Bytes>, ExchangeError> {
    let mut request = oauth::post(sts.endpoint.trim_end_matches('/'), pairs)?;
    request.headers_mut().remove(http::header::ACCEPT);
    Ok(request)
}

/// The answer of either.
///
/// # Errors
/// When it is an error, or holds no keys.
pub fn sts_answer(status: u16, body: &[u8]) -> Result<Fetched, ExchangeError> {
    let text = String::from_utf8_lossy(body);
    if !(200..300).contains(&status) {
        return Err(ExchangeError::Refused {
            status,
            code: element(&text, "Code").map(|code| fit_to_show(&code)),
            message: element(&text, "Message").map(|message| fit_to_show(&message)).unwrap_or_default(),
        });
    }
    let promised = |name: &str| {
        element(&text, name).ok_or_else(|| ExchangeError::unreadable(format!("the answer holds no {name}")))
    };
    Spelt {
        access_key: promised("AccessKeyId")?,
        secret: promised("SecretAccessKey")?.into(),
        token: Some(promised("SessionToken")?.into()),
        expiration: Some(promised("Expiration")?),
    }
    .fetched()
}

/// The text of the first element of this name. The service's answers hold each name once, without attributes.
fn element(xml: &str, name: &str) -> Option<String> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    let (text, _) = rest.split_once(&format!("</{name}>"))?;
    let text = text.trim();
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    Some(plain.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain)))
}
