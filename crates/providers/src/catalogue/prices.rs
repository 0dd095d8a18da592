//! What a model's units cost, and what a usage costs at these prices.

use std::time::Duration;

use super::Usd;
use super::usage::{Resolution, Usage};

/// Declares the kinds of prices: their name here, their column in a catalogue file, LiteLLM's key.
macro_rules! price_kinds {
    ($($(#[$doc:meta])* $name:ident = $column:literal, $key:literal;)+) => {
        /// What a price is for. The unit is in the name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum PriceKind {
            $($(#[$doc])* $name,)+
        }

        impl PriceKind {
            /// Every kind, in the order of a catalogue's columns.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// LiteLLM's keys of all kinds, in the same order.
            pub const KEYS: &'static [&'static str] = &[$($key,)+];

            /// The column of a catalogue file.
            pub const fn column(self) -> &'static str {
                match self { $(Self::$name => $column,)+ }
            }

            /// LiteLLM's key in `model_info`, `litellm_params` and its price map.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)+ }
            }
        }
    };
}

price_kinds! {
    /// One input token.
    InputToken = "in_tok", "input_cost_per_token";
    /// One output token.
    OutputToken = "out_tok", "output_cost_per_token";
    /// One input token that the provider had cached.
    CacheReadToken = "cache_read_tok", "cache_read_input_token_cost";
    /// One input token that the provider put into its cache.
    CacheWriteToken = "cache_write_tok", "cache_creation_input_token_cost";
    /// One output token of reasoning.
    ReasoningToken = "out_reason_tok", "output_cost_per_reasoning_token";
    /// One input token of audio.
    InputAudioToken = "in_audio_tok", "input_cost_per_audio_token";
    /// One output token of audio.
    OutputAudioToken = "out_audio_tok", "output_cost_per_audio_token";
    /// One input token of an image.
    InputImageToken = "in_img_tok", "input_cost_per_image_token";
    /// One output token of an image.
    OutputImageToken = "out_img_tok", "output_cost_per_image_token";
    /// One image that is read.
    InputImage = "in_image", "input_cost_per_image";
    /// One image that is made.
    OutputImage = "out_image", "output_cost_per_image";
    /// One pixel of an image that is made, as providers charge for the request.
    InputPixel = "in_pixel", "input_cost_per_pixel";
    /// One pixel of an image that is made.
    OutputPixel = "out_pixel", "output_cost_per_pixel";
    /// One second of audio or video that is read.
    InputSecond = "in_sec", "input_cost_per_second";
    /// One second of audio or video that is made.
    OutputSecond = "out_sec", "output_cost_per_second";
    /// One second of video that is made.
    OutputVideoSecond = "out_video_sec", "output_cost_per_video_per_second";
    /// One second of video of 480 lines that is made.
    OutputSecond480p = "out_sec_480p", "output_cost_per_second_480p";
    /// One second of video of 720 lines that is made.
    OutputSecond720p = "out_sec_720p", "output_cost_per_second_720p";
    /// One second of video of 1080 lines that is made.
    OutputSecond1080p = "out_sec_1080p", "output_cost_per_second_1080p";
    /// One query (rerank, search).
    Query = "in_query", "input_cost_per_query";
    /// One input character.
    InputCharacter = "in_char", "input_cost_per_character";
    /// One output character.
    OutputCharacter = "out_char", "output_cost_per_character";
    /// One page that is read.
    Page = "page", "ocr_cost_per_page";
    /// One request, whatever it holds.
    Request = "per_request", "input_cost_per_request";
    /// One input token of a batch job.
    BatchInputToken = "in_tok_batch", "input_cost_per_token_batches";
    /// One output token of a batch job.
    BatchOutputToken = "out_tok_batch", "output_cost_per_token_batches";
}

impl PriceKind {
    /// The kind with this key of LiteLLM's.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.key() == key)
    }

    /// The kind with this column of a catalogue file.
    pub fn of_column(column: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.column() == column)
    }
}

/// The prices of a model, in US dollars per unit; `None` where nobody stated one, which is not the same as free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices([Option<Usd>; PriceKind::ALL.len()]);

impl Prices {
    /// No price is known.
    pub const NONE: Self = Self([None; PriceKind::ALL.len()]);

    /// The price of one unit.
    pub fn get(&self, kind: PriceKind) -> Option<Usd> {
        self.0.get(kind as usize).copied().flatten()
    }

    /// Sets the price of one unit.
    pub fn set(&mut self, kind: PriceKind, price: Option<Usd>) {
        if let Some(place) = self.0.get_mut(kind as usize) {
            *place = price;
        }
    }

