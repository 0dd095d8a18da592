use bytes::Bytes;
use proptest::prelude::*;

use super::{Edit, Form, FormError, MAX_PARTS};

const TYPE: &str = "multipart/form-data; boundary=xyz";

fn parse(body: &str) -> Result<Form, FormError> {
    Form::parse(TYPE, &Bytes::copy_from_slice(body.as_bytes()))
}

fn names(form: &Form) -> Vec<&str> {
    form.parts().iter().map(|part| part.name.as_str()).collect()
}

const USUAL: &str = "--xyz\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
    --xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.wav\"\r\nContent-Type: audio/wav\r\n\r\n\
    RIFF\r\n--xy\r\n\r\n\r\n--xyz--\r\n";

#[test]
fn fields_and_files_are_told_apart_and_keep_their_bytes() {
    let form = parse(USUAL).unwrap();
    assert_eq!(names(&form), ["model", "file"]);
    let [model, file] = form.parts() else { panic!("{form:?}") };
    assert_eq!((model.text(), &model.file_name), (Some("whisper-1"), &None));
    assert_eq!((file.text(), file.file_name.as_deref()), (None, Some("a b.wav")));
    assert_eq!(file.content_type.as_deref(), Some("audio/wav"));
    assert_eq!(&file.content[..], b"RIFF\r\n--xy\r\n\r\n", "a line that only begins like the boundary");
    assert_eq!(form.file("file"), Some(file));
    assert!(form.has("model") && !form.has("prompt"));
}

#[test]
fn an_unchanged_form_is_sent_as_it_came() {
    let form = parse(USUAL).unwrap();
    assert_eq!(form.payload().to_bytes(), USUAL.as_bytes());
    assert_eq!(form.content_type(), TYPE);
}

#[test]
fn a_files_bytes_are_not_copied() {
    let content = "x".repeat(10_000);
    let body = Bytes::from(format!(
        "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n{content}\r\n--xyz--\r\n"
    ));
    let form = Form::parse(TYPE, &body).unwrap();
    let [file] = form.parts() else { panic!("{form:?}") };
    let range = body.as_ptr_range();
    assert!(range.contains(&file.content.as_ptr()));
    let mut payload = form.payload();
    assert_eq!(payload.len(), body.len());
    let pieces: Vec<Bytes> = std::iter::from_fn(|| payload.pop()).collect();
    assert_eq!(pieces.len(), 3);
    assert!(range.contains(&pieces[1].as_ptr()));
    assert_eq!(pieces.concat(), body);
}

#[test]
fn boundaries_are_read_as_clients_write_them() {
    for (content_type, expected) in [
        ("multipart/form-data; boundary=abc", Ok("abc")),
        ("Multipart/Form-Data;charset=utf-8; Boundary=\"a b:c\"", Ok("a b:c")),
        ("multipart/form-data;boundary=----WebKitFormBoundary7MA4", Ok("----WebKitFormBoundary7MA4")),
        ("multipart/form-data", Err(FormError::NoBoundary)),
        ("multipart/form-data; boundary=", Err(FormError::NoBoundary)),
        ("multipart/form-data; boundary=\"\r\n\"", Err(FormError::NoBoundary)),
        ("multipart/mixed; boundary=abc", Err(FormError::NotAForm)),
        ("application/json", Err(FormError::NotAForm)),
        ("", Err(FormError::NotAForm)),
    ] {
        assert_eq!(super::head::boundary(content_type), expected.map(str::to_owned), "{content_type}");
    }
    let long = format!("multipart/form-data; boundary={}", "b".repeat(71));
    assert_eq!(super::head::boundary(&long), Err(FormError::NoBoundary));
}

#[test]
fn what_is_no_form_is_named() {
    let part = "--xyz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
    for (body, expected) in [
        ("", FormError::NoParts),
        ("{\"model\":\"m\"}", FormError::NoParts),
        ("--other\r\n\r\n", FormError::NoParts),
        (part, FormError::Unfinished),
        ("--xyz\r\n", FormError::Unfinished),
        ("--xyz", FormError::NoParts),
        ("--xyz\r\n\r\nx\r\n--xyz--", FormError::BadHead { part: 1 }),
        ("--xyz\r\nContent-Disposition: form-data\r\n\r\nx\r\n--xyz--", FormError::BadHead { part: 1 }),
        (
            "--xyz\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\nx\r\n--xyz--",
            FormError::BadHead { part: 1 },
        ),
    ] {
        assert_eq!(parse(body), Err(expected), "{body:?}");
    }
    let second = format!("{part}--xyz\r\nContent-Type: text/plain\r\n\r\nx\r\n--xyz--");
    assert_eq!(parse(&second), Err(FormError::BadHead { part: 2 }));
    let many = format!("{}--xyz--", part.repeat(MAX_PARTS + 1));
    assert_eq!(parse(&many), Err(FormError::TooManyParts));
    let long = format!("--xyz\r\nX: {}\r\n\r\nx\r\n--xyz--", "y".repeat(9000));
    assert_eq!(parse(&long), Err(FormError::BadHead { part: 1 }));
}

