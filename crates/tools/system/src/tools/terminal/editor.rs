//! An editor that was opened where nobody can type. Vim complains that it has no
//! terminal, goes on without one, and waits for keys for ever: `vi FILE`, or a
//! `git commit` without a message.

use std::time::Duration;

use hermes_exec::Job;

/// What vim says. One that is run by a script says `--not-a-term`, and no such
/// thing.
const VIM_WARNING: &str = "Vim: Warning: Input is not from a terminal";
/// Its screen, and what was written before it was opened.
const MAX_SCANNED_BYTES: usize = 64 * 1024;
/// How often it is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// After so many looks without anything new it waits for keys.
const IDLE_POLLS: usize = 8;

pub(super) const ENDED_NOTE: &str = "The command was ended: it has opened an editor, which waits for \
                                keys and has no terminal. Use pty=true, or do without it: a file \
                                tool, `git commit -m`, `EDITOR=true`";

/// Comes back when the command waits in an editor without a terminal.
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
        // Nobody looks at what has long been silent for another reason.
        looks = looks.min(IDLE_POLLS);
    }
}
