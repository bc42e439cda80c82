use hermes_core::NetworkDestination;
use proptest::prelude::*;

use super::{ProxyRequest, RequestError};
use crate::proxy::body::BodyFraming;
use crate::proxy::reply::ReplyStatus;

fn parse(head: &str) -> Result<ProxyRequest, RequestError> {
    ProxyRequest::parse(head.as_bytes())
}

/// The head that the destination gets.
fn sent(head: &str) -> String {
    let request = parse(head).unwrap();
    let destination = NetworkDestination::new(&request.host, request.port);
    String::from_utf8(request.plain.unwrap().origin_head(&destination)).unwrap()
}

#[test]
fn a_tunnel_names_host_and_port() {
    let request = parse("CONNECT example.com:443 HTTP/1.1\r\nHost: other\r\n\r\n").unwrap();
    assert_eq!((request.host.as_str(), request.port), ("example.com", 443));
    assert_eq!(request.plain, None);
    let request = parse("CONNECT [2606:4700::1111]:443 HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!((request.host.as_str(), request.port), ("2606:4700::1111", 443));
}

#[test]
fn a_plain_request_is_sent_in_origin_form() {
    let head = sent(
        "POST http://example.com:8080/a?b#c HTTP/1.1\r\nHost: evil.example\r\nAccept: */*\r\n\
         Proxy-Connection: keep-alive\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\n\
         Content-Length: 5\r\nhost: evil2.example\r\n\r\n",
    );
    assert_eq!(
        head,
        "POST /a?b HTTP/1.1\r\nHost: example.com:8080\r\nAccept: */*\r\n\
         Content-Length: 5\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn the_target_has_a_path() {
    for (line, expected) in [
        ("GET http://example.com", "GET / HTTP/1.1\r\nHost: example.com\r\n"),
        ("GET HTTP://EXAMPLE.com:80/", "GET / HTTP/1.1\r\nHost: example.com\r\n"),
        ("GET http://example.com?q=/x", "GET /?q=/x HTTP/1.1\r\nHost: example.com\r\n"),
        ("GET http://[::1]:8080/x", "GET /x HTTP/1.1\r\nHost: [::1]:8080\r\n"),
        ("OPTIONS http://example.com", "OPTIONS * HTTP/1.1\r\nHost: example.com\r\n"),
    ] {
        let head = sent(&format!("{line} HTTP/1.1\r\n\r\n"));
        assert!(head.starts_with(expected), "{line}: {head}");
    }
}

#[test]
fn bodies_are_delimited() {
    for (headers, expected) in [
        ("", BodyFraming::Length(0)),
        ("Content-Length: 7\r\n", BodyFraming::Length(7)),
        ("Transfer-Encoding: chunked\r\n", BodyFraming::Chunked),
    ] {
        let head = format!("POST http://example.com/ HTTP/1.1\r\n{headers}\r\n");
        assert_eq!(parse(&head).unwrap().plain.unwrap().body, expected);
        assert!(sent(&head).contains(headers), "{headers}");
    }
}

#[test]
fn malformed_requests_are_refused() {
    for head in [
        "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        "GET https://example.com/ HTTP/1.1\r\n\r\n",
        "GET ftp://example.com/ HTTP/1.1\r\n\r\n",
        "GET http:// HTTP/1.1\r\n\r\n",
        "GET http:///x HTTP/1.1\r\n\r\n",
        "GET http://user:secret@example.com/ HTTP/1.1\r\n\r\n",
        "GET http://example.com:99999/ HTTP/1.1\r\n\r\n",
        "CONNECT example.com HTTP/1.1\r\n\r\n",
        "CONNECT http://example.com/ HTTP/1.1\r\n\r\n",
        "CONNECT / HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n",
        "GET http://example.com/\r\n\r\n",
        "GET http://example.com/ HTTP/1.1\r\nA b\r\n\r\n",
        "GET http://example.com/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        "GET http://example.com/ HTTP/1.1\r\nContent-Length : 1\r\n\r\n",
        "GET http://example.com/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "GET http://example.com/ HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "GET http://example.com/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST http://example.com/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
        "\r\n\r\n",
    ] {
        let error = parse(head).unwrap_err();
        assert_eq!(error.status, ReplyStatus::BadRequest, "{head:?}: {error:?}");
    }
    let method = "A".repeat(33);
    assert!(parse(&format!("{method} http://example.com/ HTTP/1.1\r\n\r\n")).is_err());
    let many = "A: b\r\n".repeat(200);
    let error = parse(&format!("GET http://example.com/ HTTP/1.1\r\n{many}\r\n")).unwrap_err();
    assert_eq!(error.status, ReplyStatus::HeadTooLarge);
}

proptest! {
    #[test]
    fn no_head_breaks_the_parser(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = ProxyRequest::parse(&bytes);
    }

    /// Whatever the client writes, the destination reads one head with one host.
    #[test]
    fn the_sent_head_is_one_head(
        headers in prop::collection::vec("(Host|Connection|Te|X-[a-c]|Accept): [ -~]{0,20}", 0..8),
        path in "[!-~]{0,20}",
    ) {
        let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let head = format!("GET http://example.com/{path} HTTP/1.1\r\n{lines}\r\n");
        if parse(&head).is_ok() {
            let sent = sent(&head);
            prop_assert_eq!(sent.find("\r\n\r\n"), Some(sent.len() - 4));
            let lower = sent.to_ascii_lowercase();
            prop_assert_eq!(lower.matches("\r\nhost: ").count(), 1);
            prop_assert!(lower.contains("\r\nhost: example.com\r\n"));
            prop_assert_eq!(lower.matches("\r\nconnection: ").count(), 1);
        }
    }
}
