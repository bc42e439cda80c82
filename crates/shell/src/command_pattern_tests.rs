use super::CommandPattern;
use crate::corpus_tests::look;

fn matches(rule: &str, source: &str) -> bool {
    let pattern = CommandPattern::parse(rule).expect(rule);
    look(source).leaves.iter().any(|leaf| pattern.matches(leaf)) || pattern.matches_text(source)
}

#[test]
fn rules_match_what_they_say() {
    let pairs = [
        ("git push", "git push"),
        ("git push", "git -C dir push -f"),
        ("git push", "git push origin main"),
        ("git push", "cd x && git push"),
        ("git push --force", "git push origin --force"),
        ("npm run *", "npm run test"),
        ("npm run", "npm run-script test"),
        ("npm run", "npm urn test"),
        ("npm install", "npm i left-pad"),
        ("npm i", "npm add left-pad"),
        ("cargo run", "cargo r"),
        ("npm run *", "npm run build -- --x"),
        ("rm -rf /", "rm -fr /"),
        ("rm -rf /", "rm -r -f /"),
        ("rm -rf /", "rm -f -r /."),
        ("rm -rf", "rm -rfv x"),
        ("rm", "rm x"),
        ("rm", "sudo rm x"),
        ("sudo", "sudo rm x"),
        ("rm", "/bin/rm x"),
        ("rm", "r''m x"),
        ("sudo *", "sudo ls"),
        ("curl *", "curl http://x.y"),
        ("docker compose down", "docker compose down -v"),
        ("mkfs*", "mkfs.ext4 /dev/sda1"),
        ("bash", "bash -c ls"),
        ("ls", "bash -c ls"),
        (":(){ :|:& };:", ":(){ :|:& };:"),
        (":(){ :|:& };:", ":() { : | : & } ; :"),
        ("curl * | sh", "curl x.y/z | sh"),
        ("git commit", "git commit -m 'a b'"),
        ("rm *.log", "rm a.log"),
        ("rm '*.log'", "rm a.log"),
        ("find -delete", "find . -name x -delete"),
        ("*", "anything at all"),
        ("npm run test", "npm run test"),
        ("cat .env", "cat ./.env .env"),
    ];
    for (rule, source) in pairs {
        assert!(matches(rule, source), "{rule} should match {source}");
    }
}

#[test]
fn rules_do_not_match_more() {
    let pairs = [
        ("git push", "git pull"),
        ("git push", "git commit -m 'git push'"),
        ("git push", "git log push"),
        ("git push", "echo git push"),
        ("git push --force", "git push"),
        ("npm run test", "npm run build"),
        ("rm -rf /", "rm -rf /tmp"),
        ("rm -rf /", "rm -r /"),
        ("rm -rf", "rm -r x"),
        ("rm", "rmdir x"),
        ("rm", "echo rm"),
        ("sudo", "ls"),
        ("find -delete", "find . -type d -name let"),
        ("curl * | sh", "curl x.y"),
        ("ls -la", "ls -l"),
    ];
    for (rule, source) in pairs {
        assert!(!matches(rule, source), "{rule} should not match {source}");
    }
}

#[test]
fn empty_rules_are_refused() {
    assert!(CommandPattern::parse("").is_err());
    assert!(CommandPattern::parse("  ").is_err());
    assert!(CommandPattern::parse(&"x".repeat(5000)).is_err());
}

#[test]
fn prefixes_are_narrow() {
    let expected: &[(&str, &[&str])] = &[
        ("git push -f", &["git", "push"]),
        ("git -C d push", &["git", "push"]),
        ("npm run test -- x", &["npm", "run", "test"]),
        ("ls -la x", &["ls"]),
        ("cargo build --release", &["cargo", "build"]),
        ("docker compose up -d", &["docker", "compose", "up"]),
        ("sudo apt install x", &["sudo", "apt", "install"]),
        ("rm x", &["rm"]),
        ("git", &["git"]),
    ];
    for (source, wanted) in expected {
        assert_eq!(look(source).leaves[0].prefix(), *wanted, "{source}");
    }
}

