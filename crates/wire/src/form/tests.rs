use super::*;
use proptest::prelude::*;

fn body(text: &str) -> Bytes {
    Bytes::from(text.replace('\n', "\r\n"))
}

fn parsed(text: &str) -> Result<Form, FormError> {
    Form::parse("multipart/form-data; boundary=b", &body(text))
}

#[test]
fn fields_and_files_are_slices_of_the_body() {
    let body = body(
        "--b\nContent-Disposition: form-data; name=\"purpose\"\n\nbatch\n--b\ncontent-disposition: form-data; \
         name=\"file\"; filename=\"a\\\"b.jsonl\"\nContent-Type: application/jsonl\n\n{\"x\":1}\n--b--\n",
    );
    let form = Form::parse("Multipart/Form-Data; charset=x; boundary=\"b\"", &body).unwrap();
    assert_eq!(form.text("purpose"), Some("batch"));
    let [_, file] = form.parts() else { panic!("two parts") };
    assert_eq!((file.name.as_str(), file.file_name.as_deref()), ("file", Some("a\"b.jsonl")));
    assert_eq!(file.content, "{\"x\":1}");
    assert!(body.as_ptr_range().contains(&file.content.as_ptr()), "not copied");
    assert_eq!(form.written(|_| Edit::Keep).as_ptr(), body.as_ptr(), "not written anew");
    assert_eq!(form.content_type(), "multipart/form-data; boundary=b");
}

#[test]
fn parts_are_left_out_and_replaced() {
    let form = parsed(
        "preamble\n--b  \nContent-Disposition: form-data; name=model\nX-Kept: yes\n\ngroup\n--b\n\
         Content-Disposition: form-data; name=\"tags\"\n\n\n--b--",
    )
    .unwrap();
    assert_eq!((form.text("model"), form.text("tags")), (Some("group"), Some("")));
    let out = form.written(|part| match part.name.as_str() {
        "model" => Edit::Replace(Bytes::from_static(b"wire")),
        _ => Edit::Drop,
    });
    assert_eq!(out, body("--b\nContent-Disposition: form-data; name=model\nX-Kept: yes\n\nwire\n--b--\n"));
}

#[test]
fn what_is_no_form_says_why() {
    let head = "Content-Disposition: form-data; name=\"a\"";
    for (text, error) in [
        ("", FormError::NoParts),
        ("--c\n", FormError::NoParts),
        ("--b", FormError::Unfinished),
        ("--b\n", FormError::Unfinished),
        (&format!("--b\n{head}"), FormError::Unfinished),
        (&format!("--b\n{head}\n\nx"), FormError::Unfinished),
        (&format!("--bc\n{head}\n\nx\n--b--"), FormError::Unfinished),
        ("--b\nContent-Type: text/plain\n\nx\n--b--", FormError::BadHead),
        ("--b\nContent-Disposition: attachment; name=a\n\nx\n--b--", FormError::BadHead),
    ] {
        assert_eq!(parsed(text).unwrap_err(), error, "{text:?}");
    }
    let whole = body(&format!("--b\n{head}\n\nx\n--b--"));
    assert_eq!(Form::parse("application/json", &whole).unwrap_err(), FormError::NotAForm);
    assert_eq!(Form::parse("multipart/form-data", &whole).unwrap_err(), FormError::NoBoundary);
    let many = format!("--b\n{head}\n\nx\n").repeat(MAX_PARTS + 1) + "--b--";
    assert_eq!(parsed(&many).unwrap_err(), FormError::TooLarge);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let framed = [b"--b\r\n".as_slice(), &bytes].concat();
        for body in [Bytes::from(bytes), Bytes::from(framed)] {
            if let Ok(form) = Form::parse("multipart/form-data; boundary=b", &body) {
                prop_assert!(form.parts().iter().map(|part| part.content.len()).sum::<usize>() <= body.len());
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again(content in "[ -~\r\n]{0,40}", name in "[a-z]{1,8}") {
        let text = format!("--q\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\nx\r\n--q--\r\n");
        let form = Form::parse("multipart/form-data; boundary=q", &Bytes::from(text)).unwrap();
        let out = form.written(|_| Edit::Replace(Bytes::from(content.clone())));
        let again = Form::parse(&form.content_type(), &out).unwrap();
        prop_assert_eq!(&again.parts()[0].content, &content);
        prop_assert_eq!(&again.parts()[0].name, &name);
    }
}
