#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use hermes_core::{ErrorKind, Grants};
use serde_json::{Value, json};

use super::*;

/// What a server received: the first line, the headers, the body.
#[derive(Debug)]
struct Heard {
    line: String,
    headers: Vec<String>,
    body: Value,
}

/// A server that answers so, one connection each, and then gives what it heard.
fn server(answers: &'static [(u16, &'static str)]) -> (u16, JoinHandle<Vec<Heard>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let serve = |&(status, body): &(u16, &str)| {
            let (mut stream, _) = listener.accept().unwrap();
            let heard = hear(&stream);
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status} X\r\nconnection: close\r\nretry-after: 0\r\ncontent-length: {length}\r\n\r\n{body}"
            )
            .unwrap();
            heard
        };
        answers.iter().map(serve).collect()
    });
    (port, heard)
}

fn hear(stream: &TcpStream) -> Heard {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let line = lines.remove(0);
    let length =
        lines.iter().find_map(|l| l.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    Heard { line, headers: lines, body: serde_json::from_slice(&body).unwrap_or_default() }
}

/// A mail server that accepts one message and returns what it received.
fn mail_server() -> (u16, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"220 sink ESMTP\r\n").unwrap();
        let mut heard: Vec<String> = Vec::new();
        let mut in_letter = false;
        for line in BufReader::new(stream.try_clone().unwrap()).lines() {
            let line = line.unwrap();
            heard.push(line.clone());
            let answer = match line.as_str() {
                "." => {
                    in_letter = false;
                    "250 kept"
                }
                _ if in_letter => continue,
                "DATA" => {
                    in_letter = true;
                    "354 go on"
                }
                "QUIT" => "221 bye",
                line if line.starts_with("EHLO") => "250-sink\r\n250 AUTH PLAIN",
                line if line.starts_with("AUTH") => "235 welcome",
                _ => "250 fine",
            };
            if stream.write_all(format!("{answer}\r\n").as_bytes()).is_err() || line == "QUIT" {
                break;
            }
            // The client keeps the connection for later letters.
            if line == "." {
                break;
            }
        }
        heard
    });
    (port, heard)
}

fn targets(described: Value) -> Arc<dyn DynTool> {
    let known = |name: &str| match name {
        "secret://token" => Some("t0p-s3cret".to_owned()),
        "secret://elsewhere" => Some("http://localhost:9/x".to_owned()),
        _ => None,
    };
    with_targets(MessageTargets::from_settings(&described, Arc::new(known)).unwrap())
}

async fn call(tool: &Arc<dyn DynTool>, arguments: Value) -> Result<Value, ToolError> {
    let bound = Arc::clone(tool).bind(&arguments)?;
    let mut cx = ToolContext::bare(std::env::temp_dir());
    cx.grants = Arc::new(Grants::from_effects(&bound.effects(&cx.working_dir)));
    let output = bound.run(cx).await?;
    Ok(serde_json::from_str(output.content()).unwrap())
}

#[tokio::test]
async fn a_webhook_is_given_the_text() {
    let (port, heard) = server(&[(204, "")]);
    let tool = targets(
        json!({"hook": {"kind": "webhook", "url": format!("http://127.0.0.1:{port}/in?x=1"),
        "headers": {"X-Key": "secret://token"}}}),
    );
    let answer = call(&tool, json!({"message": "done", "title": "CI"})).await.unwrap();
    assert_eq!(
        answer,
        json!({"success": true, "target": "hook", "kind": "webhook", "host": "127.0.0.1", "parts": 1})
    );
    let heard = heard.join().unwrap().remove(0);
    assert_eq!(heard.line, "POST /in?x=1 HTTP/1.1");
    assert!(heard.headers.iter().any(|h| h == "x-key: t0p-s3cret"), "{heard:?}");
    assert_eq!(heard.body, json!({"title": "CI", "text": "done"}));
}

