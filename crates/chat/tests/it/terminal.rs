//! On a terminal that is drawn on, and on one that is not.

use std::time::Duration;

use rustix::process::Signal;

use crate::pty::Terminal;

const RICH: &str = "xterm-256color";

#[test]
fn what_is_typed_is_answered() {
    let mut terminal = Terminal::open(RICH);
    assert!(!terminal.is_restored());
    terminal.wait_for("echo-1 · 0 / 200k (0 %)");
    terminal.keys("hello wörld 世界\r");
    terminal.wait_for("You said: hello wörld 世界");
    terminal.wait_for("❯ say something");
    // Ctrl-D.
    terminal.keys("\x04");
    assert!(terminal.wait_for_exit().success());
    assert!(terminal.is_restored());
    let screen = terminal.screen();
    assert!(screen.contains("You said") && !screen.contains("say something"), "{screen}");
    let bytes = terminal.bytes();
    assert!(bytes.rfind("\x1b[?2004l") > bytes.rfind("\x1b[?2004h"));
    assert!(bytes.rfind("\x1b[?25h") > bytes.rfind("\x1b[?25l"));
    assert!(!bytes.contains("\x1b[?1049h"), "the scrollback is what it was");
}

#[test]
fn typing_goes_on_while_calls_run() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("/calls\rin the meantime");
    terminal.wait_until("a live call above the line", |screen| {
        screen.contains("terminal cargo test") && screen.contains("❯ in the meantime")
    });
    terminal.wait_for("✗ 🔍 search_files");
    terminal.wait_for("Done.");
    assert!(terminal.screen().contains("❯ in the meantime"));
}

#[test]
fn ctrl_c_clears_and_then_interrupts() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("half");
    terminal.wait_for("❯ half");
    terminal.keys("\x03");
    terminal.wait_for("❯ say something");
    assert!(!terminal.screen().contains("interrupted"));
    terminal.keys("\x03");
    terminal.wait_for("! interrupted");
}

#[test]
fn a_question_is_answered_with_a_key() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("/ask\r");
    terminal.wait_for("▸ y  Yes, once");
    // Whoever types on has not read it; a key counts after a pause.
    std::thread::sleep(Duration::from_millis(600));
    terminal.keys("s");
    terminal.wait_for("Run this command? → Yes, for this session");
    terminal.wait_for("answer: Some(Key('s'))");
}

#[test]
fn a_paste_is_one_thing() {
    let mut terminal = Terminal::open(RICH);
    let lines: Vec<String> = (1..=40).map(|line| format!("line {line}")).collect();
    terminal.keys(&format!("\x1b[200~{}\x1b[201~", lines.join("\r")));
    terminal.wait_for("❯ [pasted 40 lines]");
    terminal.keys("\r");
    terminal.wait_for("line 39 line 40");
}

#[test]
fn another_width_breaks_the_live_rows_anew() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("a line of thirty-five columns or so");
    terminal.wait_for("❯ a line of thirty-five columns or so");
    terminal.resize(24, 30);
    terminal.wait_for("\n  columns or so");
    assert!(terminal.screen().contains("Nobody is here"), "{}", terminal.screen());
    terminal.keys("\r");
    terminal.wait_for("You said: a line of");
}

#[test]
fn signals_to_leave_restore_the_terminal() {
    for signal in [Signal::TERM, Signal::HUP] {
        let mut terminal = Terminal::open(RICH);
        terminal.signal(signal);
        assert!(terminal.wait_for_exit().success());
        assert!(terminal.is_restored(), "{signal:?}");
        // What is said on the way out is still seen.
        terminal.wait_for("asked to leave");
        assert!(terminal.bytes().contains("\x1b[?2004l"));
    }
}

#[test]
fn a_panic_elsewhere_is_reported_and_the_screen_goes_on() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("/panic\r");
    terminal.wait_for("this was wanted");
    terminal.keys("still here\r");
    terminal.wait_for("You said: still here");
    assert!(!terminal.is_restored());
}

#[test]
fn a_panic_of_the_screen_itself_leaves_a_terminal_that_works() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("/boom");
    terminal.wait_for("the screen itself panics");
    terminal.wait_for_exit();
    assert!(terminal.is_restored());
    assert!(terminal.bytes().contains("\x1b[?2004l"));
}

#[test]
fn without_a_shell_to_return_to_nothing_is_suspended() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("kept\x1a");
    terminal.wait_for("❯ kept");
    terminal.keys("!\r");
    terminal.wait_for("You said: kept!");
}

#[test]
fn a_megabyte_at_once_does_not_keep_keys_waiting() {
    let mut terminal = Terminal::open(RICH);
    terminal.keys("/big\r");
    terminal.wait_for("many words in one line");
    terminal.keys("typed meanwhile");
    terminal.wait_for("❯ typed meanwhile");
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let mut terminal = Terminal::open("dumb");
    terminal.wait_for("> ");
    assert!(terminal.is_restored());
    terminal.keys("hello\n");
    terminal.wait_for("You said: hello");
    terminal.keys("/ask\n");
    terminal.wait_for("? Run this command?");
    terminal.wait_until("the prompt of the question", |screen| screen.trim_end().ends_with('?'));
    terminal.keys("a\n");
    terminal.wait_for("answer: Some(Key('a'))");
    terminal.keys("/secret\n");
    terminal.wait_for("? Password");
    terminal.wait_until("the prompt of the question", |screen| screen.trim_end().ends_with('?'));
    terminal.keys("hunter2\n");
    terminal.wait_for("answered: true");
    assert!(!terminal.bytes().contains("hunter2"));
    assert!(terminal.is_restored());
    // Ctrl-D at the beginning of a line.
    terminal.keys("\x04");
    assert!(terminal.wait_for_exit().success());
    assert!(!terminal.bytes().contains('\x1b'));
}
