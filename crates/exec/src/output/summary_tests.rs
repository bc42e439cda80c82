use proptest::prelude::*;

use super::super::SpillTarget;
use super::*;

fn log(bytes: &[u8]) -> OutputLog {
    let mut log = OutputLog::new(None);
    log.push(OutputStream::Stdout, bytes);
    log
}

/// The text before and after the marker.
fn sides(summary: &LogSummary) -> (&str, &str) {
    let at = summary.text.find("[... ").unwrap();
    let end = at + summary.text[at..].find(" ...]\n").unwrap();
    (&summary.text[..at], &summary.text[end + 6..])
}

#[test]
fn what_fits_is_whole() {
    let summary = log(b"\x1b[1mone\x1b[0m\ntwo").summary(7);
    assert_eq!(summary.text, "one\ntwo");
    assert_eq!((summary.is_cut, summary.total_bytes, summary.total_lines), (false, 15, 2));
    assert_eq!(OutputLog::new(None).summary(0).text, "");
}

#[test]
fn what_does_not_fit_is_cut_at_lines() {
    let lines: Vec<_> = (100..200).map(|number| format!("number {number}\n")).collect();
    let log = log(lines.concat().as_bytes());
    let summary = log.summary(110);
    let (head, tail) = sides(&summary);
    assert_eq!(head, "number 100\nnumber 101\nnumber 102\nnumber 103\n");
    assert_eq!(tail, lines[94..].concat());
    assert_eq!((summary.omitted_bytes, summary.omitted_lines), (90 * 11, 90));
    assert!(summary.text.contains("\n[... 990 bytes in 90 lines left out ...]\n"));
}

#[test]
fn a_long_line_is_cut_within() {
    let text = "é".repeat(10_000);
    let summary = log(text.as_bytes()).summary(1001);
    let (head, tail) = sides(&summary);
    assert_eq!((head, tail), (&*("é".repeat(200) + "\n"), &*"é".repeat(300)));
    assert_eq!((summary.omitted_bytes, summary.omitted_lines), (19_000, 0));
}

#[test]
fn an_order_is_not_cut() {
    let text = "\x1b[38;5;200mxx".repeat(1000);
    for budget in 100..130 {
        let summary = log(text.as_bytes()).summary(budget);
        let (head, tail) = sides(&summary);
        assert!(!head.contains(|found| found != 'x' && found != '\n'), "{head}");
        assert!(!tail.contains(|found| found != 'x'), "{tail}");
    }
}

#[test]
fn the_marker_names_the_file() {
    let place = tempfile::tempdir().unwrap();
    for most in [u64::MAX, 300_000] {
        let name = format!("{most}.log");
        let spill = SpillTarget {
            directory: place.path().to_path_buf(),
            name,
            max_bytes: most,
            mask: None,
        };
        let mut log = OutputLog::new(Some(spill));
        log.push(OutputStream::Stdout, &b"some words\n".repeat(100_000));
        let path = log.file().unwrap().display().to_string();
        let both = log.summary(1000).text;
        let one = log.stream_summary(OutputStream::Stdout, 1000).text;
        if most == u64::MAX {
            assert!(both.contains(&format!("; the whole output is in {path} ...]\n")));
            assert!(one.contains(&format!("; the whole output of both streams is in {path} ...]")));
        } else {
            assert!(both.contains(&format!(", {} of them not kept; ", log.lost_bytes())), "{both}");
            assert!(both.contains(&format!("the first 300000 bytes of the output are in {path}")));
        }
    }
}

#[test]
fn what_is_lost_is_cut_even_if_there_is_room() {
    let log = log(&b"some words\n".repeat(100_000));
    let summary = log.summary(usize::MAX / 4);
    assert!(summary.is_cut);
    assert!(
        summary.omitted_bytes >= log.lost_bytes() && summary.omitted_bytes < log.lost_bytes() + 100
    );
}

#[test]
fn all_is_left_out_of_what_has_no_text() {
    let zeros = vec![0; 20_000_000];
    let summary = log(&zeros).summary(1000);
    assert!(summary.is_blank && summary.is_cut);
    assert!(summary.text.starts_with("[... 20000000 bytes left out"), "{}", summary.text);
    assert!(log(&zeros[..1000]).summary(1000).is_blank);
    assert!(!log(b"text").summary(1000).is_blank);
}

#[test]
fn a_long_progress_bar_fits() {
    let mut log = OutputLog::new(None);
    (0..30_000).for_each(|at| log.push(OutputStream::Stderr, format!("\r{at:6}%").as_bytes()));
    assert_eq!(log.summary(100).text, " 29999%");
}

