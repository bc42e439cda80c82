//! Logins: what a server says of the one that it wants, other places to log
//! in, and the authorization server of the official Python SDK.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use hermes_core::BoxFuture;
use hermes_mcp::client::{ClientDeps, LoginPrompter, McpClientSettings, McpServers};
use serde_json::{Value, json};

use super::guarded::{Browser, Guarded, prepare};
use super::{World, sdk_python, servers_folder};

#[tokio::test(flavor = "multi_thread")]
async fn a_login_asks_for_what_the_server_wants_and_no_more() {
    prepare();
    let world = World::new();
    let guarded = Guarded::start(&world, &["odd-metadata"]).await;
    let servers = world.start(&guarded.entry());
    servers.login("g", &Browser).await.unwrap();
    servers.test_server("g").await.unwrap();
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token1"}));

    // Something needs more: a login asks for it besides what there was.
    let refused = world.call("mcp__g__write", json!({})).await;
    assert_eq!(refused["needs_reauth"], true, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("'write'"), "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("hermes mcp login g"), "{refused}");
    servers.stop().await;
    let servers = world.start(&guarded.entry());
    servers.login("g", &Browser).await.unwrap();
    assert_eq!(world.call("mcp__g__write", json!({})).await, json!({"result": "token2"}));

    // What a login has asked for and did not get is not asked for for ever.
    let refused = world.call("mcp__g__never", json!({})).await;
    assert_eq!(refused["needs_reauth"], true, "{refused}");
    servers.login("g", &Browser).await.unwrap();
    let refused = world.call("mcp__g__never", json!({})).await;
    assert_eq!(
        (refused["kind"].as_str(), &refused["needs_reauth"]),
        (Some("denied"), &Value::Null)
    );
    let state = guarded.get("/state").await;
    assert_eq!(state["scopes"], json!(["read", "read write", "read write never"]));
    servers.stop().await;

    // A token that has ended is replaced, though only refusals say where.
    let file = world.path("state/mcp-tokens/g.json");
    let mut tokens: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    tokens["expires_at"] = json!(1_000_000);
    std::fs::write(&file, tokens.to_string()).unwrap();
    let servers = world.start(&guarded.entry());
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token4"}));
    servers.stop().await;
}

/// A user who cancels a login.
struct Quitter;

impl LoginPrompter for Quitter {
    fn open_url<'a>(&'a self, _url: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_is_given_up_costs_no_other_registration() {
    prepare();
    let world = World::new();
    let guarded = Guarded::start(&world, &[]).await;
    let servers = world.start(&guarded.entry());
    servers.login("g", &Quitter).await.unwrap_err();
    servers.login("g", &Browser).await.unwrap();
    assert_eq!(guarded.get("/state").await["registered"], 1);
    // A wider one is registered for once, and does not end the one there is.
    servers.test_server("g").await.unwrap();
    let refused = world.call("mcp__g__write", json!({})).await;
    assert_eq!(refused["needs_reauth"], true, "{refused}");
    for _ in 0..2 {
        servers.login("g", &Quitter).await.unwrap_err();
        assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token1"}));
    }
    servers.login("g", &Browser).await.unwrap();
    assert_eq!(world.call("mcp__g__write", json!({})).await, json!({"result": "token2"}));
    let state = guarded.get("/state").await;
    assert_eq!(state["registered"], 2, "{state}");
    assert_eq!(state["clients"], json!(["client1", "client2"]));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_place_has_given_is_not_shown_to_another() {
    prepare();
    let world = World::new();
    let guarded = Guarded::start(&world, &[]).await;
    let other = Guarded::start(&world, &["as=B-"]).await;
    let servers = world.start(&guarded.entry());
    servers.login("g", &Browser).await.unwrap();
    servers.test_server("g").await.unwrap();

    guarded.get(&format!("/move?name=B-&to={}", other.base)).await;
    let refused = world.call("mcp__g__who", json!({})).await;
    assert_eq!(refused["needs_reauth"], true, "{refused}");
    servers.login("g", &Browser).await.unwrap();
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "B-token1"}));
    // The password that came with the registration is kept for later.
    guarded.get("/move?name=B-token2").await;
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "B-token2"}));
    let (here, there) = (guarded.get("/state").await, other.get("/state").await);
    assert_eq!((&here["registered"], &there["registered"]), (&json!(1), &json!(1)));
    assert_eq!((&here["refreshed"], &there["clients"]), (&json!(0), &json!(["B-client1"])));
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_password_of_its_own_needs_no_person() {
    prepare();
    let world = World::new();
    let guarded = Guarded::start(&world, &["as=M-"]).await;
    let mut entry = guarded.entry();
    entry["g"]["oauth"] = json!({"grant_type": "client_credentials", "client_id": "robot",
                                 "client_secret": "secret of robot"});
    let servers = world.ready(&entry).await;
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "M-token1"}));
    guarded.get("/revoke?all=1").await;
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "M-token2"}));
    servers.stop().await;
    // The password is for the place that it was first shown to.
    let other = Guarded::start(&world, &["as=M-", ""]).await;
    guarded.get(&format!("/move?name=nobody&to={}", other.base)).await;
    let servers = world.start(&entry);
    let refused = servers.test_server("g").await.unwrap_err();
    assert!(refused.message().contains("issuer mismatch"), "{refused:?}");
    assert_eq!(other.get("/state").await["granted"], 0);
    servers.stop().await;
}

