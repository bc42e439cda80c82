//! The same with curl, which reads answers more strictly than a raw client.

use std::process::{Command, Output};

use crate::support::{TestProxy, TestServer, allow_all, refuse};

/// Runs curl; none if it is not installed.
async fn curl(arguments: Vec<String>) -> Option<Output> {
    let run = move || {
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "60", "--noproxy", ""]).args(arguments);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.output().ok()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    if output.is_none() {
        eprintln!("skipped: curl is not installed");
    }
    output
}

fn arguments(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[tokio::test]
async fn curl_gets_and_posts_by_every_protocol() {
    let server = TestServer::start().await;
    let proxy = TestProxy::start(allow_all).await;
    let url = server.url("/length");
    let by_name = format!("http://localhost:{}/chunked", server.address.port());
    let http = format!("http://{}", proxy.address);
    let socks = format!("socks5h://{}", proxy.address);
    for words in [
        &["-x", &http, "-d", "hello", &url][..],
        &["-x", &http, "-d", "hello", &by_name],
        &["-x", &http, "-p", "-d", "hello", &url],
        &["-x", &socks, "-d", "hello", &by_name],
        &["-x", &http, "-d", "hello", "-H", "Expect: 100-continue", &url],
    ] {
        let Some(output) = curl(arguments(words)).await else { return };
        assert_eq!(text(&output.stdout), "hello", "{words:?}: {}", text(&output.stderr));
    }
    // Several requests of one process, which would keep its connection.
    let words = ["-x", &http, "-d", "hello", &url, &url, &url];
    let output = curl(arguments(&words)).await.unwrap();
    assert_eq!(text(&output.stdout), "hellohellohello", "{}", text(&output.stderr));
    let chunked = ["-x", &http, "-H", "Transfer-Encoding: chunked", "-d", "hello", &url];
    let output = curl(arguments(&chunked)).await.unwrap();
    assert_eq!(text(&output.stdout), "5\r\nhello\r\n0\r\n\r\n", "{}", text(&output.stderr));
    let head = curl(arguments(&["-x", &http, "-I", &url])).await.unwrap();
    assert!(text(&head.stdout).starts_with("HTTP/1.1 200 OK\r\n"), "{}", text(&head.stderr));
}

#[tokio::test]
async fn curl_shows_why_it_was_refused() {
    let proxy = TestProxy::start(|_| refuse("example.com is denied")).await;
    let http = format!("http://{}", proxy.address);
    let Some(output) = curl(arguments(&["-x", &http, "http://example.com/"])).await else { return };
    assert!(text(&output.stdout).contains("reason: example.com is denied"));
    let output = curl(arguments(&["-x", &http, "-I", "http://example.com/"])).await.unwrap();
    assert!(text(&output.stdout).contains("X-Hermes-Refused: example.com is denied"));
    let output = curl(arguments(&["-x", &http, "https://example.com/"])).await.unwrap();
    assert!(text(&output.stderr).contains("403"), "{}", text(&output.stderr));
}
