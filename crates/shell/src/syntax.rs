//! The shape of a shell script after reading: commands made of words, words
//! made of parts. Nothing is expanded yet.

use std::cell::OnceCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A command of any kind.
#[derive(Debug)]
pub(crate) enum Command {
    /// Words, assignments and redirects.
    Simple(Simple),
    /// `a | b`: every stage runs by itself.
    Pipeline(Vec<Command>),
    /// One after the other in the same shell.
    Sequence(Vec<Command>),
    /// `a &`.
    Background(Box<Command>),
    /// `( … )`.
    Subshell(Box<Command>, Vec<Redirect>),
    /// May run or not: what it changes in the shell is not certain afterwards.
    Maybe(Box<Command>),
    /// Runs if what stands before it has succeeded, as it mostly does.
    Then(Box<Command>),
    /// `while` and `until`: the body runs as long as the condition wishes.
    Loop { condition: Box<Command>, body: Box<Command> },
    /// `coproc a`: somebody will speak to it later.
    Coproc(Box<Command>),
    /// `{ … }`, `if`, `case`: the words are read, the body runs.
    Compound { words: Vec<Raw>, body: Box<Command>, redirects: Vec<Redirect> },
    /// `for name in words`.
    For { name: String, words: Vec<Raw>, body: Box<Command>, redirects: Vec<Redirect> },
    /// `name() body`.
    Function { name: String, body: Rc<Command> },
}

impl Command {
    /// Nothing at all.
    pub(crate) fn empty() -> Self {
        Command::Sequence(Vec::new())
    }

    /// A command that may be left out.
    pub(crate) fn maybe(inner: Command) -> Self {
        Command::Maybe(Box::new(inner))
    }

    /// A compound of these.
    pub(crate) fn compound(words: Vec<Raw>, body: Command, redirects: Vec<Redirect>) -> Self {
        Command::Compound { words, body: Box::new(body), redirects }
    }
}

/// A simple command.
#[derive(Debug)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Raw>,
    pub(crate) redirects: Vec<Redirect>,
    /// The source of it.
    pub(crate) text: String,
}

/// `name=value`, before a command or alone.
#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) append: bool,
    pub(crate) value: Raw,
}

/// `> file`, `<< EOF` and the like.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) kind: RedirectKind,
    pub(crate) target: Rc<OnceCell<Raw>>,
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
    /// `<<`: the target is the text itself.
    Text,
    /// `<<<`: the target is the text, with a line end after it.
    Line,
}

/// A word as written.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pub(crate) parts: Parts,
}

/// The parts of a word. Most words have but one, which needs no memory of its
/// own.
#[derive(Debug)]
pub(crate) enum Parts {
    One(Part),
    Many(Vec<Part>),
}

impl Default for Parts {
    fn default() -> Self {
        Parts::Many(Vec::new())
    }
}

impl Deref for Parts {
    type Target = [Part];

    fn deref(&self) -> &[Part] {
        match self {
            Parts::One(part) => std::slice::from_ref(part),
            Parts::Many(parts) => parts,
        }
    }
}

impl DerefMut for Parts {
    fn deref_mut(&mut self) -> &mut [Part] {
        match self {
            Parts::One(part) => std::slice::from_mut(part),
            Parts::Many(parts) => parts,
        }
    }
}

impl Parts {
    pub(crate) fn push(&mut self, part: Part) {
        *self = match std::mem::take(self) {
            Parts::One(first) => Parts::Many(vec![first, part]),
            Parts::Many(parts) if parts.is_empty() => Parts::One(part),
            Parts::Many(mut parts) => {
                parts.push(part);
                Parts::Many(parts)
            }
        };
    }

    /// Takes the first one away.
    pub(crate) fn remove_first(&mut self) {
        match self {
            Parts::Many(parts) if !parts.is_empty() => drop(parts.remove(0)),
            _ => *self = Parts::default(),
        }
    }

    /// All of them, as a list.
    pub(crate) fn into_vec(self) -> Vec<Part> {
        match self {
            Parts::One(part) => vec![part],
            Parts::Many(parts) => parts,
        }
    }
}

impl Raw {
    /// The text, if the word has no quotes and nothing to expand.
    pub(crate) fn bare(&self) -> Option<&str> {
        match &*self.parts {
            [Part::Text { text, quoted: false }] => Some(text),
            _ => None,
        }
    }

    /// A word that stands for exactly this text.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Part::Text { text: text.into(), quoted: true }.into()
    }
}

impl From<Part> for Raw {
    fn from(part: Part) -> Self {
        Raw { parts: Parts::One(part) }
    }
}

/// A piece of a word.
#[derive(Debug)]
pub(crate) enum Part {
    Text {
        text: String,
        quoted: bool,
    },
    Parameter(Box<Parameter>),
    /// `$(…)` or backticks.
    Output {
        body: Box<Command>,
        quoted: bool,
    },
    /// `<(…)` or `>(…)`.
    Process {
        body: Box<Command>,
        writes: bool,
    },
    /// `$((…))`: what is inside may run commands.
    Arithmetic(Vec<Part>),
    /// `(a b c)` after `name=`.
    Array(Vec<Raw>),
}

/// `$name` or `${name…}`.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) operator: Operator,
    pub(crate) argument: Raw,
    pub(crate) quoted: bool,
}

/// What is done to a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Plain,
    /// `${!name}`: what the variable of that name holds.
    Indirect,
    /// `:-`, `-`.
    Default,
    /// `:=`, `=`: the variable keeps the value.
    Assign,
    /// `:+`, `+`.
    Alternate,
    /// Anything else: the result is not worked out.
    Other,
}

/// Why a script could not be read as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Not valid shell.
    Syntax,
    /// Nested further, or longer, than anybody writes.
    TooComplex,
}
