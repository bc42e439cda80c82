#![allow(clippy::unwrap_used)]

use std::fs;

use hermes_core::{ErrorKind, erase};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

struct Place {
    dir: TempDir,
    cx: ToolContext,
}

impl Place {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let cx = ToolContext::bare(dir.path());
        Self { dir, cx }
    }

    async fn call(&self, arguments: Value) -> Result<Value, ToolError> {
        let bound = erase(EnvManager).bind(&arguments)?;
        let output = bound.run(self.cx.clone()).await?;
        Ok(serde_json::from_str(output.content()).unwrap())
    }

    async fn fails(&self, arguments: Value) -> ToolError {
        self.call(arguments).await.unwrap_err()
    }
}

#[tokio::test]
async fn a_variable_is_set_read_and_unset() {
    let place = Place::new();
    let set =
        place.call(json!({"action": "set", "name": "APP_MODE", "value": "test"})).await.unwrap();
    assert_eq!(set, json!({"name": "APP_MODE", "value": "test", "source": "session"}));
    assert_eq!(place.call(json!({"action": "get", "name": "APP_MODE"})).await.unwrap(), set);
    assert!(std::env::var_os("APP_MODE").is_none());

    let unset = json!({"action": "unset", "name": "APP_MODE"});
    assert_eq!(
        place.call(unset.clone()).await.unwrap(),
        json!({"name": "APP_MODE", "was_set": true})
    );
    assert_eq!(place.call(unset).await.unwrap()["was_set"], false);
    let error = place.fails(json!({"action": "get", "name": "APP_MODE"})).await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("unset in this session"));
}

#[tokio::test]
async fn the_process_shows_through_until_the_session_changes_it() {
    let place = Place::new();
    let name = "CARGO_PKG_NAME";
    let get = json!({"action": "get", "name": name});
    let found = place.call(get.clone()).await.unwrap();
    assert_eq!(found["value"], env!("CARGO_PKG_NAME"));
    assert_eq!(found["source"], "process");
    place.call(json!({"action": "set", "name": name, "value": ""})).await.unwrap();
    assert_eq!(place.call(get.clone()).await.unwrap()["value"], "");
    place.call(json!({"action": "unset", "name": name})).await.unwrap();
    assert_eq!(place.fails(get).await.kind(), ErrorKind::NotFound);
    assert_eq!(std::env::var(name).unwrap(), env!("CARGO_PKG_NAME"));
    let changes = place.cx.session.env_overrides().unwrap();
    assert_eq!(changes, EnvOverrides::from([(name.to_owned(), None)]));
}

#[tokio::test]
async fn a_secret_is_kept_but_not_shown() {
    let place = Place::new();
    let value = "correct horse battery";
    let set =
        place.call(json!({"action": "set", "name": "MY_API_KEY", "value": value})).await.unwrap();
    assert_eq!(set["masked"], true);
    let get = place.call(json!({"action": "get", "name": "MY_API_KEY"})).await.unwrap();
    assert_eq!(get["value"], "[masked, 21 characters]");
    assert!(get["hint"].as_str().unwrap().contains("passed to programs"));
    let list = place.call(json!({"action": "list", "filter": "my_api"})).await.unwrap();
    assert_eq!(list["masked"], json!(["MY_API_KEY"]));
    let diff = place.call(json!({"action": "diff"})).await.unwrap();
    for answer in [set, get, list, diff] {
        assert!(!answer.to_string().contains("battery"), "{answer}");
    }
    let kept = place.cx.session.env_overrides().unwrap();
    assert_eq!(kept["MY_API_KEY"].as_deref(), Some(value));
}

#[tokio::test]
async fn what_holds_a_secret_is_one() {
    let place = Place::new();
    let file = "MY_PASSWORD=hunter2hunter2\nOTHER=\"${MY_PASSWORD}!\"\n";
    fs::write(place.dir.path().join("x.env"), file).unwrap();
    place.call(json!({"action": "load", "path": "x.env"})).await.unwrap();
    let get = place.call(json!({"action": "get", "name": "OTHER"})).await.unwrap();
    assert_eq!((&get["value"], &get["masked"]), (&json!("[masked, 15 characters]"), &json!(true)));
    let list = place.call(json!({"action": "list", "filter": "OTHER"})).await.unwrap();
    let diff = place.call(json!({"action": "diff"})).await.unwrap();
    assert!(!list.to_string().contains("hunter2") && !diff.to_string().contains("hunter2"));
    let kept = place.cx.session.env_overrides().unwrap();
    assert_eq!(kept["OTHER"].as_deref(), Some("hunter2hunter2!"));
}

