//! Formatters: which ones a project has, how they are called, what they say.

mod table;

use std::path::{Path, PathBuf};

use crate::Said;
use crate::install::{Home, install};
use crate::lint::below;
use crate::survey::{Folder, Survey};

pub use table::FORMATTERS;

/// A formatter. All of them turn what they read into what they print.
#[derive(Debug, Clone, Copy)]
pub struct Formatter {
    /// Its name, as a caller writes it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The files that it is for: endings, or `=Name`.
    pub endings: &'static [&'static str],
    /// Whether a folder says that it is used.
    marked: fn(&Folder) -> bool,
    /// Files of which the nearest tells where it is to run.
    roots: &'static [&'static str],
    /// How it tells which files are not as they should be.
    listing: Option<Listing>,
    /// The words that have it print the right form of what it reads; the file
    /// is the one that it should take it for.
    filter: fn(&Style, &str) -> Vec<String>,
    /// Whether it is used where no file says so: always, or if it is there.
    usual: Usual,
    /// Where it comes from.
    home: Home,
    /// As what.
    package: &'static str,
}

/// How a formatter tells which files it would change.
#[derive(Debug, Clone, Copy)]
struct Listing {
    /// The words of the command.
    words: fn(&Style, &str, &[String]) -> Vec<String>,
    /// The words that have it change files, which are added.
    write: &'static [&'static str],
    /// Reads what it has printed.
    read: fn(&Said<'_>) -> Listed,
}

/// Whether a formatter is used although no file of the project says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Usual {
    Expected,
    IfThere,
    Never,
}

/// What a formatter must be told of the project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Style {
    /// The edition of Rust.
    pub edition: Option<String>,
}

/// What a formatter would change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Files that are not as they should be, as it names them.
    pub files: Vec<String>,
    /// Files that it cannot read, and why.
    pub broken: Vec<(String, String)>,
}

/// A formatter that is to run.
#[derive(Debug, Clone)]
pub struct Choice {
    /// Which.
    pub formatter: &'static Formatter,
    /// Why it was chosen, in words.
    pub why: &'static str,
    /// Its program; none if it is missing.
    pub program: Option<PathBuf>,
    /// Where it runs.
    pub folder: PathBuf,
    /// The files that it is for.
    pub files: Vec<PathBuf>,
    /// The command that installs it.
    pub install: String,
    target: String,
    style: Style,
    /// Folders below it that are for others.
    outside: Vec<PathBuf>,
}

impl Choice {
    /// Whether a file that it names is among those that it is for.
    pub fn holds(&self, file: &Path) -> bool {
        !self.outside.iter().any(|folder| file.starts_with(folder))
    }

    /// The words that tell which files are not as they should be; none if that
    /// can only be seen file by file.
    pub fn listing(&self) -> Option<Vec<String>> {
        let names: Vec<String> = self.files.iter().map(|file| below(file, &self.folder)).collect();
        self.formatter.listing.map(|listing| (listing.words)(&self.style, &self.target, &names))
    }

    /// Reads what that has printed.
    pub fn listed(&self, said: &Said<'_>) -> Listed {
        self.formatter.listing.map(|listing| (listing.read)(said)).unwrap_or_default()
    }

    /// The words that change these files; none if it is to be done one by one.
    pub fn write(&self, files: &[PathBuf]) -> Option<Vec<String>> {
        let fixed = self.formatter.listing?.write;
        if fixed.is_empty() {
            return None;
        }
        let names = files.iter().map(|file| below(file, &self.folder));
        Some(fixed.iter().map(|word| (*word).to_owned()).chain(names).collect())
    }

    /// The words that print the right form of what is read, as if it were this
    /// file.
    pub fn filter(&self, file: &Path) -> Vec<String> {
        (self.formatter.filter)(&self.style, &below(file, &self.folder))
    }
}

