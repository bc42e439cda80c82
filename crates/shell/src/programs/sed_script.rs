//! Parser for `sed` scripts: what they run, write and read.

/// Effects of a script besides editing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SedEffects<'s> {
    /// The first command that runs a program.
    pub(super) runs: Option<&'s str>,
    /// The files that it writes.
    pub(super) writes: Vec<&'s str>,
    /// The files that it inserts.
    pub(super) reads: Vec<&'s str>,
}

/// Lines beyond this are not parsed separately.
const MAX_LINES: usize = 200;

/// Parses a script. Implementations of sed differ in a few points, such as what
/// a bracket protects, so the script is parsed in more than one way and the
/// effects are combined.
pub(super) fn script_effects(script: &str) -> SedEffects<'_> {
    let mut found = SedEffects::default();
    let mut lost = false;
    for brackets in [true, false] {
        lost |= !SedParser { script, at: 0, brackets, found: &mut found }.script();
    }
    // If a parse failed, each line is parsed separately.
    for line in script.lines().skip(1).take(MAX_LINES).filter(|_| lost) {
        SedParser { script: line, at: 0, brackets: true, found: &mut found }.script();
    }
    found
}

struct SedParser<'s, 'f> {
    script: &'s str,
    at: usize,
    /// Whether a separator in brackets is an ordinary character.
    brackets: bool,
    found: &'f mut SedEffects<'s>,
}

impl<'s> SedParser<'s, '_> {
    fn rest(&self) -> &'s str {
        self.script.get(self.at..).unwrap_or("")
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&is_skipped) {
            self.take();
        }
    }

    /// Consumes the rest of the line.
    fn line(&mut self) -> &'s str {
        let line = self.rest().split('\n').next().unwrap_or("");
        self.at += line.len();
        line
    }

    /// Parses all commands; returns false at the first invalid one.
    fn script(&mut self) -> bool {
        loop {
            self.skip(|c| c.is_whitespace() || c == ';');
            if self.peek().is_none() {
                return true;
            }
            if !self.addresses() || !self.command() {
                return false;
            }
        }
    }

    /// Skips the addresses of a command; returns false if one is invalid.
    fn addresses(&mut self) -> bool {
        loop {
            match self.peek() {
                Some(c) if c.is_ascii_digit() || "$,~+! \t".contains(c) => {
                    self.take();
                }
                Some('/') => {
                    self.take();
                    if !self.expression('/') {
                        return false;
                    }
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                Some('\\') => {
                    self.take();
                    let Some(mark) = self.take() else { return false };
                    if !self.expression(mark) {
                        return false;
                    }
                    self.skip(|c| matches!(c, 'I' | 'M'));
                }
                _ => return true,
            }
        }
    }

    /// Skips past the separator that ends an expression.
    fn expression(&mut self, mark: char) -> bool {
        while let Some(c) = self.take() {
            match c {
                _ if c == mark => return true,
                '\\' => {
                    self.take();
                }
                '[' if self.brackets => self.bracket(),
                _ => {}
            }
        }
        false
    }

    /// Skips past a bracket expression, if it is closed.
    fn bracket(&mut self) {
        let begin = self.at;
        if self.peek() == Some('^') {
            self.take();
        }
        // A leading `]` is an ordinary character.
        if self.peek() == Some(']') {
            self.take();
        }
        while let Some(c) = self.take() {
            match c {
                ']' => return,
                '[' => {
                    let Some(kind) = self.peek().filter(|c| matches!(c, ':' | '.' | '=')) else {
                        continue;
                    };
                    let end: String = [kind, ']'].iter().collect();
                    let inside = self.rest().get(1..).unwrap_or("");
                    if let Some(at) = inside.find(&end) {
                        self.at += 1 + at + end.len();
                    }
                }
                _ => {}
            }
        }
        self.at = begin;
    }

    /// Skips the replacement up to the separator.
    fn replacement(&mut self, mark: char) -> bool {
        while let Some(c) = self.take() {
            if c == mark {
                return true;
            }
            if c == '\\' {
                self.take();
            }
        }
        false
    }

    /// Parses one command; returns false if it is invalid.
    fn command(&mut self) -> bool {
        let begin = self.at;
        let Some(verb) = self.take() else { return false };
        match verb {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x'
            | 'z' | 'F' => {}
            'l' | 'L' | 'q' | 'Q' => self.skip(|c| c.is_ascii_digit() || c == ' '),
            '#' | 'v' => {
                self.line();
            }
            ':' | 'b' | 't' | 'T' => {
                self.skip(|c| c == ' ' || c == '\t');
                self.skip(|c| !c.is_whitespace() && c != ';' && c != '}');
            }
            'a' | 'i' | 'c' => {
                while self.line().ends_with('\\') {
                    self.take();
                }
            }
            'e' => {
                self.line();
                self.record_run(begin);
            }
            'r' | 'R' => {
                let file = self.line().trim().trim_end_matches('}').trim();
                self.found.reads.extend(Some(file).filter(|file| !file.is_empty()));
            }
            'w' | 'W' => self.record_write(),
            'y' => {
                let Some(mark) = self.take() else { return false };
                return self.replacement(mark) && self.replacement(mark);
            }
            's' => {
                let Some(mark) = self.take().filter(|mark| !matches!(mark, '\n' | '\\')) else {
                    return false;
                };
                if !self.expression(mark) || !self.replacement(mark) {
                    return false;
                }
                self.flags(begin);
            }
            _ => return false,
        }
        true
    }

    fn flags(&mut self, begin: usize) {
        let mut runs = false;
        while let Some(flag) = self.peek() {
            match flag {
                'w' => {
                    self.take();
                    self.record_write();
                    break;
                }
                _ if flag.is_ascii_digit() || "gpiImMe".contains(flag) => {
                    runs |= flag == 'e';
                    self.take();
                }
                _ => break,
            }
        }
        // Followed by anything else, the flags are invalid.
        if runs && self.peek().is_none_or(|c| c.is_whitespace() || ";}#".contains(c)) {
            self.record_run(begin);
        }
    }

    fn record_write(&mut self) {
        let file = self.line().trim();
        self.found.writes.extend(Some(file).filter(|file| !file.is_empty()));
    }

    fn record_run(&mut self, begin: usize) {
        let command = self.script.get(begin..self.at).unwrap_or("");
        self.found.runs.get_or_insert(command);
    }
}

#[cfg(test)]
#[path = "sed_script_tests.rs"]
mod tests;
