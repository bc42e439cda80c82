//! `process`: the jobs that a session has running.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use hermes_core::{
    Effect, CallEnding, ToolExample, JsonSchema, Resource, Scope, ShellScript, Tool, ToolContext, ToolError,
    ToolSpec, WorkingDir, answer_schema,
};
use hermes_exec::network;
use hermes_exec::screen;
use hermes_exec::{KILL_GRACE, JobRegistry, JobHandle, ListeningPort, WaitLimits, WaitOutcome, TerminalSize, CommandTimeouts};
use serde::Deserialize;
use serde_json::Value;

use crate::typed;

pub(super) mod left;
mod report;

use report::{Line, Output};

/// The longest that settings can ask for; the tool keeps to its own limits.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60 + 30);
/// Bytes of new output in an answer.
const SHOWN: usize = 20_000;
/// Lines of a page.
const PAGE: usize = 200;
/// After something was typed, so long is waited for what comes of it ...
const ECHO: Duration = Duration::from_secs(10);
/// ... as long as there is something; one that asks is known by then.
const HUSH: Duration = Duration::from_millis(600);
/// How long it may take to find out whether a process asks for something.
const LOOK: Duration = Duration::from_secs(3);
/// How long a process may take to read what it is sent.
const SENDING: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Process {
    /// Those that were last asked about.
    jobs: Mutex<Weak<JobRegistry>>,
}

impl Process {
    /// Whether what is typed can reach nobody any more.
    fn is_over(&self, args: &Args) -> bool {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let over = jobs.zip(args.session_id.as_deref()).map(|(jobs, id)| jobs.has_ended(id));
        over.unwrap_or(false)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
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
    action: Action,
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
            .timeout(LONGEST)
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
        if args.action == Action::Publish {
            let host = format!("127.0.0.1:{}", args.port.unwrap_or_default());
            effects.push(Effect { scope: Scope::NETWORK_SEND, resource: Resource::Host(host) });
        }
        // Nobody has to be asked about what will not be run.
        if !self.is_over(args) {
            effects.extend(command(args));
        }
        effects
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        for effect in self.effects(&args, &cx.working_dir) {
            cx.check_grant(&effect.scope, &effect.resource)?;
        }
        let jobs = JobRegistry::from_context(cx);
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&jobs);
        if args.action == Action::List {
            let mut lines = lines(&jobs.session_jobs(cx.session.id())).await;
            let left = left::here(&jobs, cx).await;
            lines.extend(left.iter().map(Line::left_over));
            let mut output = Output::list(lines);
            output.ports = ports(&jobs, cx);
            for (entry, place) in left.iter().filter_map(|it| Some((it, it.elsewhere.as_ref()?))) {
                output.add_note(&format!(
                    "{} was left in {place} by an earlier hermes that did not end well; whether it \
                     still runs is not known. The next command there ends it, or action=kill.",
                    entry.id
                ));
            }
            return Ok(output);
        }
        if args.action == Action::Publish {
            return publish(args.port, &jobs, cx);
        }
        let Some(id) = args.session_id.as_deref() else {
            return Err(ToolError::invalid("Which process? session_id is missing")
                .with_hint("action=list shows those that there are."));
        };
        match jobs.get(cx.session.id(), id) {
            Some(listed) => answer(&args, &listed, cx).await,
            None => left::answer(&args, id, &jobs, cx).await,
        }
    }
}

