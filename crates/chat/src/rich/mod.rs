//! Screen for terminals with cursor control.

mod calls;
mod keys;
mod menu;
mod painter;
mod prompt;
mod question_prompt;
mod terminal;
mod ui;

use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_current_process_group};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::UserEvent;
use crate::command::ScreenCommand;
use crate::mode::RenderStart;
use crate::signals::{SignalAction, SignalListener};
use keys::{KeyParser, TerminalInput};
use prompt::PromptAction;
use terminal::{KeyboardReader, TerminalCapabilities, TerminalGuard};
use ui::ScreenState;

/// Minimum time between redraws.
const DRAW_INTERVAL: Duration = Duration::from_millis(16);
/// Time after which ESC counts as the Escape key, not the start of a sequence.
const ESCAPE_TIMEOUT: Duration = Duration::from_millis(40);
/// A paste that stalls this long has lost its end marker.
const PASTE_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum amount of text processed before checking for keys.
const TEXT_SLICE_BYTES: usize = 64 * 1024;
/// Maximum number of commands processed before checking for keys.
const MAX_COMMAND_BATCH: usize = 256;
/// How long to wait for the process to stop.
const SUSPEND_TIMEOUT: Duration = Duration::from_millis(300);

/// A screen with its terminal.
pub(crate) struct RichScreen {
    ui: ScreenState,
    signals: SignalListener,
    keyboard: KeyboardReader,
    parser: KeyParser,
    command_tx: UnboundedSender<ScreenCommand>,
    command_rx: UnboundedReceiver<ScreenCommand>,
    event_tx: UnboundedSender<UserEvent>,
    /// Text not processed yet.
    backlog: String,
    last_bytes: Instant,
    last_draw: Instant,
    is_dirty: bool,
    _guard: TerminalGuard,
}

/// Whether the event loop continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoopStep {
    Continue,
    /// The program closes the screen.
    Close,
    /// The terminal is gone, or the process is to terminate.
    Terminate,
}

enum RichWakeup {
    Signal(SignalAction),
    Bytes(io::Result<usize>),
    Timer,
    Backlog,
    Order(Option<ScreenCommand>),
}

impl RichScreen {
    /// Opens the screen and acquires the terminal.
    pub(crate) fn open(start: RenderStart, runtime: &Runtime) -> io::Result<Self> {
        let _entered = runtime.enter();
        let RenderStart { options: look, command_tx: orders, command_rx: ordered, event_tx: tell } =
            start;
        let signals = SignalListener::new()?;
        let keyboard = KeyboardReader::open()?;
        let ui =
            ScreenState::new(&look, terminal::size(), TerminalCapabilities::detect(), tell.clone());
        let hold = TerminalGuard;
        terminal::acquire(&orders)?;
        Ok(Self {
            ui,
            signals,
            keyboard,
            parser: KeyParser::default(),
            command_tx: orders,
            command_rx: ordered,
            event_tx: tell,
            backlog: String::new(),
            last_bytes: Instant::now(),
            last_draw: Instant::now(),
            is_dirty: true,
            _guard: hold,
        })
    }

    /// Runs until the screen is closed, then restores the terminal.
    pub(crate) async fn run(mut self) {
        let mut buffer = vec![0; 4096];
        let next = loop {
            match self.step(&mut buffer).await {
                LoopStep::Continue => {}
                next => break next,
            }
        };
        let backlog = std::mem::take(&mut self.backlog);
        self.ui.on_command(ScreenCommand::Text(backlog), Instant::now());
        let last = self.ui.finish();
        let _ = terminal::write(&last);
        terminal::release();
        if next == LoopStep::Terminate {
            let _ = self.event_tx.send(UserEvent::Terminated);
            self.wait_for_close().await;
        }
    }

    async fn step(&mut self, buffer: &mut [u8]) -> LoopStep {
        self.is_dirty |= self.ui.run_due(Instant::now());
        if self.draw_if_due().is_err() {
            return LoopStep::Terminate;
        }
        match self.wait(buffer).await {
            RichWakeup::Signal(wish) => self.on_signal(wish),
            RichWakeup::Bytes(Ok(read)) => {
                let mut inputs = Vec::new();
                self.last_bytes = Instant::now();
                self.parser.push(buffer.get(..read).unwrap_or_default(), &mut inputs);
                self.handle_inputs(inputs).await
            }
            RichWakeup::Bytes(Err(_)) => LoopStep::Terminate,
            RichWakeup::Timer => {
                let mut inputs = Vec::new();
                if self.escape_at().is_some_and(|at| at <= Instant::now()) {
                    self.parser.flush(&mut inputs);
                }
                self.handle_inputs(inputs).await
            }
            RichWakeup::Backlog => {
                self.print_slice();
                LoopStep::Continue
            }
            RichWakeup::Order(Some(order)) => self.handle_commands(order),
            RichWakeup::Order(None) => LoopStep::Close,
        }
    }

