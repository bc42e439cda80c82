//! Detects an editor opened without a terminal. Vim prints a warning,
//! continues, and waits for keys forever: `vi FILE`, or `git commit` without a
//! message.

use std::time::Duration;

use hermes_exec::Job;

/// Vim's warning. Scripts that run vim suppress it with `--not-a-term`.
const VIM_WARNING: &str = "Vim: Warning: Input is not from a terminal";
/// Covers the editor's screen and the output before it.
const MAX_SCANNED_BYTES: usize = 64 * 1024;
/// Interval between checks.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Checks without new output after which the editor counts as waiting for keys.
const IDLE_POLLS: usize = 8;

pub(super) const ENDED_NOTE: &str = "The command was terminated: it opened an editor, which \
                                waits for keys but has no terminal. Use pty=true, or avoid the \
                                editor: a file tool, `git commit -m`, `EDITOR=true`";

/// Returns when the command waits in an editor without a terminal.
pub(super) async fn wait_until_opened(job: &Job) {
    let (mut seen, mut looks) = (0, 0);
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let (written, is_editor) = {
            let log = job.log();
            let is_likely = looks + 1 >= IDLE_POLLS && job.screen().is_none();
            let is_editor = || {
                String::from_utf8_lossy(&log.read_from(0, MAX_SCANNED_BYTES).bytes)
                    .contains(VIM_WARNING)
            };
            (log.len(), is_likely && is_editor())
        };
        looks = if written == seen { looks + 1 } else { 0 };
        seen = written;
        if is_editor && looks >= IDLE_POLLS {
            return;
        }
        // The command may stay silent for another reason.
        looks = looks.min(IDLE_POLLS);
    }
}
