//! The clip that probes of speech to text send: about a second of a voice, made here.
//!
//! Silence and tones are transcribed as nothing, which could not be told from a model that fails; so the clip says
//! something: the syllables of "hello, hello", each sound given by the resonances of a mouth that forms it (the first
//! three formants, after Peterson and Barney 1952 and Klatt 1980).

use std::f32::consts::TAU;
use std::sync::OnceLock;

use bytes::Bytes;

/// Samples per second, which speech models resample to.
const RATE: u32 = 16_000;
/// How loud the loudest sample is, of 32,767.
const PEAK: f32 = 20_000.0;

/// A sound of speech.
#[derive(Clone, Copy)]
struct Sound {
    /// In seconds.
    length: f32,
    /// The resonances at the end of the sound, in hertz; they glide there from the sound before.
    formants: [f32; 3],
    /// Strength of the voice and of the breath.
    voice: f32,
    breath: f32,
}

const fn sound(length: f32, formants: [f32; 3], voice: f32, breath: f32) -> Sound {
    Sound { length, formants, voice, breath }
}

/// h, e, l, o, u, and the pause after.
const HELLO: [Sound; 6] = [
    sound(0.06, [500.0, 1500.0, 2500.0], 0.0, 0.35),
    sound(0.11, [560.0, 1750.0, 2500.0], 1.0, 0.02),
    sound(0.08, [360.0, 1100.0, 2700.0], 0.7, 0.0),
    sound(0.13, [520.0, 900.0, 2450.0], 1.0, 0.0),
    sound(0.08, [380.0, 800.0, 2350.0], 0.6, 0.0),
    sound(0.06, [400.0, 1200.0, 2400.0], 0.0, 0.0),
];
/// Widths of the resonances, in hertz.
const WIDTHS: [f32; 3] = [70.0, 100.0, 140.0];

/// The clip as a WAV file: mono, 16 bits, 16 kHz. Made once.
pub(super) fn wav() -> Bytes {
    static CLIP: OnceLock<Bytes> = OnceLock::new();
    CLIP.get_or_init(|| file(&spoken()).into()).clone()
}

fn file(samples: &[f32]) -> Vec<u8> {
    let peak = samples.iter().fold(f32::MIN_POSITIVE, |peak, sample| peak.max(sample.abs()));
    let data = u32::try_from(samples.len() * 2).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(samples.len() * 2 + 44);
    out.extend(b"RIFF");
    out.extend((data + 36).to_le_bytes());
    out.extend(b"WAVEfmt ");
    out.extend(16_u32.to_le_bytes());
    // PCM, one channel.
    out.extend([1, 0, 1, 0]);
    out.extend(RATE.to_le_bytes());
    out.extend((RATE * 2).to_le_bytes());
    // Bytes per frame, bits per sample.
    out.extend([2, 0, 16, 0]);
    out.extend(b"data");
    out.extend(data.to_le_bytes());
    for sample in samples {
        // Within the range by the scale.
        let level = (sample / peak * PEAK) as i16;
        out.extend(level.to_le_bytes());
    }
    out
}

/// The samples, of any scale.
fn spoken() -> Vec<f32> {
    let sounds: Vec<Sound> = HELLO.into_iter().chain(HELLO).collect();
    let whole: f32 = sounds.iter().map(|sound| sound.length).sum();
    let mut samples = Vec::new();
    let mut mouth = WIDTHS.map(Resonance::new);
    let mut source = Source::default();
    let mut before = sounds.first().copied().unwrap_or(sound(0.0, [500.0, 1500.0, 2500.0], 0.0, 0.0));
    for sound in sounds {
        let count = sound.length * RATE as f32;
        for at in 0..count as u32 {
            // The tongue moves in the first third and then rests.
            let glide = (at as f32 / count * 3.0).min(1.0);
            let between = |from: f32, to: f32| from + (to - from) * glide;
            let time = samples.len() as f32 / RATE as f32;
            // A statement falls.
            let pitch = 135.0 - 40.0 * time / whole + 4.0 * (TAU * 5.0 * time).sin();
            let mut sample =
                source.next(pitch, between(before.voice, sound.voice), between(before.breath, sound.breath));
            for ((resonance, from), to) in mouth.iter_mut().zip(before.formants).zip(sound.formants) {
                sample = resonance.next(sample, between(from, to));
            }
            samples.push(sample);
        }
        before = sound;
    }
    samples
}

/// What comes out of the throat: pulses and noise.
#[derive(Default)]
struct Source {
    phase: f32,
    flow: f32,
    seed: u32,
}

impl Source {
    fn next(&mut self, pitch: f32, voice: f32, breath: f32) -> f32 {
        self.phase = (self.phase + pitch / RATE as f32).fract();
        // The glottis opens for most of a period and closes at once; its change is what is heard (Rosenberg 1971).
        let flow = if self.phase < 0.6 {
            let open = self.phase / 0.6;
            open * open * (3.0 - 2.0 * open) * (1.0 - open * open * open)
        } else {
            0.0
        };
        let pulse = flow - self.flow;
        self.flow = flow;
        // Numerical Recipes' generator: the clip is the same everywhere.
        self.seed = self.seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let noise = (self.seed >> 8) as f32 / (1_u32 << 23) as f32 - 1.0;
        pulse * 4.0 * voice + noise * 0.1 * breath
    }
}

/// A digital resonator of two poles (Klatt 1980).
struct Resonance {
    width: f32,
    last: [f32; 2],
}

impl Resonance {
    const fn new(width: f32) -> Self {
        Self { width, last: [0.0, 0.0] }
    }

    fn next(&mut self, input: f32, frequency: f32) -> f32 {
        let step = 1.0 / RATE as f32;
        let decay = (-std::f32::consts::PI * self.width * step).exp();
        let c = -decay * decay;
        let b = 2.0 * decay * (TAU * frequency * step).cos();
        let output = (1.0 - b - c) * input + b * self.last[0] + c * self.last[1];
        self.last = [output, self.last[0]];
        output
    }
}
