//! Python syntax check: tokens, brackets, blocks and statements. It never
//! rejects what any version since 3.6 accepts; it may accept invalid code, such
//! as a `return` outside a function. Undecidable code is neither an error nor
//! reported as checked.

use self::token::{PythonToken, TokenKind};

mod blocks;
mod expression;
mod grammar;
mod token;

/// Maximum nesting of f-string fields; deeper input would overflow the stack.
const MAX_FIELD_DEPTH: usize = 32;

/// Byte offset and message of an error.
pub(super) type PythonError = (usize, String);

/// Returns the first error of a text; `Err` if the text cannot be checked.
pub(super) fn first_error(text: &str) -> Result<Option<PythonError>, String> {
    let mut reader =
        PythonScanner { source: text, text: text.as_bytes(), ..PythonScanner::default() };
    match reader.run() {
        Ok(()) => Ok(None),
        Err(Some(fault)) => Ok(Some(reader.earliest_error(fault))),
        Err(None) => {
            let before = reader.text.get(..reader.at).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(format!(
                "Only the text before line {line} was checked; the rest is beyond this \
                check."
            ))
        }
    }
}

/// `Err(None)` means that the rest cannot be checked.
type TokenizeResult = Result<(), Option<PythonError>>;

#[derive(Default)]
struct PythonScanner<'t> {
    source: &'t str,
    text: &'t [u8],
    at: usize,
    /// Open brackets and their offsets.
    open: Vec<(u8, usize)>,
    /// Tokens of the current line.
    tokens: Vec<PythonToken<'t>>,
    blocks: blocks::BlockStack,
    /// Nesting depth of f-string fields.
    depth: usize,
}

