use super::super::OutputStream;
use super::*;

fn log(bytes: &[u8]) -> OutputLog {
    let mut log = OutputLog::new(None);
    log.push(OutputStream::Stdout, bytes);
    log
}

#[test]
fn lines_are_counted_from_one() {
    let log = log(b"one\n\nthree\x1b[0m\r\nfour");
    assert_eq!(log.page(1, 2), (vec!["one".to_owned(), String::new()], 4));
    assert_eq!(log.page(0, 1), log.page(1, 1));
    assert_eq!(log.page(3, 9).0, ["three", "four"]);
    assert_eq!(log.last_lines(1).0, ["four"]);
    assert_eq!(log.page(5, 1), (vec![], 4));
    assert_eq!(log.page(u64::MAX, usize::MAX), (vec![], 4));
    assert_eq!(log.page(1, 0), (vec![], 4));
}

#[test]
fn an_empty_log_has_no_lines() {
    assert_eq!(OutputLog::new(None).page(1, 10), (vec![], 0));
    assert_eq!(OutputLog::new(None).last_lines(10), (vec![], 0));
    assert_eq!(log(b"\n").page(1, 10), (vec![String::new()], 1));
}

#[test]
fn numbers_stay_right_where_lines_are_lost() {
    let lines: Vec<_> = (1..=100_000).map(|number| format!("number {number}\n")).collect();
    let log = log(lines.concat().as_bytes());
    assert!(log.lost_bytes() > 0);
    let (page, total) = log.page(1, usize::MAX);
    assert_eq!((page.len(), total), (100_000, 100_000));
    let lost: Vec<_> = (0..page.len()).filter(|&at| page[at].contains(LOST_LINE_TEXT)).collect();
    assert!(lost.len() > 50_000 && lost.is_sorted_by(|a, b| a + 1 == *b));
    for (at, line) in page.iter().enumerate().filter(|(_, line)| !line.contains(LOST_LINE_TEXT)) {
        assert_eq!(*line, format!("number {}", at + 1));
    }
    let middle = lost[lost.len() / 2];
    assert_eq!(log.page(middle as u64 + 1, 3).0, [LOST_LINE_TEXT; 3]);
    for from in [lost[0] - 1, lost[lost.len() - 1] - 1] {
        assert_eq!(log.page(from as u64 + 1, 5).0, page[from..from + 5]);
    }
}

#[test]
fn a_loss_within_one_line() {
    let log = log(&vec![b'x'; 1_000_000]);
    let (page, total) = log.page(1, 5);
    assert_eq!((page.len(), total), (1, 1));
    assert!(
        page[0].starts_with("xxx")
            && page[0].ends_with(CUT_LINE_SUFFIX)
            && page[0].len() < 2 * MAX_LINE_BYTES
    );
}

#[test]
fn megabytes_of_a_progress_bar_are_one_line() {
    let mut log = OutputLog::new(None);
    (0..20_000).for_each(|at| log.push(OutputStream::Stderr, format!("\r{at:6}").as_bytes()));
    log.push(OutputStream::Stderr, b"\nend");
    assert_eq!(log.page(1, 5), (vec![" 19999".to_owned(), "end".to_owned()], 2));
}
