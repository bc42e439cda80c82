//! The near end: gets the server to a place, keeps it going, and makes calls.

use std::ffi::OsString;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::text::shell_quote;
use hermes_core::{
    Attachment, BoundCall, Effect, ErrorKind, OutputLimits, Scope, ToolContext, ToolError,
    ToolOutput,
};
use hermes_exec::{
    CaptureResult, CapturedCommand, CommandSpec, ExecBackend, HostFacts, StdinSource, StdioMode,
};
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinSet;

use crate::bundle::ProgramBundle;
use crate::connection::{CallHandlers, ConnectionLost, LaunchResult, ServerConnection};
use crate::install_scripts::InstallScripts;
use crate::server::CONTEXT_DOCUMENT;
use crate::wire::{self, AttachedFile, GrantedEffect, RemoteCall, RemoteOutcome};

/// How long the program may take to get there, at the most.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How long a call that is stopped has to say what it has done. Whoever stopped
/// it does not wait for longer.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// What is said by the words that put it there.
const MAX_UPLOAD_OUTPUT_BYTES: usize = 1024 * 1024;

/// What is started in the other place, and how.
#[derive(Debug, Clone)]
pub struct RemoteHostSettings {
    /// The program that serves: as a rule, the one that runs.
    pub executable: PathBuf,
    /// The arguments with which it serves.
    pub arguments: Vec<OsString>,
    /// A folder for what takes time to make, if there is one.
    pub cache: Option<PathBuf>,
    /// Folders of this machine that answers speak of, such as those with long
    /// outputs: what lies in them is read here.
    pub local_dirs: Vec<PathBuf>,
    /// How long nothing may be heard of the other end before it is given up.
    pub silence_timeout: Duration,
}

impl Default for RemoteHostSettings {
    fn default() -> Self {
        // This name holds even if the file was replaced meanwhile, and for
        // programs that are handed it.
        Self {
            executable: format!("/proc/{}/exe", std::process::id()).into(),
            arguments: vec!["hands".into()],
            cache: None,
            local_dirs: Vec::new(),
            silence_timeout: Duration::from_secs(30),
        }
    }
}

/// The tools' server in another place: started when it is first needed, and
/// kept.
pub struct RemoteToolHost {
    backend: Arc<dyn ExecBackend>,
    settings: RemoteHostSettings,
    connection: Mutex<Option<Arc<ServerConnection>>>,
    /// Those who open it.
    opening: parking_lot::Mutex<JoinSet<()>>,
    bundle: tokio::sync::OnceCell<ProgramBundle>,
    /// Where files lie that came with answers.
    attachments_dir: OnceLock<TempDir>,
    undo_warned: AtomicBool,
}

