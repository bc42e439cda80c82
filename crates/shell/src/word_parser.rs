//! Parses words: quotes, escapes, parameters and substitutions.

use crate::parse::{ShellParser, parse};
use crate::syntax::{
    ParameterExpansion, ParameterOperator, ParseProblem, RawWord, ShellCommand, WordPart, WordParts,
};

/// Returns the name before `=`, whether the operator is `+=`, and the length of
/// both in bytes.
pub(crate) fn assignment_name(raw: &RawWord) -> Option<(String, bool, usize)> {
    let Some(WordPart::Text { text, quoted: false }) = raw.parts.first() else { return None };
    let left = text.get(..text.bytes().position(|byte| byte == b'=')?)?;
    let (name, append) = left.strip_suffix('+').map_or((left, false), |name| (name, true));
    let plain = name.split_once('[').map_or(name, |(name, _)| name);
    let starts = plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let valid = plain.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (starts && valid).then(|| (name.to_owned(), append, left.len() + 1))
}

/// Whether an unquoted byte ends a word.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

impl WordParts {
    /// Appends text, merging it with adjacent text.
    fn push_text(&mut self, piece: &str, is_quoted: bool) {
        match self.last_mut() {
            Some(WordPart::Text { text, quoted }) if *quoted == is_quoted => text.push_str(piece),
            _ => self.push(WordPart::Text { text: piece.to_owned(), quoted: is_quoted }),
        }
    }

    /// Records that quotes occurred, so an empty word is still a word.
    fn mark_quoted(&mut self) {
        if self.is_empty() {
            self.push_text("", true);
        }
    }
}

