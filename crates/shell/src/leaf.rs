//! The answer of an analysis: leaves and findings.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::{Effect, Scope};

use crate::text::program_name;

/// What a whole command would do.
#[derive(Debug, Clone, Default)]
pub struct CommandAnalysis {
    /// Every simple command that would run, in order.
    pub leaves: Vec<LeafCommand>,
    /// What is to be said of the command as a whole.
    pub findings: Vec<CommandFinding>,
    /// Whether a shell in it runs what comes on the input of the whole.
    pub runs_stdin: bool,
}

impl CommandAnalysis {
    /// All findings: of the whole command and of its leaves.
    pub fn all_findings(&self) -> impl Iterator<Item = &CommandFinding> {
        self.findings.iter().chain(self.leaves.iter().flat_map(|leaf| &leaf.findings))
    }

    /// The strictest level found.
    pub fn level(&self) -> Option<FindingLevel> {
        self.all_findings().map(|finding| finding.level).max()
    }
}

/// One simple command that would run, or a bare redirect or assignment, whose
/// program is empty.
#[derive(Debug, Clone, Default)]
pub struct LeafCommand {
    /// The base name of the program: `rm` for `/usr/bin/rm`, `\rm`, `r''m`.
    pub program: String,
    /// All words including the program, after unquoting.
    pub words: Arc<[ShellWord]>,
    /// The source of it, for messages.
    pub text: String,
    /// The programs it runs under, outermost first.
    pub wrappers: Vec<String>,
    /// What it does.
    pub effects: Vec<Effect>,
    /// What somebody should be asked about, or what must not be.
    pub findings: Vec<CommandFinding>,
    /// What it changes by patterns, which may lead through links: each whole
    /// pattern. Of what it removes from within a folder, everything in it.
    pub globs: Vec<(Scope, PathBuf)>,
    /// Patterns of what it may change where that is only known when it runs.
    /// Nothing is judged by them.
    pub runtime_globs: Vec<(Scope, PathBuf)>,
    /// What it deletes by its own name. A pattern has an effect on its folder,
    /// of which it leaves the rest alone.
    pub deletes: Vec<PathBuf>,
    /// What it puts where; the effects name only the latter.
    pub transfers: Vec<Transfer>,
    /// The words before each wrapper was taken off.
    pub(crate) unwrapped_words: Vec<Arc<[ShellWord]>>,
    /// The program that it is or runs under, if that is no installed one: what
    /// is known of the name does not hold for it.
    pub(crate) local_program: Option<String>,
    /// Known to leave everything as it was.
    pub(crate) reads_only: bool,
    /// Reads a file of which nothing is known before it runs.
    pub(crate) reads_unknown_file: bool,
    /// Files that are run as programs or scripts.
    pub(crate) run_files: Vec<PathBuf>,
    /// Files and folders whose code it takes in, which only matters if
    /// somebody else wrote it.
    pub(crate) loaded_code: Vec<PathBuf>,
    /// Folders that it fills with something downloaded.
    pub(crate) downloads_into: Vec<PathBuf>,
    /// Compiles code that the same command writes and that may act on its own.
    pub(crate) suspicious_build: bool,
    /// Files that are made executable.
    pub(crate) made_executable: Vec<PathBuf>,
    /// Links that are made: where, and what they lead to.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

impl LeafCommand {
    /// Whether it is known to change nothing and to reach nobody.
    pub fn is_read_only(&self) -> bool {
        self.reads_only && self.findings.is_empty() && self.effects.iter().all(is_harmless)
    }

    /// Program and subcommand, without options: `git push`, `npm run test`,
    /// `ls`. Starts with `sudo` if it runs under that, and with the place of a
    /// program that is not installed.
    pub fn prefix(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        if let Some(raised) =
            self.wrappers.iter().find(|via| matches!(via.as_str(), "sudo" | "doas"))
        {
            all.push(raised.clone());
        }
        all.extend(self.local_program.clone());
        if self.local_program.as_deref().is_none_or(|own| program_name(own) != self.program) {
            all.push(self.program.clone());
        }
        all.extend(
            crate::command_pattern::subcommand(&self.program, &self.words).into_iter().cloned(),
        );
        all
    }

    pub(crate) fn add_finding(&mut self, finding: CommandFinding) {
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    pub(crate) fn add_effect(&mut self, effect: Effect) {
        // Thousands of files are rather said twice than compared with all others.
        if self.effects.len() > 64 || !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }
}

/// Something that is put somewhere. Which file that makes or replaces depends
/// on what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// What comes, maybe a pattern; none if only the program knows.
    pub source: Option<PathBuf>,
    /// Where it was said to go.
    pub target: PathBuf,
    /// Where in there.
    pub target_mode: TargetMode,
}

/// Where something comes to lie that is put at a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetMode {
    /// In it under its own name if it is a folder, else in its place.
    IntoIfDir,
    /// In it, under its own name.
    Into,
    /// In its place, or what is in the one into the other.
    Replace,
}

