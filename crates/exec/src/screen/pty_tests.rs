//! Real programs on a real terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::super::{PromptKind, TerminalScreen, encode_keys};
use super::{echo, input_mode, open, set_echo, set_size, size};

/// A program that says nothing for so long hangs.
const GUARD: Duration = Duration::from_secs(60);

struct Session {
    child: Child,
    master: File,
    output: Receiver<Vec<u8>>,
    screen: TerminalScreen,
}

impl Session {
    /// Starts a program that has the terminal for itself; None, with the
    /// reason printed, if it is not here.
    fn start(program: &str, args: &[&str]) -> Option<Self> {
        for needed in ["setsid", program] {
            let found = Command::new("sh")
                .args(["-c", "command -v \"$1\"", "sh", needed])
                .stdout(Stdio::null())
                .status();
            if !found.is_ok_and(|status| status.success()) {
                println!("skipped: there is no {needed} here");
                return None;
            }
        }
        let screen = TerminalScreen::new(12, 60);
        let pty = open(12, 60).unwrap();
        let child = Command::new("setsid")
            .args(["-c", "-w", program])
            .args(args)
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("LESS")
            .stdin(pty.slave.try_clone().unwrap())
            .stdout(pty.slave.try_clone().unwrap())
            .stderr(pty.slave)
            .spawn()
            .unwrap();
        let master = File::from(pty.master);
        let mut reader = master.try_clone().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Linux ends the last read with an error.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Some(Self { child, master, output, screen })
    }

