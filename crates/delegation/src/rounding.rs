//! Formatting of numbers in reports.

/// Seconds rounded to two decimals.
pub(crate) fn rounded_seconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
