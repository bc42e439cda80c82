use httparse::Header;

use super::{MessageLength, end_to_end_headers};
use crate::proxy::body::BodyFraming;

fn headers<'h>(pairs: &[(&'h str, &'h str)]) -> Vec<Header<'h>> {
    pairs.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect()
}

#[test]
fn only_headers_for_the_other_end_are_passed_on() {
    let headers = headers(&[
        ("Accept", "*/*"),
        ("Connection", "keep-alive, X-Private"),
        ("Keep-Alive", "5"),
        ("Proxy-Authorization", "secret"),
        ("PROXY-CONNECTION", "keep-alive"),
        ("TE", "trailers"),
        ("Trailer", "x"),
        ("Upgrade", "h2c"),
        ("x-private", "1"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("X-Kept", "2"),
    ]);
    let kept: Vec<&str> = end_to_end_headers(&headers).map(|header| header.name).collect();
    assert_eq!(kept, ["Accept", "X-Kept"]);
}

#[test]
fn the_length_is_read_strictly() {
    let read = |pairs: &[_]| MessageLength::from_headers(&headers(pairs));
    let length = read(&[("content-length", "42")]).unwrap();
    assert_eq!(length.framing(BodyFraming::UntilClose), BodyFraming::Length(42));
    let chunked = read(&[("Transfer-Encoding", "Chunked")]).unwrap();
    assert_eq!(chunked.framing(BodyFraming::UntilClose), BodyFraming::Chunked);
    let none = read(&[]).unwrap();
    assert_eq!(none.framing(BodyFraming::UntilClose), BodyFraming::UntilClose);
    for bad in ["", "+1", "-1", "1, 1", "0x1", "99999999999999999999999", "１"] {
        assert!(read(&[("Content-Length", bad)]).is_err(), "{bad}");
    }
    assert!(read(&[("Content-Length", "1"), ("content-length", "1")]).is_err());
    for bad in ["identity", "gzip, chunked", "chunked, chunked", "xchunked", ""] {
        assert!(read(&[("Transfer-Encoding", bad)]).is_err(), "{bad}");
    }
    let twice = [("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")];
    assert!(read(&twice).is_err());
}
