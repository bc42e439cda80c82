//! Parses shell source into commands. A custom parser, because a highlighter's
//! grammar guesses where a shell does not: words are split exactly as bash
//! splits them. Parsing continues after errors, so a broken end does not hide
//! what comes before it.

use std::rc::Rc;

use crate::redirects::PendingHeredoc;
use crate::syntax::{
    ParseProblem, RawWord, ShellCommand, SimpleCommand, VariableAssignment, WordPart,
};
use crate::word_parser::assignment_name;

/// Maximum nesting depth, over all kinds of nesting.
pub(crate) const MAX_DEPTH: u32 = 90;

/// Maximum number of simple commands.
const MAX_COMMANDS: usize = 4000;

/// A parsed script, and its first problem.
#[derive(Debug)]
pub(crate) struct ParsedScript {
    pub(crate) body: ShellCommand,
    pub(crate) problem: Option<ParseProblem>,
}

/// Parses a whole script that is already `depth` levels deep.
pub(crate) fn parse(source: &str, depth: u32) -> ParsedScript {
    let mut reader = ShellParser::new(source, depth);
    let mut all = Vec::new();
    loop {
        all.push(reader.list(&[]));
        if reader.at_end() {
            break;
        }
        // An unmatched closing token.
        reader.fail(ParseProblem::Syntax);
        reader.pos += reader.rest().chars().next().map_or(1, char::len_utf8);
    }
    reader.read_heredocs();
    let body = if all.len() == 1 { all.remove(0) } else { ShellCommand::Sequence(all) };
    ParsedScript { body, problem: reader.problem }
}

/// Parser state: the position in the source.
pub(crate) struct ShellParser<'s> {
    pub(crate) source: &'s str,
    pub(crate) pos: usize,
    pub(crate) depth: u32,
    pub(crate) problem: Option<ParseProblem>,
    pub(crate) pending: Vec<PendingHeredoc>,
    commands: usize,
}

const RESERVED_WORDS: &[&str] =
    &["then", "do", "done", "fi", "else", "elif", "esac", "}", "]]", "in"];

impl<'s> ShellParser<'s> {
    pub(crate) fn new(source: &'s str, depth: u32) -> Self {
        Self { source, pos: 0, depth, problem: None, pending: Vec::new(), commands: 0 }
    }

