//! Password helper for programs that support one, such as `sudo -A`.
//!
//! The helper is a short shell script in a private directory. It reads the password
//! from a pipe that this process writes on demand. The password is in no argument,
//! variable or file, and the user is asked only if it is needed.

use std::fs::{self, OpenOptions, Permissions};
use std::future::Future;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use rustix::io::{Errno, write};
use tokio::task::JoinHandle;

/// Interval between checks for a helper that waits for the password.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// `$PPID` is the program that asks. It gets the password once: a second request means
/// that the password was wrong, and a third attempt could lock the account.
const HELPER_SCRIPT: &str = r#"dir=${0%/*}
if [ -e "$dir/$PPID" ]; then : > "$dir/wrong"; exit 1; fi
: > "$dir/$PPID"
IFS= read -r word < "$dir/pipe" || exit 1
printf '%s\n' "$word"
"#;

/// A password helper, active until it is dropped.
#[derive(Debug)]
pub struct AskpassHelper {
    directory: tempfile::TempDir,
    is_missing: Arc<AtomicBool>,
    server: JoinHandle<()>,
}

impl AskpassHelper {
    /// Creates the helper in a directory below `scratch`. `find` supplies the password.
    pub fn new<F, W>(scratch: &Path, find: F) -> io::Result<Self>
    where
        F: Fn() -> W + Send + Sync + 'static,
        W: Future<Output = Option<String>> + Send + 'static,
    {
        let directory = tempfile::Builder::new()
            .prefix("ask-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(scratch)?;
        let pipe = directory.path().join("pipe");
        let private = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &pipe, FileType::Fifo, private, 0)?;
        let helper = directory.path().join("helper");
        let shell = ["/bin/sh", "/system/bin/sh"].into_iter().find(|path| Path::new(path).exists());
        let mut file = OpenOptions::new().write(true).create_new(true).open(&helper)?;
        write!(file, "#!{}\n{HELPER_SCRIPT}", shell.unwrap_or("/usr/bin/env sh"))?;
        drop(file);
        fs::set_permissions(&helper, Permissions::from_mode(0o700))?;
        let is_missing = Arc::new(AtomicBool::new(false));
        let server = tokio::spawn(serve(pipe, find, Arc::clone(&is_missing)));
        Ok(Self { directory, is_missing, server })
    }

    /// Returns the helper's path.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("helper")
    }

    /// Whether the password was wrong.
    pub fn was_rejected(&self) -> bool {
        self.directory.path().join("wrong").exists()
    }

    /// Whether a password was requested and none was available.
    pub fn was_missing(&self) -> bool {
        self.is_missing.load(Ordering::Relaxed)
    }
}

impl Drop for AskpassHelper {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve<F, W>(pipe: PathBuf, find: F, is_missing: Arc<AtomicBool>)
where
    F: Fn() -> W + Send + Sync,
    W: Future<Output = Option<String>> + Send + 'static,
{
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    loop {
        match open(&pipe, flags, Mode::empty()) {
            Ok(asker) => match find().await {
                // The pipe buffer is large enough; a helper that is gone needs no
                // password.
                Some(password) => drop(write(&asker, format!("{password}\n").as_bytes())),
                None => is_missing.store(true, Ordering::Relaxed),
            },
            // No helper has the pipe open.
            Err(Errno::NXIO | Errno::INTR) => {}
            Err(_) => return,
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
#[path = "askpass_tests.rs"]
mod tests;
