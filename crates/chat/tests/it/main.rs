//! The screen on a real terminal, on a dumb one, and in a pipe.
#![allow(clippy::unwrap_used)]

#[path = "../../examples/chat_demo.rs"]
mod chat_demo;
mod piped;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(target_os = "linux")]
mod terminal;

use std::process::Command;

/// The program that the others run.
#[test]
#[ignore = "it is run by the others"]
fn program() {
    chat_demo::main().unwrap();
}

/// A command that runs it.
fn demo(wrapper: &[&str]) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match wrapper {
        [] => Command::new(&program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(&program);
            command
        }
    };
    command.args(["program", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env_remove("NO_COLOR").env_remove("CHAT_DEMO_HISTORY").env("RUST_BACKTRACE", "0");
    command
}
