//! A program on a terminal of its own.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::demo;

/// So long anything may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program, and the screen it draws.
pub(crate) struct Terminal {
    child: Child,
    keys: File,
    ours: OwnedFd,
    /// Kept open, so that its settings can be looked at when the program is gone.
    theirs: File,
    seen: Arc<Mutex<Seen>>,
}

struct Seen {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    pub(crate) fn open(term: &str) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = File::from(rustix::fs::open(&name, flags, Mode::empty()).unwrap());
        resize(&ours, 24, 60);
        let stream = || Stdio::from(theirs.try_clone().unwrap());
        let mut command = demo(&["setsid", "--ctty"]);
        // The screen of these tests does not break its rows anew.
        command.env("TERM", term).env("XTERM_VERSION", "1").env_remove("TMUX");
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn().unwrap();
        let seen =
            Seen { screen: vt100::Parser::new(size(24), size(60), 1_000), bytes: Vec::new() };
        let seen = Arc::new(Mutex::new(seen));
        watch(File::from(ours.try_clone().unwrap()), Arc::clone(&seen));
        let keys = File::from(ours.try_clone().unwrap());
        let terminal = Self { child, keys, ours, theirs, seen };
        terminal.wait_for("Nobody is here but an echo");
        terminal
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        self.seen.lock().screen.screen_mut().set_size(size(rows), size(columns));
        resize(&self.ours, rows, columns);
    }

    pub(crate) fn screen(&self) -> String {
        self.seen.lock().screen.screen().contents()
    }

    /// Everything that was ever written.
    pub(crate) fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().bytes).into_owned()
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let since = Instant::now();
        while !is_so(&self.screen()) {
            assert!(
                since.elapsed() < PATIENCE,
                "no {what} in:\n{}\n{:?}",
                self.screen(),
                self.bytes()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the program is gone and its last words are read.
    pub(crate) fn wait_for_exit(&mut self) -> ExitStatus {
        let since = Instant::now();
        loop {
            let is_read = self.bytes().contains("test result:");
            if let Some(status) = self.child.try_wait().unwrap().filter(|_| is_read) {
                return status;
            }
            assert!(since.elapsed() < PATIENCE, "still there:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, signal).unwrap();
    }

    /// Whether it shows what is typed and gives it line by line, as a shell expects it.
    pub(crate) fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.theirs).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(fd: &OwnedFd, rows: u16, columns: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(fd, size).unwrap();
}

fn size(size: u16) -> NonZero<u16> {
    NonZero::new(size).unwrap()
}

fn watch(mut from: File, seen: Arc<Mutex<Seen>>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let mut seen = seen.lock();
            seen.screen.process(&buffer[..read]);
            seen.bytes.extend_from_slice(&buffer[..read]);
        }
    });
}
