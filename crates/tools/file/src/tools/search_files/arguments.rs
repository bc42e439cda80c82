//! Arguments of `search_files` and their aliases.

use hermes_core::{JsonSchema, ToolExample, ToolSpec};
use hermes_search::{SortOrder, split_globs};
use serde::{Deserialize, Serialize};

use crate::aliases;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::schema_trim::omit_empty_defaults)]
pub(crate) struct Args {
    /// Regex for content; glob for files (`src/**/*.rs`; dirs: `src/*/`).
    #[serde(deserialize_with = "bounded_pattern")]
    pub(super) pattern: String,
    /// File contents, names, or fuzzy names.
    #[serde(default)]
    target: SearchTargetArg,
    /// Dir or file.
    #[serde(default = "here")]
    pub(super) path: String,
    /// Only these files: `*.py, !*_test.py`.
    file_glob: Option<String>,
    /// At most 1000.
    #[serde(default = "usual_results")]
    #[schemars(range(min = 1))]
    pub(super) limit: u64,
    /// Results to skip.
    #[serde(default)]
    pub(super) offset: u64,
    /// Matching lines, their files, or counts.
    #[serde(default)]
    pub(super) output_mode: SearchOutputMode,
    /// Lines around each match.
    #[serde(default)]
    pub(super) context: u64,
    /// The pattern is plain text.
    #[serde(default)]
    pub(super) literal: bool,
    /// Smart: insensitive without capitals.
    #[serde(default)]
    pub(super) case: CaseArg,
    /// Matches may span lines.
    #[serde(default)]
    pub(super) multiline: bool,
    /// File types: rust, py, js.
    #[serde(rename = "type")]
    kinds: Option<String>,
    /// Also dotfiles.
    #[serde(default)]
    pub(super) hidden: bool,
    /// Skip what git ignores.
    #[serde(default = "yes")]
    pub(super) gitignore: bool,
    /// Modified: newest first.
    pub(super) sort: Option<ResultOrder>,
    /// If not Unicode.
    pub(super) encoding: Option<String>,
}

// Search targets with common synonyms. Not a doc comment: those end up in the
// schema that models read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SearchTargetArg {
    #[default]
    Content,
    Files,
    Fuzzy,
    Grep,
    Find,
}

/// What to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchTarget {
    Content,
    Files,
    Fuzzy,
}

/// What to return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SearchOutputMode {
    #[default]
    Content,
    FilesOnly,
    Count,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum CaseArg {
    #[default]
    Sensitive,
    Smart,
    Insensitive,
}

impl From<CaseArg> for hermes_search::CaseMode {
    fn from(case: CaseArg) -> Self {
        match case {
            CaseArg::Sensitive => Self::Sensitive,
            CaseArg::Smart => Self::Smart,
            CaseArg::Insensitive => Self::Insensitive,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResultOrder {
    Path,
    Modified,
    Relevance,
}

impl ResultOrder {
    pub(super) fn sort(self) -> SortOrder {
        match self {
            Self::Path => SortOrder::Path,
            Self::Modified => SortOrder::Modified,
            Self::Relevance => SortOrder::Relevance,
        }
    }
}

/// A compiled regex takes hundreds of times the memory of its text.
const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// Refuses a long pattern before it is compiled.
fn bounded_pattern<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let pattern = String::deserialize(from)?;
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(serde::de::Error::custom(format_args!(
            "`pattern` is too long: {} bytes, at most {MAX_PATTERN_BYTES}; search for a part of it, or \
             write the patterns to a file and run `grep -f FILE` with terminal",
            pattern.len()
        )));
    }
    Ok(pattern)
}

fn here() -> String {
    ".".to_owned()
}

fn usual_results() -> u64 {
    50
}

fn yes() -> bool {
    true
}

impl Args {
    pub(super) fn target(&self) -> SearchTarget {
        match self.target {
            SearchTargetArg::Content | SearchTargetArg::Grep => SearchTarget::Content,
            SearchTargetArg::Files | SearchTargetArg::Find => SearchTarget::Files,
            SearchTargetArg::Fuzzy => SearchTarget::Fuzzy,
        }
    }

    pub(super) fn globs(&self) -> Vec<String> {
        self.file_glob.as_deref().map(split_globs).unwrap_or_default()
    }

