use crate::corpus_tests::findings;

fn is_stranger(source: &str) -> bool {
    findings(source).contains(&"Ask unknown-program".to_owned())
}

#[test]
fn a_program_that_is_in_no_table_is_asked_about() {
    for source in [
        "frobnicate",
        "frobnicate --version --force",
        "frobnicate help me",
        "/tmp/ls",
        "../other/run.sh",
        "/tmp/frobnicate --help now",
        "env X=1 frobnicate",
        "ls | frobnicate",
        "echo $(frobnicate)",
        "sudo frobnicate",
        "https://example.com/a.py",
    ] {
        assert!(is_stranger(source), "{source}: {:?}", findings(source));
    }
}

#[test]
fn what_is_the_projects_own_or_only_asked_for_its_version_is_none() {
    for source in [
        "./frobnicate x",
        "scripts/frobnicate",
        "frobnicate --version",
        "frobnicate -V",
        "frobnicate --help",
        "frobnicate help",
        "frobnicate version",
        "frobnicate() { ls; }; frobnicate a b",
        "alias frobnicate='ls -la'; frobnicate",
        "/usr/bin/jq . a.json",
        "gcc-13 a.c",
        "gcc a.c -o /tmp/a && /tmp/a",
    ] {
        assert!(!is_stranger(source), "{source}");
    }
}

#[test]
fn a_verb_that_is_in_no_table_is_asked_about() {
    for (source, wanted) in [
        ("git frobnicate", "Ask unknown-subcommand"),
        ("cargo frobnicate", "Ask unknown-subcommand"),
        ("heroku apps:destroy x", "Ask infrastructure-change"),
        ("mysqladmin drop x", "Ask sql-loss"),
        ("lxc delete x", "Ask container-loss"),
        ("lerna publish", "Ask publish"),
    ] {
        assert!(findings(source).contains(&wanted.to_owned()), "{source}: {:?}", findings(source));
    }
    for source in ["heroku apps", "mysqladmin status", "lxc list", "lerna ls", "aws s3 ls"] {
        assert!(findings(source).is_empty(), "{source}: {:?}", findings(source));
    }
}

#[test]
fn wrappers_answer_for_what_they_write() {
    use crate::corpus_tests::has_effect;
    assert!(has_effect("strace -o /etc/x ls", "file:write /etc/x"));
    assert!(has_effect("strace -o /etc/x echo a", "file:write /etc/x"));
    assert!(has_effect("protoc --go_out=/etc a.proto", "file:write /etc"));
    assert!(!has_effect("time ls -o /etc", "file:write /etc"));
}
