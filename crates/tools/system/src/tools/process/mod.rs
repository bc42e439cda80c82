//! `process`: the jobs that a session has running.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hermes_core::{
    CallEnding, Effect, JsonSchema, Resource, Scope, ShellScript, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir, answer_schema,
};
use hermes_exec::network;
use hermes_exec::screen;
use hermes_exec::{
    CommandTimeouts, JobHandle, JobRegistry, KILL_GRACE, ListeningPort, TerminalSize, WaitLimits,
    WaitOutcome,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::typed_input;

pub(super) mod leftovers;
mod report;

use report::{Output, ProcessRow};

/// The longest that settings can ask for; the tool keeps to its own limits.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60 + 30);
/// Bytes of new output in an answer.
const MAX_OUTPUT_BYTES: usize = 20_000;
/// Lines of a page.
const PAGE_LINES: usize = 200;
/// After something was typed, so long is waited for what comes of it ...
const ECHO_TIMEOUT: Duration = Duration::from_secs(10);
/// ... as long as there is something; one that asks is known by then.
const IDLE_THRESHOLD: Duration = Duration::from_millis(600);
/// How long it may take to find out whether a process asks for something.
const PROMPT_CHECK_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a process may take to read what it is sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Process {
    /// Those that were last asked about.
    jobs: Mutex<Weak<JobRegistry>>,
}

impl Process {
    /// Whether what is typed can reach nobody any more.
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
    /// What is new.
    Poll,
    /// Lines of its output.
    Log,
    /// Until it ends.
    Wait,
    Kill,
    /// Type data as it is.
    Write,
    /// Type data and enter.
    Submit,
    /// Press keys of its terminal.
    Keys,
    /// No more input.
    Close,
    /// Give its terminal rows and columns.
    Resize,
    /// Open a port that it listens on to this machine's browser.
    Publish,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    action: ProcessAction,
    /// Which one; all but list need it.
    session_id: Option<String>,
    /// For write and submit.
    data: Option<String>,
    /// For keys, such as "ctrl-c" or "down down enter".
    keys: Option<String>,
    /// For wait: seconds, default 180, at most 600. For write, submit and keys: until it asks again
    /// or ends, instead of until it is silent.
    timeout: Option<u64>,
    /// For log: the first line; default: the last ones.
    offset: Option<u64>,
    /// For log: how many lines; default 200.
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
            // However the process has ended: what was asked for is to know that.
            _ => CallEnding::Succeeded,
        }
    }

    fn spec() -> ToolSpec {
        ToolSpec::new("process", "terminal")
            .emoji("🧵")
            .description(
                "Look at, wait for, answer or end the commands that terminal has left running.",
            )
            .alias("process_manager")
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
                ToolExample::new("What is running", r#"{"action":"list"}"#)
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
        // Nobody has to be asked about what will not be run.
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
                    "{} was left in {place} by an earlier hermes that did not end well; whether it \
                     still runs is not known. The next command there ends it, or action=kill.",
                    entry.id
                ));
            }
            return Ok(output);
        }
        if args.action == ProcessAction::Publish {
            return publish(args.port, &jobs, cx);
        }
        let Some(id) = args.session_id.as_deref() else {
            return Err(ToolError::invalid("Which process? session_id is missing")
                .with_hint("action=list shows those that there are."));
        };
        match jobs.get(cx.session.id(), id) {
            Some(listed) => answer(&args, &listed, cx).await,
            None => leftovers::answer(&args, id, &jobs, cx).await,
        }
    }
}

/// What the session's processes listen on.
fn listening_ports(jobs: &JobRegistry, cx: &ToolContext) -> Vec<ListeningPort> {
    let Some(networks) = jobs.backend().networks() else { return Vec::new() };
    match networks.get(cx.session.id()) {
        Some(network) => network.listening(),
        // What an earlier program has left is in the session's network.
        None => {
            jobs.survivor(cx.session.id()).map(network::process_listening_ports).unwrap_or_default()
        }
    }
}

/// Opens a port of the session on this machine's loopback.
fn publish(port: Option<u16>, jobs: &JobRegistry, cx: &ToolContext) -> Result<Output, ToolError> {
    let Some(port) = port else {
        return Err(ToolError::invalid("publish needs a port")
            .with_hint("action=list shows the ports that processes listen on."));
    };
    let networks = jobs.backend().networks();
    let network = networks.and_then(|networks| networks.get(cx.session.id())).ok_or_else(|| {
        ToolError::unavailable("The session has no network of its own, so nothing is to publish")
            .with_hint("Run a command with terminal first: that opens the session's network.")
    })?;
    let outer = network.publish(port).map_err(|error| {
        ToolError::not_found(format!("Port {port} of the session cannot be reached: {error}"))
            .with_hint("action=list shows the ports that processes listen on.")
    })?;
    let mut output = Output::default();
    output.status = "published";
    output.ports = network.listening().into_iter().filter(|it| it.port == port).collect();
    output.add_note(&format!("http://127.0.0.1:{outer} leads there as long as hermes runs."));
    Ok(output)
}