impl fmt::Debug for RemoteToolHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hands").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl RemoteToolHost {
    /// The server in the place of this backend. Nothing is started yet.
    pub fn new(backend: Arc<dyn ExecBackend>, settings: RemoteHostSettings) -> Arc<Self> {
        Arc::new(Self {
            backend,
            settings,
            connection: Mutex::default(),
            opening: parking_lot::Mutex::default(),
            bundle: tokio::sync::OnceCell::new(),
            attachments_dir: OnceLock::new(),
            undo_warned: AtomicBool::new(false),
        })
    }

    /// Where it is.
    pub fn backend(&self) -> &Arc<dyn ExecBackend> {
        &self.backend
    }

    /// Ends the server. To be called before the backend's own cleanup; a later
    /// call starts it anew.
    pub async fn close(&self) {
        let mut opening = {
            let mut opening = self.opening.lock();
            std::mem::take(&mut *opening)
        };
        opening.shutdown().await;
        let link = self.connection.lock().await.take();
        if let Some(link) = link {
            link.close().await;
        }
    }

    /// Whether the user has not yet been told that undo does not reach there.
    pub(crate) fn take_undo_warning(&self) -> bool {
        !self.undo_warned.swap(true, Ordering::Relaxed)
    }

    /// Whether a call does no more than read what is our own and here.
    pub(crate) fn reads_local_only(&self, effects: &[Effect]) -> bool {
        let is_own = |path: &Path| self.settings.local_dirs.iter().any(|own| path.starts_with(own));
        let is_here = |path: &Path| is_own(path) && path.symlink_metadata().is_ok();
        let reads = |effect: &Effect| effect.scope == Scope::FILE_READ;
        let mut all = effects.iter();
        !effects.is_empty() && all.all(|it| reads(it) && it.resource.as_path().is_some_and(is_here))
    }

    /// Makes a call over there.
    pub(crate) async fn call(
        self: &Arc<Self>,
        call: Box<dyn BoundCall>,
        arguments: &Value,
        cx: &ToolContext,
    ) -> Result<(ToolOutput, bool), ToolError> {
        use hermes_core::AccessMode;
        let effects = call.effects(&cx.working_dir);
        let changes = effects.iter().any(|e| e.scope.access() == AccessMode::Exclusive);
        let mut tries = 0;
        loop {
            let link = self.connect(cx).await?;
            match self.attempt(&link, arguments, cx).await? {
                Ok(output) => return Ok((output, changes)),
                Err(ConnectionLost { is_silent: true, .. }) => {
                    return Err(self.silence_error(cx, changes));
                }
                Err(ConnectionLost { may_have_run: begun, .. })
                    if tries == 0 && !(begun && changes) =>
                {
                    tries += 1
                }
                Err(ConnectionLost { may_have_run: begun, .. }) => {
                    return Err(self.broken_error(&link, cx, begun && changes));
                }
            }
        }
    }

    async fn attempt(
        &self,
        link: &Arc<ServerConnection>,
        arguments: &Value,
        cx: &ToolContext,
    ) -> Result<Result<ToolOutput, ConnectionLost>, ToolError> {
        let asking = CallHandlers {
            grants: Arc::clone(&cx.grants),
            tool: Arc::clone(&cx.tool),
            progress: cx.progress.clone(),
        };
        let (id, answered) = link.send(call_message(arguments, cx)?, asking)?;
        let stopped = CancelOnDrop { link: Arc::clone(link), id, is_needed: true };
        let mut answered = answered;
        let answer = tokio::select! {
            answer = &mut answered => answer,
            () = link.wait_for_silence(self.settings.silence_timeout) => Ok(Err(ConnectionLost { may_have_run: true, is_silent: true })),
            () = cx.cancel.cancelled() => {
                link.cancel(id);
                // It stops over there, and may have something to say.
                let said = tokio::time::timeout(CANCEL_GRACE, answered).await;
                said.map_err(|_| ToolError::cancelled())?
            }
        };
        stopped.disarm();
        match answer {
            Ok(Ok(outcome)) => self.to_output(outcome).map(Ok),
            Ok(Err(lost)) => Ok(Err(lost)),
            Err(_) => Ok(Err(ConnectionLost { may_have_run: true, is_silent: false })),
        }
    }

    fn to_output(&self, outcome: RemoteOutcome) -> Result<ToolOutput, ToolError> {
        match outcome {
            RemoteOutcome::Done { content, attachments, stopped } => {
                let attachments =
                    attachments.into_iter().map(|attached| self.save_attachment(attached));
                let attachments = attachments.collect::<Result<_, _>>()?;
                let output = ToolOutput::unchecked(content).with_attachments(attachments);
                Ok(output.with_stopped(stopped))
            }
            RemoteOutcome::Failed { kind, message, hint, details } => {
                Err(wire::tool_error(&kind, message, hint, details))
            }
        }
    }

    /// Puts a file that came with an answer where it can be read.
    fn save_attachment(&self, attached: AttachedFile) -> Result<Attachment, ToolError> {
        let failed = |error| ToolError::io("What came with the answer cannot be kept", &error);
        let bytes = STANDARD
            .decode(&attached.base64)
            .map_err(|error| ToolError::internal(format!("What came cannot be read: {error}")))?;
        let folder = match self.attachments_dir.get() {
            Some(folder) => folder,
            None => {
                let made = tempfile::tempdir().map_err(failed)?;
                self.attachments_dir.get_or_init(|| made)
            }
        };
        let mut file = tempfile::Builder::new().tempfile_in(folder.path()).map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        let (_, path) = file.keep().map_err(|error| failed(error.error))?;
        Ok(Attachment { media_type: attached.media_type, path })
    }

    fn silence_error(&self, cx: &ToolContext, is_unknown: bool) -> ToolError {
        let (place, tool) = (self.backend.name(), &cx.tool);
        let (kind, rest) = if is_unknown {
            (ErrorKind::Timeout, format!("it is not known whether {tool} has changed anything"))
        } else {
            (ErrorKind::Network, format!("{tool} has brought nothing"))
        };
        ToolError::new(kind, format!("{place} does not answer any more: {rest}")).with_hint(
            "`hermes doctor --backend` tells what is wrong with the place; try again when it \
             answers.",
        )
    }

    fn broken_error(
        &self,
        link: &ServerConnection,
        cx: &ToolContext,
        is_unknown: bool,
    ) -> ToolError {
        let (place, tool) = (self.backend.name(), &cx.tool);
        let said = link.last_stderr_line().map(|said| format!(" ({said})")).unwrap_or_default();
        if is_unknown {
            // The kind of what may or may not have happened.
            return ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "The line to {place} broke while {tool} ran{said}: it is not known whether \
                     it has changed anything"
                ),
            )
            .with_hint("Read the file again before the next change; it was not tried again.");
        }
        ToolError::new(
            ErrorKind::Network,
            format!("The line to {place} broke twice while {tool} ran{said}"),
        )
        .with_hint("Try again; if it happens again, see with `terminal` what ends programs there.")
    }

    /// The line, which is opened if it is not. Who is stopped meanwhile does
    /// not stop the opening: the next one will need it, too.
    async fn connect(
        self: &Arc<Self>,
        cx: &ToolContext,
    ) -> Result<Arc<ServerConnection>, ToolError> {
        if let Ok(link) = self.connection.try_lock()
            && let Some(link) = link.as_ref().filter(|link| link.is_open())
        {
            return Ok(Arc::clone(link));
        }
        let hands = Arc::clone(self);
        let (sender, opened) = oneshot::channel();
        {
            let mut opening = self.opening.lock();
            while opening.try_join_next().is_some() {}
            opening.spawn(async move {
                let _ = sender.send(hands.open_connection().await);
            });
        }
        let opened = cx.run_until_cancelled(opened).await?;
        opened.map_err(|_| ToolError::unavailable("The place was closed meanwhile"))?
    }

    async fn open_connection(&self) -> Result<Arc<ServerConnection>, ToolError> {
        let mut slot = self.connection.lock().await;
        if let Some(link) = slot.as_ref() {
            if link.is_open() {
                return Ok(Arc::clone(link));
            }
            link.reap().await;
            *slot = None;
        }
        let link = self.start_server().await?;
        *slot = Some(Arc::clone(&link));
        Ok(link)
    }

    async fn start_server(&self) -> Result<Arc<ServerConnection>, ToolError> {
        let place = self.backend.open().await?;
        let name = self.backend.name();
        let words = self
            .settings
            .arguments
            .iter()
            .map(|word| shell_quote(&word.to_string_lossy()))
            .collect::<Vec<_>>();
        let words = words.join(" ");
        if !is_same_platform(&place) {
            // Only one that somebody has put there can run.
            let script = format!(
                "command -v hermes >/dev/null && exec hermes {words}\necho hermes-missing\n"
            );
            return match self.launch(&place, script).await? {
                LaunchResult::Running(link) => Ok(link),
                LaunchResult::Missing => Err(ToolError::unavailable(format!(
                    "The file tools cannot work in {name}: it is a {}, and this program is made \
                     for {}",
                    place.system,
                    local_platform()
                ))
                .with_hint(
                    "Install hermes of the same version there, in its PATH; or work with the \
                     `terminal` tool alone.",
                )),
            };
        }
        let bundle = self.bundle().await?;
        let placing = InstallScripts::for_bundle(bundle);
        let script = placing.start_script(&words);
        if let LaunchResult::Running(link) = self.launch(&place, script.clone()).await? {
            return Ok(link);
        }
        self.upload(&place, bundle, &placing).await?;
        match self.launch(&place, script).await? {
            LaunchResult::Running(link) => Ok(link),
            LaunchResult::Missing => Err(ToolError::unavailable(format!(
                "The file tools were put into {name}, and are not found there"
            ))
            .with_hint("Something there removes or replaces files in its cache folder.")),
        }
    }

    async fn launch(&self, place: &HostFacts, script: String) -> Result<LaunchResult, ToolError> {
        let mut order = shell_order(place, script);
        order.input = StdinSource::Pipe;
        let started = self
            .backend
            .start(&format!("hands-{}", hermes_core::ids::random_hex(16)), order)
            .await?;
        ServerConnection::connect(started, self.backend.name()).await
    }

    async fn bundle(&self) -> Result<&ProgramBundle, ToolError> {
        let RemoteHostSettings { executable, cache, .. } = self.settings.clone();
        let make = || async move {
            let made = tokio::task::spawn_blocking(move || {
                ProgramBundle::for_executable(&executable, cache.as_deref())
            });
            let made = made.await.map_err(|_| ToolError::internal("The program cannot be read"))?;
            made.map_err(|error| ToolError::io("This program cannot be read", &error))
        };
        self.bundle.get_or_try_init(make).await
    }

    /// Puts the program there.
    async fn upload(
        &self,
        place: &HostFacts,
        bundle: &ProgramBundle,
        placing: &InstallScripts,
    ) -> Result<(), ToolError> {
        let word = format!("hands-{}", hermes_core::ids::random_hex(16));
        let unread = |error| ToolError::io("This program cannot be read", &error);
        let parcel = bundle.clone();
        let archive = tokio::task::spawn_blocking(move || parcel.archive()).await;
        let archive = archive.map_err(|_| ToolError::internal("The program cannot be packed"))?;
        let done =
            self.run_script(place, placing.unpack_script(&word), archive.map_err(unread)?).await?;
        if !done.output.starts_with(b"no-tar") {
            return Ok(());
        }
        for piece in &bundle.files {
            let from = piece.source.clone();
            let bytes = tokio::task::spawn_blocking(move || std::fs::read(from)).await;
            let bytes = bytes.map_err(|_| ToolError::internal("The program cannot be read"))?;
            let script = placing.receive_file_script(&word, &piece.name);
            self.run_script(place, script, bytes.map_err(unread)?).await?;
        }
        self.run_script(place, placing.finish_script(&word, bundle), Vec::new()).await.map(drop)
    }

    async fn run_script(
        &self,
        place: &HostFacts,
        script: String,
        input: Vec<u8>,
    ) -> Result<CaptureResult, ToolError> {
        let mut order = shell_order(place, script);
        order.input = StdinSource::Bytes(input);
        let errand = CapturedCommand {
            spec: order,
            timeout: UPLOAD_TIMEOUT,
            max_output_bytes: MAX_UPLOAD_OUTPUT_BYTES,
        };
        let done = errand
            .run(&*self.backend, &format!("hands-{}", hermes_core::ids::random_hex(16)))
            .await?;
        if done.succeeded() {
            return Ok(done);
        }
        let said = done.errors.trim().lines().next_back().unwrap_or("no reason is given");
        let name = self.backend.name();
        Err(ToolError::unavailable(format!("The file tools cannot be put into {name}: {said}"))
            .with_hint(
                "They need about 100 MB in the cache folder of the home there, or in TMPDIR, and \
                 the right to run programs from it.",
            ))
    }
}