#[tokio::test]
async fn chats_are_given_what_they_take() {
    let (slack, heard_slack) = server(&[(200, "ok")]);
    let (discord, heard_discord) = server(&[(204, ""), (204, "")]);
    let (telegram, heard_telegram) = server(&[(200, r#"{"ok":true}"#)]);
    let (ntfy, heard_ntfy) = server(&[(200, "{}")]);
    let tool = targets(json!({
        "slack": {"kind": "slack", "webhook": format!("http://127.0.0.1:{slack}/services/x")},
        "discord": {"kind": "discord", "webhook": format!("http://127.0.0.1:{discord}/api/webhooks/1/x")},
        "telegram": {"kind": "telegram", "token": "secret://token", "chat": -42, "thread": 7,
            "server": format!("http://127.0.0.1:{telegram}/")},
        "ntfy": {"kind": "ntfy", "topic": "mine", "token": "secret://token", "server": format!("http://127.0.0.1:{ntfy}")},
    }));
    call(&tool, json!({"target": "slack", "message": "<!channel> a & b"})).await.unwrap();
    assert_eq!(heard_slack.join().unwrap()[0].body, json!({"text": "&lt;!channel&gt; a &amp; b"}));

    let long = "word ".repeat(500);
    let sent = call(&tool, json!({"target": "discord", "message": long})).await.unwrap();
    assert_eq!(sent["parts"], 2);
    let heard = heard_discord.join().unwrap();
    assert_eq!(heard[0].body["allowed_mentions"], json!({"parse": []}));
    let letters: usize =
        heard.iter().map(|h| h.body["content"].as_str().unwrap().matches("word").count()).sum();
    assert_eq!(letters, 500);

    call(&tool, json!({"target": "telegram", "message": "hi"})).await.unwrap();
    let heard = heard_telegram.join().unwrap().remove(0);
    assert_eq!(heard.line, "POST /bott0p-s3cret/sendMessage HTTP/1.1");
    assert_eq!(heard.body, json!({"chat_id": -42, "message_thread_id": 7, "text": "hi"}));

    call(&tool, json!({"target": "ntfy", "message": "grüße", "title": "ä"})).await.unwrap();
    let heard = heard_ntfy.join().unwrap().remove(0);
    assert_eq!(heard.body, json!({"topic": "mine", "title": "ä", "message": "grüße"}));
    assert!(heard.headers.iter().any(|h| h == "authorization: Bearer t0p-s3cret"), "{heard:?}");
}

#[tokio::test]
async fn a_letter_is_mailed() {
    let (port, heard) = mail_server();
    let tool = targets(
        json!({"me": {"kind": "email", "host": "127.0.0.1", "port": port, "security": "none",
        "user": "u", "password": "secret://token", "from": "Hermes <h@example.org>",
        "to": ["a@example.org", "b@example.org"]}}),
    );
    call(&tool, json!({"target": "me", "title": "Subject\r\nBcc: x@example.org", "message": "Line one\n.\nend"}))
        .await
        .unwrap();
    let heard = heard.join().unwrap();
    let has = |line: &str| heard.iter().any(|heard| heard == line);
    assert!(has("RCPT TO:<a@example.org>") && has("RCPT TO:<b@example.org>"), "{heard:#?}");
    assert!(heard.iter().filter(|line| line.starts_with("RCPT")).count() == 2, "{heard:#?}");
    assert!(
        has("Subject: Subject Bcc: x@example.org") && has("Line one") && has("..") && has("end"),
        "{heard:#?}"
    );
    assert!(heard.iter().any(|line| line.starts_with("AUTH PLAIN")), "{heard:#?}");
}

#[tokio::test]
async fn a_busy_server_is_asked_again_and_a_broken_one_is_not() {
    let (port, heard) = server(&[(429, "slow down"), (200, "ok")]);
    let tool =
        targets(json!({"it": {"kind": "webhook", "url": format!("http://127.0.0.1:{port}/")}}));
    call(&tool, json!({"message": "x"})).await.unwrap();
    assert_eq!(heard.join().unwrap().len(), 2);

    let (port, heard) = server(&[(500, "token t0p-s3cret is bad")]);
    let described = json!({"it": {"kind": "telegram", "token": "secret://token", "chat": 1,
        "server": format!("http://127.0.0.1:{port}")}});
    let error = call(&targets(described), json!({"message": "x"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.message().contains("500") && error.message().contains("***"), "{error}");
    assert_eq!(error.details()["parts_sent"], 0);
    assert_eq!(heard.join().unwrap().len(), 1);
}

#[tokio::test]
async fn a_token_is_in_no_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let described = json!({"it": {"kind": "telegram", "token": "secret://token", "chat": 1,
        "server": format!("http://127.0.0.1:{port}")}});
    let error = call(&targets(described), json!({"message": "x"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(!error.to_json().contains("t0p-s3cret"), "{}", error.to_json());
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (port, heard) = server(&[(302, "")]);
    let tool =
        targets(json!({"it": {"kind": "webhook", "url": format!("http://127.0.0.1:{port}/")}}));
    let error = call(&tool, json!({"message": "x"})).await.unwrap_err();
    assert_eq!(error.details()["status"], 302);
    assert_eq!(heard.join().unwrap().len(), 1);
}

#[tokio::test]
async fn a_refusal_says_what_to_do_about_it() {
    let refusals =
        [(&[(400, "no")], "would be refused again"), (&[(401, "no")], "key of the target")];
    for (answers, hint) in refusals {
        let (port, heard) = server(answers);
        let tool =
            targets(json!({"it": {"kind": "webhook", "url": format!("http://127.0.0.1:{port}/")}}));
        let error = call(&tool, json!({"message": "x"})).await.unwrap_err();
        assert!(error.hint().contains(hint), "{answers:?}: {}", error.hint());
        heard.join().unwrap();
    }
}

#[tokio::test]
async fn nothing_is_sent_where_it_was_not_declared() {
    let tool = targets(
        json!({"it": {"kind": "webhook", "url": "secret://elsewhere", "host": "example.org"}}),
    );
    let error = call(&tool, json!({"message": "x"})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    let at = WorkingDir::new("/", None);
    let effects = |arguments: Value| -> Vec<String> {
        let bound = Arc::clone(&tool).bind(&arguments).unwrap();
        bound.effects(&at).iter().map(ToString::to_string).collect()
    };
    assert_eq!(effects(json!({"message": "x"})), ["message:send it", "network:send example.org"]);
    assert_eq!(effects(json!({"message": "x", "dry_run": true})), [""; 0]);
    let mut cx = ToolContext::bare(std::env::temp_dir());
    cx.grants = Arc::new(Grants::from_effects(&[]));
    let bound = Arc::clone(&tool).bind(&json!({"message": "x"})).unwrap();
    assert_eq!(bound.run(cx).await.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test]
async fn targets_are_listed_planned_and_named() {
    let tool = targets(json!({
        "a": {"kind": "ntfy", "topic": "t"},
        "b": {"kind": "slack", "webhook": "secret://missing"},
    }));
    let listed = call(&tool, json!({"action": "list"})).await.unwrap();
    assert_eq!(
        listed["targets"][1],
        json!({"name": "b", "kind": "slack", "host": "hooks.slack.com"})
    );
    let planned =
        call(&tool, json!({"target": "a", "message": "x", "dry_run": true})).await.unwrap();
    assert_eq!(
        planned,
        json!({"dry_run": true, "target": "a", "kind": "ntfy", "host": "ntfy.sh", "parts": ["x"]})
    );
    let kinds = [
        (json!({"message": "x"}), ErrorKind::InvalidArguments),
        (json!({"target": "c", "message": "x"}), ErrorKind::NotFound),
        (json!({"target": "a", "message": " "}), ErrorKind::InvalidArguments),
        (json!({"target": "b", "message": "x"}), ErrorKind::Unavailable),
        (json!({"target": "a", "message": "x".repeat(100_001)}), ErrorKind::Limit),
    ];
    for (arguments, kind) in kinds {
        assert_eq!(call(&tool, arguments).await.unwrap_err().kind(), kind);
    }
    assert!(!erase(SendMessage::default()).check().await.is_ready());
    assert!(tool.check().await.is_ready());
}
