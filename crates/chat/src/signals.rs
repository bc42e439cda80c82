//! Signals that concern a terminal.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long the program may take to exit after a termination signal.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// Action requested by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalAction {
    /// Stop the current work.
    Interrupt,
    /// Leave.
    Terminate,
    /// The terminal size changed.
    Resize,
    /// The process was stopped and is continued.
    Continue,
}

/// Listens for signals.
pub(crate) struct SignalListener {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    resize: Signal,
    resume: Signal,
    /// When the first termination signal arrived.
    since: Option<Instant>,
}

impl SignalListener {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            resize: signal(SignalKind::window_change())?,
            resume: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
            since: None,
        })
    }

    /// Waits until the process is continued after a stop.
    pub(crate) async fn wait_continued(&mut self) {
        self.resume.recv().await;
    }

    /// Waits for the next signal. A second termination signal, some time after
    /// the first, kills the process.
    pub(crate) async fn next(&mut self) -> SignalAction {
        let wish = tokio::select! {
            _ = self.interrupt.recv() => SignalAction::Interrupt,
            _ = self.terminate.recv() => SignalAction::Terminate,
            _ = self.hang_up.recv() => SignalAction::Terminate,
            _ = self.quit.recv() => SignalAction::Terminate,
            _ = self.resize.recv() => SignalAction::Resize,
            _ = self.resume.recv() => SignalAction::Continue,
        };
        // Supervisors send several signals at once; they count as one.
        if wish == SignalAction::Terminate
            && self.since.get_or_insert_with(Instant::now).elapsed() > EXIT_GRACE
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), Number::KILL);
        }
        wish
    }
}