fn is_harmless(effect: &Effect) -> bool {
    effect.scope == Scope::TERMINAL_EXECUTE || effect.scope.verb() == "read"
}

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellWord {
    /// What it says. Where that is only known at run time, the source.
    pub text: String,
    /// Whether the text is what the program will see. A glob is known although
    /// it expands.
    pub known: bool,
    /// Whether the shell would expand it as a glob.
    pub glob: bool,
    pub(crate) taint: TextTaint,
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
    pub(crate) runtime_extent: RuntimeExtent,
}

/// How much of a word is only known at run time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RuntimeExtent {
    /// Nothing, or something behind its beginning.
    #[default]
    NotAtStart,
    /// Its beginning: it may turn out to be an option.
    Start,
    /// All of it.
    Whole,
}

/// Stands in a word for a number that is only known when it runs.
pub(crate) const NUMBER_PLACEHOLDER: &str = "$(number)";
/// The same for a name.
pub(crate) const NAME_PLACEHOLDER: &str = "$(name)";
/// The same for the path of a file that is there, below the folder.
pub(crate) const FOUND_PATH_PLACEHOLDER: &str = "$(found)";
/// Stands for words that are read from a list.
pub(crate) const LIST_INPUT_PLACEHOLDER: &str = "$input";
/// The same as [`FOUND_PATH_PLACEHOLDER`] for a path that was made of one of those.
pub(crate) const NEAR_PATH_PLACEHOLDER: &str = "$(near)";

impl ShellWord {
    /// A word that is known.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        ShellWord { text: text.into(), known: true, ..ShellWord::default() }
    }

    /// Whether what is not known of it is a path below the folder.
    pub(crate) fn is_below_cwd(&self) -> bool {
        let text = self.text.as_str();
        !self.known
            && self.named
            && (text.contains(FOUND_PATH_PLACEHOLDER) || text.contains(NEAR_PATH_PLACEHOLDER))
            && !text.starts_with(['/', '~'])
            && !text.split('/').any(|part| part == "..")
    }

    /// Whether it is the path of a file that is there, and nothing else.
    pub(crate) fn is_found_path(&self) -> bool {
        !self.known && self.named && self.text == FOUND_PATH_PLACEHOLDER
    }

    /// Whether it is what `xargs` reads, quotes and options included.
    pub(crate) fn is_list_input(&self) -> bool {
        !self.known && self.text == LIST_INPUT_PLACEHOLDER
    }

    /// A glob of what it may be, if what is not known of it is only a part of
    /// a name, neither a folder nor the way out of one, or a path that is near.
    pub(crate) fn as_glob(&self) -> Option<Self> {
        if self.known || !self.named {
            return None;
        }
        let text = self.text.replace(NUMBER_PLACEHOLDER, "[0-9]*").replace(NAME_PLACEHOLDER, "*");
        let says_nothing =
            |part: &str| part.contains('*') && part.trim_matches(['*', '.']).is_empty();
        if text.split('/').any(says_nothing) {
            return None;
        }
        let text = text.replace(FOUND_PATH_PLACEHOLDER, "**").replace(NEAR_PATH_PLACEHOLDER, "**");
        Some(Self { text, known: true, glob: true, ..self.clone() })
    }

    /// The text, if it is known.
    pub(crate) fn known_text(&self) -> Option<&str> {
        self.known.then_some(self.text.as_str())
    }
}

/// Where text came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextTaint(u8);

impl TextTaint {
    pub(crate) const REMOTE: TextTaint = TextTaint(1);
    pub(crate) const DECODED: TextTaint = TextTaint(2);
    pub(crate) const SECRET: TextTaint = TextTaint(4);
    /// Made by a command that may have looked at files or at the machine.
    pub(crate) const COMPUTED: TextTaint = TextTaint(8);
    /// Goes on for ever.
    pub(crate) const ENDLESS: TextTaint = TextTaint(16);
    /// Read from a file or a pipe, once.
    pub(crate) const FOREIGN: TextTaint = TextTaint(32);

    pub(crate) fn with(self, other: TextTaint) -> TextTaint {
        TextTaint(self.0 | other.0)
    }

    pub(crate) fn without(self, other: TextTaint) -> TextTaint {
        TextTaint(self.0 & !other.0)
    }

    pub(crate) fn has(self, other: TextTaint) -> bool {
        self.0 & other.0 != 0
    }
}

/// Something to ask about or to refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFinding {
    /// How serious.
    pub level: FindingLevel,
    /// The kind of danger, in kebab case.
    pub category: &'static str,
    /// A sentence for people.
    pub reason: String,
}

impl CommandFinding {
    /// One that somebody should be asked about.
    pub fn ask(category: &'static str, reason: impl Into<String>) -> Self {
        CommandFinding { level: FindingLevel::Ask, category, reason: reason.into() }
    }

    pub(crate) fn block(category: &'static str, reason: impl Into<String>) -> Self {
        CommandFinding { level: FindingLevel::Block, category, reason: reason.into() }
    }
}

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingLevel {
    /// Somebody should be asked.
    Ask,
    /// Never.
    Block,
}