/// What is typed into a shell is a command. What earlier ones have left there
/// is not known, so it is taken by itself.
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

/// Those of a session, with what they do at this moment.
async fn process_rows(jobs: &[Arc<JobHandle>]) -> Vec<ProcessRow> {
    // Elsewhere each of them is a trip.
    let asked: Vec<_> = jobs
        .iter()
        .map(|listed| {
            let listed = Arc::clone(listed);
            tokio::spawn(async move { is_awaiting_input(&listed).await })
        })
        .collect();
    let mut lines = Vec::new();
    for (listed, is_asking) in jobs.iter().zip(asked) {
        let is_asking = is_asking.await.unwrap_or(false);
        lines.push(ProcessRow::from_job(listed, is_asking));
    }
    lines
}

/// Whether it waits for somebody to type. A place that does not say so soon is
/// not waited for.
async fn is_awaiting_input(listed: &JobHandle) -> bool {
    tokio::time::timeout(PROMPT_CHECK_TIMEOUT, listed.job.is_awaiting_input())
        .await
        .unwrap_or(false)
}

async fn answer(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Result<Output, ToolError> {
    let is_look = matches!(args.action, ProcessAction::Log | ProcessAction::Poll);
    let is_asking = is_look && is_awaiting_input(listed).await;
    let mut output = match args.action {
        ProcessAction::Log => log_page(args, listed),
        ProcessAction::Wait => wait(args, listed, cx).await,
        ProcessAction::Kill => {
            // One that has just ended by itself was not killed.
            let was_running =
                listed.job.ended_now().await.is_none_or(|ended| ended.has_descendants);
            if was_running {
                listed.mark_killed();
            }
            listed.job.terminate(KILL_GRACE).await;
            let mut output = new_output(listed);
            output.status = if was_running { "killed" } else { "already_exited" };
            output
        }
        ProcessAction::Write | ProcessAction::Submit | ProcessAction::Keys => {
            let is_read = send_input(args, listed, cx).await?;
            let mut output = wait_for_reaction(args, listed, cx).await;
            if !is_read {
                output.add_note("It has not read all of that yet; it gets the rest when it does.");
            }
            output
        }
        ProcessAction::Close => {
            let job = Arc::clone(&listed.job);
            let closing = tokio::spawn(async move { job.close_input().await });
            let is_closed =
                cx.run_until_cancelled(tokio::time::timeout(SEND_TIMEOUT, closing)).await?.is_ok();
            // Most programs end with their input.
            let mut output = wait_for_reaction(args, listed, cx).await;
            if !is_closed {
                output.add_note("Its input is closed when it has read what it was sent.");
            }
            output
        }
        ProcessAction::Resize => {
            resize(args, listed)?;
            wait_for_reaction(args, listed, cx).await
        }
        ProcessAction::List | ProcessAction::Poll | ProcessAction::Publish => new_output(listed),
    };
    if listed.job.ended().is_some() {
        listed.acknowledge_end();
    } else if is_asking {
        output.status = "awaiting_input";
    }
    if listed.end_reason() == Some("inactivity") {
        output.add_note("It was ended because it wrote nothing for too long.");
    }
    output.add_place_notes(&listed.job);
    Ok(output)
}

fn resize(args: &Args, listed: &JobHandle) -> Result<(), ToolError> {
    let Some((rows, columns)) = listed.job.screen().map(|screen| screen.size()) else {
        return Err(
            ToolError::conflict("The process has no terminal").with_hint("Start it with pty.")
        );
    };
    let size =
        TerminalSize { rows: args.rows.unwrap_or(rows), columns: args.columns.unwrap_or(columns) };
    listed.job.resize(size).map_err(|error| ToolError::io("The process's terminal", &error))
}

fn new_output(listed: &JobHandle) -> Output {
    let news = listed.new_output(MAX_OUTPUT_BYTES);
    let mut output = Output::for_job(listed);
    if listed.job.screen().is_none() {
        output.output = Some(news.text);
    }
    if news.skipped > 0 {
        output.add_note(&format!("{} bytes before this are left out; see log.", news.skipped));
    }
    output
}

fn log_page(args: &Args, listed: &JobHandle) -> Output {
    let count = args.limit.map_or(PAGE_LINES, |limit| usize::try_from(limit).unwrap_or(PAGE_LINES));
    let count = count.clamp(1, 10 * PAGE_LINES);
    let log = listed.job.log();
    let total = log.lines();
    let first = match args.offset {
        None => total.saturating_sub(count as u64) + 1,
        Some(first) => first.max(1),
    };
    let (lines, total) = log.page(first, count);
    let told = log.len();
    drop(log);
    let last = first + lines.len() as u64;
    let mut output = Output::for_job(listed);
    output.total_lines = Some(total);
    output.showing = (!lines.is_empty()).then(|| format!("lines {first}-{}", last - 1));
    output.output = Some(lines.join("\n"));
    if last > total {
        listed.mark_read(told);
    }
    output
}

/// How long the end of a process is waited for.
fn wait_limit(args: &Args, cx: &ToolContext) -> Duration {
    let times = cx.ports.get::<CommandTimeouts>().map(|times| *times).unwrap_or_default();
    args.timeout.map_or(times.default_timeout, Duration::from_secs).min(times.max_timeout)
}

async fn wait(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Output {
    let limit = wait_limit(args, cx);
    let until = Some(Instant::now() + limit);
    let pause = listed
        .job
        .wait(&WaitLimits { deadline: until, idle_timeout: None, cancel: &cx.cancel })
        .await;
    let mut output = new_output(listed);
    if pause == WaitOutcome::Deadline {
        output.status = "timeout";
        let limit = limit.as_secs();
        output.add_note(&format!("It still runs after {limit} s; wait again, or kill it."));
    }
    with_pause_note(pause, output)
}

fn with_pause_note(pause: WaitOutcome, mut output: Output) -> Output {
    match pause {
        WaitOutcome::AwaitingInput => output.status = "awaiting_input",
        WaitOutcome::LiveScreen => output.add_note(
            "It keeps up its screen by itself: action=keys types, poll shows it, kill ends it.",
        ),
        WaitOutcome::Cancelled => output.status = "interrupted",
        WaitOutcome::Ended(_) | WaitOutcome::IdleTimeout | WaitOutcome::Deadline => {}
    }
    output
}

/// Types something; whether the process has taken all of it.
async fn send_input(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Result<bool, ToolError> {
    let bytes = match args.action {
        ProcessAction::Keys => {
            let keys = args.keys.as_deref().or(args.data.as_deref());
            let keys = keys.ok_or_else(|| ToolError::invalid("Which keys? keys is missing"))?;
            let modes = listed.job.screen().map(|screen| screen.modes()).unwrap_or_default();
            screen::encode_keys(keys, modes)
                .map_err(|unknown| ToolError::invalid(unknown.to_string()))?
        }
        action => {
            let data = args.data.as_deref();
            let data = data.ok_or_else(|| ToolError::invalid("What to type? data is missing"))?;
            let mut bytes = data.as_bytes().to_vec();
            if action == ProcessAction::Submit {
                bytes.push(if listed.job.screen().is_some() { b'\r' } else { b'\n' });
            }
            bytes
        }
    };
    if listed.job.ended().is_some() {
        return Err(ToolError::conflict("The process has ended; nobody reads what is typed")
            .with_hint("action=log shows what it wrote."));
    }
    if !listed.job.has_input() {
        return Err(ToolError::conflict("The process has no input, or it was closed")
            .with_hint("Start it with open_stdin or pty, which keep the input open."));
    }
    let job = Arc::clone(&listed.job);
    // It goes on when nobody waits for it: half a text would be worse.
    let sending = tokio::spawn(async move { job.write(&bytes).await });
    match cx.run_until_cancelled(tokio::time::timeout(SEND_TIMEOUT, sending)).await? {
        Ok(Ok(sent)) => {
            // It may close its input, or its terminal, and go on.
            sent.map(|()| true).map_err(|error| {
                ToolError::conflict(format!("The process no longer takes input: {error}"))
                    .with_hint("It has closed its input, or ends just now; action=poll shows.")
            })
        }
        Ok(Err(broken)) => Err(ToolError::internal(format!("The text was not sent: {broken}"))),
        Err(_elapsed) => Ok(false),
    }
}

/// Waits for what comes of it: an end, another question, or nothing more for
/// now.
async fn wait_for_reaction(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Output {
    let silence = args.timeout.is_none().then_some(IDLE_THRESHOLD);
    let until = Some(Instant::now() + args.timeout.map_or(ECHO_TIMEOUT, Duration::from_secs));
    let pause = listed
        .job
        .wait(&WaitLimits { deadline: until, idle_timeout: silence, cancel: &cx.cancel })
        .await;
    with_pause_note(pause, new_output(listed))
}
