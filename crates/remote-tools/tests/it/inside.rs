//! Both ends in one process, with a tool that does odd things.

use std::fs::{self, File};
use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use hermes_core::{
    Attachment, Availability, BoundCall, BoxFuture, CheckpointHooks, CheckpointId, DynTool, Effect,
    FileWritten, OutputLimits, PendingChange, Ports, ProgressCallback, ProgressUpdate, Scope,
    Session, ToolCall, ToolContext, ToolError, ToolOutput, ToolSpec, WorkingDir,
};
use hermes_engine::{Caller, Engine};
use hermes_exec::output::OutputStream;
use hermes_exec::tree::Signal;
use hermes_exec::{
    CommandSpec, ExecBackend, HostFacts, InputWait, ProcessControl, ProcessExit, ShellKind,
    SpawnedProcess, TerminalSize,
};
use hermes_remote_tools::{RemoteHostSettings, RemoteToolHost, remote_tool, serve};
use parking_lot::Mutex;
use rustix::pipe::{PipeFlags, pipe_with};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A place whose server is a thread.
#[derive(Debug)]
struct Inside;

impl ExecBackend for Inside {
    fn name(&self) -> &str {
        "inside"
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(async {
            Ok(Arc::new(HostFacts {
                directory: "/".into(),
                environment: Default::default(),
                shell: ShellKind::Posix,
                system: format!("Linux {}", std::env::consts::ARCH),
            }))
        })
    }

    fn start<'a>(
        &'a self,
        _: &'a str,
        _: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async {
            let (theirs, input) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            let (output, their_output) = pipe_with(PipeFlags::CLOEXEC).unwrap();
            thread::spawn(move || {
                let _ =
                    serve(vec![Arc::new(Odd::new())], File::from(theirs), File::from(their_output));
            });
            Ok(SpawnedProcess {
                pid: None,
                output: vec![(OutputStream::Stdout, output)],
                input: Some(input),
                control: Box::new(Unsteered),
                containment: None,
            })
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

#[derive(Debug)]
struct Unsteered;

impl ProcessControl for Unsteered {
    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>> {
        Box::pin(async { Ok(ProcessExit::Code(0)) })
    }

    fn terminate(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn signal(&self, _: Signal) -> BoxFuture<'_, usize> {
        Box::pin(async { 0 })
    }

    fn input_wait(&self) -> BoxFuture<'_, InputWait> {
        Box::pin(async { InputWait::NotWaiting })
    }

    fn resize(&self, _: TerminalSize) -> io::Result<()> {
        Ok(())
    }
}

/// Does what its argument `do` says.
struct Odd {
    spec: ToolSpec,
}

impl Odd {
    fn new() -> Self {
        Self { spec: ToolSpec::new("odd", "tests") }
    }
}

struct Doing(Value);

impl DynTool for Odd {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {"do": {"type": "string"}, "path": {"type": "string"}}})
    }

    fn bind(self: Arc<Self>, arguments: &Value) -> Result<Box<dyn BoundCall>, ToolError> {
        Ok(Box::new(Doing(arguments.clone())))
    }

    fn check(&self) -> BoxFuture<'_, Availability> {
        Box::pin(async { Availability::Ready })
    }
}

impl BoundCall for Doing {
    fn effects(&self, at: &WorkingDir) -> Vec<Effect> {
        let path = self.0["path"].as_str().map(|path| at.resolve(path));
        path.map(|path| Effect::path(Scope::FILE_WRITE, path)).into_iter().collect()
    }

    fn run(self: Box<Self>, cx: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match self.0["do"].as_str().unwrap_or_default() {
                "report" => {
                    cx.report_progress(Some(0.5), "half");
                    ToolOutput::json(&json!({}))
                }
                "attach" => {
                    let path = PathBuf::from(self.0["path"].as_str().unwrap());
                    let media_type = "image/png".to_owned();
                    let output = ToolOutput::json(&json!({}))?;
                    Ok(output.with_attachments(vec![Attachment { media_type, path }]))
                }
                "panic" => panic!("as asked"),
                "hang" => {
                    cx.report_progress(None, "begun");
                    cx.cancel.cancelled().await;
                    Err(ToolError::limit("stopped in order"))
                }
                "tell" => ToolOutput::json(&json!({
                    "in_time": cx.remaining().is_some_and(|left| left < Duration::from_secs(60)),
                    "lines": cx.ports.get::<OutputLimits>().map(|bounds| bounds.read_lines),
                    "context": cx.session.read::<Value>("context").unwrap(),
                    "count": cx.session.update("count", |count: &mut u64| { *count += 1; *count })?,
                })),
                _ => pending().await,
            }
        })
    }
}

struct Room {
    tool_host: Arc<RemoteToolHost>,
    dir: TempDir,
}

impl Room {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let executable = dir.path().join("program");
        fs::write(&executable, "never started").unwrap();
        let settings = RemoteHostSettings { executable, ..RemoteHostSettings::default() };
        Self { tool_host: RemoteToolHost::new(Arc::new(Inside), settings), dir }
    }

    fn tool(&self) -> Arc<dyn DynTool> {
        remote_tool(Arc::new(Odd::new()), Arc::clone(&self.tool_host))
    }

    fn context(&self) -> ToolContext {
        ToolContext { tool: "odd".into(), ..ToolContext::bare(self.dir.path()) }
    }

    async fn call(&self, cx: ToolContext, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.tool().bind(&arguments).unwrap().run(cx).await
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<(String, ProgressUpdate)>>);

