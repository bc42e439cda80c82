//! What an exit code means that is no failure, or a particular one.

use hermes_exec::Exit;

/// Programs whose code 1 is an answer.
const ANSWERS: [(&[&str], &str); 4] = [
    (&["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep"], "nothing matched; no failure"),
    (&["diff", "cmp", "colordiff"], "the files differ; no failure"),
    (&["test", "[", "[["], "the condition is false; no failure"),
    (&["find"], "some folders could not be read"),
];

const CURL: [(i32, &str); 4] = [
    (6, "the host name was not found"),
    (7, "no connection to the host"),
    (22, "the server answered with an error"),
    (28, "it took too long"),
];

/// What the exit code of a command means, where people may take it wrongly.
pub(super) fn of(command: &str, exit: Exit) -> Option<String> {
    let code = exit.code();
    let general = match code {
        126 => Some("found, but it cannot be run"),
        127 => Some("there is no such command"),
        130 => Some("interrupted"),
        137 => Some("killed, perhaps for want of memory"),
        139 => Some("it crashed (segmentation fault)"),
        143 => Some("asked to end (TERM)"),
        _ => None,
    };
    if let Some(general) = general {
        return Some(general.to_owned());
    }
    let program = last_program(command)?;
    if program == "curl" {
        return CURL.iter().find(|(known, _)| *known == code).map(|(_, text)| (*text).to_owned());
    }
    if code != 1 {
        return None;
    }
    if program == "git" && command.contains("diff") {
        return Some("there are differences; no failure".to_owned());
    }
    let found = ANSWERS.iter().find(|(programs, _)| programs.contains(&program));
    found.map(|(_, text)| (*text).to_owned())
}

/// The program of the last part of a command, which gives the code.
fn last_program(command: &str) -> Option<&str> {
    let last = command.rsplit(['|', ';', '\n', '&']).find(|part| !part.trim().is_empty())?;
    let is_setting = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
    };
    let word = last.split_whitespace().find(|word| !is_setting(word))?;
    word.rsplit('/').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_no_failure() {
        let of = |command, code| of(command, Exit::Code(code));
        assert!(of("cat a | LC_ALL=C /usr/bin/grep x", 1).unwrap().contains("nothing matched"));
        assert!(of("ls; diff a b", 1).unwrap().contains("differ"));
        assert_eq!(of("grep x a | sort", 1), None);
        assert_eq!(of("grep x a", 2), None);
        assert!(of("curl -s https://x", 28).unwrap().contains("too long"));
        assert!(of("nonesuch", 127).unwrap().contains("no such command"));
        assert_eq!(of("", 1), None);
    }
}
