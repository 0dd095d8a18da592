//! What a probe uses, and what that costs: by its answer where that states a usage, else by what its request asked for.

use serde_json::Value;

use super::{Expectation, ProbeAnswer, judge, verdict};
use crate::catalogue::{Prices, Usage, Usd};
use crate::target::Target;
use crate::{Mode, Reply};

/// Output tokens of a chat that has no cap, for estimates.
const UNCAPPED: u64 = 4096;
/// Output tokens of a picture of the lowest quality.
const LOW_PICTURE: u64 = 272;
/// Output tokens of any other picture.
const PICTURE: u64 = 1056;
/// Length of the clip that a transcription sends, in seconds.
const CLIP: u64 = 1;
/// Length of a video when the request does not say, in seconds.
const VIDEO: u64 = 8;

/// What one request of a probe came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbePrice {
    /// The price; `None` when no price of the model is known.
    pub usd: Option<Usd>,
    /// The price is an estimate.
    pub estimated: bool,
    /// Tokens, read and made, as far as the answer states them.
    pub tokens: u64,
}

impl ProbePrice {
    /// Nothing was used.
    pub const NOTHING: Self = Self { usd: Some(Usd::ZERO), estimated: false, tokens: 0 };
}

impl Expectation {
    /// What a request with this `body` may use: its upper end where it states a cap.
    pub fn asks(&self, body: &[u8]) -> Usage {
        // A list is asked for without a body.
        if self.free || self.mode.is_free() || body.is_empty() {
            return Usage::default();
        }
        // Three bytes of JSON for a token is on the high side for any text.
        let input_tokens = (body.len() as u64).div_ceil(3);
        let text = |names: &[&str]| text_of(body, names);
        match self.mode {
            Mode::Chat | Mode::Completion | Mode::Responses | Mode::AnthropicMessages => {
                Usage { input_tokens, output_tokens: self.cap.unwrap_or(UNCAPPED), ..Usage::default() }
            }
            Mode::Embedding => Usage { input_tokens, ..Usage::default() },
            Mode::Rerank => Usage { input_tokens, queries: 1, ..Usage::default() },
            Mode::AudioSpeech => Usage {
                input_characters: text(&["input", "text"]).map_or(2, |text| text.chars().count() as u64),
                output_time: std::time::Duration::from_secs(1),
                ..Usage::default()
            },
            Mode::AudioTranscription => {
                Usage { input_time: std::time::Duration::from_secs(CLIP), ..Usage::default() }
            }
            Mode::ImageGeneration | Mode::ImageEdit => picture(body),
            Mode::VideoGeneration => Usage {
                output_time: std::time::Duration::from_secs(seconds(body).unwrap_or(VIDEO)),
                ..Usage::default()
            },
            Mode::Ocr => Usage { pages: 1, ..Usage::default() },
            Mode::Realtime | Mode::Batch | Mode::Http => Usage::default(),
        }
    }

    /// What a request that asked for `asks` came to. `answer` is `None` when none came, although it may have been sent.
    ///
    /// An error costs nothing. What was cut off, or states no usage, is charged as what was asked for.
    pub fn price(
        &self,
        target: &Target,
        prices: &Prices,
        asks: &Usage,
        answer: Option<&ProbeAnswer<'_>>,
    ) -> ProbePrice {
        if *asks == Usage::default() {
            return ProbePrice::NOTHING;
        }
        let stated = match answer {
            Some(answer) if !(200..300).contains(&answer.status) => return ProbePrice::NOTHING,
            Some(answer) => self.stated(target, answer),
            None => None,
        };
        match stated {
            Some(usage) => ProbePrice { usd: prices.cost(&usage), estimated: false, tokens: usage.tokens() },
            None => ProbePrice { usd: prices.cost(asks), estimated: true, tokens: 0 },
        }
    }

    /// The usage that an answer states, whatever its wire.
    fn stated(&self, target: &Target, answer: &ProbeAnswer<'_>) -> Option<Usage> {
        if verdict::is_stream(answer.headers, answer.body) {
            return None;
        }
        let raw: Value = serde_json::from_slice(answer.body.trim_ascii()).ok()?;
        let usage = match judge::reply(target, self.mode) {
            Reply::Passthrough => Usage::of_answer(&raw),
            Reply::Translated(mut translator) => {
                let translated = translator.answer(answer.body).ok()?;
                Usage::of_answer(&serde_json::from_slice(&translated).ok()?)
                    .or_else(|| Usage::of_answer(&raw))
            }
        };
        usage.filter(|usage| *usage != Usage::default())
    }
}

/// One picture, of the size and quality that the request names.
fn picture(body: &[u8]) -> Usage {
    let low = text_of(body, &["quality"]).as_deref() == Some("low");
    let tokens = if low { LOW_PICTURE } else { PICTURE };
    let size = text_of(body, &["size"]).unwrap_or_default();
    let side = |text: &str| text.parse::<u64>().ok();
    let pixels = size.split_once('x').and_then(|(width, height)| side(width)?.checked_mul(side(height)?));
    Usage {
        images: 1,
        pixels: pixels.unwrap_or(1024 * 1024),
        output_tokens: tokens,
        output_image_tokens: tokens,
        ..Usage::default()
    }
}

fn seconds(body: &[u8]) -> Option<u64> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let seconds = value.get("seconds")?;
    seconds.as_u64().or_else(|| seconds.as_str()?.parse().ok())
}

/// The first member of the body with one of these names that is a text.
fn text_of(body: &[u8], names: &[&str]) -> Option<String> {
    let value: Value = serde_json::from_slice(body).ok()?;
    names.iter().find_map(|name| value.get(*name)?.as_str().map(str::to_owned))
}
