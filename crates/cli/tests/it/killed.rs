//! A task whose process is killed at any moment leaves a session that can be
//! resumed: every call in it has exactly one result.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hermes_history::{HistoryReader, MessageRange, SessionFilter};
use hermes_llm::ChatMessage;
use hermes_testkit::models::{ModelServer, ReplyStep, ScriptedReply};

use crate::context::TestContext;

/// How many runs are killed; `HERMES_KILLS` asks for more.
fn runs() -> u64 {
    std::env::var("HERMES_KILLS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(12)
}

fn script() -> Vec<ScriptedReply> {
    let write = |at: u32| {
        let arguments = format!(r#"{{"path":"f{at}.txt","content":"{}"}}"#, "x".repeat(2000));
        ReplyStep::call("write_file", &arguments)
    };
    vec![
        ScriptedReply::says("All is well.").when("go on after that"),
        ScriptedReply::from_steps([
            ReplyStep::Text("I write. ".into()),
            write(1),
            write(2),
            write(3),
        ])
        .again(),
    ]
}

#[test]
fn a_session_survives_a_kill_at_any_moment() {
    let server = ModelServer::start(script());
    let context = TestContext::new();
    context.settings(format!("model:\n  default: scripted\n  base_url: {}\n", server.url()));
    let database = context.home().join("sessions.db");
    for at in 0..runs() {
        let asked = server.model_request_count();
        let mut command = context.command(["run", "--max-turns", "40", "Write and write"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the command starts");
        // Times from before the first output to the middle of the task.
        let timeout = Instant::now() + Duration::from_secs(30);
        let wanted = asked + usize::try_from(at % 5).unwrap_or(0);
        while server.model_request_count() < wanted && Instant::now() < timeout {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(at * 7 % 31));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let Some(reader) = HistoryReader::open(&database).expect("the sessions can be read") else {
            continue;
        };
        for session in reader.sessions(&SessionFilter::default()).expect("a list") {
            let kept =
                reader.messages(&session, MessageRange::All).expect("the messages can be read");
            check(kept.iter().map(|kept| &kept.message));
        }
    }
    let reader =
        HistoryReader::open(&database).expect("it can be read").expect("there are sessions");
    let sessions = reader.sessions(&SessionFilter::default()).expect("a list");
    let id = sessions.iter().max_by_key(|session| session.calls).expect("a session").id.clone();
    drop(reader);
    context.run(["run", "--resume", &id, "go on after that"]).succeeds();
    let said = server.model_requests().pop().expect("it was asked");
    let messages = said["messages"].as_array().expect("messages").clone();
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array());
    let calls: usize = calls.map(Vec::len).sum();
    let answers = messages.iter().filter(|message| message["role"] == "tool").count();
    assert!(calls > 0, "some calls were made before the kill");
    assert_eq!(calls, answers, "every call has its result when the session is resumed");
    let left = std::fs::read_dir(context.work()).expect("the directory").flatten();
    let stray: Vec<_> = left.filter(|e| e.file_name().to_string_lossy().contains(".tmp")).collect();
    assert!(stray.len() <= 3, "{stray:?}");
}

#[test]
fn a_kill_among_several_calls_loses_only_what_had_not_ended() {
    let server = ModelServer::start(vec![
        ScriptedReply::says("I see.").when("what has happened"),
        ScriptedReply::from_steps([
            ReplyStep::call("sleep", r#"{"seconds":120}"#),
            ReplyStep::call("write_file", r#"{"path":"done.txt","content":"x"}"#),
        ]),
    ]);
    let context = TestContext::new();
    context.settings(format!("model:\n  default: scripted\n  base_url: {}\n", server.url()));
    let mut command = context.command(["run", "Sleep and write"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the command starts");
    let timeout = Instant::now() + Duration::from_secs(30);
    let (id, written) = loop {
        let written = results(&context);
        if written.as_ref().is_some_and(|(_, results)| !results.is_empty()) {
            break written.expect("a session");
        }
        assert!(Instant::now() < timeout, "no result is written while another call runs");
        std::thread::sleep(Duration::from_millis(5));
    };
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(written, ["write_file"]);
    context.run(["run", "--resume", &id, "what has happened"]).succeeds();
    let said = server.model_requests().pop().expect("it was asked");
    let shown: Vec<&str> = said["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].contains("lost") && !shown[1].contains("lost"), "{shown:?}");
}

/// The last session, and the tools whose results are in it.
fn results(context: &TestContext) -> Option<(String, Vec<String>)> {
    let reader = HistoryReader::open(context.home().join("sessions.db")).ok()??;
    let session = reader.sessions(&SessionFilter::default()).ok()?.into_iter().next()?;
    let kept = reader.messages(&session, MessageRange::All).ok()?;
    let names = kept.into_iter().filter_map(|kept| match kept.message {
        ChatMessage::Tool(answer) => Some(answer.name),
        _ => None,
    });
    Some((session.id, names.collect()))
}

/// No result without its call, and none twice.
fn check<'a>(messages: impl Iterator<Item = &'a ChatMessage>) {
    let mut open: HashMap<String, usize> = HashMap::new();
    for message in messages {
        match message {
            ChatMessage::Assistant(reply) => {
                for call in &reply.calls {
                    assert_eq!(open.insert(call.id.clone(), 0), None, "an id is there twice");
                }
            }
            ChatMessage::Tool(answer) => {
                let count = open.get_mut(&answer.call_id).expect("the call of a result");
                *count += 1;
                assert_eq!(*count, 1, "a call has two results");
            }
            _ => {}
        }
    }
}

#[test]
fn a_change_of_many_files_that_is_killed_is_taken_back_before_anybody_reads_them() {
    const FILES: usize = 200;
    let context = TestContext::new();
    let name = |at: usize| format!("f{at}.txt");
    let mut patch = String::from("*** Begin Patch\n");
    for at in 0..FILES {
        context.file(&name(at), "old\n");
        patch += &format!("*** Update File: {}\n-old\n+new\n", name(at));
    }
    patch += "*** End Patch";
    let arguments = serde_json::json!({ "mode": "patch", "patch": patch }).to_string();
    let all = || -> Vec<String> {
        let read = |at| std::fs::read_to_string(context.work().join(name(at))).expect("a file");
        (0..FILES).map(read).collect()
    };
    let mut command = context.command(["call", "patch", &arguments]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the command starts");
    while all().iter().all(|text| text == "old\n") {
        if child.try_wait().expect("it can be asked").is_some() {
            break;
        }
    }
    // It may have exited by now.
    let _ = child.kill();
    child.wait().expect("ended");
    let read = context.run(["call", "read_file", "path=f0.txt"]).succeeds();
    let mut found = all();
    found.dedup();
    assert_eq!(found.len(), 1, "all of them are changed, or none: {found:?}");
    assert!(read.stdout.contains(found[0].trim()), "{}", read.stdout);
    let left = std::fs::read_dir(context.work()).expect("the directory").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".hermes-")), "{left:?}");
}
