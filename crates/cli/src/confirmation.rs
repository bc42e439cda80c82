//! Yes/no questions at the terminal.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use crate::app::AppContext;

/// Asks the user to confirm; `None` if no user is at the terminal.
pub(crate) fn confirm(app: &AppContext, question: &str) -> Option<bool> {
    let is_there = io::stdin().is_terminal() && app.terminal.stderr_is_person && !app.json;
    if !is_there {
        return None;
    }
    let mut err = io::stderr().lock();
    let _ = write!(err, "{question}\n[y/N] ");
    let _ = err.flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    Some(read.is_ok() && is_yes)
}
