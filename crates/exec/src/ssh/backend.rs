//! The ssh backend, which outlives its connections: a program that lost its
//! connection may still be running, and is terminated on reconnect.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::ids::random_marker;
use hermes_core::{BoxFuture, ToolError};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::{SshSettings, SshTransport, marked_processes};
use crate::backend::{
    ExecBackend, HostFacts, InputWait, ProcessControl, ProcessExit, SpawnedProcess,
};
use crate::command_spec::{CommandSpec, StdioMode, TerminalSize};
use crate::remote::{RemoteBackend, exit_report, job_mark};
use crate::tree::Signal;

/// Time to exit after SIGTERM for a program that lost its connection.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// Time for ssh to exit after the program.
const TRANSPORT_EXIT_GRACE: Duration = Duration::from_secs(1);

/// Runs programs on another host over ssh.
#[derive(Debug)]
pub struct SshBackend {
    remote: RemoteBackend<SshTransport>,
    orphans: OrphanMarks,
}

/// Marks of programs that lost their connection.
#[derive(Debug, Clone, Default)]
struct OrphanMarks(Arc<Mutex<Vec<String>>>);

impl OrphanMarks {
    fn marks(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock()
    }
}

impl SshBackend {
    /// Creates a backend with these settings, without connecting.
    pub fn new(settings: SshSettings) -> Self {
        Self {
            remote: RemoteBackend::new(SshTransport::new(settings)),
            orphans: OrphanMarks::default(),
        }
    }

    /// Connects to the host and terminates orphaned programs there.
    async fn open_and_reap(&self) -> Result<Arc<HostFacts>, ToolError> {
        let place = self.remote.open().await?;
        let marks = std::mem::take(&mut *self.orphans.marks());
        if marks.is_empty() {
            return Ok(place);
        }
        let way = self.remote.transport();
        match way.run_script(&marked_processes::terminate_script(&marks, KILL_GRACE)).await {
            Ok(done) if done.succeeded() => {
                let ended = String::from_utf8_lossy(&done.output).trim().parse().unwrap_or(0_usize);
                if ended > 0 {
                    way.add_notices([format!(
                        "Reconnected to {}. Programs that had lost their connection were still \
                         running there ({ended} processes) and were terminated.",
                        way.host()
                    )]);
                }
            }
            // Retried on the next connect.
            _ => self.orphans.marks().extend(marks),
        }
        Ok(place)
    }
}

impl ExecBackend for SshBackend {
    fn name(&self) -> &str {
        self.remote.name()
    }

    fn location(&self) -> String {
        self.remote.location()
    }

    fn open(&self) -> BoxFuture<'_, Result<Arc<HostFacts>, ToolError>> {
        Box::pin(self.open_and_reap())
    }

    fn start<'a>(
        &'a self,
        job: &'a str,
        spec: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async move {
            self.open_and_reap().await?;
            let terminal = matches!(spec.output, StdioMode::Terminal(_));
            let mut shown = None;
            let mut started = if terminal {
                self.remote.start(job, spec).await?
            } else {
                let word = random_marker();
                let begun = exit_report::EXIT_MARKER
                    .scope(word.clone(), self.remote.start(job, spec))
                    .await;
                let mut started = begun?;
                shown = Some(extract_exit_code(&mut started, &word)?);
                started
            };
            started.control = Box::new(SshProcess {
                control: started.control,
                exit_code: shown,
                mark: job_mark(job),
                orphans: self.orphans.clone(),
            });
            Ok(started)
        })
    }

    fn cleanup(&self) -> BoxFuture<'_, ()> {
        self.remote.cleanup()
    }

    fn take_notice(&self) -> Option<String> {
        self.remote.take_notice()
    }
}

/// Extracts the exit code of a program from its stderr.
fn extract_exit_code(
    started: &mut SpawnedProcess,
    word: &str,
) -> Result<SshExitReceiver, ToolError> {
    let failed = |error: io::Error| ToolError::io("The command's standard streams", &error);
    // The last stream belongs to ssh; the program's stderr precedes it.
    let at = started.output.len().saturating_sub(2);
    let (source, stream) = started.output.remove(at);
    let (stream, shown) = exit_report::filter_stream(source, stream, word).map_err(failed)?;
    started.output.insert(at, (source, stream));
    Ok(shown)
}

type SshExitReceiver = watch::Receiver<Option<i32>>;

/// A remote program, which may lose its connection.
#[derive(Debug)]
struct SshProcess {
    control: Box<dyn ProcessControl>,
    /// The exit code reported by the remote shell; with a terminal ssh reports
    /// it.
    exit_code: Option<SshExitReceiver>,
    mark: String,
    orphans: OrphanMarks,
}

impl ProcessControl for SshProcess {
    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>> {
        Box::pin(async {
            let code = match self.exit_code.clone() {
                Some(mut shown) => {
                    let heard =
                        async { shown.wait_for(Option::is_some).await.ok().and_then(|code| *code) };
                    tokio::pin!(heard);
                    tokio::select! {
                        code = &mut heard => code,
                        // The connection master shares these streams, and keeps
                        // them open while the host does not respond.
                        _ = self.control.wait() => {
                            tokio::time::timeout(TRANSPORT_EXIT_GRACE, heard).await.ok().flatten()
                        }
                    }
                }
                None => None,
            };
            if let Some(code) = code {
                // Another process may hold its streams for long.
                let _ = tokio::time::timeout(TRANSPORT_EXIT_GRACE, self.control.wait()).await;
                return Ok(ProcessExit::Code(code));
            }
            let ended = self.control.wait().await;
            if ended.is_err()
                || (self.exit_code.is_some() && !matches!(ended, Ok(ProcessExit::Code(0))))
            {
                let mut adrift = self.orphans.marks();
                if !adrift.contains(&self.mark) {
                    adrift.push(self.mark.clone());
                }
            }
            ended
        })
    }

    fn terminate(&self, grace: Duration) -> BoxFuture<'_, ()> {
        self.control.terminate(grace)
    }

    fn abandon(&self) {
        self.control.abandon();
    }

    fn has_exited(&self) -> bool {
        self.control.has_exited()
    }

    fn has_descendants(&self, is_likely: bool) -> BoxFuture<'_, bool> {
        self.control.has_descendants(is_likely)
    }

    fn wait_for_descendants(&self) -> BoxFuture<'_, ()> {
        self.control.wait_for_descendants()
    }

    fn signal(&self, signal: Signal) -> BoxFuture<'_, usize> {
        self.control.signal(signal)
    }

    fn input_wait(&self) -> BoxFuture<'_, InputWait> {
        self.control.input_wait()
    }

    fn resize(&self, size: TerminalSize) -> io::Result<()> {
        self.control.resize(size)
    }
}
