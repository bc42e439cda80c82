//! `hermes config`: showing settings, and changing them safely.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::context::{TestContext, assert_fields};

const COMMENTED: &str = "\
# My settings.
tool_output:
  max_lines: 500   # enough for me

future:            # of a later version
  flux: [1, 2]
model: {context_length: 128000}
";

#[test]
fn a_change_keeps_comments_and_unknown_keys() {
    let context = TestContext::new();
    context.settings(COMMENTED);
    let run = context.run(["config", "set", "tool_output.max_lines", "750"]).succeeds().silent();
    assert_eq!(run.stdout, "750\n");
    assert_eq!(context.settings_text(), COMMENTED.replace("500", "750"));
    context.run(["config", "set", "tool_output.max_lines", "500"]).succeeds();
    assert_eq!(context.settings_text(), COMMENTED);
}

#[test]
fn a_setting_is_added_and_taken_out_again() {
    let context = TestContext::new();
    context.settings(COMMENTED);
    context.run(["config", "set", "tools.tool_search.enabled", "off"]).succeeds();
    assert!(context.settings_text().starts_with(COMMENTED), "{}", context.settings_text());
    assert_eq!(
        context.run(["config", "get", "tools.tool_search.enabled"]).succeeds().stdout,
        "off\n"
    );

    let run = context.run(["config", "unset", "tool_output.max_lines", "--json"]).succeeds();
    assert_eq!(run.json()["unset"], true);
    assert!(!context.settings_text().contains("max_lines"));
    assert_eq!(context.run(["config", "get", "tool_output.max_lines"]).succeeds().stdout, "2000\n");
    context.run(["config", "unset", "tool_output.max_lines", "--json"]).exits(1).error("not_found");
}

#[test]
fn the_first_setting_makes_the_file() {
    let context = TestContext::new();
    std::fs::remove_dir(context.home()).expect("no home yet");
    context.run(["config", "set", "model.context_length", "200000"]).succeeds();
    assert_eq!(context.settings_text(), "model:\n  context_length: 200000\n");
}

