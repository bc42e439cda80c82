use hermes_core::{ConnectionRefusal, NetworkDestination};

use super::{ProxyReply, ReplyStatus};

fn refused() -> ProxyReply {
    let refusal = ConnectionRefusal {
        reason: "example.com is denied\r\nX-Injected: ä".to_owned(),
        rule: "profile: deny".to_owned(),
        allow: "remove the rule".to_owned(),
        is_approvable: false,
    };
    ProxyReply::refused(&NetworkDestination::new("example.com", 443), &refusal)
}

#[test]
fn a_refusal_says_why_and_how_to_allow() {
    let text = String::from_utf8(refused().to_bytes("GET")).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let lines: Vec<&str> = head.split("\r\n").collect();
    assert_eq!(lines[0], "HTTP/1.1 403 Forbidden");
    assert_eq!(lines[1], "X-Hermes-Refused: example.com is denied??X-Injected: ?");
    assert_eq!(lines[3], format!("Content-Length: {}", body.len()));
    assert_eq!(lines.len(), 5);
    assert!(body.starts_with("hermes refused the connection to example.com:443.\nreason: "));
    assert!(body.ends_with("rule: profile: deny\nto allow it: remove the rule\n"));
}

#[test]
fn an_answer_to_head_has_no_body() {
    let text = String::from_utf8(refused().to_bytes("HEAD")).unwrap();
    assert!(text.ends_with("Connection: close\r\n\r\n"), "{text}");
    assert!(!text.contains("Content-Length: 0\r\n"), "{text}");
}

#[test]
fn an_error_is_no_refusal() {
    let reply = ProxyReply::error(ReplyStatus::BadGateway, "no answer");
    let text = String::from_utf8(reply.to_bytes("GET")).unwrap();
    assert!(text.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{text}");
    assert!(!text.contains("X-Hermes-Refused"), "{text}");
    assert!(text.ends_with("hermes proxy: no answer\n"), "{text}");
}
