//! `hermes exec`: reads tool calls and writes results in the same dialect. Each
//! request is answered as soon as it is complete, so standard input can be a
//! long-running session.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hermes::core::{CallStatus, ErrorKind, ToolError, ToolResult};
use hermes::engine::{Caller, SecretSource as _};
use hermes::protocol::{CallDialect, RequestFrame, RequestFramer, render_error, render_results};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{result_text, runtime};
use crate::app::{AppContext, AppServices, OPEN_TIMEOUT};
use crate::args::{CallOptions, ExecArgs};
use crate::command_error::{CliExitCode, CommandError, CommandResult};

/// How long a request waits for a backend that failed to open at the start.
const REOPEN_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum number of notices per answer; more wait for the next.
const MAX_ANSWER_NOTICES: usize = 20;

pub(crate) fn run(app: &AppContext, args: &ExecArgs) -> CommandResult {
    let dialect = args.dialect.as_deref().map(str::parse::<CallDialect>).transpose();
    let dialect = dialect.map_err(|e| CommandError::usage(e.to_string()).hint(e.hint()))?;
    let ready = app.services()?;
    ready.connect_servers(app, crate::mcp_servers::ServerSelection::All)?;
    // Every call gets an answer, and the backend may become available later.
    let limit = Some(OPEN_TIMEOUT);
    let mut caller = app.caller_even_if_closed(&ready, &args.options, &args.toolsets, limit)?;
    let from_stdin = args.file.as_deref().is_none_or(|f| f == Path::new("-"));
    caller.who = "exec".into();
    caller.approver = app.approver(&ready, &args.options, from_stdin, true);
    ready.warn_of_leftovers(app);
    ready.notices().set_listening();
    if !from_stdin {
        ready.prompter.allow_questions();
    }
    let input = open_input(args.file.as_deref())?;
    if from_stdin && io::stdin().is_terminal() {
        app.terminal.note("Reading tool calls from the keyboard; press Ctrl-D to end.");
    }
    let (frames, received) = mpsc::channel(1);
    // Reading blocks, so it has its own thread.
    std::thread::spawn(move || read_frames(input, dialect, &frames));

    let cancel = caller.cancel.clone();
    let ready = Arc::new(ready);
    let mut session = ExecSession {
        app: app.clone(),
        ready: Arc::clone(&ready),
        caller,
        options: args.options.clone(),
        dialect,
        is_human_readable: app.terminal.stdout_is_person && !app.json,
    };
    let outcome = runtime::with_tools(&cancel, async move {
        let outcome = session.serve(received).await;
        session.ready.engine().shutdown().await;
        session.ready.teardown().run().await;
        outcome
    })?;
    ready.flush_records(app);
    outcome
}

fn open_input(file: Option<&Path>) -> Result<Box<dyn Read + Send>, CommandError> {
    match file {
        None => Ok(Box::new(io::stdin())),
        Some(path) if path == Path::new("-") => Ok(Box::new(io::stdin())),
        Some(path) => {
            let cannot = |e: &io::Error| {
                let message = format!("Cannot read {}: {e}", path.display());
                let missing = e.kind() == io::ErrorKind::NotFound;
                let failure = if missing {
                    CommandError::not_found(message)
                } else {
                    CommandError::usage(message)
                };
                failure.hint("Specify a file with tool calls, or '-' for standard input.")
            };
            let file = File::open(path).map_err(|e| cannot(&e))?;
            if file.metadata().map_err(|e| cannot(&e))?.is_dir() {
                return Err(CommandError::usage(format!("{} is a directory", path.display()))
                    .hint("Specify a file with tool calls."));
            }
            Ok(Box::new(file))
        }
    }
}

