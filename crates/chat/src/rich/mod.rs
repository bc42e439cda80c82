//! The form for terminals that are drawn on.

mod asking;
mod calls;
mod keys;
mod menu;
mod painter;
mod prompt;
mod terminal;
mod ui;

use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_current_process_group};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::Event;
use crate::form::Start;
use crate::order::Order;
use crate::signals::{Signals, Wish};
use keys::{Input, Parser};
use prompt::Wanted;
use terminal::{Abilities, Hold, Keyboard};
use ui::Ui;

/// Nobody sees more than this.
const BETWEEN_DRAWS: Duration = Duration::from_millis(16);
/// After this long, ESC is the key and not the beginning of another.
const ESCAPE: Duration = Duration::from_millis(40);
/// A paste that stops for so long has lost its end.
const PASTE: Duration = Duration::from_secs(1);
/// How much text is taken in before keys are looked at again.
const SLICE: usize = 64 * 1024;
/// How many orders are.
const BATCH: usize = 256;
/// So long it may take until the process is stopped.
const STOP: Duration = Duration::from_millis(300);

/// The screen with its terminal.
pub(crate) struct Rich {
    ui: Ui,
    signals: Signals,
    keyboard: Keyboard,
    parser: Parser,
    orders: UnboundedSender<Order>,
    ordered: UnboundedReceiver<Order>,
    tell: UnboundedSender<Event>,
    /// Text that is not taken in yet.
    backlog: String,
    last_bytes: Instant,
    last_draw: Instant,
    is_dirty: bool,
    _hold: Hold,
}

/// Whether the screen goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    /// The program closes it.
    Close,
    /// The terminal or the process is about to end.
    Terminate,
}

enum Woken {
    Signal(Wish),
    Bytes(io::Result<usize>),
    Timer,
    Backlog,
    Order(Option<Order>),
}

impl Rich {
    /// Takes the terminal.
    pub(crate) fn open(start: Start, runtime: &Runtime) -> io::Result<Self> {
        let _entered = runtime.enter();
        let Start { look, orders, ordered, tell } = start;
        let signals = Signals::new()?;
        let keyboard = Keyboard::open()?;
        let ui = Ui::new(&look, terminal::size(), Abilities::find(), tell.clone());
        let hold = Hold;
        terminal::take(&orders)?;
        Ok(Self {
            ui,
            signals,
            keyboard,
            parser: Parser::default(),
            orders,
            ordered,
            tell,
            backlog: String::new(),
            last_bytes: Instant::now(),
            last_draw: Instant::now(),
            is_dirty: true,
            _hold: hold,
        })
    }

    /// Runs until the screen is closed, and gives the terminal back whatever happens.
    pub(crate) async fn run(mut self) {
        let mut buffer = vec![0; 4096];
        let next = loop {
            match self.turn(&mut buffer).await {
                Next::GoOn => {}
                next => break next,
            }
        };
        let backlog = std::mem::take(&mut self.backlog);
        self.ui.order(Order::Text(backlog), Instant::now());
        let last = self.ui.finish();
        let _ = terminal::write(&last);
        terminal::give_back();
        if next == Next::Terminate {
            let _ = self.tell.send(Event::Terminated);
            self.wait_for_close().await;
        }
    }

    async fn turn(&mut self, buffer: &mut [u8]) -> Next {
        self.is_dirty |= self.ui.settle(Instant::now());
        if self.draw_if_due().is_err() {
            return Next::Terminate;
        }
        match self.wait(buffer).await {
            Woken::Signal(wish) => self.heed(wish),
            Woken::Bytes(Ok(read)) => {
                let mut inputs = Vec::new();
                self.last_bytes = Instant::now();
                self.parser.push(buffer.get(..read).unwrap_or_default(), &mut inputs);
                self.take_inputs(inputs).await
            }
            Woken::Bytes(Err(_)) => Next::Terminate,
            Woken::Timer => {
                let mut inputs = Vec::new();
                if self.escape_at().is_some_and(|at| at <= Instant::now()) {
                    self.parser.flush(&mut inputs);
                }
                self.take_inputs(inputs).await
            }
            Woken::Backlog => {
                self.take_slice();
                Next::GoOn
            }
            Woken::Order(Some(order)) => self.take_orders(order),
            Woken::Order(None) => Next::Close,
        }
    }

