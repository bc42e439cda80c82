//! Text helpers: globs, escapes, invisible characters.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::leaf::CommandFinding;

/// Whether a glob (`*`, `?`, `[…]`) matches all of `text`.
pub(crate) fn glob_match(glob: &str, text: &str) -> bool {
    // Fast paths: most patterns are not globs, and most texts differ at the
    // start or end.
    if !glob.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'[')) {
        return glob == text;
    }
    let start = glob.split(['*', '?', '[']).next().unwrap_or(glob);
    let end = glob.rsplit(['*', '?', ']']).next().unwrap_or(glob);
    if !(text.starts_with(start) && text.ends_with(end)) {
        return false;
    }
    let glob: Vec<char> = glob.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut g, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match glob.get(g) {
            Some('*') => {
                retry = Some((g + 1, t));
                g += 1;
                continue;
            }
            None if t == text.len() => return true,
            None => None,
            Some(_) => text.get(t).and_then(|c| match_one(&glob, g, *c)),
        };
        match (step, retry) {
            (Some(next), _) => {
                g = next;
                t += 1;
            }
            (None, Some((back, from))) if from < text.len() => {
                retry = Some((back, from + 1));
                g = back;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

/// Returns where the glob continues if its next element matches `c`.
fn match_one(glob: &[char], at: usize, c: char) -> Option<usize> {
    match glob.get(at)? {
        '?' => Some(at + 1),
        '[' => {
            let Some(len) = glob.iter().skip(at + 2).position(|c| *c == ']') else {
                return (c == '[').then_some(at + 1);
            };
            let end = at + 2 + len;
            let mut set = glob.get(at + 1..end).unwrap_or(&[]);
            let negated = matches!(set.first(), Some('!' | '^'));
            if negated {
                set = set.get(1..).unwrap_or(&[]);
            }
            (is_in_set(set, c) != negated).then_some(end + 1)
        }
        literal => (*literal == c).then_some(at + 1),
    }
}

fn is_in_set(set: &[char], c: char) -> bool {
    let mut at = 0;
    while let Some(low) = set.get(at) {
        match (set.get(at + 1), set.get(at + 2)) {
            (Some('-'), Some(high)) => {
                if (*low..=*high).contains(&c) {
                    return true;
                }
                at += 3;
            }
            _ => {
                if *low == c {
                    return true;
                }
                at += 1;
            }
        }
    }
    false
}

/// Whether the text has characters that a shell would expand as a glob.
pub(crate) fn has_glob(text: &str) -> bool {
    let bytes = text.as_bytes();
    let set = |at: usize| bytes.get(at + 2..).is_some_and(|rest| rest.contains(&b']'));
    // Few words have one of these.
    bytes.iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
        && (bytes.iter().any(|byte| matches!(byte, b'*' | b'?'))
            || bytes.iter().position(|byte| *byte == b'[').is_some_and(set))
}

/// Returns the part after the last slash.
pub(crate) fn base_name(path: &str) -> &str {
    let start = path.bytes().rposition(|byte| byte == b'/').map_or(0, |slash| slash + 1);
    path.get(start..).unwrap_or(path)
}

/// Returns the program that a path or name refers to: its base name, with
/// full-width and similar letters normalized.
pub(crate) fn program_name(word: &str) -> Cow<'_, str> {
    let name = base_name(word);
    if name.is_ascii() { name.into() } else { name.nfkc().collect() }
}

/// Whether a name contains lookalikes of plain letters.
pub(crate) fn has_lookalike_letters(name: &str) -> bool {
    if name.is_ascii() {
        return false;
    }
    let latin = name.chars().any(|c| c.is_ascii_alphabetic());
    let other = name.chars().any(
        |c| matches!(c, '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{13a0}'..='\u{13ff}'),
    );
    let folded: String = name.nfkc().collect();
    folded != name || (latin && other) || (other && name.chars().count() <= 12)
}

/// Returns a finding if the source has characters that are invisible or reorder
/// the visible text.
pub(crate) fn hidden_characters(source: &str) -> Option<CommandFinding> {
    // Without an early exit the loop vectorizes.
    let is_shown = |b: u8| matches!(b, b' '..=b'~') | (b == b'\n') | (b == b'\t');
    if source.bytes().fold(true, |shown, b| shown & is_shown(b)) {
        return None;
    }
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    let hidden = |c: char| {
        matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{ad}' | '\u{180e}' | '\u{115f}' | '\u{1160}' | '\u{3164}'
            | '\u{e0000}'..='\u{e007f}' | '\u{2028}' | '\u{2029}')
    };
    let mut previous = ' ';
    for c in source.chars() {
        // Emoji sequences contain this joiner.
        let joins = c == '\u{200d}' && !previous.is_ascii();
        if control(c) || (hidden(c) && !joins) {
            let code = u32::from(c);
            let reason = format!("The command contains an invisible character (U+{code:04X})");
            return Some(CommandFinding::ask("obfuscation", reason));
        }
        if c == '\r' && previous != '\r' {
            previous = c;
            continue;
        }
        // A lone carriage return overwrites the text before it.
        if previous == '\r' && c != '\n' {
            let reason = "The command contains a carriage return that hides part of it";
            return Some(CommandFinding::ask("obfuscation", reason));
        }
        previous = c;
    }
    None
}

/// Expands the escapes of `echo -e` and `printf`.
pub(crate) fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let Some(next) = bytes.get(at) else {
            out.push(b'\\');
            break;
        };
        at += 1;
        let (radix, most, skip) = match next {
            b'n' => (0, 0, b'\n'),
            b't' => (0, 0, b'\t'),
            b'r' => (0, 0, b'\r'),
            b'e' => (0, 0, 27),
            b'\\' => (0, 0, b'\\'),
            b'"' => (0, 0, b'"'),
            b'\'' => (0, 0, b'\''),
            b'x' => (16, 2, 0),
            b'0' => (8, 3, 0),
            b'1'..=b'7' => {
                at -= 1;
                (8, 3, 0)
            }
            other => {
                out.extend_from_slice(&[b'\\', *other]);
                continue;
            }
        };
        if radix == 0 {
            out.push(skip);
            continue;
        }
        let digits: String = bytes
            .iter()
            .skip(at)
            .take(most)
            .map(|b| char::from(*b))
            .take_while(|c| c.is_digit(radix))
            .collect();
        at += digits.len();
        out.push((u32::from_str_radix(&digits, radix).unwrap_or(0) & 0xff) as u8);
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
