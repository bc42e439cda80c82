//! The answer of an analysis: leaves and findings.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::{Effect, Scope};

use crate::text::program_name;

/// What a whole command would do.
#[derive(Debug, Clone, Default)]
pub struct Analysis {
    /// Every simple command that would run, in order.
    pub leaves: Vec<Leaf>,
    /// What is to be said of the command as a whole.
    pub findings: Vec<Finding>,
    /// Whether a shell in it runs what comes on the input of the whole.
    pub reads_code: bool,
}

impl Analysis {
    /// All findings: of the whole command and of its leaves.
    pub fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(self.leaves.iter().flat_map(|leaf| &leaf.findings))
    }

    /// The strictest level found.
    pub fn level(&self) -> Option<Level> {
        self.all_findings().map(|finding| finding.level).max()
    }
}

/// One simple command that would run, or a bare redirect or assignment, whose
/// program is empty.
#[derive(Debug, Clone, Default)]
pub struct Leaf {
    /// The base name of the program: `rm` for `/usr/bin/rm`, `\rm`, `r''m`.
    pub program: String,
    /// All words including the program, after unquoting.
    pub words: Arc<[Word]>,
    /// The source of it, for messages.
    pub text: String,
    /// The programs it runs under, outermost first.
    pub via: Vec<String>,
    /// What it does.
    pub effects: Vec<Effect>,
    /// What somebody should be asked about, or what must not be.
    pub findings: Vec<Finding>,
    /// What it changes by patterns, which may lead through links: each whole
    /// pattern. Of what it removes from within a folder, everything in it.
    pub globs: Vec<(Scope, PathBuf)>,
    /// Patterns of what it may change where that is only known when it runs.
    /// Nothing is judged by them.
    pub supposed: Vec<(Scope, PathBuf)>,
    /// What it deletes by its own name. A pattern has an effect on its folder,
    /// of which it leaves the rest alone.
    pub deletes: Vec<PathBuf>,
    /// What it puts where; the effects name only the latter.
    pub arrivals: Vec<Arrival>,
    /// The words before each wrapper was taken off.
    pub(crate) outer: Vec<Arc<[Word]>>,
    /// The program that it is or runs under, if that is no installed one: what
    /// is known of the name does not hold for it.
    pub(crate) local: Option<String>,
    /// Known to leave everything as it was.
    pub(crate) reads_only: bool,
    /// Reads a file of which nothing is known before it runs.
    pub(crate) reads_blindly: bool,
    /// Files that are run as programs or scripts.
    pub(crate) runs: Vec<PathBuf>,
    /// Files and folders whose code it takes in, which only matters if
    /// somebody else wrote it.
    pub(crate) loads: Vec<PathBuf>,
    /// Folders that it fills with something downloaded.
    pub(crate) brings: Vec<PathBuf>,
    /// Compiles code that the same command writes and that may act on its own.
    pub(crate) dubious: bool,
    /// Files that are made executable.
    pub(crate) enables: Vec<PathBuf>,
    /// Links that are made: where, and what they lead to.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

impl Leaf {
    /// Whether it is known to change nothing and to reach nobody.
    pub fn is_read_only(&self) -> bool {
        self.reads_only && self.findings.is_empty() && self.effects.iter().all(harmless)
    }

    /// Program and subcommand, without options: `git push`, `npm run test`,
    /// `ls`. Starts with `sudo` if it runs under that, and with the place of a
    /// program that is not installed.
    pub fn prefix(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        if let Some(raised) = self.via.iter().find(|via| matches!(via.as_str(), "sudo" | "doas")) {
            all.push(raised.clone());
        }
        all.extend(self.local.clone());
        if self.local.as_deref().is_none_or(|own| program_name(own) != self.program) {
            all.push(self.program.clone());
        }
        all.extend(crate::pattern::subcommand(&self.program, &self.words).into_iter().cloned());
        all
    }

    pub(crate) fn find(&mut self, finding: Finding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        // Thousands of files are rather said twice than compared with all others.
        if self.effects.len() > 64 || !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }
}

/// Something that is put somewhere. Which file that makes or replaces depends
/// on what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// What comes, maybe a pattern; none if only the program knows.
    pub source: Option<PathBuf>,
    /// Where it was said to go.
    pub target: PathBuf,
    /// Where in there.
    pub landing: Landing,
}

/// Where something comes to lie that is put at a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// In it under its own name if it is a folder, else in its place.
    Either,
    /// In it, under its own name.
    Inside,
    /// In its place, or what is in the one into the other.
    Instead,
}

