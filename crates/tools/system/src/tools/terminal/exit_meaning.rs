//! Explains exit codes that are not failures or have a specific cause.

use hermes_exec::ProcessExit;

/// Meaning of an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExitMeaning {
    pub(super) text: &'static str,
    /// The code is an answer, not a failure.
    pub(super) is_answer: bool,
}

impl ExitMeaning {
    const fn failure(text: &'static str) -> Self {
        Self { text, is_answer: false }
    }

    const fn answer(text: &'static str) -> Self {
        Self { text, is_answer: true }
    }
}

/// Programs whose exit code 1 has a specific meaning.
const EXIT_ONE_MEANINGS: [(&[&str], ExitMeaning); 8] = [
    (
        &["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep"],
        ExitMeaning::answer("nothing matched; no failure"),
    ),
    (&["diff", "cmp", "colordiff"], ExitMeaning::answer("the files differ; no failure")),
    (&["test", "[", "[["], ExitMeaning::answer("the condition is false; no failure")),
    (&["pgrep", "pidof"], ExitMeaning::answer("no such process; no failure")),
    (&["pkill"], ExitMeaning::failure("no such process")),
    (&["which", "type", "command"], ExitMeaning::answer("there is no such command; no failure")),
    (&["expr"], ExitMeaning::answer("the result is zero or empty; no failure")),
    (&["find"], ExitMeaning::failure("a path could not be read or does not exist")),
];

const CURL_EXIT_CODES: [(i32, &str); 4] = [
    (6, "the host name could not be resolved"),
    (7, "could not connect to the host"),
    (22, "the server returned an error"),
    (28, "the request took too long"),
];

/// Explains the exit code of a command where it is easily misread.
pub(super) fn explain_exit(command: &str, exit: ProcessExit, output: &str) -> Option<ExitMeaning> {
    let code = exit.code();
    if let Some(general) = general_meaning(code, output) {
        return Some(ExitMeaning::failure(general));
    }
    let program = last_program(command)?;
    if code == 124 && program == "timeout" {
        return Some(ExitMeaning::failure("timeout ended the command: it took too long"));
    }
    if program == "curl" {
        let known = CURL_EXIT_CODES.iter().find(|(known, _)| *known == code);
        return known.map(|(_, text)| ExitMeaning::failure(text));
    }
    if code != 1 {
        return None;
    }
    if program == "git" && command.contains("diff") {
        return Some(ExitMeaning::answer("there are differences; no failure"));
    }
    EXIT_ONE_MEANINGS
        .iter()
        .find(|(programs, _)| programs.contains(&program))
        .map(|(_, meaning)| *meaning)
}

fn general_meaning(code: i32, output: &str) -> Option<&'static str> {
    Some(match code {
        126 => "found, but not executable",
        // A shell under `set -u` exits with the same code.
        127 if output.trim_end().ends_with(": unbound variable") => {
            "a variable is not set, which set -u forbids"
        }
        127 => "there is no such command",
        130 => "interrupted",
        137 => "killed, possibly out of memory",
        139 => "crashed (segmentation fault)",
        143 => "terminated (SIGTERM)",
        _ => return None,
    })
}

/// Returns the program of the last part of a command, which sets the exit code.
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

    fn of(command: &str, code: i32) -> Option<ExitMeaning> {
        super::explain_exit(command, ProcessExit::Code(code), "")
    }

    fn says(command: &str, code: i32, words: &str) -> bool {
        of(command, code).unwrap().text.contains(words)
    }

    #[test]
    fn an_answer_is_no_failure() {
        assert!(says("cat a | LC_ALL=C /usr/bin/grep x", 1, "nothing matched"));
        assert!(says("ls; diff a b", 1, "differ"));
        for (program, _) in EXIT_ONE_MEANINGS.iter().filter(|(_, meaning)| meaning.is_answer) {
            assert!(program.iter().all(|program| says(program, 1, "no failure")));
        }
        assert!(of("git diff --exit-code", 1).unwrap().is_answer);
        assert_eq!(of("grep x a | sort", 1), None);
        assert_eq!(of("grep x a", 2), None);
        assert_eq!(of("", 1), None);
    }

    #[test]
    fn a_failure_is_told_by_its_cause() {
        assert!(says("curl -s https://x", 28, "too long"));
        assert!(says("nonesuch", 127, "no such command"));
        assert!(says("timeout 1 sleep 5", 124, "too long"));
        assert_eq!(of("make", 124), None);
        assert!(!of("find /root", 1).unwrap().is_answer);
        let unset = super::explain_exit(
            "set -u; echo $x",
            ProcessExit::Code(127),
            "bash: x: unbound variable\n",
        );
        assert!(unset.unwrap().text.contains("set -u"));
    }
}
