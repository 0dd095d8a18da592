//! Files, batches and videos: objects that a provider keeps, and that only the deployment which made them can show.
//!
//! On OpenAI's wire these calls pass through: a path below the resource, the caller's query, the caller's body without
//! the gateway's own fields. Videos have other wires, too (see `wires::video`). Which deployment a call goes to is
//! the caller's business; [`id`] makes ids that say it.

mod answer;
pub mod id;
mod lines;

#[cfg(test)]
mod tests;

pub use answer::sealed;

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::Payload;
use haleway_wire::form::{Edit, Form, Part};
use haleway_wire::{Change, Envelope};
use http::{HeaderMap, HeaderValue, Method, Uri, header};

use crate::registry::Wire;
use crate::resolve::is_gateway_field;
use crate::route::encoded;
use crate::target::{Purpose, Target, json_string};
use crate::wires::{self, video};
use crate::{Call, CallOptions, Operation, Refusal, Reply};

/// Longest id of an object, in bytes.
const MAX_ID: usize = 512;

/// What is done with an object. Ids are the provider's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Make one.
    Create,
    /// Show all.
    List,
    /// Show one.
    Get(&'a str),
    /// Its bytes.
    Content(&'a str),
    /// Remove it.
    Delete(&'a str),
    /// Stop it.
    Cancel(&'a str),
    /// Make another one of it.
    Remix(&'a str),
}

impl<'a> Action<'a> {
    /// The HTTP method.
    pub const fn method(self) -> Method {
        match self {
            Self::Create | Self::Cancel(_) | Self::Remix(_) => Method::POST,
            Self::List | Self::Get(_) | Self::Content(_) => Method::GET,
            Self::Delete(_) => Method::DELETE,
        }
    }

    /// The object that is meant.
    pub const fn id(self) -> Option<&'a str> {
        match self {
            Self::Create | Self::List => None,
            Self::Get(id) | Self::Content(id) | Self::Delete(id) | Self::Cancel(id) | Self::Remix(id) => {
                Some(id)
            }
        }
    }

    /// Whether the call makes an object: sent twice, it could make two.
    pub const fn makes(self) -> bool {
        matches!(self, Self::Create | Self::Remix(_))
    }

    /// What follows the resource in OpenAI's path.
    fn tail(self) -> Result<String, Refusal> {
        let Some(id) = self.id() else { return Ok(String::new()) };
        let id = segment(id)?;
        Ok(match self {
            Self::Create | Self::List | Self::Get(_) | Self::Delete(_) => format!("/{id}"),
            Self::Content(_) => format!("/{id}/content"),
            Self::Cancel(_) => format!("/{id}/cancel"),
            Self::Remix(_) => format!("/{id}/remix"),
        })
    }
}

/// An id as one segment of a path, whatever is in it.
pub(crate) fn segment(id: &str) -> Result<String, Refusal> {
    let legal = !matches!(id, "" | "." | "..")
        && id.len() <= MAX_ID
        && id.bytes().all(|byte| byte.is_ascii_graphic());
    if !legal {
        return Err(Refusal::invalid("id", "the id is no id of a file, batch or video"));
    }
    Ok(encoded(id).replace('/', "%2F").replace('@', "%40"))
}

/// The body of an errand.
#[derive(Clone, Copy, Debug)]
pub enum Posted<'a> {
    /// There is none.
    Nothing,
    /// JSON.
    Json(&'a Envelope<'a>),
    /// A form.
    Form(&'a Form),
}

/// One call about objects.
#[derive(Clone, Debug)]
pub struct Errand<'a> {
    /// [`Operation::Files`], [`Operation::Batches`] or [`Operation::Videos`].
    pub operation: Operation,
    /// What is done.
    pub action: Action<'a>,
    /// The caller's query, decoded.
    pub query: &'a [(String, String)],
    /// The caller's body.
    pub body: Posted<'a>,
    /// The name by which the caller asked for the deployment's model, if it did.
    pub asked: Option<&'a str>,
}

impl Target {
    /// The call that does an errand. `model_override` is what a wildcard's `*` stands for.
    ///
    /// # Errors
    /// When the provider does not keep such objects, or the errand cannot be said to it.
    pub fn errand(
        &self,
        errand: &Errand<'_>,
        model_override: Option<&str>,
        options: CallOptions,
    ) -> Result<Call, Refusal> {
        let model = self.model_of(model_override);
        self.build_errand(errand, model.as_deref(), options, Purpose::Traffic)
    }

    /// The one road of errands, for traffic and probes.
    pub(crate) fn build_errand(
        &self,
        errand: &Errand<'_>,
        model: Option<&str>,
        options: CallOptions,
        purpose: Purpose<'_>,
    ) -> Result<Call, Refusal> {
        let operation = errand.operation;
        let Some(wire) = self.wire(operation) else {
            return Err(Refusal::unsupported(self.provider.id, operation));
        };
        if matches!(wire, Wire::OpenAi | Wire::Azure) {
            self.pass(errand, model, options, purpose)
        } else {
            video::errand(self, wire, errand, model, options)
        }
    }

    fn pass(
        &self,
        errand: &Errand<'_>,
        model: Option<&str>,
        options: CallOptions,
        purpose: Purpose<'_>,
    ) -> Result<Call, Refusal> {
        let Some(root) = self.route_uri(errand.operation, model)? else {
            return Err(Refusal::unsupported(self.provider.id, errand.operation));
        };
        let uri = below(&root, &errand.action.tail()?, errand.query)?;
        let mut call = self.bare(errand.action.method(), uri);
        match errand.body {
            Posted::Nothing => {}
            Posted::Json(body)
                if errand.operation == Operation::Videos && errand.action == Action::Create =>
            {
                let encode = wires::Encode {
                    target: self,
                    operation: errand.operation,
                    body,
                    form: None,
                    model,
                    options,
                    purpose,
                };
                call.body = wires::encode(Wire::OpenAi, &encode)?.body;
            }
            Posted::Json(body) => call.body = without_own_fields(body).into(),
            Posted::Form(form) => {
                call.body = form.written(|part| self.edit(errand, model, part));
                put_type(&mut call.headers, &form.content_type())?;
            }
        }
        if matches!(errand.body, Posted::Json(_)) {
            call.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(call)
    }

    /// A call with the deployment's headers and no body.
    pub(crate) fn bare(&self, method: Method, uri: Uri) -> Call {
        let mut headers = self.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        Call {
            method,
            uri,
            headers,
            body: Payload::empty(),
            reply: Reply::Passthrough,
            strip_usage: false,
            signer: self.signer.clone(),
        }
    }

    /// What becomes of a field of a caller's form.
    fn edit(&self, errand: &Errand<'_>, model: Option<&str>, part: &Part) -> Edit {
        let model = model.unwrap_or(&self.wire_model);
        if part.name == "model" && errand.operation == Operation::Videos {
            return Edit::Replace(Bytes::copy_from_slice(model.as_bytes()));
        }
        if is_own_field(&part.name) {
            return Edit::Drop;
        }
        // The name a caller knows is the gateway's; the provider reads the lines.
        let renamed = errand
            .asked
            .filter(|_| errand.operation == Operation::Files && part.name == "file")
            .and_then(|asked| lines::renamed(&part.content, asked, &json_string(model)));
        renamed.map_or(Edit::Keep, Edit::Replace)
    }
}

/// A path below a resource, with the resource's own query and the caller's.
fn below(root: &Uri, tail: &str, query: &[(String, String)]) -> Result<Uri, Refusal> {
    let mut text = format!(
        "{}://{}{}{tail}",
        root.scheme_str().unwrap_or("https"),
        root.authority().map_or("", |authority| authority.as_str()),
        root.path()
    );
    let own = root.query().map(str::to_owned);
    let asked = query
        .iter()
        .filter(|(name, _)| !is_own_field(name) && own.as_deref().is_none_or(|own| !has(own, name)))
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    let pairs: Vec<String> = own.iter().cloned().chain(asked).collect();
    if !pairs.is_empty() {
        text.push('?');
        text.push_str(&pairs.join("&"));
    }
    text.parse().map_err(|_| Refusal::invalid("id", "the id and query make no URL"))
}

fn has(query: &str, name: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some(name))
}

/// Fields of a call about objects that are for the gateway.
fn is_own_field(name: &str) -> bool {
    name == "target_model_names" || name == "target_model_names[]" || is_gateway_field(name)
}

fn without_own_fields(body: &Envelope<'_>) -> Bytes {
    let own: Vec<Change<'_>> =
        body.iter().filter(|(name, _)| is_own_field(name)).map(|(name, _)| Change::Remove(name)).collect();
    body.patched(&own)
}

/// Sets the content type.
pub(crate) fn put_type(headers: &mut HeaderMap, text: &str) -> Result<(), Refusal> {
    let value = HeaderValue::from_str(text)
        .map_err(|_| Refusal::invalid("content-type", "the boundary of the form cannot be sent"))?;
    headers.insert(header::CONTENT_TYPE, value);
    Ok(())
}

/// A field of a posted body as text, numbers included.
pub(crate) fn field<'a>(body: Posted<'a>, name: &str) -> Option<Cow<'a, str>> {
    match body {
        Posted::Nothing => None,
        Posted::Form(form) => form.text(name).map(Cow::Borrowed),
        Posted::Json(body) => body.str(name).or_else(|| {
            let raw = body.get(name)?.get();
            raw.starts_with(|c: char| c.is_ascii_digit()).then_some(Cow::Borrowed(raw))
        }),
    }
}