    async fn wait(&mut self, buffer: &mut [u8]) -> Woken {
        let timer = [self.draw_at(), self.escape_at(), self.ui.due()].into_iter().flatten().min();
        let has_backlog = !self.backlog.is_empty();
        tokio::select! {
            biased;
            wish = self.signals.next() => Woken::Signal(wish),
            read = self.keyboard.read(buffer) => Woken::Bytes(read),
            () = sleep_until(timer) => Woken::Timer,
            // Lets the keyboard be looked at in between.
            () = tokio::task::yield_now(), if has_backlog => Woken::Backlog,
            order = self.ordered.recv(), if !has_backlog => Woken::Order(order),
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
            BETWEEN_DRAWS
        } else if self.ui.is_turning() {
            calls::FRAME
        } else {
            return None;
        };
        Some(self.last_draw + wait)
    }

    fn escape_at(&self) -> Option<Instant> {
        let patience = if self.parser.is_pasting() { PASTE } else { ESCAPE };
        self.parser.is_waiting().then(|| self.last_bytes + patience)
    }

    fn heed(&mut self, wish: Wish) -> Next {
        self.is_dirty = true;
        match wish {
            Wish::Interrupt => {
                let _ = self.tell.send(Event::Interrupt);
            }
            Wish::Terminate => return Next::Terminate,
            Wish::Resize => self.ui.resize(terminal::size()),
            Wish::Continue => return self.retake(),
        }
        Next::GoOn
    }

    async fn take_inputs(&mut self, inputs: Vec<Input>) -> Next {
        self.is_dirty |= !inputs.is_empty();
        for input in inputs {
            let wanted = self.ui.input(input, Instant::now());
            if wanted == Wanted::Clear {
                let bytes = self.ui.clear();
                let _ = terminal::write(&bytes);
            }
            if wanted == Wanted::Suspend && self.suspend().await == Next::Terminate {
                return Next::Terminate;
            }
        }
        Next::GoOn
    }

    fn take_orders(&mut self, first: Order) -> Next {
        self.is_dirty = true;
        let mut order = first;
        for _ in 0..BATCH {
            match order {
                Order::Close => return Next::Close,
                Order::Retake => return self.retake(),
                // In slices, so that a megabyte at once does not keep keys waiting.
                Order::Text(piece) if piece.len() > SLICE => {
                    self.backlog = piece;
                    return Next::GoOn;
                }
                order => self.ui.order(order, Instant::now()),
            }
            match self.ordered.try_recv() {
                Ok(next) => order = next,
                Err(_) => break,
            }
        }
        Next::GoOn
    }

    fn take_slice(&mut self) {
        self.is_dirty = true;
        let mut at = self.backlog.len().min(SLICE);
        while !self.backlog.is_char_boundary(at) {
            at -= 1;
        }
        let rest = self.backlog.split_off(at);
        let piece = std::mem::replace(&mut self.backlog, rest);
        self.ui.order(Order::Text(piece), Instant::now());
    }

    /// Stops the whole job, as the shell expects it, and comes back when it is continued.
    async fn suspend(&mut self) -> Next {
        let bytes = self.ui.erase();
        let _ = terminal::write(&bytes);
        terminal::give_back();
        if kill_current_process_group(Signal::TSTP).is_ok() {
            // The signal may reach another thread first. If there is no shell to come back to,
            // nothing is stopped.
            let _ = tokio::time::timeout(STOP, self.signals.continued()).await;
        }
        self.retake()
    }

    /// The terminal is given back: nobody is asked any more, and what is still said is printed in
    /// the end.
    async fn wait_for_close(&mut self) {
        loop {
            tokio::select! {
                _ = self.signals.next() => {}
                order = self.ordered.recv() => match order {
                    None | Some(Order::Close) => break,
                    Some(Order::Ask { answer, .. }) => drop(answer.send(None)),
                    Some(order) => self.ui.order(order, Instant::now()),
                },
            }
        }
        let last = self.ui.finish();
        let _ = terminal::write(&last);
    }

    fn retake(&mut self) -> Next {
        self.is_dirty = true;
        self.ui.forget();
        self.ui.resize(terminal::size());
        match terminal::take(&self.orders) {
            Ok(()) => Next::GoOn,
            Err(_) => Next::Terminate,
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}
