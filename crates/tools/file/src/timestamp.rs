//! Timestamp formatting.

use std::time::SystemTime;

use jiff::Timestamp;

/// Formats a time as RFC 3339, to the second.
pub(crate) fn to_rfc3339(time: SystemTime) -> Option<String> {
    let seconds = Timestamp::try_from(time).ok()?.as_second();
    Some(Timestamp::from_second(seconds).ok()?.to_string())
}