#[tokio::test]
async fn what_programs_do_not_get_is_told_and_not_referred_to() {
    let place = Place::new();
    let name = "CARGO_PKG_NAME";
    let get = place.call(json!({"action": "get", "name": name})).await.unwrap();
    assert_eq!(get["withheld"], true);
    assert!(get["hint"].as_str().unwrap().contains("set it in the session"));
    let list = place.call(json!({"action": "list", "filter": name})).await.unwrap();
    assert_eq!(list["withheld"], json!([name]));
    let get = place.call(json!({"action": "get", "name": "PATH"})).await.unwrap();
    assert!(get.get("withheld").is_none());

    fs::write(place.dir.path().join("x.env"), format!("A=[${name}]\nB=$PATH\n")).unwrap();
    let loaded = place.call(json!({"action": "load", "path": "x.env"})).await.unwrap();
    assert_eq!(loaded["unresolved"], json!([name]));
    let kept = place.cx.session.env_overrides().unwrap();
    assert_eq!(kept["A"].as_deref(), Some("[]"));
    assert_eq!(kept["B"], std::env::var("PATH").ok());
}

#[tokio::test]
async fn a_search_path_must_lead_to_a_shell() {
    let place = Place::new();
    let set = |value: &str| json!({"action": "set", "name": "PATH", "value": value});
    let error = place.fails(set("/nowhere:$PATH")).await;
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert!(error.hint().contains(&std::env::var("PATH").unwrap()), "{}", error.hint());
    let now = std::env::var("PATH").unwrap();
    let longer = format!("{}:{now}", place.dir.path().display());
    assert_eq!(place.call(set(&longer)).await.unwrap()["value"], longer.as_str());
    let unset = json!({"action": "unset", "name": "PATH"});
    assert_eq!(place.call(unset.clone()).await.unwrap()["was_set"], true);
    assert_eq!(place.call(unset).await.unwrap()["was_set"], false);
    let error = place.fails(json!({"action": "get", "name": "PATH"})).await;
    assert!(error.message().contains("unset in this session"), "{}", error.message());
    place.call(set(&now)).await.unwrap();
    let files = [("a.env", "PATH=/nowhere\nmy.key=1\nA=1\n"), ("b.env", "PATH=$PATH:/more\n")];
    for (name, text) in files {
        fs::write(place.dir.path().join(name), text).unwrap();
    }
    let loaded = place.call(json!({"action": "load", "path": "a.env"})).await.unwrap();
    assert_eq!(loaded["loaded"], json!(["A"]));
    assert_eq!(loaded["skipped"].as_object().unwrap().len(), 2, "{loaded}");
    place.call(json!({"action": "load", "path": "b.env"})).await.unwrap();
    let kept = place.cx.session.env_overrides().unwrap();
    assert_eq!(kept["PATH"], Some(format!("{now}:/more")));
}

#[tokio::test]
async fn a_search_path_that_nobody_set_in_the_session_can_be_unset() {
    let place = Place::new();
    let unset = json!({"action": "unset", "name": "PATH"});
    assert_eq!(place.call(unset).await.unwrap(), json!({"name": "PATH", "was_set": true}));
    assert_eq!(place.cx.session.env_overrides().unwrap()["PATH"], None);
    let diff = place.call(json!({"action": "diff"})).await.unwrap();
    assert_eq!(diff["unset"], json!(["PATH"]));
    let error = place.fails(json!({"action": "set", "name": "PWD", "value": "/zz"})).await;
    assert!(error.hint().contains("cd"), "{}", error.hint());
}

#[tokio::test]
async fn a_list_can_be_filtered_and_shortens_long_values() {
    let place = Place::new();
    place
        .call(json!({"action": "set", "name": "ZZZ_ONE", "value": "é".repeat(300)}))
        .await
        .unwrap();
    place.call(json!({"action": "set", "name": "ZZZ_TWO", "value": "2"})).await.unwrap();
    let list = place.call(json!({"action": "list", "filter": "zzz_*"})).await.unwrap();
    assert_eq!(list["count"], 2);
    assert_eq!(list["variables"]["ZZZ_TWO"], "2");
    assert_eq!(list["variables"]["ZZZ_ONE"], format!("{}…", "é".repeat(200)));
    assert_eq!(list["shortened"], json!(["ZZZ_ONE"]));
    let all = place.call(json!({"action": "list"})).await.unwrap();
    assert!(all["count"].as_u64().unwrap() > 2);
}

