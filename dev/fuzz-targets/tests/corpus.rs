//! Every target over its corpus and over changes of it, the same in every run.
#![expect(clippy::unwrap_used, reason = "a broken corpus ends the test")]

use std::path::Path;

use haleway_fuzz_targets::TARGETS;

/// Changed inputs per seed of a corpus.
const CHANGES: usize = 300;

/// The inputs of a target, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// A few bytes replaced, removed, doubled or cut off.
fn changed(seed: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut input = seed.to_vec();
    for _ in 0..random.usize(1..6) {
        if input.is_empty() {
            return input;
        }
        let at = random.usize(..input.len());
        match random.u8(..5) {
            0 => input[at] = random.u8(..),
            1 => drop(input.remove(at)),
            2 => input.insert(at, *b"\"{}[]:,\\\n\r \0".get(random.usize(..12)).unwrap()),
            3 => input.truncate(at),
            _ => {
                let end = (at + random.usize(1..20)).min(input.len());
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece);
            }
        }
    }
    input
}

#[test]
fn no_seed_and_no_change_of_one_breaks_a_promise() {
    let mut random = fastrand::Rng::with_seed(7);
    for (name, target) in TARGETS {
        let seeds = corpus(name);
        assert!(seeds.len() >= 2, "{name} has {} seeds", seeds.len());
        for seed in &seeds {
            target(seed);
            for _ in 0..CHANGES {
                target(&changed(seed, &mut random));
            }
        }
        target(b"");
    }
}
