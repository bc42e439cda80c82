//! Python statements, one logical line at a time. A logical line continues
//! inside brackets and after a backslash; block structure is checked elsewhere.

use super::PythonError;
use super::expression::ExpressionShape;
use super::token::{PythonToken, TokenKind};

/// `Err(None)` means that the code cannot be checked.
pub(super) type ParseResult<T = ()> = Result<T, Option<PythonError>>;

/// Parser for the tokens of one line.
pub(super) struct LineParser<'t, 'a> {
    tokens: &'a [PythonToken<'t>],
    at: usize,
    /// Byte offset of the end of the line.
    end: usize,
    pub(super) depth: usize,
    /// Whether `:=` is allowed here.
    pub(super) takes_walrus: bool,
    /// Whether `as` is allowed after any part.
    pub(super) takes_alias: bool,
    /// Whether `if` ends the expression.
    pub(super) is_guarded: bool,
}

/// Parses a line of statements that ends at byte `end`.
pub(super) fn parse_line(tokens: &[PythonToken<'_>], end: usize) -> ParseResult {
    let mut parser = LineParser::new(tokens, end);
    let as_keyword = match tokens.first().map(|token| token.text) {
        Some("match") => parser.match_subject(),
        Some("case") => parser.case(),
        Some("type") => parser.type_alias(),
        _ => return parser.statement(),
    };
    // Soft keywords are also names: report the reading that gets further.
    let Err(as_keyword) = as_keyword else { return Ok(()) };
    let Err(as_name) = LineParser::new(tokens, end).statement() else { return Ok(()) };
    Err(as_keyword.zip(as_name).map(|(one, other)| if one.0 > other.0 { one } else { other }))
}

/// Parses the content of an f-string field.
pub(super) fn parse_field(tokens: &[PythonToken<'_>], end: usize) -> ParseResult {
    let mut parser = LineParser::new(tokens, end);
    parser.expressions()?;
    parser.take("=");
    parser.finish()
}

impl<'t, 'a> LineParser<'t, 'a> {
    fn new(tokens: &'a [PythonToken<'t>], end: usize) -> Self {
        let (takes_walrus, takes_alias, is_guarded) = (false, false, false);
        Self { tokens, at: 0, end, depth: 0, takes_walrus, takes_alias, is_guarded }
    }

    fn statement(&mut self) -> ParseResult {
        let Some(token) = self.token() else { return Ok(()) };
        let is_async = token.is("async")
            && self.peek(1).is_some_and(|next| ["def", "for", "with"].contains(&next.text));
        if is_async {
            self.next();
        }
        match self.token().map_or("", |token| token.text) {
            "@" => {
                self.next();
                self.takes_walrus = true;
                self.expressions()?;
                self.finish()
            }
            "def" => self.function(),
            "class" => self.class(),
            "if" | "elif" | "while" => {
                self.next();
                self.takes_walrus = true;
                self.expression()?;
                self.body()
            }
            "else" | "try" | "finally" => {
                self.next();
                self.body()
            }
            "for" => {
                self.next();
                self.targets()?;
                self.expect("in")?;
                self.expressions()?;
                self.body()
            }
            "with" => {
                self.next();
                self.takes_alias = true;
                self.expressions()?;
                self.body()
            }
            "except" => {
                self.next();
                self.take("*");
                self.takes_alias = true;
                if !self.is(":") {
                    self.expressions()?;
                }
                self.body()
            }
            _ => self.simple_statements(),
        }
    }

    fn function(&mut self) -> ParseResult {
        self.next();
        self.name()?;
        self.type_parameters()?;
        if !self.is("(") {
            return self.fail("expected '('");
        }
        self.bracket(")", |parser| parser.parameters(")"))?;
        if self.take("->") {
            self.expressions()?;
        }
        self.body()
    }

    fn class(&mut self) -> ParseResult {
        self.next();
        self.name()?;
        self.type_parameters()?;
        // Base classes use call syntax.
        if self.is("(") {
            self.arguments()?;
        }
        self.body()
    }

    /// Parses `[T: int = str, *Ts, **P]`.
    fn type_parameters(&mut self) -> ParseResult {
        if !self.is("[") {
            return Ok(());
        }
        self.bracket("]", |parser| {
            while !parser.is("]") {
                let _ = parser.take("**") || parser.take("*");
                parser.name()?;
                for mark in [":", "="] {
                    if parser.take(mark) {
                        parser.take("*");
                        parser.expression()?;
                    }
                }
                if !parser.take(",") {
                    break;
                }
            }
            Ok(())
        })
    }

    fn match_subject(&mut self) -> ParseResult {
        self.next();
        self.takes_walrus = true;
        self.expressions()?;
        self.expect(":")?;
        self.finish()
    }

    fn case(&mut self) -> ParseResult {
        self.next();
        self.takes_alias = true;
        self.is_guarded = true;
        self.expressions()?;
        self.is_guarded = false;
        self.takes_walrus = true;
        if self.take("if") {
            self.expression()?;
        }
        self.body()
    }

    fn type_alias(&mut self) -> ParseResult {
        self.next();
        self.name()?;
        self.type_parameters()?;
        self.expect("=")?;
        self.expression()?;
        self.more_statements()
    }

    /// Parses the colon that starts a block, and statements after it.
    fn body(&mut self) -> ParseResult {
        if !self.is(":") {
            let is_done = self.token().is_none();
            return self.fail(if is_done { "expected ':'" } else { "invalid syntax" });
        }
        self.next();
        (self.takes_walrus, self.takes_alias) = (false, false);
        if self.token().is_none() { Ok(()) } else { self.simple_statements() }
    }

    fn simple_statements(&mut self) -> ParseResult {
        self.simple_statement()?;
        self.more_statements()
    }

    fn more_statements(&mut self) -> ParseResult {
        while self.take(";") {
            if self.token().is_none() {
                return Ok(());
            }
            self.simple_statement()?;
        }
        self.finish()
    }

    fn simple_statement(&mut self) -> ParseResult {
        let Some(token) = self.token() else { return self.fail("a statement is missing") };
        match token.text {
            "pass" | "break" | "continue" => self.next(),
            "return" => {
                self.next();
                if !self.ends_statement() {
                    self.expressions()?;
                }
            }
            "raise" => {
                self.next();
                if !self.ends_statement() {
                    self.expression()?;
                    if self.take("from") {
                        self.expression()?;
                    }
                }
            }
            "global" | "nonlocal" => {
                self.next();
                self.name()?;
                while self.take(",") {
                    self.name()?;
                }
            }
            "del" => {
                self.next();
                self.expressions()?;
            }
            "assert" => {
                self.next();
                self.expression()?;
                if self.take(",") {
                    self.expression()?;
                }
            }
            "import" => {
                self.next();
                self.imported(Self::dotted_name)?;
            }
            "from" => self.import_from()?,
            _ => self.assignment()?,
        }
        Ok(())
    }

    fn import_from(&mut self) -> ParseResult {
        self.next();
        let mut is_relative = false;
        while self.take(".") || self.take("...") {
            is_relative = true;
        }
        if !is_relative || !self.is("import") {
            self.dotted_name()?;
        }
        self.expect("import")?;
        if self.take("*") {
            return Ok(());
        }
        if self.is("(") {
            return self.bracket(")", |parser| parser.imported(Self::name));
        }
        self.imported(Self::name)
    }

    /// Parses `a as b, c`; a trailing comma is allowed only in brackets.
    fn imported(&mut self, name: fn(&mut Self) -> ParseResult) -> ParseResult {
        loop {
            name(self)?;
            if self.take("as") {
                self.name()?;
            }
            if !self.take(",") || self.is(")") {
                return Ok(());
            }
        }
    }

    fn dotted_name(&mut self) -> ParseResult {
        self.name()?;
        while self.take(".") {
            self.name()?;
        }
        Ok(())
    }

    /// Parses an expression or an assignment.
    fn assignment(&mut self) -> ParseResult {
        let begin = self.at;
        let mut shape = self.expressions()?;
        if self.take(":") {
            self.expression()?;
            if self.take("=") {
                self.expressions()?;
            }
            return Ok(());
        }
        let is_augmented = |token: &PythonToken<'_>| {
            token.kind == TokenKind::Operator
                && token.text.ends_with('=')
                && !["=", "==", "!=", "<=", ">=", ":="].contains(&token.text)
        };
        if self.next_if(is_augmented) {
            return self.expressions().map(drop);
        }
        let mut target = begin;
        while self.is("=") {
            if shape == ExpressionShape::Value {
                self.at = target;
                return self.fail("cannot assign to this");
            }
            self.next();
            target = self.at;
            shape = self.expressions()?;
        }
        Ok(())
    }

    fn ends_statement(&self) -> bool {
        self.token().is_none() || self.is(";")
    }

    /// Expects the end of the line.
    fn finish(&self) -> ParseResult {
        if self.token().is_none() { Ok(()) } else { self.fail("invalid syntax") }
    }

    pub(super) fn token(&self) -> Option<PythonToken<'t>> {
        self.peek(0)
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<PythonToken<'t>> {
        self.tokens.get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) {
        self.at += 1;
    }

    pub(super) fn next_if(&mut self, fits: impl FnOnce(&PythonToken<'_>) -> bool) -> bool {
        let fits = self.token().is_some_and(|token| fits(&token));
        self.at += usize::from(fits);
        fits
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.token().is_some_and(|token| token.is(text))
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        self.next_if(|token| token.is(text))
    }

    pub(super) fn expect(&mut self, text: &str) -> ParseResult {
        if self.take(text) { Ok(()) } else { self.fail(&format!("expected '{text}'")) }
    }

    pub(super) fn name(&mut self) -> ParseResult {
        if self.next_if(|token| token.is_name()) { Ok(()) } else { self.fail("a name is missing") }
    }

    /// Returns an error at the next token.
    pub(super) fn fail<T>(&self, what: &str) -> ParseResult<T> {
        let (at, found) = match self.token() {
            Some(token) => {
                let line = token.text.lines().next().unwrap_or_default();
                let mut shown: String = line.chars().take(20).collect();
                if shown.len() < token.text.len() {
                    shown.push('…');
                }
                (token.at, format!("{what} at {shown}"))
            }
            None => (self.end, format!("{what} at the end of the line")),
        };
        Err(Some((at, found)))
    }
}