impl ShellParser<'_> {
    /// Parses one word; consumes nothing if none is next.
    pub(crate) fn word(&mut self) -> RawWord {
        let mut parts = WordParts::default();
        loop {
            match self.byte() {
                None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')') => break,
                Some(b'\r') if matches!(self.byte_at(1), Some(b'\n') | None) => break,
                Some(b'<' | b'>') => {
                    if self.byte_at(1) != Some(b'(') {
                        break;
                    }
                    self.process_substitution(&mut parts);
                }
                Some(b'(') => {
                    if !self.parenthesis(&mut parts) {
                        break;
                    }
                }
                _ => self.unquoted(&mut parts),
            }
        }
        RawWord { parts }
    }

    /// Parses one unquoted piece that is not an operator.
    fn unquoted(&mut self, parts: &mut WordParts) {
        match self.byte() {
            Some(b'\\') => {
                self.pos += 1;
                if self.consume("\n") || self.consume("\r\n") {
                    return;
                }
                self.character(parts);
            }
            Some(b'\'') => self.single_quotes(parts),
            Some(b'"') => self.double_quotes(parts),
            Some(b'`') => self.backticks(parts, false),
            Some(b'$') => self.dollar(parts, false),
            _ => {
                let rest = self.rest();
                let ends = |b: u8| matches!(b, b'\\' | b'\'' | b'"' | b'`' | b'$') || ends_word(b);
                // An operator character that is no operator here is consumed
                // alone.
                let end = rest.bytes().position(ends).map_or(rest.len(), |end| end.max(1));
                parts.push_text(rest.get(..end).unwrap_or(""), false);
                self.pos += end;
            }
        }
    }

    fn character(&mut self, parts: &mut WordParts) {
        match self.rest().chars().next() {
            Some(c) => {
                parts.push_text(c.encode_utf8(&mut [0; 4]), true);
                self.pos += c.len_utf8();
            }
            None => self.fail(ParseProblem::Syntax),
        }
    }

    /// Parses `name=(…)` or an extended glob; returns false if neither is next.
    fn parenthesis(&mut self, parts: &mut WordParts) -> bool {
        let Some(WordPart::Text { text, quoted: false }) = parts.last() else { return false };
        if text.ends_with('=') && parts.len() == 1 {
            self.pos += 1;
            let elements = self.elements();
            parts.push(WordPart::Array(elements));
            return true;
        }
        if !text.ends_with(['@', '!', '?', '*', '+']) {
            return false;
        }
        // The pattern may match anything, like a star.
        if let Some(WordPart::Text { text, .. }) = parts.last_mut() {
            text.pop();
        }
        let inside = self.rest().split(')').next().unwrap_or("");
        let hidden = inside.starts_with("(.") || inside.contains("|.");
        parts.push_text(if hidden { ".*" } else { "*" }, false);
        let mut inner = WordParts::default();
        let mut open = 0usize;
        while let Some(byte) = self.byte() {
            match byte {
                b'(' => {
                    open += 1;
                    self.pos += 1;
                }
                b')' => {
                    open -= 1;
                    self.pos += 1;
                    if open == 0 {
                        break;
                    }
                }
                b'\n' | b' ' | b'\t' | b'|' | b';' | b'&' | b'<' | b'>' => self.pos += 1,
                _ => self.unquoted(&mut inner),
            }
        }
        if open > 0 {
            self.fail(ParseProblem::Syntax);
        }
        // Substitutions inside the pattern still run.
        let inner = inner.into_vec().into_iter();
        inner
            .filter(|part| !matches!(part, WordPart::Text { .. }))
            .for_each(|part| parts.push(part));
        true
    }

    fn elements(&mut self) -> Vec<RawWord> {
        let mut all = Vec::new();
        if !self.enter() {
            return all;
        }
        loop {
            self.skip_newlines();
            let before = self.pos;
            if self.consume(")") {
                break;
            }
            let word = self.word();
            if self.pos == before {
                self.fail(ParseProblem::Syntax);
                break;
            }
            all.push(word);
        }
        self.depth -= 1;
        all
    }

    fn single_quotes(&mut self, parts: &mut WordParts) {
        self.pos += 1;
        let rest = self.rest();
        let end = rest.find('\'').unwrap_or_else(|| {
            self.fail(ParseProblem::Syntax);
            rest.len()
        });
        parts.mark_quoted();
        parts.push_text(rest.get(..end).unwrap_or(""), true);
        self.pos = (self.pos + end + 1).min(self.source.len());
    }

    fn double_quotes(&mut self, parts: &mut WordParts) {
        self.pos += 1;
        parts.mark_quoted();
        loop {
            match self.byte() {
                None => return self.fail(ParseProblem::Syntax),
                Some(b'"') => {
                    self.pos += 1;
                    return;
                }
                _ => self.quoted(parts, "\"\\$`"),
            }
        }
    }

    /// Parses one piece inside double quotes or a heredoc; `special` are the
    /// characters that a backslash escapes.
    fn quoted(&mut self, parts: &mut WordParts, special: &str) {
        match self.byte() {
            Some(b'\\') => {
                self.pos += 1;
                if self.consume("\n") {
                    return;
                }
                match self.rest().chars().next() {
                    Some(c) if special.contains(c) => self.character(parts),
                    _ => parts.push_text("\\", true),
                }
            }
            Some(b'`') => self.backticks(parts, true),
            Some(b'$') => self.dollar(parts, true),
            _ => {
                let rest = self.rest();
                let end = rest.find(['"', '\\', '`', '$']).unwrap_or(rest.len()).max(1);
                parts.push_text(rest.get(..end).unwrap_or(""), true);
                self.pos += end;
            }
        }
    }

    /// Parses the body of a heredoc with an unquoted delimiter.
    pub(crate) fn heredoc_body(&mut self) -> RawWord {
        let mut parts = WordParts::default();
        parts.mark_quoted();
        while !self.at_end() {
            self.quoted(&mut parts, "\\$`");
        }
        RawWord { parts }
    }

    fn backticks(&mut self, parts: &mut WordParts, quoted: bool) {
        self.pos += 1;
        let mut inner = String::new();
        let mut escaped = false;
        let mut closed = false;
        for c in self.rest().chars() {
            self.pos += c.len_utf8();
            match (escaped, c) {
                (true, _) => {
                    if !(matches!(c, '`' | '\\' | '$') || (quoted && c == '"')) {
                        inner.push('\\');
                    }
                    inner.push(c);
                    escaped = false;
                }
                (false, '\\') => escaped = true,
                (false, '`') => {
                    closed = true;
                    break;
                }
                (false, _) => inner.push(c),
            }
        }
        if !closed {
            self.fail(ParseProblem::Syntax);
        }
        self.count_command();
        if !self.enter() {
            return;
        }
        let script = parse(&inner, self.depth);
        self.depth -= 1;
        if let Some(problem) = script.problem {
            self.fail(problem);
        }
        parts.push(WordPart::CommandSubstitution { body: Box::new(script.body), quoted });
    }

    fn process_substitution(&mut self, parts: &mut WordParts) {
        let writes = self.byte() == Some(b'>');
        self.pos += 2;
        let body = self.substitution();
        parts.push(WordPart::ProcessSubstitution { body, writes });
    }

    /// Parses commands up to the closing parenthesis.
    fn substitution(&mut self) -> Box<ShellCommand> {
        let body = self.list(&[]);
        if !self.consume(")") {
            self.fail(ParseProblem::Syntax);
        }
        Box::new(body)
    }

    fn dollar(&mut self, parts: &mut WordParts, quoted: bool) {
        let next = self.byte_at(1);
        match next {
            Some(b'\'') if !quoted => {
                self.pos += 2;
                self.ansi_quotes(parts);
            }
            Some(b'"') if !quoted => {
                self.pos += 1;
                self.double_quotes(parts);
            }
            Some(b'(') => {
                self.count_command();
                if self.byte_at(2) == Some(b'(') && self.closes_arithmetic(3) {
                    self.pos += 3;
                    let inner = self.arithmetic(b'(', b')', 2);
                    parts.push(WordPart::Arithmetic(inner));
                } else {
                    self.pos += 2;
                    let body = self.substitution();
                    parts.push(WordPart::CommandSubstitution { body, quoted });
                }
            }
            Some(b'[') => {
                // The old arithmetic syntax.
                self.pos += 2;
                let inner = self.arithmetic(b'[', b']', 1);
                parts.push(WordPart::Arithmetic(inner));
            }
            Some(b'{') => self.braced_parameter(parts, quoted),
            Some(c) if c.is_ascii_alphabetic() || c == b'_' => {
                self.pos += 1;
                let rest = self.rest();
                let end = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(rest.len());
                self.pos += end;
                parts.push(plain_parameter(rest.get(..end).unwrap_or(""), quoted));
            }
            Some(c) if c.is_ascii_digit() || b"@*#?$!-".contains(&c) => {
                let name = self.rest().get(1..2).unwrap_or("");
                self.pos += 2;
                parts.push(plain_parameter(name, quoted));
            }
            _ => {
                parts.push_text("$", quoted);
                self.pos += 1;
            }
        }
    }

    fn braced_parameter(&mut self, parts: &mut WordParts, quoted: bool) {
        self.pos += 2;
        if !self.enter() {
            return;
        }
        let mut rough = false;
        let indirect = self.byte() == Some(b'!') && self.byte_at(1) != Some(b'}');
        while matches!(self.byte(), Some(b'#' | b'!')) && self.byte_at(1) != Some(b'}') {
            self.pos += 1;
            rough = true;
        }
        let rest = self.rest();
        let named =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let end = if named == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { named };
        let mut name = rest.get(..end).unwrap_or("").to_owned();
        self.pos += end;
        if self.byte() == Some(b'[') {
            match self.index().filter(|_| !rough) {
                Some(index) => name.push_str(index),
                None => rough = true,
            }
        }
        const DEFAULT_OPERATORS: &[&str] = &[":-", "-"];
        const ASSIGN_OPERATORS: &[&str] = &[":=", "="];
        const ALTERNATE_OPERATORS: &[&str] = &[":+", "+"];
        // `${x:?message}` is x, or the script exits.
        let demanded = !rough && (self.consume(":?") || self.consume("?"));
        let operator = if indirect && self.byte() == Some(b'}') {
            ParameterOperator::Indirect
        } else if rough {
            ParameterOperator::Other
        } else if demanded || self.byte() == Some(b'}') {
            ParameterOperator::Plain
        } else if DEFAULT_OPERATORS.iter().any(|sign| self.consume(sign)) {
            ParameterOperator::Default
        } else if ASSIGN_OPERATORS.iter().any(|sign| self.consume(sign)) {
            ParameterOperator::Assign
        } else if ALTERNATE_OPERATORS.iter().any(|sign| self.consume(sign)) {
            ParameterOperator::Alternate
        } else {
            ParameterOperator::Other
        };
        let argument = self.until_brace(quoted);
        self.depth -= 1;
        parts.push(WordPart::Parameter(Box::new(ParameterExpansion {
            name,
            operator,
            argument,
            quoted,
        })));
    }

    /// Parses `[@]`, `[*]` or a number in brackets, if one is next.
    fn index(&mut self) -> Option<&str> {
        let rest = self.rest();
        let end = rest.find(']')? + 1;
        let inside = rest.get(1..end - 1)?;
        let plain = matches!(inside, "@" | "*")
            || (!inside.is_empty()
                && inside.len() < 6
                && inside.bytes().all(|b| b.is_ascii_digit()));
        plain.then(|| {
            self.pos += end;
            rest.get(..end).unwrap_or("")
        })
    }

    /// Parses the rest of `${…}`.
    fn until_brace(&mut self, quoted: bool) -> RawWord {
        let mut parts = WordParts::default();
        loop {
            match self.byte() {
                None => {
                    self.fail(ParseProblem::Syntax);
                    break;
                }
                Some(b'}') => {
                    self.pos += 1;
                    break;
                }
                Some(b'"') => self.double_quotes(&mut parts),
                Some(b'\'') if !quoted => self.single_quotes(&mut parts),
                Some(b'\\') => {
                    self.pos += 1;
                    self.character(&mut parts);
                }
                Some(b'`') => self.backticks(&mut parts, quoted),
                Some(b'$') => self.dollar(&mut parts, quoted),
                _ => {
                    let rest = self.rest();
                    let end =
                        rest.find(['}', '"', '\'', '\\', '`', '$']).unwrap_or(rest.len()).max(1);
                    parts.push_text(rest.get(..end).unwrap_or(""), quoted);
                    self.pos += end;
                }
            }
        }
        RawWord { parts }
    }

    /// Whether the expression that starts `skip` bytes ahead ends with `))`.
    pub(crate) fn closes_arithmetic(&self, skip: usize) -> bool {
        let bytes = self.source.as_bytes();
        let mut open = 2usize;
        // Longer expressions are unrealistic, and a longer scan would be slow.
        for at in self.pos + skip..bytes.len().min(self.pos + skip + 4096) {
            match bytes[at] {
                b'(' => open += 1,
                b')' => {
                    open -= 1;
                    if open == 1 {
                        return bytes.get(at + 1) == Some(&b')');
                    }
                }
                _ => {}
            }
        }
        false
    }

    /// Parses arithmetic until its `open` open brackets are closed.
    pub(crate) fn arithmetic(&mut self, opening: u8, closing: u8, open: usize) -> Vec<WordPart> {
        let mut parts = WordParts::default();
        if !self.enter() {
            return parts.into_vec();
        }
        let mut open = open;
        loop {
            match self.byte() {
                None => {
                    self.fail(ParseProblem::Syntax);
                    break;
                }
                Some(byte) if byte == opening => {
                    open += 1;
                    self.pos += 1;
                }
                Some(byte) if byte == closing => {
                    open -= 1;
                    self.pos += 1;
                    if open == 0 {
                        break;
                    }
                }
                Some(b'`') => self.backticks(&mut parts, true),
                Some(b'$') => self.dollar(&mut parts, true),
                _ => {
                    let rest = self.rest();
                    let end = rest.find(['(', ')', '[', ']', '`', '$']).unwrap_or(rest.len());
                    let end = end.max(rest.chars().next().map_or(1, char::len_utf8));
                    parts.push_text(rest.get(..end).unwrap_or(""), true);
                    self.pos += end;
                }
            }
        }
        self.depth -= 1;
        parts.into_vec()
    }

    /// Parses `$'…'` after its opening quote.
    fn ansi_quotes(&mut self, parts: &mut WordParts) {
        parts.mark_quoted();
        let mut bytes: Vec<u8> = Vec::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                self.fail(ParseProblem::Syntax);
                break;
            };
            self.pos += c.len_utf8();
            match c {
                '\'' => break,
                '\\' => self.ansi_escape(&mut bytes),
                _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        // A shell string ends at the first NUL.
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            bytes.truncate(end);
        }
        parts.push_text(&String::from_utf8_lossy(&bytes), true);
    }

    fn ansi_escape(&mut self, out: &mut Vec<u8>) {
        let Some(c) = self.rest().chars().next() else { return };
        self.pos += c.len_utf8();
        let simple = match c {
            'n' => b'\n',
            't' => b'\t',
            'r' => b'\r',
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'v' => 11,
            'x' => return self.byte_escape(16, 2, out),
            'u' => return self.unicode_escape(4, out),
            'U' => return self.unicode_escape(8, out),
            '0'..='7' => {
                self.pos -= 1;
                return self.byte_escape(8, 3, out);
            }
            'c' => {
                self.pos += self.rest().chars().next().map_or(0, char::len_utf8);
                return;
            }
            '\\' | '\'' | '"' | '?' => c as u8,
            _ => {
                out.push(b'\\');
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return;
            }
        };
        out.push(simple);
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let count = self.rest().chars().take(most).take_while(|c| c.is_digit(radix)).count();
        let digits = self.rest().get(..count)?;
        self.pos += count;
        u32::from_str_radix(digits, radix).ok()
    }

    fn byte_escape(&mut self, radix: u32, most: usize, out: &mut Vec<u8>) {
        if let Some(value) = self.number(radix, most) {
            out.push((value & 0xff) as u8);
        }
    }

    fn unicode_escape(&mut self, most: usize, out: &mut Vec<u8>) {
        if let Some(c) = self.number(16, most).and_then(char::from_u32) {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

fn plain_parameter(name: &str, quoted: bool) -> WordPart {
    let name = name.to_owned();
    let operator = ParameterOperator::Plain;
    WordPart::Parameter(Box::new(ParameterExpansion {
        name,
        operator,
        argument: RawWord::default(),
        quoted,
    }))
}
