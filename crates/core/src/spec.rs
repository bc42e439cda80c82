//! Everything that is known of a tool before it runs.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

type Text = Cow<'static, str>;

/// Another name for a tool, with arguments that it fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    /// The other name.
    pub name: Text,
    /// A JSON object that is merged under the caller's arguments.
    pub preset: Option<Text>,
}

/// How much of a result may reach the model before it is put into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultLimit {
    /// The engine's default, scaled to the model's window.
    #[default]
    Default,
    /// At most this many characters, and never more than the default.
    Chars(usize),
    /// The tool bounds itself; spilling would only make the model read it back.
    Unbounded,
}

/// What kind of thing the tool does, for clients that decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Annotations {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy what cannot be brought back.
    pub destructive: bool,
    /// Doing it twice is doing it once.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}

/// A call that shows what the tool is for. Every example runs as a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// What it shows, as a sentence.
    pub title: Text,
    /// The arguments, as a JSON object.
    pub arguments: Text,
    /// Files to be there, relative to the working folder.
    pub given: Vec<(Text, Text)>,
    /// A JSON object that the result must contain.
    pub gives: Option<Text>,
}

/// A tool's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// The canonical name; `[a-zA-Z0-9_-]{1,64}`.
    pub name: Text,
    /// The toolset that owns it.
    pub toolset: Text,
    /// What it does, for the model.
    pub description: Text,
    /// The glyph shown beside a call.
    pub emoji: Text,
    /// Other names.
    pub aliases: Vec<Alias>,
    /// Other spellings of top-level parameters: from, to.
    pub parameter_aliases: Vec<(Text, Text)>,
    /// Environment variables without which it is unavailable.
    pub requires_env: Vec<Text>,
    /// What it is like.
    pub annotations: Annotations,
    /// The bound on its results.
    pub result_limit: ResultLimit,
    /// How long it may take; none means the engine's default.
    pub timeout: Option<Duration>,
    /// Words that people search it by, beyond its name and description.
    pub keywords: Vec<Text>,
    /// Calls that show its use.
    pub examples: Vec<Example>,
    /// Whether it tells of every change to a file itself, while it holds it
    /// ([`crate::Replacing`]). What other tools declare is kept beforehand.
    pub announces_changes: bool,
    /// Whether its calls may run beside other such calls of the same scope,
    /// though each may change something: whoever does the work looks after
    /// that itself, and the order is nobody's concern.
    pub unordered: bool,
    /// Whether a call without effects reaches nobody, though others reach
    /// beyond this machine: what such a call says is not a stranger's.
    pub declares_reach: bool,
}

impl ToolSpec {
    /// A tool of that name in that toolset.
    pub fn new(name: impl Into<Text>, toolset: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            toolset: toolset.into(),
            description: Text::Borrowed(""),
            emoji: Text::Borrowed("⚡"),
            aliases: Vec::new(),
            parameter_aliases: Vec::new(),
            requires_env: Vec::new(),
            annotations: Annotations::default(),
            result_limit: ResultLimit::Default,
            timeout: None,
            keywords: Vec::new(),
            examples: Vec::new(),
            announces_changes: false,
            unordered: false,
            declares_reach: false,
        }
    }

    /// What it does, for the model.
    #[must_use]
    pub fn description(mut self, text: impl Into<Text>) -> Self {
        self.description = text.into();
        self
    }

    /// The glyph shown beside a call.
    #[must_use]
    pub fn emoji(mut self, glyph: impl Into<Text>) -> Self {
        self.emoji = glyph.into();
        self
    }

    /// Another name.
    #[must_use]
    pub fn alias(mut self, name: impl Into<Text>) -> Self {
        self.aliases.push(Alias { name: name.into(), preset: None });
        self
    }

    /// Another name that fixes some arguments (a JSON object).
    #[must_use]
    pub fn preset(mut self, name: impl Into<Text>, arguments: impl Into<Text>) -> Self {
        self.aliases.push(Alias { name: name.into(), preset: Some(arguments.into()) });
        self
    }

    /// Another spelling of a parameter.
    #[must_use]
    pub fn parameter_alias(mut self, from: impl Into<Text>, to: impl Into<Text>) -> Self {
        self.parameter_aliases.push((from.into(), to.into()));
        self
    }

    /// An environment variable without which the tool is unavailable.
    #[must_use]
    pub fn requires_env(mut self, name: impl Into<Text>) -> Self {
        self.requires_env.push(name.into());
        self
    }

    /// It changes nothing, and so may be repeated.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = true;
        self.annotations.idempotent = true;
        self
    }

    /// It may destroy something.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.annotations.destructive = true;
        self
    }

    /// Doing it twice is doing it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// It tells of every change to a file itself: see [`crate::Replacing`].
    #[must_use]
    pub fn announces_changes(mut self) -> Self {
        self.announces_changes = true;
        self
    }

    /// Its calls need not keep their order among others of the same scope.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.unordered = true;
        self
    }

    /// It reaches beyond this machine.
    #[must_use]
    pub fn open_world(mut self) -> Self {
        self.annotations.open_world = true;
        self
    }

    /// It reaches beyond this machine in those calls that declare effects, and
    /// in no other.
    #[must_use]
    pub fn open_world_by_effects(mut self) -> Self {
        self.declares_reach = true;
        self.open_world()
    }

    /// The bound on its results.
    #[must_use]
    pub fn result_limit(mut self, limit: ResultLimit) -> Self {
        self.result_limit = limit;
        self
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// A word that people search it by.
    #[must_use]
    pub fn keyword(mut self, word: impl Into<Text>) -> Self {
        self.keywords.push(word.into());
        self
    }

    /// A call that shows its use.
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.examples.push(example);
        self
    }
}

impl Example {
    /// An example with these arguments (a JSON object).
    pub fn new(title: impl Into<Text>, arguments: impl Into<Text>) -> Self {
        Self { title: title.into(), arguments: arguments.into(), given: Vec::new(), gives: None }
    }

    /// A file that must be there.
    #[must_use]
    pub fn given(mut self, path: impl Into<Text>, content: impl Into<Text>) -> Self {
        self.given.push((path.into(), content.into()));
        self
    }

    /// A JSON object that the result must contain.
    #[must_use]
    pub fn gives(mut self, subset: impl Into<Text>) -> Self {
        self.gives = Some(subset.into());
        self
    }
}
