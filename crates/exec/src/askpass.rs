//! A password for programs that ask a helper for it, as `sudo -A` does.
//!
//! The helper is a few lines of shell in a folder of its own. It reads the
//! password from a pipe that we write to at that moment, so that the password
//! is in no argument, no variable and no file, and nobody is asked for one
//! that is not needed.

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

/// How often it is looked whether somebody asks.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// `$PPID` is the program that asks. It is given the password once: if it asks
/// again, the password was wrong, and a third time could lock the account.
const HELPER_SCRIPT: &str = r#"folder=${0%/*}
if [ -e "$folder/$PPID" ]; then : > "$folder/wrong"; exit 1; fi
: > "$folder/$PPID"
IFS= read -r word < "$folder/pipe" || exit 1
printf '%s\n' "$word"
"#;

/// A helper that gives a password, as long as this lives.
#[derive(Debug)]
pub struct AskpassHelper {
    directory: tempfile::TempDir,
    is_missing: Arc<AtomicBool>,
    server: JoinHandle<()>,
}

impl AskpassHelper {
    /// Makes the helper in a folder below `scratch`. Whoever runs it gets what
    /// `find` finds.
    pub fn new<F, W>(scratch: &Path, find: F) -> io::Result<Self>
    where
        F: Fn() -> W + Send + Sync + 'static,
        W: Future<Output = Option<String>> + Send + 'static,
    {
        let folder = tempfile::Builder::new()
            .prefix("ask-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(scratch)?;
        let pipe = folder.path().join("pipe");
        let private = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &pipe, FileType::Fifo, private, 0)?;
        let helper = folder.path().join("helper");
        let shell = ["/bin/sh", "/system/bin/sh"].into_iter().find(|path| Path::new(path).exists());
        let mut file = OpenOptions::new().write(true).create_new(true).open(&helper)?;
        write!(file, "#!{}\n{HELPER_SCRIPT}", shell.unwrap_or("/usr/bin/env sh"))?;
        drop(file);
        fs::set_permissions(&helper, Permissions::from_mode(0o700))?;
        let is_lacking = Arc::new(AtomicBool::new(false));
        let server = tokio::spawn(serve(pipe, find, Arc::clone(&is_lacking)));
        Ok(Self { directory: folder, is_missing: is_lacking, server })
    }

    /// The helper's path.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("helper")
    }

    /// Whether the password was not the right one.
    pub fn was_rejected(&self) -> bool {
        self.directory.path().join("wrong").exists()
    }

    /// Whether a password was asked for, and there was none.
    pub fn was_missing(&self) -> bool {
        self.is_missing.load(Ordering::Relaxed)
    }
}

impl Drop for AskpassHelper {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve<F, W>(pipe: PathBuf, find: F, is_lacking: Arc<AtomicBool>)
where
    F: Fn() -> W + Send + Sync,
    W: Future<Output = Option<String>> + Send + 'static,
{
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    loop {
        match open(&pipe, flags, Mode::empty()) {
            Ok(asker) => match find().await {
                // A pipe has room for it; an asker that is gone needs none.
                Some(password) => drop(write(&asker, format!("{password}\n").as_bytes())),
                None => is_lacking.store(true, Ordering::Relaxed),
            },
            // Nobody asks.
            Err(Errno::NXIO | Errno::INTR) => {}
            Err(_) => return,
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
#[path = "askpass_tests.rs"]
mod tests;
