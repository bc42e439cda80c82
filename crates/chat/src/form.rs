//! Which form a screen takes, and the thread that keeps it.

use std::io::{self, IsTerminal as _};
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use crate::order::Order;
use crate::plain::Plain;
use crate::rich::Rich;
use crate::{Event, Look};

/// The form that a screen took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A terminal that is drawn on.
    Rich,
    /// A terminal with a person at it, used line by start.
    Plain,
    /// Nobody is there: lines come from a file or a pipe, and questions are not answered. The
    /// input may end while an answer is still wanted.
    Piped,
}

/// What the thread gets.
pub(crate) struct Start {
    pub(crate) look: Look,
    /// For those who interrupt: the panic hook.
    pub(crate) orders: UnboundedSender<Order>,
    pub(crate) ordered: UnboundedReceiver<Order>,
    pub(crate) tell: UnboundedSender<Event>,
}

/// Starts the thread that draws. It is a thread of its own because a slow terminal must hold up
/// nobody else.
pub(crate) fn start(start: Start) -> io::Result<(JoinHandle<()>, Form)> {
    let form = choose(&start.look);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::Builder::new().name("screen".to_owned());
    let thread = match form {
        Form::Plain | Form::Piped => {
            let plain = Plain::new(form, start.look.quiet, start.tell);
            thread.spawn(move || runtime.block_on(plain.run(start.ordered)))?
        }
        Form::Rich => {
            let rich = Rich::open(start, &runtime)?;
            thread.spawn(move || runtime.block_on(rich.run()))?
        }
    };
    Ok((thread, form))
}

fn choose(look: &Look) -> Form {
    if !io::stdin().is_terminal() {
        return Form::Piped;
    }
    let can_draw = io::stdout().is_terminal() && !is_dumb(std::env::var("TERM").ok().as_deref());
    if can_draw && !look.plain { Form::Rich } else { Form::Plain }
}

pub(crate) fn is_dumb(term: Option<&str>) -> bool {
    matches!(term, None | Some("" | "dumb"))
}
