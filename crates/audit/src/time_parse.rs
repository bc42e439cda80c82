//! Parses times as users write them.

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, Timestamp, Zoned};

/// Returns the current time; the last one that can be written if the clock is
/// beyond the year 9999.
pub(crate) fn now() -> Timestamp {
    Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::MAX)
}

/// A text that is not a valid time such as `10m`, `2026-01-31` or
/// `2026-01-31T12:00:00Z`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a valid time; use for example `10m`, `2026-01-31` or `2026-01-31T12:00:00Z`")]
pub struct TimeParseError(String);

/// Parses a time: an age (`90s`, `10m`, `2h`, `3d`, `1w`), a date, or a date
/// and time, local unless a zone is given.
pub fn parse_time(text: &str) -> Result<Timestamp, TimeParseError> {
    parse_time_at(text, &now().to_zoned(jiff::tz::TimeZone::system()))
}

fn parse_time_at(text: &str, now: &Zoned) -> Result<Timestamp, TimeParseError> {
    let text = text.trim();
    let wrong = || TimeParseError(text.to_owned());
    if let Some(ago) = parse_duration(text) {
        return now.timestamp().checked_sub(ago).map_err(|_| wrong());
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    let local = match text.parse::<DateTime>() {
        Ok(local) => local,
        Err(_) => text.parse::<Date>().map_err(|_| wrong())?.at(0, 0, 0, 0),
    };
    let zoned = local.to_zoned(now.time_zone().clone()).map_err(|_| wrong())?;
    Ok(zoned.timestamp())
}

fn parse_duration(text: &str) -> Option<SignedDuration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let seconds = match unit {
        "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    Some(SignedDuration::from_secs(number.parse::<i64>().ok()?.checked_mul(seconds)?))
}

#[cfg(test)]
#[path = "time_parse_tests.rs"]
mod tests;