    pub(super) fn types(&self) -> Vec<String> {
        self.kinds.as_deref().map(split_globs).unwrap_or_default()
    }

    /// Whether a glob ignores case.
    pub(super) fn ignores_case(&self) -> bool {
        match self.case {
            CaseArg::Sensitive => false,
            CaseArg::Smart => !self.pattern.chars().any(char::is_uppercase),
            CaseArg::Insensitive => true,
        }
    }

    /// The kind of entry that is searched, in singular and plural.
    pub(super) fn searched_kind(&self) -> [&'static str; 2] {
        let are_dirs = self.target() == SearchTarget::Files && self.pattern.ends_with('/');
        if are_dirs { ["directory", "directories"] } else { ["file", "files"] }
    }

    /// Whether filters besides the pattern narrow the search.
    pub(super) fn is_narrowed(&self) -> bool {
        self.file_glob.is_some() || self.kinds.is_some()
    }
}

pub(super) fn add_aliases(spec: ToolSpec) -> ToolSpec {
    let spec = aliases::add_dir_aliases(spec)
        .alias("search")
        .preset_alias("grep", r#"{"target":"content"}"#)
        .preset_alias("grep_search", r#"{"target":"content"}"#)
        .preset_alias("search_file_content", r#"{"target":"content"}"#)
        .preset_alias("glob", r#"{"target":"files"}"#)
        .preset_alias("find_files", r#"{"target":"files"}"#)
        .preset_alias("file_search", r#"{"target":"fuzzy"}"#);
    let parameters = [
        ("query", "pattern"),
        ("search", "pattern"),
        ("regex", "pattern"),
        ("search_pattern", "pattern"),
        ("glob_pattern", "pattern"),
        ("search_type", "target"),
        ("file", "path"),
        ("file_path", "path"),
        ("search_path", "path"),
        ("glob", "file_glob"),
        ("include", "file_glob"),
        ("file_pattern", "file_glob"),
        ("include_pattern", "file_glob"),
        ("max_results", "limit"),
        ("head_limit", "limit"),
        ("max_count", "limit"),
        ("context_lines", "context"),
        ("-C", "context"),
        ("before", "context"),
        ("after", "context"),
        ("before_context", "context"),
        ("after_context", "context"),
        ("-B", "context"),
        ("-A", "context"),
        ("fixed_strings", "literal"),
        ("charset", "encoding"),
        ("file_type", "type"),
        ("types", "type"),
        ("include_hidden", "hidden"),
        ("respect_gitignore", "gitignore"),
        ("sort_by", "sort"),
    ];
    let spec = parameters.into_iter().fold(spec, |spec, (from, to)| spec.parameter_alias(from, to));
    let keywords = ["rg", "ripgrep", "find", "locate", "text", "regex", "filename", "fuzzy"];
    keywords.into_iter().fold(spec, ToolSpec::keyword)
}

pub(super) fn examples(spec: ToolSpec) -> ToolSpec {
    spec.example(
        ToolExample::new("Find text in files", r#"{"pattern":"fn \\w+","file_glob":"*.rs"}"#)
            .file("src/main.rs", "fn main() {}\n")
            .file("notes.md", "fn is short for function\n")
            .expects(
                r#"{"total_count":1,"matches":[{"path":"src/main.rs","line":1,"content":"fn main() {}"}],"truncated":false}"#,
            ),
    )
    .example(
        ToolExample::new("How often", r#"{"pattern":"todo","case":"insensitive","output_mode":"count"}"#)
            .file("a.txt", "TODO one\ntodo two\n")
            .file("b.txt", "done\n")
            .expects(r#"{"total_count":2,"counts":{"a.txt":2}}"#),
    )
    .example(
        ToolExample::new("Find files by name", r#"{"pattern":"src/**/*.py","target":"files"}"#)
            .file("src/app/main.py", "print()\n")
            .file("main.py", "")
            .expects(r#"{"total_count":1,"files":[{"path":"src/app/main.py","size":8}]}"#),
    )
    .example(
        ToolExample::new("Find files by a half-remembered name", r#"{"pattern":"usrctl","target":"fuzzy"}"#)
            .file("app/controllers/users_controller.rb", "")
            .file("README.md", "")
            .expects(r#"{"total_count":1,"files":[{"path":"app/controllers/users_controller.rb"}]}"#),
    )
}