    /// Whether no price is known.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The prices that are known.
    pub fn known(&self) -> impl Iterator<Item = (PriceKind, Usd)> + '_ {
        PriceKind::ALL.iter().filter_map(|kind| Some((*kind, self.get(*kind)?)))
    }

    /// These prices where `own` states none: how a deployment's own prices replace the catalogue's, one by one.
    #[must_use]
    pub fn overridden(mut self, own: &Self) -> Self {
        for (kind, price) in own.known() {
            self.set(kind, Some(price));
        }
        self
    }

    /// What `usage` costs. `None` when no price is known for anything in it: an unknown price is not zero.
    ///
    /// A part of the tokens without a price of its own (cached, reasoning, audio, images) costs what the other tokens
    /// of its direction cost. Images, seconds and characters count only where the tokens of that direction have no
    /// price: providers that state both prices bill an output once.
    pub fn cost(&self, usage: &Usage) -> Option<Usd> {
        let mut input = Bill::default();
        let parts = [
            (usage.cache_read_tokens, PriceKind::CacheReadToken),
            (usage.cache_write_tokens, PriceKind::CacheWriteToken),
            (usage.input_audio_tokens, PriceKind::InputAudioToken),
            (usage.input_image_tokens, PriceKind::InputImageToken),
        ];
        self.tokens(&mut input, usage.input_tokens, &parts, PriceKind::InputToken);
        if !input.priced {
            input.add(usage.input_images, self.get(PriceKind::InputImage));
            input.add(usage.input_characters, self.get(PriceKind::InputCharacter));
            let second = self.get(PriceKind::InputSecond).or(self.get(PriceKind::OutputSecond));
            input.add_time(usage.input_time, second);
        }
        let mut output = Bill::default();
        let parts = [
            (usage.reasoning_tokens, PriceKind::ReasoningToken),
            (usage.output_audio_tokens, PriceKind::OutputAudioToken),
            (usage.output_image_tokens, PriceKind::OutputImageToken),
        ];
        self.tokens(&mut output, usage.output_tokens, &parts, PriceKind::OutputToken);
        if !output.priced {
            output.add(usage.images, self.get(PriceKind::OutputImage));
            output.add(usage.output_characters, self.get(PriceKind::OutputCharacter));
            output.add_time(usage.output_time, self.second_of_output(usage.resolution));
        }
        if !output.priced {
            let pixel = self.get(PriceKind::OutputPixel).filter(|price| *price > Usd::ZERO);
            output.add(usage.pixels, self.get(PriceKind::InputPixel).or(pixel));
        }
        let mut other = Bill::default();
        other.add(usage.pages, self.get(PriceKind::Page));
        other.add(usage.queries, self.get(PriceKind::Query));
        other.add(1, self.get(PriceKind::Request));
        let priced = input.priced || output.priced || other.priced;
        priced.then(|| input.total + output.total + other.total)
    }

    /// The price of a call of one input and one output token: what deployments are compared by.
    pub fn token_pair(&self) -> Option<Usd> {
        match (self.get(PriceKind::InputToken), self.get(PriceKind::OutputToken)) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or_default() + output.unwrap_or_default()),
        }
    }

    fn tokens(&self, bill: &mut Bill, all: u64, parts: &[(u64, PriceKind)], plain: PriceKind) {
        let base = self.get(plain);
        let mut rest = all;
        for (count, kind) in parts {
            // A part never exceeds the whole, whatever an answer states.
            let count = (*count).min(rest);
            rest -= count;
            bill.add(count, self.get(*kind).or(base));
        }
        bill.add(rest, base);
    }

    fn second_of_output(&self, resolution: Option<Resolution>) -> Option<Usd> {
        let kind = match resolution {
            Some(Resolution::P480) => Some(PriceKind::OutputSecond480p),
            Some(Resolution::P720) => Some(PriceKind::OutputSecond720p),
            Some(Resolution::P1080) => Some(PriceKind::OutputSecond1080p),
            None => None,
        };
        kind.and_then(|kind| self.get(kind))
            .or(self.get(PriceKind::OutputVideoSecond))
            .or(self.get(PriceKind::OutputSecond))
    }
}

/// A sum, and whether anything in it had a price.
#[derive(Default)]
struct Bill {
    total: Usd,
    priced: bool,
}

impl Bill {
    fn add(&mut self, count: u64, price: Option<Usd>) {
        if let Some(price) = price.filter(|_| count > 0) {
            self.total = self.total + price.times(count);
            self.priced = true;
        }
    }

    fn add_time(&mut self, time: Duration, price: Option<Usd>) {
        if let Some(price) = price.filter(|_| !time.is_zero()) {
            self.total = self.total + price.for_time(time);
            self.priced = true;
        }
    }
}
