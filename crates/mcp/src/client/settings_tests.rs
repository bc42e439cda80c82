use serde_json::json;

use super::*;

fn lookup(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "s3cret".to_owned())
}

fn read(entry: Value) -> ServerSettings {
    ServerSettings::read(&entry, &lookup).unwrap()
}

#[test]
fn an_entry_of_hermes_agent_is_read() {
    let server = read(json!({
        "command": "npx", "args": ["-y", "pkg", 3], "env": {"A": "${TOKEN}", "N": 1},
        "timeout": "2.5", "connect_timeout": 7, "enabled": "off", "required": 1,
        "tools": {"include": ["read_*", "x"], "exclude": "read_file", "prompts": "no"},
        "sampling": {"max_rpm": 0, "max_tool_rounds": 0, "allowed_models": ["m"]},
    }));
    let ServerTransport::Stdio { command, args, env, .. } = &server.transport else {
        panic!("a program")
    };
    assert_eq!((command.as_str(), args.len(), args[2].as_str()), ("npx", 3, "3"));
    assert_eq!((env["A"].as_str(), env["N"].as_str()), ("s3cret", "1"));
    assert_eq!(server.timeout, Duration::from_millis(2500));
    assert_eq!(server.connect_timeout, Duration::from_secs(7));
    assert!(!server.enabled && server.required);
    assert!(server.tools.accepts("read_file") && server.tools.accepts("x"));
    assert!(!server.tools.accepts("write_file"));
    assert!(server.tools.resources && !server.tools.prompts);
    assert_eq!((server.sampling.max_rpm, server.sampling.max_tool_rounds), (1, 0));
}

#[test]
fn integer_zero_switches_off() {
    assert!(!read(json!({"command": "x", "enabled": 0})).enabled);
    assert!(read(json!({"command": "x"})).enabled);
}

#[test]
fn a_url_wins_and_variables_are_filled_in() {
    let server = read(json!({
        "url": "https://h/mcp", "command": "x",
        "headers": {"Authorization": "Bearer ${env:TOKEN}", "X": "a${1}b${"}
    }));
    let ServerTransport::Http { headers, sse, .. } = &server.transport else {
        panic!("an address")
    };
    assert_eq!(headers["Authorization"], "Bearer s3cret");
    assert_eq!(headers["X"], "a${1}b${");
    assert!(!sse);
    // What the server is known by holds no secret.
    assert!(!server.raw_entry.to_string().contains("s3cret"));
}

#[test]
fn a_variable_that_is_not_set_is_no_value() {
    for entry in [
        json!({"url": "https://h/mcp", "headers": {"X": "Bearer ${NOPE}"}}),
        json!({"command": "x", "env": {"A": "${TOKEN}", "B": "${env:NOPE}"}}),
        json!({"url": "https://${NOPE}/mcp"}),
    ] {
        let problem = ServerSettings::read(&entry, &lookup).unwrap_err();
        assert!(problem.contains("${NOPE} is not set"), "{problem}");
        // Who does not use it does not need it.
        let mut off = entry;
        off["enabled"] = false.into();
        assert!(ServerSettings::read(&off, &lookup).is_ok());
    }
    // A script has variables of its own.
    read(json!({"command": "sh", "args": ["-c", "x=1; echo ${x}"]}));
}

#[test]
fn one_bad_entry_does_not_cost_the_others() {
    let all = json!({
        "good": {"command": "x"}, "empty": {}, "odd": 3, "ftp": {"url": "ftp://x"},
        "glob": {"command": "x", "tools": {"include": "["}},
    });
    let settings = McpClientSettings::read(&all, &lookup);
    assert_eq!(settings.servers.keys().collect::<Vec<_>>(), ["good"]);
    assert_eq!(settings.problems.len(), 4);
    assert!(settings.problems.iter().any(|it| it.contains("'glob'")), "{:?}", settings.problems);
}

