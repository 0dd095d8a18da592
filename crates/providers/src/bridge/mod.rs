//! Bridges between the wires that clients speak: a call that a deployment has no road of its own for is said as
//! another one that it serves.
//!
//! Anthropic's messages and OpenAI's responses become chat completions, which every provider's own translation takes
//! from there; on deployments that serve only responses, chat completions become those. A road of the deployment's own
//! always wins: its bytes pass. What a bridge cannot say is refused before anything is sent, with a mark that another
//! deployment may be able to serve the call.

mod chat;
mod drafts;
mod messages;
mod responses;
mod upstream;

use bytes::Bytes;
use haleway_wire::Envelope;
use serde_json::value::RawValue;

use crate::events::Framing;
use crate::registry::Wire;
use crate::target::{Purpose, Target};
use crate::{
    Call, CallOptions, ClientBody, Operation, Progress, Refusal, Reply, Step, Translator, Untranslatable,
};

/// Which bridge a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bridge {
    /// Messages over chat completions, which may take the third bridge from there.
    Messages,
    /// Responses over chat completions.
    Responses,
    /// Chat completions over responses.
    Chat,
}

impl Bridge {
    /// The bridge by which a deployment without a road of its own for `operation` serves it.
    fn of(target: &Target, operation: Operation) -> Option<Self> {
        let (chat, responses) = (target.serves(Operation::Chat), target.serves(Operation::Responses));
        if operation == Operation::Messages {
            (chat || responses).then_some(Self::Messages)
        } else if operation == Operation::Responses {
            chat.then_some(Self::Responses)
        } else {
            (operation == Operation::Chat && responses).then_some(Self::Chat)
        }
    }

    /// The operation at its other end.
    const fn over(self) -> Operation {
        match self {
            Self::Messages | Self::Responses => Operation::Chat,
            Self::Chat => Operation::Responses,
        }
    }
}

/// Whether `operation` is served over another one.
pub(crate) fn serves(target: &Target, operation: Operation) -> bool {
    Bridge::of(target, operation).is_some()
}

/// The call that serves `operation` over another one.
pub(crate) fn build(
    target: &Target,
    operation: Operation,
    body: &Envelope<'_>,
    model: Option<&str>,
    options: CallOptions,
    purpose: Purpose<'_>,
) -> Result<Call, Refusal> {
    let Some(bridge) = Bridge::of(target, operation) else {
        return Err(Refusal::unsupported(target.provider.id, operation));
    };
    let asked = Asked { target, body, options, purpose };
    let (text, outer): (Vec<u8>, Box<dyn Translator>) = match bridge {
        Bridge::Messages => (messages::request(&asked)?, Box::new(messages::Reader::default())),
        Bridge::Responses => {
            let echo = responses::Echo::of(&asked);
            (responses::request(&asked)?, Box::new(responses::Reader::new(options.created, echo)))
        }
        Bridge::Chat => (upstream::request(&asked)?, Box::new(upstream::Reader::new(options.created))),
    };
    let envelope =
        Envelope::parse(&text).map_err(|error| Refusal::untranslatable("request_body", error.to_string()))?;
    // Streams of the client's wire end with the token counts, asked for or not.
    let over = CallOptions { count_tokens: true, ..options };
    let mut call = target.build(bridge.over(), ClientBody::from(&envelope), model, over, purpose)?;
    call.strip_usage = bridge == Bridge::Chat && options.stream && !asked.wants_usage();
    call.reply = Reply::Translated(match call.reply {
        Reply::Passthrough => outer,
        Reply::Translated(inner) => Box::new(Chained { inner, outer, chunks: Vec::new() }),
    });
    Ok(call)
}

/// One call to be said another way.
pub(crate) struct Asked<'a> {
    target: &'a Target,
    body: &'a Envelope<'a>,
    options: CallOptions,
    purpose: Purpose<'a>,
}

