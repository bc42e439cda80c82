use super::*;

#[test]
fn programs_and_plain_words_change_nothing() {
    let state = ShellState::default();
    for command in [
        "true",
        "ls -la /tmp",
        "git status | head -5 && cargo build 2>&1 | tail -3",
        "grep -rn 'a; cd b' src > out.txt; cat out.txt",
        "echo \"$HOME is here\" $PATH",
        "make\nmake test\n",
        "find . -name '*.rs' -exec wc {} \\;",
        "",
    ] {
        assert!(leaves_state_unchanged(&state, command), "{command}");
    }
}

#[test]
fn everything_else_may_change_something() {
    let state = ShellState::default();
    for command in [
        "cd /tmp",
        "ls; cd /tmp",
        "ls && export A=1",
        "A=1",
        "A=1 ls",
        "a[0]=1",
        "a+=1",
        "ls ${A:=1}",
        "ls $((a=1))",
        "ls \"${A:=1}\"",
        "ls $(cd x)",
        "ls `cd x`",
        "ls &",
        "(ls)",
        "{ ls; }",
        "ls <<E\nx\nE",
        "ls {fd}>file",
        "'cd' /tmp",
        "\\cd /tmp",
        "$X y",
        "ls # it's\ncd /tmp",
        "ls 'open",
        "if true; then cd x; fi",
        "f() { :; }",
        "! cd x",
        "~/activate",
        ". ./activate",
        "ls |& cd x",
        "ls \\\ncd x",
        "printf -v A x",
    ] {
        assert!(!leaves_state_unchanged(&state, command), "{command}");
    }
}

#[test]
fn a_function_or_alias_may_be_behind_a_name() {
    let mut state = ShellState::default();
    state.aliases.insert("ls".to_owned(), ShellBytes(b"cd".to_vec()));
    assert!(!leaves_state_unchanged(&state, "ls /tmp"));
    assert!(leaves_state_unchanged(&state, "cat /tmp"));
}

#[test]
fn the_last_word_is_known_of_plain_commands_only() {
    assert_eq!(last_word("mkdir -p a/b "), Some("a/b"));
    assert_eq!(last_word("true"), Some("true"));
    assert_eq!(last_word("ls $x"), None);
    assert_eq!(last_word("a; b"), None);
    assert_eq!(last_word(""), None);
}
