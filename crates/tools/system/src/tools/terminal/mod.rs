//! `terminal`: runs a command in the session's shell.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hermes_core::{
    CallEnding, Effect, JsonSchema, Resource, Scope, ShellScript, Tool, ToolContext, ToolError,
    ToolExample, ToolSpec, WorkingDir, answer_schema,
};
use hermes_exec::{
    BackendPhase, CommandSpec, JobRegistry, StdinSource, StdioMode as Streams, TerminalSize,
};
use serde::Deserialize;
use serde_json::Value;

use crate::shell::{self, PreparedCommand, ShellRunOptions};
use crate::typed_input;

mod answer;
mod call;
mod disk;
mod editor;
mod exit_meaning;
mod scan;
mod sudo;

use answer::Output;
use call::TerminalCall;

/// Largest timeout that settings can request; the tool applies its own limits.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60 + 30);

#[derive(Debug, Default)]
pub(crate) struct Terminal {
    /// The registry whose jobs end on teardown.
    jobs: OnceLock<Arc<JobRegistry>>,
    sudo: sudo::SudoPasswords,
    disk_warning: disk::DiskWarning,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// For bash. Cwd, variables, functions, aliases and options persist for the
    /// session.
    #[serde(default, deserialize_with = "bounded_command")]
    command: String,
    /// Return at once with a session_id for the process tool; for servers and watchers.
    #[serde(default)]
    background: bool,
    /// Seconds until killed; default 180, at most 600.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Seconds until it moves to the background.
    #[schemars(range(min = 1))]
    background_after: Option<u64>,
    /// Cwd for this command only.
    workdir: Option<String>,
    /// A real terminal, for interactive programs; answer with the process tool.
    #[serde(default)]
    pty: bool,
    /// Text for stdin; default empty.
    stdin: Option<String>,
    /// Add separate stdout and stderr.
    #[serde(default)]
    separate: bool,
    /// Keep stdin open for process write and submit.
    #[serde(default)]
    open_stdin: bool,
    /// Seconds without output until killed.
    #[schemars(range(min = 1))]
    inactivity_timeout: Option<u64>,
    /// In the background: notify on exit.
    #[serde(default)]
    notify_on_complete: bool,
    /// In the background: notify of lines with any of these.
    watch_patterns: Option<Vec<String>>,
    /// Run in the background and outlive hermes.
    #[serde(default)]
    detach: bool,
    /// Reset the shell state first; command may be empty.
    #[serde(default)]
    reset: bool,
}

/// Longest command; a system takes at most 2 MiB of arguments and variables.
const MAX_COMMAND_BYTES: usize = 1024 * 1024;

/// Refuses a long command before it is analyzed.
fn bounded_command<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let command = String::deserialize(from)?;
    if command.len() > MAX_COMMAND_BYTES {
        return Err(serde::de::Error::custom(format_args!(
            "`command` is too long: {} bytes, at most {MAX_COMMAND_BYTES}; write the script to a \
             file with write_file and run it with `bash FILE`, or pass data as `stdin`",
            command.len()
        )));
    }
    Ok(command)
}

impl Tool for Terminal {
    type Args = Args;
    type Output = Output;

    fn ending(output: &Output) -> CallEnding {
        output.ending()
    }

