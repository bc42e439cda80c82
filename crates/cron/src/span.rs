//! Time spans such as `30m`, `2 hours` and `1h30m`.

/// Maximum length of a span: ten years.
const MAX_SPAN_SECONDS: u64 = 10 * 366 * 86_400;

/// Parses a span to seconds; none if the text is not a span.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut sum: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?.trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        sum = sum.checked_add(number.checked_mul(unit_seconds(rest.get(..letters)?)?)?)?;
        rest = rest.get(letters..)?.trim_start_matches([' ', ',']);
    }
    (sum <= MAX_SPAN_SECONDS).then_some(sum)
}

/// Returns the seconds of a unit.
pub(crate) fn unit_seconds(name: &str) -> Option<u64> {
    Some(match name.to_ascii_lowercase().as_str() {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
        "d" | "day" | "days" => 86_400,
        "w" | "week" | "weeks" => 7 * 86_400,
        _ => return None,
    })
}

/// Formats a span in the largest units that fit.
pub(crate) fn format(mut seconds: u64) -> String {
    let mut text = String::new();
    for (size, name) in [(86_400, 'd'), (3_600, 'h'), (60, 'm'), (1, 's')] {
        if seconds >= size {
            text.push_str(&format!("{}{name}", seconds / size));
            seconds %= size;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}
