//! The picture that probes of image edits send: a grey dot on a clear ground, made here.
//!
//! Grey with transparency, because some models take no picture without, and one that is stored uncompressed: it is
//! small enough, and needs no compressor.

use bytes::Bytes;

/// Width and height in pixels: the least that models of images are known to take.
const SIDE: u32 = 64;

/// A PNG of a grey dot.
pub(super) fn dot() -> Bytes {
    let mut rows = Vec::new();
    for y in 0..SIDE {
        // Each row begins with its filter: none.
        rows.push(0);
        for x in 0..SIDE {
            let from_middle = |at: u32| i64::from(2 * at + 1) - i64::from(SIDE);
            let inside = from_middle(x).pow(2) + from_middle(y).pow(2) < i64::from(SIDE).pow(2) / 4;
            rows.extend(if inside { [0x80, 0xff] } else { [0xff, 0x00] });
        }
    }
    png(SIDE, SIDE, &rows).into()
}

/// A PNG of 8-bit grey and transparency, from rows of filter and pixels.
fn png(width: u32, height: u32, rows: &[u8]) -> Vec<u8> {
    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // 8 bits, grey with transparency, the only compression and filters there are, not interlaced.
    header.extend([8, 4, 0, 0, 0]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, b"IHDR", &header);
    chunk(&mut out, b"IDAT", &zlib(rows));
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    out.extend(length.to_be_bytes());
    out.extend(kind);
    out.extend(data);
    let mut sum = crc32fast::Hasher::new();
    sum.update(kind);
    sum.update(data);
    out.extend(sum.finalize().to_be_bytes());
}

/// A zlib stream of stored blocks.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(adler32(data).to_be_bytes());
    out
}

/// RFC 1950.
fn adler32(data: &[u8]) -> u32 {
    let (a, b) = data.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}