    async fn wait(&mut self, buffer: &mut [u8]) -> RichWakeup {
        let timer =
            [self.draw_at(), self.escape_at(), self.ui.next_deadline()].into_iter().flatten().min();
        let has_backlog = !self.backlog.is_empty();
        tokio::select! {
            biased;
            wish = self.signals.next() => RichWakeup::Signal(wish),
            read = self.keyboard.read(buffer) => RichWakeup::Bytes(read),
            () = sleep_until(timer) => RichWakeup::Timer,
            // Lets the loop check the keyboard in between.
            () = tokio::task::yield_now(), if has_backlog => RichWakeup::Backlog,
            order = self.command_rx.recv(), if !has_backlog => RichWakeup::Order(order),
        }
    }

    fn draw_if_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        if self.draw_at().is_none_or(|at| at > now) {
            return Ok(());
        }
        let bytes = self.ui.draw(now);
        self.is_dirty = false;
        if !bytes.is_empty() {
            terminal::write(&bytes)?;
        }
        self.last_draw = Instant::now();
        Ok(())
    }

    fn draw_at(&self) -> Option<Instant> {
        let wait = if self.is_dirty {
            DRAW_INTERVAL
        } else if self.ui.is_animating() {
            calls::SPINNER_INTERVAL
        } else {
            return None;
        };
        Some(self.last_draw + wait)
    }

    fn escape_at(&self) -> Option<Instant> {
        let timeout = if self.parser.is_pasting() { PASTE_TIMEOUT } else { ESCAPE_TIMEOUT };
        self.parser.is_waiting().then(|| self.last_bytes + timeout)
    }

    fn on_signal(&mut self, wish: SignalAction) -> LoopStep {
        self.is_dirty = true;
        match wish {
            SignalAction::Interrupt => {
                let _ = self.event_tx.send(UserEvent::Interrupt);
            }
            SignalAction::Terminate => return LoopStep::Terminate,
            SignalAction::Resize => self.ui.resize(terminal::size()),
            SignalAction::Continue => return self.reacquire(),
        }
        LoopStep::Continue
    }

    async fn handle_inputs(&mut self, inputs: Vec<TerminalInput>) -> LoopStep {
        self.is_dirty |= !inputs.is_empty();
        for input in inputs {
            let wanted = self.ui.on_input(input, Instant::now());
            if wanted == PromptAction::Clear {
                let bytes = self.ui.clear();
                let _ = terminal::write(&bytes);
            }
            if wanted == PromptAction::Suspend && self.suspend().await == LoopStep::Terminate {
                return LoopStep::Terminate;
            }
        }
        LoopStep::Continue
    }

    fn handle_commands(&mut self, first: ScreenCommand) -> LoopStep {
        self.is_dirty = true;
        let mut order = first;
        for _ in 0..MAX_COMMAND_BATCH {
            match order {
                ScreenCommand::Close => return LoopStep::Close,
                ScreenCommand::Reacquire => return self.reacquire(),
                // Processed in slices, so large text does not delay keys.
                ScreenCommand::Text(piece) if piece.len() > TEXT_SLICE_BYTES => {
                    self.backlog = piece;
                    return LoopStep::Continue;
                }
                order => self.ui.on_command(order, Instant::now()),
            }
            match self.command_rx.try_recv() {
                Ok(next) => order = next,
                Err(_) => break,
            }
        }
        LoopStep::Continue
    }

    fn print_slice(&mut self) {
        self.is_dirty = true;
        let mut at = self.backlog.len().min(TEXT_SLICE_BYTES);
        while !self.backlog.is_char_boundary(at) {
            at -= 1;
        }
        let rest = self.backlog.split_off(at);
        let piece = std::mem::replace(&mut self.backlog, rest);
        self.ui.on_command(ScreenCommand::Text(piece), Instant::now());
    }

    /// Stops the process group, as the shell expects, and resumes when it is
    /// continued.
    async fn suspend(&mut self) -> LoopStep {
        let bytes = self.ui.erase();
        let _ = terminal::write(&bytes);
        terminal::release();
        if kill_current_process_group(Signal::TSTP).is_ok() {
            // The signal may reach another thread first. Without a job-control
            // shell nothing is stopped.
            let _ = tokio::time::timeout(SUSPEND_TIMEOUT, self.signals.wait_continued()).await;
        }
        self.reacquire()
    }

    /// Waits for the close after the terminal is released: questions get no
    /// answer, and further output is printed at the end.
    async fn wait_for_close(&mut self) {
        loop {
            tokio::select! {
                _ = self.signals.next() => {}
                order = self.command_rx.recv() => match order {
                    None | Some(ScreenCommand::Close) => break,
                    Some(ScreenCommand::Ask { answer, .. }) => drop(answer.send(None)),
                    Some(order) => self.ui.on_command(order, Instant::now()),
                },
            }
        }
        let last = self.ui.finish();
        let _ = terminal::write(&last);
    }

    fn reacquire(&mut self) -> LoopStep {
        self.is_dirty = true;
        self.ui.invalidate();
        self.ui.resize(terminal::size());
        match terminal::acquire(&self.command_tx) {
            Ok(()) => LoopStep::Continue,
            Err(_) => LoopStep::Terminate,
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
