//! Static metadata of a tool.

use std::borrow::Cow;
use std::time::Duration;

use crate::InlineCode;

use serde::Serialize;

type StaticText = Cow<'static, str>;

/// Another name for a tool, with preset arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAlias {
    /// The alias.
    pub name: StaticText,
    /// A JSON object merged under the caller's arguments.
    pub preset_arguments: Option<StaticText>,
}

/// How large a result may be before it is spilled to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultLimit {
    /// The engine's default, scaled to the model's context window.
    #[default]
    Default,
    /// At most this many characters, and never more than the default.
    Chars(usize),
    /// The tool bounds its results; spilling would only make the model read
    /// them back.
    Unbounded,
}

/// Behavior hints for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ToolAnnotations {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool may destroy data irrecoverably.
    pub destructive: bool,
    /// Repeating a call has no further effect.
    pub idempotent: bool,
    /// The tool reaches beyond this machine.
    pub open_world: bool,
}

/// A call that shows what the tool is for. Every example runs as a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolExample {
    /// What the example shows, as a sentence.
    pub title: StaticText,
    /// The arguments, as a JSON object.
    pub arguments: StaticText,
    /// Files to create first, relative to the working directory.
    pub files: Vec<(StaticText, StaticText)>,
    /// A JSON object that the result must contain.
    pub expected: Option<StaticText>,
}

/// Static metadata of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSpec {
    /// The canonical name; `[a-zA-Z0-9_-]{1,64}`.
    pub name: StaticText,
    /// The toolset it belongs to.
    pub toolset: StaticText,
    /// The description shown to the model.
    pub description: StaticText,
    /// The emoji shown next to a call.
    pub emoji: StaticText,
    /// Other names.
    pub aliases: Vec<ToolAlias>,
    /// Other spellings of top-level parameters: from, to.
    pub parameter_aliases: Vec<(StaticText, StaticText)>,
    /// Environment variables that the tool requires.
    pub requires_env: Vec<StaticText>,
    /// Behavior hints.
    pub annotations: ToolAnnotations,
    /// The limit on its results.
    pub result_limit: ResultLimit,
    /// The timeout of a call; none means the engine's default.
    pub timeout: Option<Duration>,
    /// Search keywords beyond its name and description.
    pub keywords: Vec<StaticText>,
    /// Example calls.
    pub examples: Vec<ToolExample>,
    /// Whether the tool reports every file change while it holds the file
    /// ([`crate::ChangeReporter`]). For other tools, declared files are
    /// checkpointed beforehand.
    pub reports_changes: bool,
    /// Whether its calls may run concurrently with other such calls of the same
    /// scope even if they change something: the implementation synchronizes
    /// them, and their order does not matter.
    pub unordered: bool,
    /// Whether calls of one batch for the same path run in call order, because
    /// a result may refer to an earlier one.
    pub in_call_order: bool,
    /// Whether only calls that declare effects reach beyond this machine. The
    /// output of a call without effects is then trusted.
    pub open_world_by_effects: bool,
    /// The parameters with code that a call runs, and its language.
    pub code_parameters: Option<(StaticText, StaticText)>,
}

impl ToolSpec {
    /// Returns the metadata of tool `name` in `toolset`.
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
            in_call_order: false,
            open_world_by_effects: false,
            code_parameters: None,
        }
    }

    /// Sets the description shown to the model.
    #[must_use]
    pub fn description(mut self, text: impl Into<StaticText>) -> Self {
        self.description = text.into();
        self
    }

    /// Sets the emoji shown next to a call.
    #[must_use]
    pub fn emoji(mut self, glyph: impl Into<StaticText>) -> Self {
        self.emoji = glyph.into();
        self
    }

    /// Adds an alias.
    #[must_use]
    pub fn alias(mut self, name: impl Into<StaticText>) -> Self {
        self.aliases.push(ToolAlias { name: name.into(), preset_arguments: None });
        self
    }

    /// Adds an alias with preset arguments (a JSON object).
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

    /// Adds another spelling of a parameter.
    #[must_use]
    pub fn parameter_alias(
        mut self,
        from: impl Into<StaticText>,
        to: impl Into<StaticText>,
    ) -> Self {
        self.parameter_aliases.push((from.into(), to.into()));
        self
    }

    /// Adds a required environment variable.
    #[must_use]
    pub fn requires_env(mut self, name: impl Into<StaticText>) -> Self {
        self.requires_env.push(name.into());
        self
    }

    /// Marks the tool as read-only, and therefore idempotent.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = true;
        self.annotations.idempotent = true;
        self
    }

    /// Marks the tool as destructive.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.annotations.destructive = true;
        self
    }

    /// Marks the tool as idempotent.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// Declares that the tool reports every file change: see
    /// [`crate::ChangeReporter`].
    #[must_use]
    pub fn reports_changes(mut self) -> Self {
        self.reports_changes = true;
        self
    }

    /// Makes its calls for the same path run in call order.
    #[must_use]
    pub fn in_call_order(mut self) -> Self {
        self.in_call_order = true;
        self
    }

    /// Allows its calls to run in any order among others of the same scope.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.unordered = true;
        self
    }

    /// Declares that the tool reaches beyond this machine.
    #[must_use]
    pub fn open_world(mut self) -> Self {
        self.annotations.open_world = true;
        self
    }

    /// Declares that only calls with declared effects reach beyond this
    /// machine.
    #[must_use]
    pub fn open_world_by_effects(mut self) -> Self {
        self.open_world_by_effects = true;
        self.open_world()
    }

    /// Sets the limit on its results.
    #[must_use]
    pub fn result_limit(mut self, limit: ResultLimit) -> Self {
        self.result_limit = limit;
        self
    }

    /// Sets the timeout of a call.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Names the parameters with code that a call runs, and its language, so
    /// that the policy examines it. Without a language it is Python.
    #[must_use]
    pub fn runs_code(
        mut self,
        code: impl Into<StaticText>,
        language: impl Into<StaticText>,
    ) -> Self {
        self.code_parameters = Some((code.into(), language.into()));
        self
    }

    /// Returns the code in the arguments of a call.
    pub fn inline_code<'a>(&self, arguments: &'a serde_json::Value) -> Option<InlineCode<'a>> {
        let (code, language) = self.code_parameters.as_ref()?;
        let text = |name: &str| arguments.get(name).and_then(serde_json::Value::as_str);
        Some(InlineCode { language: text(language).unwrap_or("python"), text: text(code)? })
    }

    /// Adds a search keyword.
    #[must_use]
    pub fn keyword(mut self, word: impl Into<StaticText>) -> Self {
        self.keywords.push(word.into());
        self
    }

    /// Adds an example call.
    #[must_use]
    pub fn example(mut self, example: ToolExample) -> Self {
        self.examples.push(example);
        self
    }
}

impl ToolExample {
    /// Returns an example with these arguments (a JSON object).
    pub fn new(title: impl Into<StaticText>, arguments: impl Into<StaticText>) -> Self {
        Self { title: title.into(), arguments: arguments.into(), files: Vec::new(), expected: None }
    }

    /// Adds a file that must exist.
    #[must_use]
    pub fn file(mut self, path: impl Into<StaticText>, content: impl Into<StaticText>) -> Self {
        self.files.push((path.into(), content.into()));
        self
    }

    /// Sets a JSON object that the result must contain.
    #[must_use]
    pub fn expects(mut self, subset: impl Into<StaticText>) -> Self {
        self.expected = Some(subset.into());
        self
    }
}
