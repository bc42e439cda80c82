//! Which form a screen takes, and the thread that keeps it.

use std::io::{self, IsTerminal as _};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::command::ScreenCommand;
use crate::plain::PlainScreen;
use crate::rich::RichScreen;
use crate::{ScreenOptions, UserEvent};

/// The form that a screen took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenMode {
    /// A terminal that is drawn on.
    Rich,
    /// A terminal with a person at it, used line by start.
    Plain,
    /// Nobody is there: lines come from a file or a pipe, and questions are not answered. The
    /// input may end while an answer is still wanted.
    Piped,
}

/// What the thread gets.
pub(crate) struct RenderStart {
    pub(crate) options: ScreenOptions,
    /// For those who interrupt: the panic hook.
    pub(crate) command_tx: UnboundedSender<ScreenCommand>,
    pub(crate) command_rx: UnboundedReceiver<ScreenCommand>,
    pub(crate) event_tx: UnboundedSender<UserEvent>,
}

/// Starts the thread that draws. It is a thread of its own because a slow terminal must hold up
/// nobody else.
pub(crate) fn start(start: RenderStart) -> io::Result<(JoinHandle<()>, ScreenMode)> {
    let form = choose_mode(&start.options);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("screen".to_owned());
    let thread = match form {
        ScreenMode::Plain | ScreenMode::Piped => {
            let plain = PlainScreen::new(form, start.options.quiet, start.event_tx);
            thread.spawn(move || runtime.block_on(plain.run(start.command_rx)))?
        }
        ScreenMode::Rich => {
            let rich = RichScreen::open(start, &runtime)?;
            thread.spawn(move || runtime.block_on(rich.run()))?
        }
    };
    Ok((thread, form))
}

fn choose_mode(look: &ScreenOptions) -> ScreenMode {
    if !io::stdin().is_terminal() {
        return ScreenMode::Piped;
    }
    let can_draw = io::stdout().is_terminal() && !is_dumb(std::env::var("TERM").ok().as_deref());
    if can_draw && !look.plain { ScreenMode::Rich } else { ScreenMode::Plain }
}

pub(crate) fn is_dumb(term: Option<&str>) -> bool {
    matches!(term, None | Some("" | "dumb"))
}
