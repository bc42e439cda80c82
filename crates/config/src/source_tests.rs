#![allow(clippy::unwrap_used)]

use super::*;

fn source(text: &str) -> SourceText {
    SourceText::new(PathBuf::from("c.yaml"), text.to_owned())
}

#[test]
fn columns_count_characters_and_skip_the_mark() {
    let text = "\u{feff}é: 1\nb: ü x\n";
    let source = source(text);
    assert_eq!(source.position(3).to_string(), "c.yaml:1:1");
    assert_eq!(source.position(text.find('1').unwrap()).to_string(), "c.yaml:1:4");
    assert_eq!(source.position(text.find('x').unwrap()).to_string(), "c.yaml:2:6");
    assert_eq!(source.position(text.len()).to_string(), "c.yaml:3:1");
    assert_eq!(source.position(9_999).line, 3);
}

#[test]
fn every_kind_of_line_break_counts_once() {
    let source = source("a\rb\r\nc\nd");
    let lines = [0, 2, 5, 7].map(|offset| source.position(offset).line);
    assert_eq!(lines, [1, 2, 3, 4]);
}

#[test]
fn the_caret_covers_the_fault() {
    let diagnostic = source("a: 1\r\nbad: here\r\n").diagnose(SpannedProblem::new(6..9, "wrong"));
    assert_eq!(diagnostic.to_string(), "c.yaml:2:1: wrong\n 2 | bad: here\n   | ^^^");
}

#[test]
fn a_long_line_is_shown_around_the_fault() {
    let text = format!("{}BAD{}", "x".repeat(50_000), "y".repeat(50_000));
    let diagnostic = source(&text).diagnose(SpannedProblem::new(50_000..50_003, "wrong"));
    let lines: Vec<_> = diagnostic.excerpt.lines().collect();
    assert!(lines[0].chars().count() < 120);
    let caret = lines[1].find('^').unwrap();
    assert_eq!(&lines[0][caret..caret + 3], "BAD");
    assert!(lines[1].ends_with("^^^"));
}