impl<'t> PythonScanner<'t> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn run(&mut self) -> TokenizeResult {
        self.begin_line()?;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' | b'\r' => {
                    let end = self.at;
                    self.at += 1;
                    if byte == b'\r' && self.peek(0) == Some(b'\n') {
                        self.at += 1;
                    }
                    if self.open.is_empty() {
                        self.end_line(end)?;
                        self.begin_line()?;
                    }
                }
                b'#' => self.skip_comment(),
                b'\\' => self.continue_line()?,
                b' ' | b'\t' | b'\x0C' => self.at += 1,
                _ => self.scan_token(byte)?,
            }
        }
        if let Some((bracket, at)) = self.open.first() {
            return Err(Some((*at, format!("'{}' was never closed", char::from(*bracket)))));
        }
        self.end_line(self.text.len())?;
        self.blocks.finish(self.text.len())
    }

    /// Skips a backslash line continuation.
    fn continue_line(&mut self) -> TokenizeResult {
        self.at += 1;
        match self.peek(0) {
            Some(b'\r') if self.peek(1) == Some(b'\n') => self.at += 2,
            Some(b'\r' | b'\n') => self.at += 1,
            None => {}
            Some(_) => {
                let what = "unexpected character after the line continuation backslash";
                return Err(Some((self.at, what.to_owned())));
            }
        }
        Ok(())
    }

    /// Returns an earlier error in the current line if there is one: a line
    /// that breaks off may have gone wrong at its start.
    fn earliest_error(&self, fault: PythonError) -> PythonError {
        match grammar::parse_line(&self.tokens, fault.0) {
            Err(Some(earlier)) if earlier.0 < fault.0 => earlier,
            _ => fault,
        }
    }

    fn push(&mut self, kind: TokenKind, at: usize) {
        let text = self.source.get(at..self.at).unwrap_or_default();
        self.tokens.push(PythonToken { kind, text, at });
    }

    fn scan_token(&mut self, byte: u8) -> TokenizeResult {
        let start = self.at;
        let rest = self.source.get(start..).unwrap_or_default();
        let is_number = byte.is_ascii_digit()
            || byte == b'.' && self.peek(1).is_some_and(|next| next.is_ascii_digit());
        match byte {
            b'"' | b'\'' => self.scan_string(start)?,
            _ if is_number => {
                self.at += token::number_len(rest);
                self.push(TokenKind::Number, start);
            }
            _ if is_word_byte(byte) => {
                while self.peek(0).is_some_and(is_word_byte) {
                    self.at += 1;
                }
                let word = self.source.get(start..self.at).unwrap_or_default();
                if let Some((at, c)) = token::find_typographic(word) {
                    let what = format!("invalid character '{c}' (U+{:04X})", u32::from(c));
                    return Err(Some((start + at, what)));
                }
                if matches!(self.peek(0), Some(b'"' | b'\'')) && token::is_string_prefix(word) {
                    return self.scan_string(start);
                }
                self.push(TokenKind::Word, start);
            }
            _ => {
                let Some(operator) = token::match_operator(rest) else {
                    let what = format!("invalid character '{}'", char::from(byte));
                    return Err(Some((start, what)));
                };
                match byte {
                    b'(' | b'[' | b'{' => self.open.push((byte, start)),
                    b')' | b']' | b'}' => self.close_bracket(byte)?,
                    _ => {}
                }
                self.at += operator.len();
                self.push(TokenKind::Operator, start);
            }
        }
        Ok(())
    }

    fn close_bracket(&mut self, byte: u8) -> TokenizeResult {
        let wanted = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        let closing = char::from(byte);
        match self.open.pop() {
            Some((open, _)) if open == wanted => Ok(()),
            Some((open, at)) => {
                let before = self.text.get(..at).unwrap_or_default();
                let line = before.iter().filter(|byte| **byte == b'\n');
                let (open, line) = (char::from(open), line.count() + 1);
                let what = format!("closing '{closing}' does not match '{open}' on line {line}");
                Err(Some((self.at, what)))
            }
            None => Err(Some((self.at, format!("unmatched '{closing}'")))),
        }
    }

    /// Scans a string whose opening quote is next; its prefix starts at
    /// `start`.
    fn scan_string(&mut self, start: usize) -> TokenizeResult {
        let prefix = self.text.get(start..self.at).unwrap_or_default().to_ascii_lowercase();
        let has_fields = prefix.contains(&b'f') || prefix.contains(&b't');
        let is_raw = prefix.contains(&b'r');
        let quote = self.peek(0).unwrap_or(b'"');
        let is_long = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let begin = self.at;
        self.at += if is_long { 3 } else { 1 };
        loop {
            let ends = self.peek(0) == Some(quote)
                && (!is_long || self.peek(1) == Some(quote) && self.peek(2) == Some(quote));
            match self.peek(0) {
                _ if ends => {
                    self.at += if is_long { 3 } else { 1 };
                    self.push(TokenKind::Text, start);
                    return Ok(());
                }
                None | Some(b'\n' | b'\r') if !is_long || self.peek(0).is_none() => {
                    let what = if is_long { "unterminated triple-quoted" } else { "unterminated" };
                    return Err(Some((begin, format!("{what} string"))));
                }
                // A brace after a backslash still starts a field, except in
                // `\N{…}`.
                Some(b'\\') if has_fields && self.peek(1) == Some(b'{') => self.at += 1,
                Some(b'\\') if has_fields && !is_raw && self.is_next("\\N{") => {
                    while self.peek(0).is_some_and(|byte| byte != b'}' && byte != quote) {
                        self.at += 1;
                    }
                }
                Some(b'\\') => self.at += if self.is_next("\\\r\n") { 3 } else { 2 },
                Some(b'{') if has_fields && self.peek(1) == Some(b'{') => self.at += 2,
                Some(b'{') if has_fields => self.scan_field(quote)?,
                _ => self.at += 1,
            }
        }
    }

    fn is_next(&self, text: &str) -> bool {
        self.text.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    /// Scans a replacement field in braces: an expression and its format spec.
    /// It may contain the quotes of the string.
    fn scan_field(&mut self, quote: u8) -> TokenizeResult {
        self.depth += 1;
        if self.depth > MAX_FIELD_DEPTH {
            return Err(None);
        }
        let outside = (std::mem::take(&mut self.open), std::mem::take(&mut self.tokens));
        self.at += 1;
        loop {
            match self.peek(0) {
                Some(b'}' | b':') if self.open.is_empty() => break,
                Some(b'!') if self.open.is_empty() && self.peek(1) != Some(b'=') => break,
                Some(b'#' | b'\\') | None => return Err(None),
                Some(b'\n' | b'\r' | b' ' | b'\t' | b'\x0C') => self.at += 1,
                Some(byte) => self.scan_token(byte).map_err(|_| None)?,
            }
        }
        grammar::parse_field(&self.tokens, self.at)?;
        self.scan_format_spec(quote)?;
        self.depth -= 1;
        (self.open, self.tokens) = outside;
        Ok(())
    }

    /// Scans the format spec of a field and its closing brace.
    fn scan_format_spec(&mut self, quote: u8) -> TokenizeResult {
        loop {
            match self.peek(0) {
                Some(b'}') => break,
                // The quote may end the string.
                Some(byte) if byte == quote => return Err(None),
                Some(b'{') => self.scan_field(quote)?,
                Some(_) => self.at += 1,
                None => return Err(None),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn skip_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn end_line(&mut self, end: usize) -> TokenizeResult {
        if self.tokens.is_empty() {
            return Ok(());
        }
        grammar::parse_line(&self.tokens, end)?;
        self.blocks.end_line(&self.tokens);
        self.tokens.clear();
        Ok(())
    }

    /// Skips indentation and checks the line's position in its block.
    fn begin_line(&mut self) -> TokenizeResult {
        let start = self.at;
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\x0C')) {
            self.at += 1;
        }
        match self.peek(0) {
            // Blank and comment lines, and the end of the text.
            None | Some(b'\n' | b'\r' | b'#') => Ok(()),
            // After a line continuation, the position of the first token is
            // ambiguous.
            Some(b'\\') => self.continue_line().and(Err(None)),
            Some(_) => {
                let blanks = self.source.get(start..self.at).unwrap_or_default();
                let rest = self.source.get(self.at..).unwrap_or_default();
                let word = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                let word = word
                    .filter(|word| !word.is_empty())
                    .unwrap_or(rest.get(..1).unwrap_or_default());
                self.blocks.begin_line(self.at, blanks, word)
            }
        }
    }
}

/// Whether the byte can be part of a word; includes non-ASCII letters.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
