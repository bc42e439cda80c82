//! Detects ES module syntax in a script, ignoring comments, strings and regular
//! expressions.

/// Whether Node treats a script as an ES module: it imports, exports, or awaits
/// outside of functions.
pub(crate) fn is_module(code: &str) -> bool {
    ModuleScanner {
        code,
        at: 0,
        previous: PrevToken::Start,
        brackets: Vec::new(),
        arrow_bodies: Vec::new(),
        is_new_line: false,
        closed_control_head: false,
    }
    .run()
}

/// The previous token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrevToken<'a> {
    Start,
    Word(&'a str),
    /// A string or a regular expression.
    Literal,
    Punctuation(u8),
    Arrow,
}

/// An open bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenBracket {
    /// `(`; whether it belongs to `if`, `for` and the like.
    Paren(bool),
    /// `{` of a function body.
    Function,
    /// `${` in a template literal.
    TemplateExpr,
    /// Any other bracket.
    Other,
}

/// Words that an operand follows.
const KEYWORDS_BEFORE_OPERAND: &[&str] = &[
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

/// A scanner over the bytes of a script, as all relevant characters are ASCII.
struct ModuleScanner<'a> {
    code: &'a str,
    at: usize,
    previous: PrevToken<'a>,
    brackets: Vec<OpenBracket>,
    /// Arrow functions whose body is an expression, each as the number of
    /// brackets around it.
    arrow_bodies: Vec<usize>,
    /// Whether a line ended after the previous token.
    is_new_line: bool,
    /// Whether the last `)` belonged to `if`, `for` and the like.
    closed_control_head: bool,
}

impl<'a> ModuleScanner<'a> {
    fn run(mut self) -> bool {
        if self.code.starts_with("#!") {
            self.skip_line();
        }
        while let Some(byte) = self.byte(0) {
            match (byte, self.byte(1)) {
                (b'/', Some(b'/')) => self.skip_line(),
                (b'/', Some(b'*')) => self.skip_comment(),
                _ if byte.is_ascii_whitespace() => {
                    self.is_new_line |= byte == b'\n';
                    self.at += 1;
                }
                _ => {
                    self.track_arrow_body(byte);
                    if self.take_token(byte) {
                        return true;
                    }
                    self.is_new_line = false;
                }
            }
        }
        false
    }

    /// Takes the next token, and returns whether it is module syntax.
    fn take_token(&mut self, byte: u8) -> bool {
        match byte {
            b'\'' | b'"' => self.skip_string(byte),
            b'`' => self.skip_template(),
            b'/' if self.is_regex_start() => self.skip_regex(),
            b'=' if self.byte(1) == Some(b'>') => {
                self.at += 2;
                self.previous = PrevToken::Arrow;
            }
            _ if is_word(byte) => {
                let before = self.previous;
                let word = self.take_word();
                if self.is_module_syntax(word, before) {
                    return true;
                }
                self.previous = PrevToken::Word(word);
            }
            _ => self.take_punctuation(byte),
        }
        false
    }

    /// Begins the expression after an arrow, or ends it at the end of a line.
    fn track_arrow_body(&mut self, byte: u8) {
        if self.previous == PrevToken::Arrow {
            if byte != b'{' {
                self.arrow_bodies.push(self.brackets.len());
            }
        } else if self.is_new_line && is_word(byte) && self.has_operand() {
            let word = self.peek_word();
            if !matches!(word, "in" | "instanceof") {
                self.end_arrow_bodies();
            }
        }
    }

    /// Ends the expressions after arrows that are inside the same brackets.
    fn end_arrow_bodies(&mut self) {
        while self.arrow_bodies.last().is_some_and(|depth| *depth >= self.brackets.len()) {
            self.arrow_bodies.pop();
        }
    }

