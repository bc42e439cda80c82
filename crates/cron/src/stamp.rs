//! Timestamps as stored: ISO 8601 with whole seconds and an offset.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Deserializer, Serializer, de};

/// Truncates to whole seconds.
pub(crate) fn truncate_to_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// Adds seconds, saturating at the maximum timestamp.
pub(crate) fn add_seconds(at: Timestamp, seconds: u64) -> Timestamp {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let sum = at.as_second().saturating_add(seconds);
    Timestamp::from_second(sum).unwrap_or(Timestamp::MAX)
}

/// Returns the seconds from `from` to `to`; 0 if `to` is not later.
pub(crate) fn seconds_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_second().saturating_sub(from.as_second())).unwrap_or_default()
}

/// Parses a time. Without an offset it is local to `zone`.
pub(crate) fn parse_time(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(truncate_to_second(at));
    }
    if let Ok(zoned) = text.parse::<Zoned>() {
        return Some(truncate_to_second(zoned.timestamp()));
    }
    let local = text.parse::<DateTime>().ok()?;
    let found = zone.to_ambiguous_zoned(local);
    let leaps = matches!(found.offset(), AmbiguousOffset::Gap { .. });
    let at = found.compatible().ok()?.timestamp();
    // A time that the clock skips becomes the end of the gap.
    let leap = zone.preceding(add_seconds(at, 1)).next().filter(|_| leaps);
    Some(truncate_to_second(leap.map_or(at, |leap| leap.timestamp())))
}

/// Formats a timestamp for storage.
pub(crate) fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&format_time(*at))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    parse_time(&text, &TimeZone::system())
        .ok_or_else(|| de::Error::custom(format!("'{text}' is not a valid time")))
}

/// The same for optional timestamps.
pub(crate) mod maybe {
    use super::{
        Deserialize, Deserializer, Serializer, TimeZone, Timestamp, de, format_time, parse_time,
    };

    pub(crate) fn serialize<S: Serializer>(
        at: &Option<Timestamp>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => to.serialize_some(&format_time(*at)),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Timestamp>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        let at = parse_time(&text, &TimeZone::system());
        at.map(Some).ok_or_else(|| de::Error::custom(format!("'{text}' is not a valid time")))
    }
}