/// What the session's processes listen on.
fn ports(jobs: &JobRegistry, cx: &ToolContext) -> Vec<ListeningPort> {
    let Some(networks) = jobs.backend().networks() else { return Vec::new() };
    match networks.get(cx.session.id()) {
        Some(network) => network.listening(),
        // What an earlier program has left is in the session's network.
        None => jobs.survivor(cx.session.id()).map(network::process_listening_ports).unwrap_or_default(),
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
fn command(args: &Args) -> Option<Effect> {
    args.session_id.as_deref().filter(|id| typed::is_shell(id))?;
    let text = match args.action {
        Action::Write | Action::Submit => args.data.clone()?,
        Action::Keys => typed::keys(args.keys.as_deref().or(args.data.as_deref())?),
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
async fn lines(jobs: &[Arc<JobHandle>]) -> Vec<Line> {
    // Elsewhere each of them is a trip.
    let asked: Vec<_> = jobs
        .iter()
        .map(|listed| {
            let listed = Arc::clone(listed);
            tokio::spawn(async move { is_asking(&listed).await })
        })
        .collect();
    let mut lines = Vec::new();
    for (listed, is_asking) in jobs.iter().zip(asked) {
        let is_asking = is_asking.await.unwrap_or(false);
        lines.push(Line::of(listed, is_asking));
    }
    lines
}

/// Whether it waits for somebody to type. A place that does not say so soon is
/// not waited for.
async fn is_asking(listed: &JobHandle) -> bool {
    tokio::time::timeout(LOOK, listed.job.is_awaiting_input()).await.unwrap_or(false)
}

async fn answer(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Result<Output, ToolError> {
    let is_look = matches!(args.action, Action::Log | Action::Poll);
    let is_asking = is_look && is_asking(listed).await;
    let mut output = match args.action {
        Action::Log => log(args, listed),
        Action::Wait => wait(args, listed, cx).await,
        Action::Kill => {
            // One that has just ended by itself was not killed.
            let was_running = listed.job.ended_now().await.is_none_or(|ended| ended.has_descendants);
            if was_running {
                listed.mark_killed();
            }
            listed.job.terminate(KILL_GRACE).await;
            let mut output = news(listed);
            output.status = if was_running { "killed" } else { "already_exited" };
            output
        }
        Action::Write | Action::Submit | Action::Keys => {
            let is_read = type_in(args, listed, cx).await?;
            let mut output = settle(args, listed, cx).await;
            if !is_read {
                output.add_note("It has not read all of that yet; it gets the rest when it does.");
            }
            output
        }
        Action::Close => {
            let job = Arc::clone(&listed.job);
            let closing = tokio::spawn(async move { job.close_input().await });
            let is_closed = cx.run_until_cancelled(tokio::time::timeout(SENDING, closing)).await?.is_ok();
            // Most programs end with their input.
            let mut output = settle(args, listed, cx).await;
            if !is_closed {
                output.add_note("Its input is closed when it has read what it was sent.");
            }
            output
        }
        Action::Resize => {
            resize(args, listed)?;
            settle(args, listed, cx).await
        }
        Action::List | Action::Poll | Action::Publish => news(listed),
    };
    if listed.job.ended().is_some() {
        listed.acknowledge_end();
    } else if is_asking {
        output.status = "awaiting_input";
    }
    if listed.end_reason() == Some("inactivity") {
        output.add_note("It was ended because it wrote nothing for too long.");
    }
    output.add_place(&listed.job);
    Ok(output)
}

fn resize(args: &Args, listed: &JobHandle) -> Result<(), ToolError> {
    let Some((rows, columns)) = listed.job.screen().map(|screen| screen.size()) else {
        return Err(
            ToolError::conflict("The process has no terminal").with_hint("Start it with pty.")
        );
    };
    let size = TerminalSize { rows: args.rows.unwrap_or(rows), columns: args.columns.unwrap_or(columns) };
    listed.job.resize(size).map_err(|error| ToolError::io("The process's terminal", &error))
}

fn news(listed: &JobHandle) -> Output {
    let news = listed.new_output(SHOWN);
    let mut output = Output::of(listed);
    if listed.job.screen().is_none() {
        output.output = Some(news.text);
    }
    if news.skipped > 0 {
        output.add_note(&format!("{} bytes before this are left out; see log.", news.skipped));
    }
    output
}

fn log(args: &Args, listed: &JobHandle) -> Output {
    let count = args.limit.map_or(PAGE, |limit| usize::try_from(limit).unwrap_or(PAGE));
    let count = count.clamp(1, 10 * PAGE);
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
    let mut output = Output::of(listed);
    output.total_lines = Some(total);
    output.showing = (!lines.is_empty()).then(|| format!("lines {first}-{}", last - 1));
    output.output = Some(lines.join("\n"));
    if last > total {
        listed.mark_read(told);
    }
    output
}

/// How long the end of a process is waited for.
fn patience(args: &Args, cx: &ToolContext) -> Duration {
    let times = cx.ports.get::<CommandTimeouts>().map(|times| *times).unwrap_or_default();
    args.timeout.map_or(times.default_timeout, Duration::from_secs).min(times.max_timeout)
}

async fn wait(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Output {
    let limit = patience(args, cx);
    let until = Some(Instant::now() + limit);
    let pause = listed.job.wait(&WaitLimits { deadline: until, idle_timeout: None, cancel: &cx.cancel }).await;
    let mut output = news(listed);
    if pause == WaitOutcome::Deadline {
        output.status = "timeout";
        let limit = limit.as_secs();
        output.add_note(&format!("It still runs after {limit} s; wait again, or kill it."));
    }
    tell(pause, output)
}

fn tell(pause: WaitOutcome, mut output: Output) -> Output {
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
async fn type_in(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Result<bool, ToolError> {
    let bytes = match args.action {
        Action::Keys => {
            let keys = args.keys.as_deref().or(args.data.as_deref());
            let keys = keys.ok_or_else(|| ToolError::invalid("Which keys? keys is missing"))?;
            let modes = listed.job.screen().map(|screen| screen.modes()).unwrap_or_default();
            screen::encode_keys(keys, modes).map_err(|unknown| ToolError::invalid(unknown.to_string()))?
        }
        action => {
            let data = args.data.as_deref();
            let data = data.ok_or_else(|| ToolError::invalid("What to type? data is missing"))?;
            let mut bytes = data.as_bytes().to_vec();
            if action == Action::Submit {
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
    match cx.run_until_cancelled(tokio::time::timeout(SENDING, sending)).await? {
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
async fn settle(args: &Args, listed: &JobHandle, cx: &ToolContext) -> Output {
    let silence = args.timeout.is_none().then_some(HUSH);
    let until = Some(Instant::now() + args.timeout.map_or(ECHO, Duration::from_secs));
    let pause = listed.job.wait(&WaitLimits { deadline: until, idle_timeout: silence, cancel: &cx.cancel }).await;
    tell(pause, news(listed))
}
