//! Formatters: detection, command lines and output parsing.

mod table;

use std::path::{Path, PathBuf};

use crate::CheckOutput;
use crate::install::{PackageSource, install_command};
use crate::lint::relative_arg;
use crate::survey::{ProjectDir, ProjectSurvey};

pub use table::FORMATTERS;

/// A formatter. All of them can work as a filter from stdin to stdout.
#[derive(Debug, Clone, Copy)]
pub struct CodeFormatter {
    /// Its name in tool arguments.
    pub name: &'static str,
    /// Its executable.
    pub program: &'static str,
    /// The files it formats: extensions, or `=Name`.
    pub file_patterns: &'static [&'static str],
    /// Whether a directory configures it.
    is_configured: fn(&ProjectDir) -> bool,
    /// The nearest of these files determines its working directory.
    root_markers: &'static [&'static str],
    /// How it lists unformatted files.
    check: Option<CheckCommand>,
    /// Arguments to format stdin to stdout, as if it were the given file.
    filter_args: fn(&FormatStyle, &str) -> Vec<String>,
    /// Whether it is used without configuration.
    default_use: FormatterDefault,
    /// Where to install it from.
    source: PackageSource,
    /// Name of the package.
    package: &'static str,
}

/// How a formatter lists the files it would change.
#[derive(Debug, Clone, Copy)]
struct CheckCommand {
    /// Arguments of the command.
    args: fn(&FormatStyle, &str, &[String]) -> Vec<String>,
    /// Arguments that make it rewrite the files that follow.
    write_args: &'static [&'static str],
    /// Parses its output.
    parse: fn(&CheckOutput<'_>) -> UnformattedFiles,
}

/// Whether a formatter is used without configuration in the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormatterDefault {
    Expected,
    IfInstalled,
    OnRequest,
}

/// Project settings that are passed to a formatter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatStyle {
    /// The Rust edition.
    pub edition: Option<String>,
}

/// The files that a formatter would change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnformattedFiles {
    /// Unformatted files, as the formatter names them.
    pub files: Vec<String>,
    /// Files that it cannot parse, with the reason.
    pub unparsable: Vec<(String, String)>,
}

/// A formatter selected to run.
#[derive(Debug, Clone)]
pub struct ChosenFormatter {
    /// Which.
    pub formatter: &'static CodeFormatter,
    /// Why it was chosen.
    pub reason: &'static str,
    /// Its executable; `None` if missing.
    pub program: Option<PathBuf>,
    /// Its working directory.
    pub dir: PathBuf,
    /// The files to format.
    pub files: Vec<PathBuf>,
    /// The command that installs it.
    pub install: String,
    target: String,
    style: FormatStyle,
    /// Subdirectories that other formatters handle.
    excluded_dirs: Vec<PathBuf>,
}

impl ChosenFormatter {
    /// Whether a file in its output is one that it should handle.
    pub fn covers_file(&self, file: &Path) -> bool {
        !self.excluded_dirs.iter().any(|dir| file.starts_with(dir))
    }

    /// Arguments to list unformatted files; `None` if files must be checked one
    /// by one.
    pub fn check_args(&self) -> Option<Vec<String>> {
        let names: Vec<String> =
            self.files.iter().map(|file| relative_arg(file, &self.dir)).collect();
        self.formatter.check.map(|listing| (listing.args)(&self.style, &self.target, &names))
    }

    /// Parses the output of the check command.
    pub fn parse_check(&self, said: &CheckOutput<'_>) -> UnformattedFiles {
        self.formatter.check.map(|listing| (listing.parse)(said)).unwrap_or_default()
    }

    /// Arguments to rewrite these files; `None` if files must be formatted one
    /// by one.
    pub fn write_args(&self, files: &[PathBuf]) -> Option<Vec<String>> {
        let fixed = self.formatter.check?.write_args;
        if fixed.is_empty() {
            return None;
        }
        let names = files.iter().map(|file| relative_arg(file, &self.dir));
        Some(fixed.iter().map(|word| (*word).to_owned()).chain(names).collect())
    }

    /// Arguments to format stdin to stdout, as if it were this file.
    pub fn filter_args(&self, file: &Path) -> Vec<String> {
        (self.formatter.filter_args)(&self.style, &relative_arg(file, &self.dir))
    }
}