#[tokio::test]
async fn a_file_is_loaded_as_a_whole_or_not_at_all() {
    let place = Place::new();
    fs::write(
        place.dir.path().join(".env"),
        "A=1\nLD_PRELOAD=/x.so\nHERMES_HOME=/tmp\nB_TOKEN='t'\nA=2\n\
         CURL_HOME=.\nhttp_proxy=http://127.0.0.1:1\n",
    )
    .unwrap();
    let loaded = place.call(json!({"action": "load", "path": ".env"})).await.unwrap();
    assert_eq!(loaded["loaded"], json!(["A", "B_TOKEN"]));
    let skipped: Vec<&String> = loaded["skipped"].as_object().unwrap().keys().collect();
    assert_eq!(skipped, ["CURL_HOME", "HERMES_HOME", "LD_PRELOAD", "http_proxy"]);
    let diff = place.call(json!({"action": "diff"})).await.unwrap();
    assert_eq!(diff["set"], json!({"A": "2", "B_TOKEN": "[masked, 1 characters]"}));

    fs::write(place.dir.path().join("bad.env"), "C=3\nhunter2\n").unwrap();
    let error = place.fails(json!({"action": "load", "path": "bad.env"})).await;
    assert_eq!(error.kind(), ErrorKind::InvalidArguments);
    assert!(error.message().contains("line 2") && !error.to_json().contains("hunter2"));
    assert_eq!(place.call(json!({"action": "diff"})).await.unwrap(), diff);
}

#[tokio::test]
async fn what_is_no_text_file_is_not_loaded() {
    let place = Place::new();
    fs::write(place.dir.path().join("binary"), b"A=\xff\xfe").unwrap();
    fs::write(place.dir.path().join("huge"), vec![b'#'; 1024 * 1024 + 1]).unwrap();
    for (path, kind) in [
        ("none", ErrorKind::NotFound),
        (".", ErrorKind::InvalidArguments),
        ("binary", ErrorKind::InvalidArguments),
        ("huge", ErrorKind::Limit),
    ] {
        let error = place.fails(json!({"action": "load", "path": path})).await;
        assert_eq!(error.kind(), kind, "{path}");
    }
}

#[tokio::test]
async fn protected_and_impossible_variables_are_refused() {
    let place = Place::new();
    for (arguments, kind) in [
        (json!({"action": "set", "name": "LD_PRELOAD", "value": "x"}), ErrorKind::Denied),
        (json!({"action": "unset", "name": "HERMES_HOME"}), ErrorKind::Denied),
        (json!({"action": "set", "name": "A B", "value": "x"}), ErrorKind::InvalidArguments),
        (json!({"action": "set", "name": "A", "value": "x\0y"}), ErrorKind::InvalidArguments),
        (json!({"action": "set", "name": "A", "value": "x".repeat(131_073)}), ErrorKind::Limit),
        (json!({"action": "set", "name": "A"}), ErrorKind::InvalidArguments),
        (json!({"action": "set", "value": "x"}), ErrorKind::InvalidArguments),
        (json!({"action": "get"}), ErrorKind::InvalidArguments),
        (json!({"action": "load"}), ErrorKind::InvalidArguments),
        (json!({"action": "purge"}), ErrorKind::InvalidArguments),
        (json!({}), ErrorKind::InvalidArguments),
    ] {
        assert_eq!(place.fails(arguments.clone()).await.kind(), kind, "{arguments}");
    }
    assert_eq!(place.cx.session.env_overrides().unwrap(), EnvOverrides::new());
}

#[tokio::test]
async fn a_name_that_is_not_set_brings_up_those_that_are() {
    let place = Place::new();
    place.call(json!({"action": "set", "name": "QQQ_PORT", "value": "1"})).await.unwrap();
    let error = place.fails(json!({"action": "get", "name": "QQQ"})).await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.hint().contains("QQQ_PORT"), "{}", error.hint());
}

#[test]
fn effects_name_what_is_touched() {
    let at = WorkingDir::new("/srv", None);
    let effects = |arguments: Value| -> Vec<String> {
        let effects = erase(EnvManager).bind(&arguments).unwrap().effects(&at);
        effects.iter().map(ToString::to_string).collect()
    };
    assert_eq!(effects(json!({"action": "get", "name": "A"})), ["env:read A"]);
    assert_eq!(effects(json!({"action": "list", "name": "A"})), ["env:read *"]);
    assert_eq!(effects(json!({"action": "diff"})), ["env:read *"]);
    assert_eq!(effects(json!({"action": "set", "name": "A", "value": "1"})), ["env:write A"]);
    assert_eq!(effects(json!({"action": "unset", "name": "A"})), ["env:write A"]);
    assert_eq!(
        effects(json!({"action": "load", "path": "x/.env"})),
        ["file:read /srv/x/.env", "env:write *"]
    );
}
