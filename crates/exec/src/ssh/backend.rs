//! Another host as a place, which outlives the connections to it: a program
//! that lost its connection may still run there, and is ended when the host is
//! reached again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hermes_core::{BoxFuture, ToolError};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::{SshSettings, SshTransport, marked_processes};
use crate::backend::{
    ExecBackend, HostFacts, InputWait, ProcessControl, ProcessExit, SpawnedProcess,
};
use crate::command_spec::{CommandSpec, StdioMode, TerminalSize};
use crate::remote::{RemoteBackend, exit_report, fresh_marker, job_mark};
use crate::tree::Signal;

/// How long a program that nobody hears any more has to go by itself.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// How long ssh has to end after the program.
const TRANSPORT_EXIT_GRACE: Duration = Duration::from_secs(1);

/// Another host.
#[derive(Debug)]
pub struct SshBackend {
    remote: RemoteBackend<SshTransport>,
    orphans: OrphanMarks,
}

/// The marks of programs that lost their connection.
#[derive(Debug, Clone, Default)]
struct OrphanMarks(Arc<Mutex<Vec<String>>>);

impl OrphanMarks {
    fn marks(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock()
    }
}

impl SshBackend {
    /// The host that these settings describe. Nothing is connected yet.
    pub fn new(settings: SshSettings) -> Self {
        Self {
            remote: RemoteBackend::new(SshTransport::new(settings)),
            orphans: OrphanMarks::default(),
        }
    }

    /// Reaches the host, and ends what has been adrift there.
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
                        "The connection to {} was made anew. What had lost its connection was \
                         still running there ({ended} processes) and was ended.",
                        way.host()
                    )]);
                }
            }
            // The next time, then.
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
        order: CommandSpec,
    ) -> BoxFuture<'a, Result<SpawnedProcess, ToolError>> {
        Box::pin(async move {
            self.open_and_reap().await?;
            let terminal = matches!(order.output, StdioMode::Terminal(_));
            let mut told = None;
            let mut started = if terminal {
                self.remote.start(job, order).await?
            } else {
                let word = fresh_marker();
                let begun = exit_report::EXIT_MARKER
                    .scope(word.clone(), self.remote.start(job, order))
                    .await;
                let mut started = begun?;
                told = Some(extract_exit_code(&mut started, &word)?);
                started
            };
            started.control = Box::new(SshProcess {
                control: started.control,
                exit_code: told,
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

/// Listens for the end of a program, in the stream that carries its errors.
fn extract_exit_code(
    started: &mut SpawnedProcess,
    word: &str,
) -> Result<SshExitReceiver, ToolError> {
    let failed = |error: io::Error| ToolError::io("The command's streams", &error);
    // The last one is not of the program; its errors come last of its own.
    let at = started.output.len().saturating_sub(2);
    let (source, stream) = started.output.remove(at);
    let (stream, told) = exit_report::filter_stream(source, stream, word).map_err(failed)?;
    started.output.insert(at, (source, stream));
    Ok(told)
}

type SshExitReceiver = watch::Receiver<Option<i32>>;

/// A program there, which may lose its connection.
#[derive(Debug)]
struct SshProcess {
    control: Box<dyn ProcessControl>,
    /// Its code, as it is told there; of a terminal ssh tells it.
    exit_code: Option<SshExitReceiver>,
    mark: String,
    orphans: OrphanMarks,
}

impl ProcessControl for SshProcess {
    fn wait(&self) -> BoxFuture<'_, io::Result<ProcessExit>> {
        Box::pin(async {
            let code = match self.exit_code.clone() {
                Some(mut told) => {
                    let heard =
                        async { told.wait_for(Option::is_some).await.ok().and_then(|code| *code) };
                    tokio::pin!(heard);
                    tokio::select! {
                        code = &mut heard => code,
                        // Who shares the connection has its streams, and keeps them
                        // for as long as the host does not answer.
                        _ = self.control.wait() => {
                            tokio::time::timeout(TRANSPORT_EXIT_GRACE, heard).await.ok().flatten()
                        }
                    }
                }
                None => None,
            };
            if let Some(code) = code {
                // Somebody else may hold its streams for long.
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
