//! Distinguishes secrets from placeholders.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Words used as passwords in documents.
const PLACEHOLDER_WORDS: &[&str] = &[
    "changeme",
    "pass",
    "passwd",
    "password",
    "pw",
    "pwd",
    "secret",
    "token",
    "your-password",
    "your_password",
    "yourpassword",
];

/// Whether a text is neither filler nor made of words of at most `longest_word`
/// letters: `YOUR_API_KEY`, `process.env.KEY`, `apiKey2`.
pub(super) fn is_random(text: &str, longest_word: usize) -> bool {
    !is_filler(text)
        && !text.split(|c: char| !c.is_ascii_alphanumeric()).all(|word| {
            let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
            let digits = word.len() - letters.len();
            let length = if digits == 0 { longest_word } else { longest_word.min(14) };
            letters.chars().all(|c| c.is_ascii_alphabetic()) && digits <= 2 && word.len() <= length
        })
}

/// Matches `xxxxxxxx`, `****`, `0000`, `abc...`.
pub(super) fn is_filler(text: &str) -> bool {
    if ["xxxx", "XXXX", "****", "..."].iter().any(|filler| text.contains(filler)) {
        return true;
    }
    let mut seen: Vec<u8> = Vec::with_capacity(4);
    for byte in text.bytes() {
        if !seen.contains(&byte) {
            seen.push(byte);
        }
        if seen.len() > 3 {
            return false;
        }
    }
    // A run of one letter may be a test token; a run of `x` never is a token.
    text.len() < 8
        || seen.len() > 1
        || matches!(seen.first(), Some(b'x' | b'X' | b'0' | b'_' | b'-'))
}

/// Whether a key is one of a vendor's documents: `AKIAIOSFODNN7EXAMPLE`.
pub(super) fn is_documented(key: &str) -> bool {
    key.ends_with("EXAMPLE") || key.ends_with("EXAMPLEKEY")
}

/// Whether a host, perhaps with a port, is this machine or an example.
pub(super) fn is_sample_host(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _port)| name);
    let name = name.trim_matches(['[', ']']);
    matches!(name, "localhost" | "::1" | "0.0.0.0" | "host.docker.internal")
        || name.starts_with("127.")
        || name.split('.').any(|label| matches!(label, "example" | "localhost"))
}

/// Whether this is a placeholder for a password: a variable, a template, a
/// known word, or a redaction label.
pub(crate) fn is_placeholder(password: &str) -> bool {
    password.is_empty()
        || password.starts_with(['$', '{', '<', '[', '*', '('])
        || password.contains("...")
        || password.contains("${")
        || is_format_string(password)
        || password.bytes().all(|b| matches!(b, b'x' | b'X'))
        || PLACEHOLDER_WORDS.iter().any(|word| word.eq_ignore_ascii_case(password))
}

/// `%s`.
fn is_format_string(text: &str) -> bool {
    matches!(text.as_bytes(), [b'%', letter] if letter.is_ascii_alphabetic())
}

/// Whether a text decodes to `user:password`.
pub(super) fn is_basic_credential(text: &str) -> bool {
    if text.len() < 8 {
        return false;
    }
    let bare = text.trim_end_matches('=');
    let padded = format!("{bare}{}", "=".repeat((4 - bare.len() % 4) % 4));
    STANDARD
        .decode(padded)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .is_some_and(|pair| pair.contains(':') && !pair.contains(char::is_control))
}

/// Whether there is a run of at least `least` base64 characters.
pub(super) fn has_run(text: &str, least: usize) -> bool {
    let in_run = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    text.split(|c: char| !in_run(c)).any(|run| run.len() >= least)
}

/// Whether a text changes between letters, digits and cases as random text does
/// and names do not.
pub(super) fn is_opaque(text: &str) -> bool {
    let bytes = text.as_bytes();
    let class = |byte: u8| match byte {
        b'0'..=b'9' => Some(0),
        b'a'..=b'z' => Some(1),
        b'A'..=b'Z' => Some(2),
        _ => None,
    };
    let changes = bytes.windows(2).filter(|pair| {
        let [one, two] = pair else { return false };
        // A capital letter begins a word.
        matches!((class(*one), class(*two)), (Some(one), Some(two)) if one != two && (one, two) != (2, 1))
    });
    let changes = changes.count();
    bytes.iter().any(u8::is_ascii_digit) && changes >= 3.max(text.len() / 8)
}

/// Whether a text reads like a variable, a property or a type in a program:
/// `input2`, `user.password`, `Base64String`.
pub(super) fn is_code_name(text: &str) -> bool {
    const CODE_WORDS: &[&str] = &[
        "arg", "auth", "base", "byte", "conf", "cred", "data", "default", "env", "field", "form",
        "get", "hash", "input", "int", "key", "new", "old", "param", "pass", "pw", "read", "row",
        "secret", "self", "set", "str", "test", "text", "this", "token", "type", "uint", "user",
        "utf", "val", "var", "word",
    ];
    let is_name = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
        && !text.starts_with(|c: char| c.is_ascii_digit());
    let lower = text.to_ascii_lowercase();
    is_name && (text.contains('.') || CODE_WORDS.iter().any(|word| lower.contains(word)))
}