fn harmless(effect: &Effect) -> bool {
    effect.scope == Scope::TERMINAL_EXECUTE || effect.scope.verb() == "read"
}

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// What it says. Where that is only known at run time, the source.
    pub text: String,
    /// Whether the text is what the program will see. A glob is known although
    /// it expands.
    pub known: bool,
    /// Whether the shell would expand it as a glob.
    pub glob: bool,
    pub(crate) taint: Taint,
    /// What a process substitution would print, or a file holds that the same
    /// command wrote.
    pub(crate) content: Option<String>,
    /// What stands for what a process substitution would print.
    pub(crate) prints: Option<&'static str>,
    /// Globs of the paths that an unknown word may hold.
    pub(crate) hints: Vec<String>,
    /// What is not known of it are numbers, names and paths of files that are
    /// here.
    pub(crate) named: bool,
    /// How much of it is only known at run time.
    pub(crate) open: Open,
}

/// How much of a word is only known at run time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Open {
    /// Nothing, or something behind its beginning.
    #[default]
    Within,
    /// Its beginning: it may turn out to be an option.
    Start,
    /// All of it.
    Whole,
}

/// Stands in a word for a number that is only known when it runs.
pub(crate) const NUMBER: &str = "$(number)";
/// The same for a name.
pub(crate) const NAME: &str = "$(name)";
/// The same for the path of a file that is there, below the folder.
pub(crate) const FOUND: &str = "$(found)";
/// Stands for words that are read from a list.
pub(crate) const LISTED: &str = "$input";
/// The same as [`FOUND`] for a path that was made of one of those.
pub(crate) const NEAR: &str = "$(near)";

impl Word {
    /// A word that is known.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Word { text: text.into(), known: true, ..Word::default() }
    }

    /// Whether what is not known of it is a path below the folder.
    pub(crate) fn is_near(&self) -> bool {
        let text = self.text.as_str();
        !self.known
            && self.named
            && (text.contains(FOUND) || text.contains(NEAR))
            && !text.starts_with(['/', '~'])
            && !text.split('/').any(|part| part == "..")
    }

    /// Whether it is the path of a file that is there, and nothing else.
    pub(crate) fn is_found(&self) -> bool {
        !self.known && self.named && self.text == FOUND
    }

    /// Whether it is what `xargs` reads, quotes and options included.
    pub(crate) fn is_listed(&self) -> bool {
        !self.known && self.text == LISTED
    }

    /// A glob of what it may be, if what is not known of it is only a part of
    /// a name, neither a folder nor the way out of one, or a path that is near.
    pub(crate) fn as_glob(&self) -> Option<Self> {
        if self.known || !self.named {
            return None;
        }
        let text = self.text.replace(NUMBER, "[0-9]*").replace(NAME, "*");
        let says_nothing =
            |part: &str| part.contains('*') && part.trim_matches(['*', '.']).is_empty();
        if text.split('/').any(says_nothing) {
            return None;
        }
        let text = text.replace(FOUND, "**").replace(NEAR, "**");
        Some(Self { text, known: true, glob: true, ..self.clone() })
    }

    /// The text, if it is known.
    pub(crate) fn known(&self) -> Option<&str> {
        self.known.then_some(self.text.as_str())
    }
}

/// Where text came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Taint(u8);

impl Taint {
    pub(crate) const REMOTE: Taint = Taint(1);
    pub(crate) const DECODED: Taint = Taint(2);
    pub(crate) const SECRET: Taint = Taint(4);
    /// Made by a command that may have looked at files or at the machine.
    pub(crate) const COMPUTED: Taint = Taint(8);
    /// Goes on for ever.
    pub(crate) const ENDLESS: Taint = Taint(16);
    /// Read from a file or a pipe, once.
    pub(crate) const FOREIGN: Taint = Taint(32);

    pub(crate) fn with(self, other: Taint) -> Taint {
        Taint(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Taint) -> Taint {
        Taint(self.0 & !other.0)
    }

    pub(crate) fn has(self, other: Taint) -> bool {
        self.0 & other.0 != 0
    }
}

/// Something to ask about or to refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How serious.
    pub level: Level,
    /// The kind of danger, in kebab case.
    pub category: &'static str,
    /// A sentence for people.
    pub reason: String,
}

impl Finding {
    /// One that somebody should be asked about.
    pub fn ask(category: &'static str, reason: impl Into<String>) -> Self {
        Finding { level: Level::Ask, category, reason: reason.into() }
    }

    pub(crate) fn block(category: &'static str, reason: impl Into<String>) -> Self {
        Finding { level: Level::Block, category, reason: reason.into() }
    }
}

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Somebody should be asked.
    Ask,
    /// Never.
    Block,
}
