//! Syntax errors that a change introduces into a file. They are reported but
//! never reject the change: files with comments, templates and half-finished
//! edits are written on purpose.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::IgnoredAny;

mod python;
mod yaml;

/// Maximum number of problems reported.
const MAX_PROBLEMS: usize = 5;

/// Result of a syntax check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LintReport {
    pub(crate) status: LintStatus,
    /// Problems that the old content did not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<SyntaxProblem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LintStatus {
    Ok,
    Error,
    /// Not checked; the message says why.
    Skipped,
}

/// One syntax error; line and column count from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SyntaxProblem {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// Syntaxes that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSyntax {
    Json,
    /// Allows comments and trailing commas.
    JsonWithComments,
    JsonLines,
    Toml,
    Yaml,
    Xml,
    Python,
}

/// Checks the new content of a file by its name; `None` for unknown file types.
pub(crate) fn check(path: &Path, old: Option<&str>, new: &str) -> Option<LintReport> {
    let syntax = FileSyntax::for_path(path)?;
    if new.trim().is_empty() {
        return None;
    }
    if new.len() > syntax.max_bytes() {
        return Some(LintReport::skipped("The file is too large to check."));
    }
    let found = match syntax.problems(new) {
        Ok(found) => found,
        Err(why) => return Some(LintReport::skipped(&why)),
    };
    if found.is_empty() {
        let note = (syntax == FileSyntax::Json && strict_json(new).is_some())
            .then(|| "It has comments or trailing commas, which strict parsers reject.".to_owned());
        return Some(LintReport { status: LintStatus::Ok, problems: Vec::new(), message: note });
    }
    if syntax.template_marks().iter().any(|mark| new.contains(mark)) {
        return Some(LintReport::skipped("It looks like a template and was not checked."));
    }
    let old = old.filter(|old| old.len() <= syntax.max_bytes()).unwrap_or_default();
    let is_empty = old.trim().is_empty();
    let before = if is_empty { Vec::new() } else { syntax.problems(old).unwrap_or_default() };
    let before: Vec<_> = before.iter().map(|problem| problem.fingerprint(old)).collect();
    let count = found.len();
    let mut problems = found;
    problems.retain(|problem| !before.contains(&problem.fingerprint(new)));
    let inherited = count - problems.len();
    problems.truncate(MAX_PROBLEMS);
    let message = (inherited > 0).then(|| {
        let errors = if inherited == 1 { "error was" } else { "errors were" };
        format!("{inherited} syntax {errors} present before.")
    });
    Some(LintReport { status: LintStatus::Error, problems, message })
}

impl LintReport {
    fn skipped(why: &str) -> Self {
        Self { status: LintStatus::Skipped, problems: Vec::new(), message: Some(why.to_owned()) }
    }
}

impl SyntaxProblem {
    /// Identifies the problem independently of its line number.
    fn fingerprint<'a>(&'a self, text: &'a str) -> (&'a str, &'a str) {
        let line = text.lines().nth(self.line.saturating_sub(1)).unwrap_or_default();
        (&self.message, line.trim())
    }

    /// Creates a problem at a byte offset of the text.
    fn at_offset(text: &str, byte: usize, message: String) -> Self {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = text.get(..byte).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
        let start = before.rfind('\n').map_or(0, |feed| feed + 1);
        let column = before.get(start..).unwrap_or_default().chars().count() + 1;
        Self { line, column, message }
    }
}