#[test]
fn a_value_of_the_wrong_type_is_refused_and_the_file_stays() {
    let context = TestContext::new();
    context.settings(COMMENTED);
    let run = context.run(["config", "set", "tool_output.max_lines", "plenty"]).exits(2);
    assert_snapshot!(run.transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    error: [HOME]/config.yaml:3:3: `tool_output.max_lines` must be a whole number of at least 1, not the string "plenty"
     3 |   max_lines: plenty   # enough for me
       |   ^^^^^^^^^^^^^^^^^
    hint: Nothing was written; remove the key to get the default, 2000
    "#);
    for (key, value) in [
        ("tools.tool_search.enabled", "perhaps"),
        ("tool_loop_guardrails.warnings_enabled", "3"),
        ("model.context_length", "-5"),
        ("tool_output", "flat"),
        ("toolsets.first", "1"),
        ("a..b", "1"),
        ("", "1"),
    ] {
        context.run(["config", "set", "--json", key, value]).exits(2).error("invalid_arguments");
    }
    assert_eq!(context.settings_text(), COMMENTED);
}

#[test]
fn lists_and_texts_are_taken_as_they_are_meant() {
    let context = TestContext::new();
    context.run(["config", "set", "toolsets", "file, todo"]).succeeds();
    let value = context.run(["config", "get", "toolsets", "--json"]).succeeds().json();
    assert_eq!(value["value"], json!(["file", "todo"]));
    context.run(["config", "set", "toolsets", "[web]"]).succeeds();
    assert_eq!(context.run(["config", "get", "toolsets"]).succeeds().stdout, "web\n");
    context.run(["config", "set", "permissions.profile", "12"]).succeeds();
    let value = context.run(["config", "get", "permissions.profile", "--json"]).succeeds().json();
    assert_eq!(value["value"], "12");
}

#[test]
fn an_unknown_key_is_refused_with_a_suggestion_unless_forced() {
    let context = TestContext::new();
    let run = context.run(["config", "set", "tool_output.max_line", "9"]).exits(2);
    assert!(run.stderr.contains("tool_output.max_lines"), "{}", run.stderr);
    assert!(run.stderr.contains("--force"), "{}", run.stderr);
    assert!(!context.home().join("config.yaml").exists());
    context.run(["config", "set", "--force", "tool_output.max_line", "9"]).succeeds();
    for (key, value) in [
        ("mcp_servers.files.command", "npx"),
        ("model.prices", "{m: {input: 1, output: 2}}"),
        ("providers.work.base_url", "http://127.0.0.1:1/v1"),
        ("auxiliary.session_search.model", "m"),
        ("messaging.targets.ops.kind", "ntfy"),
    ] {
        let run = context.run(["config", "set", key, value]).succeeds();
        assert!(!run.stderr.contains(&format!("`{key}` is not")), "{}", run.stderr);
        context.run(["config", "get", key]).succeeds();
    }
}

#[test]
fn negative_numbers_are_values_not_options() {
    let context = TestContext::new();
    let run = context.run(["config", "set", "--force", "own.offset", "-5"]).succeeds();
    assert_eq!(run.stdout, "-5\n");
}

#[test]
fn every_setting_can_be_seen_with_its_origin() {
    let context = TestContext::new();
    context.settings(COMMENTED);
    let all = context.run(["config", "get", "--json"]).succeeds().json();
    assert_eq!(all["settings"]["tool_output.max_lines"], 500);
    assert_eq!(all["settings"]["tools.tool_search.enabled"], "auto");
    let one = context.run(["config", "get", "tool_output.max_lines", "--json"]).succeeds().json();
    assert_fields(&one, &["schema_version", "key", "value", "origin"]);
    assert!(one["origin"].as_str().is_some_and(|o| o.ends_with("config.yaml:3")), "{one}");
    let table = context.run(["config", "get"]).succeeds().stdout;
    assert_eq!(table.lines().count(), all["settings"].as_object().map_or(0, serde_json::Map::len));
}

#[test]
fn a_setting_without_a_value_prints_nothing_that_looks_like_one() {
    let context = TestContext::new();
    assert_eq!(context.run(["config", "get", "model.context_length"]).succeeds().stdout, "\n");
    let one = context.run(["config", "get", "model.context_length", "--json"]).succeeds().json();
    assert_eq!(one["value"], Value::Null);
}

#[test]
fn a_setting_that_does_not_exist_suggests() {
    let context = TestContext::new();
    for verb in ["get", "explain"] {
        let error = context
            .run(["config", verb, "tool_output.max_line", "--json"])
            .exits(1)
            .error("not_found");
        error.suggests("tool_output.max_lines");
        let error = context.run(["config", verb, "zzz", "--json"]).exits(1).error("not_found");
        assert!(error.hint.contains("hermes config explain"), "{error:?}");
    }
}

#[test]
fn a_setting_is_explained() {
    let context = TestContext::new();
    context.settings(COMMENTED);
    let run = context.run(["config", "explain", "tool_output.max_lines"]).succeeds();
    assert_snapshot!(run.transcript(), @r#"
    exit 0
    --- stdout
    tool_output.max_lines
    Maximum number of lines that one read returns.
    type:    a whole number of at least 1
    default: 2000
    value:   500 (from [HOME]/config.yaml:3)
    --- stderr
    "#);
    let value =
        context.run(["config", "explain", "permissions.profile", "--json"]).succeeds().json();
    assert_fields(
        &value,
        &["key", "type", "default", "value", "origin", "variables", "description"],
    );
    assert_eq!(value["variables"], json!(["HERMES_PERMISSION_PROFILE"]));
}

#[test]
fn all_settings_and_variables_are_explained() {
    let context = TestContext::new();
    let value = context.run(["config", "explain", "--json"]).succeeds().json();
    for list in ["settings", "variables"] {
        for entry in value[list].as_array().expect("a list") {
            assert!(entry["description"].as_str().is_some_and(|d| d.ends_with('.')), "{entry}");
        }
    }
    let text = context.run(["config", "explain"]).succeeds().stdout;
    assert!(text.contains("HERMES_HOME") && text.contains("tool_output.max_bytes"), "{text}");
}

#[test]
fn the_environment_wins_over_the_file() {
    let context = TestContext::new();
    context.settings("permissions:\n  profile: from-file\n");
    let mut command = context.command(["config", "get", "permissions.profile", "--json"]);
    command.env("HERMES_PERMISSION_PROFILE", "from-env");
    let value = context.finish(command, b"").succeeds().json();
    assert_eq!(value["value"], "from-env");
    assert!(
        value["origin"].as_str().is_some_and(|o| o.contains("HERMES_PERMISSION_PROFILE")),
        "{value}"
    );
}

#[test]
fn the_path_is_told_whether_or_not_the_file_is_there() {
    let context = TestContext::new();
    let run = context.run(["config", "path"]).succeeds();
    assert_eq!(run.stdout, format!("{}\n", context.home().join("config.yaml").display()));
    assert_eq!(context.run(["config", "path", "--json"]).succeeds().json()["exists"], false);
    context.settings("{");
    assert_eq!(context.run(["config", "path", "--json"]).succeeds().json()["exists"], true);
}

#[test]
fn a_probable_slip_in_the_file_is_warned_of() {
    let context = TestContext::new();
    context.settings("toolsts: [file]\n");
    let run = context.run(["tools", "list"]).succeeds();
    assert!(
        run.stderr.contains("config.yaml:1:1: `toolsts` is not a known setting"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("did you mean `toolsets`?"), "{}", run.stderr);
    context.run(["tools", "list", "--quiet"]).succeeds().silent();
}

/// Every command that reads the settings.
const READERS: [&[&str]; 11] = [
    &["call", "todo"],
    &["exec"],
    &["tools", "list"],
    &["tools", "show", "todo"],
    &["tools", "export"],
    &["toolsets", "list"],
    &["toolsets", "create", "mine", "--tools", "todo"],
    &["toolsets", "sample", "default"],
    &["config", "get"],
    &["config", "set", "model.context_length", "1"],
    &["config", "explain", "toolsets"],
];

#[test]
fn a_broken_file_stops_every_command_at_its_line() {
    let context = TestContext::new();
    let broken = "model:\n  context_length: 1000\ntoolsets: [file\nagent: {}\n";
    context.settings(broken);
    for args in READERS {
        let run = context.run(args).exits(2);
        assert!(run.stderr.contains("config.yaml:4:"), "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains("hint: "), "{args:?}: {}", run.stderr);
        let run = context.run(args.iter().chain(&["--json"])).exits(2).silent();
        assert!(run.error("invalid_arguments").message.contains("config.yaml:4:"), "{args:?}");
    }
    assert_eq!(context.settings_text(), broken);
    assert!(!context.home().join("toolsets.json").exists());
}

#[test]
fn a_wrong_value_stops_every_command_at_its_line() {
    let context = TestContext::new();
    context.settings("model:\n  context_length: large\ntool_output: {max_lines: 0}\n");
    for args in READERS.iter().filter(|args| !args.contains(&"set")) {
        let run = context.run(*args).exits(2);
        assert!(run.stderr.contains("config.yaml:2:"), "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("config.yaml:3:"),
            "all faults at once: {args:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn sub_agents_and_the_table_of_settings_agree_on_what_is_usual() {
    let usual = |section: &str| {
        let inside =
            |key: &&hermes_config::SettingKey| key.name.starts_with(&format!("{section}."));
        let keys = hermes_config::KEYS.iter().filter(inside);
        let pairs = keys.map(|key| (key.names().pop().expect("a name"), key.default.to_value()));
        pairs.filter(|(_, value)| !value.is_null()).collect::<serde_json::Map<_, _>>().into()
    };
    let delegation: Value = usual("delegation");
    assert_eq!(delegation.as_object().map(serde_json::Map::len), Some(8));
    let read = hermes_delegation::DelegationSettings::read(&delegation);
    assert_eq!(read, Ok(hermes_delegation::DelegationSettings::default()));
    let mixture = hermes_delegation::MixtureSettings::read(&usual("moa"));
    assert_eq!(mixture, Ok(hermes_delegation::MixtureSettings::default()));
}

#[test]
fn a_section_with_a_shape_of_its_own_is_pointed_to() {
    let context = TestContext::new();
    for name in ["model.prices", "mcp_servers.files"] {
        let run = context.run(["config", "explain", name]).succeeds();
        assert!(run.stdout.contains(".md"), "{}", run.stdout);
    }
    let shown = context.run(["config", "explain", "model.prices", "--json"]).succeeds().json();
    assert_eq!(shown["described_in"], "docs/models.md");
    context.run(["config", "explain", "model.pricess"]).exits(1);
}
