//! Chooses the mode of a screen and starts its render thread.

use std::io::{self, IsTerminal as _};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::command::ScreenCommand;
use crate::plain::PlainScreen;
use crate::rich::RichScreen;
use crate::{ScreenOptions, UserEvent};

/// The mode of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenMode {
    /// A terminal with cursor control.
    Rich,
    /// An interactive terminal used line by line.
    Plain,
    /// No user: lines come from a file or a pipe, and questions get no answer.
    /// The input may end while a reply is still pending.
    Piped,
}

/// Arguments of the render thread.
pub(crate) struct RenderStart {
    pub(crate) options: ScreenOptions,
    /// For the panic hook.
    pub(crate) command_tx: UnboundedSender<ScreenCommand>,
    pub(crate) command_rx: UnboundedReceiver<ScreenCommand>,
    pub(crate) event_tx: UnboundedSender<UserEvent>,
}

/// Starts the render thread. It is separate because a slow terminal must not
/// block other work.
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
