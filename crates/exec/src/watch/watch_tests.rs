use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::lines::{MAX_LINE_BYTES, PatternScanner};
use super::{PatternHit, PatternWatch, WatchNotice, WatchSettings};

fn strings(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(|it| (*it).to_owned()).collect()
}

fn watch(patterns: &[&str]) -> PatternWatch {
    PatternWatch::new(&strings(patterns), WatchSettings::default())
}

fn hit(notices: Vec<WatchNotice>) -> PatternHit {
    match <[WatchNotice; 1]>::try_from(notices) {
        Ok([WatchNotice::PatternHit(hit)]) => hit,
        other => panic!("not one hit: {other:?}"),
    }
}

/// The matches of a stream that comes in these pieces, and how many there
/// were.
fn matches(patterns: &[&str], pieces: &[&[u8]]) -> (u64, Vec<(Vec<String>, String)>) {
    let mut lines = PatternScanner::new(&strings(patterns));
    let mut count = 0;
    let mut all = Vec::new();
    for piece in pieces {
        let found = lines.feed(piece, usize::MAX);
        count += found.count;
        all.extend(found.matches.into_iter().map(|it| (it.patterns, it.text)));
    }
    (count, all)
}

#[test]
fn a_line_is_found_with_its_pattern() {
    let hit = hit(watch(&["ready", "error"]).feed(b"one\nit is ready now\ntwo\n", Instant::now()));
    assert_eq!(hit.pattern, "ready");
    assert_eq!(hit.lines, ["it is ready now"]);
    assert_eq!((hit.others.len(), hit.suppressed), (0, 0));
}

#[test]
fn patterns_are_found_across_pieces_and_escapes() {
    let now = Instant::now();
    let mut watch = watch(&["listening on"]);
    for piece in [&b"server lis"[..], b"ten\x1b[", b"1;32mi", b"ng\x1b]0;ti", b"tle\x07 o"] {
        assert_eq!(watch.feed(piece, now), []);
    }
    let hit = hit(watch.feed(b"n\x1b(B port", now));
    assert_eq!(hit.lines, ["server listening on port"]);
    assert_eq!(watch.feed(b" 80\n", now), [], "the line was told");
}

#[test]
fn an_unfinished_line_is_told_at_once_and_once() {
    let (count, found) = matches(&["name?"], &[b"your name? ", b"name?", b" me\nname?"]);
    assert_eq!(count, 2);
    assert_eq!(found[0].1, "your name? ");
    assert_eq!(found[1].1, "name?");
}

#[test]
fn a_line_with_two_patterns_is_one_line() {
    let hit = hit(watch(&["b", "a"]).feed(b"a b a b\nb\n", Instant::now()));
    assert_eq!((hit.pattern.as_str(), hit.others), ("a", strings(&["b"])));
    assert_eq!(hit.lines, ["a b a b", "b"]);
}

#[test]
fn no_pattern_is_found_over_the_end_of_a_line() {
    let pieces: [&[u8]; 3] = [b"rea\ndy", b"rea\r\ndy", b" rea\rdy"];
    assert_eq!(matches(&["ready", "", "a\nd"], &pieces).0, 0);
    assert_eq!(matches(&["50%"], &[b"10%\r50%\r90%\n"]).1[0].1, "50%");
}

#[test]
fn sequences_without_an_end_do_not_swallow_the_output() {
    for start in ["\x1b]0;title", "\x1bP", "\x1b[", "\x1b", "\x1b_"] {
        assert_eq!(matches(&["ready"], &[start.as_bytes(), b"\nready\n"]).0, 1, "{start:?}");
    }
    let mut long = b"\x1b]".to_vec();
    long.extend([b'x'; 5000]);
    assert_eq!(matches(&["ready"], &[&long, b"ready"]).0, 1);
    assert_eq!(matches(&["ready"], &[b"\x1b]8;;http://ready\x1b\\link\x1b]8;;\x1b\\"]).0, 0);
}

#[test]
fn very_long_lines_are_bounded_and_still_watched() {
    let mut lines = PatternScanner::new(&strings(&["needle"]));
    let mut count = 0;
    let hay = [b'x'; 10_000];
    for _ in 0..1000 {
        count += lines.feed(&hay, 1).count;
    }
    assert_eq!(count, 0);
    lines.feed(b"nee", 1);
    let found = lines.feed(b"dle and needle", 1);
    assert_eq!(found.count, 1);
    assert!(found.matches[0].text.starts_with('…'));
    assert!(found.matches[0].text.ends_with("needle and needle"));
    assert!(found.matches[0].text.len() < 1000);
    // Far enough away it is news again.
    lines.feed(&[b'x'; MAX_LINE_BYTES], 1);
    assert_eq!(lines.feed(b"needle", 1).count, 1);
}

