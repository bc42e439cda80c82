//! Syntax tree of a shell script: commands consist of words, words of parts.
//! Nothing is expanded yet.

use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A command of any kind.
#[derive(Debug)]
pub(crate) enum ShellCommand {
    /// Words, assignments and redirects.
    Simple(SimpleCommand),
    /// `a | b`: every stage runs in its own subshell.
    Pipeline(Vec<ShellCommand>),
    /// One after the other in the same shell.
    Sequence(Vec<ShellCommand>),
    /// `a &`.
    Background(Box<ShellCommand>),
    /// `( … )`.
    Subshell(Box<ShellCommand>, Vec<ShellRedirect>),
    /// May or may not run, so its changes to the shell are uncertain
    /// afterwards.
    Conditional(Box<ShellCommand>),
    /// Runs if the preceding command succeeds, as it usually does.
    AndThen(Box<ShellCommand>),
    /// `while` and `until`: the condition decides how often the body runs.
    Loop { condition: Box<ShellCommand>, body: Box<ShellCommand> },
    /// `coproc a`: a later command may write to its input.
    Coproc(Box<ShellCommand>),
    /// `{ … }`, `if`, `case`: the words are expanded, the body runs.
    Compound { words: Vec<RawWord>, body: Box<ShellCommand>, redirects: Vec<ShellRedirect> },
    /// `for name in words`.
    For {
        name: String,
        words: Vec<RawWord>,
        body: Box<ShellCommand>,
        redirects: Vec<ShellRedirect>,
    },
    /// `name() body`.
    Function { name: String, body: Rc<ShellCommand> },
}

impl ShellCommand {
    /// An empty command.
    pub(crate) fn empty() -> Self {
        ShellCommand::Sequence(Vec::new())
    }

    /// A command that may not run.
    pub(crate) fn conditional(inner: ShellCommand) -> Self {
        ShellCommand::Conditional(Box::new(inner))
    }

    /// A compound command.
    pub(crate) fn compound(
        words: Vec<RawWord>,
        body: ShellCommand,
        redirects: Vec<ShellRedirect>,
    ) -> Self {
        ShellCommand::Compound { words, body: Box::new(body), redirects }
    }
}

/// A simple command.
#[derive(Debug)]
pub(crate) struct SimpleCommand {
    pub(crate) assignments: Vec<VariableAssignment>,
    pub(crate) words: Vec<RawWord>,
    pub(crate) redirects: Vec<ShellRedirect>,
    /// Its source.
    pub(crate) text: String,
}

/// `name=value`, before a command or alone.
#[derive(Debug)]
pub(crate) struct VariableAssignment {
    pub(crate) name: String,
    pub(crate) append: bool,
    pub(crate) value: RawWord,
}

/// `> file`, `<< EOF` and the like.
#[derive(Debug, Clone)]
pub(crate) struct ShellRedirect {
    pub(crate) kind: RedirectKind,
    pub(crate) target: Rc<OnceCell<RawWord>>,
}

/// What a redirect does with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    /// `>>`.
    Append,
    ReadWrite,
    /// `>&word`: a file unless the word is a number or `-`.
    Duplicate,
    /// `<<`: the target is the text.
    Heredoc,
    /// `<<<`: the target is the text, followed by a newline.
    HereString,
}

/// A word as written.
#[derive(Debug, Default)]
pub(crate) struct RawWord {
    pub(crate) parts: WordParts,
}

/// The parts of a word. Most words have a single part, which needs no
/// allocation.
#[derive(Debug)]
pub(crate) enum WordParts {
    One(WordPart),
    Many(Vec<WordPart>),
}

impl Default for WordParts {
    fn default() -> Self {
        WordParts::Many(Vec::new())
    }
}

impl Deref for WordParts {
    type Target = [WordPart];

    fn deref(&self) -> &[WordPart] {
        match self {
            WordParts::One(part) => std::slice::from_ref(part),
            WordParts::Many(parts) => parts,
        }
    }
}

impl DerefMut for WordParts {
    fn deref_mut(&mut self) -> &mut [WordPart] {
        match self {
            WordParts::One(part) => std::slice::from_mut(part),
            WordParts::Many(parts) => parts,
        }
    }
}

impl WordParts {
    pub(crate) fn push(&mut self, part: WordPart) {
        *self = match std::mem::take(self) {
            WordParts::One(first) => WordParts::Many(vec![first, part]),
            WordParts::Many(parts) if parts.is_empty() => WordParts::One(part),
            WordParts::Many(mut parts) => {
                parts.push(part);
                WordParts::Many(parts)
            }
        };
    }

    /// Removes the first part.
    pub(crate) fn remove_first(&mut self) {
        match self {
            WordParts::Many(parts) if !parts.is_empty() => drop(parts.remove(0)),
            _ => *self = WordParts::default(),
        }
    }

    /// Converts the parts to a vector.
    pub(crate) fn into_vec(self) -> Vec<WordPart> {
        match self {
            WordParts::One(part) => vec![part],
            WordParts::Many(parts) => parts,
        }
    }
}

impl RawWord {
    /// Returns the text, if the word has no quotes and no expansions.
    pub(crate) fn unquoted_text(&self) -> Option<&str> {
        match &*self.parts {
            [WordPart::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// A word for exactly this text.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        WordPart::Text { text: text.into(), quoted: true }.into()
    }
}

impl From<WordPart> for RawWord {
    fn from(part: WordPart) -> Self {
        RawWord { parts: WordParts::One(part) }
    }
}

/// A piece of a word.
#[derive(Debug)]
pub(crate) enum WordPart {
    Text {
        text: String,
        quoted: bool,
    },
    Parameter(Box<ParameterExpansion>),
    /// `$(…)` or backticks.
    CommandSubstitution {
        body: Box<ShellCommand>,
        quoted: bool,
    },
    /// `<(…)` or `>(…)`.
    ProcessSubstitution {
        body: Box<ShellCommand>,
        writes: bool,
    },
    /// `$((…))`: the expression may run commands.
    Arithmetic(Vec<WordPart>),
    /// `(a b c)` after `name=`.
    Array(Vec<RawWord>),
}

/// `$name` or `${name…}`.
#[derive(Debug)]
pub(crate) struct ParameterExpansion {
    pub(crate) name: String,
    pub(crate) operator: ParameterOperator,
    pub(crate) argument: RawWord,
    pub(crate) quoted: bool,
}

/// The operator of a parameter expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterOperator {
    Plain,
    /// `${!name}`: the value of the variable named by `name`.
    Indirect,
    /// `:-`, `-`.
    Default,
    /// `:=`, `=`: also assigns the value.
    Assign,
    /// `:+`, `+`.
    Alternate,
    /// Any other operator; the result is not computed.
    Other,
}

/// Why a script could not be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParseProblem {
    /// Not valid shell.
    Syntax,
    /// Nested more deeply, or longer, than the parser accepts.
    TooComplex,
}
