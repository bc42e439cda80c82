//! The signals that concern a terminal.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// So long the program may take to leave by itself.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// What a signal wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalAction {
    /// Stop what is going on.
    Interrupt,
    /// Leave.
    Terminate,
    /// The terminal has another size.
    Resize,
    /// The program was stopped and goes on.
    Continue,
}

/// Listens for them.
pub(crate) struct SignalListener {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    resize: Signal,
    resume: Signal,
    /// When the first wish to leave came.
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

    /// Waits until the program goes on after it was stopped.
    pub(crate) async fn wait_continued(&mut self) {
        self.resume.recv().await;
    }

    /// The next one. Whoever asks again to leave, some time after the first, need not wait: that
    /// ends the process.
    pub(crate) async fn next(&mut self) -> SignalAction {
        let wish = tokio::select! {
            _ = self.interrupt.recv() => SignalAction::Interrupt,
            _ = self.terminate.recv() => SignalAction::Terminate,
            _ = self.hang_up.recv() => SignalAction::Terminate,
            _ = self.quit.recv() => SignalAction::Terminate,
            _ = self.resize.recv() => SignalAction::Resize,
            _ = self.resume.recv() => SignalAction::Continue,
        };
        // Supervisors send several signals at once; that is one wish.
        if wish == SignalAction::Terminate
            && self.since.get_or_insert_with(Instant::now).elapsed() > EXIT_GRACE
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), Number::KILL);
        }
        wish
    }
}