    /// Reads on until the screen is as wanted.
    fn until(&mut self, what: &str, wanted: impl Fn(&TerminalScreen) -> bool) {
        while !wanted(&self.screen) {
            match self.output.recv_timeout(GUARD) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("{what}: {error}; on the screen:\n{}", self.screen.text()),
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.screen.feed(bytes);
        let replies = self.screen.take_replies();
        // A program that has ended does not want its answers.
        let _ = self.master.write_all(&replies);
    }

    fn press(&mut self, names: &str) {
        let bytes = encode_keys(names, self.screen.modes()).unwrap();
        self.master.write_all(&bytes).unwrap();
    }

    fn end(mut self) -> (ExitStatus, TerminalScreen) {
        while let Ok(bytes) = self.output.recv_timeout(GUARD) {
            self.take(&bytes);
        }
        (self.child.wait().unwrap(), self.screen)
    }
}

fn asks(kind: PromptKind) -> impl Fn(&TerminalScreen) -> bool {
    move |screen| screen.detect_prompt().is_some_and(|prompt| prompt.kind == kind)
}

#[test]
fn both_ends_are_one_terminal() {
    let pty = open(7, 33).unwrap();
    assert_eq!(size(&pty.slave).unwrap(), (7, 33));
    set_size(&pty.master, 40, 100).unwrap();
    assert_eq!(size(&pty.slave).unwrap(), (40, 100));
    assert!(echo(&pty.master).unwrap());
    set_echo(&pty.slave, false).unwrap();
    assert!(!echo(&pty.master).unwrap());
    let modes = input_mode(pty.master.as_fd()).unwrap();
    assert!(!modes.echo && modes.is_canonical);
    set_echo(&pty.master, true).unwrap();
    assert!(echo(&pty.slave).unwrap());
}

#[test]
fn what_is_no_terminal_is_an_error() {
    let file = tempfile::tempfile().unwrap();
    assert!(set_size(&file, 1, 1).is_err() && size(&file).is_err() && echo(&file).is_err());
}

#[test]
fn programs_do_not_inherit_the_ends() {
    let pty = open(5, 5).unwrap();
    for end in [&pty.master, &pty.slave] {
        let flags = rustix::io::fcntl_getfd(end).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
    }
}

#[test]
fn a_program_sees_the_size() {
    let Some(session) = Session::start("stty", &["size"]) else { return };
    let (status, screen) = session.end();
    assert!(status.success());
    assert_eq!(screen.text(), "12 60");
}

#[test]
fn bash_asks_and_gets_its_answer() {
    let script = "read -p 'name? ' x; echo \"hello $x\"";
    let Some(mut session) = Session::start("bash", &["-c", script]) else { return };
    session.until("the question", asks(PromptKind::Question));
    let paste = session.screen.paste("Ada Lovelace");
    session.master.write_all(&paste).unwrap();
    session.press("enter");
    let (status, screen) = session.end();
    assert!(status.success());
    assert_eq!(screen.text(), "name? Ada Lovelace\nhello Ada Lovelace");
}

#[test]
fn a_password_is_asked_for_without_echo() {
    let script = "read -s -p 'Password: ' x; echo; echo ${#x}";
    let Some(mut session) = Session::start("bash", &["-c", script]) else { return };
    session.until("the question", asks(PromptKind::Password));
    assert!(!echo(&session.master).unwrap());
    session.press("s e c r e t enter");
    let (_, screen) = session.end();
    assert_eq!(screen.text(), "Password:\n6");
}

#[test]
fn ctrl_c_reaches_the_program() {
    let script = "trap 'echo stopped; exit 3' INT; echo ready; while :; do sleep 0.05; done";
    let Some(mut session) = Session::start("bash", &["-c", script]) else { return };
    session.until("ready", |screen| screen.text().contains("ready"));
    session.press("ctrl-c");
    let (status, screen) = session.end();
    assert_eq!(status.code(), Some(3));
    assert!(screen.text().contains("stopped"), "{}", screen.text());
}

#[test]
fn a_program_that_asks_for_the_cursor_gets_an_answer() {
    let script =
        "stty raw -echo; printf 'ab\\033[6n'; IFS= read -r -d R x; stty sane; echo \"|${x#*[}\"";
    let Some(session) = Session::start("bash", &["-c", script]) else { return };
    let (_, screen) = session.end();
    assert!(screen.text().contains("|1;3"), "{}", screen.text());
}

#[test]
fn python_is_an_interpreter() {
    let Some(mut session) = Session::start("python3", &["-q"]) else { return };
    session.until("the prompt", asks(PromptKind::Interpreter));
    session.master.write_all(b"print(6 * 7)").unwrap();
    session.press("enter");
    session.until("the result", |screen| {
        screen.text().lines().any(|line| line == "42") && asks(PromptKind::Interpreter)(screen)
    });
    session.press("ctrl-d");
    assert!(session.end().0.success());
}

#[test]
fn top_draws_and_asks_nothing() {
    let Some(mut session) = Session::start("top", &[]) else { return };
    session.until("the load", |screen| screen.text().contains("load average"));
    session.until("the table", |screen| screen.text().contains("PID"));
    assert_eq!(session.screen.detect_prompt(), None);
    session.press("q");
    assert!(session.end().0.success());
}

#[test]
fn less_is_a_pager() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("many lines.txt");
    let lines: Vec<String> = (1..=100).map(|n| format!("line {n}")).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let Some(mut session) = Session::start("less", &[path.to_str().unwrap()]) else { return };
    session.until("the name of the file", asks(PromptKind::Pager));
    assert!(session.screen.is_alternate());
    assert!(session.screen.text().starts_with("line 1\n"));
    session.press("space");
    session.until("the next page", |screen| {
        screen.text().starts_with("line 12\n") && asks(PromptKind::Pager)(screen)
    });
    session.press("end");
    session.until("the end", |screen| screen.text().contains("line 100"));
    session.press("q");
    let (status, screen) = session.end();
    assert!(status.success());
    assert!(!screen.is_alternate());
}

#[test]
fn vim_writes_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("note.txt");
    let args = ["-u", "NONE", "-N", "-i", "NONE", path.to_str().unwrap()];
    let Some(mut session) = Session::start("vim", &args) else { return };
    session.until("the file", asks(PromptKind::Editor));
    assert!(session.screen.is_alternate());
    session.press("i");
    session.until("insert mode", |screen| screen.text().contains("-- INSERT --"));
    session.master.write_all(b"one").unwrap();
    session.press("enter t w o up home X");
    session.until("the text", |screen| screen.text().starts_with("Xone\ntwo\n"));
    session.press("esc : w q enter");
    assert!(session.end().0.success());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "Xone\ntwo\n");
}
