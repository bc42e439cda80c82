//! Transport for a script's calls on another backend. A bridge in the script's
//! language listens there, and one connection carries all messages.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{ErrorKind, ToolError};
use hermes_exec::output::OutputStream as Stream;
use hermes_exec::{
    CommandSpec, ExecBackend, ProcessControl, SpawnedProcess, StdinSource, StdioMode,
};
use serde::Deserialize;
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::dispatcher::RpcDispatcher;
use crate::frames::{FrameReader, encode_frame, write_all};
use crate::limits::{ScriptLanguage, ScriptMode};
use crate::socket::{StreamMode, serve_stream};
use crate::stubs::ModuleFiles;

/// How long the bridge may take to start listening.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the bridge may take to clean up.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of bytes read from the bridge's standard error.
const MAX_STDERR_BYTES: usize = 4_096;

/// What the bridge needs to set up a script.
#[derive(Debug)]
pub(crate) struct BridgeSpec<'a> {
    pub(crate) language: ScriptLanguage,
    pub(crate) mode: ScriptMode,
    pub(crate) directory: &'a Path,
    pub(crate) environment: BTreeMap<OsString, OsString>,
    /// Files of the script's directory.
    pub(crate) files: &'a ModuleFiles,
    /// The script, if it is a file.
    pub(crate) script: Option<(&'static str, &'a str)>,
}

/// A bridge that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct RpcBridge {
    /// The script's directory on the backend.
    pub(crate) dir: PathBuf,
    /// The interpreter on the backend.
    pub(crate) program: OsString,
    control: Arc<dyn ProcessControl>,
    relay_task: JoinHandle<()>,
}

#[derive(Deserialize)]
struct BridgeHello {
    #[serde(rename = "folder")]
    dir: PathBuf,
    program: String,
}

impl RpcBridge {
    /// Starts a bridge.
    pub(crate) async fn open(
        backend: &dyn ExecBackend,
        job: &str,
        plan: BridgeSpec<'_>,
        desk: Arc<RpcDispatcher>,
    ) -> Result<Self, ToolError> {
        let (find, bridge) = match plan.language {
            ScriptLanguage::Python => {
                (include_str!("assets/find.sh"), include_str!("assets/bridge.py"))
            }
            ScriptLanguage::JavaScript => (
                include_str!("assets/find_node.sh"),
                concat!(include_str!("assets/frames.cjs"), include_str!("assets/bridge.cjs")),
            ),
        };
        let mode = if plan.mode == ScriptMode::Project { "project" } else { "strict" };
        let files: BTreeMap<&str, &str> = plan
            .files
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .chain(plan.script)
            .collect();
        let files = serde_json::to_string(&files).map_err(|error| {
            ToolError::internal(format!("Cannot encode the script for the bridge: {error}"))
        })?;
        let order = CommandSpec {
            program: "sh".into(),
            arguments: ["-c", find, "sh", bridge, mode].map(OsString::from).to_vec(),
            environment: plan.environment,
            directory: plan.directory.to_owned(),
            input: StdinSource::Pipe,
            output: StdioMode::Separate,
            confinement: None,
        };
        let SpawnedProcess { output, input, control, .. } = backend.start(job, order).await?;
        let control: Arc<dyn ProcessControl> = Arc::from(control);
        match Self::handshake(output, input, &files, Arc::clone(&control), desk).await {
            Ok(bridge) => Ok(bridge),
            Err(error) => {
                control.terminate(Duration::from_millis(500)).await;
                Err(error)
            }
        }
    }

    async fn handshake(
        output: Vec<(Stream, OwnedFd)>,
        input: Option<OwnedFd>,
        files: &str,
        control: Arc<dyn ProcessControl>,
        desk: Arc<RpcDispatcher>,
    ) -> Result<Self, ToolError> {
        let failed =
            |error: std::io::Error| ToolError::io("The connection to the script bridge", &error);
        let (mut stdout, mut stderr) = (None, Vec::new());
        for (stream, fd) in output {
            let end = pipe::Receiver::from_owned_fd(fd).map_err(failed)?;
            if stream == Stream::Stdout { stdout = Some(end) } else { stderr.push(end) }
        }
        let (Some(stdout), Some(input)) = (stdout, input) else {
            return Err(ToolError::internal("script transport lacks a stdin or stdout pipe"));
        };
        let sink = pipe::Sender::from_owned_fd(input).map_err(failed)?;
        let large = Arc::new(Semaphore::new(2));
        let first = async {
            write_all(&sink, &encode_frame(Some(0), files)).await?;
            FrameReader::tagged(&stdout, Arc::clone(&large)).next().await
        };
        let first = tokio::time::timeout(HANDSHAKE_TIMEOUT, first).await.map_err(|_| {
            let message = "The script bridge does not answer on the backend";
            ToolError::new(ErrorKind::Timeout, message)
        })?;
        let hello = match first {
            Ok(Some(frame)) => serde_json::from_slice::<BridgeHello>(&frame.bytes).ok(),
            _ => None,
        };
        let Some(hello) = hello else {
            return Err(startup_error(&read_stderr(&stderr).await));
        };
        let carrier = tokio::spawn(async move {
            // The bridge sends nothing before a script does, so nothing is lost.
            let frames = FrameReader::tagged(&stdout, large);
            tokio::select! {
                () = serve_stream(frames, &sink, StreamMode::Multiplexed, &desk) => {}
                () = drain_stderr(stderr) => {}
            }
        });
        Ok(Self { dir: hello.dir, program: hello.program.into(), control, relay_task: carrier })
    }

    /// Stops the bridge and removes its directory.
    pub(crate) async fn close(self) {
        // The bridge exits when its connection closes.
        self.relay_task.abort();
        if tokio::time::timeout(CLEANUP_TIMEOUT, self.control.wait()).await.is_err() {
            self.control.terminate(Duration::from_millis(500)).await;
        }
    }
}

impl Drop for RpcBridge {
    fn drop(&mut self) {
        self.relay_task.abort();
    }
}

fn startup_error(stderr: &str) -> ToolError {
    let stderr = stderr.trim();
    let reason = if stderr.is_empty() { "no error output" } else { stderr };
    ToolError::unavailable(format!("Cannot start the script bridge on the backend: {reason}"))
        .with_hint("Install Python 3.8 or Node 18 where commands run.")
}

/// Reads the error output that is available.
async fn read_stderr(stderr: &[pipe::Receiver]) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; MAX_STDERR_BYTES];
    for end in stderr {
        while text.len() < MAX_STDERR_BYTES {
            let ready = tokio::time::timeout(Duration::from_secs(1), end.readable()).await;
            match (ready, end.try_read(&mut buffer)) {
                (Ok(Ok(())), Ok(read)) if read > 0 => text.extend(buffer.iter().take(read)),
                _ => break,
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Discards later error output; never returns.
async fn drain_stderr(stderr: Vec<pipe::Receiver>) {
    let mut buffer = [0; MAX_STDERR_BYTES];
    for end in stderr {
        loop {
            if end.readable().await.is_err() {
                break;
            }
            match end.try_read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => break,
                _ => {}
            }
        }
    }
    std::future::pending().await
}
