#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn dates_times_and_so_long_ago() {
    let now = Timestamp::now().as_second();
    for (text, seconds) in
        [("90s", 90), ("10m", 600), ("2h", 7_200), ("3d", 259_200), ("1w", 604_800)]
    {
        let ago = now - parse_time(text).unwrap().as_second();
        assert!((seconds - 5..=seconds + 60).contains(&ago), "{text}: {ago}");
    }
    assert_eq!(parse_time("2026-01-31T12:00:00Z").unwrap().to_string(), "2026-01-31T12:00:00Z");
    assert!(parse_time("2026-01-31").is_some() && parse_time(" 2026-01-31 12:00 ").is_some());
    for text in ["", "soon", "5", "5y", "2026-13-01", "99999999999999999999d"] {
        assert_eq!(parse_time(text), None, "{text}");
    }
}

#[test]
fn people_see_their_own_clock() {
    let at = parse_time("2026-01-31 12:34").unwrap();
    assert_eq!(format_local(at), "2026-01-31 12:34");
}
