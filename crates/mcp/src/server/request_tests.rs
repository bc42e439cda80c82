use http_body_util::StreamBody;
use hyper::body::Frame;

use super::*;

fn headers(accept: &[&str], content: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in accept {
        headers.append(ACCEPT, HeaderValue::from_str(value).unwrap());
    }
    if let Some(value) = content {
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn status(method: &Method, mut headers: HeaderMap) -> u16 {
    normalize_headers(method, &mut headers)
        .map_or_else(|refused| refused.status().as_u16(), |()| 200)
}

#[test]
fn who_does_not_take_what_is_answered_is_told() {
    let json = Some("application/json");
    for accept in [
        &["application/json, text/event-stream"][..],
        &["text/event-stream;q=0.5 , Application/JSON"],
        &["application/json", "text/event-stream"],
        &["*/*"],
        &["application/*, text/*"],
    ] {
        assert_eq!(status(&Method::POST, headers(accept, json)), 200, "{accept:?}");
    }
    for accept in [
        &[][..],
        &["application/json"],
        &["text/event-stream"],
        &["text/html"],
        &["application/jsonx, text/event-streams"],
        &["application/json, text/event-stream;q=0"],
    ] {
        assert_eq!(status(&Method::POST, headers(accept, json)), 406, "{accept:?}");
    }
    assert_eq!(status(&Method::GET, headers(&["text/event-stream"], None)), 200);
    assert_eq!(status(&Method::GET, headers(&["application/json"], None)), 406);
    assert_eq!(status(&Method::DELETE, headers(&[], None)), 200);
}

#[test]
fn only_json_is_json() {
    let accept = &["*/*"][..];
    for content in ["application/json", "Application/JSON; charset=\"UTF-8\"", "application/json;"]
    {
        assert_eq!(status(&Method::POST, headers(accept, Some(content))), 200, "{content}");
    }
    for content in ["text/plain", "application/jsonx", "application/json; charset=utf-16", ""] {
        assert_eq!(status(&Method::POST, headers(accept, Some(content))), 415, "{content}");
    }
    assert_eq!(status(&Method::POST, headers(accept, None)), 415);
}

#[tokio::test]
async fn a_body_is_read_as_far_as_it_may_be() {
    let body = |pieces: &[&'static str]| {
        let frames: Vec<_> = pieces
            .iter()
            .map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from_static(piece.as_bytes()))))
            .collect();
        StreamBody::new(futures_util::stream::iter(frames))
    };
    let none = HeaderMap::new();
    let gathered = read_body(&none, body(&["abc", "", "def"]), 6).await.unwrap();
    assert_eq!(&gathered[..], b"abcdef");
    assert_eq!(&read_body(&none, body(&[]), 6).await.unwrap()[..], b"");
    for pieces in [&["abcdefg"][..], &["abc", "defg"], &["a"; 100]] {
        let refused = read_body(&none, body(pieces), 6).await.unwrap_err();
        assert_eq!(refused.status(), 413);
        assert_eq!(refused.headers()[CONNECTION], "close");
    }
    let mut huge = HeaderMap::new();
    huge.insert(CONTENT_LENGTH, HeaderValue::from_static("25"));
    assert_eq!(read_body(&huge, body(&["a"]), 6).await.unwrap_err().status(), 413);
}
