//! Finds `sudo` calls in a command: only where the word is the name of a
//! command, not where it is text, an argument or part of a pattern.

/// Maximum nesting of contexts.
const MAX_NESTING: usize = 64;

/// Words after which a command begins.
const COMMAND_LEADING_WORDS: [&str; 12] =
    ["then", "do", "else", "elif", "if", "while", "until", "!", "time", "{", "}", "coproc"];

/// Returns the offsets of `sudo` in a command, in order. None if the command
/// cannot be parsed with certainty; then it must not be changed.
pub(super) fn find_sudos(command: &str) -> Option<Vec<usize>> {
    if !command.contains("sudo") {
        return Some(Vec::new());
    }
    let mut scan = SudoScanner {
        text: command,
        at: 0,
        stack: vec![ScanContext::Code(CodeContext::new(CodeEnd::End))],
        heredocs: Vec::new(),
        found: Vec::new(),
    };
    while scan.at < command.len() {
        scan.step()?;
    }
    scan.end_word();
    (scan.stack.len() == 1 && scan.heredocs.is_empty()).then_some(scan.found)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CodeEnd {
    End,
    Paren,
    Backtick,
}

enum ScanContext {
    Code(CodeContext),
    Quoted,
}

/// A sequence of commands.
struct CodeContext {
    close: CodeEnd,
    /// Whether the next word is the name of a command.
    starts: bool,
    /// Whether the next word is the target of a redirection.
    is_target: bool,
    word: Option<WordSpan>,
}

#[derive(Clone, Copy)]
struct WordSpan {
    begin: usize,
    /// Has no quotes and no substitutions.
    is_plain: bool,
}

impl CodeContext {
    fn new(close: CodeEnd) -> Self {
        Self { close, starts: true, is_target: false, word: None }
    }
}

struct SudoScanner<'a> {
    text: &'a str,
    at: usize,
    stack: Vec<ScanContext>,
    heredocs: Vec<(String, bool)>,
    found: Vec<usize>,
}