#[test]
fn preamble_padding_and_epilogue_are_passed_over() {
    let form = parse(
        "for old mail readers\r\n--xyzw\r\n--xyz \t\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n--xyz--epilogue",
    )
    .unwrap();
    assert_eq!(names(&form), ["a"]);
    assert!(form.parts()[0].content.is_empty());
    assert_eq!(parse("--xyz--\r\n").unwrap().parts(), []);
}

#[test]
fn names_are_read_out_of_their_quotes() {
    for (written, name, file) in [
        ("name=\"a\"; filename=\"b\"", "a", Some("b")),
        ("filename=b.wav;name=a", "a", Some("b.wav")),
        ("name=\"a;b\"; filename=\"c\\\"d;e\"", "a;b", Some("c\"d;e")),
        ("name=\"a\"; filename=\"C:\\x\\y.wav\"", "a", Some("C:\\x\\y.wav")),
        ("name=\"a\"; filename*=UTF-8''na%C3%AFve.wav", "a", Some("na%C3%AFve.wav")),
        ("name=\"größe[]\"", "größe[]", None),
    ] {
        let form =
            parse(&format!("--xyz\r\ncontent-disposition: form-data; {written}\r\n\r\n\r\n--xyz--")).unwrap();
        let part = &form.parts()[0];
        assert_eq!((part.name.as_str(), part.file_name.as_deref()), (name, file), "{written}");
    }
}

#[test]
fn added_parts_cannot_break_the_form() {
    let mut form = parse(USUAL).unwrap();
    form.push_text("language", "de");
    form.push_text("evil\"\r\nX: y", "v");
    form.push_text("prompt", "a\r\n--xyz--\r\nb --haleway-form-0");
    let sent = form.payload().to_bytes();
    let again = Form::parse(&form.content_type(), &sent).unwrap();
    assert_eq!(again.parts().len(), 5);
    assert_eq!(again.parts()[4].text(), Some("a\r\n--xyz--\r\nb --haleway-form-0"));
    assert_eq!(again.parts()[3].name, "evil%22%0D%0AX: y");
    assert_eq!(form.content_type(), "multipart/form-data; boundary=haleway-form-1");
    // Also when what comes later was made for the boundary that is chosen.
    let mut form = Form::new("xyz");
    form.push_text("prompt", "--xyz");
    let trap = parse("--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n--haleway-form-0--\r\n--xyz--").unwrap();
    form.push(trap.parts()[0].clone());
    let again = Form::parse(&form.content_type(), &form.payload().to_bytes()).unwrap();
    assert_eq!(names(&again), ["prompt", "file"]);
}

#[test]
fn parts_are_left_out_and_replaced() {
    let form = parse(
        "--xyz\r\nContent-Disposition: form-data; name=model\r\nX-Kept: yes\r\n\r\n group\r\n\
         --xyz\r\nContent-Disposition: form-data; name=\"tags\"\r\n\r\n--xyz--",
    )
    .unwrap();
    assert_eq!((form.text("model"), form.text("tags"), form.text("x")), (Some("group"), Some(""), None));
    let out = form.written(|part| match part.name.as_str() {
        "model" => Edit::Replace(Bytes::from_static(b"wire")),
        _ => Edit::Drop,
    });
    let expected =
        "--xyz\r\nContent-Disposition: form-data; name=model\r\nX-Kept: yes\r\n\r\nwire\r\n--xyz--\r\n";
    assert_eq!(out.to_bytes(), expected);
    assert_eq!(form.written(|_| Edit::Keep).to_bytes(), form.payload().to_bytes());
}

#[test]
fn a_part_can_be_renamed() {
    let form = parse(USUAL).unwrap();
    let mut out = form.emptied();
    out.push(form.parts()[0].renamed("model_id"));
    out.push(form.parts()[1].renamed("audio"));
    let again = Form::parse(&out.content_type(), &out.payload().to_bytes()).unwrap();
    assert_eq!(names(&again), ["model_id", "audio"]);
    assert_eq!(again.parts()[1].content_type.as_deref(), Some("audio/wav"));
    assert_eq!(again.parts()[1].content, form.parts()[1].content);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(pieces in prop::collection::vec(prop::sample::select(vec![
        "--xyz", "\r\n", "--", "Content-Disposition: form-data; name=\"a\"", "; filename=\"", "\"", "x", "\r", "\n", ":", "=", "\\", "é",
    ]), 0..40)) {
        let text = pieces.concat();
        if let Ok(form) = parse(&text) {
            let again = Form::parse(&form.content_type(), &form.payload().to_bytes()).unwrap();
            prop_assert_eq!(form, again);
        }
    }

    #[test]
    fn a_written_form_is_read_back(
        fields in prop::collection::vec(("[a-z_]{1,8}(\\[\\])?", ".{0,40}"), 0..8),
        content in prop::collection::vec(any::<u8>(), 0..6000),
    ) {
        let mut form = Form::new("b-1");
        for (name, value) in &fields {
            form.push_text(name, value);
        }
        form.push_file("file", "clip.wav", "audio/wav", content.into());
        let again = Form::parse(&form.content_type(), &form.payload().to_bytes()).unwrap();
        prop_assert_eq!(form, again);
    }
}