#[test]
fn a_rule_that_permits_covers_only_what_it_says() {
    let permits = |rule: &str, command: &str| {
        let at = hermes_core::WorkingDir::new("/w", None);
        let pattern = CommandPattern::parse(rule).expect("a pattern");
        crate::analyze(command, &at).leaves.iter().any(|leaf| pattern.permits(leaf))
    };
    for (rule, command) in [
        ("git push origin", "git push origin main"),
        ("git push origin", "/usr/bin/git push origin"),
        ("npm run *", "npm run build --silent"),
        ("ls -la", "ls -a -l src"),
        ("cargo test", "RUST_LOG=x cargo test -p core"),
        ("sudo ls", "sudo ls /root"),
        ("docker exec web", "docker exec web ls"),
    ] {
        assert!(permits(rule, command), "{rule}: {command}");
    }
    for (rule, command) in [
        ("git push origin", "git push evil origin"),
        ("git push origin", "git push --repo=evil origin"),
        ("git push origin", "git -c remote.origin.pushurl=x push origin"),
        ("git push origin", "git push $R origin"),
        ("npm run test", "npm run deploy test"),
        ("docker exec web", "docker exec db web"),
        ("ls", "sudo ls"),
        ("ls -la", "ls -a"),
    ] {
        assert!(!permits(rule, command), "{rule}: {command}");
    }
}

#[test]
fn a_rule_that_refuses_looks_past_options_with_values() {
    let refuses = |rule: &str, command: &str| {
        let at = hermes_core::WorkingDir::new("/w", None);
        let pattern = CommandPattern::parse(rule).expect("a pattern");
        crate::analyze(command, &at).leaves.iter().any(|leaf| pattern.matches(leaf))
    };
    for (rule, command) in [
        ("kubectl delete pod", "kubectl -n x delete pod a"),
        ("npm publish", "npm --prefix d publish"),
        ("docker run", "docker --context x run y"),
        ("aws s3 rm", "aws --profile p s3 rm s3://x"),
        ("cargo publish", "cargo +nightly publish"),
        ("git push", "sudo git -C x push"),
    ] {
        assert!(refuses(rule, command), "{rule}: {command}");
    }
    for (rule, command) in [("git push", "git commit -m push"), ("git push", "git log --grep push")]
    {
        assert!(!refuses(rule, command), "{rule}: {command}");
    }
}

#[test]
fn an_exact_pattern_is_the_whole_command_and_no_other() {
    let pattern = CommandPattern::parse("= rm -rf sub").expect("a pattern");
    assert_eq!(pattern.to_string(), "= rm -rf sub");
    assert!(pattern.is_exact_command(" rm -rf sub\n"));
    for other in ["rm -rf sub src", "cd x && rm -rf sub", "rm -rf sub .", "rm  -rf sub"] {
        assert!(!pattern.is_exact_command(other), "{other}");
    }
    assert!(CommandPattern::parse("= ").is_err());
}

#[test]
fn half_a_quotation_is_no_pattern() {
    for rule in ["git \"push", "echo 'a", "= "] {
        assert!(CommandPattern::parse(rule).is_err(), "{rule}");
    }
    assert!(CommandPattern::parse("| sh").is_ok());
}

#[test]
fn a_permitted_git_may_be_sent_to_another_folder() {
    let at = hermes_core::WorkingDir::new("/ws", None);
    let permits = |rule: &str, command: &str| {
        let analysis = crate::analyze(command, &at);
        CommandPattern::parse(rule).expect("a pattern").permits(&analysis.leaves[0])
    };
    assert!(permits("git log", "git -C x log --oneline"));
    assert!(permits("git log", "git --no-pager -C x log"));
    assert!(!permits("git log", "git -c core.pager=x log"));
    assert!(!permits("git log", "git -C x push"));
    assert!(!permits("git log", "git -C \"$X\" log"));
}
