//! What is typed into a process that runs it. The name of such a process says
//! so: what is typed is judged before anybody looks for the process.

use hermes_core::{Session, WorkingDir};
use hermes_exec::shell_env::{SHELL_DOCUMENT, ShellSnapshot};

/// How the names of shells end.
const SHELL_SUFFIX: &str = "_sh";

/// The name of a process; that of a shell says so.
pub(crate) fn process_name(id: String, is_shell: bool) -> String {
    if is_shell { id + SHELL_SUFFIX } else { id }
}

/// Whether the name is that of a shell.
pub(crate) fn is_shell(id: &str) -> bool {
    id.ends_with(SHELL_SUFFIX)
}

/// Whether a command of the session starts a shell that runs what is typed.
pub(crate) fn runs_input(command: &str, session: &Session, at: &WorkingDir) -> bool {
    let earlier =
        session.read::<ShellSnapshot>(SHELL_DOCUMENT).map(|kept| kept.text).unwrap_or_default();
    hermes_shell::analyze_after(&earlier, command, at).runs_stdin
}

/// The text that keys type.
pub(crate) fn typed_text(keys: &str) -> String {
    let words = keys.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty());
    let typed = words.filter_map(|word| match word.to_ascii_lowercase().as_str() {
        "space" => Some(' '),
        "enter" | "return" => Some('\n'),
        _ => {
            let mut chars = word.chars();
            chars.next().filter(|_| chars.next().is_none())
        }
    });
    typed.collect()
}
