use super::{PromptKind, detect_prompt};

fn kind(tail: &str) -> Option<PromptKind> {
    detect_prompt(tail).map(|prompt| prompt.kind)
}

fn all(expected: PromptKind, tails: &[&str]) {
    for tail in tails {
        assert_eq!(kind(tail), Some(expected), "{tail:?}");
    }
}

#[test]
fn passwords() {
    all(
        PromptKind::Password,
        &[
            "Password: ",
            "[sudo] password for ada: ",
            "[sudo] Passwort für ada: ",
            "[sudo] Mot de passe de ada : ",
            "[sudo] ada 的密码：",
            "ada@example.org's password: ",
            "Enter passphrase for key '/home/ada/.ssh/id_ed25519': ",
            "Enter passphrase (empty for no passphrase): ",
            "Password for 'https://ada@example.org': ",
            "Retype new password: ",
            "Existing password: ",
            "Enter host password for user 'ada':",
            "Connecting…\nEnter PIN: ",
            "Verification code: ",
            "Paste your authentication token: ",
        ],
    );
}

#[test]
fn confirmations() {
    all(
        PromptKind::Confirmation,
        &[
            "Do you want to continue? [Y/n] ",
            "Proceed (Y/n)? ",
            "Is this ok [y/d/N]: ",
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
            "Stage this hunk [y,n,q,a,d,e,p,?]? ",
            "Quit anyway? (y or n) ",
            "Ok to proceed? (y) ",
            "Is this OK? (yes) ",
            "replace a.txt? [y]es, [n]o, [A]ll, [N]one, [r]ename: ",
            "rm: remove regular file 'a b'? ",
            "mv: overwrite 'x'? ",
            "Overwrite existing file? ",
            "Continue? y/n",
            "Delete everything? [y/N]\n",
        ],
    );
}

#[test]
fn questions() {
    all(
        PromptKind::Question,
        &[
            "name? ",
            "Username: ",
            "Username for 'https://example.org': ",
            "alpha login: ",
            "  Enter a value: ",
            "Enter a number (default=1): ",
            "package name: (app) ",
            "version: (1.0.0) ",
            "Selection [1]: ",
            "Please choose one of them: ",
            "What is your name? ",
            "1) a\n2) b\n#? ",
            "? Project name: ",
        ],
    );
}

#[test]
fn any_key() {
    all(
        PromptKind::AnyKey,
        &[
            "Press any key to continue . . . ",
            "Press ENTER or type command to continue",
            "Press [ENTER] to continue or Ctrl-c to cancel.",
            "Hit return: ",
            "Press <Enter> to go on\n",
            "-- press the space bar --",
        ],
    );
}

#[test]
fn interpreters() {
    all(
        PromptKind::Interpreter,
        &[
            ">>> ",
            ">>> def f():\n... ",
            "In [12]: ",
            "(gdb) ",
            "(Pdb) ",
            "mysql> ",
            "mysql> select\n    -> ",
            "MariaDB [(none)]> ",
            "sqlite> ",
            "postgres=# ",
            "shop=> ",
            "127.0.0.1:6379> ",
            "irb(main):001:0> ",
            "irb(main):001> ",
            "[1] pry(main)> ",
            "iex(1)> ",
            "> ",
            "$ ",
            "# ",
            "bash-5.2$ ",
            "ada@alpha:~/src$ ",
            "(venv) ada@alpha:~/src$ ",
            "root@0f3c:/# ",
            "[ada@alpha src]$ ",
            "PS /home/ada> ",
        ],
    );
}

#[test]
fn pagers_and_editors() {
    all(
        PromptKind::Pager,
        &[
            "text\n:",
            "text\n(END)",
            "--More--(45%)",
            "lines 1-23",
            "lines 1-23/100 (END)",
            " Manual page ls(1) line 1 (press h for help or q to quit)",
        ],
    );
    all(
        PromptKind::Editor,
        &[
            "text\n~\n~\n-- INSERT --                 1,1   All",
            "text\n~\n\"a b.txt\" 3L, 20B            1,1   All",
            "~\n\"new.txt\" [New]",
            "text\n^G Help   ^O Write Out\n^X Exit   ^R Read File",
            "text\n^G Help  ^X Exit  ^O Write Out",
        ],
    );
}

#[test]
fn output_that_goes_on_is_no_question() {
    for tail in [
        "",
        "\n",
        "Compiling… 45%",
        "Compiling hermes v0.1.0",
        "Downloading file.tar.gz: ",
        "Progress: [#####     ]",
        "#",
        "####",
        "####                5.2%",
        "[=====>      ] 12/40: syn",
        ">",
        "...",
        "Working...",
        "Loading: ",
        "Checking password: ",
        "error: wrong password: ",
        "[12:03:11] secret: ",
        "Password: hunter2",
        "Password: \n",
        "Username: \n",
        "name? \n",
        "(gdb) \n",
        "Listening on http://localhost:3000",
        "Fetching http://localhost/?",
        "  ➜  press h + enter to show help\n",
        "(Press CTRL+C to quit)\n",
        "Press CTRL+C to quit",
        "<html><body></body></html>",
        "100%",
        "cost: 5$",
        "ETA: (12%)",
        "Elapsed: (3s)",
        "done (3/5)",
        "pass [yes]",
        "Resolving deltas: 45% (9/20)",
        "Reading package lists...",
        "Unpacking: (1)",
        "test result: ok. 3 passed",
        "x = y ? a : b",
        "\"quoted\" text",
    ] {
        assert_eq!(detect_prompt(tail), None, "{tail:?}");
    }
}

#[test]
fn the_line_is_the_last_one_and_what_was_written_over_is_gone() {
    let prompt = detect_prompt("one\r\n45%\r  Password: ").unwrap();
    assert_eq!(prompt.line, "Password:");
    assert_eq!(kind("Password: \rdone        "), None);
}

#[test]
fn only_the_end_of_a_long_text_is_looked_at() {
    let long = "漢".repeat(2_000_000);
    assert_eq!(kind(&long), None);
    assert_eq!(kind(&format!("{long}\nPassword: ")), Some(PromptKind::Password));
    assert_eq!(kind(&format!("{} password: ", "x".repeat(5000))), None);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_text_is_judged_without_a_panic(text in "[\\PC\n\r\\[\\]():?#$>/yYnN\" -]{0,60}") {
        let _ = detect_prompt(&text);
    }
}