    /// Whether the previous token may end an expression.
    fn has_operand(&self) -> bool {
        match self.previous {
            PrevToken::Start | PrevToken::Arrow => false,
            PrevToken::Word(word) => !KEYWORDS_BEFORE_OPERAND.contains(&word),
            PrevToken::Literal => true,
            PrevToken::Punctuation(byte) => matches!(byte, b')' | b']' | b'}'),
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.code.as_bytes().get(self.at + ahead).copied()
    }

    /// Whether a word is only valid in a module at this position.
    fn is_module_syntax(&self, word: &str, before: PrevToken<'_>) -> bool {
        let next = self.peek_code();
        // A property name.
        if before == PrevToken::Punctuation(b'.') || next == Some(b':') {
            return false;
        }
        match word {
            // `import(` is allowed in any script.
            "import" => next != Some(b'('),
            "export" => next.is_some_and(|next| is_word(next) || matches!(next, b'{' | b'*')),
            "await" => {
                let is_name =
                    matches!(before, PrevToken::Word("const" | "let" | "var" | "function"));
                let is_inner =
                    !self.arrow_bodies.is_empty() || self.brackets.contains(&OpenBracket::Function);
                !is_name && !is_inner
            }
            _ => false,
        }
    }

    /// Returns the next byte that is not whitespace.
    fn peek_code(&self) -> Option<u8> {
        let rest = self.code.as_bytes().get(self.at..).unwrap_or_default();
        rest.iter().copied().find(|byte| !byte.is_ascii_whitespace())
    }

    fn peek_word(&self) -> &'a str {
        let rest = self.code.get(self.at..).unwrap_or_default();
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        rest.get(..length).unwrap_or_default()
    }

    fn take_word(&mut self) -> &'a str {
        let word = self.peek_word();
        self.at += word.len();
        word
    }

    fn take_punctuation(&mut self, byte: u8) {
        self.at += 1;
        match byte {
            b'(' => {
                let heads = ["if", "for", "while", "switch", "with", "catch", "await"];
                let is_head =
                    matches!(self.previous, PrevToken::Word(word) if heads.contains(&word));
                self.brackets.push(OpenBracket::Paren(is_head));
            }
            b'{' => {
                let is_body = match self.previous {
                    PrevToken::Arrow => true,
                    PrevToken::Punctuation(b')') => !self.closed_control_head,
                    _ => false,
                };
                self.brackets.push(if is_body {
                    OpenBracket::Function
                } else {
                    OpenBracket::Other
                });
            }
            b'[' => self.brackets.push(OpenBracket::Other),
            b')' | b'}' | b']' => {
                self.end_arrow_bodies();
                match self.brackets.pop() {
                    Some(OpenBracket::TemplateExpr) => {
                        self.skip_template_rest();
                        return;
                    }
                    Some(OpenBracket::Paren(is_head)) => self.closed_control_head = is_head,
                    _ => {}
                }
            }
            b',' | b';' => self.end_arrow_bodies(),
            _ => {}
        }
        self.previous = PrevToken::Punctuation(byte);
    }

    /// Whether a slash starts a regular expression instead of a division.
    fn is_regex_start(&self) -> bool {
        match self.previous {
            PrevToken::Start | PrevToken::Arrow => true,
            PrevToken::Word(word) => KEYWORDS_BEFORE_OPERAND.contains(&word),
            PrevToken::Literal | PrevToken::Punctuation(b']' | b'}') => false,
            PrevToken::Punctuation(b')') => self.closed_control_head,
            PrevToken::Punctuation(_) => true,
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

    fn skip_string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == quote || byte == b'\n' {
                break;
            }
        }
        self.previous = PrevToken::Literal;
    }

    fn skip_template(&mut self) {
        self.at += 1;
        self.skip_template_rest();
    }

    fn skip_template_rest(&mut self) {
        while let Some(byte) = self.byte(0) {
            if byte == b'$' && self.byte(1) == Some(b'{') {
                self.at += 2;
                self.brackets.push(OpenBracket::TemplateExpr);
                self.previous = PrevToken::Start;
                return;
            }
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'`' {
                break;
            }
        }
        self.previous = PrevToken::Literal;
    }

    /// Skips a regular expression such as `/[/']+/g`. Without a closing slash
    /// on the same line, it is a division.
    fn skip_regex(&mut self) {
        let begin = self.at;
        let mut is_class = false;
        self.at += 1;
        while let Some(byte) = self.byte(0) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            match byte {
                b'[' => is_class = true,
                b']' => is_class = false,
                b'/' if !is_class => {
                    self.previous = PrevToken::Literal;
                    // Skip the flags.
                    self.take_word();
                    return;
                }
                b'\n' => break,
                _ => {}
            }
        }
        self.at = begin + 1;
        self.previous = PrevToken::Punctuation(b'/');
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii()
}

#[cfg(test)]
#[path = "js_syntax_tests.rs"]
mod tests;
