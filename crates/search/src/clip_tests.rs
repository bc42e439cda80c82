use proptest::prelude::*;

use super::*;

fn slice(line: &FileLine, (start, end): (usize, usize)) -> String {
    line.text.chars().skip(start).take(end - start).collect()
}

#[test]
fn a_short_line_is_whole() {
    let line = clip(7, "grüße an alle".as_bytes(), &[(8, 10), (11, 15)]);
    assert_eq!(line.text, "grüße an alle");
    assert_eq!((line.number, line.column, line.is_clipped), (7, 7, false));
    let found: Vec<String> = line.ranges.iter().map(|range| slice(&line, *range)).collect();
    assert_eq!(found, ["an", "alle"]);
}

#[test]
fn a_long_line_is_shown_around_its_match() {
    let text = format!("{}needle{}", "ä".repeat(5000), "ö".repeat(5000));
    let line = clip(1, text.as_bytes(), &[(10_000, 10_006)]);
    assert!(line.is_clipped && line.text.starts_with('…') && line.text.ends_with('…'));
    assert_eq!(line.column, 5001);
    assert_eq!(slice(&line, line.ranges[0]), "needle");
    assert!(line.text.chars().count() <= MAX_LINE_CHARS + 2);
}

#[test]
fn a_match_that_begins_the_line_keeps_its_beginning() {
    let text = format!("needle{}", "x".repeat(5000));
    let line = clip(1, text.as_bytes(), &[(0, 6)]);
    assert!(line.text.starts_with("needle") && line.text.ends_with('…'));
}

#[test]
fn legacy_text_is_read_as_such() {
    let line = clip(1, b"Le caf\xE9 est tr\xE8s bon, d\xE9j\xE0 vu", &[(3, 7)]);
    assert_eq!(line.text, "Le café est très bon, déjà vu");
    assert_eq!(slice(&line, line.ranges[0]), "café");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_and_ranges_give_a_bounded_line(
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        cuts in prop::collection::vec(0_usize..3000, 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
        cuts.sort_unstable();
        let ranges: Vec<(usize, usize)> = cuts.chunks_exact(2).map(|c| (c[0], c[1])).collect();
        let line = clip(1, &bytes, &ranges);
        let length = line.text.chars().count();
        prop_assert!(length <= MAX_LINE_CHARS + 2);
        for (start, end) in line.ranges {
            prop_assert!(start <= end && end <= length);
        }
    }

    #[test]
    fn the_marked_text_is_the_match(head in "\\PC{0,700}", needle in "\\PC{1,20}", tail in "\\PC{0,700}") {
        let text = format!("{head}{needle}{tail}");
        let line = clip(1, text.as_bytes(), &[(head.len(), head.len() + needle.len())]);
        prop_assert_eq!(line.column as usize, head.chars().count() + 1);
        let range = line.ranges[0];
        prop_assert_eq!(slice(&line, range), needle);
    }
}
