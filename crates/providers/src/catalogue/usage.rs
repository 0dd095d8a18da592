//! How much a call used, and how answers state it.

use std::time::Duration;

use serde_json::Value;

/// How much a call used. Zero where nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens of every kind: the four counts below are part of it.
    pub input_tokens: u64,
    /// Input tokens that the provider had cached.
    pub cache_read_tokens: u64,
    /// Input tokens that the provider put into its cache.
    pub cache_write_tokens: u64,
    /// Input tokens of audio.
    pub input_audio_tokens: u64,
    /// Input tokens of images.
    pub input_image_tokens: u64,
    /// Output tokens of every kind: the three counts below are part of it.
    pub output_tokens: u64,
    /// Output tokens of reasoning.
    pub reasoning_tokens: u64,
    /// Output tokens of audio.
    pub output_audio_tokens: u64,
    /// Output tokens of images.
    pub output_image_tokens: u64,
    /// Images that were read.
    pub input_images: u64,
    /// Images that were made.
    pub images: u64,
    /// Pixels of all images that were made.
    pub pixels: u64,
    /// Length of the audio or video that was read.
    pub input_time: Duration,
    /// Length of the audio or video that was made.
    pub output_time: Duration,
    /// Lines of the video that was made, where its price depends on them.
    pub resolution: Option<Resolution>,
    /// Characters that were read.
    pub input_characters: u64,
    /// Characters that were made.
    pub output_characters: u64,
    /// Pages that were read.
    pub pages: u64,
    /// Queries that were answered (rerank, search).
    pub queries: u64,
}

/// Lines of a video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// 480 lines.
    P480,
    /// 720 lines.
    P720,
    /// 1080 lines.
    P1080,
}

impl Usage {
    /// The usage that an answer states, in the words of OpenAI (chat, completions, embeddings, responses, images,
    /// transcriptions), Anthropic Messages, or Cohere's and Jina's rerank. `None` when it states none.
    pub fn of_answer(answer: &Value) -> Option<Self> {
        // A Responses event wraps the response.
        let answer = answer.get("response").filter(|inner| inner.get("usage").is_some()).unwrap_or(answer);
        if let Some(usage) = answer.get("usage").filter(|usage| usage.is_object()) {
            return Some(Self::of_object(usage));
        }
        let units = count(answer.pointer("/meta/billed_units/search_units"));
        (units > 0).then(|| Self { queries: units, ..Self::default() })
    }

    /// The usage that a `usage` object states.
    pub fn of_object(usage: &Value) -> Self {
        let member = |name: &str| count(usage.get(name));
        let detail = |groups: [&str; 2], name: &str| {
            let found = groups.into_iter().find_map(|group| usage.get(group)?.get(name));
            count(found)
        };
        let input = |name| detail(["prompt_tokens_details", "input_tokens_details"], name);
        let output = |name| detail(["completion_tokens_details", "output_tokens_details"], name);
        let (read, write) = (member("cache_read_input_tokens"), member("cache_creation_input_tokens"));
        // Anthropic counts cached tokens beside the others, OpenAI among them.
        let beside = usage.get("prompt_tokens").is_none() && usage.get("input_tokens_details").is_none();
        let input_tokens = member("prompt_tokens").max(member("input_tokens"));
        let input_tokens =
            if beside { input_tokens.saturating_add(read).saturating_add(write) } else { input_tokens };
        let output_tokens = member("completion_tokens").max(member("output_tokens"));
        let unsplit = member("total_tokens").saturating_sub(output_tokens);
        Self {
            input_tokens: if input_tokens == 0 { unsplit } else { input_tokens },
            cache_read_tokens: read.max(input("cached_tokens")),
            cache_write_tokens: write.max(input("cache_creation_tokens")),
            input_audio_tokens: input("audio_tokens"),
            input_image_tokens: input("image_tokens"),
            output_tokens,
            reasoning_tokens: output("reasoning_tokens"),
            output_audio_tokens: output("audio_tokens"),
            output_image_tokens: output("image_tokens"),
            input_time: seconds(usage.get("seconds")),
            pages: member("pages_processed"),
            queries: member("search_units"),
            ..Self::default()
        }
    }

    /// All tokens, read and made.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// A count; what is no count is none.
fn count(value: Option<&Value>) -> u64 {
    let Some(value) = value else { return 0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast of a float saturates"
    )]
    let whole = |number: f64| number as u64;
    value.as_u64().or_else(|| value.as_f64().map(whole)).unwrap_or(0)
}

fn seconds(value: Option<&Value>) -> Duration {
    value
        .and_then(Value::as_f64)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .unwrap_or_default()
}
