use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;

fn credentials() -> StoredCredentials {
    let tokens = json!({
        "access_token": "a", "token_type": "bearer", "expires_in": 60, "refresh_token": "r",
        "scope": "x"
    });
    let tokens = serde_json::from_value(tokens).unwrap();
    StoredCredentials::new("me".into(), Some(tokens), vec!["x".into()], Some(1_000))
        .with_issuer(Some("https://i".into()))
}

#[tokio::test]
async fn what_is_kept_comes_back_and_is_nobody_elses() {
    let dir = tempfile::tempdir().unwrap();
    let store = TokenStore::new(&dir.path().join("t"), "my server", "https://h/mcp");
    assert!(store.load().await.unwrap().is_none());
    store.save(credentials()).await.unwrap();
    let back = store.load().await.unwrap().unwrap();
    assert_eq!(serde_json::to_value(&back).unwrap(), serde_json::to_value(credentials()).unwrap());
    for (path, mode) in
        [("t", 0o700), ("t/my_server.json", 0o600), ("t/my_server.client.json", 0o600)]
    {
        let found = std::fs::metadata(dir.path().join(path)).unwrap().permissions().mode();
        assert_eq!(found & 0o777, mode, "{path}");
    }
    // Another server of that name gets nothing.
    let other = TokenStore::new(&dir.path().join("t"), "my server", "https://evil/mcp");
    assert!(other.load().await.unwrap().is_none());
    assert!(other.registration().is_none() && other.token().unwrap().is_none());
}

#[tokio::test]
async fn files_of_hermes_agent_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, value: Value| {
        std::fs::write(dir.path().join(name), value.to_string()).unwrap();
    };
    write(
        "s.json",
        json!({
            "access_token": "a", "token_type": "Bearer", "expires_in": 100, "expires_at": 1100.5,
            "scope": "p q", "refresh_token": null,
        }),
    );
    write(
        "s.client.json",
        json!({
            "client_id": "c", "redirect_uris": ["http://127.0.0.1:4000/callback"], "client_name": "H"
        }),
    );
    let store = TokenStore::new(dir.path(), "s", "https://h");
    let back = store.load().await.unwrap().unwrap();
    assert_eq!((back.client_id.as_str(), back.token_received_at), ("c", Some(1000)));
    assert_eq!(back.granted_scopes, ["p", "q"]);
    assert_eq!(store.registration().unwrap().redirect_port(), Some(4000));
    assert!(store.token().unwrap().unwrap().is_stale);
    // Older ones do not say when they end.
    write("s.json", json!({"access_token": "b", "token_type": "Bearer", "expires_in": 100}));
    let token = store.token().unwrap().unwrap();
    assert_eq!((token.text.as_str(), token.is_stale), ("b", false));
}

#[test]
fn a_token_that_has_just_come_is_good_however_short_it_lives() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, value: Value| {
        std::fs::write(dir.path().join(name), value.to_string()).unwrap();
    };
    write("s.client.json", json!({"client_id": "c"}));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let store = TokenStore::new(dir.path(), "s", "https://h");
    let is_stale = |lasting: u64, left: u64| {
        let times = json!({"access_token": "a", "expires_in": lasting, "expires_at": now + left});
        write("s.json", times);
        store.token().unwrap().unwrap().is_stale
    };
    assert!(!is_stale(20, 20) && is_stale(20, 1));
    assert!(!is_stale(3_600, 60) && is_stale(3_600, 29));
    // Who says that it lives no time at all says nothing of it.
    assert!(!is_stale(0, 0));
}

#[tokio::test]
async fn a_rejected_token_is_forgotten_and_the_registration_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = TokenStore::new(dir.path(), "s", "https://h");
    store.save(credentials()).await.unwrap();
    let mut older = credentials();
    older.token_received_at = Some(5);
    store.on_refresh_token_rejected(&older).await.unwrap();
    assert!(store.load().await.unwrap().unwrap().token_response.is_some());
    store.on_refresh_token_rejected(&credentials()).await.unwrap();
    let back = store.load().await.unwrap().unwrap();
    assert!(back.token_response.is_none());
    assert_eq!(back.client_id, "me");
}

#[tokio::test]
async fn one_refreshes_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = TokenStore::new(dir.path(), "s", "https://h");
    let held = store.lock().await.unwrap();
    let other = store.clone();
    let mut waiting = tokio::spawn(async move { other.lock().await.is_ok() });
    let early = tokio::time::timeout(std::time::Duration::from_millis(20), &mut waiting).await;
    assert!(early.is_err());
    drop(held);
    assert!(waiting.await.unwrap());
}

#[tokio::test]
async fn what_a_server_wants_is_kept_until_the_next_login() {
    let dir = tempfile::tempdir().unwrap();
    let store = TokenStore::new(dir.path(), "s", "https://h");
    let client = json!({"client_id": "me", "client_secret": "p", "scope": "x y"});
    let client = client.as_object().unwrap();
    let login = store.with_draft(client.clone(), &["x".to_owned()]);
    login.save_registration().unwrap();
    assert!(store.token().unwrap().is_none());
    login.save(credentials()).await.unwrap();
    store.record_refusal(Some("https://h/meta"), Some("y z"));
    // A refresh changes nothing of it.
    store.save(credentials()).await.unwrap();
    let kept = store.registration().unwrap();
    assert_eq!(
        (kept.requested_scopes(), kept.missing_scopes()),
        (vec!["x".into()], vec!["y".into(), "z".into()])
    );
    assert_eq!(
        (kept.text("client_secret"), kept.text(RESOURCE_METADATA_KEY)),
        (Some("p"), Some("https://h/meta"))
    );
    assert!(
        kept.is_registered_for(&["y".to_owned()]) && !kept.is_registered_for(&["z".to_owned()])
    );
    // Another registration is not kept before its login is through.
    let other = json!({"client_id": "other"}).as_object().unwrap().clone();
    store.with_draft(other, &[]).save_registration().unwrap();
    assert_eq!(store.registration().unwrap().text("client_id"), Some("me"));
    let again = store.with_draft(kept.into(), &["x".to_owned(), "y".to_owned()]);
    again.save(credentials()).await.unwrap();
    let kept = store.registration().unwrap();
    assert_eq!((kept.requested_scopes().len(), kept.missing_scopes().len()), (2, 0));
}
