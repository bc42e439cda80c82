use std::process::Command;

use super::remote_command_line;

/// A script with everything in it that some shell has an opinion on.
const ODD: &str = r#"n=$(printf '\nx'); printf '%s|' 'a\\b' "it's" '!x !!' "$((1+2))" '%d' '~' '\'  '*' '#' 'ü' "${n%x}" '{a,b}' "\$HOME""#;

/// What is said at the end, as programs have it.
const LAST: &str = "printf \"\\036word:$c\\036\" >&2; ";

fn said_by(shell: &str) -> Option<Vec<u8>> {
    // A home of nobody, so that no start file says anything.
    let output = Command::new(shell)
        .args(["-c", &remote_command_line(ODD, LAST)])
        .env("HOME", "/nonexistent")
        .output()
        .ok()?;
    Some(output.stdout)
}

#[test]
fn every_login_shell_hands_it_on_unchanged() {
    let expected = Command::new("sh").args(["-c", ODD]).output().unwrap().stdout;
    assert!(expected.starts_with(br"a\\b|it's|!x !!|3|%d|~|\|*|#|"), "{expected:?}");
    for shell in ["sh", "bash", "dash", "busybox", "zsh", "fish", "tcsh", "csh"] {
        let said = match shell {
            "busybox" => Command::new(shell)
                .args(["sh", "-c", &remote_command_line(ODD, LAST)])
                .output()
                .ok()
                .map(|output| output.stdout),
            _ => said_by(shell),
        };
        match said {
            Some(said) => assert_eq!(said, expected, "{shell}"),
            None => println!("skipped: {shell} is not installed"),
        }
    }
}

#[test]
fn the_end_is_told_and_a_signal_has_its_code() {
    assert_eq!(LAST, super::super::exit_report::report_exit_script("word"));
    for (script, code) in [("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143), ("true", 0)] {
        let output =
            Command::new("sh").args(["-c", &remote_command_line(script, LAST)]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{script}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("\x1eword:{code}\x1e"), "and nothing of a shell's own");
    }
}

#[test]
fn it_is_one_line() {
    assert!(!remote_command_line("a\nb\r'c", LAST).contains(['\n', '\r']));
}
