//! Commands in the shell of a session, through the whole engine.

use std::time::{Duration, Instant};

use hermes_core::ToolCall;
use serde_json::{Value, json};

use crate::desk::Desk;

impl Desk {
    /// Polls until the condition holds, for at most ten seconds.
    async fn until(&self, id: &Value, says: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let answer = self.call("process", json!({ "action": "log", "session_id": id })).await;
            if says(&answer) || begin.elapsed() > Duration::from_secs(10) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gives_output_in_order_and_its_code() {
    let desk = Desk::new();
    let answer = desk.run("echo one; echo two >&2; echo three; exit 3").await;
    assert_eq!(answer["output"], "one\ntwo\nthree\n");
    assert_eq!((&answer["exit_code"], &answer["error"]), (&json!(3), &Value::Null));
    let apart =
        desk.call("terminal", json!({ "command": "echo a; echo b >&2", "separate": true })).await;
    assert_eq!((&apart["stdout"], &apart["stderr"]), (&json!("a\n"), &json!("b\n")));
    let missing = desk.run("nonesuch-program").await;
    assert_eq!(missing["exit_code"], 127);
    assert!(missing["exit_code_meaning"].as_str().unwrap().contains("no such command"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_remembers_from_command_to_command() {
    let desk = Desk::new();
    desk.run("mkdir -p sub && cd sub && export WHO=me && greet() { echo \"hello $WHO\"; }; alias up='cd ..'; plain=5; set -o pipefail").await;
    assert_eq!(
        desk.output("greet; echo $plain; basename $PWD; set -o | grep pipefail").await,
        "hello me\n5\nsub\npipefail       \ton\n"
    );
    assert_eq!(desk.output("up\nbasename $PWD/sub").await, "sub\n");
    let answer = desk.call("terminal", json!({ "command": "pwd", "workdir": "sub" })).await;
    assert!(answer["output"].as_str().unwrap().trim_end().ends_with("/sub"), "{answer}");
    let here = desk.output("pwd").await;
    assert!(!here.trim_end().ends_with("/sub"), "for one call only: {here}");
    let answer = desk.call("terminal", json!({ "command": "", "reset": true })).await;
    assert_eq!(answer["exit_code"], 0);
    assert_eq!(desk.output("echo [$WHO$plain]").await, "[]\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn state_survives_a_command_that_is_ended() {
    let desk = Desk::new();
    desk.run("export KEPT=yes").await;
    let begin = Instant::now();
    let answer = desk
        .call("terminal", json!({ "command": "export LOST=1; echo begun; sleep 60", "timeout": 1 }))
        .await;
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!((&answer["status"], &answer["exit_code"]), (&json!("timeout"), &json!(124)));
    assert_eq!((&answer["output"], &answer["kind"]), (&json!("begun\n"), &json!("timeout")));
    let after = desk.output("echo $KEPT").await;
    assert_eq!(after, "yes\n");
    assert_eq!(desk.run("export LATE=1; exit 4").await["exit_code"], 4);
    assert_eq!(desk.output("echo $LATE").await, "1\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_goes_to_the_background_says_that_nothing_of_it_is_kept() {
    let desk = Desk::new();
    let before = desk.run("mkdir sub; pwd").await["cwd"].clone();
    let command = "cd sub; export XB=1; sleep 60";
    let answer = desk.call("terminal", json!({ "command": command, "background_after": 1 })).await;
    assert_eq!((&answer["status"], &answer["cwd"]), (&json!("running"), &before), "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("as it was before"), "{answer}");
    assert_eq!(desk.output("echo [$XB]").await, "[]\n");
    let asking = json!({ "command": "cd sub; read -p '? ' q", "pty": true });
    let answer = desk.call("terminal", asking).await;
    assert_eq!((&answer["status"], &answer["cwd"]), (&json!("awaiting_input"), &before));
    assert!(answer["note"].as_str().unwrap().contains("as it was before"), "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_in_the_background_may_take_away_the_folder() {
    let desk = Desk::new();
    let above = desk.run("pwd").await["cwd"].clone();
    desk.run("mkdir gg; cd gg").await;
    let gone = json!({ "command": "rm -r ../gg", "background": true });
    let answer = desk.call("terminal", gone).await;
    assert_eq!((&answer["cwd"], &answer["exit_code"]), (&above, &json!(0)), "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("no longer exists"), "{answer}");
    assert_eq!(desk.run("true").await["exit_code"], 0);
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_output_without_text_is_counted() {
    let desk = Desk::new();
    let answer = desk.run("head -c 30000000 /dev/zero").await;
    assert!(answer["note"].as_str().unwrap().contains("30000000 bytes"), "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grandchild_that_keeps_the_pipe_does_not_hold_up_the_call() {
    let desk = Desk::new();
    let begin = Instant::now();
    let answer = desk.run("sleep 30 & echo started").await;
    assert!(begin.elapsed() < Duration::from_secs(10));
    assert_eq!((&answer["output"], &answer["exit_code"]), (&json!("started\n"), &json!(0)));
    let id = &answer["session_id"];
    let killed = desk.call("process", json!({ "action": "kill", "session_id": id })).await;
    assert_eq!(killed["status"], "killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn stdin_is_empty_unless_it_is_given() {
    let desk = Desk::new();
    assert_eq!(desk.run("cat; echo [$?]").await["output"], "[0]\n");
    let answer =
        desk.call("terminal", json!({ "command": "tr a-z A-Z", "stdin": "quiet\n" })).await;
    assert_eq!(answer["output"], "QUIET\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_command_is_polled_answered_and_ended() {
    let desk = Desk::new();
    let command = "echo ready; while read line; do echo \"got $line\"; done; echo over";
    let arguments = json!({ "command": command, "background": true, "open_stdin": true });
    let started = desk.call("terminal", arguments).await;
    assert_eq!(started["status"], "running", "{started}");
    let id = started["session_id"].clone();
    desk.until(&id, |answer| answer["output"] == "ready").await;
    desk.call("process", json!({ "action": "poll", "session_id": id })).await;
    desk.call("process", json!({ "action": "submit", "session_id": id, "data": "one" })).await;
    let answer = desk.until(&id, |answer| answer["output"] == "ready\ngot one").await;
    assert_eq!(answer["total_lines"], 2, "{answer}");
    let nothing = desk.call("process", json!({ "action": "poll", "session_id": id })).await;
    assert_eq!(nothing["output"], "", "everything was reported already: {nothing}");
    let listed = desk.call("process", json!({ "action": "list" })).await;
    assert_eq!(listed["processes"][0]["session_id"], id);
    let closed = desk.call("process", json!({ "action": "close", "session_id": id })).await;
    let ended = desk.call("process", json!({ "action": "wait", "session_id": id })).await;
    assert_eq!((&ended["status"], &ended["exit_code"]), (&json!("exited"), &json!(0)));
    // All output is reported once, by the first call.
    assert!(format!("{closed}{ended}").contains("over"), "{closed} {ended}");
    let gone = desk.call("process", json!({ "action": "poll", "session_id": "proc_none" })).await;
    assert_eq!(gone["kind"], "not_found");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_command_goes_on_in_the_background() {
    let desk = Desk::new();
    let arguments = json!({ "command": "echo a; sleep 2; echo b", "background_after": 1 });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!((&answer["status"], &answer["output"]), (&json!("running"), &json!("a\n")));
    let id = answer["session_id"].clone();
    let ended = desk.call("process", json!({ "action": "wait", "session_id": id })).await;
    assert_eq!(ended["exit_code"], 0);
    let log = desk.call("process", json!({ "action": "log", "session_id": id })).await;
    assert_eq!(log["output"], "a\nb");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_asks_is_answered_on_its_terminal() {
    let desk = Desk::new();
    let command = "read -p 'name? ' name; echo \"hello $name\"; stty size; sleep 0.2";
    let asked = desk.call("terminal", json!({ "command": command, "pty": true })).await;
    assert_eq!(asked["status"], "awaiting_input", "{asked}");
    assert_eq!(asked["screen"], "name?");
    let id = asked["session_id"].clone();
    desk.call("process", json!({ "action": "submit", "session_id": id, "data": "Ada" })).await;
    let ended = desk.call("process", json!({ "action": "wait", "session_id": id })).await;
    let screen = ended["screen"].as_str().unwrap();
    assert!(screen.contains("hello Ada") && screen.contains("30 120"), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn much_output_is_cut_and_all_of_it_is_in_a_file() {
    let desk = Desk::new();
    let answer = desk.run("seq 1 200000").await;
    let text = answer["output"].as_str().unwrap();
    assert!(text.len() < 60_000 && text.starts_with("1\n2\n") && text.ends_with("200000\n"));
    let file = answer["output_file"].as_str().expect("a file");
    let all = std::fs::read_to_string(file).unwrap();
    assert_eq!(all.lines().count(), 200_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_cut_is_in_a_file_however_long_it_is() {
    let desk = Desk::new();
    let answer = desk.run("seq 1 20000").await;
    assert!(answer["output"].as_str().unwrap().contains("left out"), "{answer}");
    let all = std::fs::read_to_string(answer["output_file"].as_str().expect("a file")).unwrap();
    assert_eq!(all.lines().count(), 20_000);
    assert_eq!(desk.run("seq 1 20").await["output_file"], json!(null));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_running_ends_with_the_engine() {
    let desk = Desk::new();
    let mark = desk.path().join("alive");
    let command = format!("while true; do date > {}; sleep 0.05; done", mark.display());
    let arguments = json!({ "command": command, "background": true, "open_stdin": true });
    let started = desk.call("terminal", arguments).await;
    assert_eq!(started["status"], "running");
    desk.engine.shutdown().await;
    std::fs::remove_file(&mark).ok();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!mark.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_one_session_run_at_once() {
    let desk = Desk::new();
    let call = |id: &str, name: &str| {
        let command = format!("export {name}=1; sleep 0.3; echo {name}");
        ToolCall::new(id, "terminal", json!({ "command": command }))
    };
    let calls = vec![call("1", "AA"), call("2", "BB"), call("3", "CC")];
    let results = desk.engine.dispatch(calls, &desk.caller).await;
    assert!(results.iter().all(|result| result.is_success()));
    assert_eq!(desk.output("echo $AA$BB$CC").await, "111\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_whose_name_is_no_text_is_kept() {
    let desk = Desk::new();
    let made = desk.run("mkdir $'bad\\xff' && cd $'bad\\xff' && touch inside").await;
    if made["exit_code"] != 0 {
        // Not every file system allows such a name.
        return;
    }
    assert_eq!(desk.output("ls; a=1").await, "inside\n");
    assert_eq!(desk.output("ls").await, "inside\n");
    assert_eq!(desk.output("cd ..; [ -e inside ] || echo up").await, "up\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_gone_does_not_end_the_session() {
    let desk = Desk::new();
    let top = desk.path().canonicalize().unwrap();
    let answer = desk.run("mkdir -p a/b && cd a/b && rm -r ../../a").await;
    assert_eq!(answer["cwd"], json!(top), "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("no longer exists"), "{answer}");
    assert_eq!(desk.output("pwd").await, format!("{}\n", top.display()));
    desk.run("mkdir c && cd c").await;
    let answer = desk.run("rmdir ../c").await;
    assert_eq!(answer["cwd"], json!(top), "{answer}");
    assert_eq!(desk.output("pwd").await, format!("{}\n", top.display()));
    // Removed from outside: the command is not run elsewhere.
    desk.run("mkdir d && cd d").await;
    std::fs::remove_dir(top.join("d")).unwrap();
    let answer = desk.run("touch stray").await;
    assert!(answer["error"].to_string().contains("no longer exists"), "{answer}");
    assert!(!top.join("stray").exists());
    assert_eq!(desk.output("pwd").await, format!("{}\n", top.display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_for_one_command_is_not_where_the_next_one_is() {
    let desk = Desk::new();
    let top = desk.path().canonicalize().unwrap();
    let answer = desk.call("terminal", json!({ "command": "pwd", "workdir": "/etc" })).await;
    assert_eq!((&answer["output"], &answer["cwd"]), (&json!("/etc\n"), &json!(top)), "{answer}");
    desk.run("mkdir sub && cd sub").await;
    let answer = desk.call("terminal", json!({ "command": "pwd", "workdir": "/etc" })).await;
    assert_eq!(answer["cwd"], json!(top.join("sub")), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_says_where_the_session_is_then() {
    let desk = Desk::new();
    desk.run("mkdir sub && cd sub").await;
    let answer = desk.call("terminal", json!({ "command": "", "reset": true })).await;
    assert_eq!(answer["cwd"], json!(desk.path()), "{answer}");
    assert_eq!(desk.run("true").await["cwd"], answer["cwd"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_with_a_reset_says_where_the_next_one_will_be() {
    let desk = Desk::new();
    for command in ["true", "pwd", "export A=1", "cd /usr", "sleep 60 & wait; exit 3"] {
        desk.run("mkdir -p sub && cd sub").await;
        for workdir in [None, Some("/etc")] {
            let arguments = json!({
                "command": command, "reset": true, "workdir": workdir, "timeout": 1,
            });
            let answer = desk.call("terminal", arguments).await;
            assert_eq!(desk.output("pwd -P").await.trim_end(), answer["cwd"], "{answer}");
        }
        desk.call("terminal", json!({ "command": "", "reset": true })).await;
    }
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_said_what_was_too_much_and_who_ended_it() {
    let desk = Desk::new();
    let answer = desk.run("printf -v big '%02000000d' 7; small=1").await;
    assert!(answer["note"].as_str().unwrap().contains("variable big"), "{answer}");
    assert_eq!(desk.output("echo ${big-none} $small").await, "none 1\n");
    let answer = desk.call("terminal", json!({ "command": "sleep 60", "timeout": 1 })).await;
    assert_eq!(answer["exit_code_meaning"], "ended by hermes", "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bash_shows_at_an_exit_is_the_users_own() {
    let desk = Desk::new();
    let arguments = json!({ "command": "set -v; echo a; exit 3", "separate": true });
    let answer = desk.call("terminal", arguments).await;
    assert_eq!((&answer["stdout"], &answer["stderr"]), (&json!("a\n"), &json!("")), "{answer}");
    assert_eq!(answer["exit_code"], 3);
    // It is still set.
    let answer = desk.run("trap 'echo bye' EXIT; false; exit 4").await;
    assert!(!answer["output"].as_str().unwrap().contains("__hermes"), "{answer}");
    let answer = desk.run("set +v; set -x; f() { exit 5; }; f").await;
    assert_eq!(answer["exit_code"], 5, "{answer}");
    assert!(!answer["output"].as_str().unwrap().contains("__hermes"), "{answer}");
    assert_eq!(desk.output("echo $-").await.lines().count(), 2, "one of them is the trace");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_a_path_runs_or_says_why() {
    let desk = Desk::new();
    // Unset: bash has its own default path.
    desk.run("unset PATH").await;
    let found = desk.run("ls / >/dev/null; echo $?").await;
    assert_eq!((&found["output"], &found["exit_code"]), (&json!("0\n"), &json!(0)), "{found}");
    let said_so = found["note"].as_str().is_some_and(|note| note.contains("PATH"));
    assert!(!said_so, "{found}");
    // Empty: nothing is found, and the result says what to do.
    let lost = desk.run("export PATH=; ls").await;
    assert_eq!(lost["exit_code"], 127, "{lost}");
    let lost = desk.run("ls").await;
    assert_eq!(lost["exit_code"], 127, "{lost}");
    assert!(lost["note"].as_str().unwrap().contains("PATH is empty"), "{lost}");
    assert_eq!(desk.output("echo builtin; /bin/echo whole").await, "builtin\nwhole\n");
    let shell = desk.start("read line; echo got $line").await;
    let said = json!({ "action": "submit", "session_id": shell, "data": "it" });
    assert_eq!(desk.call("process", said).await["output"], "got it\n");
    let unset = desk.run("unset PATH; ls / >/dev/null").await;
    assert_eq!(unset["exit_code"], 127, "{unset}");
    assert!(unset["note"].as_str().unwrap().contains("has unset PATH"), "{unset}");
    assert_eq!(desk.run("ls / >/dev/null").await["exit_code"], 0);
    desk.run("export PATH=").await;
    let again = json!({ "command": "ls / >/dev/null", "reset": true });
    assert_eq!(desk.call("terminal", again).await["exit_code"], 0);
    // If it is set again, it is not exported, and still empty.
    desk.run("unset PATH").await;
    desk.run("PATH=").await;
    let lost = desk.run("ls").await;
    assert!(lost["note"].as_str().unwrap().contains("PATH is empty"), "{lost}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_background_command_has_no_input_unless_that_is_asked_for() {
    let desk = Desk::new();
    let arguments = json!({ "command": "cat; echo over", "background": true });
    let id = desk.call("terminal", arguments).await["session_id"].clone();
    let ended = desk.process("wait", &id).await;
    assert_eq!((&ended["status"], &ended["exit_code"]), (&json!("exited"), &json!(0)), "{ended}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_output_leaves_the_other_fields_alone() {
    let desk = Desk::new();
    let lines = "seq 100000 | tr -d 0-9; exit 3";
    for (command, separate) in [("seq -w 1 20000; exit 3", true), (lines, false), (lines, true)] {
        let arguments = json!({ "command": command, "separate": separate });
        let answer = desk.call("terminal", arguments).await;
        assert_eq!(answer["exit_code"], 3, "{command}");
        assert!(answer["cwd"].is_string() && answer["head"].is_null(), "{command}");
        assert_eq!(answer["stdout"].is_string(), separate, "{command}");
        assert!(answer["output"].as_str().unwrap().len() > 10_000, "{command}");
        assert!(answer.to_string().chars().count() < 100_000, "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_text_are_told_of() {
    let desk = Desk::new();
    let answer = desk.run("head -c 1000 /dev/zero").await;
    assert_eq!(answer["output"], "", "{answer}");
    assert!(answer["note"].as_str().unwrap().contains("1000 bytes"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_workdir_is_what_is_missing() {
    let desk = Desk::new();
    let answer = desk.call("terminal", json!({ "command": "true", "workdir": "/none/such" })).await;
    assert!(answer["error"].as_str().unwrap().contains("/none/such: no such directory"));
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_are_told_as_programs_have_them() {
    let desk = Desk::new();
    let env = async |action: &str, name: &str, value: &str| {
        let arguments = match value {
            "" => json!({ "action": action, "name": name }),
            value => json!({ "action": action, "name": name, "value": value }),
        };
        desk.call("env_manager", arguments).await
    };
    env("set", "M", "one").await;
    desk.run("export M=two N=3; own=4").await;
    assert_eq!(env("get", "M", "").await["value"], "two");
    let found = env("get", "N", "").await;
    assert_eq!((&found["value"], &found["source"]), (&json!("3"), &json!("session")));
    assert_eq!(env("get", "own", "").await["kind"], "not_found");
    assert_eq!(env("get", "PAGER", "").await["value"], "cat");
    let diff = desk.call("env_manager", json!({ "action": "diff" })).await;
    assert_eq!(diff["set"], json!({ "M": "two", "N": "3" }), "{diff}");
    // The last value counts, even if it equals an earlier one.
    env("set", "M", "one").await;
    assert_eq!(desk.output("echo $M").await, "one\n");
    assert_eq!(env("unset", "N", "").await["was_set"], true);
    assert_eq!(desk.output("echo [$N]").await, "[]\n");
    desk.run("unset M; cd /usr").await;
    assert_eq!(env("get", "M", "").await["kind"], "not_found");
    assert_eq!(env("get", "PWD", "").await["value"], "/usr");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_scrolled_off_a_terminal_is_in_the_output() {
    let desk = Desk::new();
    let answer = desk.call("terminal", json!({ "command": "seq 1000", "pty": true })).await;
    assert!(answer["screen"].as_str().unwrap().ends_with("1000"), "{answer}");
    let lines: Vec<&str> = answer["output"].as_str().unwrap().lines().collect();
    assert_eq!((lines.len(), lines.first(), lines.get(499)), (1000, Some(&"1"), Some(&"500")));
    let brief = desk.call("terminal", json!({ "command": "seq 5", "pty": true })).await;
    assert_eq!((&brief["output"], &brief["screen"]), (&json!(""), &json!("1\n2\n3\n4\n5")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_character_that_is_cut_by_an_answer_is_whole_in_the_next() {
    let desk = Desk::new();
    let command = "printf 'a\\xe6\\x97'; read x; printf '\\xa5b\\033[3'; read x; printf '1mred\\n'";
    let asked = desk.call("terminal", json!({ "command": command, "open_stdin": true })).await;
    let id = asked["session_id"].clone();
    assert_eq!((&asked["status"], &asked["output"]), (&json!("awaiting_input"), &json!("a")));
    let log = desk.call("process", json!({ "action": "log", "session_id": id })).await;
    assert_eq!(log["output"], "a", "{log}");
    for shown in ["\u{65e5}b", "red\n"] {
        let data = json!({ "action": "submit", "session_id": id, "data": "", "timeout": 30 });
        let mut answer = desk.call("process", data).await;
        while answer["output"] == "" {
            answer = desk.call("process", json!({ "action": "poll", "session_id": id })).await;
        }
        assert_eq!(answer["output"], shown, "{answer}");
    }
    // An incomplete escape sequence is not shown either.
    let command = "printf '\\033[3'; read x; printf '1mred\\033[0m end\\n'";
    let asked = desk.call("terminal", json!({ "command": command, "open_stdin": true })).await;
    assert_eq!(asked["output"], "", "{asked}");
    assert!(!asked["note"].as_str().unwrap().contains("no text"), "{asked}");
    let id = asked["session_id"].clone();
    let data = json!({ "action": "submit", "session_id": id, "data": "", "timeout": 30 });
    let mut answer = desk.call("process", data).await;
    while answer["output"] == "" {
        answer = desk.call("process", json!({ "action": "poll", "session_id": id })).await;
    }
    assert_eq!(answer["output"], "red end\n", "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn input_that_is_given_leaves_it_open_if_that_is_asked() {
    let desk = Desk::new();
    let command = "read a; read b; echo \"[$a][$b]\"";
    let arguments = json!({ "command": command, "stdin": "first\n", "open_stdin": true });
    let asked = desk.call("terminal", arguments).await;
    assert_eq!(asked["status"], "awaiting_input", "{asked}");
    let id = asked["session_id"].clone();
    let data = json!({ "action": "submit", "session_id": id, "data": "second", "timeout": 30 });
    let mut answer = desk.call("process", data).await;
    while answer["output"] == "" {
        answer = desk.call("process", json!({ "action": "poll", "session_id": id })).await;
    }
    assert_eq!(answer["output"], "[first][second]\n", "{answer}");
    desk.engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_counts_for_nothing_is_told() {
    let desk = Desk::new();
    for given in [json!({ "notify_on_complete": true }), json!({ "watch_patterns": ["x"] })] {
        let mut arguments = given.clone();
        arguments["command"] = json!("true");
        let answer = desk.call("terminal", arguments).await;
        assert!(answer["note"].as_str().unwrap().contains("in the background only"), "{answer}");
    }
    for given in [json!({ "stdin": "x" }), json!({ "open_stdin": true })] {
        let mut arguments = given.clone();
        arguments["command"] = json!("cat >ran");
        arguments["detach"] = json!(true);
        let answer = desk.call("terminal", arguments).await;
        assert_eq!(answer["kind"], "invalid_arguments", "{answer}");
    }
    assert!(!desk.path().join("ran").exists());
    desk.engine.shutdown().await;
}
