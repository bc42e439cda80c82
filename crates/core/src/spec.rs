//! Everything that is known of a tool before it runs.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;

type StaticText = Cow<'static, str>;

/// Another name for a tool, with arguments that it fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAlias {
    /// The other name.
    pub name: StaticText,
    /// A JSON object that is merged under the caller's arguments.
    pub preset_arguments: Option<StaticText>,
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
pub struct ToolAnnotations {
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
pub struct ToolExample {
    /// What it shows, as a sentence.
    pub title: StaticText,
    /// The arguments, as a JSON object.
    pub arguments: StaticText,
    /// Files to be there, relative to the working folder.
    pub files: Vec<(StaticText, StaticText)>,
    /// A JSON object that the result must contain.
    pub expected: Option<StaticText>,
}

/// A tool's description of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// The canonical name; `[a-zA-Z0-9_-]{1,64}`.
    pub name: StaticText,
    /// The toolset that owns it.
    pub toolset: StaticText,
    /// What it does, for the model.
    pub description: StaticText,
    /// The glyph shown beside a call.
    pub emoji: StaticText,
    /// Other names.
    pub aliases: Vec<ToolAlias>,
    /// Other spellings of top-level parameters: from, to.
    pub parameter_aliases: Vec<(StaticText, StaticText)>,
    /// Environment variables without which it is unavailable.
    pub requires_env: Vec<StaticText>,
    /// What it is like.
    pub annotations: ToolAnnotations,
    /// The bound on its results.
    pub result_limit: ResultLimit,
    /// How long it may take; none means the engine's default.
    pub timeout: Option<Duration>,
    /// Words that people search it by, beyond its name and description.
    pub keywords: Vec<StaticText>,
    /// Calls that show its use.
    pub examples: Vec<ToolExample>,
    /// Whether it tells of every change to a file itself, while it holds it
    /// ([`crate::ChangeReporter`]). What other tools declare is kept beforehand.
    pub reports_changes: bool,
    /// Whether its calls may run beside other such calls of the same scope,
    /// though each may change something: whoever does the work looks after
    /// that itself, and the order is nobody's concern.
    pub unordered: bool,
    /// Whether a call without effects reaches nobody, though others reach
    /// beyond this machine: what such a call says is not a stranger's.
    pub open_world_by_effects: bool,
}

impl ToolSpec {
    /// A tool of that name in that toolset.
    pub fn new(name: impl Into<StaticText>, toolset: impl Into<StaticText>) -> Self {
        Self {
            name: name.into(),
            toolset: toolset.into(),
            description: StaticText::Borrowed(""),
            emoji: StaticText::Borrowed("⚡"),
            aliases: Vec::new(),
            parameter_aliases: Vec::new(),
            requires_env: Vec::new(),
            annotations: ToolAnnotations::default(),
            result_limit: ResultLimit::Default,
            timeout: None,
            keywords: Vec::new(),
            examples: Vec::new(),
            reports_changes: false,
            unordered: false,
            open_world_by_effects: false,
        }
    }

    /// What it does, for the model.
    #[must_use]
    pub fn description(mut self, text: impl Into<StaticText>) -> Self {
        self.description = text.into();
        self
    }

    /// The glyph shown beside a call.
    #[must_use]
    pub fn emoji(mut self, glyph: impl Into<StaticText>) -> Self {
        self.emoji = glyph.into();
        self
    }

    /// Another name.
    #[must_use]
    pub fn alias(mut self, name: impl Into<StaticText>) -> Self {
        self.aliases.push(ToolAlias { name: name.into(), preset_arguments: None });
        self
    }

    /// Another name that fixes some arguments (a JSON object).
    #[must_use]
    pub fn preset_alias(
        mut self,
        name: impl Into<StaticText>,
        arguments: impl Into<StaticText>,
    ) -> Self {
        self.aliases
            .push(ToolAlias { name: name.into(), preset_arguments: Some(arguments.into()) });
        self
    }

    /// Another spelling of a parameter.
    #[must_use]
    pub fn parameter_alias(
        mut self,
        from: impl Into<StaticText>,
        to: impl Into<StaticText>,
    ) -> Self {
        self.parameter_aliases.push((from.into(), to.into()));
        self
    }

    /// An environment variable without which the tool is unavailable.
    #[must_use]
    pub fn requires_env(mut self, name: impl Into<StaticText>) -> Self {
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

    /// It tells of every change to a file itself: see [`crate::ChangeReporter`].
    #[must_use]
    pub fn reports_changes(mut self) -> Self {
        self.reports_changes = true;
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
        self.open_world_by_effects = true;
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
    pub fn keyword(mut self, word: impl Into<StaticText>) -> Self {
        self.keywords.push(word.into());
        self
    }

    /// A call that shows its use.
    #[must_use]
    pub fn example(mut self, example: ToolExample) -> Self {
        self.examples.push(example);
        self
    }
}

impl ToolExample {
    /// An example with these arguments (a JSON object).
    pub fn new(title: impl Into<StaticText>, arguments: impl Into<StaticText>) -> Self {
        Self { title: title.into(), arguments: arguments.into(), files: Vec::new(), expected: None }
    }

    /// A file that must be there.
    #[must_use]
    pub fn file(mut self, path: impl Into<StaticText>, content: impl Into<StaticText>) -> Self {
        self.files.push((path.into(), content.into()));
        self
    }

    /// A JSON object that the result must contain.
    #[must_use]
    pub fn expects(mut self, subset: impl Into<StaticText>) -> Self {
        self.expected = Some(subset.into());
        self
    }
}
