//! The encodings in which a value can appear: plain, escaped, percent-encoded,
//! character by character, hex, and base64 at any offset.

use std::collections::BTreeSet;
use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// An encoded form to search for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EncodedNeedle {
    /// The text.
    pub(crate) text: String,
    /// Whether the character before it may hold bits of the value.
    pub(crate) before: bool,
    /// Whether the character after it may hold bits of the value.
    pub(crate) after: bool,
}

impl EncodedNeedle {
    fn plain(text: String) -> Self {
        Self { text, before: false, after: false }
    }

    /// Returns the range in `text`, if the whole needle is at `start`.
    pub(crate) fn range_at(&self, text: &str, start: usize) -> Option<(usize, usize)> {
        let bytes = text.as_bytes();
        if !bytes.get(start..)?.starts_with(self.text.as_bytes()) {
            return None;
        }
        let is_letter = |at: usize| {
            bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+/-_".contains(b))
        };
        let mut from = start;
        if self.before && start > 0 && is_letter(start - 1) {
            from = start - 1;
        }
        let mut to = start + self.text.len();
        if self.after && is_letter(to) {
            to += 1;
            // Padding occurs only after a partial group.
            to += bytes.iter().skip(to).take(2).take_while(|byte| **byte == b'=').count();
        }
        Some((from, to))
    }
}

/// Returns every form of a value.
pub(crate) fn all_forms(value: &str) -> BTreeSet<EncodedNeedle> {
    let mut forms = written_forms(value);
    forms.extend(spelled_forms(value).into_iter().map(EncodedNeedle::plain));
    encode(value.as_bytes(), |needle| {
        forms.insert(needle);
    });
    forms
}

/// Returns the value with each character escaped, as in JSON, URLs, programming
/// languages and HTML. HTML encoders escape only some characters.
fn spelled_forms(value: &str) -> BTreeSet<String> {
    let bytes = |form: &dyn Fn(u8) -> String| value.bytes().map(form).collect::<String>();
    let signs = |form: &dyn Fn(char) -> String| value.chars().map(form).collect::<String>();
    let mut forms = BTreeSet::from([
        bytes(&|byte| format!("%{byte:02x}")),
        bytes(&|byte| format!("%{byte:02X}")),
        bytes(&|byte| format!("\\x{byte:02x}")),
        bytes(&|byte| format!("\\x{byte:02X}")),
        bytes(&|byte| format!("\\{byte:03o}")),
        bytes(&|byte| format!("\\0{byte:03o}")),
        signs(&|sign| format!("&#{};", u32::from(sign))),
        signs(&|sign| format!("&#x{:x};", u32::from(sign))),
        signs(&|sign| format!("&#x{:X};", u32::from(sign))),
        signs(&|sign| format!("\\u{{{:x}}}", u32::from(sign))),
        signs(&|sign| format!("\\U{:08x}", u32::from(sign))),
        signs(&shell_quoted),
        value.replace('\'', "'\\''"),
    ]);
    for before in [" 0x", ",0x", ", 0x"] {
        for digits in [
            bytes(&|byte| format!("{before}{byte:02x}")),
            bytes(&|byte| format!("{before}{byte:02X}")),
        ] {
            forms.insert(digits.trim_start_matches([' ', ',']).to_owned());
        }
    }
    // .NET and PHP escape HTML characters and more.
    for upper in [false, true] {
        let mut text = String::with_capacity(value.len() + 8);
        for sign in value.chars() {
            match sign {
                '"' | '&' | '\'' | '+' | '<' | '>' | '`' => {
                    push_utf16_escapes(&mut text, sign, upper)
                }
                '\\' => text.push_str("\\\\"),
                _ if sign.is_ascii() => text.push(sign),
                _ => push_utf16_escapes(&mut text, sign, upper),
            }
        }
        forms.insert(text);
    }
    for upper in [false, true] {
        let mut units = String::with_capacity(value.len() * 6);
        value.chars().for_each(|sign| push_utf16_escapes(&mut units, sign, upper));
        forms.insert(units);
    }
    // In a JSON string, a backslash is doubled.
    let doubled: Vec<_> =
        forms.iter().filter(|form| form.contains('\\')).map(|form| escape(form, 0)).collect();
    forms.extend(doubled);
    for apostrophe in ["&#39;", "&#x27;", "&apos;"] {
        for slash in ["/", "&#x2F;", "&#47;"] {
            forms.insert(signs(&|sign| match sign {
                '&' => "&amp;".to_owned(),
                '<' => "&lt;".to_owned(),
                '>' => "&gt;".to_owned(),
                '"' => "&quot;".to_owned(),
                '\'' => apostrophe.to_owned(),
                '/' => slash.to_owned(),
                other => other.to_string(),
            }));
        }
    }
    forms
}

