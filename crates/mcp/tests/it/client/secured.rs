//! Servers that are trusted by a certificate of their own, and want one of us.

use std::path::Path;
use std::process::{Command, Stdio};

use hermes_core::BoxFuture;
use hermes_mcp::client::LoginPrompter;
use serde_json::{Value, json};

use super::guarded::{Guarded, prepare};
use super::{World, with};

/// Makes a certificate for a name, signed by another certificate or self-signed.
fn certify(dir: &Path, name: &str, signer: Option<&str>) -> bool {
    let file = |name: &str, ending: &str| dir.join(format!("{name}.{ending}"));
    let mut command = Command::new("openssl");
    command
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-days", "2", "-subj", &format!("/CN={name}")])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
        .arg(file(name, "key"))
        .arg("-out")
        .arg(file(name, "pem"));
    if let Some(signer) = signer {
        command.arg("-CA").arg(file(signer, "pem")).arg("-CAkey").arg(file(signer, "key"));
        command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    }
    let made = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    made.is_ok_and(|made| made.success())
}

/// A browser that knows the certificates.
struct Browser(reqwest::Client);

impl LoginPrompter for Browser {
    fn open_url<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            assert_eq!(self.0.get(url).send().await.unwrap().status(), 200);
            std::future::pending().await
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_certificates_of_its_own_is_used() {
    prepare();
    let world = World::new();
    let dir = world.home.path();
    let made = [("ca", None), ("server", Some("ca")), ("client", Some("ca"))]
        .into_iter()
        .all(|(name, signer)| certify(dir, name, signer));
    if !made {
        println!("skipped: no openssl 3");
        return;
    }
    let path = |name: &str| world.path(name).display().to_string();
    let (cert, key, ca) = (path("server.pem"), path("server.key"), path("ca.pem"));
    let guarded = Guarded::start(&world, &["tls", &cert, &key, &ca]).await;
    let tls = json!({"ssl_verify": ca, "client_cert": [path("client.pem"), path("client.key")]});
    let entry = |more: Value| json!({"g": with(guarded.entry()["g"].clone(), more)});
    let servers = world.start(&entry(tls));
    let pem = |name: &str| std::fs::read(world.path(name)).unwrap();
    let identity = [pem("client.pem"), pem("client.key")].concat();
    let client = reqwest::Client::builder()
        .tls_certs_only(reqwest::Certificate::from_pem_bundle(&pem("ca.pem")).unwrap())
        .identity(reqwest::Identity::from_pem(&identity).unwrap());
    servers.login("g", &Browser(client.build().unwrap())).await.unwrap();
    servers.test_server("g").await.unwrap();
    assert_eq!(world.call("mcp__g__who", json!({})).await, json!({"result": "token1"}));
    servers.stop().await;

    // Without trust in the server, or without a client certificate, the
    // connection fails.
    for more in [
        json!({"client_cert": path("client.pem"), "client_key": path("client.key")}),
        json!({"ssl_verify": path("ca.pem")}),
    ] {
        let servers = world.start(&entry(more));
        assert!(servers.test_server("g").await.is_err());
        servers.stop().await;
    }
    let unchecked = json!({"ssl_verify": false, "client_cert": path("client.pem"),
                           "client_key": path("client.key")});
    let servers = world.start(&entry(unchecked));
    servers.test_server("g").await.unwrap();
    servers.stop().await;
}
