use super::ResponseHead;
use crate::proxy::body::BodyFraming;

fn parse(head: &str, method: &str) -> Result<(String, Option<BodyFraming>), String> {
    let response = ResponseHead::parse(head.as_bytes(), method)?;
    Ok((String::from_utf8(response.head).unwrap(), response.body))
}

#[test]
fn a_response_ends_the_connection() {
    let head = "HTTP/1.1 200 OK\r\nServer: x\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\
                Keep-Alive: timeout=5\r\nContent-Length: 3\r\n\r\n";
    let (sent, body) = parse(head, "GET").unwrap();
    assert_eq!(
        sent,
        "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(body, Some(BodyFraming::Length(3)));
}

#[test]
fn the_body_is_delimited_by_status_and_method() {
    let length = "Content-Length: 3\r\n";
    for (method, status, headers, expected) in [
        ("GET", "200 OK", "", Some(BodyFraming::UntilClose)),
        ("GET", "200 OK", length, Some(BodyFraming::Length(3))),
        ("GET", "200 OK", "Transfer-Encoding: chunked\r\n", Some(BodyFraming::Chunked)),
        ("HEAD", "200 OK", length, Some(BodyFraming::Length(0))),
        ("GET", "204 No Content", "", Some(BodyFraming::Length(0))),
        ("GET", "304 Not Modified", length, Some(BodyFraming::Length(0))),
        ("GET", "100 Continue", "", None),
        ("GET", "103 Early Hints", "Link: x\r\n", None),
    ] {
        let head = format!("HTTP/1.1 {status}\r\n{headers}\r\n");
        let (sent, body) = parse(&head, method).unwrap();
        assert_eq!(body, expected, "{method} {status}");
        assert!(sent.starts_with(&format!("HTTP/1.1 {status}\r\n{headers}")), "{sent}");
        assert_eq!(sent.contains("Connection: close"), body.is_some(), "{sent}");
    }
}

#[test]
fn what_is_no_response_is_an_error() {
    for head in [
        "ICY 200 OK\r\n\r\n",
        "SSH-2.0-server\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
    ] {
        assert!(parse(head, "GET").is_err(), "{head:?}");
    }
}
