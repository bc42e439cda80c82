//! HTTP servers that require a login, lose sessions, or send too much.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hermes_core::BoxFuture;
use hermes_mcp::client::LoginPrompter;
use serde_json::{Value, json};

use super::{World, python, servers_folder};

pub(super) struct Guarded {
    child: Child,
    pub(super) base: String,
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Guarded {
    pub(super) async fn start(world: &World, more: &[&str]) -> Self {
        let file = world.path(&format!("port{}", more.len()));
        let child = Command::new(python())
            .args(["-S", "-E"])
            .arg(servers_folder().join("guarded.py"))
            .arg(&file)
            .args(more)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut it = Self { child, base: String::new() };
        for _ in 0..1_000 {
            if let Ok(port) = std::fs::read_to_string(&file) {
                let scheme = if more.contains(&"tls") { "https" } else { "http" };
                it.base = format!("{scheme}://127.0.0.1:{port}");
                return it;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the server does not listen");
    }

    pub(super) fn entry(&self) -> Value {
        json!({"g": {"url": format!("{}/mcp", self.base), "auth": "oauth", "connect_timeout": 10}})
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        let answer = reqwest::get(format!("{}{path}", self.base)).await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }
}

/// A browser that agrees to everything.
pub(super) struct Browser;

impl LoginPrompter for Browser {
    fn open_url<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let answer = reqwest::get(url).await.unwrap();
            assert_eq!(answer.status(), 200);
            // The redirect has already arrived.
            std::future::pending().await
        })
    }
}

/// A user at another machine, who pastes the final URL of the browser, but
/// wrong input first.
#[derive(Default)]
struct Paster {
    said: parking_lot::Mutex<Vec<String>>,
    kept: parking_lot::Mutex<String>,
}

impl LoginPrompter for Paster {
    fn open_url<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
            let answer = client.build().unwrap().get(url).send().await.unwrap();
            let ended_up = answer.headers()["location"].to_str().unwrap();
            ended_up.clone_into(&mut self.kept.lock());
            Some("what is meant?".to_owned())
        })
    }

    fn retry<'a>(&'a self, why: &'a str) -> BoxFuture<'a, Option<String>> {
        self.said.lock().push(why.to_owned());
        let right = self.kept.lock().clone();
        let pasted = match self.said.lock().len() {
            1 => right.replace("state=", "state=x"),
            2 => right.split('&').next().unwrap_or_default().to_owned(),
            _ => right,
        };
        Box::pin(std::future::ready(Some(pasted)))
    }
}

pub(super) fn prepare() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_made_once_and_refreshed_by_itself() {
    prepare();
    let world = World::new();
    let guarded = Guarded::start(&world, &[]).await;
    let servers = world.ready(&guarded.entry()).await;
    let status = servers.status().remove(0);
    assert!(status.error.unwrap().contains("requires a login"));
    let wanted = servers.test_server("g").await.unwrap_err();
    assert!(wanted.hint().contains("hermes mcp login g"), "{wanted:?}");

    servers.login("g", &Browser).await.unwrap();
    let trial = servers.test_server("g").await.unwrap();
    assert_eq!(trial.status.status, "connected");
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token1"}));
    // A revoked token is replaced without a prompt.
    guarded.get("/revoke").await;
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token2"}));
    servers.stop().await;

    // Another start needs no login.
    let servers = world.start(&guarded.entry());
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token2"}));
    // Without a valid token, the user must log in again, which requires no
    // new registration.
    guarded.get("/revoke?all=1").await;
    let again = world.call("mcp__g__who", json!({})).await;
    assert_eq!(again["needs_reauth"], true, "{again}");
    let paster = Paster::default();
    servers.login("g", &paster).await.unwrap();
    let said = paster.said.lock().join("\n");
    assert!(said.contains("no `code`") && said.contains("another login"), "{said}");
    assert!(said.contains("no `state`"), "{said}");
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token3"}));
    let state = guarded.get("/state").await;
    assert_eq!(
        (state["registered"].as_u64(), state["granted"].as_u64()),
        (Some(1), Some(2)),
        "{state}"
    );
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_session_is_renewed_and_an_endless_answer_is_cut_off() {
    prepare();
    let world = World::new();
    let guarded = Guarded::start(&world, &["open"]).await;
    let entry = json!({"g": {"url": format!("{}/mcp", guarded.base)}});
    let servers = world.ready(&entry).await;
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "anybody"}));
    guarded.get("/expire").await;
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "anybody"}));
    assert_eq!(guarded.get("/state").await["initialized"], 2);
    let big = world.call("mcp__g__big", json!({})).await;
    assert_eq!(big["kind"], "limit", "{big}");
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "anybody"}));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_that_is_known_to_be_harmful_is_not_started() {
    prepare();
    let mut world = World::new();
    let guarded = Guarded::start(&world, &["open"]).await;
    world.osv = Some(format!("{}/osv", guarded.base));
    let npx = npx(&world);
    let entry = |package: &str| json!({"command": npx, "args": ["-y", package]});
    let both = json!({"bad": entry("@evil/pkg@latest"), "good": entry("@good/pkg@1.0.0")});
    let servers = world.ready(&both).await;
    let error = servers.status().remove(0).error.unwrap();
    assert!(error.contains("MAL-2026-1 steals keys"), "{error}");
    let echo = json!({"text": "hi"});
    assert_eq!(world.call("mcp__good__echo", echo.clone()).await, json!({"result": "hi"}));
    servers.stop().await;
    // Answers are cached.
    assert_eq!(guarded.get("/state").await["asked"], 2);
    world.ready(&both).await.stop().await;
    assert_eq!(guarded.get("/state").await["asked"], 2);
    // Without a response the server is started anyway.
    world.osv = Some("http://127.0.0.1:9/osv".to_owned());
    let servers = world.ready(&json!({"other": entry("@other/pkg")})).await;
    assert_eq!(world.call("mcp__other__echo", echo).await, json!({"result": "hi"}));
    let problems = servers.status().remove(0).problems.join("\n");
    assert!(problems.contains("@other/pkg could not be checked for malware"), "{problems}");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_logs_in_where_codes_cannot_be_kept_from_others() {
    prepare();
    let world = World::new();
    let guarded = Guarded::start(&world, &["no-pkce"]).await;
    let servers = world.prepare(&guarded.entry());
    let error = servers.login("g", &Browser).await.unwrap_err();
    assert!(error.message().contains("PKCE"), "{error}");
}

/// A program of that name that downloads nothing.
fn npx(world: &World) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = world.path("npx");
    let script = servers_folder().join("odd.py");
    let text = format!("#!/bin/sh\nexec '{}' -S -E '{}'\n", python(), script.display());
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}
