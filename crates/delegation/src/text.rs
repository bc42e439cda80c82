//! Long text made short.

/// The beginning of a text, on one line.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most {
            line.truncate(line.floor_char_boundary(most));
            line.push('…');
            break;
        }
    }
    line
}

/// The beginning and the end of a text that is too long, and whether it was.
pub(crate) fn shorten(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    let head = text.floor_char_boundary(most / 4 * 3);
    let tail = text.ceil_char_boundary(text.len() - most / 4);
    let left_out = tail - head;
    let short = format!("{}\n[… {left_out} bytes left out …]\n{}", &text[..head], &text[tail..]);
    (short, true)
}

/// Seconds with two digits.
pub(crate) fn rounded_seconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