#[test]
fn a_notification_is_bounded() {
    let now = Instant::now();
    let hit_many = hit(watch(&["x"]).feed("x\n".repeat(100).as_bytes(), now));
    assert_eq!((hit_many.lines.len(), hit_many.suppressed), (20, 80));
    let wide = format!("{}\n", "xä".repeat(150)).repeat(30);
    let hit_wide = hit(watch(&["x"]).feed(wide.as_bytes(), now));
    let chars: usize = hit_wide.lines.iter().map(|it| it.chars().count() + 1).sum();
    assert!(chars <= 2001, "{chars}");
    assert_eq!(hit_wide.lines.len() as u64 + hit_wide.suppressed, 30);
}

#[test]
fn within_fifteen_seconds_it_is_only_counted() {
    let start = Instant::now();
    let seconds = Duration::from_secs;
    let mut watch = watch(&["x"]);
    assert_eq!(hit(watch.feed(b"x1\n", start)).suppressed, 0);
    assert_eq!(watch.feed(b"x2\nx3\n", start + seconds(14)), []);
    assert_eq!(watch.suppressed(), 2);
    let later = hit(watch.feed(b"x4\n", start + seconds(15)));
    assert_eq!((later.lines, later.suppressed), (strings(&["x4"]), 2));
    assert_eq!(watch.suppressed(), 0);
}

#[test]
fn three_strikes_in_a_row_switch_it_off() {
    let start = Instant::now();
    let at = |second: u64| start + Duration::from_secs(second);
    let mut watch = watch(&["x"]);
    for round in 0..2 {
        hit(watch.feed(b"x\n", at(round * 15)));
        assert_eq!(watch.feed(b"x\n", at(round * 15 + 1)), []);
        assert_eq!(watch.feed(b"x\n", at(round * 15 + 2)), [], "one strike each");
    }
    hit(watch.feed(b"x\n", at(30)));
    assert!(!watch.is_disabled());
    assert_eq!(watch.feed(b"x\nx\n", at(31)), [WatchNotice::Disabled { suppressed: 2 }]);
    assert!(watch.is_disabled());
    assert_eq!(watch.feed(b"x\n", at(1000)), []);
}

#[test]
fn a_quiet_time_makes_good() {
    let start = Instant::now();
    let at = |second: u64| start + Duration::from_secs(second);
    let mut watch = watch(&["x"]);
    for round in 0..20 {
        let second = round * 15;
        hit(watch.feed(b"x\n", at(second)));
        // Every third time stays without anything to hold back.
        if round % 3 != 2 {
            assert_eq!(watch.feed(b"x\n", at(second + 1)), []);
        }
    }
    assert!(!watch.is_disabled());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn pieces_make_no_difference(
        text in proptest::collection::vec(
            prop::sample::select(vec![
                "ab", "a", "b", "\n", "\r", "c", "\x1b[1m", "\x1b]0;ab\x07", "\x1b", "\x1b(B", "\x08",
                "ä", "\x1bPab\x1b\\",
            ]), 0..60),
        sizes in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        let text = text.concat().into_bytes();
        let mut pieces = Vec::new();
        let mut rest = &text[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() { break; }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        let patterns = ["ab", "ba", "cc"];
        let names = |pieces: &[&[u8]]| {
            let (_, found) = matches(&patterns, pieces);
            let mut names: Vec<String> = found.into_iter().flat_map(|it| it.0).collect();
            names.sort();
            names
        };
        prop_assert_eq!(names(&[&text]), names(&pieces));
    }

    #[test]
    fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut watch = watch(&["a", "\u{fffd}"]);
        for piece in bytes.chunks(7) {
            watch.feed(piece, Instant::now());
        }
    }
}

/// Prints the speed; run it by hand.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let chunk = "a line of ordinary output, as programs write it, number 12345\n".repeat(2000);
    for patterns in [&["needle"][..], &["needle", "ready", "error"], &["line"]] {
        let mut lines = PatternScanner::new(&strings(patterns));
        let start = Instant::now();
        for _ in 0..500 {
            lines.feed(chunk.as_bytes(), 20);
        }
        let megabytes = chunk.len() * 500 / 1_000_000;
        println!(
            "{patterns:?}: {} MB/s",
            megabytes as u128 * 1000 / start.elapsed().as_millis().max(1)
        );
    }
}
