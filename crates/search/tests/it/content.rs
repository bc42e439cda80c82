use std::fmt::Write as _;

use hermes_search::{
    CaseMode, ContentQuery, FileSelection, MatchOutput, PageRange, SearchPattern, SortOrder,
};
use proptest::prelude::*;

use crate::harness::{ALL, LINES, Tree, lines, of, paths};

#[test]
fn matches_come_by_path_and_line() {
    let tree = Tree::new(&[
        ("b.txt", "one\ntwo needle\n"),
        ("a/z.txt", "needle needle\n"),
        ("a.txt", "x\nneedle"),
        ("c.txt", "nothing\n"),
    ]);
    let searched = tree.search(&of(SearchPattern::regex("needle"), LINES), ALL);
    assert_eq!(
        lines(&searched),
        ["a/z.txt:1:needle needle", "a.txt:2:needle", "b.txt:2:two needle"]
    );
    let first = &searched.page.items[0].matches[0].lines[0];
    assert_eq!((first.column, &first.ranges[..]), (1, &[(0, 6), (7, 13)][..]));
    assert!(searched.page.is_exact && !searched.page.has_more);
    assert_eq!((searched.page.total, searched.page.files_visited), (3, 4));
}

#[test]
fn files_and_counts() {
    let tree = Tree::new(&[("a", "x\nx\n"), ("b", "y\n"), ("c", "x x\n")]);
    let counted = tree.search(
        &of(SearchPattern::regex("x"), MatchOutput::Counts),
        PageRange { offset: 0, limit: 1 },
    );
    assert_eq!((counted.matches, counted.page.total, counted.page.is_exact), (3, 2, true));
    assert_eq!((paths(&counted), counted.page.items[0].count), (vec!["a".to_owned()], 2));
    assert!(counted.page.has_more);
    let files = tree.search(&of(SearchPattern::regex("x"), MatchOutput::Files), ALL);
    assert_eq!(paths(&files), ["a", "c"]);
}

#[test]
fn several_lines_are_found_where_they_end_with_carriage_returns() {
    let tree = Tree::new(&[("dos", "x\r\nfoo\r\nbar\r\n"), ("unix", "x\nfoo\nbar\n")]);
    let literal = SearchPattern::regex("foo\nbar").as_literal();
    let regex = SearchPattern { multiline: true, ..SearchPattern::regex("fo+\\nbar") };
    for pattern in [literal, regex] {
        let searched = tree.search(&of(pattern, LINES), ALL);
        assert_eq!((searched.page.total, searched.page.is_exact), (2, true));
        for hits in &searched.page.items {
            let found: Vec<_> =
                hits.matches[0].lines.iter().map(|l| (l.number, &*l.text, l.ranges[0])).collect();
            assert_eq!(found, [(2, "foo", (0, 3)), (3, "bar", (0, 3))]);
        }
    }
}

#[test]
fn a_full_page_ends_the_search_and_says_at_least() {
    let tree = Tree::new(&[]);
    for number in 0..400 {
        tree.write(format!("d{:02}/f{number:03}", number % 20), "x\nx\n");
    }
    let searched =
        tree.search(&of(SearchPattern::regex("x"), LINES), PageRange { offset: 0, limit: 3 });
    assert_eq!(searched.page.items.iter().map(|h| h.matches.len()).sum::<usize>(), 3);
    assert!(!searched.page.is_exact && searched.page.has_more);
    assert!(searched.page.total > 3 && searched.page.total <= 800);
    let exact =
        tree.search(&of(SearchPattern::regex("x"), LINES), PageRange { offset: 797, limit: 3 });
    assert_eq!((exact.page.total, exact.page.is_exact), (800, true));
    assert!(!exact.page.has_more);
    let beyond =
        tree.search(&of(SearchPattern::regex("x"), LINES), PageRange { offset: 900, limit: 3 });
    assert!(beyond.page.items.is_empty() && beyond.page.total == 800);
}

