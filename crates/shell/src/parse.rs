//! Reads shell source into commands. A reader of our own, since a highlighter's
//! grammar guesses where a shell does not: what is split into a word here is
//! exactly what bash would split. Mistakes are noted and reading goes on, so
//! that a broken end does not hide what comes before it.

use std::rc::Rc;

use crate::redirects::Pending;
use crate::syntax::{Assignment, Command, Part, Problem, Raw, Simple};
use crate::words::assignment_name;

/// How deep commands may nest, over all kinds of nesting.
pub(crate) const MAX_DEPTH: u32 = 90;

/// More simple commands than this are not read.
const MAX_COMMANDS: usize = 4000;

/// What was read, and what was wrong with it.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) body: Command,
    pub(crate) problem: Option<Problem>,
}

/// Reads a whole script that is already `depth` levels deep.
pub(crate) fn parse(source: &str, depth: u32) -> Script {
    let mut reader = Reader::new(source, depth);
    let mut all = Vec::new();
    loop {
        all.push(reader.list(&[]));
        if reader.at_end() {
            break;
        }
        // Something that closes what was never opened.
        reader.fail(Problem::Syntax);
        reader.pos += reader.rest().chars().next().map_or(1, char::len_utf8);
    }
    reader.heredocs();
    let body = if all.len() == 1 { all.remove(0) } else { Command::Sequence(all) };
    Script { body, problem: reader.problem }
}

/// The place in the source.
pub(crate) struct Reader<'s> {
    pub(crate) source: &'s str,
    pub(crate) pos: usize,
    pub(crate) depth: u32,
    pub(crate) problem: Option<Problem>,
    pub(crate) pending: Vec<Pending>,
    commands: usize,
}

const RESERVED: &[&str] = &["then", "do", "done", "fi", "else", "elif", "esac", "}", "]]", "in"];