/// Why a formatter is taken, and whether that holds.
type Way = (&'static str, fn(&Survey, &Formatter) -> bool);

/// The formatters for what was asked: the one of this name, or those that the
/// project uses, each file having one: a folder that says which it uses is
/// formatted by itself, as if the call were about it alone. An unknown name is
/// an error with all names.
pub fn choose(survey: &Survey, name: Option<&str>) -> Result<Vec<Choice>, Vec<&'static str>> {
    let is_meant = |one: &Formatter| name.is_none_or(|name| name.eq_ignore_ascii_case(one.name));
    let is_part =
        |folder: &&Folder| FORMATTERS.iter().any(|one| is_meant(one) && (one.marked)(folder));
    let parts: Vec<&Folder> = survey.inner.iter().filter(is_part).collect();
    let mut chosen = Vec::new();
    for part in std::iter::once(None).chain(parts.iter().map(Some)) {
        let mut own = part.map_or_else(|| survey.clone(), |part| survey.part(part));
        let deeper = parts.iter().filter(|other| {
            part.is_none_or(|part| other.path != part.path && other.path.starts_with(&part.path))
        });
        let outside: Vec<PathBuf> = deeper.map(|other| other.path.clone()).collect();
        own.files.retain(|file| !outside.iter().any(|folder| file.starts_with(folder)));
        let found = choose_alone(&own, name)?;
        // Without parts, one that was asked for says itself that it has no files.
        let found = found.into_iter().filter(|one| parts.is_empty() || !one.files.is_empty());
        chosen.extend(found.map(|one| Choice { outside: outside.clone(), ..one }));
    }
    Ok(chosen)
}

fn choose_alone(survey: &Survey, name: Option<&str>) -> Result<Vec<Choice>, Vec<&'static str>> {
    if let Some(name) = name {
        let wanted = name.to_ascii_lowercase();
        let found = FORMATTERS.iter().find(|one| one.name == wanted);
        let found = found.or_else(|| FORMATTERS.iter().find(|one| one.program == wanted));
        let formatter =
            found.ok_or_else(|| FORMATTERS.iter().map(|one| one.name).collect::<Vec<_>>())?;
        return Ok(vec![choice(survey, formatter, "asked for", formatter.endings)]);
    }
    let mut chosen: Vec<Choice> = Vec::new();
    let mut served: Vec<&str> = Vec::new();
    let take = |formatter: &'static Formatter, why, served: &mut Vec<&str>| {
        let endings = formatter.endings.iter().copied();
        let left: Vec<&'static str> = endings.filter(|ending| !served.contains(ending)).collect();
        survey.has(&left).then(|| {
            let taken = choice(survey, formatter, why, &left);
            served.extend(left);
            taken
        })
    };
    // What the nearest folder says counts most.
    for folder in &survey.folders {
        for formatter in FORMATTERS.iter().filter(|one| (one.marked)(folder)) {
            chosen.extend(take(formatter, "configured", &mut served));
        }
    }
    let ways: [Way; 3] = [
        ("usual for these files", |survey, one| {
            one.usual == Usual::Expected && survey.program(one.program).is_some()
        }),
        ("installed", |survey, one| {
            let is_fit =
                one.usual == Usual::IfThere || (survey.is_file && one.usual == Usual::Never);
            is_fit && survey.program(one.program).is_some()
        }),
        ("usual for these files", |_, one| one.usual == Usual::Expected),
    ];
    for (why, is_fit) in ways {
        for formatter in FORMATTERS.iter().filter(|one| is_fit(survey, one)) {
            chosen.extend(take(formatter, why, &mut served));
        }
    }
    Ok(chosen)
}

fn choice(
    survey: &Survey,
    formatter: &'static Formatter,
    why: &'static str,
    endings: &[&str],
) -> Choice {
    let folder = survey.nearest(formatter.roots).map_or(survey.here(), |folder| &folder.path);
    // A file that is asked for by name is meant, whatever it is called.
    let is_asked = survey.is_file && why == "asked for";
    let files = match is_asked {
        true => vec![survey.path.clone()],
        false => survey.of(endings).map(Path::to_owned).collect(),
    };
    Choice {
        formatter,
        why,
        program: survey.program(formatter.program),
        folder: folder.to_owned(),
        files,
        install: install(survey, formatter.home, formatter.package),
        target: below(&survey.path, folder),
        style: Style { edition: edition(survey) },
        outside: Vec::new(),
    }
}

/// The edition that the nearest `Cargo.toml` says, or the workspace's.
fn edition(survey: &Survey) -> Option<String> {
    survey.folders.iter().find_map(|folder| {
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
