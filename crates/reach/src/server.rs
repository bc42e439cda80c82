//! The far end: runs the tools where the files are, for as long as somebody
//! holds the other end.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::{
    Attachment, CancellationToken, DynTool, Effect, Grants, MemorySessionStore, Ports, ProgressUpdate,
    ProgressSink, Scope, Session, SessionStore as _, ToolContext, ToolError, ToolOutput, WorkingDir,
};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::closed::{Ask, Guarded};
use crate::granted::Bounds;
use crate::wire::{self, Attached, Call, Outcome, PathText, Reply, Request};

/// The document of the session that tells which conversation it is.
pub(crate) const CONTEXT: &str = "context";

/// No longer file comes with an answer.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Serves calls of these tools, until the input ends.
///
/// # Errors
/// If the other end cannot be understood, or the system gives no threads.
pub fn serve(
    tools: Vec<Arc<dyn DynTool>>,
    mut input: impl Read,
    mut output: impl Write + Send + 'static,
) -> io::Result<()> {
    output.write_all(wire::GREETING)?;
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let hermes = std::env::var_os("HERMES_HOME").map(PathBuf::from);
    let far = Arc::new(Far {
        tools: tools
            .into_iter()
            .map(|tool| (tool.spec().name.to_string(), Kept::new(tool)))
            .collect(),
        sessions: Arc::default(),
        guarded: Arc::new(Guarded::new(home, hermes)),
        output: Mutex::new(Box::new(output)),
        running: Mutex::default(),
        questions: Mutex::default(),
        next: AtomicU64::new(0),
    });
    let version = env!("CARGO_PKG_VERSION").to_owned();
    far.say(&Reply::Hello { protocol: wire::PROTOCOL, version })?;
    // Calls may block while they ask; the answers come in by this thread.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = loop {
        match wire::receive(&mut input) {
            Ok(Some(request)) => far.take(&runtime, request),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    lock(&far.running).drain().for_each(|(_, cancel)| cancel.cancel());
    lock(&far.questions).clear();
    // What was begun is brought to an end in order, if it stops in time.
    runtime.shutdown_timeout(Duration::from_secs(2));
    ended
}

/// A tool, and whether it was set up.
struct Kept {
    tool: Arc<dyn DynTool>,
    ready: OnceCell<()>,
}

impl Kept {
    fn new(tool: Arc<dyn DynTool>) -> Arc<Self> {
        Arc::new(Self { tool, ready: OnceCell::new() })
    }
}

struct Far {
    tools: HashMap<String, Arc<Kept>>,
    sessions: Arc<MemorySessionStore>,
    guarded: Arc<Guarded>,
    output: Mutex<Box<dyn Write + Send>>,
    running: Mutex<HashMap<u64, CancellationToken>>,
    questions: Mutex<HashMap<u64, mpsc::Sender<Vec<bool>>>>,
    next: AtomicU64,
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Far {
    fn say(&self, reply: &Reply) -> io::Result<()> {
        let frame = wire::encode(reply)?;
        wire::send(&mut *lock(&self.output), &frame)
    }

    fn take(self: &Arc<Self>, runtime: &tokio::runtime::Runtime, request: Request) {
        match request {
            Request::Call(call) => {
                let (far, id, cancel) = (Arc::clone(self), call.id, CancellationToken::new());
                lock(&self.running).insert(id, cancel.clone());
                runtime.spawn(async move {
                    let name = call.tool.clone();
                    let run = tokio::spawn(Arc::clone(&far).run(*call, cancel));
                    let outcome = run
                        .await
                        .unwrap_or_else(|_| Err(ToolError::internal(format!("{name} crashed"))));
                    lock(&far.running).remove(&id);
                    let outcome = outcome.and_then(done);
                    let outcome = outcome.unwrap_or_else(|error| Outcome::from(&error));
                    // Who has gone away does not want it.
                    let told = far.say(&Reply::Answer { id, outcome });
                    if told.is_err_and(|error| error.kind() == io::ErrorKind::Other) {
                        let error = ToolError::limit("The answer is too long to be sent");
                        let outcome = Outcome::from(&error);
                        let _ = far.say(&Reply::Answer { id, outcome });
                    }
                });
            }
            Request::Ping => {
                let _ = self.say(&Reply::Pong);
            }
            Request::Cancel { id } => {
                if let Some(cancel) = lock(&self.running).get(&id) {
                    cancel.cancel();
                }
            }
            Request::Closed { question, closed } => {
                if let Some(asked) = lock(&self.questions).remove(&question) {
                    let _ = asked.send(closed);
                }
            }
        }
    }

    async fn run(
        self: Arc<Self>,
        call: Call,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let kept = self.tools.get(&call.tool).ok_or_else(|| {
            ToolError::unavailable(format!("The other end has no tool '{}'", call.tool))
                .with_hint("The two ends are not of one build; start anew.")
        })?;
        let arguments: Value = serde_json::from_str(call.arguments.get()).map_err(|error| {
            ToolError::invalid(format!("The arguments cannot be read: {error}"))
        })?;
        let bound = Arc::clone(&kept.tool).bind(&arguments)?;
        drop(arguments);
        kept.ready.get_or_try_init(|| kept.tool.setup()).await?;
        let home = call.home.map(PathBuf::from);
        let workplace = WorkingDir::new(PathBuf::from(call.cwd), home);
        let asker = Asker { far: Arc::clone(&self), id: call.id, cancel: cancel.clone() };
        let asked = call.excepted.then(|| Arc::new(asker) as Arc<dyn Ask>);
        let guarded = Arc::clone(&self.guarded);
        let grants = match call.grants {
            None => Grants::allow_all(),
            Some(granted) => {
                let effects = granted.into_iter().map(Effect::from).collect();
                let bounds = Bounds { effects, workplace: workplace.clone(), guarded, asked };
                let found = tokio::task::spawn_blocking(move || bounds.find()).await;
                found.map_err(|_| ToolError::internal("The bounds cannot be found"))??
            }
        };
        let context = call.context;
        let _ = self.sessions.update(&call.session, CONTEXT, &mut |_| Ok(context.clone()));
        let grants = Arc::new(grants);
        let session = Session::new(call.session, Arc::clone(&self.sessions) as _);
        let bounds = call.bounds.map(|numbers| Arc::new(wire::bounds(numbers)));
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
            progress: Some(Arc::new(Sign { far: Arc::clone(&self), id: call.id })),
            engine: None,
            is_nested: call.inner,
        };
        bound.run(cx).await
    }
}

/// What is sent of a call that is through.
fn done(output: ToolOutput) -> Result<Outcome, ToolError> {
    let stopped = output.is_stopped();
    let (content, attachments) = output.into_checked()?;
    let attachments = attachments.into_iter().map(attach).collect::<Result<_, _>>()?;
    Ok(Outcome::Done { content, attachments, stopped })
}

fn attach(attachment: Attachment) -> Result<Attached, ToolError> {
    let failed = |error| ToolError::io(attachment.path.display(), &error);
    if std::fs::metadata(&attachment.path).map_err(failed)?.len() > LARGEST {
        let path = attachment.path.display();
        return Err(ToolError::limit(format!("{path} is too large to be sent")));
    }
    let bytes = std::fs::read(&attachment.path).map_err(failed)?;
    Ok(Attached { media_type: attachment.media_type, base64: STANDARD.encode(bytes) })
}

/// Asks the other end for a call.
struct Asker {
    far: Arc<Far>,
    id: u64,
    cancel: CancellationToken,
}

impl Ask for Asker {
    fn ask(&self, scope: &Scope, paths: &[PathBuf]) -> Option<Vec<bool>> {
        const LOOK_UP: Duration = Duration::from_millis(100);
        let question = self.far.next.fetch_add(1, Ordering::Relaxed);
        let (asked, answer) = mpsc::channel();
        lock(&self.far.questions).insert(question, asked);
        let paths = paths.iter().map(|path| PathText::from(path.as_path())).collect();
        let scope = scope.as_str().to_owned();
        self.far.say(&Reply::Question { id: self.id, question, scope, paths }).ok()?;
        loop {
            match answer.recv_timeout(LOOK_UP) {
                Ok(closed) => return Some(closed),
                Err(mpsc::RecvTimeoutError::Timeout) if !self.cancel.is_cancelled() => {}
                Err(_) => {
                    lock(&self.far.questions).remove(&question);
                    return None;
                }
            }
        }
    }
}

/// Signs of life, passed on.
struct Sign {
    far: Arc<Far>,
    id: u64,
}

impl ProgressSink for Sign {
    fn report(&self, _tool: &str, progress: &ProgressUpdate) {
        let ProgressUpdate { fraction, message } = progress.clone();
        let _ = self.far.say(&Reply::Progress { id: self.id, fraction, message });
    }
}
