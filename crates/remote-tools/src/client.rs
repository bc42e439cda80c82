//! The local end: installs the server on a remote host, keeps it running, and
//! makes calls.

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

/// Timeout for installing the program.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How long a cancelled call may take to report what it has done. The canceller
/// waits no longer.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Maximum output of the installation scripts.
const MAX_UPLOAD_OUTPUT_BYTES: usize = 1024 * 1024;

/// What to start on the remote host, and how.
#[derive(Debug, Clone)]
pub struct RemoteHostSettings {
    /// The server executable: normally this program.
    pub executable: PathBuf,
    /// The arguments that make it serve.
    pub arguments: Vec<OsString>,
    /// A directory to cache the bundle, if any.
    pub cache: Option<PathBuf>,
    /// Local directories that results refer to, such as those of spilled
    /// output: files in them are read locally.
    pub local_dirs: Vec<PathBuf>,
    /// How long the remote end may be silent before the connection is given up.
    pub silence_timeout: Duration,
}

impl Default for RemoteHostSettings {
    fn default() -> Self {
        // This path stays valid if the file is replaced, and works for child
        // processes that receive it.
        Self {
            executable: format!("/proc/{}/exe", std::process::id()).into(),
            arguments: vec!["hands".into()],
            cache: None,
            local_dirs: Vec::new(),
            silence_timeout: Duration::from_secs(30),
        }
    }
}

/// The tool server on a remote host, started on first use and kept running.
pub struct RemoteToolHost {
    backend: Arc<dyn ExecBackend>,
    settings: RemoteHostSettings,
    connection: Mutex<Option<Arc<ServerConnection>>>,
    /// The tasks that open the connection.
    opening: parking_lot::Mutex<JoinSet<()>>,
    bundle: tokio::sync::OnceCell<ProgramBundle>,
    /// Directory for attachments of results.
    attachments_dir: OnceLock<TempDir>,
    undo_warned: AtomicBool,
}

