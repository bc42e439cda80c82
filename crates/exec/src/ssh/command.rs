//! The command line for the remote login shell.

/// Returns the line that runs `sh -c SCRIPT` in any login shell.
///
/// Shells agree on little: `fish` has escapes within quotes, `csh` has history
/// expansion and no quoted line breaks. So the script is sent as one quoted
/// word without quotes and line breaks, and with backslashes only before
/// digits.
///
/// A remote shell waits for it, since ssh does not report which signal ended a
/// program. The shell survives signals from the terminal, and runs `last` at
/// the end.
pub(super) fn remote_command_line(script: &str, last: &str) -> String {
    let script = printf_escape(&format!("exec 2>&3 3>&-; {script}"));
    // Some shells report killed programs, which is not program output.
    format!(
        "sh -c 'trap : INT QUIT; exec 3>&2 2>/dev/null; \
         sh -c \"$(printf \"{script}\")\"; c=$?; exec 2>&3; {last}exit $c'"
    )
}

/// Escapes the text for `printf` within double quotes.
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
