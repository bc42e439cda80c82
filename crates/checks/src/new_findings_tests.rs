use super::*;
use crate::finding::LintSeverity;

fn finding(file: &str, line: u64, rule: &str, message: &str) -> LintFinding {
    LintFinding::new("ruff", file, LintSeverity::Error)
        .with_start(Some(line), Some(1))
        .with_rule(Some(rule))
        .with_message(message)
}

#[test]
fn a_baseline_knows_findings_wherever_they_have_moved() {
    let before = [finding("a.py", 1, "F401", "unused"), finding("a.py", 9, "F401", "unused")];
    let baseline = LintBaseline::from_findings(&before);
    assert_eq!(baseline.len(), 2);
    let mut now = vec![
        finding("a.py", 3, "F401", "unused"),
        finding("a.py", 11, "F401", "unused"),
        finding("a.py", 12, "F401", "unused"),
        finding("b.py", 1, "F401", "unused"),
    ];
    baseline.keep_new(&mut now);
    let left: Vec<_> = now.iter().map(|f| (f.file.as_str(), f.line)).collect();
    assert_eq!(left, [("a.py", Some(12)), ("b.py", Some(1))], "a third one is new");
    let mut numbered = vec![finding("c.py", 1, "E1", "redefined, first in line 30")];
    LintBaseline::from_findings(&[finding("c.py", 2, "E1", "redefined, first in line 4")])
        .keep_new(&mut numbered);
    assert!(numbered.is_empty());
}

#[test]
fn lines_of_a_diff_are_those_of_the_new_file() {
    let diff = "diff --git a.py a.py\n--- a.py\n+++ a.py\n@@ -2,0 +3,2 @@ def f():\n+one\n+++ two\n@@ -10 +12 @@\n-x\n+y\n\\ No newline at end of file\ndiff --git gone.py gone.py\n--- gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\ndiff --git \"\\303\\244 b.py\" \"\\303\\244 b.py\"\n--- \"\\303\\244 b.py\"\n+++ \"\\303\\244 b.py\"\n@@ -1 +1 @@\n-x\n+y\n";
    let mut changed = ChangedLines::from_diff(diff);
    changed.add_file("new.py");
    let files: Vec<_> = changed.files().collect();
    assert_eq!(files, ["a.py", "new.py", "ä b.py"]);
    let at = |file, line| changed.touches(file, &finding("", line, "", ""));
    assert_eq!(
        [2, 3, 4, 5, 11, 12, 13].map(|line| at("a.py", line)),
        [false, true, true, false, false, true, false]
    );
    assert!(at("new.py", 500));
    assert!(!at("gone.py", 1));
    let long = finding("", 1, "", "").with_end(Some(3), Some(1));
    assert!(changed.touches("a.py", &long), "it reaches into what has changed");
    let whole = LintFinding::new("x", "", LintSeverity::Info);
    assert!(changed.touches("a.py", &whole) && !changed.touches("other.py", &whole));
}

#[test]
fn every_escape_in_a_file_name_of_git_is_decoded() {
    let name = r#""\a\b\t\n\v\f\r\"\\\303\244""#;
    assert_eq!(unquote(name), "\u{7}\u{8}\t\n\u{b}\u{c}\r\"\\\u{e4}");
}
