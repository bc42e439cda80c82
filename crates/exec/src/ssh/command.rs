//! The command line that a login shell there gets to see.

/// The line that runs `sh -c GUARDIAN_SCRIPT` in whatever shell the user has there.
///
/// Shells agree on little: `fish` has escapes within quotes, `csh` has events
/// and knows no quoted line ends. So the script travels as one quoted word
/// without quotes, backslashes before anything but digits, and line ends.
///
/// A shell waits for it there, since of a program that was ended by a signal
/// ssh tells no more than that something went wrong. It lives through what a
/// terminal sends to all, and says `last` at the end.
pub(super) fn remote_command_line(script: &str, last: &str) -> String {
    let script = printf_escape(&format!("exec 2>&3 3>&-; {script}"));
    // Some shells tell of a program that was killed, which is not its output.
    format!(
        "sh -c 'trap : INT QUIT; exec 3>&2 2>/dev/null; \
         sh -c \"$(printf \"{script}\")\"; c=$?; exec 2>&3; {last}exit $c'"
    )
}

/// The text as `printf` reads it between double quotes.
fn printf_escape(script: &str) -> String {
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
