//! OpenAI's forms: the client's parts go on as they came. Only the model's name is written anew, the gateway's own
//! fields are taken out, and the deployment's defaults are added where the client is silent.

use haleway_wire::Form;
use http::HeaderValue;
use serde_json::Value;

use super::{renamed, takes_default};
use crate::Reply;
use crate::resolve::is_gateway_field;
use crate::route::Place;
use crate::target::Outgoing;
use crate::wires::Encode;

/// The provider's form.
pub(super) fn encode(encode: &Encode<'_>, form: &Form) -> Outgoing {
    sent(&rewritten(encode, form), Reply::Passthrough)
}

/// `form` at the deployment's own URL.
pub(in crate::wires) fn sent(form: &Form, reply: Reply) -> Outgoing {
    Outgoing {
        content_type: HeaderValue::from_str(&form.content_type()).ok(),
        body: form.payload(),
        place: Place::default(),
        reply,
        strip_usage: false,
    }
}

fn rewritten(encode: &Encode<'_>, form: &Form) -> Form {
    let defaults = &encode.target.defaults;
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    let drop = encode.options.drop_params || defaults.drop_params;
    let mut out = form.emptied();
    let mut named = false;
    for part in form.parts() {
        let key = part.key();
        if key == "model" {
            if !named {
                out.push_text("model", model);
                named = true;
            }
            continue;
        }
        let refused = drop && encode.target.provider.refuses.contains(&key);
        let own = key != "stream" && is_gateway_field(key);
        let set = defaults.extra.iter().any(|(name, _)| name == key);
        if !(refused || own || set || is_dropped(encode, key)) {
            out.push(part.clone());
        }
    }
    if !named {
        // The model was named in the URL.
        out.push_text("model", model);
    }
    for (name, value) in &defaults.params {
        if !form.has(name) && takes_default(encode, name) && !is_dropped(encode, name) {
            push(&mut out, renamed(encode, name), value);
        }
    }
    for (name, value) in &defaults.extra {
        push(&mut out, name, value);
    }
    out
}

fn is_dropped(encode: &Encode<'_>, name: &str) -> bool {
    encode.target.defaults.dropped.iter().any(|dropped| dropped == name)
}

/// A JSON value as fields, the way OpenAI's clients write them: a list under the name with brackets.
pub(in crate::wires) fn push(form: &mut Form, name: &str, json: &[u8]) {
    match serde_json::from_slice(json) {
        Ok(Value::String(text)) => form.push_text(name, &text),
        Ok(Value::Array(items)) => {
            for item in items {
                push(form, &format!("{name}[]"), item.to_string().as_bytes());
            }
        }
        Ok(value @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_))) => {
            form.push_text(name, &value.to_string());
        }
        // Members are JSON by construction.
        Err(_) => {}
    }
}
