//! Programs of the project that have the name of a known one.

use crate::corpus_tests::{findings, has_effect, look};
use crate::{CommandPattern, FindingLevel};

/// What a command opens beside files.
fn opened(source: &str) -> Vec<String> {
    let leaves = look(source).leaves;
    let effects = leaves.iter().flat_map(|leaf| &leaf.effects);
    let opens = effects.filter(|effect| !matches!(effect.scope.family(), "terminal" | "file"));
    opens.map(ToString::to_string).collect()
}

#[test]
fn a_name_opens_nothing_to_a_program_of_the_project() {
    for source in [
        "./curl https://example.com",
        "src/curl https://example.com",
        "/home/user/project/tools/curl https://example.com",
        "cd tools && ./curl https://example.com",
        "./docker ps",
        "./npm install",
        "./git fetch",
        "./git add x",
        "./git push origin main",
        "./psql -c 'select 1'",
        "./timeout 5 curl https://example.com",
        "./env curl https://example.com",
        "./bash -c 'curl https://example.com'",
        "./gradlew build",
        "./mvnw verify",
        "node_modules/.bin/npm install",
        ".venv/bin/curl https://example.com",
        "bin/pip install x",
    ] {
        assert!(opened(source).is_empty(), "{source}: {:?}", opened(source));
        let analysis = look(source);
        assert!(!analysis.leaves.last().is_some_and(crate::LeafCommand::is_read_only), "{source}");
    }
}

#[test]
fn it_runs_without_a_question() {
    for source in [
        "./gradlew test",
        "./configure --prefix=/home/user/project/out",
        "node_modules/.bin/eslint src",
        ".venv/bin/python x.py",
        ".venv/bin/pip install -e .",
        "./target/debug/app --port 3000",
        "./scripts/ls",
    ] {
        assert!(findings(source).is_empty(), "{source}: {:?}", findings(source));
    }
    assert!(has_effect(".venv/bin/pip install requests", "network:fetch *"));
    assert!(has_effect("/usr/bin/curl https://example.com", "network:fetch example.com"));
}

#[test]
fn what_the_known_program_is_asked_about_stays() {
    for source in ["./rm -rf src", "./bash -c 'rm -rf src'", "./sudo ls", "./git reset --hard"] {
        assert_eq!(look(source).level(), Some(FindingLevel::Ask), "{source}");
    }
    assert_eq!(look("./rm -rf /").level(), Some(FindingLevel::Block));
    // What it prints is its own business.
    assert_eq!(look("$(./echo ls)").level(), Some(FindingLevel::Ask));
}

#[test]
fn a_path_variable_may_lead_to_it() {
    for source in [
        "PATH=\"$PWD/bin:$PATH\" curl https://example.com",
        "export PATH=$PWD/bin:$PATH; git fetch",
        "env PATH=/home/user/project/bin:/usr/bin npm install",
        "PATH=$PATH:$PWD/bin; curl https://example.com",
        "PATH=$PWD/bin:$PATH; PATH=$PATH:/opt/x/bin; curl https://example.com",
    ] {
        let found = findings(source);
        assert!(found.contains(&"Ask shadowing".to_owned()), "{source}: {found:?}");
    }
    for source in [
        "PATH=\"$PWD/node_modules/.bin:$PATH\" eslint src",
        "export PATH=\"$PWD/.venv/bin:$PATH\"; pip install -r requirements.txt",
        "PATH=\"$PWD/bin:$PATH\" x=1; PATH=/usr/bin curl https://example.com",
        "PATH=\"$HOME/.cargo/bin:$PATH\" curl https://example.com",
    ] {
        assert!(findings(source).is_empty(), "{source}: {:?}", findings(source));
    }
}

#[test]
fn a_rule_means_the_installed_program() {
    let permits = |rule: &str, source: &str| {
        let rule = CommandPattern::parse(rule).expect("a rule");
        look(source).leaves.iter().all(|leaf| rule.permits(leaf))
    };
    for (rule, source) in [
        ("ls", "./ls"),
        ("ls", "bin/ls -l"),
        ("git push", "./git push"),
        ("/usr/bin/git push", "./git push"),
        ("git *", "/home/user/project/git log"),
        ("ls", "./timeout 5 ls"),
        ("./ls", "./timeout 5 ./ls"),
        ("./ls", "ls"),
        ("./gradlew test", "tools/gradlew test"),
        ("sudo ls", "./sudo ls"),
    ] {
        assert!(!permits(rule, source), "{rule} permits {source}");
    }
    for (rule, source) in [
        ("ls", "ls -l"),
        ("ls", "/bin/ls"),
        ("/usr/bin/git push", "git push"),
        ("./gradlew test", "./gradlew test --info"),
        ("gradlew", "gradlew test"),
        ("/home/user/project/gradlew test", "./gradlew test"),
        ("*", "./ls"),
        ("ls", "timeout 5 ls"),
    ] {
        assert!(permits(rule, source), "{rule} does not permit {source}");
    }
    // What forbids is about the name, wherever the program is.
    let denied = CommandPattern::parse("git push").expect("a rule");
    assert!(look("./git push").leaves.iter().all(|leaf| denied.matches(leaf)));
}

#[test]
fn its_place_is_a_part_of_what_is_agreed_to() {
    let prefix = |source: &str| look(source).leaves.last().map(crate::LeafCommand::prefix);
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    assert_eq!(prefix("./git push"), words(&["/home/user/project/git", "push"]));
    assert_eq!(
        prefix("./timeout 5 git push"),
        words(&["/home/user/project/timeout", "git", "push"])
    );
    assert_eq!(prefix("/usr/bin/git push"), words(&["git", "push"]));
}