#[test]
fn a_page_goes_on_where_the_last_one_ended() {
    let tree = Tree::new(&[]);
    for number in 0..60 {
        let text: String = (0..number % 7).map(|line| format!("x {line}\ny\n")).collect();
        tree.write(format!("d{}/e{}/f{number}", number % 3, number % 5), text);
        tree.age(&format!("d{}/e{}/f{number}", number % 3, number % 5), number / 4);
    }
    for sort in [SortOrder::Path, SortOrder::Modified, SortOrder::Relevance] {
        for report in [LINES, MatchOutput::Files, MatchOutput::Counts] {
            let content = ContentQuery { sort, ..of(SearchPattern::regex("x"), report) };
            let shown = |page| {
                let searched = tree.search(&content, page);
                if report == LINES { lines(&searched) } else { paths(&searched) }
            };
            let whole = shown(ALL);
            assert!(whole.len() > 40);
            let mut pages = Vec::new();
            while pages.len() < whole.len() {
                pages.extend(shown(PageRange { offset: pages.len() as u64, limit: 7 }));
            }
            assert_eq!(pages, whole, "{sort:?} {report:?}");
        }
    }
}

#[test]
fn newest_or_fullest_files_first() {
    let tree = Tree::new(&[("a", "x\n"), ("b", "x\nx\n"), ("x.txt", "x\n")]);
    tree.age("a", 10);
    tree.age("b", 30);
    tree.age("x.txt", 20);
    let by = |sort| {
        paths(&tree.search(&ContentQuery { sort, ..of(SearchPattern::regex("x"), LINES) }, ALL))
    };
    assert_eq!(by(SortOrder::Path), ["a", "b", "x.txt"]);
    assert_eq!(by(SortOrder::Modified), ["a", "x.txt", "b"]);
    assert_eq!(by(SortOrder::Relevance), ["x.txt", "b", "a"]);
    let relevant =
        ContentQuery { sort: SortOrder::Relevance, ..of(SearchPattern::regex("x"), LINES) };
    let first = tree.search(&relevant, PageRange { offset: 0, limit: 1 });
    assert_eq!((first.page.total, first.page.is_exact, first.page.has_more), (4, true, true));
}

#[test]
fn context_lines_come_once_and_survive_pages() {
    let mut text = String::new();
    for number in 1..=12 {
        let word = if matches!(number, 4 | 6 | 11) { "hit" } else { "line" };
        writeln!(text, "{word} {number}").unwrap();
    }
    let tree = Tree::new(&[("f", &text)]);
    let content = of(SearchPattern::regex("hit"), MatchOutput::Lines { before: 2, after: 1 });
    let around = |page| -> Vec<(Vec<u64>, u64, Vec<u64>)> {
        let searched = tree.search(&content, page);
        let matches = searched.page.items.into_iter().flat_map(|hits| hits.matches);
        matches
            .map(|m| {
                let numbers = |l: &[hermes_search::FileLine]| l.iter().map(|l| l.number).collect();
                (numbers(&m.before), m.line_number(), numbers(&m.after))
            })
            .collect()
    };
    let whole = around(ALL);
    assert_eq!(
        whole,
        [(vec![2, 3], 4, vec![5]), (vec![], 6, vec![7]), (vec![9, 10], 11, vec![12])]
    );
    let second = around(PageRange { offset: 1, limit: 1 });
    assert_eq!(second, [(vec![4, 5], 6, vec![7])]);
}

#[test]
fn binary_files_as_ripgrep_has_them() {
    let tree = Tree::new(&[("text", "needle\n")]);
    tree.write("start", b"\0needle\n");
    tree.write("end", b"needle\nother\0needle\n");
    let filler = "y".repeat(60) + "\n";
    tree.write("late", format!("needle\n{}\0\nneedle\n", filler.repeat(3000)));
    // Lines that were told before the first NUL was seen stay, but such a file
    // is not counted.
    assert_eq!(tree.lines("needle"), ["late:1:needle", "text:1:needle"]);
    let searched = tree.search(&of(SearchPattern::regex("needle"), MatchOutput::Counts), ALL);
    assert_eq!((paths(&searched), searched.page.skipped.binary), (vec!["text".to_owned()], 3));
    let searched = tree.search(&of(SearchPattern::regex("needle"), MatchOutput::Files), ALL);
    assert_eq!(paths(&searched), ["late", "text"]);
    // A file that is named is looked into.
    let named = tree
        .search_in(
            "start",
            &FileSelection::default(),
            &of(SearchPattern::regex("needle"), LINES),
            ALL,
        )
        .unwrap();
    assert_eq!(named.page.total, 1);
    assert!(lines(&named)[0].ends_with("(binary file matches)"));
}

