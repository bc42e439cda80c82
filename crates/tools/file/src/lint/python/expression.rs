//! Python expressions. Accepts everything valid in any version since 3.6, and
//! some invalid code: operator precedence is ignored, as it does not affect
//! whether a text parses.

use super::grammar::{LineParser, ParseResult};
use super::token::{PythonToken, TokenKind};

/// Maximum nesting of brackets, half of Python's own limit; deeper input would
/// overflow the stack.
const MAX_BRACKET_DEPTH: usize = 100;

const BINARY_OPERATORS: [&str; 24] = [
    "+", "-", "*", "/", "//", "%", "@", "<<", ">>", "&", "|", "^", "**", "<", ">", "<=", ">=",
    "==", "!=", "in", "is", "and", "or", "not",
];

/// Kind of an expression, as far as it affects what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpressionShape {
    /// A valid assignment target.
    Target,
    Value,
}

impl LineParser<'_, '_> {
    /// Parses expressions separated by commas: a bare tuple, or a `yield`.
    pub(super) fn expressions(&mut self) -> ParseResult<ExpressionShape> {
        if self.take("yield") {
            if self.take("from") {
                self.expression()?;
            } else if self.begins_operand() || self.is("*") {
                self.expressions()?;
            }
            return Ok(ExpressionShape::Value);
        }
        let mut shape = ExpressionShape::Target;
        loop {
            self.take("*");
            if self.expression()? == ExpressionShape::Value {
                shape = ExpressionShape::Value;
            }
            self.alias()?;
            if !self.take(",") || !self.begins_operand() && !self.is("*") {
                return Ok(shape);
            }
        }
    }

    /// Parses one expression, with `a if b else c`.
    pub(super) fn expression(&mut self) -> ParseResult<ExpressionShape> {
        let shape = self.operation()?;
        if !self.is("if") || self.is_guarded {
            return Ok(shape);
        }
        while self.take("if") {
            self.operation()?;
            self.expect("else")?;
            self.operation()?;
        }
        Ok(ExpressionShape::Value)
    }

    /// Parses operands and binary operators.
    fn operation(&mut self) -> ParseResult<ExpressionShape> {
        let mut shape = self.operand()?;
        loop {
            if self.takes_walrus && self.take(":=") {
                shape = ExpressionShape::Value;
                self.operand()?;
                continue;
            }
            let Some(token) = self.token().filter(|token| {
                token.kind != TokenKind::Text && BINARY_OPERATORS.contains(&token.text)
            }) else {
                return Ok(shape);
            };
            self.next();
            match token.text {
                "not" => self.expect("in")?,
                "is" => {
                    self.take("not");
                }
                _ => {}
            }
            shape = ExpressionShape::Value;
            self.operand()?;
        }
    }

    /// Parses one operand with its unary operators.
    fn operand(&mut self) -> ParseResult<ExpressionShape> {
        let mut shape = ExpressionShape::Target;
        loop {
            let is_sign = ["+", "-", "~", "not"].iter().any(|sign| self.is(sign));
            if !is_sign && !self.is_await_next() {
                break;
            }
            self.next();
            shape = ExpressionShape::Value;
        }
        let atom = self.atom()?;
        Ok(if shape == ExpressionShape::Value { shape } else { atom })
    }

    /// Whether `await` is next as a keyword. In old versions it is a name,
    /// which can be called, added to, or subscripted.
    fn is_await_next(&self) -> bool {
        let Some(next) = self.peek(1).filter(|_| self.is("await")) else { return false };
        match next.text {
            "[" => self.peek(2).is_some_and(|after| after.is("]")),
            "(" | "not" | "+" | "-" => false,
            _ => begins_operand(next),
        }
    }

    /// Parses a name, literal or bracketed group, and its calls, attributes and
    /// subscripts.
    pub(super) fn atom(&mut self) -> ParseResult<ExpressionShape> {
        let Some(token) = self.token() else { return self.fail("an expression is missing") };
        let mut shape = ExpressionShape::Value;
        match (token.kind, token.text) {
            (TokenKind::Text, _) => while self.next_if(|token| token.kind == TokenKind::Text) {},
            (TokenKind::Number, _) | (_, "None" | "True" | "False" | "...") => self.next(),
            (_, "lambda") => {
                self.next();
                self.parameters(":")?;
                self.expect(":")?;
                self.nested(|parser| parser.expression().map(drop))?;
                return Ok(ExpressionShape::Value);
            }
            (_, "(") => {
                self.bracket(")", |parser| parser.items(ItemContext::Group))?;
                shape = ExpressionShape::Target;
            }
            (_, "[") => {
                self.bracket("]", |parser| parser.items(ItemContext::Group))?;
                shape = ExpressionShape::Target;
            }
            (_, "{") => self.bracket("}", |parser| parser.items(ItemContext::Braces))?,
            _ if token.is_name() => {
                self.next();
                shape = ExpressionShape::Target;
            }
            _ => return self.fail("an expression is missing"),
        }
        loop {
            if self.take(".") {
                self.name()?;
                shape = ExpressionShape::Target;
            } else if self.is("(") {
                self.arguments()?;
                shape = ExpressionShape::Value;
            } else if self.is("[") {
                if self.peek(1).is_some_and(|next| next.is("]")) {
                    self.next();
                    return self.fail("an expression is missing");
                }
                self.bracket("]", |parser| parser.items(ItemContext::Slices))?;
                shape = ExpressionShape::Target;
            } else {
                return Ok(shape);
            }
        }
    }

