//! A point in time, as a caller writes it.

use std::env;

use hermes_core::ToolError;
use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

const TIME_FORMAT_HINT: &str =
    "Write an RFC 3339 time such as 2030-01-31T07:30:00Z, or HH:MM in local time.";

/// Reads RFC 3339, a date and time without an offset (local), or a time of
/// day (local; the next one to come).
pub(crate) fn parse(text: &str) -> Result<Timestamp, ToolError> {
    let text = text.trim();
    if let Ok(exact) = text.parse::<Timestamp>() {
        return Ok(exact);
    }
    parse_local(text, &Timestamp::now().to_zoned(local_zone()?))
}

/// [`parse`] for times that need to know where, and when, the caller is.
fn parse_local(text: &str, now: &Zoned) -> Result<Timestamp, ToolError> {
    let wrong = |why: jiff::Error| {
        ToolError::invalid(format!("'until' cannot be read as a time: {why}"))
            .with_hint(TIME_FORMAT_HINT)
    };
    let zone = now.time_zone();
    // A date is tried first: a time of day would be read out of it.
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
        // A machine that names no zone is on UTC; one that names a zone which
        // cannot be found must not be taken for one.
        if env::var_os("TZ").is_none_or(|zone| zone.is_empty()) {
            return Ok(TimeZone::UTC);
        }
        Err(ToolError::unavailable(format!("The local time zone is not known: {why}"))
            .with_hint("Give the time with an offset, such as 2030-01-31T07:30:00+02:00."))
    })
}

#[cfg(test)]
#[path = "wall_time_tests.rs"]
mod tests;
