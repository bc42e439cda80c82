//! Points in time as they are written: whole seconds with an offset, which
//! every reader of ISO 8601 understands.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Deserializer, Serializer, de};

/// Without the part of a second.
pub(crate) fn truncate_to_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// So many seconds later; the last point in time if there is none so late.
pub(crate) fn add_seconds(at: Timestamp, seconds: u64) -> Timestamp {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let sum = at.as_second().saturating_add(seconds);
    Timestamp::from_second(sum).unwrap_or(Timestamp::MAX)
}

/// Seconds from one point to a later one; 0 if it is not later.
pub(crate) fn seconds_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_second().saturating_sub(from.as_second())).unwrap_or_default()
}

/// A point in time as people write it. Without an offset it is meant in `zone`.
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
    // What the clock leaps over is right after the leap.
    let leap = zone.preceding(add_seconds(at, 1)).next().filter(|_| leaps);
    Some(truncate_to_second(leap.map_or(at, |leap| leap.timestamp())))
}

/// A point in time as files hold it.
pub(crate) fn format_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

pub(crate) fn serialize<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&format_time(*at))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
    let text = String::deserialize(from)?;
    parse_time(&text, &TimeZone::system())
        .ok_or_else(|| de::Error::custom(format!("'{text}' is not a point in time")))
}

/// The same for what need not be there.
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
        at.map(Some).ok_or_else(|| de::Error::custom(format!("'{text}' is not a point in time")))
    }
}