#[test]
fn only_excluded_tools_are_left_out() {
    let server = read(json!({"command": "x", "tools": {"exclude": ["*delete*"]}}));
    assert!(server.tools.accepts("read") && !server.tools.accepts("file_delete"));
}

#[test]
fn a_login_without_a_person_needs_a_password() {
    let entry = |oauth: Value| json!({"url": "https://h", "auth": "oauth", "oauth": oauth});
    let machine =
        json!({"grant_type": "client_credentials", "client_id": "a", "client_secret": "b"});
    assert!(read(entry(machine)).oauth.unwrap().uses_client_credentials);
    assert!(!read(entry(json!({}))).oauth.unwrap().uses_client_credentials);
    for wrong in
        [json!({"grant_type": "client_credentials", "client_id": "a"}), json!({"grant_type": "x"})]
    {
        let problem = ServerSettings::read(&entry(wrong), &lookup).unwrap_err();
        assert!(problem.contains("grant_type"), "{problem}");
    }
}

#[test]
fn a_key_for_a_login_is_refused_in_words() {
    let oauth = json!({"client_id": "a", "private_key": "/k.pem", "private_key_passphrase": "p"});
    let entry = json!({"url": "https://h", "auth": "oauth", "oauth": oauth});
    let problem = ServerSettings::read(&entry, &lookup).unwrap_err();
    assert!(problem.contains("`oauth.private_key`"), "{problem}");
    assert!(problem.contains("client_secret"), "{problem}");
}

#[test]
fn a_redirect_port_that_does_not_exist_is_an_error() {
    let oauth = |port: Value| json!({"redirect_port": port});
    let entry = |port: Value| json!({"url": "https://h", "auth": "oauth", "oauth": oauth(port)});
    let port = |written: Value| read(entry(written)).oauth.unwrap().redirect_port;
    assert_eq!(port(json!(8080)), Some(8080));
    assert_eq!(port(json!("65535")), Some(65535));
    assert_eq!(port(json!(0)), None);
    for wrong in [json!(65536), json!("70000"), json!(-1), json!("x")] {
        let problem = ServerSettings::read(&entry(wrong), &lookup).unwrap_err();
        assert!(problem.contains("redirect_port"), "{problem}");
    }
}

#[test]
fn a_server_that_is_given_a_folder_is_told_of_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display().to_string();
    let roots = |more: Value| {
        let mut entry = json!({"command": "x"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(entry).roots
    };
    assert_eq!(roots(json!({"args": ["a"]})), RootsMode::Workspace);
    assert_eq!(roots(json!({"args": [&path]})), RootsMode::Disabled);
    assert_eq!(roots(json!({"args": [format!("--root={path}")]})), RootsMode::Disabled);
    assert_eq!(roots(json!({"args": [&path], "roots": true})), RootsMode::Workspace);
    assert_eq!(roots(json!({"roots": false})), RootsMode::Disabled);
    assert_eq!(roots(json!({"roots": [&path]})), RootsMode::Explicit(vec![dir.path().to_owned()]));
    assert!(ServerSettings::read(&json!({"command": "x", "roots": ["a"]}), &lookup).is_err());
}

#[test]
fn what_cannot_be_read_is_told_and_the_server_is_used() {
    let entries = serde_json::json!({
        "a": {"command": "x", "timeout": "abc", "env": ["X=1"], "args": {"x": 1}},
        "b": {"command": "x", "timeout": "30", "connect_timeout": "${WAIT}", "env": null, "args": "one"},
    });
    let read = McpClientSettings::read(&entries, &|_| Some("5".to_owned()));
    assert_eq!(read.servers.len(), 2);
    assert_eq!(read.problems.len(), 3, "{:?}", read.problems);
    assert!(read.problems.iter().all(|it| it.contains("'a'")), "{:?}", read.problems);
    assert!(read.problems[0].contains("`timeout`"), "{:?}", read.problems);
}