    pub(crate) fn rest(&self) -> &'s str {
        self.source.get(self.pos..).unwrap_or("")
    }

    pub(crate) fn byte(&self) -> Option<u8> {
        self.byte_at(0)
    }

    pub(crate) fn byte_at(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.pos + ahead).copied()
    }

    pub(crate) fn at_end(&self) -> bool {
        self.pos >= self.source.len()
    }

    pub(crate) fn consume(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.pos += text.len();
        }
        found
    }

    pub(crate) fn fail(&mut self, problem: ParseProblem) {
        // The first problem causes the others.
        self.problem.get_or_insert(problem);
    }

    /// Enters one nesting level; returns false and skips the rest if it is too
    /// deep.
    pub(crate) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.give_up();
            return false;
        }
        self.depth += 1;
        true
    }

    /// Counts one more command; skips the rest if there are too many.
    pub(crate) fn count_command(&mut self) {
        self.commands += 1;
        if self.commands > MAX_COMMANDS {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.problem = Some(ParseProblem::TooComplex);
        self.pos = self.source.len();
    }

    /// Skips spaces, line continuations and a comment.
    pub(crate) fn skip_blanks(&mut self) {
        loop {
            match self.byte() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\r') if matches!(self.byte_at(1), Some(b'\n') | None) => self.pos += 1,
                Some(b'\\') if self.byte_at(1) == Some(b'\n') => self.pos += 2,
                Some(b'\\') if self.rest().starts_with("\\\r\n") => self.pos += 3,
                Some(b'#') => {
                    self.pos += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    /// Skips blanks and newlines, and reads pending heredoc bodies after a
    /// newline.
    pub(crate) fn skip_newlines(&mut self) {
        loop {
            self.skip_blanks();
            if !self.consume("\n") {
                return;
            }
            self.read_heredocs();
        }
    }

    /// The bare word at the current position, without consuming it.
    fn keyword(&self) -> &'s str {
        const MAX_KEYWORD_BYTES: usize = 16;
        let rest = self.rest();
        let ends = |b: u8| {
            b.is_ascii_whitespace() || matches!(b, b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
        };
        let end = rest.bytes().take(MAX_KEYWORD_BYTES).position(ends);
        rest.get(..end.unwrap_or(rest.len().min(MAX_KEYWORD_BYTES))).unwrap_or("")
    }

    /// Parses commands up to one of the words in `until`, a `)`, or the end.
    pub(crate) fn list(&mut self, until: &[&str]) -> ShellCommand {
        if !self.enter() {
            return ShellCommand::empty();
        }
        let mut all = Vec::new();
        loop {
            self.skip_newlines();
            match self.byte() {
                None | Some(b')') => break,
                Some(b';') => {
                    if self.rest().starts_with(";;") && until.contains(&"esac") {
                        break;
                    }
                    // A stray separator has no effect.
                    if !all.is_empty() && self.rest().starts_with(";;") {
                        self.fail(ParseProblem::Syntax);
                    }
                    self.pos += 1;
                    continue;
                }
                _ => {}
            }
            let word = self.keyword();
            if until.contains(&word) {
                break;
            }
            let before = self.pos;
            let command = self.and_or();
            self.skip_blanks();
            match self.byte() {
                Some(b'&') => {
                    self.pos += 1;
                    all.push(ShellCommand::Background(Box::new(command)));
                }
                _ => all.push(command),
            }
            if self.pos == before {
                self.fail(ParseProblem::Syntax);
                self.pos += self.rest().chars().next().map_or(1, char::len_utf8);
            }
        }
        self.depth -= 1;
        if all.len() == 1 { all.remove(0) } else { ShellCommand::Sequence(all) }
    }

    fn and_or(&mut self) -> ShellCommand {
        let first = self.pipeline();
        let mut more = Vec::new();
        // Commands after `&&` see everything that ran before them in the chain.
        let mut then = Vec::new();
        let gather = |then: &mut Vec<ShellCommand>, more: &mut Vec<ShellCommand>| {
            let mut all = std::mem::take(then);
            if !all.is_empty() {
                let first = all.remove(0);
                more.push(ShellCommand::AndThen(Box::new(combine(
                    first,
                    all,
                    ShellCommand::Sequence,
                ))));
            }
        };
        loop {
            self.skip_blanks();
            let otherwise = self.consume("||");
            if !(otherwise || self.consume("&&")) {
                break;
            }
            self.skip_newlines();
            let next = self.pipeline();
            if otherwise {
                gather(&mut then, &mut more);
                more.push(ShellCommand::conditional(next));
            } else {
                then.push(next);
            }
        }
        gather(&mut then, &mut more);
        combine(first, more, ShellCommand::Sequence)
    }

    fn pipeline(&mut self) -> ShellCommand {
        let first = self.command();
        let mut more = Vec::new();
        loop {
            self.skip_blanks();
            if self.rest().starts_with("||") || !(self.consume("|&") || self.consume("|")) {
                break;
            }
            self.skip_newlines();
            more.push(self.command());
        }
        combine(first, more, ShellCommand::Pipeline)
    }

    fn command(&mut self) -> ShellCommand {
        self.skip_blanks();
        while self.keyword() == "!" {
            self.pos += 1;
            self.skip_blanks();
        }
        if self.byte() == Some(b'(') {
            return self.parenthesised();
        }
        let word = self.keyword();
        match word {
            "{" => self.keyword_body("{", &["}"]),
            "if" => self.if_branches(),
            "while" | "until" => self.while_loop(word),
            "for" | "select" => self.for_loop(word),
            "case" => self.case(),
            "function" => self.function_keyword(),
            "[[" => self.double_bracket_test(),
            "time" if self.consume_time_keyword() => self.command(),
            "coproc" => {
                self.pos += word.len();
                ShellCommand::Coproc(Box::new(self.nested_command()))
            }
            _ if RESERVED_WORDS.contains(&word) && word != "in" => {
                self.fail(ParseProblem::Syntax);
                self.pos += word.len();
                ShellCommand::empty()
            }
            _ => self.simple(),
        }
    }

    /// Consumes the keyword `time`, unless options for the program of that name
    /// follow.
    fn consume_time_keyword(&mut self) -> bool {
        let start = self.pos;
        self.pos += "time".len();
        self.skip_blanks();
        if self.keyword() == "-p" {
            self.pos += 2;
            self.skip_blanks();
        }
        let next = self.keyword();
        // A repeated `time` would be parsed over and over.
        let plain = !next.is_empty() && !next.starts_with('-') && next != "time";
        if !plain && self.byte() != Some(b'(') {
            self.pos = start;
            return false;
        }
        true
    }

    fn nested_command(&mut self) -> ShellCommand {
        if !self.enter() {
            return ShellCommand::empty();
        }
        let command = self.command();
        self.depth -= 1;
        command
    }

    fn parenthesised(&mut self) -> ShellCommand {
        if self.rest().starts_with("((") && self.closes_arithmetic(2) {
            self.pos += 2;
            let words = vec![WordPart::Arithmetic(self.arithmetic(b'(', b')', 2)).into()];
            let redirects = self.redirects();
            return ShellCommand::compound(words, ShellCommand::empty(), redirects);
        }
        self.pos += 1;
        let body = self.list(&[]);
        self.expect(")");
        let redirects = self.redirects();
        ShellCommand::Subshell(Box::new(body), redirects)
    }

    fn expect(&mut self, text: &str) {
        self.skip_newlines();
        if !self.consume(text) {
            self.fail(ParseProblem::Syntax);
        }
    }

    fn keyword_body(&mut self, open: &str, until: &[&str]) -> ShellCommand {
        self.pos += open.len();
        let body = self.list(until);
        for word in until {
            self.expect(word);
        }
        let redirects = self.redirects();
        ShellCommand::compound(Vec::new(), body, redirects)
    }

    fn if_branches(&mut self) -> ShellCommand {
        self.pos += 2;
        let mut all = vec![self.list(&["then"])];
        self.expect("then");
        loop {
            all.push(self.list(&["elif", "else", "fi"]));
            if self.consume("elif") {
                all.push(self.list(&["then"]));
                self.expect("then");
            } else if !self.consume("else") {
                break;
            }
        }
        self.expect("fi");
        let redirects = self.redirects();
        ShellCommand::compound(
            Vec::new(),
            ShellCommand::conditional(ShellCommand::Sequence(all)),
            redirects,
        )
    }

    fn while_loop(&mut self, word: &str) -> ShellCommand {
        self.pos += word.len();
        let condition = self.list(&["do"]);
        self.expect("do");
        let body = self.list(&["done"]);
        self.expect("done");
        let redirects = self.redirects();
        let body = ShellCommand::Loop { condition: Box::new(condition), body: Box::new(body) };
        ShellCommand::compound(Vec::new(), body, redirects)
    }

    fn for_loop(&mut self, word: &str) -> ShellCommand {
        self.pos += word.len();
        self.skip_blanks();
        let mut words = Vec::new();
        let mut name = String::new();
        let mut endless = false;
        if self.rest().starts_with("((") {
            self.pos += 2;
            let head = self.rest().bytes().take(64).filter(|byte| *byte != b' ');
            endless = head.take(2).eq(*b";;");
            words.push(WordPart::Arithmetic(self.arithmetic(b'(', b')', 2)).into());
        } else {
            self.keyword().clone_into(&mut name);
            self.pos += name.len();
            self.skip_newlines();
            if self.keyword() == "in" {
                self.pos += 2;
                words = self.plain_words();
            } else {
                // Without a list, the loop iterates over the arguments.
                words.push(positional_args());
            }
        }
        self.skip_newlines();
        while self.consume(";") {
            self.skip_newlines();
        }
        let body = if self.keyword() == "{" {
            self.nested_command()
        } else {
            self.expect("do");
            let body = self.list(&["done"]);
            self.expect("done");
            body
        };
        let redirects = self.redirects();
        if endless {
            let condition = Box::new(ShellCommand::Sequence(Vec::new()));
            let body = ShellCommand::Loop { condition, body: Box::new(body) };
            return ShellCommand::compound(words, body, redirects);
        }
        ShellCommand::For { name, words, body: Box::new(body), redirects }
    }

    /// Parses words up to the end of the command.
    fn plain_words(&mut self) -> Vec<RawWord> {
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.byte() {
                None | Some(b';' | b'\n' | b'&' | b'|' | b')' | b'(') => return words,
                Some(b'<' | b'>') if self.byte_at(1) != Some(b'(') => return words,
                _ => words.push(self.word()),
            }
        }
    }

    fn case(&mut self) -> ShellCommand {
        self.pos += 4;
        self.skip_blanks();
        let mut words = vec![self.word()];
        self.skip_newlines();
        if !self.consume("in") {
            self.fail(ParseProblem::Syntax);
        }
        let mut bodies = Vec::new();
        loop {
            self.skip_newlines();
            if self.at_end() || self.keyword() == "esac" {
                break;
            }
            self.consume("(");
            loop {
                let before = self.pos;
                words.extend(self.plain_words());
                if !self.consume("|") || self.pos == before {
                    break;
                }
            }
            if !self.consume(")") {
                self.fail(ParseProblem::Syntax);
                self.pos += self.rest().chars().next().map_or(0, char::len_utf8);
                continue;
            }
            bodies.push(self.list(&["esac"]));
            if !(self.consume(";;&") || self.consume(";;")) {
                self.consume(";&");
            }
            if self.byte() == Some(b')') {
                self.fail(ParseProblem::Syntax);
                self.pos += 1;
            }
        }
        self.expect("esac");
        let redirects = self.redirects();
        ShellCommand::compound(
            words,
            ShellCommand::conditional(ShellCommand::Sequence(bodies)),
            redirects,
        )
    }

    fn function_keyword(&mut self) -> ShellCommand {
        self.pos += "function".len();
        self.skip_blanks();
        let name = self.keyword().to_owned();
        self.pos += name.len();
        self.skip_blanks();
        if self.consume("(") {
            self.skip_blanks();
            self.consume(")");
        }
        self.skip_newlines();
        ShellCommand::Function { name, body: Rc::new(self.nested_command()) }
    }

    /// Parses `[[ … ]]`; only the expansions of its words matter.
    fn double_bracket_test(&mut self) -> ShellCommand {
        self.pos += 2;
        let mut words = Vec::new();
        loop {
            self.skip_newlines();
            match self.byte() {
                None => {
                    self.fail(ParseProblem::Syntax);
                    break;
                }
                Some(b'&' | b'|' | b'(' | b')' | b'<' | b'>' | b';') => self.pos += 1,
                _ if self.keyword() == "]]" => {
                    self.pos += 2;
                    break;
                }
                _ => words.push(self.word()),
            }
        }
        let redirects = self.redirects();
        ShellCommand::compound(words, ShellCommand::empty(), redirects)
    }

    fn simple(&mut self) -> ShellCommand {
        self.count_command();
        let start = self.pos;
        let mut end = start;
        let mut simple = SimpleCommand {
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            text: String::new(),
        };
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect() {
                simple.redirects.push(redirect);
                end = self.pos;
                continue;
            }
            match self.byte() {
                None | Some(b';' | b'\n' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    if let ([name], true) = (simple.words.as_slice(), simple.redirects.is_empty())
                        && let Some(name) = name.unquoted_text().map(str::to_owned)
                        && self.empty_parentheses()
                    {
                        self.skip_newlines();
                        return ShellCommand::Function {
                            name,
                            body: Rc::new(self.nested_command()),
                        };
                    }
                    self.fail(ParseProblem::Syntax);
                    break;
                }
                _ => {}
            }
            let before = self.pos;
            let raw = self.word();
            end = self.pos;
            if self.pos == before {
                break;
            }
            match assignment_name(&raw) {
                Some((name, append, value)) if simple.words.is_empty() => {
                    simple.assignments.push(VariableAssignment {
                        name,
                        append,
                        value: strip_bytes(raw, value),
                    });
                }
                _ => simple.words.push(raw),
            }
        }
        simple.text = self.source.get(start..end).unwrap_or("").to_owned();
        ShellCommand::Simple(simple)
    }

    fn empty_parentheses(&mut self) -> bool {
        let start = self.pos;
        self.pos += 1;
        self.skip_blanks();
        let is_empty = self.consume(")");
        self.pos = if is_empty { self.pos } else { start };
        is_empty
    }
}

/// A single command unchanged, or several combined with `all`.
fn combine(
    first: ShellCommand,
    mut more: Vec<ShellCommand>,
    all: fn(Vec<ShellCommand>) -> ShellCommand,
) -> ShellCommand {
    if more.is_empty() {
        return first;
    }
    more.insert(0, first);
    all(more)
}

/// The word without the first `cut` bytes of its first part.
fn strip_bytes(mut raw: RawWord, cut: usize) -> RawWord {
    if let Some(WordPart::Text { text, .. }) = raw.parts.first_mut() {
        text.drain(..cut.min(text.len()));
        if text.is_empty() {
            raw.parts.remove_first();
        }
    }
    raw
}

fn positional_args() -> RawWord {
    let name = "@".to_owned();
    let operator = crate::syntax::ParameterOperator::Plain;
    let argument = RawWord::default();
    let parameter = crate::syntax::ParameterExpansion { name, operator, argument, quoted: true };
    WordPart::Parameter(Box::new(parameter)).into()
}