/// Splits the input into frames until it ends or the receiver is closed.
fn read_frames(
    input: Box<dyn Read + Send>,
    dialect: Option<CallDialect>,
    frames: &mpsc::Sender<io::Result<RequestFrame>>,
) {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut framer = RequestFramer::new(dialect);
    let mut line = Vec::new();
    loop {
        line.clear();
        // One byte past the limit is enough to detect an oversized line.
        let mut bounded = input.by_ref().take(RequestFramer::MAX_REQUEST_BYTES as u64 + 1);
        match bounded.read_until(b'\n', &mut line) {
            Ok(0) => break,
            // The rest belongs to the same line, not to a new request.
            Ok(_) if line.len() > RequestFramer::MAX_REQUEST_BYTES && !line.ends_with(b"\n") => {
                if let Err(error) = input.skip_until(b'\n') {
                    let _ = frames.blocking_send(Err(error));
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => {
                let _ = frames.blocking_send(Err(error));
                return;
            }
        }
        // Some programs write a BOM before every line.
        let request = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        for frame in framer.push_bytes(request) {
            if frames.blocking_send(Ok(frame)).is_err() {
                return;
            }
        }
    }
    while let Some(frame) = framer.finish() {
        if frames.blocking_send(Ok(frame)).is_err() {
            return;
        }
    }
}

/// One client connection, from the first request to the last.
struct ExecSession {
    app: AppContext,
    ready: Arc<AppServices>,
    caller: Caller,
    options: CallOptions,
    dialect: Option<CallDialect>,
    /// Whether answers are formatted for a person instead of a program.
    is_human_readable: bool,
}

impl ExecSession {
    /// Answers requests until the input ends or the output is closed.
    async fn serve(
        &mut self,
        mut frames: mpsc::Receiver<io::Result<RequestFrame>>,
    ) -> CommandResult {
        let mut exit = CliExitCode::Ok;
        let cancel = self.caller.cancel.clone();
        while let Some(Some(frame)) = cancel.run_until_cancelled(frames.recv()).await {
            let frame =
                frame.map_err(|e| CommandError::usage(format!("Cannot read the input: {e}")))?;
            let (mut answer, ended) = self.answer(&frame).await;
            // Errors and call names quote the input.
            self.ready.secrets().redactor().redact_json(&mut answer);
            match self.app.terminal.try_print_line(&answer) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(exit),
                sent => sent?,
            }
            exit = merge_exit(exit, ended);
        }
        if cancel.is_cancelled() {
            return Ok(CliExitCode::Kind(ErrorKind::Cancelled));
        }
        Ok(exit)
    }

    async fn answer(&mut self, frame: &RequestFrame) -> (String, CliExitCode) {
        let mut request = match frame.parse(self.dialect) {
            Ok(request) => request,
            Err(error) => {
                return (render_error(self.dialect, &ToolError::from(error)), CliExitCode::Usage);
            }
        };
        let calls = std::mem::take(&mut request.calls);
        self.retry_open().await;
        // The deadline applies to each request; a session may last for days.
        let mut caller = self.caller.clone();
        caller.deadline = self.options.deadline();
        let mut results = self.ready.engine().dispatch(calls, &caller).await;
        self.add_notices(&mut results);
        let exit = combined_exit(&results);
        if self.is_human_readable {
            let terminal = &self.app.terminal;
            return (result_text::render_results(terminal, self.ready.engine(), &results), exit);
        }
        (render_results(&request, &results), exit)
    }

    /// Retries opening a backend that failed to open. Until it succeeds, tools
    /// that need it report an error.
    async fn retry_open(&mut self) {
        if self.ready.exec_target.is_awaited() {
            let reached = self.caller.cancel.run_until_cancelled(self.ready.exec_target.connect());
            let _ = tokio::time::timeout(REOPEN_TIMEOUT, reached).await;
        }
    }

    /// Adds pending notices to the last result, which every dialect carries.
    fn add_notices(&self, results: &mut [ToolResult]) {
        let Some(last) = results.last_mut() else { return };
        let Ok(Value::Object(mut content)) = serde_json::from_str(&last.content) else { return };
        let notices = self.ready.notices().drain(self.caller.session.id(), MAX_ANSWER_NOTICES);
        if notices.is_empty() {
            return;
        }
        content.insert("notices".to_owned(), json!(notices));
        last.content = Value::Object(content).to_string();
    }
}

/// Success only if every call succeeded; the common kind if all failures have
/// the same one.
fn combined_exit(results: &[ToolResult]) -> CliExitCode {
    results.iter().fold(CliExitCode::Ok, |exit, result| match result.status {
        CallStatus::Success => exit,
        CallStatus::Error(kind) => merge_exit(exit, CliExitCode::Kind(kind)),
    })
}

fn merge_exit(so_far: CliExitCode, next: CliExitCode) -> CliExitCode {
    match (so_far, next) {
        (CliExitCode::Ok, next) => next,
        (so_far, CliExitCode::Ok) => so_far,
        (so_far, next) if so_far.code() == next.code() => so_far,
        _ => CliExitCode::Failed,
    }
}