/// Escapes a character as the shell's `printf %q` does.
fn shell_quoted(sign: char) -> String {
    let is_plain = sign.is_alphanumeric() || "_@%+=:,./-".contains(sign);
    if is_plain { sign.to_string() } else { format!("\\{sign}") }
}

/// Reports the hex forms, and base64 at each of the three offsets.
fn encode(bytes: &[u8], mut report: impl FnMut(EncodedNeedle)) {
    report(EncodedNeedle::plain(hex(bytes, false)));
    report(EncodedNeedle::plain(hex(bytes, true)));
    for offset in 0..3 {
        let mut shifted = vec![0; offset];
        shifted.extend_from_slice(bytes);
        for encoded in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            if let Some(needle) = inner_part(&encoded, offset, bytes.len()) {
                report(needle);
            }
        }
    }
}

/// Returns the forms in which the characters of a value stay readable.
pub(crate) fn written_forms(value: &str) -> BTreeSet<EncodedNeedle> {
    let mut forms = BTreeSet::from([EncodedNeedle::plain(value.to_owned())]);
    for style in 0..16_u8 {
        let escaped = escape(value, style);
        // Nested JSON documents are escaped twice, and a third time when
        // logged.
        let twice = escape(&escaped, 0);
        forms.insert(EncodedNeedle::plain(escape(&twice, 0)));
        forms.insert(EncodedNeedle::plain(twice));
        forms.insert(EncodedNeedle::plain(escaped));
    }
    for kept in UNRESERVED_SETS {
        for plus in [false, true] {
            for upper in [false, true] {
                forms.insert(EncodedNeedle::plain(percent_encode(value, kept, plus, upper)));
            }
        }
    }
    forms
}

/// Returns the value plain and escaped as in JSON strings, up to three levels.
pub(crate) fn escaped_forms(value: &str) -> BTreeSet<String> {
    let once = escape(value, 0);
    let twice = escape(&once, 0);
    BTreeSet::from([value.to_owned(), escape(&twice, 0), twice, once])
}

/// Returns the value in hex and base64, without characters at the ends that
/// also encode neighboring bytes.
pub(crate) fn encoded_forms(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    encode(value.as_bytes(), |needle| {
        forms.insert(needle.text);
    });
    forms
}

/// Returns the characters of `encoded` that depend only on the value, without
/// those that share bits with neighboring bytes.
fn inner_part(encoded: &str, offset: usize, length: usize) -> Option<EncodedNeedle> {
    let (from, to) = (offset * 8, (offset + length) * 8);
    let text = encoded.get(from.div_ceil(6)..to / 6)?.to_owned();
    Some(EncodedNeedle { text, before: from % 6 != 0, after: to % 6 != 0 })
}

fn hex(bytes: &[u8], upper: bool) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = if upper { write!(text, "{byte:02X}") } else { write!(text, "{byte:02x}") };
    }
    text
}

/// Escapes as in a JSON string. The bits of `style` select what encoders also
/// escape: non-ASCII, slashes, HTML characters; the last one selects upper-case
/// digits.
fn escape(value: &str, style: u8) -> String {
    let [ascii, slash, html, upper] = [1, 2, 4, 8].map(|bit| style & bit != 0);
    let mut text = String::with_capacity(value.len() + 8);
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '/' if slash => text.push_str("\\/"),
            '<' | '>' | '&' if html => push_utf16_escapes(&mut text, c, upper),
            _ if c < ' ' || (ascii && !c.is_ascii()) => push_utf16_escapes(&mut text, c, upper),
            _ => text.push(c),
        }
    }
    text
}

fn push_utf16_escapes(text: &mut String, c: char, upper: bool) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = if upper { write!(text, "\\u{unit:04X}") } else { write!(text, "\\u{unit:04x}") };
    }
}

/// The characters that various encoders leave unescaped.
const UNRESERVED_SETS: &[&str] = &["-_.~", "-_.~/", "-_.~!*'()", "*-._", "-_.~!*'();/?:@&=+$,#"];

fn percent_encode(value: &str, kept: &str, plus: bool, upper: bool) -> String {
    let mut text = String::with_capacity(value.len() + 8);
    for byte in value.bytes() {
        let sign = char::from(byte);
        if byte.is_ascii_alphanumeric() || (byte.is_ascii() && kept.contains(sign)) {
            text.push(sign);
        } else if byte == b' ' && plus {
            text.push('+');
        } else if upper {
            let _ = write!(text, "%{byte:02X}");
        } else {
            let _ = write!(text, "%{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
#[path = "encodings_tests.rs"]
mod tests;
