//! Syntax errors that a change brings into a file. They are told, and never a
//! reason to refuse: files with comments, templates and halves of a change
//! are written on purpose.

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::IgnoredAny;

mod python;
mod yaml;

/// Problems that are told.
const MAX_PROBLEMS: usize = 5;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LintReport {
    pub(crate) status: LintStatus,
    /// Those that the old content did not have.
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
    /// It was not looked at; the message says why.
    Skipped,
}

/// One syntax error, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SyntaxProblem {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
}

/// What can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileSyntax {
    Json,
    /// Comments and trailing commas are part of it.
    JsonWithComments,
    JsonLines,
    Toml,
    Yaml,
    Xml,
    Python,
}

/// Checks the new content of a file, going by its name; none if nothing is
/// known of such files.
pub(crate) fn check(path: &Path, old: Option<&str>, new: &str) -> Option<LintReport> {
    let syntax = FileSyntax::for_path(path)?;
    if new.trim().is_empty() {
        return None;
    }
    if new.len() > syntax.max_bytes() {
        return Some(LintReport::skipped("The file is too long to be checked."));
    }
    let found = match syntax.problems(new) {
        Ok(found) => found,
        Err(why) => return Some(LintReport::skipped(&why)),
    };
    if found.is_empty() {
        let note = (syntax == FileSyntax::Json && strict_json(new).is_some())
            .then(|| "It has comments or trailing commas, which strict parsers refuse.".to_owned());
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
        format!("{inherited} syntax {errors} there before.")
    });
    Some(LintReport { status: LintStatus::Error, problems, message })
}

impl LintReport {
    fn skipped(why: &str) -> Self {
        Self { status: LintStatus::Skipped, problems: Vec::new(), message: Some(why.to_owned()) }
    }
}

impl SyntaxProblem {
    /// What it is, wherever it has moved to.
    fn fingerprint<'a>(&'a self, text: &'a str) -> (&'a str, &'a str) {
        let line = text.lines().nth(self.line.saturating_sub(1)).unwrap_or_default();
        (&self.message, line.trim())
    }

    /// One at a byte of the text.
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

    /// Longer texts are not looked at.
    fn max_bytes(self) -> usize {
        match self {
            Self::Yaml => 1024 * 1024,
            _ => 16 * 1024 * 1024,
        }
    }

    /// What a text has that a template makes such a file from.
    fn template_marks(self) -> &'static [&'static str] {
        match self {
            // In Python two braces are one in a string, and `<%` is arithmetic.
            Self::Python => &["{% "],
            _ => &["{{", "{%", "<%"],
        }
    }

    /// Why, if it cannot be told.
    fn problems(self, text: &str) -> Result<Vec<SyntaxProblem>, String> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        Ok(match self {
            // Whoever writes comments into JSON means JSON with comments.
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

/// The problem that a fault at a byte is.
fn problems_at_byte(text: &str, fault: Option<(usize, String)>) -> Vec<SyntaxProblem> {
    fault.into_iter().map(|(at, message)| SyntaxProblem::at_offset(text, at, message)).collect()
}

/// Files that are called JSON and read with comments.
fn allows_comments(path: &Path, stem: &str) -> bool {
    let in_folder = |name: &str| path.parent().is_some_and(|folder| folder.ends_with(name));
    let begins = ["tsconfig", "jsconfig", "devcontainer", ".devcontainer", ".eslintrc", "deno"];
    begins.iter().any(|begin| stem.starts_with(begin)) || in_folder(".vscode")
}

fn strict_json(text: &str) -> Option<SyntaxProblem> {
    // Skips over values without recursion, so depth does not matter.
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let told = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = told.strip_suffix(&place).unwrap_or(&told).to_owned();
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

/// The text with spaces for comments and trailing commas; every other byte
/// stays where it was.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    // A comma that nothing has followed yet.
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
                // The star that opens it does not close it.
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

/// As many spaces as the character has bytes; line feeds stay.
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
