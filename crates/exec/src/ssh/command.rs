//! The command line that a login shell there gets to see.

/// The line that runs `sh -c SCRIPT` in whatever shell the user has there.
///
/// Shells agree on little: `fish` has escapes within quotes, `csh` has events
/// and knows no quoted line ends. So the script travels as one quoted word
/// without quotes, backslashes before anything but digits, and line ends.
pub(super) fn line(script: &str) -> String {
    format!("sh -c 'eval \"$(printf \"{}\")\"'", spelled(script))
}

/// The text as `printf` reads it between double quotes.
fn spelled(script: &str) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(script.len() * 2);
    for byte in script.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => text.push(char::from(byte)),
            b' ' | b'_' | b'-' | b'.' | b',' | b'/' | b':' | b';' | b'=' | b'+' | b'@' | b'|'
            | b'&' | b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' => {
                text.push(char::from(byte));
            }
            other => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\{other:03o}");
            }
        }
    }
    text
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
