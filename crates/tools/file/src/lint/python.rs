//! Python as far as it is told without a grammar, and told rightly: brackets,
//! quotes and indentation. Whatever leaves a doubt is no problem.

/// Strings within strings that are read. A text of nothing else would take all
/// of the stack.
const DEEPEST: usize = 32;

/// What is wrong, and at which byte.
pub(super) type Fault = (usize, String);

/// The first fault of a text.
pub(super) fn fault(text: &str) -> Option<Fault> {
    let mut reader = Reader { text: text.as_bytes(), ..Reader::default() };
    reader.run().err().flatten()
}

/// None of an error says that nothing can be told of the rest.
type Read = Result<(), Option<Fault>>;

#[derive(Default)]
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    /// Brackets that are open, and where.
    open: Vec<(u8, usize)>,
    /// Columns of the blocks that are open, but for the outermost.
    blocks: Vec<usize>,
    /// The last byte of the line that counts; none if it has none yet.
    last: Option<u8>,
    /// The line before opens a block.
    opens: bool,
    /// Expressions in strings that are open.
    depth: usize,
    /// What blocks are indented with; more than one kind is not judged.
    has_tabs: bool,
    has_spaces: bool,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn run(&mut self) -> Read {
        self.begin_line()?;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' | b'\r' => {
                    self.at += 1;
                    if byte == b'\r' && self.peek(0) == Some(b'\n') {
                        self.at += 1;
                    }
                    if self.open.is_empty() {
                        self.end_line();
                        self.begin_line()?;
                    }
                }
                b'#' => self.skip_comment(),
                // A line that goes on.
                b'\\' => self.at += if self.peek(1) == Some(b'\r') { 3 } else { 2 },
                b' ' | b'\t' | b'\x0C' => self.at += 1,
                _ => self.token(byte)?,
            }
        }
        if let Some((bracket, at)) = self.open.first() {
            return Err(Some((*at, format!("'{}' was never closed", char::from(*bracket)))));
        }
        self.end_line();
        self.expect_block(self.text.len(), 0)
    }

    fn token(&mut self, byte: u8) -> Read {
        self.last = Some(byte);
        match byte {
            b'(' | b'[' | b'{' => {
                self.open.push((byte, self.at));
                self.at += 1;
            }
            b')' | b']' | b'}' => {
                self.close(byte)?;
                self.at += 1;
            }
            b'"' | b'\'' => self.string(self.at)?,
            _ if is_word(byte) => {
                let start = self.at;
                while self.peek(0).is_some_and(is_word) {
                    self.at += 1;
                }
                // A word right before a quote is a prefix.
                if matches!(self.peek(0), Some(b'"' | b'\'')) {
                    self.string(start)?;
                }
            }
            _ => self.at += 1,
        }
        Ok(())
    }

    fn close(&mut self, byte: u8) -> Read {
        let wanted = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        let closing = char::from(byte);
        match self.open.pop() {
            Some((open, _)) if open == wanted => Ok(()),
            Some((open, at)) => {
                let line = memchr::memchr_iter(b'\n', self.text.get(..at).unwrap_or_default());
                let (open, line) = (char::from(open), line.count() + 1);
                let what = format!("closing '{closing}' does not match '{open}' on line {line}");
                Err(Some((self.at, what)))
            }
            None => Err(Some((self.at, format!("unmatched '{closing}'")))),
        }
    }

    /// A string whose quote is next; its prefix begins at `start`.
    fn string(&mut self, start: usize) -> Read {
        let prefix = self.text.get(start..self.at).unwrap_or_default().to_ascii_lowercase();
        if !prefix.iter().all(|byte| b"rbuft".contains(byte)) {
            return Err(None);
        }
        let has_fields = prefix.contains(&b'f') || prefix.contains(&b't');
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
                    self.last = Some(quote);
                    return Ok(());
                }
                None | Some(b'\n' | b'\r') if !is_long || self.peek(0).is_none() => {
                    let what = if is_long { "unterminated triple-quoted" } else { "unterminated" };
                    return Err(Some((begin, format!("{what} string"))));
                }
                Some(b'\\') => self.at += if self.peek(1) == Some(b'\r') { 3 } else { 2 },
                Some(b'{') if has_fields && self.peek(1) == Some(b'{') => self.at += 2,
                Some(b'{') if has_fields => self.field(quote)?,
                _ => self.at += 1,
            }
        }
    }

    /// What stands in braces in a string: an expression, and how it is shown.
    /// Quotes in it may be those of the string.
    fn field(&mut self, quote: u8) -> Read {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(None);
        }
        let outside = std::mem::take(&mut self.open);
        self.at += 1;
        let mut is_shown = false;
        loop {
            match self.peek(0) {
                Some(b'}') if self.open.is_empty() => break,
                // How it is shown is text; a quote in it may end the string.
                Some(byte) if is_shown && byte == quote => return Err(None),
                Some(b'{') if is_shown => self.field(quote)?,
                Some(b':') if self.open.is_empty() => {
                    is_shown = true;
                    self.at += 1;
                }
                Some(b'#' | b'\\') if !is_shown => return Err(None),
                Some(b'\n' | b'\r') => self.at += 1,
                Some(byte) if !is_shown => self.token(byte).map_err(|_| None)?,
                Some(_) => self.at += 1,
                None => return Err(None),
            }
        }
        self.at += 1;
        self.depth -= 1;
        self.open = outside;
        Ok(())
    }

    fn skip_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn end_line(&mut self) {
        if let Some(last) = self.last.take() {
            self.opens = last == b':';
        }
    }

    /// Goes to the first byte of a line that counts, and judges where it is.
    fn begin_line(&mut self) -> Read {
        let mut column = 0;
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' => column += 1,
                b'\t' => column = column / 8 * 8 + 8,
                b'\x0C' => column = 0,
                _ => break,
            }
            self.at += 1;
        }
        // Lines without a word, and the last one.
        if matches!(self.peek(0), None | Some(b'\n' | b'\r' | b'#' | b'\\')) {
            return Ok(());
        }
        let line = self.text.get(..self.at).unwrap_or_default();
        let blank = line.iter().rev().take_while(|byte| matches!(**byte, b' ' | b'\t'));
        blank.for_each(|byte| match byte {
            b'\t' => self.has_tabs = true,
            _ => self.has_spaces = true,
        });
        if self.has_tabs && self.has_spaces {
            return Err(None);
        }
        self.expect_block(self.at, column)
    }

    fn expect_block(&mut self, at: usize, column: usize) -> Read {
        let outer = self.blocks.last().copied().unwrap_or(0);
        let fault = |what: &str| Err(Some((at, what.to_owned())));
        if std::mem::take(&mut self.opens) {
            if column <= outer {
                return fault("expected an indented block after the line that ends with ':'");
            }
            self.blocks.push(column);
        } else if column > outer {
            return fault("unexpected indent");
        } else {
            self.blocks.retain(|block| *block <= column);
            if self.blocks.last().copied().unwrap_or(0) != column {
                return fault("unindent does not match any outer level");
            }
        }
        Ok(())
    }
}

/// Letters of every script count.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
#[path = "python_tests.rs"]
mod tests;
