//! Parsing and formatting of times for people.

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Timestamp, Zoned};

/// Returns the current time; the last one that can be written if the clock is
/// beyond the year 9999.
pub(crate) fn now() -> Timestamp {
    Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::MAX)
}

/// The same in the local time zone.
pub(crate) fn local_now() -> Zoned {
    now().to_zoned(jiff::tz::TimeZone::system())
}

/// Parses a time: an age (`90s`, `10m`, `2h`, `3d`, `1w`), a date, or a date
/// and time, in the local time zone unless one is given. None if it is neither.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let now = local_now();
    if let Some(ago) = parse_ago(text) {
        return now.timestamp().checked_sub(ago).ok();
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let local = match text.parse::<DateTime>() {
        Ok(local) => local,
        Err(_) => text.parse::<Date>().ok()?.at(0, 0, 0, 0),
    };
    Some(local.to_zoned(now.time_zone().clone()).ok()?.timestamp())
}

fn parse_ago(text: &str) -> Option<SignedDuration> {
    let (number, unit) = text.split_at_checked(text.find(|c: char| !c.is_ascii_digit())?)?;
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    Some(SignedDuration::from_secs(number.parse::<i64>().ok()?.checked_mul(seconds)?))
}

/// Formats a time in the local time zone, to the minute.
pub fn format_local(at: Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
#[path = "time_text_tests.rs"]
mod tests;
