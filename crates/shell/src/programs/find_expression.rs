//! The expression of `find`: which of its tests have passed when one of its
//! actions is taken. A test that comes later, or on the other side of an
//! `-o`, holds nothing back.

use crate::leaf::ShellWord;

/// Tests that leave out most of what is there, with their value.
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

/// The same, without a value.
const NARROWING_BARE_TESTS: &[&str] = &["-empty", "-nouser", "-nogroup"];

/// Other words that stand alone.
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

/// What must have come true before something is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PassedTests {
    /// Some test that leaves out most of what is there.
    pub(super) narrowed: bool,
    /// A test for names of files that a build makes again.
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

/// Something that is done to what is found.
#[derive(Debug)]
pub(super) struct FindAction<'w> {
    /// `-delete`, `-exec`, `-fprint`, …
    pub(super) name: &'w str,
    /// Its command or its file.
    pub(super) words: &'w [ShellWord],
    /// What has passed by then.
    pub(super) passed: PassedTests,
}

/// All that an expression does.
pub(super) fn actions(words: &[ShellWord]) -> Vec<FindAction<'_>> {
    let mut reader = FindParser { words, at: 0, lost: false, actions: Vec::new() };
    reader.list(PassedTests::default(), 0);
    reader.actions
}

/// Deeper parentheses are not followed.
const MAX_PARENTHESES_DEPTH: usize = 50;

struct FindParser<'w> {
    words: &'w [ShellWord],
    at: usize,
    /// Whether it is no longer known what belongs together: nothing holds
    /// back what comes now.
    lost: bool,
    actions: Vec<FindAction<'w>>,
}

impl<'w> FindParser<'w> {
    fn text(&self) -> Option<&'w str> {
        self.words.get(self.at).map(|word| word.text.as_str())
    }

    /// Alternatives up to the end or a closing parenthesis; what has passed
    /// when the whole is true.
    fn list(&mut self, before: PassedTests, depth: usize) -> PassedTests {
        let mut whole: Option<PassedTests> = None;
        loop {
            let chain = self.chain(before, depth);
            match self.text() {
                Some("-o" | "-or") => {
                    whole = Some(whole.map_or(chain, |whole| whole.or(chain)));
                }
                // Only what comes last counts for the whole.
                Some(",") => whole = None,
                _ => return whole.map_or(chain, |whole| whole.or(chain)),
            }
            self.at += 1;
        }
    }

    /// Tests and actions one after the other, as long as all are true.
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
                    // Turned round, it may be anything.
                    if negated { PassedTests::default() } else { inner }
                }
                // It may stand for any words, `-o` among them.
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

    /// One test or action.
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

    /// How many words a command has.
    fn command_len(&self) -> usize {
        let rest = self.words.get(self.at..).unwrap_or(&[]);
        let ends = |index: usize, word: &ShellWord| {
            let found = || index.checked_sub(1).and_then(|before| rest.get(before));
            word.text == ";" || (word.text == "+" && found().is_some_and(|w| w.text == "{}"))
        };
        rest.iter().enumerate().position(|(index, word)| ends(index, word)).unwrap_or(rest.len())
    }

    /// A test with its value. One that nobody knows may have none.
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
