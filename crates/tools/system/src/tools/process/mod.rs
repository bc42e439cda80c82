//! `process`: manages the running jobs of a session.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hermes_core::{
    CallEnding, Effect, JsonSchema, Resource, Scope, ShellScript, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir, answer_schema,
};
use hermes_exec::network;
use hermes_exec::screen;
use hermes_exec::{
    CommandTimeouts, JobHandle, JobRegistry, KILL_GRACE, ListeningPort, NewOutput, TerminalSize,
    WaitLimits, WaitOutcome,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::typed_input;

pub(super) mod leftovers;
mod report;

use report::{Output, ProcessRow};

/// The longest timeout that settings allow; the tool enforces its own limits.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60 + 30);
/// Maximum bytes of new output in a result.
const MAX_OUTPUT_BYTES: usize = 20_000;
/// Lines per page.
const PAGE_LINES: usize = 200;
/// How long to wait for a reaction to input ...
const ECHO_TIMEOUT: Duration = Duration::from_secs(10);
/// ... until the output has been idle for this long. A prompt is detected
/// sooner.
const IDLE_THRESHOLD: Duration = Duration::from_millis(600);
/// Time limit for detecting whether a process awaits input.
const PROMPT_CHECK_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a process may take to read its input.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Process {
    /// The registry of the last call.
    jobs: Mutex<Weak<JobRegistry>>,
}

impl Process {
    /// Whether the process has ended, so input can no longer reach it.
    fn has_ended(&self, args: &Args) -> bool {
        let jobs = self.jobs.lock().upgrade();
        let over = jobs.zip(args.session_id.as_deref()).map(|(jobs, id)| jobs.has_ended(id));
        over.unwrap_or(false)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProcessAction {
    List,
    /// New output.
    Poll,
    /// Output lines.
    Log,
    /// Until it ends.
    Wait,
    Kill,
    /// Type data verbatim.
    Write,
    /// Type data and Enter.
    Submit,
    /// Press terminal keys.
    Keys,
    /// Close stdin.
    Close,
    /// Set its terminal size.
    Resize,
    /// Forward a port it listens on to this machine's loopback.
    Publish,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    action: ProcessAction,
    /// Process id; not for list.
    session_id: Option<String>,
    /// For write and submit.
    data: Option<String>,
    /// For keys, such as "ctrl-c" or "down down enter".
    keys: Option<String>,
    /// For wait: seconds, default 180, at most 600. For write, submit and keys:
    /// wait for a prompt or exit instead of for silence.
    timeout: Option<u64>,
    /// For log: first line; default: the last lines.
    offset: Option<u64>,
    /// For log: line count; default 200.
    limit: Option<u64>,
    /// For resize.
    #[schemars(range(min = 1, max = 1000))]
    rows: Option<u16>,
    /// For resize.
    #[schemars(range(min = 1, max = 1000))]
    columns: Option<u16>,
    /// For publish.
    #[schemars(range(min = 1, max = 65535))]
    port: Option<u16>,
}

impl Tool for Process {
    type Args = Args;
    type Output = Output;

    fn ending(output: &Output) -> CallEnding {
        match output.status {
            "interrupted" => CallEnding::Stopped,
            // The call succeeds however the process ended.
            _ => CallEnding::Succeeded,
        }
    }

    fn spec() -> ToolSpec {
        ToolSpec::new("process", "terminal")
            .emoji("🧵")
            .description(
                "Inspect, wait for, send input to or kill commands that terminal left running.",
            )
            .alias("process_manager")
            .alias("process_manage")
            .preset_alias("bash_output", r#"{"action":"poll"}"#)
            .preset_alias("kill_bash", r#"{"action":"kill"}"#)
            .preset_alias("kill_shell", r#"{"action":"kill"}"#)
            .parameter_alias("bash_id", "session_id")
            .parameter_alias("shell_id", "session_id")
            .parameter_alias("id", "session_id")
            .parameter_alias("process_id", "session_id")
            .parameter_alias("input", "data")
            .parameter_alias("text", "data")
            .timeout(MAX_TIMEOUT)
            .keyword("background")
            .keyword("job")
            .keyword("server")
            .keyword("kill")
            .example(
                ToolExample::new("List running processes", r#"{"action":"list"}"#)
                    .expects(r#"{"processes":[]}"#),
            )
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Output>())
    }

    fn effects(&self, args: &Args, _at: &WorkingDir) -> Vec<Effect> {
        let resource = args.session_id.clone().map_or(Resource::Any, Resource::Name);
        let mut effects = vec![Effect { scope: Scope::PROCESS_MANAGE, resource }];
        if args.action == ProcessAction::Publish {
            let host = format!("127.0.0.1:{}", args.port.unwrap_or_default());
            effects.push(Effect { scope: Scope::NETWORK_SEND, resource: Resource::Host(host) });
        }
        // Input that will not be executed needs no approval.
        if !self.has_ended(args) {
            effects.extend(typed_command_effect(args));
        }
        effects
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        for effect in self.effects(&args, &cx.working_dir) {
            cx.check_grant(&effect.scope, &effect.resource)?;
        }
        let jobs = JobRegistry::from_context(cx);
        *self.jobs.lock() = Arc::downgrade(&jobs);
        if args.action == ProcessAction::List {
            let mut lines = process_rows(&jobs.session_jobs(cx.session.id())).await;
            let left = leftovers::session_leftovers(&jobs, cx).await;
            lines.extend(left.iter().map(ProcessRow::from_leftover));
            let mut output = Output::list(lines);
            output.ports = listening_ports(&jobs, cx);
            for (entry, place) in left.iter().filter_map(|it| Some((it, it.elsewhere.as_ref()?))) {
                output.add_note(&format!(
                    "{} was left in {place} by an earlier instance of hermes that did not shut \
                     down cleanly; whether it still runs is unknown. The next command there \
                     ends it, or action=kill.",
                    entry.id
                ));
            }
            return Ok(output);
        }
        if args.action == ProcessAction::Publish {
            return publish(args.port, &jobs, cx);
        }
        let Some(id) = args.session_id.as_deref() else {
            return Err(ToolError::invalid("session_id is missing")
                .with_hint("action=list shows the processes."));
        };
        match jobs.get(cx.session.id(), id) {
            Some(handle) => answer(&args, &handle, cx).await,
            None => leftovers::answer(&args, id, &jobs, cx).await,
        }
    }
}

/// Ports that the session's processes listen on.
fn listening_ports(jobs: &JobRegistry, cx: &ToolContext) -> Vec<ListeningPort> {
    let Some(networks) = jobs.backend().networks() else { return Vec::new() };
    match networks.get(cx.session.id()) {
        Some(network) => network.listening(),
        // Leftover processes are in the session's network namespace.
        None => {
            jobs.survivor(cx.session.id()).map(network::process_listening_ports).unwrap_or_default()
        }
    }
}

/// Publishes a port of the session on this machine's loopback.
fn publish(port: Option<u16>, jobs: &JobRegistry, cx: &ToolContext) -> Result<Output, ToolError> {
    let Some(port) = port else {
        return Err(ToolError::invalid("publish requires port")
            .with_hint("action=list shows the ports that processes listen on."));
    };
    let networks = jobs.backend().networks();
    let network = networks.and_then(|networks| networks.get(cx.session.id())).ok_or_else(|| {
        ToolError::unavailable(
            "The session has no separate network, so there is nothing to \
            publish",
        )
        .with_hint("Run a command with terminal first: it creates the session's network.")
    })?;
    let outer = network.publish(port).map_err(|error| {
        ToolError::not_found(format!("Port {port} of the session is not reachable: {error}"))
            .with_hint("action=list shows the ports that processes listen on.")
    })?;
    let mut output = Output::default();
    output.status = "published";
    output.ports = network.listening().into_iter().filter(|it| it.port == port).collect();
    output.add_note(&format!("http://127.0.0.1:{outer} forwards to it while hermes runs."));
    Ok(output)
}

/// Text typed into a shell is a command. Its state is unknown here, so the
/// command is judged as if in a fresh shell.
fn typed_command_effect(args: &Args) -> Option<Effect> {
    args.session_id.as_deref().filter(|id| typed_input::is_shell(id))?;
    let text = match args.action {
        ProcessAction::Write | ProcessAction::Submit => args.data.clone()?,
        ProcessAction::Keys => {
            typed_input::typed_text(args.keys.as_deref().or(args.data.as_deref())?)
        }
        _ => return None,
    };
    if text.trim().is_empty() {
        return None;
    }
    let script = ShellScript { text, fresh_shell: true, ..ShellScript::default() };
    let resource = Resource::Script(Box::new(script));
    Some(Effect { scope: Scope::TERMINAL_EXECUTE, resource })
}

/// The jobs of a session with their current state.
async fn process_rows(jobs: &[Arc<JobHandle>]) -> Vec<ProcessRow> {
    // Queried concurrently: on a remote backend each query is a round trip.
    let asked: Vec<_> = jobs
        .iter()
        .map(|handle| {
            let handle = Arc::clone(handle);
            tokio::spawn(async move { is_awaiting_input(&handle).await })
        })
        .collect();
    let mut lines = Vec::new();
    for (handle, is_asking) in jobs.iter().zip(asked) {
        let is_asking = is_asking.await.unwrap_or(false);
        lines.push(ProcessRow::from_job(handle, is_asking));
    }
    lines
}

/// Whether the process awaits input; false if the backend does not answer in
/// time.
async fn is_awaiting_input(handle: &JobHandle) -> bool {
    tokio::time::timeout(PROMPT_CHECK_TIMEOUT, handle.job.is_awaiting_input())
        .await
        .unwrap_or(false)
}

async fn answer(args: &Args, handle: &JobHandle, cx: &ToolContext) -> Result<Output, ToolError> {
    let is_look = matches!(args.action, ProcessAction::Log | ProcessAction::Poll);
    let is_asking = is_look && is_awaiting_input(handle).await;
    let mut output = match args.action {
        ProcessAction::Log => log_page(args, handle),
        ProcessAction::Wait => wait(args, handle, cx).await,
        ProcessAction::Kill => {
            // A process that has already exited on its own was not killed.
            let was_running =
                handle.job.ended_now().await.is_none_or(|ended| ended.has_descendants);
            if was_running {
                handle.mark_killed();
            }
            handle.job.terminate(KILL_GRACE).await;
            let mut output = new_output(handle);
            output.status = if was_running { "killed" } else { "already_exited" };
            output
        }
        ProcessAction::Write | ProcessAction::Submit | ProcessAction::Keys => {
            let is_read = send_input(args, handle, cx).await?;
            let mut output = wait_for_reaction(args, handle, cx).await;
            if !is_read {
                output.add_note(
                    "It has not read all of the input yet; the rest is delivered \
                    when it does.",
                );
            }
            output
        }
        ProcessAction::Close => {
            let job = Arc::clone(&handle.job);
            let closing = tokio::spawn(async move { job.close_input().await });
            let is_closed =
                cx.run_until_cancelled(tokio::time::timeout(SEND_TIMEOUT, closing)).await?.is_ok();
            // Most programs exit at end of input.
            let mut output = wait_for_reaction(args, handle, cx).await;
            if !is_closed {
                output.add_note("Its input is closed once it has read what was sent.");
            }
            output
        }
        ProcessAction::Resize => {
            resize(args, handle)?;
            wait_for_reaction(args, handle, cx).await
        }
        ProcessAction::List | ProcessAction::Poll | ProcessAction::Publish => {
            next_output(handle, is_asking)
        }
    };
    if handle.job.ended().is_some() && output.status != "running" {
        handle.acknowledge_end();
    } else if is_asking {
        output.status = "awaiting_input";
    }
    if handle.end_reason() == Some("inactivity") {
        output.add_note("It was ended because it produced no output for too long.");
    }
    output.add_place_notes(&handle.job);
    Ok(output)
}

fn resize(args: &Args, handle: &JobHandle) -> Result<(), ToolError> {
    let Some((rows, columns)) = handle.job.screen().map(|screen| screen.size()) else {
        return Err(
            ToolError::conflict("The process has no terminal").with_hint("Start it with pty.")
        );
    };
    let size =
        TerminalSize { rows: args.rows.unwrap_or(rows), columns: args.columns.unwrap_or(columns) };
    handle
        .job
        .resize(size)
        .map_err(|error| ToolError::io("Cannot resize the process's terminal", &error))
}

/// Returns the next output in order, and all of it if the process waits for
/// input.
fn next_output(handle: &JobHandle, is_asking: bool) -> Output {
    if is_asking {
        return new_output(handle);
    }
    // First the status: what a process wrote before its end is then complete.
    let output = Output::for_job(handle);
    with_output(output, handle, handle.next_output(MAX_OUTPUT_BYTES))
}

/// Returns the last part of the new output.
fn new_output(handle: &JobHandle) -> Output {
    let output = Output::for_job(handle);
    with_output(output, handle, handle.new_output(MAX_OUTPUT_BYTES))
}

fn with_output(mut output: Output, handle: &JobHandle, news: NewOutput) -> Output {
    if handle.job.screen().is_none() {
        output.output = Some(news.text);
    }
    if news.skipped > 0 {
        output.add_note(&format!("{} earlier bytes are omitted; see log.", news.skipped));
    }
    if news.remaining > 0 && output.output.is_some() {
        output.add_note(&format!("{} more bytes follow; poll again.", news.remaining));
    }
    output
}

fn log_page(args: &Args, handle: &JobHandle) -> Output {
    let count = args.limit.map_or(PAGE_LINES, |limit| usize::try_from(limit).unwrap_or(PAGE_LINES));
    let count = count.clamp(1, 10 * PAGE_LINES);
    let log = handle.job.log();
    let total = log.lines();
    let first = match args.offset {
        None => total.saturating_sub(count as u64) + 1,
        Some(first) => first.max(1),
    };
    let (lines, total) = log.page(first, count);
    let shown = log.len();
    drop(log);
    let last = first + lines.len() as u64;
    let mut output = Output::for_job(handle);
    output.total_lines = Some(total);
    output.showing = (!lines.is_empty()).then(|| format!("lines {first}-{}", last - 1));
    output.output = Some(lines.join("\n"));
    if last > total {
        handle.mark_read(shown);
    }
    output
}

/// How long to wait for a process to exit.
fn wait_limit(args: &Args, cx: &ToolContext) -> Duration {
    let times = cx.ports.get::<CommandTimeouts>().map(|times| *times).unwrap_or_default();
    args.timeout.map_or(times.default_timeout, Duration::from_secs).min(times.max_timeout)
}

async fn wait(args: &Args, handle: &JobHandle, cx: &ToolContext) -> Output {
    let limit = wait_limit(args, cx);
    let until = Some(Instant::now() + limit);
    let pause = handle
        .job
        .wait(&WaitLimits { deadline: until, idle_timeout: None, cancel: &cx.cancel })
        .await;
    let mut output = new_output(handle);
    if pause == WaitOutcome::Deadline {
        output.status = "timeout";
        let limit = limit.as_secs();
        output.add_note(&format!("Still running after {limit} s; wait again, or kill it."));
    }
    with_pause_note(pause, output)
}

fn with_pause_note(pause: WaitOutcome, mut output: Output) -> Output {
    match pause {
        WaitOutcome::AwaitingInput => output.status = "awaiting_input",
        WaitOutcome::LiveScreen => output.add_note(
            "Its screen keeps updating: action=keys sends keys, poll shows the screen, kill \
             ends it.",
        ),
        WaitOutcome::Cancelled => output.status = "interrupted",
        WaitOutcome::Ended(_) | WaitOutcome::IdleTimeout | WaitOutcome::Deadline => {}
    }
    output
}

/// Sends input; returns whether the process has read all of it.
async fn send_input(args: &Args, handle: &JobHandle, cx: &ToolContext) -> Result<bool, ToolError> {
    let bytes = match args.action {
        ProcessAction::Keys => {
            let keys = args.keys.as_deref().or(args.data.as_deref());
            let keys = keys.ok_or_else(|| ToolError::invalid("keys is missing"))?;
            let modes = handle.job.screen().map(|screen| screen.modes()).unwrap_or_default();
            screen::encode_keys(keys, modes)
                .map_err(|unknown| ToolError::invalid(unknown.to_string()))?
        }
        action => {
            let data = args.data.as_deref();
            let data = data.ok_or_else(|| ToolError::invalid("data is missing"))?;
            let mut bytes = data.as_bytes().to_vec();
            if action == ProcessAction::Submit {
                bytes.push(if handle.job.screen().is_some() { b'\r' } else { b'\n' });
            }
            bytes
        }
    };
    if handle.job.ended().is_some() {
        return Err(ToolError::conflict("The process has ended and cannot receive input")
            .with_hint("action=log shows its output."));
    }
    if !handle.job.has_input() {
        return Err(ToolError::conflict("The process has no input, or its input was closed")
            .with_hint("Start it with open_stdin or pty, which keep the input open."));
    }
    let job = Arc::clone(&handle.job);
    // Spawned, so a cancelled call does not leave a partial write.
    let sending = tokio::spawn(async move { job.write(&bytes).await });
    match cx.run_until_cancelled(tokio::time::timeout(SEND_TIMEOUT, sending)).await? {
        Ok(Ok(sent)) => {
            // The process may close its input or terminal and keep running.
            sent.map(|()| true).map_err(|error| {
                ToolError::conflict(format!("The process no longer accepts input: {error}"))
                    .with_hint(
                        "It has closed its input or is exiting; action=poll shows its \
                        state.",
                    )
            })
        }
        Ok(Err(broken)) => Err(ToolError::internal(format!("the input task failed: {broken}"))),
        Err(_elapsed) => Ok(false),
    }
}

/// Waits for a reaction: exit, a prompt, or silence.
async fn wait_for_reaction(args: &Args, handle: &JobHandle, cx: &ToolContext) -> Output {
    let silence = args.timeout.is_none().then_some(IDLE_THRESHOLD);
    let until = Some(Instant::now() + args.timeout.map_or(ECHO_TIMEOUT, Duration::from_secs));
    let pause = handle
        .job
        .wait(&WaitLimits { deadline: until, idle_timeout: silence, cancel: &cx.cancel })
        .await;
    with_pause_note(pause, new_output(handle))
}