impl fmt::Debug for RemoteToolHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteToolHost").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl RemoteToolHost {
    /// Creates the host for a backend. Nothing is started yet.
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

    /// Returns the backend that the server runs on.
    pub fn backend(&self) -> &Arc<dyn ExecBackend> {
        &self.backend
    }

    /// Shuts the server down. Call it before the backend's own cleanup; a later
    /// call restarts the server.
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

    /// Whether the undo warning is still due; clears it.
    pub(crate) fn take_undo_warning(&self) -> bool {
        !self.undo_warned.swap(true, Ordering::Relaxed)
    }

    /// Whether a call only reads our own local files.
    pub(crate) fn reads_local_only(&self, effects: &[Effect]) -> bool {
        let is_own = |path: &Path| self.settings.local_dirs.iter().any(|own| path.starts_with(own));
        let is_here = |path: &Path| is_own(path) && path.symlink_metadata().is_ok();
        let reads = |effect: &Effect| effect.scope == Scope::FILE_READ;
        let mut all = effects.iter();
        !effects.is_empty() && all.all(|it| reads(it) && it.resource.as_path().is_some_and(is_here))
    }

    /// Makes a call on the remote host.
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
                // The remote call stops and may still report something.
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

    /// Saves an attachment to a local file.
    fn save_attachment(&self, attached: AttachedFile) -> Result<Attachment, ToolError> {
        let failed = |error| ToolError::io("Cannot save the attachment", &error);
        let bytes = STANDARD.decode(&attached.base64).map_err(|error| {
            ToolError::internal(format!("Cannot decode the attachment: {error}"))
        })?;
        let dir = match self.attachments_dir.get() {
            Some(dir) => dir,
            None => {
                let made = tempfile::tempdir().map_err(failed)?;
                self.attachments_dir.get_or_init(|| made)
            }
        };
        let mut file = tempfile::Builder::new().tempfile_in(dir.path()).map_err(failed)?;
        file.write_all(&bytes).map_err(failed)?;
        let (_, path) = file.keep().map_err(|error| failed(error.error))?;
        Ok(Attachment { media_type: attached.media_type, path })
    }

    fn silence_error(&self, cx: &ToolContext, is_unknown: bool) -> ToolError {
        let (place, tool) = (self.backend.name(), &cx.tool);
        let (kind, rest) = if is_unknown {
            (ErrorKind::Timeout, format!("it is not known whether {tool} has changed anything"))
        } else {
            (ErrorKind::Network, format!("{tool} returned nothing"))
        };
        ToolError::new(kind, format!("{place} no longer responds: {rest}")).with_hint(
            "`hermes doctor --backend` shows what is wrong there; retry when it responds.",
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
            // The error kind for an unknown outcome.
            return ToolError::new(
                ErrorKind::Timeout,
                format!(
                    "The connection to {place} broke while {tool} ran{said}: it is not known \
                     whether it has changed anything"
                ),
            )
            .with_hint("Read the file again before the next change; the call was not retried.");
        }
        ToolError::new(
            ErrorKind::Network,
            format!("The connection to {place} broke twice while {tool} ran{said}"),
        )
        .with_hint(
            "Retry; if it happens again, use `terminal` to find out what ends programs \
            there.",
        )
    }

    /// Returns the connection, opening it if necessary. Cancelling the call
    /// does not cancel the opening: the next call needs it too.
    async fn connect(
        self: &Arc<Self>,
        cx: &ToolContext,
    ) -> Result<Arc<ServerConnection>, ToolError> {
        if let Ok(link) = self.connection.try_lock()
            && let Some(link) = link.as_ref().filter(|link| link.is_open())
        {
            return Ok(Arc::clone(link));
        }
        let tool_host = Arc::clone(self);
        let (sender, opened) = oneshot::channel();
        {
            let mut opening = self.opening.lock();
            while opening.try_join_next().is_some() {}
            opening.spawn(async move {
                let _ = sender.send(tool_host.open_connection().await);
            });
        }
        let opened = cx.run_until_cancelled(opened).await?;
        opened.map_err(|_| ToolError::unavailable("The backend was closed while connecting"))?
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
            // Only a program already installed there can run.
            let script = format!(
                "command -v hermes >/dev/null && exec hermes {words}\necho hermes-missing\n"
            );
            return match self.launch(&place, script).await? {
                LaunchResult::Running(link) => Ok(link),
                LaunchResult::Missing => Err(ToolError::unavailable(format!(
                    "The file tools cannot run on {name}: it is a {}, and this program is \
                     built for {}",
                    place.system,
                    local_platform()
                ))
                .with_hint(
                    "Install the same version of hermes there, in its PATH; or use only the \
                     `terminal` tool.",
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
                "The file tools were installed on {name} but are missing there"
            ))
            .with_hint("Something there removes or replaces files in its cache directory.")),
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
            let made = made.await.map_err(|_| ToolError::internal("Cannot read the program"))?;
            made.map_err(|error| ToolError::io("Cannot read this program", &error))
        };
        self.bundle.get_or_try_init(make).await
    }

    /// Installs the program on the remote host.
    async fn upload(
        &self,
        place: &HostFacts,
        bundle: &ProgramBundle,
        placing: &InstallScripts,
    ) -> Result<(), ToolError> {
        let word = format!("hands-{}", hermes_core::ids::random_hex(16));
        let unread = |error| ToolError::io("Cannot read this program", &error);
        let parcel = bundle.clone();
        let archive = tokio::task::spawn_blocking(move || parcel.archive()).await;
        let archive = archive.map_err(|_| ToolError::internal("Cannot pack the program"))?;
        let done =
            self.run_script(place, placing.unpack_script(&word), archive.map_err(unread)?).await?;
        if !done.output.starts_with(b"no-tar") {
            return Ok(());
        }
        for piece in &bundle.files {
            let from = piece.source.clone();
            let bytes = tokio::task::spawn_blocking(move || std::fs::read(from)).await;
            let bytes = bytes.map_err(|_| ToolError::internal("Cannot read the program"))?;
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
        let said = done.errors.trim().lines().next_back().unwrap_or("no reason given");
        let name = self.backend.name();
        Err(ToolError::unavailable(format!("Cannot install the file tools on {name}: {said}"))
            .with_hint(
                "They need about 100 MB in the cache directory of the home directory there, or \
                 in TMPDIR, and permission to run programs from it.",
            ))
    }
}

/// Cancels a remote call whose future is dropped.
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
        .map_err(|error| ToolError::invalid(format!("Cannot serialize the arguments: {error}")))?;
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

/// Returns the operating system and architecture that this program is built
/// for.
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
