//! Result of an analysis: leaves and findings.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_core::{Effect, Scope};

use crate::text::program_name;

/// Analysis of a whole command.
#[derive(Debug, Clone, Default)]
pub struct CommandAnalysis {
    /// Every simple command that would run, in order.
    pub leaves: Vec<LeafCommand>,
    /// Findings about the command as a whole.
    pub findings: Vec<CommandFinding>,
    /// Whether a shell in it runs the command's standard input.
    pub runs_stdin: bool,
}

impl CommandAnalysis {
    /// All findings: those of the whole command and of its leaves.
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
    /// Its source, for messages.
    pub text: String,
    /// The programs it runs under, outermost first.
    pub wrappers: Vec<String>,
    /// Its effects.
    pub effects: Vec<Effect>,
    /// What needs approval or is blocked.
    pub findings: Vec<CommandFinding>,
    /// The globs of what it changes, unexpanded, since they may go through
    /// symlinks. If it removes the contents of a directory, a glob of all of
    /// them.
    pub globs: Vec<(Scope, PathBuf)>,
    /// Globs of what it may change where that is only known at run time. They
    /// do not affect the ruling.
    pub runtime_globs: Vec<(Scope, PathBuf)>,
    /// The paths that it deletes by name. A glob instead has an effect on its
    /// directory, whose other entries stay.
    pub deletes: Vec<PathBuf>,
    /// What it places where; the effects name only the targets.
    pub transfers: Vec<Transfer>,
    /// The words before each wrapper was removed.
    pub(crate) unwrapped_words: Vec<Arc<[ShellWord]>>,
    /// The program that it is or runs under, if not an installed one: what is
    /// known about the name does not apply to it.
    pub(crate) local_program: Option<String>,
    /// Known to change nothing.
    pub(crate) reads_only: bool,
    /// Reads a file that is unknown before it runs.
    pub(crate) reads_unknown_file: bool,
    /// Files run as programs or scripts.
    pub(crate) run_files: Vec<PathBuf>,
    /// Files and directories whose code it loads, which only matters if that
    /// code is foreign.
    pub(crate) loaded_code: Vec<PathBuf>,
    /// Directories that it downloads into.
    pub(crate) downloads_into: Vec<PathBuf>,
    /// Compiles code that the same command writes and that may have side
    /// effects.
    pub(crate) suspicious_build: bool,
    /// Files that it makes executable.
    pub(crate) made_executable: Vec<PathBuf>,
    /// Links that it creates: path and target.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

impl LeafCommand {
    /// Whether it is known to change nothing and to use no network.
    pub fn is_read_only(&self) -> bool {
        self.reads_only && self.findings.is_empty() && self.effects.iter().all(is_harmless)
    }

    /// Program and subcommand, without options: `git push`, `npm run test`,
    /// `ls`. Starts with `sudo` if it runs under that, and with the path of a
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
        // Above 64 effects, duplicates are cheaper than comparisons.
        if self.effects.len() > 64 || !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }
}

/// A file placed at a target. Which file it creates or replaces depends on what
/// exists there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The source, possibly a glob; `None` if only the program knows.
    pub source: Option<PathBuf>,
    /// The target as given.
    pub target: PathBuf,
    /// How the target is used.
    pub target_mode: TargetMode,
}

/// Where a file placed at a target ends up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetMode {
    /// In the target under its own name if that is a directory, else at the
    /// target.
    IntoIfDir,
    /// In the target, under its own name.
    Into,
    /// At the target; directories are merged.
    Replace,
}

fn is_harmless(effect: &Effect) -> bool {
    effect.scope == Scope::TERMINAL_EXECUTE || effect.scope.verb() == "read"
}

