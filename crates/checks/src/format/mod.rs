//! Formatters: which ones a project has, how they are called, what they say.

mod table;

use std::path::{Path, PathBuf};

use crate::CheckOutput;
use crate::install::{PackageSource, install_command};
use crate::lint::relative_arg;
use crate::survey::{ProjectDir, ProjectSurvey};

pub use table::FORMATTERS;

/// A formatter. All of them turn what they read into what they print.
#[derive(Debug, Clone, Copy)]
pub struct CodeFormatter {
    /// Its name, as a caller writes it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The files that it is for: endings, or `=Name`.
    pub file_patterns: &'static [&'static str],
    /// Whether a folder says that it is used.
    is_configured: fn(&ProjectDir) -> bool,
    /// Files of which the nearest tells where it is to run.
    root_markers: &'static [&'static str],
    /// How it tells which files are not as they should be.
    check: Option<CheckCommand>,
    /// The words that have it print the right form of what it reads; the file
    /// is the one that it should take it for.
    filter_args: fn(&FormatStyle, &str) -> Vec<String>,
    /// Whether it is used where no file says so: always, or if it is there.
    default_use: FormatterDefault,
    /// Where it comes from.
    source: PackageSource,
    /// As what.
    package: &'static str,
}

/// How a formatter tells which files it would change.
#[derive(Debug, Clone, Copy)]
struct CheckCommand {
    /// The words of the command.
    args: fn(&FormatStyle, &str, &[String]) -> Vec<String>,
    /// The words that have it change files, which are added.
    write_args: &'static [&'static str],
    /// Reads what it has printed.
    parse: fn(&CheckOutput<'_>) -> UnformattedFiles,
}

/// Whether a formatter is used although no file of the project says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormatterDefault {
    Expected,
    IfInstalled,
    OnRequest,
}

/// What a formatter must be told of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatStyle {
    /// The edition of Rust.
    pub edition: Option<String>,
}

/// What a formatter would change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnformattedFiles {
    /// Files that are not as they should be, as it names them.
    pub files: Vec<String>,
    /// Files that it cannot read, and why.
    pub unparsable: Vec<(String, String)>,
}

/// A formatter that is to run.
#[derive(Debug, Clone)]
pub struct ChosenFormatter {
    /// Which.
    pub formatter: &'static CodeFormatter,
    /// Why it was chosen, in words.
    pub reason: &'static str,
    /// Its program; none if it is missing.
    pub program: Option<PathBuf>,
    /// Where it runs.
    pub dir: PathBuf,
    /// The files that it is for.
    pub files: Vec<PathBuf>,
    /// The command that installs it.
    pub install: String,
    target: String,
    style: FormatStyle,
    /// Folders below it that are for others.
    excluded_dirs: Vec<PathBuf>,
}

impl ChosenFormatter {
    /// Whether a file that it names is among those that it is for.
    pub fn covers_file(&self, file: &Path) -> bool {
        !self.excluded_dirs.iter().any(|folder| file.starts_with(folder))
    }

    /// The words that tell which files are not as they should be; none if that
    /// can only be seen file by file.
    pub fn check_args(&self) -> Option<Vec<String>> {
        let names: Vec<String> =
            self.files.iter().map(|file| relative_arg(file, &self.dir)).collect();
        self.formatter.check.map(|listing| (listing.args)(&self.style, &self.target, &names))
    }

    /// Reads what that has printed.
    pub fn parse_check(&self, said: &CheckOutput<'_>) -> UnformattedFiles {
        self.formatter.check.map(|listing| (listing.parse)(said)).unwrap_or_default()
    }

    /// The words that change these files; none if it is to be done one by one.
    pub fn write_args(&self, files: &[PathBuf]) -> Option<Vec<String>> {
        let fixed = self.formatter.check?.write_args;
        if fixed.is_empty() {
            return None;
        }
        let names = files.iter().map(|file| relative_arg(file, &self.dir));
        Some(fixed.iter().map(|word| (*word).to_owned()).chain(names).collect())
    }

    /// The words that print the right form of what is read, as if it were this
    /// file.
    pub fn filter_args(&self, file: &Path) -> Vec<String> {
        (self.formatter.filter_args)(&self.style, &relative_arg(file, &self.dir))
    }
}

/// Why a formatter is taken, and whether that holds.
type SelectionRule = (&'static str, fn(&ProjectSurvey, &CodeFormatter) -> bool);

/// The formatters for what was asked: the one of this name, or those that the
/// project uses, each file having one: a folder that says which it uses is
/// formatted by itself, as if the call were about it alone. An unknown name is
/// an error with all names.
pub fn choose_formatters(
    survey: &ProjectSurvey,
    name: Option<&str>,
) -> Result<Vec<ChosenFormatter>, Vec<&'static str>> {
    let is_meant =
        |one: &CodeFormatter| name.is_none_or(|name| name.eq_ignore_ascii_case(one.name));
    let is_part = |folder: &&ProjectDir| {
        FORMATTERS.iter().any(|one| is_meant(one) && (one.is_configured)(folder))
    };
    let parts: Vec<&ProjectDir> = survey.subdirs.iter().filter(is_part).collect();
    let mut chosen = Vec::new();
    for part in std::iter::once(None).chain(parts.iter().map(Some)) {
        let mut own = part.map_or_else(|| survey.clone(), |part| survey.narrowed_to(part));
        let deeper = parts.iter().filter(|other| {
            part.is_none_or(|part| other.path != part.path && other.path.starts_with(&part.path))
        });
        let outside: Vec<PathBuf> = deeper.map(|other| other.path.clone()).collect();
        own.files.retain(|file| !outside.iter().any(|folder| file.starts_with(folder)));
        let found = choose_for_dir(&own, name)?;
        // Without parts, one that was asked for says itself that it has no files.
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
    // What the nearest folder says counts most.
    for folder in &survey.dirs {
        for formatter in FORMATTERS.iter().filter(|one| (one.is_configured)(folder)) {
            chosen.extend(take(formatter, "configured", &mut served));
        }
    }
    let ways: [SelectionRule; 3] = [
        ("usual for these files", |survey, one| {
            one.default_use == FormatterDefault::Expected && survey.program(one.program).is_some()
        }),
        ("installed", |survey, one| {
            let is_fit = one.default_use == FormatterDefault::IfInstalled
                || (survey.is_file && one.default_use == FormatterDefault::OnRequest);
            is_fit && survey.program(one.program).is_some()
        }),
        ("usual for these files", |_, one| one.default_use == FormatterDefault::Expected),
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
    let folder =
        survey.nearest(formatter.root_markers).map_or(survey.base_dir(), |folder| &folder.path);
    // A file that is asked for by name is meant, whatever it is called.
    let is_asked = survey.is_file && why == "asked for";
    let files = match is_asked {
        true => vec![survey.path.clone()],
        false => survey.files_matching(endings).map(Path::to_owned).collect(),
    };
    ChosenFormatter {
        formatter,
        reason: why,
        program: survey.program(formatter.program),
        dir: folder.to_owned(),
        files,
        install: install_command(survey, formatter.source, formatter.package),
        target: relative_arg(&survey.path, folder),
        style: FormatStyle { edition: rust_edition(survey) },
        excluded_dirs: Vec::new(),
    }
}

/// The edition that the nearest `Cargo.toml` says, or the workspace's.
fn rust_edition(survey: &ProjectSurvey) -> Option<String> {
    survey.dirs.iter().find_map(|folder| {
        let manifest = folder.toml("Cargo.toml")?;
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
