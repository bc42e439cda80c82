use super::*;

#[test]
fn texts_are_held_to_their_format() {
    for (format, good, bad) in [
        ("email", &["a@b", "a.b+c@x.org"][..], &["notmail", "@x", "a@", "a b@x"][..]),
        ("uri", &["https://x.org/a?b", "mailto:a@b"], &["x.org", "/a", ""]),
        ("date", &["2024-02-29", "1999-12-31"], &["2023-02-29", "2024-13-01", "24-1-1", "today"]),
        (
            "date-time",
            &["2026-01-31T12:00:00Z", "2026-01-31t12:00:00.25+02:00"],
            &["2026-01-31", "2026-01-31T12:00:00", "2026-01-31T25:00:00Z", "2026-01-31T12:00:00.Z"],
        ),
    ] {
        good.iter().for_each(|text| assert_eq!(format_violation(format, text), None, "{text}"));
        bad.iter().for_each(|text| assert!(format_violation(format, text).is_some(), "{text}"));
    }
    assert_eq!(format_violation("hue", "blue"), None);
}
