//! Python: its words, brackets, blocks and statements. What any version since
//! 3.6 takes is never told as a fault; what is read as valid may still be none,
//! such as a `return` outside of a function. Whatever leaves a doubt is no fault,
//! and is not called checked either.

use self::token::{PythonToken, TokenKind};

mod blocks;
mod expression;
mod grammar;
mod token;

/// Strings within strings that are read. A text of nothing else would take all
/// of the stack.
const MAX_FIELD_DEPTH: usize = 32;

/// What is wrong, and at which byte.
pub(super) type PythonError = (usize, String);

/// The first fault of a text; why, if it cannot be told.
pub(super) fn first_error(text: &str) -> Result<Option<PythonError>, String> {
    let mut reader =
        PythonScanner { source: text, text: text.as_bytes(), ..PythonScanner::default() };
    match reader.run() {
        Ok(()) => Ok(None),
        Err(Some(fault)) => Ok(Some(reader.earliest_error(fault))),
        Err(None) => {
            let before = reader.text.get(..reader.at).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            Err(format!("It was checked only up to line {line}, which is beyond this check."))
        }
    }
}

/// None of an error says that nothing can be told of the rest.
type TokenizeResult = Result<(), Option<PythonError>>;

#[derive(Default)]
struct PythonScanner<'t> {
    source: &'t str,
    text: &'t [u8],
    at: usize,
    /// Brackets that are open, and where.
    open: Vec<(u8, usize)>,
    /// The words of the line so far.
    tokens: Vec<PythonToken<'t>>,
    blocks: blocks::BlockStack,
    /// Expressions in strings that are open.
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

    /// The backslash of a line that goes on.
    fn continue_line(&mut self) -> TokenizeResult {
        self.at += 1;
        match self.peek(0) {
            Some(b'\r') if self.peek(1) == Some(b'\n') => self.at += 2,
            Some(b'\r' | b'\n') => self.at += 1,
            None => {}
            Some(_) => {
                let what = "unexpected character after the backslash that continues a line";
                return Err(Some((self.at, what.to_owned())));
            }
        }
        Ok(())
    }

    /// A fault in the line before this one in it, if there is one: a line that
    /// breaks off may have gone wrong at its beginning.
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

    /// A string whose quote is next; its prefix begins at `start`.
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
                // The brace behind a backslash begins a field all the same, but
                // for that of a character's name.
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

    /// What stands in braces in a string: an expression, and how it is shown.
    /// Quotes in it may be those of the string.
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

    /// How a field is shown, which is text, and the brace behind it.
    fn scan_format_spec(&mut self, quote: u8) -> TokenizeResult {
        loop {
            match self.peek(0) {
                Some(b'}') => break,
                // It may end the string.
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

    /// Goes to the first byte of a line that counts, and judges where it is.
    fn begin_line(&mut self) -> TokenizeResult {
        let start = self.at;
        while matches!(self.peek(0), Some(b' ' | b'\t' | b'\x0C')) {
            self.at += 1;
        }
        match self.peek(0) {
            // Lines without a word, and the last one.
            None | Some(b'\n' | b'\r' | b'#') => Ok(()),
            // Where its first word would be is hard to tell.
            Some(b'\\') => Err(None),
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

/// Letters of every script count.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
