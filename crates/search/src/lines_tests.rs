use super::*;

fn line(number: u64) -> FileLine {
    let text = number.to_string();
    FileLine { number, text, ranges: vec![(0, 1)], column: 1, is_clipped: false }
}

fn found(before: &[u64], own: &[u64], after: &[u64]) -> LineMatch {
    let lines = |numbers: &[u64]| numbers.iter().map(|number| line(*number)).collect();
    LineMatch {
        path: Arc::from(Path::new("f")),
        before: lines(before),
        lines: lines(own),
        after: lines(after),
    }
}

fn numbers(found: &LineMatch) -> (Vec<u64>, Vec<u64>, Vec<u64>) {
    let numbers = |lines: &[FileLine]| lines.iter().map(|line| line.number).collect();
    (numbers(&found.before), numbers(&found.lines), numbers(&found.after))
}

/// Matches in lines 3, 5 and 6, with two lines around each.
fn three() -> Vec<LineMatch> {
    vec![found(&[1, 2], &[3], &[4]), found(&[], &[5], &[]), found(&[], &[6], &[7, 8])]
}

#[test]
fn a_cut_in_the_middle_keeps_what_lies_around() {
    let cut = slice_matches(three(), 1, 2, 2, 2);
    assert_eq!(cut.len(), 1);
    assert_eq!(numbers(&cut[0]), (vec![3, 4], vec![5], vec![6, 7]));
    assert!(cut[0].before.iter().chain(&cut[0].after).all(|l| l.ranges.is_empty()));
}

#[test]
fn the_whole_stays_as_it_is() {
    assert_eq!(slice_matches(three(), 0, 9, 2, 2), three());
    assert_eq!(slice_matches(three(), 0, usize::MAX, 0, 0), three());
}

#[test]
fn beyond_the_end_is_nothing() {
    assert!(slice_matches(three(), 3, 9, 2, 2).is_empty());
    assert!(slice_matches(three(), 7, 9, 2, 2).is_empty());
    assert!(slice_matches(Vec::new(), 0, 1, 2, 2).is_empty());
}

#[test]
fn lines_that_are_known_come_once() {
    let pair = vec![found(&[], &[1], &[2, 3]), found(&[4, 5], &[6], &[])];
    let cut = slice_matches(pair, 1, 2, 4, 0);
    assert_eq!(numbers(&cut[0]), (vec![2, 3, 4, 5], vec![6], vec![]));
}