#[test]
fn streams_are_apart_however_often_they_alternate() {
    let mut log = OutputLog::new(None);
    for number in 0..5000 {
        log.push(OutputStream::Stdout, format!("out {number}\n").as_bytes());
        log.push(OutputStream::Stderr, format!("err {number}\n").as_bytes());
    }
    for (source, word) in [(OutputStream::Stdout, "out"), (OutputStream::Stderr, "err")] {
        let summary = log.stream_summary(source, 1_000_000);
        assert!(summary.is_cut);
        assert_eq!(summary.total_lines, 5000);
        let (head, tail) = sides(&summary);
        let kept = head.lines().count() + tail.lines().count();
        assert_eq!(kept as u64 + summary.omitted_lines, 5000);
        assert!(kept >= 4000, "{kept}");
        assert!(head.starts_with(&format!("{word} 0\n")));
        assert!(tail.ends_with(&format!("{word} 4999\n")));
        assert!(head.lines().chain(tail.lines()).all(|line| line.starts_with(word)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_cut_keeps_to_its_budget_and_its_sums(
        lines in prop::collection::vec("[a-z\u{1b}\\[é\r]{0,60}", 1..200),
        copies in 1_usize..10,
        budget in 0_usize..3000,
    ) {
        let bytes = lines.join("\n").repeat(copies).into_bytes();
        let mut log = OutputLog::new(None);
        bytes.chunks(1000).for_each(|chunk| log.push(OutputStream::Stdout, chunk));
        let summary = log.summary(budget);
        let whole = clean(&bytes);
        prop_assert_eq!(summary.is_cut, summary.omitted_bytes > 0);
        prop_assert_eq!(summary.total_bytes, bytes.len() as u64);
        prop_assert!(summary.is_cut || summary.text.len() <= budget);
        prop_assert!(summary.is_cut || bytes.contains(&b'\r') || summary.text == whole);
        if summary.is_cut {
            let (head, tail) = sides(&summary);
            prop_assert!(head.len() <= budget / 5 * 2 + 1);
            prop_assert!(tail.len() <= budget - budget / 5 * 2);
            prop_assert!(summary.omitted_lines <= summary.total_lines);
        }
        prop_assert_eq!(log.stream_summary(OutputStream::Stdout, budget), summary);
        prop_assert_eq!(log.stream_summary(OutputStream::Stderr, budget).total_bytes, 0);
    }
}

#[test]
fn half_a_character_at_the_end_is_found() {
    for (bytes, whole) in [
        (&b"abc"[..], 3),
        (b"ab\xC3", 2),
        (b"ab\xC3\xA9", 4),
        (b"a\xF0\x9F\xA6", 1),
        (b"a\xF0\x9F\xA6\x80", 5),
        (b"\x80\x80\x80\x80\x80", 5),
        (b"", 0),
    ] {
        assert_eq!(whole_characters(bytes), whole, "{bytes:?}");
    }
}

#[test]
fn half_a_character_is_not_shown_as_long_as_more_may_come() {
    let bytes = "a\u{65e5}".as_bytes();
    let mut log = OutputLog::new(None).growing();
    log.push(OutputStream::Stdout, &bytes[..3]);
    assert_eq!((log.summary(100).text.as_str(), log.page(1, 9).0), ("a", vec!["a".to_owned()]));
    let mut cleaner = log.cleaner_at(3);
    assert_eq!(cleaner.feed(&bytes[3..]) + &cleaner.flush(), "\u{65e5}");
    // Nor in the middle of a text that is cut.
    let mut long = OutputLog::new(None).growing();
    long.push(OutputStream::Stdout, &[&b"long line\n".repeat(100)[..], &bytes[..3]].concat());
    let summary = long.summary(100);
    assert!(summary.text.ends_with("\na") && summary.is_cut, "{}", summary.text);
    log.close();
    assert_eq!(log.summary(100).text, "a\u{FFFD}");
    assert_eq!(log.page(1, 9).0, ["a\u{FFFD}"]);
}

#[test]
fn an_order_goes_on_where_a_text_was_told() {
    let mut log = OutputLog::new(None).growing();
    log.push(OutputStream::Stdout, b"first\x1b[0m\nand \x1b[3");
    assert_eq!(log.summary(100).text, "first\nand ");
    let mut cleaner = log.cleaner_at(log.len());
    assert_eq!(cleaner.feed(b"1mred\n"), "red\n");
    // It ended with its line.
    assert_eq!(log.cleaner_at(10).feed(b"1m\n"), "1m\n");
}
