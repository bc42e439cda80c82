//! `terminal`: a command in the session's shell.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hermes_core::{
    Effect, Example, JsonSchema, Resource, Scope, Tool, ToolContext, ToolError, ToolSpec, Workplace,
};
use hermes_exec::{Exit, GRACE, Input, Job, Jobs, Output as Streams, Patience, Pause, Size};
use serde::{Deserialize, Serialize};

use crate::shell::{self, After, How, Prepared};

mod meaning;

/// How long a command is waited for, and at most.
const USUAL: u64 = 180;
const LONGEST: u64 = 600;
/// Bytes of output in an answer.
const SHOWN: usize = 50_000;
/// How long a new background job is watched for an early end.
const EARLY: Duration = Duration::from_millis(300);

#[derive(Debug, Default)]
pub(crate) struct Terminal {
    /// Whose jobs end with the program.
    jobs: OnceLock<Arc<Jobs>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// For bash. Folder, variables, functions, aliases and options last for the session.
    #[serde(default)]
    command: String,
    /// Return at once with a session_id for the process tool; for servers and watchers.
    #[serde(default)]
    background: bool,
    /// Seconds, then it is ended; default 180, at most 600.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Seconds, then it goes on in the background.
    #[schemars(range(min = 1))]
    background_after: Option<u64>,
    /// Folder for this command only.
    workdir: Option<String>,
    /// A real terminal, for programs that draw or ask; answer with the process tool.
    #[serde(default)]
    pty: bool,
    /// Text for its standard input, which is empty otherwise.
    stdin: Option<String>,
    /// Give stdout and stderr apart as well.
    #[serde(default)]
    separate: bool,
    /// Forget what earlier commands have left; command may be empty.
    #[serde(default)]
    reset: bool,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct Output {
    output: String,
    /// None as long as it runs.
    exit_code: Option<i32>,
    /// Why it did not end as it should.
    error: Option<String>,
    /// `timeout`, `awaiting_input`, `running`; none if it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code_meaning: Option<String>,
    cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    /// What its terminal shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    screen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
    /// All of the output, if it is too long for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_file: Option<String>,
    /// What held the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for Terminal {
    type Args = Args;
    type Output = Output;

    fn spec() -> ToolSpec {
        ToolSpec::new("terminal", "terminal")
            .emoji("💻")
            .description(
                "Run a command in the session's shell. For reading, searching and changing files \
                 use the file tools.",
            )
            .alias("bash")
            .alias("shell")
            .alias("run_command")
            .parameter_alias("cmd", "command")
            .parameter_alias("cwd", "workdir")
            .parameter_alias("input", "stdin")
            .destructive()
            .timeout(Duration::from_secs(LONGEST + 30))
            .keyword("execute")
            .keyword("command")
            .keyword("process")
            .keyword("console")
            .example(
                Example::new("A command", r#"{"command":"echo hello"}"#)
                    .gives(r#"{"output":"hello\n","exit_code":0,"error":null}"#),
            )
    }

    fn effects(&self, args: &Args, at: &Workplace) -> Vec<Effect> {
        let mut effects = vec![Effect {
            scope: Scope::TERMINAL_EXECUTE,
            resource: Resource::Command(args.command.clone()),
        }];
        if let Some(folder) = &args.workdir {
            effects.push(Effect::path(Scope::FILE_READ, at.resolve(folder)));
        }
        effects
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        cx.permit(&Scope::TERMINAL_EXECUTE, &Resource::Command(args.command.clone()))?;
        if args.reset {
            shell::reset(cx)?;
        }
        if args.command.trim().is_empty() {
            return empty(&args, cx);
        }
        let jobs = shell::jobs(cx);
        let _ = self.jobs.set(Arc::clone(&jobs));
        let directory = match &args.workdir {
            Some(folder) => cx.workplace.resolve(folder),
            None => cx.workplace.cwd().to_path_buf(),
        };
        let how = How { directory: directory.clone(), input: input(&args), output: streams(&args) };
        let Prepared { order, frame, after } =
            Prepared::of(&args.command, how, &jobs, cx).await?;
        let job = jobs.start_as(jobs.fresh_id(), args.command.clone(), order, frame).await?;
        let call = Call { args, cx, jobs: &jobs, job, directory };
        if call.args.background { call.background().await } else { call.foreground(after).await }
    }

    async fn teardown(&self) {
        if let Some(jobs) = self.jobs.get() {
            jobs.close().await;
        }
    }
}

fn empty(args: &Args, cx: &ToolContext) -> Result<Output, ToolError> {
    if !args.reset {
        return Err(ToolError::invalid("There is no command to run"));
    }
    Ok(Output {
        exit_code: Some(0),
        cwd: cx.workplace.cwd().display().to_string(),
        note: Some("The shell starts over: folder, variables, functions, aliases.".into()),
        ..Output::default()
    })
}

fn input(args: &Args) -> Input {
    match &args.stdin {
        Some(text) => Input::Given(text.clone().into_bytes()),
        None if args.background => Input::Open,
        None => Input::Nothing,
    }
}

fn streams(args: &Args) -> Streams {
    match (args.pty, args.separate) {
        (true, _) => Streams::Terminal(Size::default()),
        (false, true) => Streams::Apart,
        (false, false) => Streams::Together,
    }
}

/// A command that was started.
struct Call<'a> {
    args: Args,
    cx: &'a ToolContext,
    jobs: &'a Jobs,
    job: Arc<Job>,
    directory: PathBuf,
}

impl Call<'_> {
    async fn foreground(self, after: After) -> Result<Output, ToolError> {
        let Self { args, cx, jobs, job, directory } = self;
        let limit = args.timeout.unwrap_or(USUAL).min(LONGEST);
        let end = Instant::now() + Duration::from_secs(limit);
        let turn = args.background_after.map(|after| Instant::now() + Duration::from_secs(after));
        let until = turn.map_or(end, |turn| turn.min(end));
        let patience = Patience { until: Some(until), silence: None, cancel: &cx.cancel };
        let pause = job.wait(&patience).await;
        let is_turned = turn.is_some_and(|turn| turn <= end) && pause == Pause::Deadline;
        if is_turned || pause == Pause::Question {
            let status = if is_turned { "running" } else { "awaiting_input" };
            jobs.list(Arc::clone(&job), cx.session.id(), directory.clone(), false);
            let mut output = describe(&job, &args, directory);
            output.status = Some(status);
            output.session_id = Some(job.id.clone());
            output.pid = job.pid;
            output.note = Some(match status {
                "running" => "It goes on in the background; see the process tool.".to_owned(),
                _ => "It waits for somebody to type: process action=submit answers it.".to_owned(),
            });
            return Ok(output);
        }
        let error = match pause {
            Pause::Ended(_) => None,
            Pause::Cancelled => Some("The command was interrupted".to_owned()),
            _ => Some(format!("The command was ended after {limit} s")),
        };
        if error.is_some() {
            job.end(GRACE).await;
        }
        if job.ended().is_some_and(|ended| ended.lingers) {
            jobs.list(Arc::clone(&job), cx.session.id(), directory.clone(), false);
        }
        let folder = after.settle(&job, args.workdir.is_none(), cx);
        let mut output = describe(&job, &args, folder.unwrap_or(directory));
        if let Some(error) = error {
            output.status = Some(if pause == Pause::Cancelled { "cancelled" } else { "timeout" });
            output.exit_code = Some(if pause == Pause::Cancelled { 130 } else { 124 });
            output.error = Some(error);
        }
        if args.timeout.is_some_and(|wanted| wanted > LONGEST) {
            output.note = Some(format!(
                "A command is waited for at most {LONGEST} s; use background for longer ones."
            ));
        }
        Ok(output)
    }

    async fn background(self) -> Result<Output, ToolError> {
        let Self { args, cx, jobs, job, directory } = self;
        let listed = jobs.list(Arc::clone(&job), cx.session.id(), directory.clone(), false);
        // One that cannot even start is better told at once.
        let until = Some(Instant::now() + EARLY);
        job.wait(&Patience { until, silence: None, cancel: &cx.cancel }).await;
        let mut output = describe(&job, &args, directory);
        listed.catch_up();
        output.session_id = Some(job.id.clone());
        output.pid = job.pid;
        if job.ended().is_none() {
            output.status = Some("running");
            output.note =
                Some("process action=poll shows what is new; it ends with hermes.".into());
        }
        Ok(output)
    }
}

fn describe(job: &Job, args: &Args, folder: PathBuf) -> Output {
    let log = job.log();
    let summary = log.summary(SHOWN);
    let apart = |source| args.separate.then(|| log.of(source, SHOWN).text);
    let output_file =
        summary.is_cut.then(|| log.file().map(|file| file.display().to_string())).flatten();
    let mut output = Output {
        stdout: apart(hermes_exec::output::Source::Stdout),
        stderr: apart(hermes_exec::output::Source::Stderr),
        output: summary.text,
        output_file,
        cwd: folder.display().to_string(),
        sandbox: job.held.clone(),
        ..Output::default()
    };
    drop(log);
    output.screen = job.screen().map(|screen| screen.text());
    if output.screen.is_some() {
        // What was drawn is not for reading.
        output.output.clear();
    }
    if let Some(ended) = job.ended() {
        output.exit_code = Some(ended.exit.code());
        output.duration_ms = u64::try_from(ended.after.as_millis()).ok();
        output.exit_code_meaning = meaning::of(&args.command, ended.exit);
        if let Exit::Signal(signal) = ended.exit {
            output.error = Some(format!("It was ended by signal {signal}"));
        }
        if ended.lingers {
            output.note =
                Some("Something that it started still runs; see the process tool.".into());
            output.session_id = Some(job.id.clone());
        }
    }
    output
}
