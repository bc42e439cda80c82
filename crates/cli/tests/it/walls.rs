//! Files that no command or script can change or read: those that git and hermes
//! trust later, and the private files of hermes.

use std::process::Command;

use serde_json::Value;

use crate::context::TestContext;

/// A working directory with a repository and a nested one; `None` if that is
/// not possible here.
fn repository() -> Option<TestContext> {
    let context = TestContext::new();
    let script = "git init -q . && git config user.name a && git config user.email a@b.c && \
                  git init -q sub && mkdir -p .git/hooks sub/.git/hooks";
    let mut command = Command::new("sh");
    context.settle(&mut command);
    let is_made = command.args(["-c", script]).status().is_ok_and(|status| status.success());
    let support = hermes::sandbox::support();
    (is_made && support.user_namespaces && support.landlock.is_some()).then_some(context)
}

fn terminal(context: &TestContext, command: &str) -> Value {
    let argument = format!("command={command}");
    context.run(["call", "terminal", &argument]).json()
}

#[test]
fn a_command_cannot_change_what_git_trusts_later_and_commits_work() {
    let Some(context) = repository() else { return };
    for command in
        ["./evil.sh", "echo ../evil > .git/commondir || python3 evil.py", "python3 evil.py"]
    {
        let tries = "echo x > .git/commondir; echo x >> .git/config; mkdir -p .hermes && \
                     echo x > .hermes/hermes_permissions.yaml; echo x > .git/hooks/pre-commit; \
                     echo x > sub/.git/hooks/pre-commit; echo x >> sub/.git/config; true";
        context.file("evil.sh", format!("#!/bin/sh\n{tries}\n"));
        context.file("evil.py", format!("import os\nos.system({tries:?})\n"));
        let made = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(context.work().join("evil.sh"), made).expect("a mode");
        terminal(&context, command);
        for name in [
            ".git/commondir",
            ".hermes",
            ".git/hooks/pre-commit",
            "sub/.git/hooks/pre-commit",
            "sub/.git/config.lock",
        ] {
            assert!(!context.work().join(name).exists(), "{command}: {name}");
        }
        for name in [".git/config", "sub/.git/config"] {
            let text = std::fs::read_to_string(context.work().join(name)).expect("settings");
            assert!(!text.contains("\nx"), "{command}: {name}");
        }
    }
    // Git itself still works, and a script run with it leaves nothing behind.
    let answer =
        terminal(&context, "git add evil.sh && git commit -qm one && git log --oneline; ./evil.sh");
    assert_eq!(answer["exit_code"], 0, "{answer}");
    assert!(answer["output"].as_str().is_some_and(|text| text.contains("one")), "{answer}");
    for name in [".git/commondir", ".git/hooks/pre-commit", "sub/.git/hooks/pre-commit"] {
        assert!(!context.work().join(name).exists(), "{name}");
    }
    let settings = std::fs::read_to_string(context.work().join(".git/config")).expect("settings");
    assert!(!settings.contains("\nx"), "{settings}");
}

#[test]
fn a_script_cannot_change_what_git_trusts_later() {
    let Some(context) = repository() else { return };
    let code = "code=import os\nfor name in ('.git/commondir', '.git/hooks/x', '.hermes/x', \
                'sub/.git/hooks/x'):\n    try:\n        \
                os.makedirs(os.path.dirname(name), exist_ok=True)\n        \
                open(name, 'w').write('x')\n        print('wrote', name)\n    \
                except OSError:\n        pass\n";
    let run = context.run(["call", "execute_code", code]);
    assert!(!run.stdout.contains("wrote"), "{}", run.stdout);
    assert!(run.code == 0 || run.stdout.contains("python"), "{} {}", run.stdout, run.stderr);
    assert!(!context.work().join(".hermes").exists());
}

#[test]
fn a_command_cannot_copy_what_hermes_keeps() {
    let Some(context) = repository() else { return };
    for name in ["sessions.db", "sessions.db-wal", "chat_history"] {
        std::fs::write(context.home().join(name), "the canary").expect("a file");
    }
    std::fs::create_dir_all(context.home().join("logs/audit")).expect("a directory");
    context.file("copy.sh", "cat ../home/*.db* ../home/*.json ../home/chat_history; cat ../home/logs/audit/*; ls ../home");
    let answer = terminal(&context, "sh copy.sh");
    let output = answer["output"].as_str().unwrap_or_default();
    assert!(!output.contains("canary") && !output.contains("\"hash\""), "{answer}");
    assert!(output.contains("logs\n"), "the directory itself is visible: {answer}");
    assert!(!output.contains("sessions.db"), "but not what is secret in it: {answer}");
    let run = context.run(["call", "read_file", "path=../home/sessions.db"]).exits(3);
    assert!(!run.stdout.contains("canary"), "{}", run.stdout);
}

#[test]
fn a_command_does_not_see_what_the_shell_of_another_session_remembers() {
    let Some(context) = repository() else { return };
    let private = hermes::sandbox::private_dir().expect("a private directory");
    // Looks like the private state of another program.
    let others = tempfile::tempdir_in(&private).expect("a directory");
    std::fs::write(others.path().join("0.state"), "the canary").expect("a file");
    context.file("look.sh", format!("ls -R {0}; cat {0}/*/*", private.display()));
    let answer = terminal(&context, "export OWN=1; sh look.sh");
    let output = answer["output"].as_str().unwrap_or_default();
    assert!(!output.contains("canary"), "{answer}");
    let name = others.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    assert!(!output.contains(&name), "{answer}");
    assert!(output.contains("hermes-run-"), "its own is there: {answer}");
}

#[test]
fn processes_of_a_script_and_of_tests_share_queues_and_locks() {
    let Some(context) = repository() else { return };
    let code = "import multiprocessing\n\n\ndef work():\n    context = multiprocessing.get_context('fork')\n    \
                queue, lock = context.Queue(), context.Lock()\n    \
                child = context.Process(target=queue.put, args=(7,))\n    child.start()\n    \
                with lock:\n        got = queue.get()\n    child.join()\n    return got\n\n\n";
    let script = context.run(["call", "execute_code", &format!("code={code}print(work())")]);
    assert_eq!(script.succeeds().json()["output"], "7\n");
    let value = context.run(["call", "repl", &format!("code={code}work()")]);
    assert_eq!(value.succeeds().json()["value"], "7");
    let test = "import unittest\n\n\nclass Work(unittest.TestCase):\n    def test_work(self):\n        \
                self.assertEqual(work(), 7)\n";
    context.file("test_work.py", format!("{code}{test}"));
    let tested = context.run(["call", "code_test", "tool=unittest"]).json();
    assert_eq!((&tested["status"], &tested["passed"]), (&"passed".into(), &1.into()), "{tested}");
}