impl Heard {
    fn callback(self: &Arc<Self>) -> ProgressCallback {
        let heard = Arc::clone(self);
        Arc::new(move |tool, progress| heard.0.lock().push((tool.to_owned(), progress.clone())))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_heard_before_the_answer() {
    let room = Room::new();
    let heard = Arc::new(Heard::default());
    let cx = ToolContext { progress: Some(heard.callback()), ..room.context() };
    room.call(cx, json!({"do": "report"})).await.unwrap();
    let wanted = ProgressUpdate { fraction: Some(0.5), message: "half".to_owned() };
    assert_eq!(*heard.0.lock(), [("odd".to_owned(), wanted)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_with_an_answer_is_brought_here() {
    let room = Room::new();
    let there = room.dir.path().join("there.png");
    fs::write(&there, b"\x89PNG\0\xff").unwrap();
    let output = room.call(room.context(), json!({"do": "attach", "path": there})).await.unwrap();
    let attached = &output.attachments[0];
    assert_eq!(attached.media_type, "image/png");
    assert_ne!(attached.path, there);
    assert_eq!(fs::read(&attached.path).unwrap(), b"\x89PNG\0\xff");
    let copy = attached.path.clone();
    drop(room);
    for _ in 0..200 {
        if !copy.exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{} is left", copy.display());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_crashes_ends_its_own_call_only() {
    let room = Room::new();
    let error = room.call(room.context(), json!({"do": "panic"})).await.unwrap_err();
    assert!(error.message().contains("crashed"), "{error}");
    room.call(room.context(), json!({"do": "report"})).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_stopped_may_still_say_something() {
    let room = Room::new();
    let heard = Arc::new(Heard::default());
    let cx = ToolContext { progress: Some(heard.callback()), ..room.context() };
    let cancel = cx.cancel.clone();
    let call = room.call(cx, json!({"do": "hang"}));
    let (answer, ()) = tokio::join!(call, async {
        while heard.0.lock().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    });
    assert_eq!(answer.unwrap_err().message(), "stopped in order");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadline_bounds_and_session_are_known_there() {
    let room = Room::new();
    let bounds = OutputLimits { read_lines: 7, ..OutputLimits::default() };
    let session = Session::in_memory();
    session.update("context", |mark: &mut Value| *mark = json!({"generation": 3})).unwrap();
    let cx = ToolContext {
        deadline: Some(Instant::now() + Duration::from_secs(50)),
        ports: Arc::new(Ports::new().with(Arc::new(bounds))),
        session,
        ..room.context()
    };
    for count in 1..=2 {
        let output = room.call(cx.clone(), json!({"do": "tell"})).await.unwrap();
        let shown: Value = serde_json::from_str(output.content()).unwrap();
        let context = json!({"generation": 3});
        let wanted = json!({"in_time": true, "lines": 7, "context": context, "count": count});
        assert_eq!(shown, wanted);
    }
}

/// Notes everything that it is asked to keep.
#[derive(Default)]
struct Keeper(Mutex<Vec<String>>);

impl CheckpointHooks for Keeper {
    fn before_call(&self, change: &PendingChange<'_>) -> Result<Option<CheckpointId>, ToolError> {
        self.0.lock().push(format!("before {:?}", change.paths));
        Ok(Some("kept".to_owned()))
    }

    fn after_call(&self, change: &PendingChange<'_>) -> Result<(), ToolError> {
        self.0.lock().push(format!("after {:?}", change.paths));
        Ok(())
    }

    fn before_change(&self, _: &PendingChange<'_>, places: &[PathBuf]) -> Result<(), ToolError> {
        self.0.lock().push(format!("replacing {places:?}"));
        Ok(())
    }

    fn after_change(
        &self,
        _: &PendingChange<'_>,
        made: &[FileWritten<'_>],
    ) -> Result<(), ToolError> {
        self.0.lock().push(format!("replaced {made:?}"));
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_same_name_here_are_not_kept_for_it() {
    let room = Room::new();
    fs::write(room.dir.path().join("same"), "here").unwrap();
    let arguments = json!({"do": "report", "path": "same"});
    let kept = |tool: Arc<dyn DynTool>| {
        let (arguments, dir) = (arguments.clone(), room.dir.path().to_owned());
        async move {
            let keeper = Arc::new(Keeper::default());
            let engine = Engine::builder().tools(vec![tool]).checkpoints(Arc::clone(&keeper) as _);
            let engine = engine.build().unwrap();
            let call = ToolCall::new("1", "odd", arguments);
            let result = engine.call(call, &Caller::new(dir)).await;
            assert!(result.is_success(), "{}", result.content);
            let kept = std::mem::take(&mut *keeper.0.lock());
            (kept, result.content)
        }
    };
    let (here, _) = kept(Arc::new(Odd::new())).await;
    assert!(here.iter().any(|line| line.starts_with("before")), "{here:?}");
    let (there, content) = kept(room.tool()).await;
    assert!(there.is_empty(), "{there:?}");
    assert!(content.contains("undo"), "it is said: {content}");
}