/// A server of the Python SDK with a login; it ends with this.
struct Sdk {
    child: Child,
    base: String,
}

impl Drop for Sdk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Sdk {
    async fn start(world: &World, how: &[&str]) -> Option<Self> {
        let python = sdk_python()?;
        let file = world.path("base");
        let child = Command::new(python)
            .arg(servers_folder().join("sdk_auth.py"))
            .arg(&file)
            .args(how)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let mut it = Self { child, base: String::new() };
        for _ in 0..1500 {
            if let Ok(base) = std::fs::read_to_string(&file) {
                it.base = base;
                return Some(it);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the server does not listen");
    }

    fn entry(&self, oauth: &Value) -> Value {
        json!({"sdk": {"url": format!("{}/mcp", self.base), "auth": "oauth", "oauth": oauth}})
    }

    async fn get(&self, path: &str) -> Value {
        let answer = reqwest::get(format!("{}{path}", self.base)).await.unwrap();
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
    }
}

async fn who(world: &World) -> Value {
    world.call("mcp__sdk__who", json!({})).await["result"]["result"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_at_the_python_sdk_lasts() {
    prepare();
    let world = World::new();
    let Some(sdk) = Sdk::start(&world, &["3600"]).await else { return };
    let servers = world.start(&sdk.entry(&json!({})));
    servers.login("sdk", &Browser).await.unwrap();
    servers.test_server("sdk").await.unwrap();
    assert_eq!(who(&world).await, "token1");
    sdk.get("/revoke-all").await;
    assert_eq!(who(&world).await, "token2");
    // Revoked for good, in mid-session: the error says what to do.
    sdk.get("/revoke-all?all=1").await;
    let refused = world.call("mcp__sdk__who", json!({})).await;
    assert_eq!(refused["needs_reauth"], true, "{refused}");
    assert!(refused["hint"].as_str().unwrap().contains("hermes mcp login sdk"), "{refused}");
    servers.login("sdk", &Browser).await.unwrap();
    assert_eq!(who(&world).await, "token3");
    assert_eq!(sdk.get("/state").await["registered"], 1);
    // A server that has lost its clients registers us again.
    sdk.get("/revoke-all?forget=1").await;
    let refused = world.call("mcp__sdk__who", json!({})).await;
    assert_eq!(refused["needs_reauth"], true, "{refused}");
    servers.login("sdk", &Browser).await.unwrap();
    assert_eq!(who(&world).await, "token4");
    assert_eq!(sdk.get("/state").await["registered"], 2);
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_the_user_has_registered_is_used() {
    prepare();
    let world = World::new();
    let Some(sdk) = Sdk::start(&world, &["0"]).await else { return };
    let oauth = json!({"client_id": "known", "client_secret": "pass word", "scope": "user",
                       "redirect_host": "localhost"});
    let servers = world.start(&sdk.entry(&oauth));
    servers.login("sdk", &Browser).await.unwrap();
    // The first one has ended already.
    servers.test_server("sdk").await.unwrap();
    assert_eq!(who(&world).await, "token2");
    let state = sdk.get("/state").await;
    assert_eq!((&state["registered"], &state["clients"]), (&json!(0), &json!(["known", "known"])));
    servers.stop().await;
    let kept = std::fs::read_to_string(world.path("state/mcp-tokens/sdk.client.json")).unwrap();
    assert!(!kept.contains("pass word") && kept.contains("localhost"), "{kept}");

    // A client id issued by one server is not sent to another.
    let elsewhere = kept.replace(&sdk.base, "https://elsewhere");
    let resource = format!("{}/mcp", sdk.base);
    let elsewhere = elsewhere.replace("https://elsewhere/mcp", &resource);
    std::fs::write(world.path("state/mcp-tokens/sdk.client.json"), elsewhere).unwrap();
    let servers = world.start(&sdk.entry(&oauth));
    let refused = servers.login("sdk", &Browser).await.unwrap_err();
    assert!(refused.message().contains("https://elsewhere"), "{refused:?}");
    servers.stop().await;
    // Without that id, a new client is registered there.
    let servers = world.start(&sdk.entry(&json!({})));
    servers.login("sdk", &Browser).await.unwrap();
    assert_eq!(sdk.get("/state").await["registered"], 1);
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_holds_in_the_older_way_too() {
    prepare();
    let world = World::new();
    let Some(sdk) = Sdk::start(&world, &["3600", "sse"]).await else { return };
    let url = format!("{}/sse", sdk.base);
    let entry = json!({"sdk": {"url": url, "auth": "oauth", "transport": "sse"}});
    let servers = world.start(&entry);
    servers.login("sdk", &Browser).await.unwrap();
    servers.test_server("sdk").await.unwrap();
    assert_eq!(who(&world).await, "token1");
    sdk.get("/revoke-all").await;
    assert_eq!(who(&world).await, "token2");
    sdk.get("/revoke-all?all=1").await;
    let refused = world.call("mcp__sdk__who", json!({})).await;
    assert_eq!(refused["needs_reauth"], true, "{refused}");
    servers.stop().await;
}

fn elsewhere(world: &World, state: &Path, entry: &Value) -> McpServers {
    let deps = ClientDeps {
        engine: world.engine.clone(),
        cache: world.path("cache"),
        state: state.to_owned(),
        roots: Vec::new(),
        prompter: None,
        models: None,
        own_env: Vec::new(),
        osv: None,
    };
    let servers = McpServers::new(McpClientSettings::read(entry, &|_| None), deps);
    servers.start();
    servers
}

/// The other half of the next test: a program that makes one call.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by another test"]
async fn call_once() {
    let Some(given) = std::env::var_os("HERMES_TEST_LOGIN") else { return };
    prepare();
    let given: Value = serde_json::from_str(given.to_str().unwrap()).unwrap();
    let world = World::new();
    let state = Path::new(given["state"].as_str().unwrap());
    let servers = elsewhere(&world, state, &given["entry"]);
    servers.test_server("sdk").await.unwrap();
    assert_eq!(who(&world).await, "token2");
    servers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_programs_one_refreshes() {
    prepare();
    let world = World::new();
    let Some(sdk) = Sdk::start(&world, &["0"]).await else { return };
    let (state, entry) = (world.path("state"), sdk.entry(&json!({})));
    let servers = elsewhere(&world, &state, &entry);
    servers.login("sdk", &Browser).await.unwrap();
    servers.stop().await;
    let given = json!({"state": state, "entry": entry}).to_string();
    let programs: Vec<Child> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "client::logins::call_once", "--ignored"])
                .env("HERMES_TEST_LOGIN", &given)
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut program in programs {
        let ended = tokio::task::spawn_blocking(move || program.wait()).await.unwrap();
        assert!(ended.unwrap().success());
    }
    let state = sdk.get("/state").await;
    assert_eq!((&state["granted"], &state["refreshed"]), (&json!(1), &json!(1)));
}
