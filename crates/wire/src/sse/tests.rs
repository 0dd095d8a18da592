use proptest::prelude::*;

use super::*;

fn all(input: &[u8], step: usize) -> Vec<Event> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for piece in input.chunks(step.max(1)) {
        decoder.push(piece);
        while let Some(event) = decoder.next_event().unwrap() {
            events.push(event);
        }
    }
    events.extend(decoder.finish());
    events
}

fn said(events: &[Event]) -> Vec<(Option<&str>, &str)> {
    events
        .iter()
        .filter(|event| !event.is_blank())
        .map(|event| (event.name(), std::str::from_utf8(&event.data).unwrap()))
        .collect()
}

#[test]
fn every_line_end_and_every_split_reads_the_same() {
    let plain = ": hello\n\nevent: a\ndata: one\n\ndata: two\ndata:three\nid: 7\n\ndata: [DONE]\n\n";
    let wanted = [(Some("a"), "one"), (None, "two\nthree"), (None, "[DONE]")];
    for end in ["\n", "\r\n", "\r"] {
        let input = plain.replace('\n', end);
        for step in 1..=input.len() {
            let events = all(input.as_bytes(), step);
            assert_eq!(said(&events), wanted, "{end:?} in steps of {step}");
            let joined: Vec<u8> = events.iter().flat_map(|event| event.raw.to_vec()).collect();
            assert_eq!(joined, input.as_bytes(), "{end:?} in steps of {step}");
        }
    }
}

#[test]
fn an_event_is_out_as_soon_as_its_blank_line_is() {
    let mut decoder = Decoder::default();
    decoder.push(b"data: a\r\n\r");
    assert_eq!(decoder.next_event().unwrap().unwrap().data, "a");
    decoder.push(b"\ndata: b\n");
    assert_eq!(decoder.next_event().unwrap(), None);
    decoder.push(b"\n");
    let event = decoder.next_event().unwrap().unwrap();
    assert_eq!((&*event.raw, &*event.data), (&b"\ndata: b\n\n"[..], &b"b"[..]));
}

#[test]
fn a_missing_last_blank_line_loses_nothing() {
    for tail in ["data: b", "data: b\n", "data: b\r\n"] {
        let input = format!("data: a\n\n{tail}");
        assert_eq!(said(&all(input.as_bytes(), 3)), [(None, "a"), (None, "b")], "{tail:?}");
    }
    assert!(all(b"", 1).is_empty());
}

#[test]
fn keep_alives_are_blank_and_keep_their_bytes() {
    for input in [&b"\n\n\n"[..], b": ping\n\n", b"\r\n\r\n", b"event: ping\n\n", b"retry: 3\n\n"] {
        let events = all(input, 1);
        assert!(events.iter().all(Event::is_blank), "{events:?}");
        assert_eq!(events.iter().map(|event| event.raw.len()).sum::<usize>(), input.len());
    }
}

#[test]
fn fields_follow_the_standard() {
    for (input, wanted) in [
        ("data:  two spaces\n\n", " two spaces"),
        ("data\ndata: x\n\n", "\nx"),
        ("data: a:b: c\n\n", "a:b: c"),
        ("data: {\"a\":\ndata: 1}\n\n", "{\"a\":\n1}"),
        ("DATA: x\nother: y\ndata: z\n\n", "z"),
        ("\u{feff}data: x\n\n", "x"),
        ("data: \u{e9}\u{1f600}\n\n", "\u{e9}\u{1f600}"),
    ] {
        assert_eq!(said(&all(input.as_bytes(), 1)), [(None, wanted)], "{input:?}");
    }
}

#[test]
fn an_event_beyond_the_limit_is_an_error_for_ever() {
    let mut decoder = Decoder::new(16);
    decoder.push(b"data: 12\n\ndata: 1234567890123");
    assert!(decoder.next_event().unwrap().is_some());
    assert_eq!(decoder.next_event(), Err(EventTooLarge { limit: 16 }));
    decoder.push(b"\n\n");
    assert_eq!(decoder.next_event(), Err(EventTooLarge { limit: 16 }));
}

#[test]
fn written_events_read_back() {
    let mut out = BytesMut::new();
    write_event(&mut out, Some("error"), b"{\"a\":1}");
    write_event(&mut out, None, b"one\r\ntwo\nthree");
    write_event(&mut out, None, b"");
    assert_eq!(&out[..], b"event: error\ndata: {\"a\":1}\n\ndata: one\ndata: two\ndata: three\n\ndata: \n\n");
    assert!(all(DONE, 99)[0].is_done());
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_come_out_unchanged_and_alike(
        input in prop::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), any::<u8>()
        ], 0..200),
        step in 1usize..40,
    ) {
        let events = all(&input, step);
        let joined: Vec<u8> = events.iter().flat_map(|event| event.raw.to_vec()).collect();
        prop_assert_eq!(&joined, &input);
        let whole: Vec<Bytes> = all(&input, input.len()).into_iter().map(|e| e.data).filter(|d| !d.is_empty()).collect();
        let pieces: Vec<Bytes> = events.into_iter().map(|e| e.data).filter(|d| !d.is_empty()).collect();
        prop_assert_eq!(pieces, whole);
    }
}
