//! What Node takes a script for: the words that only a module may say, found
//! where they are code and not in a comment, a text or an expression for texts.

/// Whether a script is a module to Node: it imports, exports, or awaits outside
/// of its functions.
pub(crate) fn is_module(code: &str) -> bool {
    Reading { code, at: 0, last: Last::Nothing, open: Vec::new(), was_head: false }.run()
}

/// What was read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last<'a> {
    Nothing,
    Word(&'a str),
    /// A text, or an expression for texts.
    Text,
    Mark(u8),
    Arrow,
}

/// What has begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// `(`; whether it is that of `if`, `for` and the like.
    Round(bool),
    /// `{` of a function.
    Function,
    /// `${` in a text.
    Inset,
    /// Another one.
    Other,
}

/// A script that is being read. Bytes are enough: all that matters is ASCII.
struct Reading<'a> {
    code: &'a str,
    at: usize,
    last: Last<'a>,
    open: Vec<Open>,
    /// Whether the last `)` was that of `if`, `for` and the like.
    was_head: bool,
}

impl<'a> Reading<'a> {
    fn run(mut self) -> bool {
        if self.code.starts_with("#!") {
            self.skip_line();
        }
        while let Some(byte) = self.byte(0) {
            match byte {
                b'/' if self.byte(1) == Some(b'/') => self.skip_line(),
                b'/' if self.byte(1) == Some(b'*') => self.skip_comment(),
                b'\'' | b'"' => self.skip_text(byte),
                b'`' => self.skip_template(),
                b'/' if self.is_expression() => self.skip_expression(),
                b'=' if self.byte(1) == Some(b'>') => {
                    self.at += 2;
                    self.last = Last::Arrow;
                }
                _ if is_word(byte) => {
                    let before = self.last;
                    let word = self.word();
                    if self.is_of_a_module(word, before) {
                        return true;
                    }
                    self.last = Last::Word(word);
                }
                _ if byte.is_ascii_whitespace() => self.at += 1,
                _ => self.mark(byte),
            }
        }
        false
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.code.as_bytes().get(self.at + ahead).copied()
    }

    /// Whether a word is one that only a module may say here.
    fn is_of_a_module(&self, word: &str, before: Last<'_>) -> bool {
        let next = self.next();
        // The name of a property.
        if before == Last::Mark(b'.') || next == Some(b':') {
            return false;
        }
        match word {
            // `import(` is for everybody.
            "import" => next != Some(b'('),
            "export" => next.is_some_and(|next| is_word(next) || matches!(next, b'{' | b'*')),
            "await" => {
                let is_name = matches!(before, Last::Word("const" | "let" | "var" | "function"));
                let is_inner = before == Last::Arrow || self.open.contains(&Open::Function);
                !is_name && !is_inner
            }
            _ => false,
        }
    }

    /// The next byte of code that is no blank.
    fn next(&self) -> Option<u8> {
        let rest = self.code.as_bytes().get(self.at..).unwrap_or_default();
        rest.iter().copied().find(|byte| !byte.is_ascii_whitespace())
    }

    fn word(&mut self) -> &'a str {
        let rest = self.code.get(self.at..).unwrap_or_default();
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    fn mark(&mut self, byte: u8) {
        self.at += 1;
        match byte {
            b'(' => {
                let heads = ["if", "for", "while", "switch", "with", "catch", "await"];
                let is_head = matches!(self.last, Last::Word(word) if heads.contains(&word));
                self.open.push(Open::Round(is_head));
            }
            b'{' => {
                let is_body = match self.last {
                    Last::Arrow => true,
                    Last::Mark(b')') => !self.was_head,
                    _ => false,
                };
                self.open.push(if is_body { Open::Function } else { Open::Other });
            }
            b'[' => self.open.push(Open::Other),
            b')' | b'}' | b']' => match self.open.pop() {
                Some(Open::Inset) => {
                    self.skip_template_rest();
                    return;
                }
                Some(Open::Round(is_head)) => self.was_head = is_head,
                _ => {}
            },
            _ => {}
        }
        self.last = Last::Mark(byte);
    }

    /// Whether a slash begins an expression for texts, and does not divide.
    fn is_expression(&self) -> bool {
        const BEFORE: &[&str] = &[
            "return",
            "typeof",
            "case",
            "in",
            "of",
            "delete",
            "void",
            "throw",
            "new",
            "else",
            "do",
            "await",
            "yield",
            "instanceof",
        ];
        match self.last {
            Last::Nothing | Last::Arrow => true,
            Last::Word(word) => BEFORE.contains(&word),
            Last::Text | Last::Mark(b']' | b'}') => false,
            Last::Mark(b')') => self.was_head,
            Last::Mark(_) => true,
        }
    }

    fn skip_line(&mut self) {
        let rest = self.code.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) {
        let rest = self.code.get(self.at + 2..).unwrap_or_default();
        self.at += 2 + rest.find("*/").map_or(rest.len(), |at| at + 2);
    }

    fn skip_text(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == quote || byte == b'\n' {
                break;
            }
        }
        self.last = Last::Text;
    }

    fn skip_template(&mut self) {
        self.at += 1;
        self.skip_template_rest();
    }

    fn skip_template_rest(&mut self) {
        while let Some(byte) = self.byte(0) {
            if byte == b'$' && self.byte(1) == Some(b'{') {
                self.at += 2;
                self.open.push(Open::Inset);
                self.last = Last::Nothing;
                return;
            }
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'`' {
                break;
            }
        }
        self.last = Last::Text;
    }

    /// `/[/']+/g`; one that has no end in its line is none.
    fn skip_expression(&mut self) {
        let begin = self.at;
        let mut is_class = false;
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            match byte {
                b'[' => is_class = true,
                b']' => is_class = false,
                b'/' if !is_class => {
                    self.last = Last::Text;
                    // Its flags are no word.
                    self.word();
                    return;
                }
                b'\n' => break,
                _ => {}
            }
        }
        self.at = begin + 1;
        self.last = Last::Mark(b'/');
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

#[cfg(test)]
#[path = "syntax_tests.rs"]
mod tests;
