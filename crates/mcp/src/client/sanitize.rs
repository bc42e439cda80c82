//! Strips invisible characters from untrusted text: control characters,
//! zero-width characters, direction overrides.

/// Whether a character is invisible, or changes how others are displayed.
fn is_hidden(c: char) -> bool {
    hermes_threats::is_hidden(c) || matches!(c, '\u{2065}' | '\u{fff9}'..='\u{fffb}')
}

fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Strips control characters, except line feeds and tabs, and escape sequences.
pub(crate) fn strip_controls(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if chars.next_if_eq(&'[').is_some() {
                while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
        } else if !is_control(c) {
            plain.push(c);
        }
    }
    plain
}

/// Strips invisible characters and truncates to `longest` characters.
pub(crate) fn strip_hidden(text: &str, longest: usize) -> String {
    let mut shown = text.chars().filter(|c| !is_control(*c) && !is_hidden(*c));
    let mut plain: String = shown.clone().take(longest).collect();
    if shown.nth(longest).is_some() {
        plain.push('…');
    }
    plain
}

/// Returns the start of a text, sanitized for a message.
pub(crate) fn excerpt(text: &str, longest: usize) -> String {
    strip_hidden(&strip_controls(text.trim()), longest)
}
