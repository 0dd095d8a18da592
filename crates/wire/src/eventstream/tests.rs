//! Frames made by botocore, frames of our own, and broken ones.

use bytes::{BufMut, BytesMut};
use proptest::prelude::*;

use super::{Decoder, FrameError, Kind, write_frame};

/// Frames as botocore writes them, with kind, name and payload.
const FRAMES: [(&str, Kind, &str, &str); 6] = [
    (
        "000000760000005296d5fade0b3a6576656e742d7479706507000c6d65737361676553746172740d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22726f6c65223a22617373697374616e74227d6fa8c599",
        Kind::Event,
        "messageStart",
        r#"{"role":"assistant"}"#,
    ),
    (
        "0000009300000057068b46fe0b3a6576656e742d74797065070011636f6e74656e74426c6f636b44656c74610d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22636f6e74656e74426c6f636b496e646578223a302c2264656c7461223a7b2274657874223a2232227d7dcaa12ecb",
        Kind::Event,
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"text":"2"}}"#,
    ),
    (
        "0000007d00000056e6680fd60b3a6576656e742d74797065070010636f6e74656e74426c6f636b53746f700d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22636f6e74656e74426c6f636b496e646578223a307db32e4d34",
        Kind::Event,
        "contentBlockStop",
        r#"{"contentBlockIndex":0}"#,
    ),
    (
        "0000007a00000051ca2c46650b3a6576656e742d7479706507000b6d65737361676553746f700d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b2273746f70526561736f6e223a22656e645f7475726e227d5fbf09fc",
        Kind::Event,
        "messageStop",
        r#"{"stopReason":"end_turn"}"#,
    ),
    (
        "000000b70000004e56a167fa0b3a6576656e742d747970650700086d657461646174610d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b227573616765223a7b22696e707574546f6b656e73223a392c226f7574707574546f6b656e73223a312c22746f74616c546f6b656e73223a31307d2c226d657472696373223a7b226c6174656e63794d73223a3132307d7d41087683",
        Kind::Event,
        "metadata",
        r#"{"usage":{"inputTokens":9,"outputTokens":1,"totalTokens":10},"metrics":{"latencyMs":120}}"#,
    ),
    (
        "00000090000000618e91a9b70f3a657863657074696f6e2d747970650700137468726f74746c696e67457863657074696f6e0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d74797065070009657863657074696f6e7b226d657373616765223a22546f6f206d616e79207265717565737473227de67f8005",
        Kind::Exception,
        "throttlingException",
        r#"{"message":"Too many requests"}"#,
    ),
];

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn frames_of_botocore_are_read_whatever_the_cuts() {
    let whole: Vec<u8> = FRAMES.iter().flat_map(|(hex, ..)| bytes(hex)).collect();
    for size in [1, 7, 100, whole.len()] {
        let mut decoder = Decoder::default();
        let mut found = Vec::new();
        for piece in whole.chunks(size) {
            decoder.push(piece);
            while let Some(frame) = decoder.next_frame().unwrap() {
                found.push(frame);
            }
        }
        assert_eq!(decoder.pending(), 0);
        assert_eq!(found.len(), FRAMES.len());
        for (frame, (hex, kind, name, payload)) in found.iter().zip(FRAMES) {
            assert_eq!(
                (frame.kind, frame.name.as_str(), frame.payload.as_ref()),
                (kind, name, payload.as_bytes())
            );
            assert_eq!(frame.raw, bytes(hex));
        }
    }
}

#[test]
fn a_wrong_checksum_ends_the_stream() {
    let mut broken = bytes(FRAMES[1].0);
    *broken.last_mut().unwrap() ^= 1;
    let mut decoder = Decoder::default();
    decoder.push(&broken);
    assert_eq!(decoder.next_frame(), Err(FrameError::Checksum));
    decoder.push(&bytes(FRAMES[0].0));
    assert_eq!(decoder.next_frame(), Err(FrameError::Checksum), "nothing after it is trusted");
}

#[test]
fn what_is_no_event_stream_is_told_at_once() {
    let mut decoder = Decoder::default();
    decoder.push(b"{\"message\":\"no\"}");
    assert_eq!(decoder.next_frame(), Err(FrameError::PreludeChecksum));
}

#[test]
fn impossible_lengths_are_refused_before_anything_is_kept() {
    for (total, headers) in
        [(u32::MAX, 0), (0, 0), (15, 0), (16, 1), (u32::MAX, u32::MAX), (200_000, 150_000)]
    {
        let mut frame = BytesMut::new();
        frame.put_u32(total);
        frame.put_u32(headers);
        let checksum = crc32fast::hash(&frame);
        frame.put_u32(checksum);
        let mut decoder = Decoder::default();
        decoder.push(&frame);
        assert_eq!(decoder.next_frame(), Err(FrameError::Length), "{total} {headers}");
    }
}

#[test]
fn an_error_outside_the_services_model_is_in_the_headers() {
    let mut out = BytesMut::new();
    let headers = [(":message-type", "error"), (":error-code", "InternalError"), (":error-message", "broke")];
    write_frame(&mut out, &headers, b"").unwrap();
    let mut decoder = Decoder::default();
    decoder.push(&out);
    let frame = decoder.next_frame().unwrap().unwrap();
    assert_eq!(
        (frame.kind, frame.name.as_str(), frame.message.as_deref()),
        (Kind::Error, "InternalError", Some("broke"))
    );
}

#[test]
fn our_frames_are_those_of_botocore() {
    for (hex, kind, name, payload) in FRAMES {
        let (key, kind) = match kind {
            Kind::Event => (":event-type", "event"),
            Kind::Exception => (":exception-type", "exception"),
            Kind::Error => (":error-code", "error"),
        };
        let mut out = BytesMut::new();
        let headers = [(key, name), (":content-type", "application/json"), (":message-type", kind)];
        write_frame(&mut out, &headers, payload.as_bytes()).unwrap();
        assert_eq!(out.as_ref(), bytes(hex));
    }
}

proptest! {
    #[test]
    fn frames_survive_the_wire(name in "[a-zA-Z]{1,40}", payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut out = BytesMut::new();
        write_frame(&mut out, &[(":event-type", &name)], &payload).unwrap();
        let mut decoder = Decoder::default();
        decoder.push(&out);
        let frame = decoder.next_frame().unwrap().unwrap();
        prop_assert_eq!((frame.name, frame.payload.as_ref()), (name, payload.as_slice()));
    }

    #[test]
    fn any_bytes_end_as_frames_or_an_error(
        mut noise in prop::collection::vec(any::<u8>(), 0..200),
        headers in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        // Headers of any bytes within right checksums, then noise.
        let mut frame = BytesMut::new();
        frame.put_u32(u32::try_from(headers.len() + 16).unwrap());
        frame.put_u32(u32::try_from(headers.len()).unwrap());
        let prelude = crc32fast::hash(&frame);
        frame.put_u32(prelude);
        frame.put_slice(&headers);
        let trailer = crc32fast::hash(&frame);
        frame.put_u32(trailer);
        let mut all = frame.to_vec();
        all.append(&mut noise);
        let mut decoder = Decoder::default();
        for piece in all.chunks(11) {
            decoder.push(piece);
            while let Ok(Some(_)) = decoder.next_frame() {}
        }
    }
}
