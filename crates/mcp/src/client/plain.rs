//! Text of strangers without what a reader does not see: control characters,
//! zero-width characters, marks that turn the direction around.

/// Whether a character leaves no mark, or changes how others are read.
fn is_hidden(c: char) -> bool {
    matches!(
        u32::from(c),
        0xad | 0x34f
            | 0x61c
            | 0x115f
            | 0x1160
            | 0x17b4
            | 0x17b5
            | 0x180b..=0x180f
            | 0x200b..=0x200f
            | 0x202a..=0x202e
            | 0x2060..=0x206f
            | 0x3164
            | 0xfe00..=0xfe0f
            | 0xfeff
            | 0xffa0
            | 0xfff9..=0xfffb
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff
    )
}

fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Without control characters, but for line ends and tabs, and without what
/// follows an escape.
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

/// Without anything that a reader would not see, at most so many characters.
pub(crate) fn strip_hidden(text: &str, longest: usize) -> String {
    let mut shown = text.chars().filter(|c| !is_control(*c) && !is_hidden(*c));
    let mut plain: String = shown.clone().take(longest).collect();
    if shown.nth(longest).is_some() {
        plain.push('…');
    }
    plain
}

/// The beginning of a text, for a message.
pub(crate) fn excerpt(text: &str, longest: usize) -> String {
    strip_hidden(text.trim(), longest)
}
