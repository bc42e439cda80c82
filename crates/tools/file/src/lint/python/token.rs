//! Python tokens.

/// A token and its byte offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct PythonToken<'t> {
    pub(super) kind: TokenKind,
    pub(super) text: &'t str,
    pub(super) at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name or a keyword.
    Word,
    Number,
    /// A string with its prefix and quotes.
    Text,
    Operator,
}

/// Reserved words. `async` and `await` are excluded, as old versions allow them
/// as names.
const PYTHON_KEYWORDS: [&str; 33] = [
    "False", "None", "True", "and", "as", "assert", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Operators, longest first.
const PYTHON_OPERATORS: [&str; 47] = [
    "**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "==", "<=", ">=", "+=", "-=", "*=", "/=",
    "%=", "&=", "|=", "^=", "@=", "**", "//", "<<", ">>", "+", "-", "*", "/", "%", "@", "&", "|",
    "^", "~", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=",
];

/// Quotes, dashes and spaces that word processors substitute. They are invalid
/// in names.
const TYPOGRAPHIC_CHARS: [char; 12] = [
    '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2013}', '\u{2014}', '\u{2026}', '\u{A0}',
    '\u{3000}', '\u{200B}', '\u{D7}', '\u{2212}',
];

impl PythonToken<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != TokenKind::Text && self.text == text
    }

    pub(super) fn is_keyword(&self) -> bool {
        self.kind == TokenKind::Word && PYTHON_KEYWORDS.contains(&self.text)
    }

    pub(super) fn is_name(&self) -> bool {
        self.kind == TokenKind::Word && !self.is_keyword()
    }
}

/// Returns the operator at the start of a text.
pub(super) fn match_operator(rest: &str) -> Option<&'static str> {
    PYTHON_OPERATORS.into_iter().find(|operator| rest.starts_with(operator))
}

/// Returns the first typographic character of a word.
pub(super) fn find_typographic(word: &str) -> Option<(usize, char)> {
    word.char_indices().find(|(_, c)| TYPOGRAPHIC_CHARS.contains(c))
}

/// Returns the length of the number at the start of a text. What follows it
/// directly is a separate token: `1if x else 2`.
pub(super) fn number_len(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let run = |from: usize, is_digit: fn(&u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| is_digit(byte) || **byte == b'_').count()
    };
    let is_based = bytes.first() == Some(&b'0');
    match bytes.get(1).map(u8::to_ascii_lowercase) {
        Some(b'x') if is_based => return run(2, u8::is_ascii_hexdigit),
        Some(b'o' | b'b') if is_based => return run(2, u8::is_ascii_digit),
        _ => {}
    }
    let mut end = run(0, u8::is_ascii_digit);
    if bytes.get(end) == Some(&b'.') {
        end = run(end + 1, u8::is_ascii_digit);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = run(end + 1 + sign, u8::is_ascii_digit);
        }
    }
    end + usize::from(matches!(bytes.get(end), Some(b'j' | b'J')))
}

/// Whether letters directly before a quote are a string prefix.
pub(super) fn is_string_prefix(word: &str) -> bool {
    let prefixes = ["r", "u", "b", "br", "rb", "f", "fr", "rf", "t", "tr", "rt"];
    prefixes.iter().any(|prefix| word.eq_ignore_ascii_case(prefix))
}
