use super::*;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Expected values computed with `difflib.SequenceMatcher(None, a, b).ratio()`.
#[test]
fn agrees_with_difflib() {
    let table = [
        ("", "", 1.0),
        ("a", "", 0.0),
        ("abcd", "bcde", 0.75),
        ("web_search", "web_serch", 0.947_368_421_052_631_5),
        ("read_file", "raed_file", 0.888_888_888_888_888_8),
        ("tide", "diet", 0.25),
        ("diet", "tide", 0.5),
        (
            "private Thread currentThread;",
            "private volatile Thread currentThread;",
            0.865_671_641_791_044_8,
        ),
    ];
    for (a, b, expected) in table {
        assert!(close(ratio(a, b), expected), "{a} / {b}: {}", ratio(a, b));
    }
}

#[test]
fn nearest_respects_the_cutoff_and_breaks_ties_by_name() {
    let tools = ["write_file", "read_file", "web_search", "search_files"];
    assert_eq!(nearest("web_serch", tools.into_iter(), 0.7), Some("web_search"));
    assert_eq!(nearest("ReadFile", tools.into_iter(), 0.7), Some("read_file"));
    assert_eq!(nearest("zzz", tools.into_iter(), 0.7), None);
    assert_eq!(nearest("ab", ["abx", "abc"].into_iter(), 0.5), Some("abc"));
    assert_eq!(nearest("x", std::iter::empty(), 0.0), None);
}

#[test]
fn ranking_is_by_score_then_name() {
    let names = ["file", "fild", "profile", "zoo"];
    let found: Vec<&str> =
        ranked("file", names.into_iter(), 0.6, 3).into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, ["file", "fild", "profile"]);
    assert_eq!(ranked("file", names.into_iter(), 0.6, 1).len(), 1);
}

#[test]
fn endless_names_cost_a_bounded_comparison() {
    let long = "ab".repeat(500_000);
    assert!(ratio(&long, &long) > 0.99);
}
