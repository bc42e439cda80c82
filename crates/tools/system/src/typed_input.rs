//! Input typed into a process that executes it. The id marks such a process,
//! because the policy rules on the input before the process is looked up.

use hermes_core::{Session, WorkingDir};
use hermes_exec::shell_env::{SHELL_DOCUMENT, ShellSnapshot};

/// Suffix of the ids of shells.
const SHELL_SUFFIX: &str = "_sh";

/// Returns the id of a process, marked if it is a shell.
pub(crate) fn process_name(id: String, is_shell: bool) -> String {
    if is_shell { id + SHELL_SUFFIX } else { id }
}

/// Whether the id is that of a shell.
pub(crate) fn is_shell(id: &str) -> bool {
    id.ends_with(SHELL_SUFFIX)
}

/// Whether a command of the session starts a shell that executes typed input.
pub(crate) fn runs_input(command: &str, session: &Session, at: &WorkingDir) -> bool {
    let earlier =
        session.read::<ShellSnapshot>(SHELL_DOCUMENT).map(|kept| kept.text).unwrap_or_default();
    hermes_shell::analyze_after(&earlier, command, at).runs_stdin
}

/// Returns the text that a sequence of keys types.
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
