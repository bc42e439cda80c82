//! Parses a point in time.

use std::env;

use hermes_core::ToolError;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

const TIME_FORMAT_HINT: &str =
    "Write an RFC 3339 time such as 2030-01-31T07:30:00Z, or HH:MM in local time.";

/// Returns the current time; the last one that can be written if the clock is
/// beyond the year 9999.
pub(crate) fn now() -> Timestamp {
    Timestamp::try_from(std::time::SystemTime::now()).unwrap_or(Timestamp::MAX)
}

/// Parses RFC 3339, a date and time without an offset (local), or a time of day
/// (local; its next occurrence).
pub(crate) fn parse(text: &str) -> Result<Timestamp, ToolError> {
    let text = text.trim();
    if let Ok(exact) = text.parse::<Timestamp>() {
        return Ok(exact);
    }
    parse_local(text, &now().to_zoned(local_zone()?))
}

/// [`parse`] for times that depend on the time zone and the current time.
fn parse_local(text: &str, now: &Zoned) -> Result<Timestamp, ToolError> {
    let wrong = |why: jiff::Error| {
        ToolError::invalid(format!("'until' is not a valid time: {why}"))
            .with_hint(TIME_FORMAT_HINT)
    };
    let zone = now.time_zone();
    // Dates first: a time of day would also parse from one.
    if let Ok(day_and_time) = text.parse::<DateTime>() {
        return Ok(day_and_time.to_zoned(zone.clone()).map_err(wrong)?.timestamp());
    }
    let time: Time = text.parse().map_err(wrong)?;
    let today = now.date().to_datetime(time).to_zoned(zone.clone()).map_err(wrong)?;
    if today.timestamp() >= now.timestamp() {
        return Ok(today.timestamp());
    }
    let tomorrow = now.date().tomorrow().map_err(wrong)?;
    Ok(tomorrow.to_datetime(time).to_zoned(zone.clone()).map_err(wrong)?.timestamp())
}

fn local_zone() -> Result<TimeZone, ToolError> {
    TimeZone::try_system().or_else(|why| {
        // No configured zone means UTC, but a configured zone that cannot be
        // found does not.
        if env::var_os("TZ").is_none_or(|zone| zone.is_empty()) {
            return Ok(TimeZone::UTC);
        }
        Err(ToolError::unavailable(format!("The local time zone is unknown: {why}"))
            .with_hint("Give the time with an offset, such as 2030-01-31T07:30:00+02:00."))
    })
}

#[cfg(test)]
#[path = "wall_time_tests.rs"]
mod tests;