#[test]
fn marked_and_named_encodings() {
    let tree = Tree::new(&[]);
    let wide: Vec<u8> =
        "\u{FEFF}erste\nZweite Grüße\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    tree.write("wide.txt", wide);
    tree.write("latin.txt", b"caf\xE9 cr\xE8me br\xFBl\xE9e\n");
    assert_eq!(tree.lines("Grüße"), ["wide.txt:2:Zweite Grüße"]);
    for pattern in ["caf.", "cr.me", "crème", "br"] {
        assert_eq!(tree.lines(pattern), ["latin.txt:1:café crème brûlée"], "{pattern}");
    }
    let latin = ContentQuery {
        encoding: Some("latin1".to_owned()),
        ..of(SearchPattern::regex("é"), LINES)
    };
    assert_eq!(lines(&tree.search(&latin, ALL)), ["latin.txt:1:café crème brûlée"]);
    let wrong = ContentQuery { encoding: Some("klingon".to_owned()), ..latin };
    assert!(tree.search_in("", &FileSelection::default(), &wrong, ALL).is_err());
}

#[test]
fn matches_over_several_lines() {
    let tree = Tree::new(&[("f", "a\nfoo {\n  x\n}\nb\nfoo {\n  y\n}\nfoo { }\n")]);
    let searched = tree.search(&of(SearchPattern::regex("foo \\{\\n"), LINES), ALL);
    assert_eq!(searched.page.total, 2);
    assert_eq!(lines(&searched), ["f:2:foo {", "f:6:foo {"]);
    let block = SearchPattern { multiline: true, ..SearchPattern::regex("(?s)foo \\{.*?\\}") };
    let searched = tree.search(&of(block.clone(), LINES), ALL);
    assert_eq!(searched.page.total, 3);
    assert_eq!(
        lines(&searched),
        ["f:2:foo {", "f:3:  x", "f:4:}", "f:6:foo {", "f:7:  y", "f:8:}", "f:9:foo { }"]
    );
    assert_eq!(tree.search(&of(block, MatchOutput::Counts), ALL).matches, 3);
}

#[test]
fn line_ends_are_ends_with_carriage_returns_too() {
    let tree = Tree::new(&[("dos", "one\r\ntwo\r\n"), ("unix", "one\ntwo\n")]);
    assert_eq!(tree.lines("^one$"), ["dos:1:one", "unix:1:one"]);
    let both = ["dos:1:one", "dos:2:two", "unix:1:one", "unix:2:two"];
    assert_eq!(tree.lines("one\\ntwo"), both);
}

#[test]
fn the_carriage_return_of_an_end_is_not_matched() {
    let long = "x".repeat(1_000_000);
    let tree = Tree::new(&[]);
    tree.write("dos", "abc\r\nd e\r\n");
    tree.write("large", format!("abc\r\nd e\r\n{long}\r\n"));
    let both = ["dos:2:d e", "large:2:d e"];
    for pattern in [r"\s", r"\W", "[^a-z]", "d.e|c.", r"c\s|d\s"] {
        assert_eq!(tree.lines(pattern), both, "{pattern}");
        let counted = tree.search(&of(SearchPattern::regex(pattern), MatchOutput::Counts), ALL);
        assert_eq!((counted.matches, paths(&counted)), (2, vec!["dos".into(), "large".into()]));
    }
    for pattern in ["[^a-z ]", r"c\s", r"c.", r"e\W", r"abc[^\n]", r"c\s?\W"] {
        assert!(tree.lines(pattern).is_empty(), "{pattern}");
        let files = tree.search(&of(SearchPattern::regex(pattern), MatchOutput::Files), ALL);
        assert_eq!(paths(&files), [""; 0], "{pattern}");
    }
    // Another match of the same line counts, with its own place.
    let searched = tree.search(&of(SearchPattern::regex(r"c\s?"), LINES), ALL);
    let first = &searched.page.items[0].matches[0].lines[0];
    assert_eq!((&*first.text, &first.ranges[..]), ("abc", &[(2, 3)][..]));
    // A line that does not match is the one before or after, and no match.
    let around = of(SearchPattern::regex(r"\s"), MatchOutput::Lines { before: 1, after: 1 });
    let found = &tree.search(&around, ALL).page.items[0].matches;
    assert_eq!((found.len(), &*found[0].before[0].text, found[0].after.len()), (1, "abc", 0));
    // Who writes one looks for one.
    assert_eq!(tree.lines(r"c\r"), ["dos:1:abc", "large:1:abc"]);
}

