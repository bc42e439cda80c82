//! Secret values are planted wherever they may leak from, and all output and
//! all files left behind are searched for them.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::context::{Run, TestContext};

/// In an environment variable whose name suggests a secret.
const VARIABLE: &str = "qT7vXw2LzR9mKb4NpJ6cHs8D";
/// In the home's `.env`.
const DOTENV: &str = "Ye3Gk8WnUa5ZtQ1xMf7BrV2L";
/// In the vault.
const VAULT: &str = "hN5pSd9CjX4yTu6EwK2gRb8F";
/// A value that every encoding changes.
const AWKWARD: &str = "w\"K/7 x&Z\\9+é<Qm5>t%J3?vL=8nR";

const ALL: [&str; 4] = [VARIABLE, DOTENV, VAULT, AWKWARD];

/// A profile that allows everything, and one that requires approval for it.
const PROFILES: &str = "profiles:
  open:
    allow: [\"*\"]
  asks:
    extends: default
    approval_required: [plan:write, file:read, env:write]
  denies:
    extends: default
    deny: [plan:write, file:read, env:write]
";

fn base64(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        text.extend((0..=group.len()).map(|at| char::from(letters[bits >> (18 - 6 * at) & 63])));
    }
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Percent encoding: everything but letters, digits and `-._~`.
fn percent(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

fn escaped(value: &str) -> String {
    let text = Value::from(value).to_string();
    text[1..text.len() - 1].to_owned()
}

/// A value in the forms in which it might be read back.
fn forms(value: &str) -> Vec<String> {
    let once = escaped(value);
    let mut forms = vec![
        value.to_owned(),
        base64(value.as_bytes()),
        base64(value.as_bytes()).replace('+', "-").replace('/', "_"),
        hex(value.as_bytes()),
        hex(value.as_bytes()).to_uppercase(),
        percent(value),
        escaped(&once),
        once.replace('é', "\\u00e9"),
        once,
    ];
    forms.sort();
    forms.dedup();
    forms
}

/// A value inside a text that is encoded as a whole.
fn within(value: &str) -> Vec<String> {
    ["a", "ab", "abc"].map(|lead| base64(format!("{lead}{value}!").as_bytes())).to_vec()
}

/// Strings that must not be found: the forms, and of a text encoded as a whole
/// the characters that depend on the value alone.
fn needles(value: &str) -> Vec<String> {
    let mut needles = forms(value);
    needles.extend(within(value).into_iter().map(|text| text[4..text.len() - 4].to_owned()));
    needles
}

fn contains(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|part| part == needle.as_bytes())
}

/// Leaks found, and where.
#[derive(Default)]
struct Search {
    found: Vec<String>,
}

impl Search {
    fn look(&mut self, place: &str, bytes: &[u8]) {
        for value in ALL {
            for form in needles(value) {
                if contains(bytes, &form) {
                    self.found.push(format!("{form} in {place}"));
                }
            }
        }
    }

    fn run(&mut self, args: &[&str], run: &Run) {
        let shown: Vec<&str> = args.iter().map(|arg| arg.get(..60).unwrap_or(arg)).collect();
        self.look(&format!("standard output of {shown:?}"), run.stdout.as_bytes());
        self.look(&format!("standard error of {shown:?}"), run.stderr.as_bytes());
    }

    /// Searches the output of these command lines, with `--json` and without.
    fn all(&mut self, context: &TestContext, lines: &[Vec<String>], input: &str) {
        for line in lines {
            for json in [false, true] {
                let mut args: Vec<&str> = line.iter().map(String::as_str).collect();
                if json {
                    args.insert(1, "--json");
                }
                self.run(&args, &run(context, &args, input));
            }
        }
    }

    /// Searches every file below the directory, and its name.
    fn files(&mut self, dir: &Path) {
        for path in files(dir) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if matches!(name, ".env" | "secrets.json") {
                continue;
            }
            self.look(&format!("the name of {}", path.display()), name.as_bytes());
            let bytes = std::fs::read(&path).expect("a file");
            self.look(&path.display().to_string(), &bytes);
        }
    }

    #[track_caller]
    fn nothing(self) {
        assert!(self.found.is_empty(), "{} leaks:\n{}", self.found.len(), self.found.join("\n"));
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() { dirs.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    found
}

/// A home in which every value is planted.
fn planted() -> TestContext {
    let context = TestContext::new();
    let home = context.home();
    std::fs::write(home.join("hermes_permissions.yaml"), PROFILES).expect("profiles");
    std::fs::write(home.join(".env"), format!("SERVICE_PASSWORD={DOTENV}\n")).expect("variables");
    context.feed(["secrets", "set", "DEPLOY"], VAULT).succeeds();
    let mut leak = String::new();
    for value in ALL {
        for form in forms(value).into_iter().chain(within(value)) {
            let _ = writeln!(leak, "{form}");
        }
        let _ =
            writeln!(leak, "Authorization: Basic {}", base64(format!("user:{value}:x").as_bytes()));
        let _ = writeln!(leak, "{}", json!({ "nested": json!({ "value": value }).to_string() }));
    }
    context.file("leak.txt", &leak);
    context.file("plain.txt", "one\n");
    std::fs::create_dir(context.work().join("names")).expect("a directory");
    for value in [VARIABLE, DOTENV, VAULT] {
        context.file(&format!("names/{value}.txt"), "one\n");
        context.file(&format!("{value}.txt"), "one\n");
    }
    context
}

/// Runs the command with the planted variables.
fn run(context: &TestContext, args: &[&str], input: &str) -> Run {
    let mut command = context.command(args);
    command.env("DEPLOY_TOKEN", VARIABLE).env("AWKWARD_SECRET", AWKWARD);
    context.finish(command, input.as_bytes())
}

/// Runs every command line, and searches its output and the files it leaves.
#[track_caller]
fn nothing_leaks(context: &TestContext, lines: &[Vec<String>], input: &str) {
    let mut search = Search::default();
    search.all(context, lines, input);
    search.files(&context.home());
    search.nothing();
}

fn line(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

fn task(content: &str) -> String {
    format!("todos:={}", json!([{ "id": "a", "content": content, "status": "pending" }]))
}

#[test]
fn the_values_are_where_they_were_planted() {
    let context = planted();
    let leak = std::fs::read(context.work().join("leak.txt")).expect("the file");
    let mut search = Search::default();
    search.look("leak.txt", &leak);
    assert!(search.found.len() >= ALL.len() * 8, "{:?}", search.found);
    for (name, value) in [(".env", DOTENV), ("secrets.json", VAULT)] {
        let text = std::fs::read(context.home().join(name)).expect("the file");
        assert!(contains(&text, value), "{name}");
    }
}

#[test]
fn a_file_full_of_secrets_can_be_read() {
    let context = planted();
    let seen = run(&context, &["call", "read_file", "path=leak.txt"], "").succeeds();
    for label in [
        "[secret:DEPLOY_TOKEN]",
        "[secret:SERVICE_PASSWORD]",
        "[secret:DEPLOY]",
        "[secret:AWKWARD_SECRET]",
    ] {
        assert!(seen.stdout.contains(label), "{label}: {}", seen.stdout);
    }
    nothing_leaks(
        &context,
        &[
            line(&["call", "read_file", "path=leak.txt"]),
            line(&["call", "read_file", "path=leak.txt", "offset=3", "limit=7"]),
            line(&["call", "--dry-run", "read_file", "path=leak.txt"]),
            line(&["call", "tool_call", r#"{"name":"read_file","arguments":{"path":"leak.txt"}}"#]),
        ],
        "",
    );
}

/// One call, as each dialect writes it.
fn dialects(name: &str, arguments: &Value) -> [String; 5] {
    let text = arguments.to_string();
    let function = json!({ "name": name, "arguments": text });
    let call = json!({ "id": "1", "name": name, "arguments": arguments });
    let typed = json!({ "id": "1", "type": "function", "function": function });
    let item = json!({ "type": "function_call", "call_id": "1", "name": name, "arguments": text });
    let block = json!({ "type": "tool_use", "id": "1", "name": name, "input": arguments });
    let tagged = json!({ "name": name, "arguments": arguments });
    [
        json!({ "tool_calls": [call] }).to_string(),
        json!({ "role": "assistant", "tool_calls": [typed] }).to_string(),
        json!([item]).to_string(),
        json!({ "role": "assistant", "content": [block] }).to_string(),
        format!("<tool_call>\n{tagged}\n</tool_call>\n"),
    ]
}

#[test]
fn every_dialect_keeps_secrets() {
    let context = planted();
    let mut search = Search::default();
    for arguments in [
        json!({ "path": "leak.txt" }),
        json!({ "path": format!("names/{VAULT}.txt") }),
        json!({ "path": VARIABLE, DOTENV: 1 }),
        json!({ "path": AWKWARD }),
    ] {
        for request in dialects("read_file", &arguments) {
            let mut lines = vec![line(&["exec"])];
            if request.contains(VAULT) {
                lines.push(line(&["exec", "--dry-run"]));
                lines.push(line(&["exec", "--profile", "asks"]));
            }
            search.all(&context, &lines, &request);
        }
    }
    search.files(&context.home());
    search.nothing();
}

#[test]
fn a_request_that_cannot_be_read_keeps_secrets() {
    let context = planted();
    let mut search = Search::default();
    for request in [
        format!(r#"{{"tool_calls":[{{"id":"1","name":"read_file","arguments":"{VAULT}"}}]}}"#),
        format!(r#"{{"tool_calls":[{{"id":"1","name":"read_file","arguments":["{DOTENV}"]}}]}}"#),
        format!(r#"{{"tool_calls":"{VAULT}"}}"#),
        format!(r#"{{"{DOTENV}":1}}"#),
        format!(r#"{{"tool_calls":[{{"id":"1","name":"read_file","argum {VARIABLE}"#),
        format!("{VARIABLE}\n"),
    ] {
        search.all(&context, &[line(&["exec"])], &request);
    }
    search.files(&context.home());
    search.nothing();
}

#[test]
fn the_name_of_a_tool_that_is_not_there_keeps_secrets() {
    let context = planted();
    let mut search = Search::default();
    for value in [VARIABLE, DOTENV, VAULT] {
        for request in dialects(value, &json!({})) {
            search.all(&context, &[line(&["exec"])], &request);
        }
        let arguments = json!({ "name": value, "arguments": {} }).to_string();
        let lines = [
            line(&["call", value]),
            line(&["call", "tool_call", &arguments]),
            line(&["call", "tool_describe", &format!("name={value}")]),
            line(&["call", "tool_search", &format!("query={value}")]),
        ];
        search.all(&context, &lines, "");
    }
    search.files(&context.home());
    search.nothing();
}

#[test]
fn names_of_files_keep_secrets() {
    let context = planted();
    let mut lines = vec![
        line(&["call", "directory_list", "path=names"]),
        line(&["call", "directory_list", "path=."]),
        line(&["call", "directory_list", &format!("path=names/{VAULT}.txt")]),
    ];
    for value in [VARIABLE, DOTENV, VAULT] {
        for profile in ["open", "asks", "denies"] {
            let path = format!("path=names/{value}.txt");
            lines.push(line(&["call", "--profile", profile, "read_file", &path]));
            lines.push(line(&["call", "--dry-run", "--profile", profile, "read_file", &path]));
        }
        lines.push(line(&["call", "read_file", &format!("path={value}.tx")]));
    }
    lines.push(line(&["permissions", "approve"]));
    lines.push(line(&["audit", "tail", "-n", "100"]));
    lines.push(line(&["audit", "query"]));
    nothing_leaks(&context, &lines, "");
}

#[test]
fn arguments_keep_secrets() {
    let context = planted();
    let mut lines = Vec::new();
    let pairs = [
        (VARIABLE, "open"),
        (DOTENV, "asks"),
        (VAULT, "denies"),
        (VAULT, "open"),
        (AWKWARD, "asks"),
    ];
    for (value, profile) in pairs {
        let call = ["call", "--profile", profile];
        for args in [
            vec!["read_file".into(), format!("{value}=1")],
            vec!["read_file".into(), format!("path={value}")],
            vec!["read_file".into(), "path=plain.txt".into(), format!("limit={value}")],
            vec!["read_file".into(), format!("{{\"path\":\"{value}")],
            vec!["todo".into(), task(value)],
            vec!["system_info".into(), format!("sections={value}")],
            vec![
                "env_manager".into(),
                "action=set".into(),
                "name=PLAIN".into(),
                format!("value={value}"),
            ],
            vec!["env_manager".into(), "action=get".into(), format!("name={value}")],
            vec!["sleep".into(), format!("until={value}")],
        ] {
            lines.push([line(&call), args].concat());
        }
    }
    nothing_leaks(&context, &lines, "");
}

#[test]
fn what_cannot_be_read_from_the_command_line_keeps_secrets() {
    let context = planted();
    let mut lines = Vec::new();
    for value in [VARIABLE, DOTENV, VAULT] {
        lines.push(line(&["call", "read_file", &format!("path=@{value}")]));
        lines.push(line(&["call", "read_file", &format!("path:={value}")]));
    }
    nothing_leaks(&context, &lines, "");
}

#[test]
fn checks_and_explanations_keep_secrets() {
    let context = planted();
    let mut lines = Vec::new();
    for (value, verb) in [(VARIABLE, "check"), (VAULT, "check"), (DOTENV, "explain")] {
        let judge = ["permissions", verb];
        let path = format!("path={value}");
        let header = format!("curl -H 'Authorization: {value}' http://example.org");
        let address = format!("git push --force https://u:{value}@example.org");
        for args in [
            &[value][..],
            &["read_file", &path],
            &["read_file", &path, "--profile", "denies"],
            &["--command", &header],
            &["--command", &address],
            &["--effect", &format!("file:read={value}")],
            &["--effect", &format!("network:send={value}.example.org")],
        ] {
            lines.push(line(&[&judge[..], args].concat()));
        }
    }
    nothing_leaks(&context, &lines, "");
}

#[test]
fn the_environment_keeps_secrets() {
    let context = planted();
    let get = |name: &str| line(&["call", "env_manager", "action=get", &format!("name={name}")]);
    nothing_leaks(
        &context,
        &[
            line(&["call", "env_manager", "action=list"]),
            get("DEPLOY_TOKEN"),
            get("AWKWARD_SECRET"),
            get("SERVICE_PASSWORD"),
            get("DEPLOY"),
            line(&["call", "system_info"]),
            line(&["doctor"]),
            line(&["config", "get"]),
            line(&["config", "explain"]),
            line(&["tools", "list"]),
            line(&["secrets", "list"]),
            line(&["permissions", "show"]),
            line(&["permissions", "verify"]),
            line(&["call", "--profile", "open", "read_file", "path=../home/.env"]),
            line(&["call", "--profile", "open", "read_file", "path=../home/secrets.json"]),
        ],
        "",
    );
}

#[test]
fn a_watched_call_keeps_secrets() {
    let context = planted();
    context.settings("permissions:\n  mode: audit\n");
    nothing_leaks(
        &context,
        &[
            line(&["call", "read_file", "path=../home/.env"]),
            line(&["call", "read_file", "path=../home/secrets.json"]),
            line(&["call", "--profile", "denies", "read_file", &format!("path={VAULT}.txt")]),
            line(&["call", "--profile", "denies", "read_file", &format!("path={VAULT}.txt")]),
            line(&["permissions", "suggest", "--profile", "denies"]),
            line(&["audit", "tail"]),
        ],
        "",
    );
}

#[test]
fn a_result_that_is_put_aside_keeps_secrets() {
    let context = planted();
    context.settings("model:\n  context_length: 1000\n");
    std::fs::create_dir(context.work().join("many")).expect("a directory");
    for number in 0..300 {
        let value = [VARIABLE, DOTENV, VAULT][number % 3];
        context.file(&format!("many/{number:03}-{value}-{}", hex(value.as_bytes())), "");
    }
    let leak = std::fs::read_to_string(context.work().join("leak.txt")).expect("the file");
    context.file("long.txt", leak.repeat(20));
    let lines = [
        line(&["call", "directory_list", "path=many", "limit=300"]),
        line(&["call", "read_file", "path=long.txt"]),
    ];
    nothing_leaks(&context, &lines, "");
    assert!(!files(&context.home().join("cache/results")).is_empty(), "nothing was put aside");
}

#[test]
fn a_text_that_is_cut_does_not_end_within_a_secret() {
    let context = planted();
    // Lines are truncated at some length; a value spans every possible one.
    let mut text = String::new();
    for lead in (0..24).step_by(6) {
        let _ = writeln!(text, "{}{}", " ".repeat(lead), VARIABLE.repeat(400));
    }
    context.file("long.txt", &text);
    for args in [
        &["call", "read_file", "path=long.txt"][..],
        &["call", "read_file", "path=long.txt", "limit=1"],
    ] {
        let seen = run(&context, args, "").succeeds();
        for part in [&VARIABLE[..12], &VARIABLE[12..]] {
            assert!(!seen.stdout.contains(part), "{part}: {}", seen.stdout);
        }
    }
}

#[test]
fn a_secret_is_not_read_from_its_second_letter_on() {
    let context = planted();
    context.file("one.txt", VAULT);
    for column in [2, 5, 9] {
        let path = format!("column={column}");
        let seen = run(&context, &["call", "read_file", "path=one.txt", &path], "");
        assert!(!seen.stdout.contains(&VAULT[column - 1..]), "{}", seen.stdout);
    }
}

#[test]
fn a_session_keeps_secrets() {
    let context = planted();
    let mut lines = Vec::new();
    for value in ALL {
        lines.push(line(&["call", "--session", "s", "todo", &task(value)]));
    }
    lines.push(line(&[
        "call",
        "--session",
        "s",
        "--profile",
        "open",
        "todo",
        &task("secret://DEPLOY"),
    ]));
    lines.push(line(&["call", "--session", "s", "todo"]));
    nothing_leaks(&context, &lines, "");
}

#[test]
fn a_variable_of_a_session_keeps_secrets() {
    let context = planted();
    let set =
        ["call", "--session", "s", "--profile", "open", "env_manager", "action=set", "name=TARGET"];
    let lines = [
        [line(&set), vec!["value=secret://DEPLOY".to_owned()]].concat(),
        [line(&set), vec![format!("value={VARIABLE}")]].concat(),
        line(&["call", "--session", "s", "env_manager", "action=get", "name=TARGET"]),
        line(&["call", "--session", "s", "env_manager", "action=list"]),
    ];
    // Programs receive the variable, so it is in the session's own file, which
    // only the owner may read.
    let mut search = Search::default();
    search.all(&context, &lines, "");
    let state = context.home().join("session-state/s.json");
    let mode = std::fs::metadata(&state).expect("a session").permissions().mode();
    assert_eq!(mode & 0o077, 0);
    std::fs::remove_file(state).expect("a session");
    search.files(&context.home());
    search.nothing();
}

#[test]
fn questions_at_a_terminal_keep_secrets() {
    let context = planted();
    let mut search = Search::default();
    for (value, typed) in [(VARIABLE, "d\n"), (VAULT, "a\n"), (DOTENV, "s\n")] {
        let dir = context.work().join(format!("in-{value}"));
        std::fs::create_dir(&dir).expect("a directory");
        std::fs::write(dir.join("a.txt"), "one\n").expect("a file");
        let path = format!("path=in-{value}/a.txt");
        let args = ["call", "--profile", "asks", "--session", "s", "read_file", &path];
        let Some(mut command) = crate::approvals::terminal(&context, &args) else { return };
        command.env("DEPLOY_TOKEN", VARIABLE).env("AWKWARD_SECRET", AWKWARD);
        search.run(&args, &context.finish(command, typed.as_bytes()));
        let answer = std::fs::read(context.work().join("answer")).expect("an answer");
        search.look("the answer", &answer);
    }
    search.all(
        &context,
        &[line(&["permissions", "rules"]), line(&["permissions", "show", "asks"])],
        "",
    );
    search.files(&context.home());
    search.nothing();
}
