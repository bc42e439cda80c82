use super::*;

fn words(script: &str) -> Option<Vec<String>> {
    words_with(script, &[("PATH", "/usr/bin:/bin")])
}

fn words_with(script: &str, environment: &[(&str, &str)]) -> Option<Vec<String>> {
    let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
    let arguments = ["-c".into(), script.into()];
    let found = direct_command(OsStr::new("/usr/bin/bash"), &arguments, &environment.collect())?;
    Some(found.into_iter().map(|word| word.into_string().unwrap()).collect())
}

#[test]
fn one_program_and_plain_words_need_no_shell() {
    for (script, wanted) in [
        ("true", vec!["true"]),
        ("ls -la  src/main.rs ", vec!["ls", "-la", "src/main.rs"]),
        ("git log --format=%h:%an -n 5", vec!["git", "log", "--format=%h:%an", "-n", "5"]),
        ("./run.sh user@host A=b", vec!["./run.sh", "user@host", "A=b"]),
        ("cat grün.txt", vec!["cat", "grün.txt"]),
    ] {
        assert_eq!(words(script).unwrap(), wanted, "{script}");
    }
}

#[test]
fn whatever_means_something_to_a_shell_is_left_to_it() {
    for script in [
        "",
        " ",
        "echo hi",
        "cd /tmp",
        "pwd",
        "true x",
        "false -h",
        ":",
        "A=b",
        "A=b ls",
        "-x",
        "ls *",
        "ls ?",
        "ls [a]",
        "ls ~",
        "ls {a,b}",
        "ls $HOME",
        "ls 'a'",
        "ls \"a\"",
        "ls a\\ b",
        "ls; ls",
        "ls && ls",
        "ls | wc",
        "ls > a",
        "ls < a",
        "ls &",
        "ls `a`",
        "ls $(a)",
        "ls #a",
        "! ls",
        "time ls",
        "exec ls",
        "command ls",
        "ls\nls",
        "ls\tls",
        "if ls",
        "[ a ]",
        "kill 1",
        "ls !1",
        "printf a",
        "source a",
        ". a",
        "type ls",
        "wait",
        "ls ^a",
    ] {
        assert_eq!(words(script), None, "{script}");
    }
}

#[test]
fn a_shell_that_is_told_something_by_its_environment_is_started() {
    for name in ["BASH_ENV", "BASH_FUNC_ls%%", "BASHOPTS", "SHELLOPTS"] {
        assert_eq!(words_with("ls", &[("PATH", "/bin"), (name, "x")]), None, "{name}");
    }
    assert_eq!(words_with("ls", &[]), None);
    for path in ["", ":/bin", "/bin:", "/usr/bin::/bin"] {
        assert_eq!(words_with("ls", &[("PATH", path)]), None, "{path}");
    }
}

#[test]
fn shells_are_counted_as_by_bash() {
    let mut environment = BTreeMap::new();
    adjust_environment(&mut environment, Path::new("/"));
    assert_eq!(environment[OsStr::new("SHLVL")], "0");
    environment.insert("SHLVL".into(), "7".into());
    adjust_environment(&mut environment, Path::new("/"));
    assert_eq!(environment[OsStr::new("SHLVL")], "7");
}