#[test]
fn a_file_is_a_root_whatever_its_name() {
    let tree = Tree::new(&[(".hidden/.env", "needle\n"), (".gitignore", "*\n")]);
    let content = of(SearchPattern::regex("needle"), LINES);
    let found = tree.search_in(".hidden/.env", &FileSelection::default(), &content, ALL).unwrap();
    assert_eq!(lines(&found), [".env:1:needle"]);
}

#[test]
fn a_very_long_line_is_clipped_around_its_match() {
    let tree = Tree::new(&[]);
    tree.write("min.js", format!("{}needle{}\n", "a".repeat(3_000_000), "b".repeat(3_000_000)));
    let searched = tree.search(&of(SearchPattern::regex("needle"), LINES), ALL);
    let line = &searched.page.items[0].matches[0].lines[0];
    assert_eq!((line.column, line.is_clipped), (3_000_001, true));
    assert!(line.text.contains("needle") && line.text.chars().count() < 510);
}

#[test]
fn sizes_can_be_bounded() {
    let tree = Tree::new(&[("big", &"needle\n".repeat(100)), ("small", "needle\n")]);
    let selection = FileSelection { max_filesize: Some(50), ..FileSelection::default() };
    let content = of(SearchPattern::regex("needle"), MatchOutput::Files);
    let found = tree.search_in("", &selection, &content, ALL).unwrap();
    assert_eq!((paths(&found), found.page.skipped.too_large), (vec!["small".to_owned()], 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn as_a_plain_reading_of_the_lines_says(
        files in prop::collection::btree_map(
            "[a-c]{1,2}(/[a-c]{1,2}x){0,2}f",
            prop::collection::vec("[abA ]{0,6}", 0..8),
            1..12,
        ),
        needle in "[abA]{1,2}",
        insensitive in any::<bool>(),
        offset in 0_u64..6,
        limit in 1_u64..6,
    ) {
        let tree = Tree::new(&[]);
        let mut expected = Vec::new();
        let mut sorted: Vec<_> = files.iter().collect();
        sorted.sort_by_key(|(name, _)| name.split('/').map(str::to_owned).collect::<Vec<_>>());
        for (name, text) in sorted {
            tree.write(name, text.join("\n"));
            for (at, line) in text.iter().enumerate() {
                let hit = if insensitive {
                    line.to_lowercase().contains(&needle.to_lowercase())
                } else {
                    line.contains(&needle)
                };
                if hit {
                    expected.push(format!("{name}:{}:{line}", at + 1));
                }
            }
        }
        let case = if insensitive { CaseMode::Insensitive } else { CaseMode::Sensitive };
        let pattern = SearchPattern { case, ..SearchPattern::regex(needle).as_literal() };
        let searched = tree.search(&of(pattern, LINES), PageRange { offset, limit });
        let page: Vec<String> =
            expected.iter().skip(offset as usize).take(limit as usize).cloned().collect();
        prop_assert_eq!(lines(&searched), page);
        let total = expected.len() as u64;
        prop_assert!(searched.page.total <= total);
        prop_assert_eq!(searched.page.has_more, total > offset + limit);
        if searched.page.is_exact {
            prop_assert_eq!(searched.page.total, total);
        }
    }
}

/// Files of one text in which each line ends in its own way.
fn endings(text: &str) -> Tree {
    let tree = Tree::new(&[]);
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let old = text.replace('\n', "\r");
    tree.write("cr", &old);
    tree.write("lf", text);
    tree.write("marked", [&b"\xEF\xBB\xBF"[..], old.as_bytes()].concat());
    tree.write("wide", [&b"\xFF\xFE"[..], &wide(&old)].concat());
    tree
}

#[test]
fn carriage_returns_end_lines_where_there_is_no_line_feed() {
    let tree = endings("x1\nneedle \ny3\n\nneedle\n");
    for (pattern, expected) in [
        ("needle", vec![(2, "needle "), (5, "needle")]),
        ("^needle$", vec![(5, "needle")]),
        ("e\\s", vec![(2, "needle ")]),
        ("^$", vec![(4, "")]),
        ("y3.*", vec![(3, "y3")]),
        ("^x1", vec![(1, "x1")]),
    ] {
        let found = tree.lines(pattern);
        for file in ["cr", "lf", "wide"] {
            let expected: Vec<String> =
                expected.iter().map(|(line, text)| format!("{file}:{line}:{text}")).collect();
            let found: Vec<&String> =
                found.iter().filter(|line| line.starts_with(&format!("{file}:"))).collect();
            assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{pattern}");
        }
    }
    let counts = tree.search(&of(SearchPattern::regex("needle"), MatchOutput::Counts), ALL);
    assert!(counts.page.items.iter().all(|hits| hits.count == 2), "{counts:?}");
    let around = MatchOutput::Lines { before: 1, after: 1 };
    let searched = tree.search(&of(SearchPattern::regex("y3"), around), ALL);
    assert_eq!(searched.page.total, 4);
    for hits in &searched.page.items {
        let shown = |lines: &[hermes_search::FileLine]| {
            lines.iter().map(|l| (l.number, l.text.clone())).collect::<Vec<_>>()
        };
        assert_eq!(shown(&hits.matches[0].before), [(2, "needle ".to_owned())]);
        assert_eq!(shown(&hits.matches[0].after), [(4, String::new())]);
    }
    // Over several lines, and where carriage returns are what is looked for.
    assert_eq!(tree.lines("y3\\n\\nneedle").len(), 3 * 4);
    let one = tree.lines("1\\rneedle");
    let lines: Vec<&str> = one.iter().map(|line| line.split_once(':').unwrap().1).collect();
    assert_eq!(lines, ["1:x1\rneedle \ry3\r\rneedle"; 3]);
}

#[test]
fn a_late_line_feed_makes_carriage_returns_characters_again() {
    let tree = Tree::new(&[]);
    let old = "filler\r".repeat(120_000) + "needle\rend";
    tree.write("old", &old);
    tree.write("late", old.clone() + "\n");
    tree.write("small", "a\rneedle\n");
    tree.write("long", "x".repeat(700_000) + "\rneedle");
    let searched = tree.search(&of(SearchPattern::regex("needle"), LINES), ALL);
    let numbers: Vec<_> = searched
        .page
        .items
        .iter()
        .map(|hits| (hits.path.to_str().unwrap(), hits.matches[0].line_number()))
        .collect();
    assert_eq!(numbers, [("late", 1), ("long", 2), ("old", 120_001), ("small", 1)]);
    let one = tree.search_in(
        "old",
        &FileSelection::default(),
        &of(SearchPattern::regex("^needle"), LINES),
        ALL,
    );
    assert_eq!(one.unwrap().page.items[0].matches[0].line_number(), 120_001);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is found in a text is found in the same text with other ends.
    #[test]
    fn the_ends_of_lines_do_not_matter(text in "[ab \n]{1,40}",
        pattern in prop::sample::select(vec!["a", "^", "$", "a.b", "b\\s", "^a", "b$", "(?s)a.*b", "a\\nb", "^$"])) {
        let tree = endings(&text);
        let found = tree.lines(pattern);
        let of = |file: &str| -> Vec<String> {
            found.iter().filter_map(|line| Some(line.strip_prefix(file)?.to_owned())).collect()
        };
        prop_assert_eq!(of("cr:"), of("lf:"));
        prop_assert_eq!(of("wide:"), of("lf:"));
    }
}
