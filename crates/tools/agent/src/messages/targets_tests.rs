#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn read(settings: &Value) -> Result<MessageTargets, TargetError> {
    MessageTargets::from_settings(
        settings,
        Arc::new(|name| (name == "secret://known").then(|| "value".into())),
    )
}

#[test]
fn every_kind_has_a_host() {
    let targets = read(&json!({
        "a": {"kind": "webhook", "url": "https://example.org/x"},
        "b": {"kind": "slack", "webhook": "secret://known"},
        "c": {"kind": "discord", "webhook": "${HOOK}"},
        "d": {"kind": "telegram", "token": "secret://known", "chat": -100},
        "e": {"kind": "ntfy", "topic": "t", "server": "http://127.0.0.1:80"},
        "f": {"kind": "email", "host": "mail.example", "from": "a@b.example", "to": "c@d.example"},
        "g": {"kind": "webhook", "url": "secret://known", "host": "example.net"},
    }))
    .unwrap();
    let hosts: Vec<&str> = targets.iter().map(|(_, _, host)| host).collect();
    assert_eq!(
        hosts,
        [
            "example.org",
            "hooks.slack.com",
            "discord.com",
            "api.telegram.org",
            "127.0.0.1",
            "mail.example",
            "example.net"
        ]
    );
    assert_eq!(targets.resolve("secret://known").unwrap(), "value");
    assert_eq!(targets.resolve("plain").unwrap(), "plain");
    assert!(targets.resolve("secret://other").is_err());
    assert!(read(&Value::Null).unwrap().is_empty());
}

#[test]
fn what_cannot_work_is_refused_at_once() {
    for (described, said) in [
        (json!({"kind": "pigeon"}), "pigeon"),
        (json!({"kind": "slack"}), "webhook"),
        (json!({"kind": "slack", "webhook": "https://x.example", "colour": 1}), "colour"),
        (json!({"kind": "webhook", "url": "secret://known"}), "host"),
        (json!({"kind": "webhook", "url": "file:///etc/passwd"}), "https://"),
        (
            json!({"kind": "email", "host": "m.example", "security": "none", "password": "p", "from": "a@b", "to": "c@d"}),
            "in the open",
        ),
        (json!({"kind": "email", "host": "m.example", "from": "a@b", "to": []}), "recipient"),
    ] {
        let error = read(&json!({"it": described})).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.name, "it");
    }
    assert!(read(&json!([1])).is_err());
}
