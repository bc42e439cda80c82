//! Parses the expression of `find`: which tests have passed when an action
//! runs. A test that comes later, or on the other side of an `-o`, does not
//! restrict it.

use crate::leaf::ShellWord;

/// Tests with a value that exclude most files.
const NARROWING_TESTS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-size",
    "-perm",
    "-samefile",
    "-inum",
    "-links",
    "-lname",
    "-ilname",
];

/// Tests without a value that exclude most files.
const NARROWING_BARE_TESTS: &[&str] = &["-empty", "-nouser", "-nogroup"];

/// Other words without a value.
const BARE_WORDS: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-daystart",
    "-follow",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-mount",
    "-xdev",
    "-noleaf",
    "-readable",
    "-writable",
    "-executable",
    "-true",
    "-false",
    "-warn",
    "-nowarn",
    "-exit",
    "-hidden",
    "-nohidden",
    "-unique",
];

/// The tests that must have passed before an action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PassedTests {
    /// A test that excludes most files.
    pub(super) narrowed: bool,
    /// A test for names of generated files.
    pub(super) generated: bool,
}

impl PassedTests {
    fn and(self, other: Self) -> Self {
        Self {
            narrowed: self.narrowed || other.narrowed,
            generated: self.generated || other.generated,
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            narrowed: self.narrowed && other.narrowed,
            generated: self.generated && other.generated,
        }
    }
}

/// An action on the files found.
#[derive(Debug)]
pub(super) struct FindAction<'w> {
    /// `-delete`, `-exec`, `-fprint`, …
    pub(super) name: &'w str,
    /// Its command or its file.
    pub(super) words: &'w [ShellWord],
    /// The tests passed before it.
    pub(super) passed: PassedTests,
}

/// All actions of an expression.
pub(super) fn actions(words: &[ShellWord]) -> Vec<FindAction<'_>> {
    let mut reader = FindParser { words, at: 0, lost: false, actions: Vec::new() };
    reader.list(PassedTests::default(), 0);
    reader.actions
}

/// Maximum nesting depth of parentheses.
const MAX_PARENTHESES_DEPTH: usize = 50;

struct FindParser<'w> {
    words: &'w [ShellWord],
    at: usize,
    /// Whether the structure is lost: no test restricts later actions.
    lost: bool,
    actions: Vec<FindAction<'w>>,
}

impl<'w> FindParser<'w> {
    fn text(&self) -> Option<&'w str> {
        self.words.get(self.at).map(|word| word.text.as_str())
    }

    /// Parses alternatives up to the end or a closing parenthesis; returns the
    /// tests passed if the whole is true.
    fn list(&mut self, before: PassedTests, depth: usize) -> PassedTests {
        let mut whole: Option<PassedTests> = None;
        loop {
            let chain = self.chain(before, depth);
            match self.text() {
                Some("-o" | "-or") => {
                    whole = Some(whole.map_or(chain, |whole| whole.or(chain)));
                }
                // Only the last part determines the result.
                Some(",") => whole = None,
                _ => return whole.map_or(chain, |whole| whole.or(chain)),
            }
            self.at += 1;
        }
    }

    /// Parses a sequence of tests and actions joined by "and".
    fn chain(&mut self, before: PassedTests, depth: usize) -> PassedTests {
        let mut own = PassedTests::default();
        let mut negated = false;
        while let Some(word) = self.words.get(self.at) {
            let now = before.and(own);
            let test = match word.text.as_str() {
                "-o" | "-or" | "," => break,
                ")" if depth > 0 => break,
                "-a" | "-and" => {
                    self.at += 1;
                    continue;
                }
                "!" | "-not" => {
                    negated = !negated;
                    self.at += 1;
                    continue;
                }
                "(" if depth < MAX_PARENTHESES_DEPTH => {
                    self.at += 1;
                    let inner = self.list(now, depth + 1);
                    self.at += 1;
                    // A negated group guarantees nothing.
                    if negated { PassedTests::default() } else { inner }
                }
                // It may expand to any words, including `-o`.
                text if !word.known || text == "(" => {
                    self.lost = true;
                    self.at += 1;
                    continue;
                }
                _ => {
                    let test = self.primary(now);
                    if negated { PassedTests::default() } else { test }
                }
            };
            own = own.and(test);
            negated = false;
        }
        own
    }

    /// Parses one test or action.
    fn primary(&mut self, now: PassedTests) -> PassedTests {
        let Some(name) = self.text() else { return PassedTests::default() };
        self.at += 1;
        match name {
            "-delete" => self.push_action(name, 0, now),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                self.push_action(name, self.command_len(), now)
            }
            "-fprint" | "-fprint0" | "-fls" => self.push_action(name, 1, now),
            "-fprintf" => self.push_action(name, 2, now),
            _ if NARROWING_BARE_TESTS.contains(&name) => {
                return PassedTests { narrowed: true, generated: false };
            }
            _ if BARE_WORDS.contains(&name) || !name.starts_with('-') => {}
            _ => return self.test(name),
        }
        PassedTests::default()
    }

    fn push_action(&mut self, name: &'w str, len: usize, passed: PassedTests) {
        let end = self.words.len().min(self.at + len);
        let words = self.words.get(self.at..end).unwrap_or(&[]);
        self.at = end;
        let passed = if self.lost { PassedTests::default() } else { passed };
        self.actions.push(FindAction { name, words, passed });
    }

    /// The number of words in a command.
    fn command_len(&self) -> usize {
        let rest = self.words.get(self.at..).unwrap_or(&[]);
        let ends = |index: usize, word: &ShellWord| {
            let found = || index.checked_sub(1).and_then(|before| rest.get(before));
            word.text == ";" || (word.text == "+" && found().is_some_and(|w| w.text == "{}"))
        };
        rest.iter().enumerate().position(|(index, word)| ends(index, word)).unwrap_or(rest.len())
    }

    /// Parses a test with its value. An unknown test may have none.
    fn test(&mut self, name: &str) -> PassedTests {
        let narrows = NARROWING_TESTS.contains(&name) || name.starts_with("-newer");
        let value = self.words.get(self.at);
        let is_value = |text: &str| narrows || !(text.starts_with('-') || is_operator(text));
        let Some(value) = value.filter(|value| is_value(&value.text)) else {
            return PassedTests::default();
        };
        self.at += 1;
        let by_name = matches!(name, "-name" | "-iname");
        PassedTests {
            narrowed: narrows && !matches!(value.text.as_str(), "*" | "**" | ".*" | "*.*" | "?*"),
            generated: by_name && value.known && super::destructive::is_generated(&value.text),
        }
    }
}

fn is_operator(text: &str) -> bool {
    matches!(text, "(" | ")" | "!" | ",")
}

#[cfg(test)]
#[path = "find_expression_tests.rs"]
mod tests;
