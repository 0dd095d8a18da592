//! OCR: one page with one word on it, drawn here, and an answer that read something.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::body::object;
use super::verdict::Verdict;

/// The word on the page, as rows of five dots per letter: `HELLO`.
const WORD: [[u8; 7]; 5] = [
    [0b10001, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001],
    [0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111],
    [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111],
    [0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111],
    [0b01110, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110],
];
/// Side of a dot, in pixels: letters as large as a headline's.
const DOT: usize = 8;
/// Dots around the word.
const MARGIN: usize = 4;

/// The body. The page is inline: a probe depends on no third host.
pub(super) fn body() -> Map<String, Value> {
    let page = format!("data:image/png;base64,{}", STANDARD.encode(page()));
    object(json!({ "document": { "type": "image_url", "image_url": page } }))
}

/// One page, and something on it.
pub(super) fn judge(value: &Value) -> Verdict {
    let Some(pages) = value.get("pages").and_then(Value::as_array) else {
        return Verdict::Malformed("no pages list".to_owned());
    };
    let markdown = |page: &Value| page.get("markdown").and_then(Value::as_str).map(str::to_owned);
    match pages.as_slice() {
        [] => Verdict::Blank,
        [only] => match markdown(only) {
            Some(text) if !text.trim().is_empty() => Verdict::Usable,
            Some(_) => Verdict::Blank,
            None => Verdict::Malformed("the page has no markdown".to_owned()),
        },
        _ => Verdict::Malformed("one page was sent and several came back".to_owned()),
    }
}

/// A PNG of one bit per pixel, black on white.
fn page() -> Vec<u8> {
    let columns = WORD.len() * 6 - 1 + 2 * MARGIN;
    let rows = 7 + 2 * MARGIN;
    let is_ink = |row: usize, column: usize| {
        let (Some(row), Some(column)) = (row.checked_sub(MARGIN), column.checked_sub(MARGIN)) else {
            return false;
        };
        let bits = WORD.get(column / 6).and_then(|letter| letter.get(row)).copied().unwrap_or(0);
        let dot = column % 6;
        dot < 5 && bits >> (4 - dot) & 1 == 1
    };
    let mut pixels = Vec::new();
    for row in 0..rows * DOT {
        // Each line begins with its filter: none.
        pixels.push(0);
        // A dot is eight pixels wide: one byte.
        pixels.extend((0..columns).map(|column| if is_ink(row / DOT, column) { 0x00 } else { 0xff }));
    }
    let (width, height) = ((columns * DOT) as u32, (rows * DOT) as u32);
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend_from_slice(&[1, 0, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, *b"IHDR", &header);
    chunk(&mut png, *b"IDAT", &stored(&pixels));
    chunk(&mut png, *b"IEND", &[]);
    png
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    png.extend_from_slice(&(data.len() as u32).to_be_bytes());
    png.extend_from_slice(&kind);
    png.extend_from_slice(data);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&kind);
    crc.update(data);
    png.extend_from_slice(&crc.finalize().to_be_bytes());
}

/// A zlib stream that is not compressed (RFC 1950, RFC 1951 section 3.2.4).
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = data.chunks(usize::from(u16::MAX));
    let last = blocks.len().saturating_sub(1);
    for (index, block) in blocks.enumerate() {
        // A chunk is no longer than what 16 bits say.
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(index == last));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    out.extend_from_slice(&(b << 16 | a).to_be_bytes());
    out
}
