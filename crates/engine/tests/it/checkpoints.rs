//! Whoever keeps files is told before a call that may change them, and after.

use std::sync::Arc;

use hermes_core::{
    CheckpointHooks, CheckpointId, Effect, PendingChange, Resource, Scope, ToolCall, ToolError,
    ToolOutput,
};
use hermes_engine::{Caller, Engine};
use hermes_testkit::probe::{self, ProbeTool};
use parking_lot::Mutex;
use serde_json::json;

use crate::{NO_GUARD, built};

/// Writes down what it is told, in the order in which it is told.
#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    turns: Mutex<Vec<String>>,
    refuses: Option<fn() -> ToolError>,
}

impl Notes {
    fn say(&self, line: impl Into<String>) {
        self.lines.lock().push(line.into());
    }
}

impl CheckpointHooks for Notes {
    fn before_call(&self, change: &PendingChange<'_>) -> Result<Option<CheckpointId>, ToolError> {
        let places: Vec<_> = change.paths.iter().filter_map(|path| path.file_name()).collect();
        self.say(format!("before {} {places:?} {}", change.tool, change.open_ended));
        self.turns.lock().push(change.turn.to_owned());
        self.refuses.map_or(Ok(Some("id".into())), |refuse| Err(refuse()))
    }

    fn after_call(&self, change: &PendingChange<'_>) -> Result<(), ToolError> {
        self.say(format!("after {}", change.tool));
        Ok(())
    }
}

fn writes(notes: &Arc<Notes>) -> ProbeTool {
    let notes = Arc::clone(notes);
    ProbeTool::new("writes")
        .declare_effects(|args, at| {
            let name = args["path"].as_str().unwrap_or("a");
            vec![Effect::path(Scope::FILE_WRITE, at.resolve(name))]
        })
        .on_run(move |_, _| {
            notes.say("run");
            async { ToolOutput::json(&json!({})) }
        })
}

fn with(notes: &Arc<Notes>, more: Vec<ProbeTool>) -> (Engine, Caller, tempfile::TempDir) {
    let mut tools = vec![writes(notes).into_tool(), probe::echo().into_tool()];
    tools.extend(more.into_iter().map(ProbeTool::into_tool));
    built(Engine::builder().tools(tools).guard(NO_GUARD).checkpoints(Arc::clone(notes) as _))
}

