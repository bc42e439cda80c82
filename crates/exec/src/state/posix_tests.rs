use std::process::Command;

use super::super::ReportExtractor;
use super::*;

/// The shells here that are not bash.
fn shells() -> Vec<Vec<&'static str>> {
    let known = [vec!["dash"], vec!["busybox", "sh"], vec!["sh"]];
    let works = |shell: &Vec<&str>| {
        let run = Command::new(shell[0]).args(&shell[1..]).args(["-c", "true"]).output();
        run.is_ok_and(|done| done.status.success())
    };
    known.into_iter().filter(works).collect()
}

struct Session {
    shell: Vec<&'static str>,
    state: ShellState,
}

impl Session {
    fn run(&mut self, command: &str) -> (String, i32) {
        let base = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
        let script = posix_script(&self.state, command, "n7");
        let done = Command::new(self.shell[0])
            .args(&self.shell[1..])
            .args(super::super::arguments(&script))
            .env_clear()
            .envs(self.state.environment(base.clone()))
            .current_dir(self.state.cwd().unwrap_or(std::path::Path::new("/")))
            .output()
            .unwrap();
        let mut report_extractor = ReportExtractor::new("n7");
        let mut output = report_extractor.feed(&done.stdout).into_owned();
        output.extend(report_extractor.finish().0);
        let after =
            parse_posix_report(report_extractor.report().unwrap(), &self.state, &base).unwrap();
        let before = self.state.clone();
        self.state.merge(&before, &after);
        (String::from_utf8(output).unwrap(), done.status.code().unwrap())
    }
}

#[test]
fn a_plain_shell_remembers_too() {
    for shell in shells() {
        let mut session = Session { shell: shell.clone(), state: ShellState::default() };
        let (_, code) = session.run("cd /usr; export odd=\"it's\n a \\ \\$x \\\"q\\\"\"; alias hi='echo hello'; umask 077; exit 3");
        assert_eq!(code, 3, "{shell:?}");
        let (said, code) = session.run("pwd; echo \"$odd\"; umask; false");
        assert_eq!((said.as_str(), code), ("/usr\nit's\n a \\ $x \"q\"\n0077\n", 1), "{shell:?}");
        let (said, _) = session.run("hi; unset odd PATH; set -u");
        assert_eq!(said, "hello\n", "{shell:?}");
        let (said, _) = session.run("echo \"${odd-gone}\"; cd /");
        assert_eq!(said, "gone\n", "{shell:?}");
        let (_, code) = session.run("echo $nothing");
        assert_ne!(code, 0, "{shell:?}");
    }
}

#[test]
fn a_plain_shell_keeps_options_and_plain_variables() {
    for shell in shells() {
        let mut session = Session { shell: shell.clone(), state: ShellState::default() };
        session.run(
            "set -e; a='it is\n\"mine\"'; export E=1; PS1=new; b=$(printf '%0150000d' 7); export b",
        );
        assert!(session.state.dropped().is_empty(), "{shell:?}");
        let (said, code) = session.run("echo \"$a $E $PS1 ${#b}\"; false; echo on");
        assert_eq!((said.as_str(), code), ("it is\n\"mine\" 1 new 150000\n", 1), "{shell:?}");
        let (said, _) = session.run(
            "set +e; false; echo on; unset a b; PATH=/bin; export -n E 2>/dev/null || unset E",
        );
        assert_eq!(said, "on\n", "{shell:?}");
        let (said, _) = session.run("false; echo ${a-none} ${b-none} $PATH");
        assert_eq!(said, "none none /bin\n", "{shell:?}");
        session.run("c=$(printf '%01100000d' 7); d=$(printf 'x\\377')");
        assert_eq!(session.state.dropped(), ["variable c", "variable d"], "{shell:?}");
        let document = serde_json::to_string(&session.state).unwrap();
        assert!(!document.contains("hermes"), "{shell:?}: {document}");
    }
}

#[test]
fn a_function_of_the_user_does_not_speak_for_the_shell() {
    for shell in shells() {
        let mut session = Session { shell: shell.clone(), state: ShellState::default() };
        let names = ["pwd", "umask", "alias", "echo", "printf", "command", "cd"];
        let fakes: String = names.iter().map(|name| format!("{name}() {{ :; }}; ")).collect();
        session.run(&format!("cd /usr; {fakes} a=1"));
        let (said, _) = session.run("pwd; echo $a");
        assert_eq!(said, "/usr\n1\n", "{shell:?}");
    }
}

#[test]
fn a_plain_shell_in_a_folder_that_is_gone_ends_above_it() {
    for shell in shells() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let mut session = Session { shell: shell.clone(), state: ShellState::default() };
        session.run(&format!("cd {}; mkdir -p a/b; cd a/b; rm -r ../../a", path.display()));
        assert_eq!(session.state.cwd(), Some(path.as_path()), "{shell:?}");
        let (said, _) = session.run("pwd");
        assert_eq!(said, format!("{}\n", path.display()), "{shell:?}");
    }
}

#[test]
fn tracing_shows_nothing_of_ours() {
    for shell in shells() {
        let mut session = Session { shell: shell.clone(), state: ShellState::default() };
        session.run("set -x");
        let script = posix_script(&session.state, "echo a", "n7");
        let done = Command::new(shell[0]).args(&shell[1..]).args(["-c", &script]).output().unwrap();
        let traced = String::from_utf8(done.stderr).unwrap();
        assert!(traced.contains("+ echo a"), "{shell:?}: {traced}");
        assert!(!traced.contains("hermes"), "{shell:?}: {traced}");
    }
}

#[test]
fn a_plain_shell_that_is_asked_to_end_reports() {
    for shell in shells() {
        let mut session = Session { shell: shell.clone(), state: ShellState::default() };
        let (_, code) = session.run("cd /usr; a=1; kill -TERM $$; sleep 0");
        assert_eq!(code, 143, "{shell:?}");
        let (said, _) = session.run("pwd; echo $a");
        assert_eq!(said, "/usr\n1\n", "{shell:?}");
    }
}