    fn spec() -> ToolSpec {
        ToolSpec::new("terminal", "terminal")
            .emoji("💻")
            .description(
                "Run a command in the session's shell. For reading, searching and changing files \
                 use the file tools.",
            )
            .alias("bash")
            .alias("shell")
            .alias("shell_command")
            .alias("run_command")
            .alias("execute_command")
            .alias("exec_command")
            .alias("execute_bash")
            .alias("run_shell_command")
            .alias("run_in_terminal")
            .alias("run_terminal_cmd")
            .alias("run_terminal_command")
            .parameter_alias("cmd", "command")
            .parameter_alias("cwd", "workdir")
            .parameter_alias("directory", "workdir")
            .parameter_alias("input", "stdin")
            .parameter_alias("is_background", "background")
            .parameter_alias("run_in_background", "background")
            .destructive()
            .timeout(MAX_TIMEOUT)
            .keyword("execute")
            .keyword("command")
            .keyword("process")
            .keyword("console")
            .example(
                ToolExample::new("A command", r#"{"command":"echo hello"}"#)
                    .expects(r#"{"output":"hello\n","exit_code":0,"error":null}"#),
            )
    }

    fn output_schema() -> Option<Value> {
        Some(answer_schema::<Output>())
    }

    fn effects(&self, args: &Args, at: &WorkingDir) -> Vec<Effect> {
        let mut effects =
            vec![Effect { scope: Scope::TERMINAL_EXECUTE, resource: resource(args, at) }];
        if let Some(dir) = &args.workdir {
            effects.push(Effect::path(Scope::FILE_READ, at.resolve(dir)));
        }
        effects
    }

    async fn run(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        cx.check_grant(&Scope::TERMINAL_EXECUTE, &resource(&args, &cx.working_dir))?;
        let output = self.run_once(args.clone(), cx).await?;
        let Some(wider) = widened_context(&output, cx).await else { return Ok(output) };
        let mut again = self.run_once(Args { reset: false, ..args }, &wider).await?;
        again.add_note("It ran a second time, with what the user allowed after the first.");
        Ok(again)
    }

    async fn teardown(&self) {
        if let Some(jobs) = self.jobs.get() {
            jobs.close().await;
        }
    }
}

impl Terminal {
    async fn run_once(&self, args: Args, cx: &ToolContext) -> Result<Output, ToolError> {
        let fresh = if args.reset { Some(reset_shell(&args, cx)?) } else { None };
        if args.command.trim().is_empty() {
            return empty_command_answer(fresh.as_deref());
        }
        let jobs = JobRegistry::from_context(cx);
        let _ = self.jobs.set(Arc::clone(&jobs));
        let directory = match &args.workdir {
            Some(dir) => existing_workdir(cx.working_dir.resolve(dir), &jobs)?,
            None => {
                shell::require_cwd(&jobs, cx)?;
                cx.working_dir.cwd().to_path_buf()
            }
        };
        let options = ShellRunOptions {
            directory: directory.clone(),
            input: input(&args),
            output: streams(&args),
        };
        let raised = self.sudo.prepare(&args.command, &jobs, cx)?;
        let mut command = raised.as_ref().map_or(&args.command, |raised| &raised.command).clone();
        let file =
            if args.detach { Some(redirect_to_file(&args, &jobs, &mut command)?) } else { None };
        let limit = call::command_timeout(&args, cx);
        let prepared = PreparedCommand::prepare(&command, options, &jobs, cx);
        let PreparedCommand { mut spec, completion, report_extractor } =
            jobs.with_timeout(limit, BackendPhase::Opening, cx, prepared).await?;
        if let Some(file) = &file {
            allow_output_file(&mut spec, file);
        }
        let can_type = args.pty || matches!(input(&args), StdinSource::Pipe);
        let is_shell =
            can_type && typed_input::runs_input(&args.command, &cx.session, &cx.working_dir);
        let id = typed_input::process_name(jobs.fresh_id(), is_shell);
        let started = jobs.start_as(id, args.command.clone(), spec, report_extractor);
        let job = jobs.with_timeout(limit, BackendPhase::Starting, cx, started).await?;
        if let Some(text) = args.stdin.clone().filter(|_| args.open_stdin) {
            let job = Arc::clone(&job);
            // A command that does not read its input has not failed.
            tokio::spawn(async move { job.write(text.as_bytes()).await });
        }
        let dir = directory.clone();
        let is_background = args.background || args.detach;
        let session = fresh.unwrap_or_else(|| cx.working_dir.cwd().to_path_buf());
        let call = TerminalCall {
            args,
            cx,
            jobs: &jobs,
            job,
            directory,
            session_cwd: session,
            sudo_command: raised,
            file,
        };
        let mut output = if is_background {
            call.background().await?
        } else {
            call.foreground(completion).await?
        };
        if let Some(warning) = self.disk_warning.warning_for(&[&dir, jobs.directory()]) {
            output.add_note(warning);
        }
        Ok(output)
    }
}

/// Returns the context of a second run, if the sandbox blocked a write of the
/// first and the user allows it.
async fn widened_context(output: &Output, cx: &ToolContext) -> Option<ToolContext> {
    let paths: Vec<&PathBuf> = output.blocked.iter().filter_map(|it| it.path.as_ref()).collect();
    let (Some(host), Some(confinement)) = (&cx.engine, &cx.confinement) else { return None };
    if paths.is_empty() || output.exit_code.is_none_or(|code| code == 0) {
        return None;
    }
    let shown = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let reason = format!(
        "The sandbox blocked the command from writing {shown}. Run it again with this allowed?"
    );
    let effects = paths.iter().map(|path| Effect::path(Scope::FILE_WRITE, *path));
    if !host.request_approval(effects.collect(), reason).await {
        return None;
    }
    let mut confinement = (**confinement).clone();
    confinement.write.extend(
        paths
            .iter()
            .filter_map(|path| path.ancestors().find(|it| it.is_dir()))
            .map(Path::to_path_buf),
    );
    let mut wider = cx.clone();
    wider.confinement = Some(Arc::new(confinement));
    Some(wider)
}

/// Resets the shell and returns the session's directory. A command in the same
/// call was ruled on for its current directory, so it runs there, and the
/// session stays there.
fn reset_shell(args: &Args, cx: &ToolContext) -> Result<PathBuf, ToolError> {
    if args.command.trim().is_empty() || args.workdir.is_some() {
        shell::reset_shell(cx)
    } else {
        shell::clear_state(cx)?;
        Ok(cx.working_dir.cwd().to_path_buf())
    }
}

/// Returns the working directory if it exists. On a remote backend the shell
/// finds out.
fn existing_workdir(dir: PathBuf, jobs: &JobRegistry) -> Result<PathBuf, ToolError> {
    let missing = |why: &str| workdir_not_found(&dir, why);
    match std::fs::metadata(&dir) {
        _ if !jobs.backend().is_local() => Ok(dir),
        Ok(found) if !found.is_dir() => Err(missing("not a directory")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(missing("no such directory"))
        }
        _ => Ok(dir),
    }
}

fn workdir_not_found(dir: &Path, why: &str) -> ToolError {
    ToolError::not_found(format!("workdir {}: {why}; nothing was run", dir.display()))
        .with_hint("Give an existing directory.")
}

/// The command with its directory and its stdin, which may also be code.
fn resource(args: &Args, at: &WorkingDir) -> Resource {
    let open_ended = args.background
        || args.pty
        || args.separate
        || args.open_stdin
        || args.notify_on_complete
        || args.detach
        || args.reset;
    if args.workdir.is_none() && args.stdin.is_none() && !open_ended {
        return Resource::Command(args.command.clone());
    }
    Resource::Script(Box::new(ShellScript {
        text: args.command.clone(),
        cwd: args.workdir.as_deref().map(|dir| at.resolve(dir)),
        stdin: args.stdin.clone(),
        fresh_shell: false,
        background: (args.background || args.detach) && !args.reset,
        detaches: args.detach,
        open_ended,
    }))
}

fn empty_command_answer(fresh: Option<&Path>) -> Result<Output, ToolError> {
    let Some(dir) = fresh else {
        return Err(ToolError::invalid("'command' is empty"));
    };
    let mut output = Output::default();
    output.exit_code = Some(0);
    output.cwd = dir.display().to_string();
    output.add_note("The shell was reset: directory, variables, functions, aliases.");
    Ok(output)
}

/// Redirects the command's output to a separate file that outlives hermes. Not
/// in the hermes home, where commands may not write.
fn redirect_to_file(
    args: &Args,
    jobs: &JobRegistry,
    command: &mut String,
) -> Result<PathBuf, ToolError> {
    if args.pty {
        return Err(ToolError::invalid("'detach' and 'pty' are mutually exclusive")
            .with_hint("Leave out pty, or start the command inside tmux or screen."));
    }
    if args.stdin.is_some() || args.open_stdin {
        return Err(ToolError::invalid("'detach' excludes 'stdin' and 'open_stdin'")
            .with_hint("Leave out stdin and open_stdin; the command can read a file: < FILE."));
    }
    if jobs.backend().name() != "local" {
        return Err(ToolError::invalid("Only local commands can be detached").with_hint(
            "Use background. To outlive hermes there, use a service of that machine, such as \
                 systemd-run or at.",
        ));
    }
    let file = jobs.detached_dir()?.join("output.log");
    // Owner-only: the process writes to it directly, whatever the content.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    made.map_err(|error| ToolError::io(file.display(), &error))?;
    let name = hermes_core::text::shell_quote(&file.to_string_lossy());
    // On one line, to keep the line numbers of the command.
    command.insert_str(0, &format!("exec >>{name} 2>&1 </dev/null || exit 126; "));
    Ok(file)
}

/// Allows the command to write to its output file.
fn allow_output_file(spec: &mut CommandSpec, file: &Path) {
    spec.confinement = spec.confinement.take().map(|confinement| {
        let mut confinement = (*confinement).clone();
        confinement.write.extend(file.parent().map(Path::to_path_buf));
        Arc::new(confinement)
    });
}

fn input(args: &Args) -> StdinSource {
    match &args.stdin {
        // The given text is sent first.
        _ if args.open_stdin => StdinSource::Pipe,
        Some(text) => StdinSource::Bytes(text.clone().into_bytes()),
        None => StdinSource::Empty,
    }
}

fn streams(args: &Args) -> Streams {
    match (args.pty, args.separate) {
        (true, _) => Streams::Terminal(TerminalSize::default()),
        (false, true) => Streams::Separate,
        (false, false) => Streams::Merged,
    }
}