impl FileSyntax {
    fn for_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let (stem, extension) = name.rsplit_once('.')?;
        match extension {
            "jsonc" | "code-workspace" => Some(Self::JsonWithComments),
            "json" if allows_comments(path, stem) => Some(Self::JsonWithComments),
            "json" | "geojson" | "webmanifest" | "ipynb" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "toml" => Some(Self::Toml),
            "yaml" | "yml" => Some(Self::Yaml),
            "xml" | "svg" | "xsd" | "xsl" | "xslt" | "wsdl" | "rss" | "atom" | "kml" | "gpx"
            | "plist" | "csproj" | "vbproj" | "fsproj" | "resx" | "xaml" => Some(Self::Xml),
            "py" | "pyi" | "pyw" => Some(Self::Python),
            _ => None,
        }
    }

    /// Returns the size above which a text is not checked.
    fn max_bytes(self) -> usize {
        match self {
            Self::Yaml => 1024 * 1024,
            _ => 16 * 1024 * 1024,
        }
    }

    /// Markers of a template that generates such a file.
    fn template_marks(self) -> &'static [&'static str] {
        match self {
            // In Python, `{{` is an escaped brace and `<%` is arithmetic.
            Self::Python => &["{% "],
            _ => &["{{", "{%", "<%"],
        }
    }

    /// Returns the syntax problems, or why the text cannot be checked.
    fn problems(self, text: &str) -> Result<Vec<SyntaxProblem>, String> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        Ok(match self {
            // JSON with comments is treated as JSONC.
            Self::Json | Self::JsonWithComments => match strict_json(text) {
                None => Vec::new(),
                Some(strict) => match strict_json(&without_comments(text)) {
                    None => Vec::new(),
                    Some(lenient) if text.contains("//") || text.contains("/*") => vec![lenient],
                    Some(_) => vec![strict],
                },
            },
            Self::JsonLines => json_lines(text),
            Self::Toml => toml_problem(text).into_iter().collect(),
            Self::Yaml => problems_at_byte(text, yaml::first_error(text)?),
            Self::Xml => problems_at_byte(text, hermes_documents::find_xml_error(text)),
            Self::Python => problems_at_byte(text, python::first_error(text)?),
        })
    }
}

/// Converts an error at a byte offset to a problem.
fn problems_at_byte(text: &str, fault: Option<(usize, String)>) -> Vec<SyntaxProblem> {
    fault.into_iter().map(|(at, message)| SyntaxProblem::at_offset(text, at, message)).collect()
}

/// Whether a `.json` file is conventionally read with comments.
fn allows_comments(path: &Path, stem: &str) -> bool {
    let in_folder = |name: &str| path.parent().is_some_and(|dir| dir.ends_with(name));
    let begins = ["tsconfig", "jsconfig", "devcontainer", ".devcontainer", ".eslintrc", "deno"];
    begins.iter().any(|begin| stem.starts_with(begin)) || in_folder(".vscode")
}

fn strict_json(text: &str) -> Option<SyntaxProblem> {
    // Skips values without recursion, so nesting depth does not matter.
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let shown = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = shown.strip_suffix(&place).unwrap_or(&shown).to_owned();
    Some(SyntaxProblem { line: error.line().max(1), column: error.column().max(1), message })
}

fn json_lines(text: &str) -> Vec<SyntaxProblem> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let problems = lines.filter_map(|(at, line)| {
        let problem = strict_json(line)?;
        Some(SyntaxProblem { line: at + 1, ..problem })
    });
    problems.take(1000).collect()
}

fn toml_problem(text: &str) -> Option<SyntaxProblem> {
    let error = toml_edit::Document::parse(text).err()?;
    let at = error.span().map_or(0, |span| span.start);
    let message = error.message().trim().replace('\n', ", ");
    Some(SyntaxProblem::at_offset(text, at, message))
}

/// Replaces comments and trailing commas with spaces; every other byte keeps
/// its offset.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // A comma that only whitespace has followed so far.
    let mut comma: Option<usize> = None;
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                comma = None;
                plain.push('"');
                copy_string(&mut rest, &mut plain);
            }
            ('/', Some('/')) => {
                plain.push(' ');
                while let Some(c) = rest.next_if(|&c| c != '\n') {
                    blank(&mut plain, c);
                }
            }
            ('/', Some('*')) => {
                // The opening star does not close the comment.
                rest.next();
                plain.push_str("  ");
                let mut last = ' ';
                for c in rest.by_ref() {
                    blank(&mut plain, c);
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
            }
            (',', _) => {
                comma = Some(plain.len());
                plain.push(',');
            }
            ('}' | ']', _) => {
                if let Some(at) = comma.take() {
                    plain.replace_range(at..=at, " ");
                }
                plain.push(c);
            }
            _ => {
                comma = comma.filter(|_| c.is_whitespace());
                plain.push(c);
            }
        }
    }
    plain
}

fn copy_string(rest: &mut impl Iterator<Item = char>, plain: &mut String) {
    let mut escaped = false;
    for c in rest {
        plain.push(c);
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return,
            _ => {}
        }
    }
}

/// Pushes as many spaces as the character has bytes; keeps line feeds.
fn blank(plain: &mut String, c: char) {
    if c == '\n' {
        plain.push('\n');
    } else {
        plain.extend(std::iter::repeat_n(' ', c.len_utf8()));
    }
}

#[cfg(test)]
#[path = "lint_tests.rs"]
mod tests;
