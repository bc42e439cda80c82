//! The chat in a real terminal (tmux) and in a pipe, with a scripted model
//! server.

use std::process::Command;
use std::time::{Duration, Instant};

use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};
use serde_json::json;

use crate::context::TestContext;

/// A terminal that a test types into.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    /// Starts the chat in a terminal; `None` without tmux.
    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    pub(crate) fn start(context: &TestContext, arguments: &str) -> Option<Self> {
        if !Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success()) {
            println!("skipped: tmux is not installed");
            return None;
        }
        let name = context.work().parent().and_then(|p| p.file_name()).map(|n| n.to_owned());
        let socket = format!("hermes-{}", name.expect("a name").to_string_lossy());
        let tmux = Self { socket };
        let hermes = assert_cmd::cargo::cargo_bin!("hermes").display().to_string();
        let line = format!("{hermes} {arguments}; echo ended with $?; exec cat");
        let mut command = tmux.command();
        command.args(["new-session", "-d", "-x", "90", "-y", "40"]).arg(&line);
        context.settle(&mut command);
        command.env("SHELL", "/bin/sh").env("TERM", "xterm-256color").env_remove("TMUX");
        let started = command.output().expect("tmux runs");
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket, "-f", "/dev/null"]);
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = self.command().args(arguments).output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", "0"], keys].concat());
    }

    pub(crate) fn line(&self, text: &str) {
        self.run(&["send-keys", "-t", "0", "-l", text]);
        self.keys(&["Enter"]);
    }

    /// Content of the screen and of its scrollback.
    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p", "-t", "0", "-S", "-200"])
    }

    /// Waits until this text is on the screen.
    pub(crate) fn sees(&self, text: &str) {
        let until = Instant::now() + Duration::from_secs(40);
        while !self.screen().contains(text) {
            assert!(Instant::now() < until, "{text:?} is not seen:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

pub(crate) fn with_model(server: &ModelServer) -> TestContext {
    let context = TestContext::new();
    let url = server.url();
    context.settings(format!(
        "model:\n  default: scripted\n  base_url: {url}\n  context_length: 32000\n"
    ));
    context
}

fn last(text: &str, scene: ScriptedReply) -> ScriptedReply {
    ScriptedReply { last: text.to_owned(), ..scene }
}

#[test]
fn a_conversation_in_a_terminal() {
    let server = ModelServer::start(vec![
        last(
            "greet me",
            ScriptedReply::from_steps([
                ReplyStep::Text("# Good day\n\nI have **two** hands".into()),
                ReplyStep::Wait(150),
                ReplyStep::Text(", and `tools`.\n\n- one\n- two\n".into()),
            ]),
        ),
        last("publish it", ScriptedReply::calls("terminal", r#"{"command":"git push --force"}"#)),
        last("refused", ScriptedReply::says("Then I leave it alone.")),
        last(
            "take your time",
            ScriptedReply::calls("terminal", r#"{"command":"sleep 30; echo over"}"#),
        ),
        last("quicker", ScriptedReply::says("I have heard you and stopped.")),
    ]);
    let context = with_model(&server);
    let Some(tmux) = Tmux::start(&context, "") else { return };
    tmux.sees("/help lists the commands");
    tmux.line("greet me");
    tmux.sees("• two");
    let seen = tmux.screen();
    assert!(seen.contains("Good day") && !seen.contains("# Good day"), "{seen}");
    assert!(seen.contains("I have two hands, and tools."), "{seen}");

    tmux.line("publish it");
    tmux.sees("May terminal run?");
    tmux.sees("git push --force");
    // Input typed just when a question appears is not its answer.
    std::thread::sleep(Duration::from_millis(800));
    // A word does not count as its first letter, even if that is a key.
    tmux.line("oh no, stop");
    tmux.sees("“oh no, stop” is not a valid answer");
    tmux.line("no");
    tmux.sees("May terminal run? → deny");
    tmux.sees("Then I leave it alone.");

    tmux.line("take your time");
    tmux.sees("sleep 30");
    tmux.run(&["resize-window", "-t", "0", "-x", "60", "-y", "30"]);
    tmux.line("do it quicker");
    tmux.sees("The model receives this");
    tmux.keys(&["C-c"]);
    tmux.sees("I have heard you and stopped.");

    tmux.line("/cost");
    tmux.sees("of them cached");
    tmux.keys(&["C-d"]);
    tmux.sees("ended with 0");
    assert!(tmux.screen().contains("--resume"), "it says how to resume");
    drop(tmux);
    let listed = context.run(["sessions", "list", "--json"]).succeeds().json();
    let id = listed["sessions"][0]["id"].as_str().expect("a session").to_owned();

    let shown = context.run(["sessions", "show", &id, "--json"]).succeeds().json();
    let results = shown["messages"].as_array().expect("messages").iter();
    let results: Vec<_> = results.filter(|message| message["role"] == "tool").collect();
    let how: Vec<_> = results.iter().map(|result| result["status"].as_str()).collect();
    assert_eq!(how, [Some("error"), Some("cancelled")], "a refused call, and a stopped one");
    let people = context.run(["sessions", "show", &id]).succeeds().stdout;
    assert!(people.contains("tool terminal (cancelled)"), "{people}");
    let audit = context.run(["audit", "query", "--status", "cancelled", "--json"]).succeeds();
    assert!(audit.stdout.contains("terminal"), "{}", audit.stdout);

    server.add(last("and now", ScriptedReply::says("Now we go on.")));
    let tmux = Tmux::start(&context, &format!("chat --resume {id}")).expect("tmux");
    tmux.sees("I have heard you and stopped.");
    tmux.line("and now");
    tmux.sees("Now we go on.");
    let asked = server.model_requests().pop().expect("it was asked");
    assert!(asked.to_string().contains("greet me"), "the conversation continues");
}

#[test]
fn what_was_stopped_does_not_begin_again_by_itself() {
    let goal = r#"{"goal":"Think for long","background":true}"#;
    let server = ModelServer::start(vec![
        last("what now", ScriptedReply::says("Nothing more.")),
        last("hand it on", ScriptedReply::calls("delegate_task", goal)),
        last("dispatched", ScriptedReply::says("It is handed on.")),
        last("Think for long", ScriptedReply::from_steps([ReplyStep::Wait(60_000)])),
    ]);
    let context = with_model(&server);
    let Some(tmux) = Tmux::start(&context, "") else { return };
    tmux.sees("/help lists the commands");
    tmux.line("hand it on");
    tmux.sees("It is handed on.");
    tmux.line("/stop");
    tmux.sees("running in the background (deleg_1: Think for long)");
    tmux.line("what now");
    // The model receives the notice with the next user message.
    tmux.sees("deleg_1 has ended (interrupted, exit code 130)");
    tmux.sees("Nothing more.");
    let asked: Vec<String> = server.model_requests().iter().map(ToString::to_string).collect();
    let shown: Vec<&String> = asked.iter().filter(|body| body.contains("[Meanwhile")).collect();
    assert!(shown.len() == 1 && shown[0].contains("what now"), "{shown:?}");
}

#[test]
fn a_turn_is_taken_back_with_what_it_wrote() {
    let server = ModelServer::start(vec![
        last(
            "write",
            ScriptedReply::calls("write_file", r#"{"path":"note.txt","content":"new\n"}"#),
        ),
        last("note.txt", ScriptedReply::says("It is written.")),
        last("what now", ScriptedReply::says("Nothing.")),
    ]);
    let context = with_model(&server);
    context.file("note.txt", "old\n");
    let input = "write it\n/undo\nwhat now\n";
    let run = context.feed(["chat"], input).succeeds();
    assert!(run.stdout.contains("It is written."), "{}", run.stdout);
    let note = std::fs::read_to_string(context.work().join("note.txt")).expect("the file");
    assert_eq!(note, "old\n", "{}\n{}", run.stdout, run.stderr);
    let asked = server.model_requests().pop().expect("it was asked");
    assert!(!asked.to_string().contains("write it"), "{asked}");
}

#[test]
fn a_turn_from_before_a_resume_is_taken_back_with_what_it_wrote() {
    let server = ModelServer::start(vec![
        last(
            "write",
            ScriptedReply::calls("write_file", r#"{"path":"note.txt","content":"new\n"}"#),
        ),
        last("note.txt", ScriptedReply::says("It is written.")),
        last("hello", ScriptedReply::says("Good day.")),
    ]);
    let context = with_model(&server);
    context.file("note.txt", "old\n");
    let note = || std::fs::read_to_string(context.work().join("note.txt")).expect("the file");
    context.feed(["chat"], "write it\n").succeeds();
    assert_eq!(note(), "new\n");
    // The turn after the resume changed no file; the one before it did.
    let run = context.feed(["chat", "--resume", "last"], "hello\n/undo\n").succeeds();
    assert_eq!(note(), "new\n", "{}", run.stderr);
    let run = context.feed(["chat", "--resume", "last"], "/undo\n").succeeds();
    assert_eq!(note(), "old\n", "{}\n{}", run.stdout, run.stderr);
}

#[test]
fn what_a_turn_has_read_is_shown_again_after_it_is_taken_back() {
    let server = ModelServer::start(vec![
        last("read it", ScriptedReply::calls("read_file", r#"{"path":"note.txt"}"#)),
        last("hello there", ScriptedReply::says("I have it.")),
        last("and again", ScriptedReply::calls("read_file", r#"{"path":"note.txt"}"#)),
        last("hello there", ScriptedReply::says("I have it again.")),
    ]);
    let context = with_model(&server);
    context.file("note.txt", "hello there\n");
    let run = context.feed(["chat"], "read it\n/undo\nand again\n").succeeds();
    assert!(run.stdout.contains("I have it again."), "{}\n{}", run.stdout, run.stderr);
}

#[test]
fn in_a_pipe_only_answers_are_printed() {
    let server = ModelServer::start(vec![ScriptedReply::says("One."), ScriptedReply::says("Two.")]);
    let context = with_model(&server);
    let run = context.feed::<&str>([], "first\nsecond\n").succeeds();
    assert!(run.stdout.contains("One.") && run.stdout.contains("Two."), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
    assert_eq!(server.model_requests().len(), 2);
}

#[test]
fn in_a_pipe_earlier_answers_are_not_printed_again() {
    let server = ModelServer::start(vec![ScriptedReply::says("One."), ScriptedReply::says("Two.")]);
    let context = with_model(&server);
    context.feed::<&str>([], "first\n").succeeds();
    let run = context.feed(["chat", "--resume", "last"], "second\n").succeeds();
    assert!(run.stdout.contains("Two.") && !run.stdout.contains("One."), "{}", run.stdout);
}

#[test]
fn in_a_pipe_the_exit_code_says_how_it_went() {
    let wrong = json!({"error": {"message": "Incorrect API key"}});
    let server =
        ModelServer::start(vec![ScriptedReply::says("One."), ScriptedReply::fails(401, wrong)]);
    let context = with_model(&server);
    let run = context.feed::<&str>([], "first\nsecond\n").exits(4);
    assert!(run.stdout.contains("One.") && run.stderr.contains("key"), "{}", run.stderr);
}

#[test]
fn in_a_pipe_what_went_wrong_once_is_not_made_good_by_what_comes_after() {
    let wrong = json!({"error": {"message": "Incorrect API key"}});
    let scenes = || vec![ScriptedReply::fails(401, wrong.clone()), ScriptedReply::says("Two.")];
    let server = ModelServer::start(scenes());
    let run = with_model(&server).feed::<&str>([], "first\nsecond\n").exits(4);
    assert!(run.stdout.contains("Two."), "{}", run.stdout);
    let server = ModelServer::start(scenes());
    with_model(&server).feed::<&str>([], "first\n/new\nsecond\n").exits(4);
    let server = ModelServer::start(vec![ScriptedReply::says("One.")]);
    let run = with_model(&server).feed::<&str>([], "/model nosuch:foo\nfirst\n");
    assert!(run.code != 0 && run.stdout.contains("One."), "{}", run.stderr);
}

#[test]
fn what_earlier_sittings_cost_is_counted() {
    let paid = |text: &str, cost: f64| {
        let usage = ReplyStep::Usage { input: 1_000, output: 10, cached: 0, cost: Some(cost) };
        ScriptedReply::from_steps([ReplyStep::Text(text.into()), usage])
    };
    let part = r#"{"goal":"Do a part"}"#;
    let hand_on = ScriptedReply::from_steps([
        ReplyStep::call("delegate_task", part),
        ReplyStep::Usage { input: 1_000, output: 10, cached: 0, cost: Some(0.25) },
    ]);
    let server = ModelServer::start(vec![
        last("hand it on", hand_on),
        last("Do a part", paid("A part.", 0.125)),
        last("A part.", paid("All done.", 0.25)),
        last("and now", paid("More.", 0.5)),
    ]);
    let context = with_model(&server);
    context.feed(["chat"], "hand it on\n").succeeds();
    let shown = context.run(["sessions", "show", "last"]).succeeds().stdout;
    assert!(shown.contains("$0.6250"), "with its sub-agents: {shown}");
    let run = context.feed(["chat", "--resume", "last"], "/cost\nand now\n/cost\n").succeeds();
    let reported = format!("{}{}", run.stdout, run.stderr);
    assert!(
        reported.contains("$0.6250 (") && reported.contains("before this session was resumed"),
        "{reported}"
    );
    assert!(reported.contains("$1.1250"), "{reported}");
    let shown = context.run(["sessions", "show", "last", "--json"]).succeeds().json();
    assert_eq!(shown["session"]["usage"]["cost"], 1.0);
    assert_eq!(shown["session"]["total_usage"]["cost"], 1.125);
}

#[test]
fn a_picture_pasted_while_a_turn_runs_reaches_the_model() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("terminal", r#"{"command":"until [ -e go ]; do sleep 0.02; done"}"#),
        ScriptedReply::says("I see it."),
    ]);
    let context = with_model(&server);
    let picture = context.file("cat.png", [0x89, b'P', b'N', b'G', 13, 10, 26, 10]);
    let Some(tmux) = Tmux::start(&context, "") else { return };
    tmux.sees("/help lists the commands");
    tmux.line("wait for it");
    tmux.sees("until");
    tmux.run(&["send-keys", "-t", "0", "-l", "like this: "]);
    tmux.run(&["set-buffer", picture.to_str().expect("a name")]);
    tmux.run(&["paste-buffer", "-p", "-t", "0"]);
    tmux.sees("[picture cat.png]");
    tmux.keys(&["Enter"]);
    tmux.sees("The model receives this");
    context.file("go", "");
    tmux.sees("I see it.");
    let asked = server.model_requests().pop().expect("it was asked");
    let heard = asked["messages"].as_array().and_then(|all| all.last()).expect("a message");
    assert!(heard.to_string().contains("data:image/png;base64,iVBORw0KGgo="), "{heard}");
}

#[test]
fn a_chat_in_which_nothing_was_said_is_not_kept() {
    let server = ModelServer::start(Vec::<ScriptedReply>::new());
    let context = with_model(&server);
    context.feed(["chat"], "/help\n/tools\n/nonsense\n").exits(2);
    let listed = context.run(["sessions", "list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_question_stays_readable_until_it_is_answered() {
    let server = ModelServer::start(vec![
        last("publish it", ScriptedReply::calls("terminal", r#"{"command":"git push --force"}"#)),
        ScriptedReply::says("Then I leave it alone."),
    ]);
    let context = with_model(&server);
    let Some(tmux) = Tmux::start(&context, "run publish it") else { return };
    tmux.sees("[d]eny?");
    // Longer than it takes for a running call to be shown.
    let until = Instant::now() + Duration::from_millis(1_300);
    while Instant::now() < until {
        assert!(tmux.screen().contains("[d]eny?"), "{}", tmux.screen());
        std::thread::sleep(Duration::from_millis(20));
    }
    tmux.line("d");
    tmux.sees("ended with 0");
    let seen = tmux.screen();
    assert!(seen.contains("✗") && !seen.contains("[31m"), "{seen}");
}

#[test]
fn an_order_given_during_a_turn_is_not_told_to_the_model() {
    let server = ModelServer::start(vec![
        ScriptedReply::calls("terminal", r#"{"command":"until [ -e go ]; do sleep 0.02; done"}"#),
        ScriptedReply::says("All done."),
    ]);
    let context = with_model(&server);
    let Some(tmux) = Tmux::start(&context, "") else { return };
    tmux.sees("/help lists the commands");
    tmux.line("wait for it");
    tmux.sees("until");
    tmux.line("/cost");
    tmux.sees("/cost runs after this turn");
    context.file("go", "");
    tmux.sees("All done.");
    tmux.sees("of them cached");
    assert!(server.model_requests().iter().all(|asked| !asked.to_string().contains("/cost")));
}

#[test]
fn several_turns_are_taken_back_at_once() {
    let server = ModelServer::start(vec![
        last(
            "write",
            ScriptedReply::calls("write_file", r#"{"path":"note.txt","content":"new\n"}"#),
        ),
        last("note.txt", ScriptedReply::says("It is written.")),
        last("second", ScriptedReply::says("Two.")),
        last("what now", ScriptedReply::says("Nothing.")),
    ]);
    let context = with_model(&server);
    let input = "write it\nsecond\n/undo 2\n/undo x\n/todo\nwhat now\n";
    let run = context.feed(["chat"], input).exits(2);
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(!context.work().join("note.txt").exists(), "{shown}");
    assert!(shown.contains("removed ") && !shown.contains("restored"), "{shown}");
    assert!(shown.contains("takes a number of turns") && shown.contains("No plan yet"), "{shown}");
    let asked = server.model_requests().pop().expect("it was asked");
    let said = asked["messages"].as_array().expect("messages");
    assert_eq!(said.len(), 2, "only the system prompt precedes it: {said:?}");
    assert_eq!(said[1]["content"], "what now");
}

#[test]
fn where_nothing_was_said_there_is_nothing_to_save_shorten_or_pay() {
    let server = ModelServer::start(Vec::<ScriptedReply>::new());
    let context = with_model(&server);
    let run = context.feed(["chat"], "/cost\n/compact\n/save talk.md\n").exits(2);
    let shown = format!("{}{}", run.stdout, run.stderr);
    for part in
        ["nothing yet", "too short to compact", "Nothing to save: the conversation is empty"]
    {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(!context.work().join("talk.md").exists());
}

#[test]
fn a_conversation_is_saved_for_nobody_else() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = ModelServer::start(vec![ScriptedReply::says("One.")]);
    let context = with_model(&server);
    context.feed(["chat"], "hello\n/save talk.md\n").succeeds();
    let kept = std::fs::metadata(context.work().join("talk.md")).expect("the file");
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_skill_is_completed_called_for_and_taken_back_as_it_was_typed() {
    let server = ModelServer::start(vec![ScriptedReply::says("Good day, world.")]);
    let context = with_model(&server);
    let dir = context.home().join("skills/greet-people");
    std::fs::create_dir_all(&dir).expect("a directory");
    let text = "---\nname: greet-people\ndescription: Greets them.\n---\nSay good day.\n";
    std::fs::write(dir.join("SKILL.md"), text).expect("a skill");
    let Some(tmux) = Tmux::start(&context, "") else { return };
    tmux.sees("/help lists the commands");
    tmux.run(&["send-keys", "-t", "0", "-l", "/gre"]);
    tmux.sees("Greets them.");
    tmux.keys(&["Tab"]);
    tmux.sees("/greet-people");
    tmux.line("the world");
    tmux.sees("Good day, world.");
    let asked = server.model_requests().pop().expect("it was asked").to_string();
    assert!(
        asked.contains("/greet-people the world") && asked.contains("Say good day."),
        "{asked}"
    );
    tmux.line("/undo");
    tmux.sees("Removed 2 messages");
    // The input line contains it again, as typed.
    let until = Instant::now() + Duration::from_secs(40);
    while tmux.screen().matches("❯ /greet-people the world").count() < 2 {
        assert!(Instant::now() < until, "{}", tmux.screen());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!tmux.screen().contains("<skill"), "{}", tmux.screen());
}

#[test]
fn in_a_pipe_quiet_means_that_only_answers_are_printed() {
    let server = ModelServer::start(vec![ScriptedReply::says("One.")]);
    let run = with_model(&server).feed(["-q", "chat"], "first\n").succeeds();
    assert_eq!((run.stdout.trim(), run.stderr.as_str()), ("One.", ""));
}

#[test]
fn options_of_a_conversation_need_no_command() {
    let server = ModelServer::start(vec![ScriptedReply::says("One.")]);
    let context = with_model(&server);
    context.feed(["-m", "another"], "first\n").succeeds();
    assert_eq!(server.model_requests()[0]["model"], "another");
    // The error is about the command line as written.
    let run = context.run(["tools", "list", "-m", "another"]).exits(2);
    assert!(run.stderr.contains("tools list"), "{}", run.stderr);
    context.run(["--nonesuch"]).exits(2);
}

/// A server for two turns: `write first` writes a file, and `hand it on` one more
/// and has a sub-agent write another.
fn delegating_server(is_child_first: bool) -> ModelServer {
    let write = |name: &str| {
        let call = json!({"path": name, "content": "new\n"}).to_string();
        ScriptedReply::calls("write_file", &call)
    };
    let hand_on = ScriptedReply::calls("delegate_task", r#"{"goal":"Make the other file"}"#);
    let (done, first) = (ScriptedReply::says("All done."), ScriptedReply::says("First."));
    let mut replies = match is_child_first {
        true => vec![
            last("Kid done.", write("parent.txt")),
            last("hand it on", hand_on),
            last("parent.txt", done),
        ],
        false => vec![
            last("Kid done.", done),
            last("hand it on", write("parent.txt")),
            last("parent.txt", hand_on),
        ],
    };
    replies.extend([
        last("write first", write("first.txt")),
        last("first.txt", first),
        last("Make the other file", write("kid.txt")),
        last("kid.txt", ScriptedReply::says("Kid done.")),
    ]);
    ModelServer::start(replies)
}

#[test]
fn a_turn_is_taken_back_with_what_its_sub_agents_wrote() {
    for is_child_first in [false, true] {
        let server = delegating_server(is_child_first);
        let context = with_model(&server);
        let there =
            || ["first.txt", "parent.txt", "kid.txt"].map(|f| context.work().join(f).exists());
        let run = context.feed(["chat"], "write first\nhand it on\n/undo\n").succeeds();
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(there(), [true, false, false], "{shown}");
        assert!(shown.contains("/parent.txt") && shown.contains("/kid.txt"), "{shown}");
        let run = context.feed(["chat", "--resume", "last"], "/undo\n").succeeds();
        assert_eq!(there(), [false; 3], "{}", run.stderr);
    }
}

#[test]
fn undo_takes_back_what_sub_agents_changed_between_two_calls_of_their_parent() {
    let add = |text: &str| {
        let call = json!({"command": format!("echo {text} >> shared.txt; echo {text} is in")});
        ScriptedReply::calls("terminal", &call.to_string())
    };
    let server = ModelServer::start(vec![
        last("Kid done.", add("three")),
        last("hand it on", add("one")),
        last("one is in", ScriptedReply::calls("delegate_task", r#"{"goal":"Go on"}"#)),
        last("Go on", add("two")),
        last("two is in", ScriptedReply::says("Kid done.")),
        last("three is in", ScriptedReply::says("All done.")),
    ]);
    let context = with_model(&server);
    context.file("shared.txt", "zero\n");
    let shared = || std::fs::read_to_string(context.work().join("shared.txt")).expect("the file");
    context.run(["run", "hand it on"]).succeeds();
    assert_eq!(shared(), "zero\none\ntwo\nthree\n");
    context.run(["undo"]).succeeds();
    assert_eq!(shared(), "zero\n");
    context.run(["redo"]).succeeds();
    assert_eq!(shared(), "zero\none\ntwo\nthree\n");
}

#[test]
fn a_turn_after_a_resume_is_taken_back_alone() {
    let write = |name: &str| {
        let call = json!({"path": name, "content": "new\n"}).to_string();
        ScriptedReply::calls("write_file", &call)
    };
    let server = ModelServer::start(vec![
        last("write first", write("first.txt")),
        last("first.txt", ScriptedReply::says("First.")),
        last("write second", write("second.txt")),
        last("second.txt", ScriptedReply::says("Second.")),
    ]);
    let context = with_model(&server);
    let there = || ["first.txt", "second.txt"].map(|f| context.work().join(f).exists());
    context.feed(["chat"], "write first\n").succeeds();
    let run = context.feed(["chat", "--resume", "last"], "write second\n/undo\n").succeeds();
    assert_eq!(there(), [true, false], "{}", run.stderr);
}
