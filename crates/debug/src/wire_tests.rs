use serde_json::json;

use super::*;

#[test]
fn messages_come_whole_however_they_are_cut() {
    let messages = [json!({ "a": "ü\r\n\r\n" }), json!({}), json!([1, 2])];
    let bytes: Vec<u8> = messages.iter().flat_map(encode).collect();
    for size in [1, 2, 7, bytes.len()] {
        let mut decoder = MessageDecoder::default();
        let mut got = Vec::new();
        for part in bytes.chunks(size) {
            decoder.feed(part);
            while let Some(message) = decoder.next().expect("a good stream") {
                got.push(message);
            }
        }
        assert_eq!(got, messages, "in parts of {size}");
    }
}

#[test]
fn a_body_that_is_not_json_is_left_out() {
    let mut decoder = MessageDecoder::default();
    decoder.feed(b"content-length: 3\r\nother: 1\r\n\r\n{]}Content-Length: 2\r\n\r\n{}");
    assert_eq!(decoder.next(), Ok(Some(json!({}))));
    assert_eq!(decoder.next(), Ok(None));
}

#[test]
fn a_stream_of_something_else_is_an_error() {
    let endless = vec![b'x'; 5_000];
    let huge = b"Content-Length: 99999999999\r\n\r\n".to_vec();
    for bytes in [endless, huge, b"Hello\r\n\r\n".to_vec()] {
        let mut decoder = MessageDecoder::default();
        decoder.feed(&bytes);
        assert!(decoder.next().is_err(), "{:?}", String::from_utf8_lossy(&bytes));
    }
}