/// Tells the other end to stop a call that nobody waits for any more.
struct CancelOnDrop {
    link: Arc<ServerConnection>,
    id: u64,
    is_needed: bool,
}

impl CancelOnDrop {
    fn disarm(mut self) {
        self.is_needed = false;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.is_needed {
            self.link.cancel(self.id);
        }
    }
}

fn call_message(arguments: &Value, cx: &ToolContext) -> Result<RemoteCall, ToolError> {
    let arguments = serde_json::to_string(arguments).and_then(RawValue::from_string);
    let arguments = arguments
        .map_err(|error| ToolError::invalid(format!("The arguments cannot be sent: {error}")))?;
    let left = cx.remaining().map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
    Ok(RemoteCall {
        id: 0,
        call_id: cx.call_id.to_string(),
        tool: cx.tool.to_string(),
        arguments,
        grants: GrantedEffect::from_grants(&cx.grants),
        excepted: cx.grants.exceptions().is_some(),
        cwd: cx.working_dir.cwd().into(),
        home: cx.working_dir.home().map(Into::into),
        session: cx.session.id().to_owned(),
        task: cx.task_id.to_string(),
        inner: cx.is_nested,
        context: cx.session.read(CONTEXT_DOCUMENT).unwrap_or_default(),
        milliseconds: left,
        bounds: cx.ports.get::<OutputLimits>().map(|bounds| wire::bounds_to_numbers(&bounds)),
    })
}

fn shell_order(place: &HostFacts, script: String) -> CommandSpec {
    CommandSpec {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: place.environment.clone(),
        directory: "/".into(),
        input: StdinSource::Empty,
        output: StdioMode::Separate,
        confinement: None,
    }
}

/// The system and the machine that this program is made for.
fn local_platform() -> String {
    let system = match std::env::consts::OS {
        "linux" => "Linux",
        "macos" => "Darwin",
        other => other,
    };
    format!("{system} {}", std::env::consts::ARCH)
}

/// Whether this program can run there.
fn is_same_platform(place: &HostFacts) -> bool {
    place.system == local_platform()
}
