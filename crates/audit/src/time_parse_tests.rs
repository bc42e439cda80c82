#![allow(clippy::unwrap_used)]

use super::*;

fn at(text: &str) -> Result<String, TimeParseError> {
    let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
    let now = "2026-03-10T12:00:00Z".parse::<Timestamp>().unwrap().to_zoned(zone);
    parse_time_at(text, &now).map(|moment| moment.to_string())
}

#[test]
fn so_long_ago() {
    assert_eq!(at("90s").unwrap(), "2026-03-10T11:58:30Z");
    assert_eq!(at("10m").unwrap(), "2026-03-10T11:50:00Z");
    assert_eq!(at("2h").unwrap(), "2026-03-10T10:00:00Z");
    assert_eq!(at("3d").unwrap(), "2026-03-07T12:00:00Z");
}

#[test]
fn dates_and_times_are_of_here_unless_they_say_otherwise() {
    assert_eq!(at("2026-03-01").unwrap(), "2026-02-28T22:00:00Z");
    assert_eq!(at("2026-03-01T08:30").unwrap(), "2026-03-01T06:30:00Z");
    assert_eq!(at(" 2026-03-01 08:30:15 ").unwrap(), "2026-03-01T06:30:15Z");
    assert_eq!(at("2026-03-01T08:30:00Z").unwrap(), "2026-03-01T08:30:00Z");
    assert_eq!(at("2026-03-01T08:30:00+05:30").unwrap(), "2026-03-01T03:00:00Z");
}

#[test]
fn what_names_no_point_in_time_is_refused() {
    for text in [
        "",
        "m",
        "10",
        "10y",
        "-5m",
        "soon",
        "99999999999999999999d",
        "9999999999999w",
        "2026-13-01",
    ] {
        assert!(at(text).is_err(), "{text}");
    }
}
