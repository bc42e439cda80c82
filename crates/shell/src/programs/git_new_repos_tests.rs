use crate::corpus_tests::findings;

#[test]
fn a_repository_that_the_same_command_makes_is_not_asked_about() {
    let made = "mkdir -p /tmp/work && cd /tmp/work && git init -q";
    let quiet = |rest: &str| findings(&format!("{made} && {rest}"));
    assert_eq!(quiet("echo hi > a && git add a && git commit -qm a"), Vec::<String>::new());
    assert_eq!(quiet("touch a b && git add . && git status"), Vec::<String>::new());
    // It may have been there, or something may have come into it.
    const ASKED: &[&str] = &[
        "cd /tmp/work && git add a",
        "cd /tmp/work && git init && git add a",
        "mkdir /tmp/work && cd /tmp/work && tar xf ../a.tar && git init && git add a",
        "mkdir /tmp/work && cd /tmp/work && git init && cp -r ../a . && git add a",
        "mkdir /tmp/work && cd /tmp/work && git init --template=../a && git add a",
        "mkdir /tmp/work && cd /tmp/work && git init && git pull https://x.net/a main",
        "mkdir /tmp/work && cd /tmp/work && git init && cd /tmp/other && git add a",
    ];
    for source in ASKED {
        let found = findings(source);
        assert!(found.contains(&"Ask env-override".to_owned()), "{source}: {found:?}");
    }
}
