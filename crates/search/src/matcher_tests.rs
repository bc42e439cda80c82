use grep_regex::RegexMatcherBuilder;
use proptest::prelude::*;

use super::*;

fn matcher(pattern: &str) -> LineMatcher {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).line_terminator(Some(b'\n'));
    LineMatcher::for_lines(builder.build(pattern).expect("a pattern"))
}

/// The lines that match, by the way that goes over many lines at once.
fn fast(matcher: &LineMatcher, text: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let Some(kind) = matcher.find_candidate_line(rest).expect("no error") else { break };
        let (LineMatchKind::Confirmed(i) | LineMatchKind::Candidate(i)) = kind;
        let start = rest[..i].iter().rposition(|b| *b == b'\n').map_or(0, |found| found + 1);
        if start == rest.len() {
            break;
        }
        let end = rest[i..].iter().position(|b| *b == b'\n').map_or(rest.len(), |end| i + end + 1);
        let line = &rest[start..end];
        let is_sure = matches!(kind, LineMatchKind::Confirmed(_));
        if is_sure || matcher.is_match(line.strip_suffix(b"\n").unwrap_or(line)).expect("no error")
        {
            found.push(text[..at + start].iter().filter(|b| **b == b'\n').count());
        }
        at += end;
    }
    found
}

#[test]
fn only_patterns_that_could_match_a_carriage_return_are_watched() {
    for (pattern, spares) in [("abc", false), ("[a-z]+", false), ("a.c", true), (r"\s", true)] {
        assert_eq!(matcher(pattern).excludes_line_ends, spares, "{pattern}");
    }
}

#[test]
fn iterating_ends_before_the_end_of_the_line() {
    for line in [&b"abc\r"[..], b"abc\r\n"] {
        let mut ranges = Vec::new();
        let found = matcher(r"\s*").find_iter(line, |found| {
            ranges.push((found.start(), found.end()));
            true
        });
        found.expect("no error");
        assert_eq!(ranges, [(0, 0), (1, 1), (2, 2), (3, 3)]);
    }
}

proptest! {
    /// What matches in a file does not depend on how its lines end.
    #[test]
    fn lines_match_alike_however_they_end(
        lines in prop::collection::vec("[ab \t]{0,4}", 0..6),
        pattern in prop::sample::select(vec![
            r"\s", r"\W", "[^a-z ]", r"c\s", r"[^\n]{2}", ".", "a.", "a.b", "b.*", r"\B", r"\ba",
            r"a\s?", r"\s+b|a", r"[^b]+", r"(?:a|\s)b?", "^.?a", r"\w\W",
        ]),
    ) {
        let unix: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let dos: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        let matcher = matcher(pattern);
        prop_assert_eq!(fast(&matcher, dos.as_bytes()), fast(&matcher, unix.as_bytes()));
    }
}
