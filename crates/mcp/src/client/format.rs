//! Validates strings against the `format` of a form field.

/// Returns what a string of this format must be, if it is not. Unknown formats
/// accept everything.
pub(crate) fn format_violation(format: &str, text: &str) -> Option<&'static str> {
    let (fits, wanted) = match format {
        "email" => (is_email(text), "an email address"),
        "uri" => (reqwest::Url::parse(text).is_ok(), "a URL with a scheme"),
        "date" => (is_date(text), "a date, as 2026-01-31"),
        "date-time" => (is_date_time(text), "a date and time, such as 2026-01-31T12:00:00Z"),
        _ => return None,
    };
    (!fits).then_some(wanted)
}

fn is_email(text: &str) -> bool {
    let parts = text.rsplit_once('@');
    parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

/// Whether a text is a number of exactly `digits` digits within bounds.
fn is_number_in(text: &str, digits: usize, bounds: std::ops::RangeInclusive<u32>) -> bool {
    text.len() == digits
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse().is_ok_and(|number| bounds.contains(&number))
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let (Ok(y), Ok(m)) = (year.parse::<u32>(), month.parse::<u32>()) else { return false };
    let is_leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let longest = match m {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    is_number_in(year, 4, 0..=9999)
        && is_number_in(month, 2, 1..=12)
        && is_number_in(day, 2, 1..=longest)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't']) else { return false };
    let (time, is_zone) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, true),
        None => match time.rsplit_once(['+', '-']) {
            Some((time, zone)) => (time, is_time(zone, 2)),
            None => (time, false),
        },
    };
    let (time, is_part) = match time.split_once('.') {
        Some((time, part)) => {
            (time, !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
        }
        None => (time, true),
    };
    is_date(date) && is_time(time, 3) && is_zone && is_part
}

/// Whether a text is hours, minutes and, with three parts, seconds up to a leap
/// second.
fn is_time(text: &str, parts: usize) -> bool {
    let bounds = [23, 59, 60];
    let mut fields = text.split(':').zip(bounds);
    text.split(':').count() == parts && fields.all(|(field, most)| is_number_in(field, 2, 0..=most))
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
