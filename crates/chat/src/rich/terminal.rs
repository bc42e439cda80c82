//! Acquires, restores, reads and writes the terminal.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::panic;
use std::sync::Once;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::termios::{
    OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc::UnboundedSender;

use crate::command::ScreenCommand;
use crate::row::ColourSupport;

/// Capabilities of a terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TerminalCapabilities {
    pub(crate) palette: ColourSupport,
    /// Whether it reflows rows when it becomes narrower.
    pub(crate) reflows: bool,
}

impl TerminalCapabilities {
    /// Detects capabilities from the environment.
    pub(crate) fn detect() -> Self {
        let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_simple = term().is_some_and(|term| term.starts_with("st-"));
        Self {
            palette: if has("NO_COLOR") { ColourSupport::NoColour } else { ColourSupport::Full },
            // Variables of the outer terminal are also set inside tmux.
            reflows: has("TMUX") || !(has("XTERM_VERSION") || has("STY") || is_simple),
        }
    }
}

fn term() -> Option<String> {
    std::env::var("TERM").ok()
}

/// Enables bracketed paste.
const ENTER_SEQUENCE: &str = "\x1b[?2004h";
const LEAVE_SEQUENCE: &str = "\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";
/// Enables the kitty keyboard protocol, which gives every key a code. Not for
/// the Linux console, which would print part of the sequence.
const PUSH_KEYBOARD_MODE: &str = "\x1b[>1u";
const POP_KEYBOARD_MODE: &str = "\x1b[<u";

/// Settings of the terminal before it was acquired. Process-wide, because a
/// panic on any thread must restore them.
static SAVED_TERMINAL: Mutex<Option<SavedTerminal>> = Mutex::new(None);

struct SavedTerminal {
    before: Termios,
    has_keyboard_mode: bool,
    command_tx: UnboundedSender<ScreenCommand>,
}

/// Acquires the terminal in raw mode, without echo.
pub(crate) fn acquire(orders: &UnboundedSender<ScreenCommand>) -> io::Result<()> {
    release_on_panic();
    let mut taken = SAVED_TERMINAL.lock();
    let before = match taken.as_ref() {
        Some(taken) => taken.before.clone(),
        None => tcgetattr(io::stdin())?,
    };
    let mut raw = before.clone();
    raw.make_raw();
    // Keep output processing, so other output, such as a library's warning,
    // keeps its line breaks.
    raw.output_modes = before.output_modes;
    // Reads never block; readiness is checked before.
    raw.special_codes[SpecialCodeIndex::VMIN] = 0;
    raw.special_codes[SpecialCodeIndex::VTIME] = 0;
    let has_keys = term().as_deref() != Some("linux");
    let was_taken = taken
        .replace(SavedTerminal { before, has_keyboard_mode: has_keys, command_tx: orders.clone() })
        .is_some();
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    write(ENTER_SEQUENCE)?;
    // The terminal keeps a stack of modes: each push needs a pop.
    if has_keys && !was_taken { write(PUSH_KEYBOARD_MODE) } else { Ok(()) }
}

/// Restores the terminal when dropped.
#[derive(Debug)]
pub(crate) struct TerminalGuard;

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        release();
    }
}

/// Restores the terminal. Calling it more than once is harmless.
pub(crate) fn release() {
    let taken = SAVED_TERMINAL.lock().take();
    restore(taken.as_ref());
}

fn restore(taken: Option<&SavedTerminal>) {
    if let Some(taken) = taken {
        if taken.has_keyboard_mode {
            let _ = write(POP_KEYBOARD_MODE);
        }
        let _ = write(LEAVE_SEQUENCE);
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &taken.before);
    }
}

/// Restores the terminal before a panic is reported. If the program continues,
/// the screen acquires it again.
fn release_on_panic() {
    static INSTALL_HOOK: Once = Once::new();
    INSTALL_HOOK.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let taken = SAVED_TERMINAL.try_lock().and_then(|mut taken| taken.take());
            if taken.is_some() {
                let _ = write("\r\n\x1b[J");
                restore(taken.as_ref());
            }
            report(panic);
            if let Some(taken) = taken {
                // The receiver is gone if the render thread itself panicked.
                let _ = taken.command_tx.send(ScreenCommand::Reacquire);
            }
        }));
    });
}

/// Returns the number of columns and rows.
pub(crate) fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

/// Writes all of `text`, bypassing the lock of standard output.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match rustix::io::write(io::stdout(), rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            // Another process has set this terminal to non-blocking.
            Err(Errno::AGAIN) => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Reads input bytes.
pub(crate) struct KeyboardReader(AsyncFd<OwnedFd>);

impl KeyboardReader {
    pub(crate) fn open() -> io::Result<Self> {
        let fd = io::stdin().as_fd().try_clone_to_owned()?;
        #[expect(deprecated, reason = "sound for an owned descriptor; the alternative is unsafe")]
        let watched = AsyncFd::with_interest(fd, Interest::READABLE)?;
        Ok(Self(watched))
    }

    /// Waits for bytes; fails when the terminal is gone.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.0.readable().await?;
            match rustix::io::read(self.0.get_ref(), &mut *buffer) {
                Ok(0) if ready.ready().is_read_closed() => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(read) => {
                    // A short read means that no more is available.
                    if read < buffer.len() {
                        ready.clear_ready();
                    }
                    if read > 0 {
                        return Ok(read);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => ready.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