impl<'a> Asked<'a> {
    /// A member that is set, not `null`, and not among those never to be sent.
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.body.get(name).filter(|value| value.get() != "null" && !self.is_dropped(name))
    }

    fn is_dropped(&self, name: &str) -> bool {
        self.target.defaults.dropped.iter().any(|dropped| dropped == name)
    }

    /// A member as a value of `T`.
    fn read<T: serde::Deserialize<'a>>(
        &self,
        name: &'static str,
        wanted: &str,
    ) -> Result<Option<T>, Refusal> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| Refusal::invalid(name, format!("{name} must be {wanted}")))
    }

    /// Parameters that cannot be said are left out instead of refused.
    fn drops(&self) -> bool {
        self.options.drop_params || self.target.defaults.drop_params
    }

    /// The client asked for the chunk that holds a stream's usage.
    fn wants_usage(&self) -> bool {
        #[derive(serde::Deserialize)]
        struct Options {
            #[serde(default)]
            include_usage: Option<bool>,
        }
        self.get("stream_options")
            .and_then(|raw| serde_json::from_str::<Options>(raw.get()).ok())
            .is_some_and(|options| options.include_usage == Some(true))
    }

    /// The members that `known` does not name, as written.
    fn others(&self, known: &'static [&'static str]) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.body.iter().filter(move |(name, _)| !known.contains(name) && !self.is_dropped(name))
    }

    /// What the deployment's chat wire can say.
    fn dialect(&self) -> Dialect {
        let target = self.target;
        let marks = target.wire(Operation::Chat) == Some(Wire::Bedrock);
        let openai = matches!(target.provider.id, "openai" | "azure" | "azure_ai");
        let own_wire = matches!(target.wire(Operation::Chat), None | Some(Wire::OpenAi | Wire::Azure));
        let effort = match () {
            () if marks && target.wire_model.contains("claude") => Effort::AsWritten,
            () if marks || (openai && !target.defaults.habits.reasons) => Effort::Unsaid,
            () => Effort::Word,
        };
        Dialect { marks, thoughts: !own_wire, effort, top_k: !openai }
    }
}

/// What a chat wire can say beside chat.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    /// Cache marks, and thoughts with their signatures.
    marks: bool,
    /// What the model thought in earlier turns.
    thoughts: bool,
    /// How thinking is asked for.
    effort: Effort,
    /// `top_k`.
    top_k: bool,
}

/// How thinking is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// By Anthropic's own member.
    AsWritten,
    /// By `reasoning_effort`.
    Word,
    /// Not at all: the model takes no such parameter.
    Unsaid,
}

/// A provider's answer through two translations: the provider's into the wire between, that into the client's.
#[derive(Debug)]
struct Chained {
    inner: Box<dyn Translator>,
    outer: Box<dyn Translator>,
    chunks: Vec<Bytes>,
}

impl Chained {
    fn pass_on(&mut self, step: Step, chunks: &mut Vec<Bytes>) -> Step {
        for chunk in self.chunks.drain(..) {
            let step = self.outer.event(None, &chunk, chunks);
            if step != Step::More {
                return step;
            }
        }
        if step == Step::Done { self.outer.event(None, chat::DONE, chunks) } else { step }
    }
}

impl Translator for Chained {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let between = self.inner.answer(body)?;
        self.outer.answer(&between)
    }

    fn continues(&self) -> bool {
        self.inner.continues()
    }

    fn is_whole(&self) -> bool {
        self.inner.is_whole()
    }

    fn progress(&mut self, body: &[u8]) -> Result<Progress, Untranslatable> {
        match self.inner.progress(body)? {
            Progress::Done(between) => self.outer.answer(&between).map(Progress::Done),
            other @ (Progress::Again(_) | Progress::Fetch(_) | Progress::Refused(_)) => Ok(other),
        }
    }

    fn event(&mut self, event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        let step = self.inner.event(event, data, &mut self.chunks);
        self.pass_on(step, chunks)
    }

    fn end(&mut self, chunks: &mut Vec<Bytes>) -> Step {
        let step = self.inner.end(&mut self.chunks);
        let step = self.pass_on(step, chunks);
        if step == Step::More { self.outer.end(chunks) } else { step }
    }

    fn framing(&self) -> Framing {
        self.inner.framing()
    }
}