    pub(super) fn arguments(&mut self) -> ParseResult {
        self.bracket(")", |parser| parser.items(ItemContext::Arguments))
    }

    /// Parses the content of brackets and the closing one.
    pub(super) fn bracket(
        &mut self,
        close: &str,
        inside: impl FnOnce(&mut Self) -> ParseResult,
    ) -> ParseResult {
        self.next();
        let walrus = std::mem::replace(&mut self.takes_walrus, true);
        let guarded = std::mem::take(&mut self.is_guarded);
        self.nested(inside)?;
        (self.takes_walrus, self.is_guarded) = (walrus, guarded);
        if !self.is(close) && self.begins_operand() {
            return self.fail("a comma or an operator is missing");
        }
        self.expect(close)
    }

    /// Parses one level deeper; returns `Err(None)` if nested too deeply.
    pub(super) fn nested(&mut self, inside: impl FnOnce(&mut Self) -> ParseResult) -> ParseResult {
        self.depth += 1;
        if self.depth > MAX_BRACKET_DEPTH {
            return Err(None);
        }
        inside(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Parses the elements between brackets.
    fn items(&mut self, items: ItemContext) -> ParseResult {
        if self.is("yield") && items == ItemContext::Group {
            return self.expressions().map(drop);
        }
        while !self.closes() {
            self.item(items)?;
            self.alias()?;
            self.comprehension()?;
            if !self.take(",") {
                break;
            }
        }
        Ok(())
    }

    fn item(&mut self, items: ItemContext) -> ParseResult {
        let has_stars = match items {
            ItemContext::Arguments | ItemContext::Braces => self.take("**") || self.take("*"),
            ItemContext::Group | ItemContext::Slices => self.take("*"),
        };
        if items == ItemContext::Slices && !has_stars {
            return self.slice();
        }
        self.expression()?;
        if has_stars {
            return Ok(());
        }
        let (mark, is_pair) = match items {
            ItemContext::Arguments => ("=", true),
            ItemContext::Braces => (":", true),
            ItemContext::Group | ItemContext::Slices => ("", false),
        };
        if is_pair && self.take(mark) {
            self.expression()?;
        }
        Ok(())
    }

    /// Parses `a`, `a:b` or `a:b:c`; parts next to a colon are optional.
    fn slice(&mut self) -> ParseResult {
        let mut colons = 0;
        loop {
            let has_end = self.is(":") || self.closes() || self.is(",");
            if !(has_end && (colons > 0 || self.is(":"))) {
                self.expression()?;
            }
            if colons == 2 || !self.take(":") {
                return Ok(());
            }
            colons += 1;
        }
    }

    /// Parses any number of `for x in y if z`.
    fn comprehension(&mut self) -> ParseResult {
        while self.is("for") || self.is("async") && self.peek(1).is_some_and(|next| next.is("for"))
        {
            self.take("async");
            self.take("for");
            self.targets()?;
            self.expect("in")?;
            self.operation()?;
            while self.take("if") {
                self.operation()?;
            }
        }
        Ok(())
    }

    /// Parses the targets of a loop.
    pub(super) fn targets(&mut self) -> ParseResult {
        loop {
            self.take("*");
            self.atom()?;
            if !self.take(",") || self.is("in") {
                return Ok(());
            }
        }
    }

    /// Parses `as x` if the statement allows aliases.
    fn alias(&mut self) -> ParseResult {
        if self.takes_alias && self.take("as") {
            self.atom()?;
        }
        Ok(())
    }

    /// Parses function parameters, up to `close`.
    pub(super) fn parameters(&mut self, close: &str) -> ParseResult {
        while !self.is(close) {
            if !self.take("/") {
                let is_bare = self.take("*") && (self.is(",") || self.is(close));
                if !is_bare {
                    self.take("**");
                    self.name()?;
                }
            }
            if close == ")" && self.take(":") {
                self.take("*");
                self.expression()?;
            }
            if self.take("=") {
                self.expression()?;
            }
            if !self.take(",") {
                break;
            }
        }
        Ok(())
    }

    fn closes(&self) -> bool {
        [")", "]", "}"].iter().any(|close| self.is(close))
    }

    pub(super) fn begins_operand(&self) -> bool {
        self.token().is_some_and(begins_operand)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemContext {
    /// A tuple, list or parenthesized group.
    Group,
    /// A set or dictionary.
    Braces,
    Arguments,
    Slices,
}

fn begins_operand(token: PythonToken<'_>) -> bool {
    match token.kind {
        TokenKind::Text | TokenKind::Number => true,
        TokenKind::Word => {
            !token.is_keyword()
                || ["None", "True", "False", "lambda", "not", "yield"].contains(&token.text)
        }
        TokenKind::Operator => ["(", "[", "{", "...", "-", "+", "~"].contains(&token.text),
    }
}
