use super::*;

fn line(number: u64) -> Line {
    let text = number.to_string();
    Line { number, text, ranges: vec![(0, 1)], column: 1, is_clipped: false }
}

fn found(before: &[u64], own: &[u64], after: &[u64]) -> Match {
    let lines = |numbers: &[u64]| numbers.iter().map(|number| line(*number)).collect();
    Match {
        path: Arc::from(Path::new("f")),
        before: lines(before),
        lines: lines(own),
        after: lines(after),
    }
}

fn numbers(found: &Match) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let numbers = |lines: &[Line]| lines.iter().map(|line| line.number).collect();
    (numbers(&found.before), numbers(&found.lines), numbers(&found.after))
}

/// Matches in lines 3, 5 and 6, with two lines around each.
fn three() -> Vec<Match> {
    vec![found(&[1, 2], &[3], &[4]), found(&[], &[5], &[]), found(&[], &[6], &[7, 8])]
}

#[test]
fn a_cut_in_the_middle_keeps_what_lies_around() {
    let cut = cut(three(), 1, 2, 2, 2);
    assert_eq!(cut.len(), 1);
    assert_eq!(numbers(&cut[0]), (vec![3, 4], vec![5], vec![6, 7]));
    assert!(cut[0].before.iter().chain(&cut[0].after).all(|l| l.ranges.is_empty()));
}

#[test]
fn the_whole_stays_as_it_is() {
    assert_eq!(cut(three(), 0, 9, 2, 2), three());
    assert_eq!(cut(three(), 0, usize::MAX, 0, 0), three());
}

#[test]
fn beyond_the_end_is_nothing() {
    assert!(cut(three(), 3, 9, 2, 2).is_empty());
    assert!(cut(three(), 7, 9, 2, 2).is_empty());
    assert!(cut(Vec::new(), 0, 1, 2, 2).is_empty());
}

#[test]
fn lines_that_are_known_come_once() {
    let pair = vec![found(&[], &[1], &[2, 3]), found(&[4, 5], &[6], &[])];
    let cut = cut(pair, 1, 2, 4, 0);
    assert_eq!(numbers(&cut[0]), (vec![2, 3, 4, 5], vec![6], vec![]));
}