impl<'s> Reader<'s> {
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

    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.pos += text.len();
        }
        found
    }

    pub(crate) fn fail(&mut self, problem: Problem) {
        // The first one is the cause of the others.
        self.problem.get_or_insert(problem);
    }

    /// One level further in; false, with the rest given up, if that is too far.
    pub(crate) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.give_up();
            return false;
        }
        self.depth += 1;
        true
    }

    /// One more command to read; the rest is given up if there are too many.
    pub(crate) fn count_command(&mut self) {
        self.commands += 1;
        if self.commands > MAX_COMMANDS {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.problem = Some(Problem::TooComplex);
        self.pos = self.source.len();
    }

    /// Spaces, joined lines and a comment.
    pub(crate) fn blanks(&mut self) {
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

    /// Blanks and line ends; the bodies of waiting heredocs come after a line end.
    pub(crate) fn newlines(&mut self) {
        loop {
            self.blanks();
            if !self.eat("\n") {
                return;
            }
            self.heredocs();
        }
    }

    /// The bare word that comes next, without taking it.
    fn keyword(&self) -> &'s str {
        const LONGEST: usize = 16;
        let rest = self.rest();
        let ends = |b: u8| {
            b.is_ascii_whitespace() || matches!(b, b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
        };
        let end = rest.bytes().take(LONGEST).position(ends);
        rest.get(..end.unwrap_or(rest.len().min(LONGEST))).unwrap_or("")
    }

    /// Commands up to one of the words in `until`, a `)`, or the end.
    pub(crate) fn list(&mut self, until: &[&str]) -> Command {
        if !self.enter() {
            return Command::empty();
        }
        let mut all = Vec::new();
        loop {
            self.newlines();
            match self.byte() {
                None | Some(b')') => break,
                Some(b';') => {
                    if self.rest().starts_with(";;") && until.contains(&"esac") {
                        break;
                    }
                    // A stray separator does nothing.
                    if !all.is_empty() && self.rest().starts_with(";;") {
                        self.fail(Problem::Syntax);
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
            self.blanks();
            match self.byte() {
                Some(b'&') => {
                    self.pos += 1;
                    all.push(Command::Background(Box::new(command)));
                }
                _ => all.push(command),
            }
            if self.pos == before {
                self.fail(Problem::Syntax);
                self.pos += self.rest().chars().next().map_or(1, char::len_utf8);
            }
        }
        self.depth -= 1;
        if all.len() == 1 { all.remove(0) } else { Command::Sequence(all) }
    }

    fn and_or(&mut self) -> Command {
        let first = self.pipeline();
        let mut more = Vec::new();
        // What comes behind `&&` sees all that ran before it there.
        let mut then = Vec::new();
        let gather = |then: &mut Vec<Command>, more: &mut Vec<Command>| {
            let mut all = std::mem::take(then);
            if !all.is_empty() {
                let first = all.remove(0);
                more.push(Command::Then(Box::new(chain(first, all, Command::Sequence))));
            }
        };
        loop {
            self.blanks();
            let otherwise = self.eat("||");
            if !(otherwise || self.eat("&&")) {
                break;
            }
            self.newlines();
            let next = self.pipeline();
            if otherwise {
                gather(&mut then, &mut more);
                more.push(Command::maybe(next));
            } else {
                then.push(next);
            }
        }
        gather(&mut then, &mut more);
        chain(first, more, Command::Sequence)
    }

    fn pipeline(&mut self) -> Command {
        let first = self.command();
        let mut more = Vec::new();
        loop {
            self.blanks();
            if self.rest().starts_with("||") || !(self.eat("|&") || self.eat("|")) {
                break;
            }
            self.newlines();
            more.push(self.command());
        }
        chain(first, more, Command::Pipeline)
    }

    fn command(&mut self) -> Command {
        self.blanks();
        while self.keyword() == "!" {
            self.pos += 1;
            self.blanks();
        }
        if self.byte() == Some(b'(') {
            return self.parenthesised();
        }
        let word = self.keyword();
        match word {
            "{" => self.keyword_body("{", &["}"]),
            "if" => self.branches(),
            "while" | "until" => self.looped(word),
            "for" | "select" => self.for_loop(word),
            "case" => self.case(),
            "function" => self.function_keyword(),
            "[[" => self.test(),
            "time" if self.times_a_pipeline() => self.command(),
            "coproc" => {
                self.pos += word.len();
                Command::Coproc(Box::new(self.nested_command()))
            }
            _ if RESERVED.contains(&word) && word != "in" => {
                self.fail(Problem::Syntax);
                self.pos += word.len();
                Command::empty()
            }
            _ => self.simple(),
        }
    }

    /// Takes the word `time`, unless options for a program of that name follow.
    fn times_a_pipeline(&mut self) -> bool {
        let start = self.pos;
        self.pos += "time".len();
        self.blanks();
        if self.keyword() == "-p" {
            self.pos += 2;
            self.blanks();
        }
        let next = self.keyword();
        // A second one in a row would be read again and again.
        let plain = !next.is_empty() && !next.starts_with('-') && next != "time";
        if !plain && self.byte() != Some(b'(') {
            self.pos = start;
            return false;
        }
        true
    }

    fn nested_command(&mut self) -> Command {
        if !self.enter() {
            return Command::empty();
        }
        let command = self.command();
        self.depth -= 1;
        command
    }

    fn parenthesised(&mut self) -> Command {
        if self.rest().starts_with("((") && self.closes_arithmetic(2) {
            self.pos += 2;
            let words = vec![Part::Arithmetic(self.arithmetic(b'(', b')', 2)).into()];
            let redirects = self.redirects();
            return Command::compound(words, Command::empty(), redirects);
        }
        self.pos += 1;
        let body = self.list(&[]);
        self.close(")");
        let redirects = self.redirects();
        Command::Subshell(Box::new(body), redirects)
    }

    fn close(&mut self, text: &str) {
        self.newlines();
        if !self.eat(text) {
            self.fail(Problem::Syntax);
        }
    }

    fn keyword_body(&mut self, open: &str, until: &[&str]) -> Command {
        self.pos += open.len();
        let body = self.list(until);
        for word in until {
            self.close(word);
        }
        let redirects = self.redirects();
        Command::compound(Vec::new(), body, redirects)
    }

    fn branches(&mut self) -> Command {
        self.pos += 2;
        let mut all = vec![self.list(&["then"])];
        self.close("then");
        loop {
            all.push(self.list(&["elif", "else", "fi"]));
            if self.eat("elif") {
                all.push(self.list(&["then"]));
                self.close("then");
            } else if !self.eat("else") {
                break;
            }
        }
        self.close("fi");
        let redirects = self.redirects();
        Command::compound(Vec::new(), Command::maybe(Command::Sequence(all)), redirects)
    }

    fn looped(&mut self, word: &str) -> Command {
        self.pos += word.len();
        let condition = self.list(&["do"]);
        self.close("do");
        let body = self.list(&["done"]);
        self.close("done");
        let redirects = self.redirects();
        let body = Command::Loop { condition: Box::new(condition), body: Box::new(body) };
        Command::compound(Vec::new(), body, redirects)
    }

    fn for_loop(&mut self, word: &str) -> Command {
        self.pos += word.len();
        self.blanks();
        let mut words = Vec::new();
        let mut name = String::new();
        let mut endless = false;
        if self.rest().starts_with("((") {
            self.pos += 2;
            let head = self.rest().bytes().take(64).filter(|byte| *byte != b' ');
            endless = head.take(2).eq(*b";;");
            words.push(Part::Arithmetic(self.arithmetic(b'(', b')', 2)).into());
        } else {
            self.keyword().clone_into(&mut name);
            self.pos += name.len();
            self.newlines();
            if self.keyword() == "in" {
                self.pos += 2;
                words = self.plain_words();
            } else {
                // Without a list it runs over the arguments.
                words.push(positional());
            }
        }
        self.newlines();
        while self.eat(";") {
            self.newlines();
        }
        let body = if self.keyword() == "{" {
            self.nested_command()
        } else {
            self.close("do");
            let body = self.list(&["done"]);
            self.close("done");
            body
        };
        let redirects = self.redirects();
        if endless {
            let condition = Box::new(Command::Sequence(Vec::new()));
            let body = Command::Loop { condition, body: Box::new(body) };
            return Command::compound(words, body, redirects);
        }
        Command::For { name, words, body: Box::new(body), redirects }
    }

    /// Words up to the end of the command.
    fn plain_words(&mut self) -> Vec<Raw> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.byte() {
                None | Some(b';' | b'\n' | b'&' | b'|' | b')' | b'(') => return words,
                Some(b'<' | b'>') if self.byte_at(1) != Some(b'(') => return words,
                _ => words.push(self.word()),
            }
        }
    }

    fn case(&mut self) -> Command {
        self.pos += 4;
        self.blanks();
        let mut words = vec![self.word()];
        self.newlines();
        if !self.eat("in") {
            self.fail(Problem::Syntax);
        }
        let mut bodies = Vec::new();
        loop {
            self.newlines();
            if self.at_end() || self.keyword() == "esac" {
                break;
            }
            self.eat("(");
            loop {
                let before = self.pos;
                words.extend(self.plain_words());
                if !self.eat("|") || self.pos == before {
                    break;
                }
            }
            if !self.eat(")") {
                self.fail(Problem::Syntax);
                self.pos += self.rest().chars().next().map_or(0, char::len_utf8);
                continue;
            }
            bodies.push(self.list(&["esac"]));
            if !(self.eat(";;&") || self.eat(";;")) {
                self.eat(";&");
            }
            if self.byte() == Some(b')') {
                self.fail(Problem::Syntax);
                self.pos += 1;
            }
        }
        self.close("esac");
        let redirects = self.redirects();
        Command::compound(words, Command::maybe(Command::Sequence(bodies)), redirects)
    }

    fn function_keyword(&mut self) -> Command {
        self.pos += "function".len();
        self.blanks();
        let name = self.keyword().to_owned();
        self.pos += name.len();
        self.blanks();
        if self.eat("(") {
            self.blanks();
            self.eat(")");
        }
        self.newlines();
        Command::Function { name, body: Rc::new(self.nested_command()) }
    }

    /// `[[ … ]]`: only what its words expand to matters.
    fn test(&mut self) -> Command {
        self.pos += 2;
        let mut words = Vec::new();
        loop {
            self.newlines();
            match self.byte() {
                None => {
                    self.fail(Problem::Syntax);
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
        Command::compound(words, Command::empty(), redirects)
    }

    fn simple(&mut self) -> Command {
        self.count_command();
        let start = self.pos;
        let mut end = start;
        let mut simple = Simple {
            assignments: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            text: String::new(),
        };
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect() {
                simple.redirects.push(redirect);
                end = self.pos;
                continue;
            }
            match self.byte() {
                None | Some(b';' | b'\n' | b'&' | b'|' | b')') => break,
                Some(b'(') => {
                    if let ([name], true) = (simple.words.as_slice(), simple.redirects.is_empty())
                        && let Some(name) = name.bare().map(str::to_owned)
                        && self.empty_parentheses()
                    {
                        self.newlines();
                        return Command::Function { name, body: Rc::new(self.nested_command()) };
                    }
                    self.fail(Problem::Syntax);
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
                    simple.assignments.push(Assignment { name, append, value: strip(raw, value) });
                }
                _ => simple.words.push(raw),
            }
        }
        simple.text = self.source.get(start..end).unwrap_or("").to_owned();
        Command::Simple(simple)
    }

    fn empty_parentheses(&mut self) -> bool {
        let inside = self.rest().get(1..).unwrap_or("").trim_start_matches([' ', '\t']);
        if !inside.starts_with(')') {
            return false;
        }
        self.pos = self.source.len() - inside.len() + 1;
        true
    }
}

/// One command by itself, or all of them together.
fn chain(first: Command, mut more: Vec<Command>, all: fn(Vec<Command>) -> Command) -> Command {
    if more.is_empty() {
        return first;
    }
    more.insert(0, first);
    all(more)
}

/// The word without the first `cut` bytes of its first part.
fn strip(mut raw: Raw, cut: usize) -> Raw {
    if let Some(Part::Text { text, .. }) = raw.parts.first_mut() {
        text.drain(..cut.min(text.len()));
        if text.is_empty() {
            raw.parts.remove_first();
        }
    }
    raw
}

fn positional() -> Raw {
    let name = "@".to_owned();
    let operator = crate::syntax::Operator::Plain;
    let argument = Raw::default();
    let parameter = crate::syntax::Parameter { name, operator, argument, quoted: true };
    Part::Parameter(Box::new(parameter)).into()
}
