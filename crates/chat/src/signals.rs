//! The signals that concern a terminal.

use std::io;
use std::time::{Duration, Instant};

use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// So long the program may take to leave by itself.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a signal wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
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
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    quit: Signal,
    resize: Signal,
    proceed: Signal,
    /// When the first wish to leave came.
    since: Option<Instant>,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
            resize: signal(SignalKind::window_change())?,
            proceed: signal(SignalKind::from_raw(Number::CONT.as_raw()))?,
            since: None,
        })
    }

    /// Waits until the program goes on after it was stopped.
    pub(crate) async fn continued(&mut self) {
        self.proceed.recv().await;
    }

    /// The next one. Whoever asks again to leave, some time after the first, need not wait: that
    /// ends the process.
    pub(crate) async fn next(&mut self) -> Wish {
        let wish = tokio::select! {
            _ = self.interrupt.recv() => Wish::Interrupt,
            _ = self.terminate.recv() => Wish::Terminate,
            _ = self.hang_up.recv() => Wish::Terminate,
            _ = self.quit.recv() => Wish::Terminate,
            _ = self.resize.recv() => Wish::Resize,
            _ = self.proceed.recv() => Wish::Continue,
        };
        // Supervisors send several signals at once; that is one wish.
        if wish == Wish::Terminate
            && self.since.get_or_insert_with(Instant::now).elapsed() > PATIENCE
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), Number::KILL);
        }
        wish
    }
}