#[tokio::test]
async fn files_are_kept_before_the_call_runs_and_looked_at_after() {
    let notes = Arc::new(Notes::default());
    let (engine, caller, _dir) = with(&notes, Vec::new());
    engine.call(ToolCall::new("1", "writes", json!({ "path": "x" })), &caller).await;
    engine.call(ToolCall::new("2", "echo", json!({})), &caller).await;
    assert_eq!(*notes.lines.lock(), [r#"before writes ["x"] false"#, "run", "after writes"]);
}

#[tokio::test]
async fn a_command_may_change_anything() {
    let notes = Arc::new(Notes::default());
    let command = ProbeTool::new("command")
        .declare_effects(|_, _| vec![Effect::any(Scope::TERMINAL_EXECUTE)]);
    let fails = ProbeTool::new("fails_late")
        .declare_effects(|_, _| vec![Effect::any(Scope::CODE_EXECUTE)])
        .on_run(|_, _| async { Err(ToolError::internal("half done")) });
    let (engine, caller, _dir) = with(&notes, vec![command, fails]);
    engine.call(ToolCall::new("1", "command", json!({})), &caller).await;
    engine.call(ToolCall::new("2", "fails_late", json!({})), &caller).await;
    assert_eq!(
        *notes.lines.lock(),
        [
            "before command [] true",
            "after command",
            "before fails_late [] true",
            "after fails_late"
        ]
    );
}

#[tokio::test]
async fn what_a_command_names_is_kept() {
    let notes = Arc::new(Notes::default());
    let command = ProbeTool::new("command").declare_effects(|args, _| {
        let script = hermes_core::ShellScript {
            text: args["command"].as_str().unwrap_or_default().to_owned(),
            cwd: args["workdir"].as_str().map(Into::into),
            ..hermes_core::ShellScript::default()
        };
        let resource = Resource::Script(Box::new(script));
        vec![Effect { scope: Scope::TERMINAL_EXECUTE, resource }]
    });
    let (engine, caller, _dir) = with(&notes, vec![command]);
    let elsewhere = tempfile::tempdir().unwrap();
    let top = elsewhere.path().display();
    for arguments in [
        json!({ "command": format!("rm {top}/gone; echo x > {top}/made; echo y > /dev/null") }),
        json!({ "command": "rm there", "workdir": elsewhere.path() }),
        json!({ "command": format!("rm here; cp here {top}") }),
    ] {
        engine.call(ToolCall::new("1", "command", arguments), &caller).await;
    }
    let lines = notes.lines.lock();
    let before: Vec<&String> = lines.iter().filter(|line| line.starts_with("before")).collect();
    assert_eq!(
        before,
        [
            r#"before command ["gone", "made"] true"#,
            r#"before command ["there"] true"#,
            // What is copied into a folder replaces what has its name there.
            r#"before command ["here", "here"] true"#
        ]
    );
}

#[tokio::test]
async fn a_batch_is_a_turn_and_so_is_what_its_calls_call() {
    let notes = Arc::new(Notes::default());
    let outer = ProbeTool::new("outer").on_run(|_, cx| async move {
        let host = cx.engine.clone().unwrap();
        host.call(ToolCall::new("in", "writes", json!({ "path": "z" }))).await;
        ToolOutput::json(&json!({}))
    });
    let (engine, mut caller, _dir) = with(&notes, vec![outer]);
    let call = |id: &str, path: &str| ToolCall::new(id, "writes", json!({ "path": path }));
    let batch = vec![call("1", "a"), call("2", "b"), ToolCall::new("3", "outer", json!({}))];
    engine.dispatch(batch, &caller).await;
    engine.call(call("4", "c"), &caller).await;
    caller.turn = Some("mine".into());
    engine.call(call("5", "d"), &caller).await;
    let turns = notes.turns.lock().clone();
    assert_eq!(turns.len(), 5);
    assert!(turns[..3].iter().all(|turn| *turn == turns[0]), "{turns:?}");
    assert_ne!(turns[3], turns[0]);
    assert_eq!(turns[4], "mine");
}

#[tokio::test]
async fn a_call_that_cannot_be_undone_is_made_but_a_stopped_one_is_not() {
    let notes =
        Arc::new(Notes { refuses: Some(|| ToolError::limit("too much")), ..Notes::default() });
    let (engine, caller, _dir) = with(&notes, Vec::new());
    let result = engine.call(ToolCall::new("1", "writes", json!({})), &caller).await;
    assert!(result.is_success(), "{}", result.content);
    assert_eq!(*notes.lines.lock(), [r#"before writes ["a"] false"#, "run"]);

    let notes = Arc::new(Notes { refuses: Some(ToolError::cancelled), ..Notes::default() });
    let (engine, caller, _dir) = with(&notes, Vec::new());
    let result = engine.call(ToolCall::new("1", "writes", json!({})), &caller).await;
    assert_eq!(result.disposition, hermes_core::EffectDisposition::NotRun);
    assert_eq!(*notes.lines.lock(), [r#"before writes ["a"] false"#]);
}

#[tokio::test]
async fn a_rehearsal_keeps_nothing() {
    let notes = Arc::new(Notes::default());
    let (engine, mut caller, _dir) = with(&notes, Vec::new());
    caller.dry_run = true;
    engine.call(ToolCall::new("1", "writes", json!({})), &caller).await;
    assert!(notes.lines.lock().is_empty());
}
