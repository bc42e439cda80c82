#![allow(clippy::unwrap_used)]

use hermes_core::ErrorKind;
use jiff::tz;
use proptest::prelude::*;

use super::*;

fn noon() -> Zoned {
    let two_hours_east = TimeZone::fixed(tz::offset(2));
    "2030-05-31T10:00:00Z".parse::<Timestamp>().unwrap().to_zoned(two_hours_east)
}

fn local(text: &str) -> String {
    parse_local(text, &noon()).unwrap().to_string()
}

#[test]
fn an_exact_time_needs_no_place() {
    assert_eq!(parse(" 2030-01-31T07:30:00+02:00 ").unwrap().to_string(), "2030-01-31T05:30:00Z");
    assert_eq!(parse("2030-01-31T07:30:00.5Z").unwrap().to_string(), "2030-01-31T07:30:00.5Z");
}

#[test]
fn a_time_of_day_is_the_next_one() {
    assert_eq!(local("12:00"), "2030-05-31T10:00:00Z");
    assert_eq!(local("12:30"), "2030-05-31T10:30:00Z");
    assert_eq!(local("12:00:01"), "2030-05-31T10:00:01Z");
    assert_eq!(local("11:59"), "2030-06-01T09:59:00Z");
}

#[test]
fn a_date_without_an_offset_is_local() {
    assert_eq!(local("2030-06-02T00:15"), "2030-06-01T22:15:00Z");
}

#[test]
fn what_is_no_time_is_refused_with_the_forms() {
    for text in ["", "soon", "25:00", "2030-13-01T00:00:00", "12:61", "in 5 minutes"] {
        let error = parse_local(text, &noon()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{text}");
        assert!(error.hint().contains("HH:MM"));
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = parse_local(&text, &noon());
    }

    #[test]
    fn a_time_of_day_is_within_a_day(hour in 0..24u8, minute in 0..60u8) {
        let at = parse_local(&format!("{hour:02}:{minute:02}"), &noon()).unwrap();
        let ahead = at.duration_since(noon().timestamp()).as_secs();
        prop_assert!((0..86_400).contains(&ahead));
    }
}
