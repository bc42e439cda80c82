//! Commands in a shell that remembers earlier ones.

use std::path::{Path, PathBuf};

use hermes_core::{ShellScript, WorkingDir};

use crate::{analyze_after, analyze_anywhere};

fn categories(earlier: &str, source: &str) -> Vec<&'static str> {
    let at = WorkingDir::new("/ws", Some(PathBuf::from("/home/u")));
    let analysis = analyze_after(earlier, source, &at);
    let of_leaves = analysis.leaves.iter().flat_map(|leaf| &leaf.findings);
    analysis.findings.iter().chain(of_leaves).map(|finding| finding.category).collect()
}

fn programs(earlier: &str, source: &str) -> Vec<String> {
    let at = WorkingDir::new("/ws", Some(PathBuf::from("/home/u")));
    analyze_after(earlier, source, &at).leaves.into_iter().map(|leaf| leaf.program).collect()
}

#[test]
fn what_was_defined_before_counts() {
    assert_eq!(programs("", "tidy"), ["tidy"]);
    assert_eq!(programs("tidy () { rm -rf /ws/build; }", "tidy"), ["tidy", "rm"]);
    for earlier in ["ls ( ) { rm -rf /ws/a; }", "ls (\\\n\t) \n{ rm -rf /ws/a; }"] {
        assert_eq!(programs(earlier, "ls"), ["ls", "rm"], "{earlier}");
    }
    assert_eq!(programs("shopt -s expand_aliases\nalias ls='rm -rf'", "ls /ws/a"), ["rm"]);
    assert_eq!(programs("declare -x X='rm'", "$X -rf /ws/a"), ["rm"]);
}

#[test]
fn what_was_done_before_does_not() {
    assert!(categories("declare -- a='1'\nf () { rm -rf ~; }", "echo hello").is_empty());
    assert_eq!(programs("cd /tmp", "ls"), ["ls"]);
    assert!(!categories("", "rm -rf ~").is_empty());
    assert!(!categories("f () { rm -rf ~; }", "f").is_empty());
}

#[test]
fn a_shell_without_a_script_runs_its_input() {
    let reads = |source: &str| {
        let at = WorkingDir::new("/ws", Some(PathBuf::from("/home/u")));
        analyze_after("b () { bash; }", source, &at).runs_stdin
    };
    for source in ["bash", "sh -s", "zsh -i", "nohup bash --norc", "ls; dash", "b", ". /dev/stdin"]
    {
        assert!(reads(source), "{source}");
    }
    for source in ["cat", "bash x.sh", "bash -c ls", "echo ls | bash", "bash <<< ls", "python3"] {
        assert!(!reads(source), "{source}");
    }
}

#[test]
fn a_function_that_may_not_be_there_hides_nothing() {
    for source in [
        "false && rm() { :; }; rm -rf /",
        "true || rm() { :; }; rm -rf /",
        "if false; then rm() { :; }; fi; rm -rf /",
        "rm() { command rm \"$@\"; }; [ -e x ] && rm() { :; }; rm -rf /",
        "[ -e x ] && rm() { :; } && ls; rm -rf /",
    ] {
        assert!(categories("", source).contains(&"root-delete"), "{source}");
    }
    // Where it surely is, it counts.
    for source in ["rm() { :; }; rm -rf /", "true && rm() { :; } && rm -rf /"] {
        assert!(!categories("", source).contains(&"root-delete"), "{source}");
    }
}

#[test]
fn a_value_that_may_not_be_set_is_not_believed() {
    let reads = |source: &str| {
        let at = WorkingDir::new("/ws", Some(PathBuf::from("/home/u")));
        let leaves = analyze_after("", source, &at).leaves;
        let last = leaves.last().unwrap();
        let paths = last.effects.iter().filter_map(|effect| effect.resource.as_path());
        paths.map(Path::to_path_buf).collect::<Vec<_>>()
    };
    let [a, x] = ["/ws/a", "/ws/b/x"].map(PathBuf::from);
    assert_eq!(reads("X=/etc/hosts; true && X=a && cat \"$X\""), std::slice::from_ref(&a));
    assert_ne!(reads("X=/etc/hosts; false && X=a; cat \"$X\""), [a]);
    assert_eq!(reads("mkdir -p b && cd b && cmake ..; cat x"), [x]);
}

#[test]
fn a_script_in_an_unknown_directory_gets_the_same_checks() {
    let at = WorkingDir::new("/ws", Some(PathBuf::from("/home/u")));
    let categories = |earlier: &str, text: &str| -> Vec<&'static str> {
        let script = ShellScript { text: text.to_owned(), ..ShellScript::default() };
        let analysis = analyze_anywhere(earlier, &script, &at);
        analysis.all_findings().map(|finding| finding.category).collect()
    };
    let long = "a".repeat(300 * 1024);
    assert_eq!(categories("", &long), ["too-long"]);
    assert_eq!(categories(&long, "ls"), ["too-long"]);
    let hidden = "echo a\u{202e}b";
    assert!(!super::analyze(hidden, &at).findings.is_empty());
    assert_eq!(
        categories("", hidden),
        super::analyze(hidden, &at).all_findings().map(|found| found.category).collect::<Vec<_>>()
    );
    assert!(categories("", "touch x").is_empty());
}
