//! `hermes batch`: runs many prompts as separate conversations and records them
//! for training.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, Subcommand};
use hermes::core::{BoxFuture, CancellationToken, ErrorKind};
use hermes::engine::distributions::{self, ToolsetDistribution};
use hermes_agent::{NullObserver, TurnEnd};
use hermes_batch::{
    BatchError, BatchJob as Work, BatchPlan, BatchProgress, BatchPrompt, BatchSummary,
    ConversationWorker, PromptFile, RecordedConversation, WorkerError,
};
use hermes_llm::ContentPart;
use serde_json::json;

use super::runtime;
use crate::agent_session::AgentOptions;
use crate::app::{AppContext, AppServices};
use crate::args::{CallOptions, ProfileOptions, ToolsetFilter};
use crate::command_error::{CliExitCode, CommandError, CommandResult};
use crate::mcp_servers::ServerSelection;
use crate::mode::{AgentMode, ModeFlags};
use crate::terminal::{TerminalOutput, one_line};

/// Maximum number of bad lines that are reported individually.
const MAX_REPORTED_LINES: usize = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum BatchCommand {
    /// Run a conversation for each prompt in a file, and record them
    Run(BatchRunArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct BatchRunArgs {
    /// File with one JSON object per line: `prompt`, and optionally `cwd`
    prompts: PathBuf,
    /// Output directory; defaults to one in the current directory, named after
    /// the file
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Distribution of toolsets: a name from `hermes toolsets sample`, or
    /// percentages such as `web=50,file=20`
    #[arg(long, default_value = "default", value_name = "NAME")]
    distribution: String,
    /// Number of concurrent conversations
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// Random seed; the same seed draws the same toolsets
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Maximum number of model requests per prompt
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: u32,
    /// Model, as MODEL or PROVIDER:MODEL
    #[arg(long, short = 'm', value_name = "NAME")]
    model: Option<String>,
    /// Resume the batch in the output directory
    #[arg(long)]
    resume: bool,
    /// Number of prompts per output file
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch_size: u32,
    /// Maximum number of prompts, from the start of the file
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Omit conversations without reasoning from trajectories.jsonl
    #[arg(long)]
    need_reasoning: bool,
    #[command(flatten)]
    profile: ProfileOptions,
}

impl BatchRunArgs {
    /// Returns the output directory: `prompts-batch` for `prompts.jsonl`.
    fn output_dir(&self) -> PathBuf {
        let named = || {
            let stem = self.prompts.file_stem().unwrap_or(self.prompts.as_os_str());
            PathBuf::from(format!("{}-batch", stem.to_string_lossy()))
        };
        self.output.clone().unwrap_or_else(named)
    }
}

impl From<BatchError> for CommandError {
    fn from(error: BatchError) -> Self {
        let text = error.to_string();
        match error {
            BatchError::AlreadyExists(_) => CommandError::usage(text)
                .hint("Continue it with --resume, or choose another directory."),
            BatchError::Busy(_) => CommandError::failed(ErrorKind::Conflict, text),
            BatchError::PlanMismatch { what, .. } => CommandError::usage(text)
                .hint(format!("Pass the same --{what}, or choose another directory.")),
            BatchError::NoToolset(_) => CommandError::usage(text)
                .hint("`hermes toolsets list` shows the available toolsets."),
            _ => CommandError::failed(ErrorKind::Internal, text)
                .hint("Check the file and the directory."),
        }
    }
}

pub(crate) fn run(app: &AppContext, command: BatchCommand) -> CommandResult {
    let BatchCommand::Run(args) = command;
    let mut prompts = PromptFile::load(&args.prompts)?;
    for bad in prompts.bad.iter().take(MAX_REPORTED_LINES) {
        app.terminal.warn(&format!(
            "{}:{}: {}",
            args.prompts.display(),
            bad.line,
            one_line(&bad.why)
        ));
    }
    if prompts.bad.len() > MAX_REPORTED_LINES {
        app.terminal.warn(&format!(
            "{} more lines are not prompts",
            prompts.bad.len() - MAX_REPORTED_LINES
        ));
    }
    if prompts.prompts.is_empty() {
        return Err(CommandError::usage(format!("{} has no prompts", args.prompts.display()))
            .hint("Each line must be a JSON object with a `prompt` field."));
    }
    prompts.prompts.truncate(args.limit.unwrap_or(usize::MAX));
    let ready = app.services()?;
    let work = plan(app, &args, prompts, &ready)?;
    // The conversations have no MCP tools, but a required server must still
    // start; the user can remove `required` to change that.
    ready.connect_servers(app, ServerSelection::RequiredOnly)?;
    runtime::block_on_workers(ready.teardown().run())?;
    drop(ready);
    let cancel = CancellationToken::new();
    let worker = BatchAgentWorker::new(app, &args, cancel.clone())?;
    let bar = BatchProgressBar::new(app);
    let stop = cancel.clone();
    let summary = runtime::with_tools(&cancel, async move {
        hermes_batch::run(work, Arc::new(worker), &stop, &|progress| bar.show(progress)).await
    })??;
    report(app, &args, &summary)
}

fn plan(
    app: &AppContext,
    args: &BatchRunArgs,
    prompts: PromptFile,
    ready: &AppServices,
) -> Result<Work, CommandError> {
    let distribution = match args.distribution.contains('=') {
        true => ToolsetDistribution::parse(&args.distribution)?,
        false => distributions::find(&args.distribution)?,
    };
    let snapshot = ready.engine().snapshot();
    let toolsets = ready.engine().toolsets();
    distribution.check(&toolsets, &*snapshot)?;
    Ok(Work {
        toolsets: drawable_toolsets(app, &distribution, ready)?,
        tools: snapshot.entries().iter().map(|entry| entry.name().to_owned()).collect(),
        prompts,
        output: std::path::absolute(args.output_dir())?,
        plan: BatchPlan {
            seed: args.seed,
            distribution: args.distribution.clone(),
            model: args.model.clone(),
            max_turns: Some(args.max_turns),
            batch_size: usize::try_from(args.batch_size).unwrap_or(usize::MAX),
        },
        resume: args.resume,
        workers: usize::from(args.workers),
        distribution,
        needs_reasoning: args.need_reasoning,
    })
}

/// Returns the toolsets with at least one available tool. Others are not drawn,
/// because the record would name tools that the model never saw.
fn drawable_toolsets(
    app: &AppContext,
    distribution: &ToolsetDistribution,
    ready: &AppServices,
) -> Result<Vec<String>, CommandError> {
    let (mut drawable, mut idle) = (Vec::new(), Vec::new());
    for share in distribution.shares.iter().filter(|share| share.percent > 0) {
        let choice =
            ToolsetFilter { toolsets: vec![share.toolset.clone()], without: excluded_toolsets() };
        let (definitions, _) =
            runtime::block_on_current_thread(ready.tool_definitions(&choice, None))??;
        let has_tools = !(definitions.visible.is_empty() && definitions.deferred.is_empty());
        if has_tools { &mut drawable } else { &mut idle }.push(share.toolset.clone());
    }
    if drawable.is_empty() {
        let name = &distribution.name;
        let message = format!(
            "No toolset of the distribution '{name}' has a tool that is available here: {}",
            idle.join(", ")
        );
        return Err(CommandError::failed(ErrorKind::Unavailable, message).hint(
            "`hermes tools why TOOL` shows the reason; choose other toolsets with \
                --distribution.",
        ));
    }
    if !idle.is_empty() {
        app.terminal.warn(&format!(
            "Not drawn, because none of its tools is available here: {}",
            idle.join(", ")
        ));
    }
    Ok(drawable)
}

/// Toolsets excluded from batches, because no user is available to answer.
fn excluded_toolsets() -> Vec<String> {
    vec!["clarify".into()]
}

fn report(app: &AppContext, args: &BatchRunArgs, summary: &BatchSummary) -> CommandResult {
    let exit = match (summary.stopped, summary.failed) {
        (true, _) => CliExitCode::Kind(ErrorKind::Cancelled),
        (false, 0) => CliExitCode::Ok,
        (false, _) => CliExitCode::Failed,
    };
    if app.json {
        let shown = json!({ "schema_version": 1, "summary": summary, "output": args.output_dir() });
        app.terminal.print_line(&shown.to_string())?;
        return Ok(exit);
    }
    let dir = args.output_dir();
    let dir = dir.display();
    app.terminal.print_line(&format!(
        "{} of {} prompts done ({} in earlier runs), {} failed; {} conversations in \
         {dir}/trajectories.jsonl",
        summary.done, summary.prompts, summary.done_before, summary.failed, summary.trajectories,
    ))?;
    if summary.left_out > 0 {
        app.terminal.note(&format!("{} are omitted from it:", summary.left_out));
        for left in summary.left_out_why.iter().take(MAX_REPORTED_LINES) {
            app.terminal.note(&format!("  prompt {}: {}", left.prompt_index, one_line(&left.why)));
        }
    }
    if summary.strange > 0 {
        let count = summary.strange;
        app.terminal.warn(&format!("{count} lines of the output belong to other prompts."));
    }
    if summary.failed > 0 {
        app.terminal.note(&format!("Failures are listed in {dir}/failures.jsonl."));
    }
    if summary.done < summary.prompts {
        app.terminal.note("Run the same command with --resume to continue.");
    }
    Ok(exit)
}

/// Runs conversations, each with separate tools, directory and permissions.
struct BatchAgentWorker {
    app: Arc<AppContext>,
    model: Option<String>,
    max_turns: u32,
    profile: ProfileOptions,
    /// Parent of the directories for prompts without `cwd`.
    scratch_dirs: PathBuf,
    /// Base of relative directories.
    base_dir: PathBuf,
    cancel: CancellationToken,
}

impl BatchAgentWorker {
    fn new(
        app: &AppContext,
        args: &BatchRunArgs,
        cancel: CancellationToken,
    ) -> Result<Self, CommandError> {
        let file = std::path::absolute(&args.prompts)?;
        Ok(Self {
            app: Arc::new(AppContext {
                terminal: TerminalOutput::new(true),
                json: true,
                ..app.clone()
            }),
            model: args.model.clone(),
            max_turns: args.max_turns,
            profile: args.profile.clone(),
            scratch_dirs: std::path::absolute(args.output_dir())?.join("work"),
            base_dir: file.parent().map_or_else(PathBuf::new, Path::to_path_buf),
            cancel,
        })
    }

    /// Returns the directory of a prompt, and whether it is created for it.
    fn working_dir(&self, prompt: &BatchPrompt) -> (PathBuf, bool) {
        match &prompt.cwd {
            Some(dir) => (self.base_dir.join(dir), false),
            // Includes the hash: the index may have belonged to another prompt,
            // whose files are kept.
            None => {
                let hash: String = prompt.hash.chars().take(8).collect();
                (self.scratch_dirs.join(format!("{}-{hash}", prompt.index)), true)
            }
        }
    }

    async fn run_conversation(
        &self,
        prompt: &BatchPrompt,
        toolsets: &[String],
    ) -> Result<RecordedConversation, CommandError> {
        let (dir, is_made) = self.working_dir(prompt);
        if is_made {
            // Files of an earlier attempt are not part of the task.
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir_all(&dir)?;
        }
        let options = CallOptions {
            session: Some(hermes_history::new_session_id()),
            cwd: Some(dir.clone()),
            timeout: None,
            dry_run: false,
            mode: ModeFlags::default(),
            profile: self.profile.clone(),
        };
        let app = Arc::clone(&self.app);
        let made = tokio::task::spawn_blocking(move || {
            let ready = app.services_without_warnings()?;
            let caller = app.caller(&ready, &options, &[])?;
            Ok::<_, CommandError>((ready, caller))
        });
        let crashed = |e: tokio::task::JoinError| {
            CommandError::failed(
                ErrorKind::Internal,
                format!("The tools could not be initialized: {e}"),
            )
        };
        let (ready, mut caller) = made.await.map_err(crashed)??;
        caller.who = "agent".into();
        // No user is available to approve calls.
        caller.approver = None;
        caller.cancel = self.cancel.child_token();
        let budget = ready.budget(Some(self.max_turns), None);
        let choice = ToolsetFilter { toolsets: toolsets.to_vec(), without: excluded_toolsets() };
        let terms = AgentOptions {
            source: "batch",
            model: self.model.as_deref(),
            choice: &choice,
            is_unattended: true,
            mode: AgentMode::Auto,
            title: None,
            resume: None,
            has_local_context: false,
            observer: Arc::new(NullObserver),
        };
        let engaged = ready.start_agent(caller, terms).await;
        let ended = match engaged {
            Ok(mut engaged) => {
                let said = vec![ContentPart::Text { text: prompt.text.clone() }];
                let interrupt = engaged.agent.interrupt();
                let stopped = self.cancel.clone();
                let watch = tokio::spawn(async move {
                    stopped.cancelled().await;
                    interrupt.stop_turn();
                });
                let outcome = engaged.agent.run_turn(said, &budget).await;
                watch.abort();
                let _ = engaged.store.end(&engaged.session, outcome.end.name());
                Ok((outcome, engaged))
            }
            Err(failure) => Err(failure),
        };
        ready.engine().shutdown().await;
        ready.exec_target.close().await;
        ready.flush_records(&self.app);
        if is_made {
            // Removes the directory if it is empty.
            let _ = std::fs::remove_dir(&dir);
        }
        let (outcome, engaged) = ended?;
        let fault = match &outcome.end {
            TurnEnd::ModelError(fault) => Some(fault.to_string()),
            TurnEnd::Journal(why) => Some(why.clone()),
            // A partial answer is useless for training.
            TurnEnd::Broken(_) => outcome.end.reason(),
            TurnEnd::Interrupted => Some("cancelled".to_owned()),
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(CommandError::failed(ErrorKind::Internal, fault));
        }
        let makeup = engaged.agent.parts();
        Ok(RecordedConversation {
            tools: makeup.tools.to_vec(),
            messages: engaged.agent.conversation().messages().to_vec(),
            completed: outcome.end.is_done(),
            api_calls: outcome.requests,
            model: makeup.params.model.clone(),
            usage: outcome.usage,
            session: Some(engaged.session),
        })
    }
}

impl ConversationWorker for BatchAgentWorker {
    fn run<'a>(
        &'a self,
        prompt: &'a BatchPrompt,
        toolsets: &'a [String],
    ) -> BoxFuture<'a, Result<RecordedConversation, WorkerError>> {
        Box::pin(async move {
            let talked = self.run_conversation(prompt, toolsets).await;
            talked.map_err(|failure| match self.cancel.is_cancelled() {
                true => WorkerError::Stopped,
                false => WorkerError::Error(failure.message),
            })
        })
    }
}

/// Progress line on standard error, rewritten in place.
struct BatchProgressBar {
    is_shown: bool,
    began: Instant,
}

impl BatchProgressBar {
    fn new(app: &AppContext) -> Self {
        Self { is_shown: app.terminal.stderr_is_person && !app.json, began: Instant::now() }
    }

    fn show(&self, progress: BatchProgress) {
        if !self.is_shown {
            return;
        }
        let BatchProgress { total, done, failed, running } = progress;
        let width = 24;
        let full = (done * width).checked_div(total).unwrap_or(width).min(width);
        let bar = format!("{}{}", "█".repeat(full), "░".repeat(width - full));
        let seconds = self.began.elapsed().as_secs();
        let _ = write!(
            std::io::stderr(),
            "\r\x1b[2K{bar} {done}/{total}, {failed} failed, {running} running, {seconds} s"
        );
    }
}

impl Drop for BatchProgressBar {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