/// Reason for a selection, and its condition.
type SelectionRule = (&'static str, fn(&ProjectSurvey, &CodeFormatter) -> bool);

/// Selects the formatter of this name, or those that the project uses, one per
/// file. A subdirectory with its own configuration is formatted separately, as
/// if the call were for it alone. An unknown name returns all valid names.
pub fn choose_formatters(
    survey: &ProjectSurvey,
    name: Option<&str>,
) -> Result<Vec<ChosenFormatter>, Vec<&'static str>> {
    let is_meant =
        |one: &CodeFormatter| name.is_none_or(|name| name.eq_ignore_ascii_case(one.name));
    let is_part =
        |dir: &&ProjectDir| FORMATTERS.iter().any(|one| is_meant(one) && (one.is_configured)(dir));
    let parts: Vec<&ProjectDir> = survey.subdirs.iter().filter(is_part).collect();
    let mut chosen = Vec::new();
    for part in std::iter::once(None).chain(parts.iter().map(Some)) {
        let mut own = part.map_or_else(|| survey.clone(), |part| survey.narrowed_to(part));
        let deeper = parts.iter().filter(|other| {
            part.is_none_or(|part| other.path != part.path && other.path.starts_with(&part.path))
        });
        let outside: Vec<PathBuf> = deeper.map(|other| other.path.clone()).collect();
        own.files.retain(|file| !outside.iter().any(|dir| file.starts_with(dir)));
        let found = choose_for_dir(&own, name)?;
        // Without such subdirectories, a requested formatter reports that it
        // has no files.
        let found = found.into_iter().filter(|one| parts.is_empty() || !one.files.is_empty());
        chosen.extend(found.map(|one| ChosenFormatter { excluded_dirs: outside.clone(), ..one }));
    }
    Ok(chosen)
}

fn choose_for_dir(
    survey: &ProjectSurvey,
    name: Option<&str>,
) -> Result<Vec<ChosenFormatter>, Vec<&'static str>> {
    if let Some(name) = name {
        let wanted = name.to_ascii_lowercase();
        let found = FORMATTERS.iter().find(|one| one.name == wanted);
        let found = found.or_else(|| FORMATTERS.iter().find(|one| one.program == wanted));
        let formatter =
            found.ok_or_else(|| FORMATTERS.iter().map(|one| one.name).collect::<Vec<_>>())?;
        return Ok(vec![make_choice(survey, formatter, "asked for", formatter.file_patterns)]);
    }
    let mut chosen: Vec<ChosenFormatter> = Vec::new();
    let mut served: Vec<&str> = Vec::new();
    let take = |formatter: &'static CodeFormatter, why, served: &mut Vec<&str>| {
        let endings = formatter.file_patterns.iter().copied();
        let left: Vec<&'static str> = endings.filter(|ending| !served.contains(ending)).collect();
        survey.has_files(&left).then(|| {
            let taken = make_choice(survey, formatter, why, &left);
            served.extend(left);
            taken
        })
    };
    // The nearest configuration takes precedence.
    for dir in &survey.dirs {
        for formatter in FORMATTERS.iter().filter(|one| (one.is_configured)(dir)) {
            chosen.extend(take(formatter, "configured", &mut served));
        }
    }
    let ways: [SelectionRule; 3] = [
        ("default for these files", |survey, one| {
            one.default_use == FormatterDefault::Expected && survey.program(one.program).is_some()
        }),
        ("installed", |survey, one| {
            let is_fit = one.default_use == FormatterDefault::IfInstalled
                || (survey.is_file && one.default_use == FormatterDefault::OnRequest);
            is_fit && survey.program(one.program).is_some()
        }),
        ("default for these files", |_, one| one.default_use == FormatterDefault::Expected),
    ];
    for (why, is_fit) in ways {
        for formatter in FORMATTERS.iter().filter(|one| is_fit(survey, one)) {
            chosen.extend(take(formatter, why, &mut served));
        }
    }
    Ok(chosen)
}

fn make_choice(
    survey: &ProjectSurvey,
    formatter: &'static CodeFormatter,
    why: &'static str,
    endings: &[&str],
) -> ChosenFormatter {
    let directory = survey
        .nearest(formatter.root_markers)
        .map_or(survey.base_dir(), |directory| &directory.path);
    // A file requested by path is formatted whatever its extension.
    let is_asked = survey.is_file && why == "asked for";
    let files = match is_asked {
        true => vec![survey.path.clone()],
        false => survey.files_matching(endings).map(Path::to_owned).collect(),
    };
    ChosenFormatter {
        formatter,
        reason: why,
        program: survey.program(formatter.program),
        dir: directory.to_owned(),
        files,
        install: install_command(survey, formatter.source, formatter.package),
        target: relative_arg(&survey.path, directory),
        style: FormatStyle { edition: rust_edition(survey) },
        excluded_dirs: Vec::new(),
    }
}

/// Returns the edition in the nearest `Cargo.toml`, or that of its workspace.
fn rust_edition(survey: &ProjectSurvey) -> Option<String> {
    survey.dirs.iter().find_map(|dir| {
        let manifest = dir.toml("Cargo.toml")?;
        let said = |table: &[&str]| {
            let mut item = manifest.as_item();
            for part in table {
                item = item.get(part)?;
            }
            item.get("edition")?.as_str().map(str::to_owned)
        };
        said(&["package"]).or_else(|| said(&["workspace", "package"]))
    })
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