impl SudoScanner<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(b'\n')
    }

    fn code(&mut self) -> Option<&mut CodeContext> {
        match self.stack.last_mut()? {
            ScanContext::Code(code) => Some(code),
            ScanContext::Quoted => None,
        }
    }

    fn push(&mut self, context: ScanContext, skip: usize) -> Option<()> {
        self.at += skip;
        self.stack.push(context);
        (self.stack.len() <= MAX_NESTING).then_some(())
    }

    fn step(&mut self) -> Option<()> {
        match self.stack.last()? {
            ScanContext::Code(_) => self.step_code(),
            ScanContext::Quoted => self.step_quoted(),
        }
    }

    fn step_quoted(&mut self) -> Option<()> {
        match (self.byte(0), self.byte(1), self.byte(2)) {
            (b'\\', ..) => self.at += 2,
            (b'"', ..) => {
                self.stack.pop();
                self.at += 1;
            }
            (b'$', b'(', b'(') => return self.skip_arithmetic(3),
            (b'$', b'(', _) => {
                return self.push(ScanContext::Code(CodeContext::new(CodeEnd::Paren)), 2);
            }
            (b'`', ..) => {
                return self.push(ScanContext::Code(CodeContext::new(CodeEnd::Backtick)), 1);
            }
            _ => self.at += 1,
        }
        Some(())
    }

    fn step_code(&mut self) -> Option<()> {
        let in_word = self.code()?.word.is_some();
        match (self.byte(0), self.byte(1)) {
            (b'\\', b'\n') => self.at += 2,
            (b'\\', _) => {
                self.mark_word(false);
                self.at += 2;
            }
            (b'\'', _) => {
                self.mark_word(false);
                let rest = self.text.get(self.at + 1..)?;
                self.at += rest.find('\'')? + 2;
            }
            (b'"', _) => {
                self.mark_word(false);
                return self.push(ScanContext::Quoted, 1);
            }
            (b'$', _) => return self.dollar(),
            (b'`', _) if self.code()?.close == CodeEnd::Backtick => return self.pop(),
            (b'`', _) => {
                self.mark_word(false);
                return self.push(ScanContext::Code(CodeContext::new(CodeEnd::Backtick)), 1);
            }
            (b' ' | b'\t' | b'\r', _) => {
                self.end_word();
                self.at += 1;
            }
            (b'\n', _) => {
                self.begin_command();
                return self.skip_heredocs();
            }
            (b'&', b'>') => {
                self.end_word();
                self.at += 1;
            }
            (b';' | b'|' | b'&', _) => self.begin_command(),
            (b'(', next) => return self.open(next, in_word),
            (b')', _) => return self.close(),
            (b'<' | b'>', _) => return self.redirect(),
            (b'#', _) if !in_word => {
                let rest = self.text.get(self.at..)?;
                self.at += rest.find('\n').unwrap_or(rest.len());
            }
            _ => {
                self.mark_word(true);
                // The next byte may be inside a UTF-8 character; no syntax byte
                // is.
                self.at += 1;
            }
        }
        Some(())
    }

    fn dollar(&mut self) -> Option<()> {
        self.mark_word(false);
        match (self.byte(1), self.byte(2)) {
            (b'(', b'(') => self.skip_arithmetic(3),
            (b'(', _) => self.push(ScanContext::Code(CodeContext::new(CodeEnd::Paren)), 2),
            (b'\'', _) => {
                self.at += 2;
                while self.byte(0) != b'\'' {
                    self.at += if self.byte(0) == b'\\' { 2 } else { 1 };
                    (self.at < self.text.len()).then_some(())?;
                }
                self.at += 1;
                Some(())
            }
            // The expansion may contain anything; only simple ones are
            // supported.
            (b'{', _) => {
                let rest = self.text.get(self.at..)?;
                let end = rest.find('}')?;
                let inner = rest.get(2..end)?;
                (!inner.contains(['$', '`', '\'', '"', '\\'])).then_some(())?;
                self.at += end + 1;
                Some(())
            }
            _ => {
                self.at += 1;
                Some(())
            }
        }
    }

    fn open(&mut self, next: u8, in_word: bool) -> Option<()> {
        if in_word && self.text.get(..self.at)?.ends_with('=') {
            // Array elements; only plain words are supported.
            let rest = self.text.get(self.at..)?;
            let end = rest.find(')')?;
            (!rest.get(1..end)?.contains(['(', '`', '\'', '"', '\\'])).then_some(())?;
            self.at += end + 1;
            return Some(());
        }
        self.end_word();
        if next == b'(' && self.code()?.starts {
            return self.skip_arithmetic(2);
        }
        self.push(ScanContext::Code(CodeContext::new(CodeEnd::Paren)), 1)
    }

    fn close(&mut self) -> Option<()> {
        self.end_word();
        if self.code()?.close == CodeEnd::Paren {
            return self.pop();
        }
        // The end of a `case` pattern.
        self.begin_command();
        Some(())
    }

    /// Returns to the enclosing context.
    fn pop(&mut self) -> Option<()> {
        self.end_word();
        self.stack.pop();
        self.at += 1;
        if let Some(code) = self.code()
            && code.word.is_none()
        {
            code.starts = true;
        }
        (!self.stack.is_empty()).then_some(())
    }

    fn skip_arithmetic(&mut self, opening: usize) -> Option<()> {
        let rest = self.text.get(self.at + opening..)?;
        let end = rest.find("))")?;
        (!rest.get(..end)?.contains(['`', '\'', '"', '\\', '\n'])).then_some(())?;
        self.at += opening + end + 2;
        Some(())
    }

    fn redirect(&mut self) -> Option<()> {
        let text = self.text;
        let at = self.at;
        // A leading number is the file descriptor.
        if let Some(code) = self.code()
            && let Some(word) = code.word
            && text.get(word.begin..at)?.bytes().all(|byte| byte.is_ascii_digit())
        {
            code.word = None;
        }
        self.end_word();
        let rest = text.get(at..)?;
        if rest.starts_with("<(") || rest.starts_with(">(") {
            self.mark_word(false);
            return self.push(ScanContext::Code(CodeContext::new(CodeEnd::Paren)), 2);
        }
        if rest.starts_with("<<") && !rest.starts_with("<<<") {
            return self.heredoc();
        }
        self.at += rest.len() - rest.trim_start_matches(['<', '>']).len();
        if matches!(self.byte(0), b'&' | b'|') {
            self.at += 1;
        }
        self.code()?.is_target = true;
        Some(())
    }

    fn heredoc(&mut self) -> Option<()> {
        let rest = self.text.get(self.at + 2..)?;
        let (rest, strips) = rest.strip_prefix('-').map_or((rest, false), |rest| (rest, true));
        let rest = rest.trim_start_matches([' ', '\t']);
        let end = rest.find([' ', '\t', '\n', ';', '|', '&', ')', '<', '>']).unwrap_or(rest.len());
        let word: String =
            rest.get(..end)?.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        (!word.is_empty()).then_some(())?;
        self.heredocs.push((word, strips));
        self.at = self.text.len() - rest.len() + end;
        Some(())
    }

    /// Skips the here-documents announced before this newline.
    fn skip_heredocs(&mut self) -> Option<()> {
        for (word, strips) in std::mem::take(&mut self.heredocs) {
            loop {
                let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
                let line = rest.lines().next().unwrap_or_default();
                self.at = (self.at + line.len() + 1).min(self.text.len());
                let line = if strips { line.trim_start_matches('\t') } else { line };
                if line == word {
                    break;
                }
            }
        }
        Some(())
    }

    /// Starts or continues a word.
    fn mark_word(&mut self, is_plain: bool) {
        let begin = self.at;
        if let Some(code) = self.code() {
            let word = code.word.get_or_insert(WordSpan { begin, is_plain: true });
            word.is_plain &= is_plain;
        }
    }

    fn begin_command(&mut self) {
        self.end_word();
        self.at += 1;
        if let Some(code) = self.code() {
            code.starts = true;
            code.is_target = false;
        }
    }

    fn end_word(&mut self) {
        let (text, at) = (self.text, self.at);
        let Some(code) = self.code() else { return };
        let Some(word) = code.word.take() else { return };
        if std::mem::take(&mut code.is_target) || !code.starts {
            return;
        }
        let written = text.get(word.begin..at).unwrap_or_default();
        if is_assignment(written) || (word.is_plain && COMMAND_LEADING_WORDS.contains(&written)) {
            return;
        }
        code.starts = false;
        let rest = text.get(at..).unwrap_or_default();
        let is_sudo = word.is_plain && (written == "sudo" || written.ends_with("/sudo"));
        if is_sudo && rest.starts_with([' ', '\t']) && wants_password(rest) {
            self.found.push(word.begin);
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Short options of `sudo` with a value, which may follow in the same word.
const VALUED_SHORT_OPTIONS: &str = "aCcDgpRrTtUu";
/// Short options of `sudo` after which it does not prompt on the terminal.
const PROMPTLESS_SHORT_OPTIONS: &str = "SAnKVh";
/// Long options of `sudo` with a value, which may be the next word.
const VALUED_LONG_OPTIONS: [&str; 13] = [
    "auth-type",
    "chdir",
    "chroot",
    "close-from",
    "command-timeout",
    "group",
    "host",
    "login-class",
    "other-user",
    "prompt",
    "role",
    "type",
    "user",
];
/// Long options of `sudo` after which it does not prompt on the terminal.
const PROMPTLESS_LONG_OPTIONS: [&str; 5] =
    ["stdin", "askpass", "non-interactive", "remove-timestamp", "version"];

/// What an option of `sudo` means here.
enum SudoOption {
    Plain,
    /// Its value is the next word.
    TakesNextWord,
    /// There is no prompt on the terminal.
    Promptless,
}

/// Whether `sudo` would prompt for a password: no option specifies how, or
/// forbids it.
fn wants_password(arguments: &str) -> bool {
    let mut rest = arguments;
    while let Some((word, after)) = next_word(rest) {
        rest = after;
        let option = match word.strip_prefix('-') {
            None if is_assignment(word) => SudoOption::Plain,
            None | Some("" | "-") => return true,
            Some(name) => match name.strip_prefix('-') {
                Some(name) => long_option(name),
                None => short_options(name),
            },
        };
        match option {
            SudoOption::Plain => {}
            SudoOption::TakesNextWord => rest = next_word(rest).map_or("", |(_, after)| after),
            SudoOption::Promptless => return false,
        }
    }
    true
}

fn long_option(name: &str) -> SudoOption {
    if PROMPTLESS_LONG_OPTIONS.contains(&name) {
        SudoOption::Promptless
    } else if VALUED_LONG_OPTIONS.contains(&name) {
        SudoOption::TakesNextWord
    } else {
        SudoOption::Plain
    }
}

/// Parses the letters of a word with short options.
fn short_options(letters: &str) -> SudoOption {
    for (at, letter) in letters.char_indices() {
        let is_last = at + letter.len_utf8() == letters.len();
        // `-h` has an optional value: with one, it names a host.
        if VALUED_SHORT_OPTIONS.contains(letter) || (letter == 'h' && !is_last) {
            return if is_last { SudoOption::TakesNextWord } else { SudoOption::Plain };
        }
        if PROMPTLESS_SHORT_OPTIONS.contains(letter) {
            return SudoOption::Promptless;
        }
    }
    SudoOption::Plain
}

/// Splits off the next word of a simple command; none at its end.
fn next_word(text: &str) -> Option<(&str, &str)> {
    let mut text = text.trim_start_matches([' ', '\t']);
    while let Some(next_line) = text.strip_prefix("\\\n") {
        text = next_line.trim_start_matches([' ', '\t']);
    }
    let (mut quote, mut is_escaped) = (None, false);
    let ends_word = |sign: char| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match (quote, sign) {
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(sign),
            (Some(open), _) if open == sign => quote = None,
            (Some(_), _) => {}
            (None, _) => return sign.is_whitespace() || ";|&<>()".contains(sign),
        }
        false
    };
    let end = text.find(ends_word).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
