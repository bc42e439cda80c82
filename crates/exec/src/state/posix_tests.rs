use std::process::Command;

use super::super::Frame;
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
            .args(["-c", &script])
            .env_clear()
            .envs(self.state.environment(base.clone()))
            .current_dir(self.state.cwd().unwrap_or(std::path::Path::new("/")))
            .output()
            .unwrap();
        let mut frame = Frame::new("n7");
        let mut output = frame.feed(&done.stdout).into_owned();
        output.extend(frame.finish());
        let after = read_posix(frame.report().unwrap(), &self.state, &base).unwrap();
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
