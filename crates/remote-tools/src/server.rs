//! The remote end: runs the tools where the files are, until the connection
//! closes.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{
    Attachment, CancellationToken, DynTool, Effect, Grants, MemorySessionStore, Ports,
    ProgressCallback, ProgressUpdate, Scope, Session, SessionStore as _, ToolContext, ToolError,
    ToolOutput, WorkingDir,
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::closed_paths::{ClosedPathQuery, HostProtectedPaths};
use crate::grant_resolver::GrantResolver;
use crate::wire::{
    self, AttachedFile, ClientMessage, PathText, RemoteCall, RemoteOutcome, ServerMessage,
};

/// The session document that identifies the conversation.
pub(crate) const CONTEXT_DOCUMENT: &str = "context";

/// Maximum size of an attachment in bytes.
const MAX_ATTACHMENT_BYTES: u64 = 64 * 1024 * 1024;

/// Serves calls of these tools until the input ends.
///
/// # Errors
/// If a message is invalid, or the system cannot create threads.
pub fn serve(
    tools: Vec<Arc<dyn DynTool>>,
    mut input: impl Read,
    mut output: impl Write + Send + 'static,
) -> io::Result<()> {
    output.write_all(wire::GREETING_LINE)?;
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let hermes = std::env::var_os("HERMES_HOME").map(PathBuf::from);
    let far = Arc::new(ToolServer {
        tools: tools
            .into_iter()
            .map(|tool| (tool.spec().name.to_string(), ServedTool::new(tool)))
            .collect(),
        sessions: Arc::default(),
        protected: Arc::new(HostProtectedPaths::new(home, hermes)),
        output: Mutex::new(Box::new(output)),
        running: Mutex::default(),
        questions: Mutex::default(),
        next_question: AtomicU64::new(0),
    });
    let version = env!("CARGO_PKG_VERSION").to_owned();
    far.send_reply(&ServerMessage::Hello { protocol: wire::PROTOCOL_VERSION, version })?;
    // Calls may block on queries; this thread receives the responses.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = loop {
        match wire::receive(&mut input) {
            Ok(Some(request)) => far.handle_request(&runtime, request),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    far.running.lock().drain().for_each(|(_, cancel)| cancel.cancel());
    far.questions.lock().clear();
    // Running calls may finish cleanly if they stop in time.
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended
}

/// A tool, and whether it has been set up.
struct ServedTool {
    tool: Arc<dyn DynTool>,
    ready: OnceCell<()>,
}

impl ServedTool {
    fn new(tool: Arc<dyn DynTool>) -> Arc<Self> {
        Arc::new(Self { tool, ready: OnceCell::new() })
    }
}

struct ToolServer {
    tools: HashMap<String, Arc<ServedTool>>,
    sessions: Arc<MemorySessionStore>,
    protected: Arc<HostProtectedPaths>,
    output: Mutex<Box<dyn Write + Send>>,
    running: Mutex<HashMap<u64, CancellationToken>>,
    questions: Mutex<HashMap<u64, mpsc::Sender<Vec<bool>>>>,
    next_question: AtomicU64,
}

impl ToolServer {
    fn send_reply(&self, reply: &ServerMessage) -> io::Result<()> {
        let frame = wire::encode(reply)?;
        wire::send(&mut *self.output.lock(), &frame)
    }

    fn handle_request(self: &Arc<Self>, runtime: &tokio::runtime::Runtime, request: ClientMessage) {
        match request {
            ClientMessage::Call(call) => {
                let (far, id, cancel) = (Arc::clone(self), call.id, CancellationToken::new());
                self.running.lock().insert(id, cancel.clone());
                runtime.spawn(async move {
                    let name = call.tool.clone();
                    let run = tokio::spawn(Arc::clone(&far).run_call(*call, cancel));
                    let outcome = run
                        .await
                        .unwrap_or_else(|_| Err(ToolError::internal(format!("{name} crashed"))));
                    far.running.lock().remove(&id);
                    let outcome = outcome.and_then(to_outcome);
                    let outcome = outcome.unwrap_or_else(|error| RemoteOutcome::from(&error));
                    // A closed connection needs no response.
                    let shown = far.send_reply(&ServerMessage::Answer { id, outcome });
                    if shown.is_err_and(|error| error.kind() == io::ErrorKind::Other) {
                        let error = ToolError::limit("The result is too long to send");
                        let outcome = RemoteOutcome::from(&error);
                        let _ = far.send_reply(&ServerMessage::Answer { id, outcome });
                    }
                });
            }
            ClientMessage::Ping => {
                let _ = self.send_reply(&ServerMessage::Pong);
            }
            ClientMessage::Cancel { id } => {
                if let Some(cancel) = self.running.lock().get(&id) {
                    cancel.cancel();
                }
            }
            ClientMessage::Closed { question, closed } => {
                if let Some(asked) = self.questions.lock().remove(&question) {
                    let _ = asked.send(closed);
                }
            }
        }
    }

    async fn run_call(
        self: Arc<Self>,
        call: RemoteCall,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let kept = self.tools.get(&call.tool).ok_or_else(|| {
            ToolError::unavailable(format!("The remote end has no tool '{}'", call.tool))
                .with_hint("The two ends are different builds; restart hermes.")
        })?;
        let arguments: Value = serde_json::from_str(call.arguments.get())
            .map_err(|error| ToolError::invalid(format!("Cannot parse the arguments: {error}")))?;
        let bound = Arc::clone(&kept.tool).bind(&arguments)?;
        drop(arguments);
        kept.ready.get_or_try_init(|| kept.tool.setup()).await?;
        let home = call.home.map(PathBuf::from);
        let workplace = WorkingDir::new(PathBuf::from(call.cwd), home);
        let asker =
            RemotePathQuery { server: Arc::clone(&self), id: call.id, cancel: cancel.clone() };
        let asked = call.excepted.then(|| Arc::new(asker) as Arc<dyn ClosedPathQuery>);
        let guarded = Arc::clone(&self.protected);
        let grants = match call.grants {
            None => Grants::allow_all(),
            Some(granted) => {
                let effects = granted.into_iter().map(Effect::from).collect();
                let bounds = GrantResolver {
                    effects,
                    workplace: workplace.clone(),
                    protected: guarded,
                    query: asked,
                };
                let found = tokio::task::spawn_blocking(move || bounds.resolve_grants()).await;
                found.map_err(|_| ToolError::internal("Resolving the grants failed"))??
            }
        };
        let context = call.context;
        let _ = self.sessions.update(&call.session, CONTEXT_DOCUMENT, &mut |_| Ok(context.clone()));
        let grants = Arc::new(grants);
        let session = Session::new(call.session, Arc::clone(&self.sessions) as _);
        let bounds = call.bounds.map(|numbers| Arc::new(wire::bounds_from_numbers(numbers)));
        let cx = ToolContext {
            call_id: call.call_id.into(),
            tool: call.tool.into(),
            task_id: call.task.into(),
            session: session.with_grants(Arc::clone(&grants)),
            working_dir: Arc::new(workplace),
            cancel,
            deadline: call.milliseconds.map(|left| Instant::now() + Duration::from_millis(left)),
            grants,
            confinement: None,
            ports: Arc::new(bounds.map_or_else(Ports::new, |bounds| Ports::new().with(bounds))),
            progress: Some(Arc::clone(&self).progress_sender(call.id)),
            engine: None,
            is_nested: call.inner,
        };
        bound.run(cx).await
    }
}

/// Converts the output of a finished call for sending.
fn to_outcome(output: ToolOutput) -> Result<RemoteOutcome, ToolError> {
    let stopped = output.is_stopped();
    let (content, attachments) = output.into_checked()?;
    let attachments = attachments.into_iter().map(encode_attachment).collect::<Result<_, _>>()?;
    Ok(RemoteOutcome::Done { content, attachments, stopped })
}

fn encode_attachment(attachment: Attachment) -> Result<AttachedFile, ToolError> {
    let failed = |error| ToolError::io(attachment.path.display(), &error);
    if std::fs::metadata(&attachment.path).map_err(failed)?.len() > MAX_ATTACHMENT_BYTES {
        let path = attachment.path.display();
        return Err(ToolError::limit(format!("{path} is too large to send")));
    }
    let bytes = std::fs::read(&attachment.path).map_err(failed)?;
    Ok(AttachedFile { media_type: attachment.media_type, base64: STANDARD.encode(bytes) })
}

/// Queries the local end on behalf of a call.
struct RemotePathQuery {
    server: Arc<ToolServer>,
    id: u64,
    cancel: CancellationToken,
}

impl ClosedPathQuery for RemotePathQuery {
    fn query_closed(&self, scope: &Scope, paths: &[PathBuf]) -> Option<Vec<bool>> {
        const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(100);
        let question = self.server.next_question.fetch_add(1, Ordering::Relaxed);
        let (asked, answer) = mpsc::channel();
        self.server.questions.lock().insert(question, asked);
        let paths = paths.iter().map(|path| PathText::from(path.as_path())).collect();
        let scope = scope.as_str().to_owned();
        let message = ServerMessage::Question { id: self.id, question, scope, paths };
        if self.server.send_reply(&message).is_err() {
            self.server.questions.lock().remove(&question);
            return None;
        }
        loop {
            match answer.recv_timeout(CANCEL_POLL_INTERVAL) {
                Ok(closed) => return Some(closed),
                Err(mpsc::RecvTimeoutError::Timeout) if !self.cancel.is_cancelled() => {}
                Err(_) => {
                    self.server.questions.lock().remove(&question);
                    return None;
                }
            }
        }
    }
}

impl ToolServer {
    /// Forwards the progress reports of a call.
    fn progress_sender(self: Arc<Self>, id: u64) -> ProgressCallback {
        Arc::new(move |_, progress| {
            let ProgressUpdate { fraction, message } = progress.clone();
            let _ = self.send_reply(&ServerMessage::Progress { id, fraction, message });
        })
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