/// A word of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellWord {
    /// The text, or the source if it is only known at run time.
    pub text: String,
    /// Whether the text is what the program sees. A glob is known although it
    /// expands.
    pub known: bool,
    /// Whether the shell expands it as a glob.
    pub glob: bool,
    pub(crate) taint: TextTaint,
    /// The output of a process substitution, or the contents of a file that the
    /// same command wrote.
    pub(crate) content: Option<String>,
    /// Placeholder for the output of a process substitution.
    pub(crate) prints: Option<&'static str>,
    /// Globs of the paths that an unknown word may contain.
    pub(crate) hints: Vec<String>,
    /// Whether its unknown parts are only numbers, names and paths of existing
    /// files.
    pub(crate) named: bool,
    /// How much of it is only known at run time.
    pub(crate) runtime_extent: RuntimeExtent,
}

/// How much of a word is only known at run time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RuntimeExtent {
    /// Nothing, or a part after the start.
    #[default]
    NotAtStart,
    /// The start: it may turn out to be an option.
    Start,
    /// The whole word.
    Whole,
}

/// Placeholder for a number that is only known at run time.
pub(crate) const NUMBER_PLACEHOLDER: &str = "$(number)";
/// Placeholder for a name.
pub(crate) const NAME_PLACEHOLDER: &str = "$(name)";
/// Placeholder for the path of an existing file below the working directory.
pub(crate) const FOUND_PATH_PLACEHOLDER: &str = "$(found)";
/// Placeholder for words read from a list.
pub(crate) const LIST_INPUT_PLACEHOLDER: &str = "$input";
/// Placeholder for a path derived from a [`FOUND_PATH_PLACEHOLDER`].
pub(crate) const NEAR_PATH_PLACEHOLDER: &str = "$(near)";

impl ShellWord {
    /// A known word.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        ShellWord { text: text.into(), known: true, ..ShellWord::default() }
    }

    /// Whether its unknown part is a path below the working directory.
    pub(crate) fn is_below_cwd(&self) -> bool {
        let text = self.text.as_str();
        !self.known
            && self.named
            && (text.contains(FOUND_PATH_PLACEHOLDER) || text.contains(NEAR_PATH_PLACEHOLDER))
            && !text.starts_with(['/', '~'])
            && !text.split('/').any(|part| part == "..")
    }

    /// Whether it is exactly the path of an existing file.
    pub(crate) fn is_found_path(&self) -> bool {
        !self.known && self.named && self.text == FOUND_PATH_PLACEHOLDER
    }

    /// Whether it is the input of `xargs`, including quotes and options.
    pub(crate) fn is_list_input(&self) -> bool {
        !self.known && self.text == LIST_INPUT_PLACEHOLDER
    }

    /// A glob of what it may be, if its unknown part is only a part of a name,
    /// neither a directory nor `..`, or a path below the working directory.
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

/// Origin of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TextTaint(u8);

impl TextTaint {
    pub(crate) const REMOTE: TextTaint = TextTaint(1);
    pub(crate) const DECODED: TextTaint = TextTaint(2);
    pub(crate) const SECRET: TextTaint = TextTaint(4);
    /// Output of a command that may have inspected files or the machine.
    pub(crate) const COMPUTED: TextTaint = TextTaint(8);
    /// Never ends.
    pub(crate) const ENDLESS: TextTaint = TextTaint(16);
    /// Read once from a file or a pipe.
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

/// A danger to ask about or to block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFinding {
    /// Severity.
    pub level: FindingLevel,
    /// The kind of danger, in kebab case.
    pub category: &'static str,
    /// One sentence for the user.
    pub reason: String,
}

impl CommandFinding {
    /// A finding that needs approval.
    pub fn ask(category: &'static str, reason: impl Into<String>) -> Self {
        CommandFinding { level: FindingLevel::Ask, category, reason: reason.into() }
    }

    pub(crate) fn block(category: &'static str, reason: impl Into<String>) -> Self {
        CommandFinding { level: FindingLevel::Block, category, reason: reason.into() }
    }
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingLevel {
    /// Needs approval.
    Ask,
    /// Never.
    Block,
}
