//! Survey of the surroundings of a path: parent directories with their project
//! configuration, available programs, and files below.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// POSIX shell script that runs the survey. Its arguments: a unique marker, the
/// directory to stop at, the path, and then [`KNOWN_PROGRAMS`].
pub const SURVEY_SCRIPT: &str = r#"exec 2>/dev/null
m=$1; top=$2; path=$3; shift 3
if [ -d "$path" ]; then at=$path; kind=folder
elif [ -f "$path" ]; then at=${path%/*}; kind=file
else printf '\n%s missing \0' "$m"; exit 0; fi
[ -n "$at" ] || at=/
printf '\n%s %s %s\0' "$m" "$kind" "$path"
look() {
  printf '\n%s %s %s\0' "$m" "$1" "$d"
  ls -a "$d"
  printf '\n%s real %s\0' "$m" "$(cd "$d" && pwd -P)"
  for f in pyproject.toml setup.cfg tox.ini pytest.ini .flake8 package.json Cargo.toml go.mod \
    Makefile makefile GNUmakefile requirements.txt requirements-dev.txt Pipfile mypy.ini .mypy.ini; do
    if [ -f "$d/$f" ]; then printf '\n%s text %s\0' "$m" "$f"; head -c 262144 "$d/$f"; fi
  done
  for b in node_modules/.bin .venv/bin venv/bin; do
    if [ -d "$d/$b" ]; then printf '\n%s bin %s\0' "$m" "$b"; ls "$d/$b"; fi
  done
}
d=$at
while :; do
  look at
  if [ "$d" = "$top" ] || [ "$d" = / ] || [ "$top" = "$path" ]; then break; fi
  d=${d%/*}
  [ -n "$d" ] || d=/
done
if [ "$kind" = folder ]; then
  find "$at" -maxdepth 5 \( -type d \( -name .git -o -name .hg -o -name node_modules -o -name .venv \
    -o -name venv -o -name target -o -name dist -o -name build -o -name .tox -o -name .nox \
    -o -name vendor \) -prune \) -o -type f \( -name pyproject.toml -o -name setup.cfg -o -name tox.ini \
    -o -name ruff.toml -o -name .ruff.toml -o -name 'requirements*.txt' -o -name Pipfile \
    -o -name package.json -o -name 'biome.json*' -o -name '.prettierrc*' -o -name 'prettier.config.*' \
    -o -name Cargo.toml -o -name go.mod -o -name '*rustfmt.toml' -o -name '[._]clang-format' \
    -o -name '*taplo.toml' -o -name .flake8 -o -name '*mypy.ini' -o -name pyrightconfig.json \
    -o -name '*pylintrc' -o -name 'eslint.config.*' -o -name '.eslintrc*' -o -name tsconfig.json \
    -o -name '.stylelintrc*' -o -name 'stylelint.config.*' -o -name '.golangci.*' -o -name '.yamllint*' \
    -o -name pytest.ini -o -name noxfile.py -o -name 'vitest.config.*' -o -name 'jest.config.*' \
    -o -name '.mocharc.*' \) -print | sed 's,/[^/]*$,,' | sort -u | head -n 100 |
    while IFS= read -r d; do [ "$d" = "$at" ] || look inner; done
fi
if [ -n "$VIRTUAL_ENV" ] && [ -d "$VIRTUAL_ENV/bin" ]; then printf '\n%s env %s\0' "$m" "$VIRTUAL_ENV/bin"; ls "$VIRTUAL_ENV/bin"; fi
for p in "$@"; do
  if w=$(command -v "$p"); then printf '\n%s program %s\0%s' "$m" "$p" "$w"; fi
done
printf '\n%s below \0' "$m"
if [ "$kind" = file ]; then printf './%s\0' "${path##*/}"; else
  cd "$at" && find . \( -type d \( -name .git -o -name .hg -o -name node_modules -o -name .venv \
    -o -name venv -o -name target -o -name dist -o -name build -o -name __pycache__ -o -name .tox \
    -o -name .nox -o -name .mypy_cache -o -name .ruff_cache -o -name .pytest_cache -o -name vendor \) \
    -prune \) -o -type f -print0 | head -c 1000000
fi
printf '\n%s scripts \0' "$m"
nl='
'
is_script() {
  first=$(head -c 100 "$1"); first=${first%%"$nl"*}
  for s in sh bash dash ksh; do
    case "$first " in '#!'*[/\ ]"$s "*) printf '%s\0' "$1"; return;; esac
  done
}
if [ "$kind" = file ]; then cd "$at" && is_script "./${path##*/}"; else
  cd "$at" && find . \( -type d \( -name '.?*' -o -name node_modules -o -name venv -o -name target \
    -o -name dist -o -name build -o -name __pycache__ -o -name vendor \) -prune \) \
    -o -type f ! -name '*.*' -print | head -n 200 | while IFS= read -r f; do is_script "$f"; done
fi
"#;

/// Programs that the survey looks for.
pub const KNOWN_PROGRAMS: &[&str] = &[
    "ruff",
    "flake8",
    "pylint",
    "mypy",
    "pyright",
    "eslint",
    "biome",
    "tsc",
    "cargo",
    "go",
    "golangci-lint",
    "shellcheck",
    "hadolint",
    "yamllint",
    "markdownlint-cli2",
    "markdownlint",
    "stylelint",
    "black",
    "prettier",
    "rustfmt",
    "gofmt",
    "shfmt",
    "clang-format",
    "taplo",
    "pytest",
    "python3",
    "python",
    "cargo-clippy",
    "cargo-nextest",
    "jest",
    "vitest",
    "mocha",
    "node",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "make",
    "tox",
    "nox",
    "uv",
    "pip",
    "pip3",
    "apt-get",
    "dnf",
    "apk",
    "pacman",
    "brew",
    "git",
    "rustup",
];

/// Result of the survey script.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectSurvey {
    /// The surveyed path.
    pub path: PathBuf,
    /// Whether the path is a file.
    pub is_file: bool,
    /// The directory of the path, followed by its parents.
    pub dirs: Vec<ProjectDir>,
    /// Subdirectories that contain project configuration, sorted by name.
    pub subdirs: Vec<ProjectDir>,
    /// Programs found on `PATH`.
    pub programs: BTreeMap<String, PathBuf>,
    /// Programs of the active virtual environment.
    pub active_env: Option<(PathBuf, BTreeSet<String>)>,
    /// Files at or below the path.
    pub files: Vec<PathBuf>,
    /// Files without an extension whose shebang names a shell.
    pub scripts: BTreeSet<PathBuf>,
}

/// One surveyed directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectDir {
    /// Path of the directory.
    pub path: PathBuf,
    /// The same path with symlinks resolved.
    pub real_path: PathBuf,
    /// Names of the entries.
    pub names: BTreeSet<String>,
    /// Contents of the project configuration files, by name.
    pub texts: BTreeMap<String, String>,
    /// Programs that are local to the project.
    pub bins: Vec<(PathBuf, BTreeSet<String>)>,
}

/// Reason why a survey failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurveyError {
    /// The path does not exist.
    Missing,
    /// The output of the script cannot be parsed.
    Unparsable,
}

impl ProjectSurvey {
    /// Returns the arguments of the script.
    pub fn arguments(marker: &str, top: &Path, path: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![marker.into(), top.into(), path.into()];
        words.extend(KNOWN_PROGRAMS.iter().map(OsString::from));
        words
    }

    /// Parses the output of the script.
    pub fn parse(marker: &str, printed: &[u8]) -> Result<Self, SurveyError> {
        let mut survey = Self::default();
        let start = format!("\n{marker} ");
        let mut seen = false;
        for part in split_sections(printed, start.as_bytes()) {
            // A name may contain line breaks.
            let end = part.iter().position(|&byte| byte == 0).ok_or(SurveyError::Unparsable)?;
            let (head, body) = part.split_at(end);
            let body = body.get(1..).unwrap_or_default();
            let space = head.iter().position(|&byte| byte == b' ').unwrap_or(head.len());
            let (kind, name) = head.split_at(space);
            let name = OsStr::from_bytes(name.get(1..).unwrap_or_default());
            seen |= kind == b"below";
            survey.add_section(kind, name, body)?;
        }
        if survey.dirs.is_empty() || !seen { Err(SurveyError::Unparsable) } else { Ok(survey) }
    }

    fn add_section(&mut self, kind: &[u8], name: &OsStr, body: &[u8]) -> Result<(), SurveyError> {
        let dir = self.subdirs.last_mut().or(self.dirs.last_mut());
        match (kind, dir) {
            (b"missing", _) => return Err(SurveyError::Missing),
            (b"file" | b"folder", _) => {
                self.path = name.into();
                self.is_file = kind == b"file";
            }
            (b"at", _) => self.dirs.push(ProjectDir {
                path: name.into(),
                names: parse_names(body),
                ..ProjectDir::default()
            }),
            (b"inner", _) => self.subdirs.push(ProjectDir {
                path: name.into(),
                names: parse_names(body),
                ..ProjectDir::default()
            }),
            (b"real", Some(dir)) => dir.real_path = name.into(),
            (b"text", Some(dir)) => {
                let text = String::from_utf8_lossy(body).into_owned();
                dir.texts.insert(name.to_string_lossy().into_owned(), text);
            }
            (b"bin", Some(dir)) => dir.bins.push((dir.path.join(name), parse_names(body))),
            (b"env", _) => self.active_env = Some((name.into(), parse_names(body))),
            (b"program", _) => {
                let path = OsString::from_vec(body.to_vec());
                self.programs.insert(name.to_string_lossy().into_owned(), path.into());
            }
            (b"below", _) => self.files = self.parse_files(body),
            (b"scripts", _) => self.scripts = self.parse_files(body).into_iter().collect(),
            _ => return Err(SurveyError::Unparsable),
        }
        Ok(())
    }

    /// Parses file names, relative to the directory of the path.
    fn parse_files(&self, body: &[u8]) -> Vec<PathBuf> {
        let here = self.base_dir();
        let files = body.split(|&byte| byte == 0).filter_map(|name| {
            let name = name.strip_prefix(b"./")?;
            Some(here.join(OsStr::from_bytes(name)))
        });
        files.collect()
    }

    /// Returns what a survey of a subdirectory would have found.
    pub(crate) fn narrowed_to(&self, dir: &ProjectDir) -> Self {
        let around = self.subdirs.iter().filter(|other| dir.path.starts_with(&other.path));
        let mut directories: Vec<ProjectDir> = around.cloned().collect();
        directories.sort_by_key(|dir| std::cmp::Reverse(dir.path.components().count()));
        directories.extend(self.dirs.iter().cloned());
        let files = self.files.iter().filter(|file| file.starts_with(&dir.path));
        Self {
            path: dir.path.clone(),
            is_file: false,
            dirs: directories,
            subdirs: Vec::new(),
            programs: self.programs.clone(),
            active_env: self.active_env.clone(),
            files: files.cloned().collect(),
            scripts: self.scripts.clone(),
        }
    }

    /// Returns the subdirectories that match, without those nested in another
    /// match.
    pub(crate) fn outermost_subdirs(
        &self,
        is_one: impl Fn(&ProjectDir) -> bool,
    ) -> Vec<&ProjectDir> {
        let mut found: Vec<&ProjectDir> = Vec::new();
        // Sorted by name: a directory comes before its subdirectories.
        for dir in self.subdirs.iter().filter(|dir| is_one(dir)) {
            if !found.iter().any(|outer| dir.path.starts_with(&outer.path)) {
                found.push(dir);
            }
        }
        found
    }

    /// Finds a program: in the project, in the active environment, or on
    /// `PATH`.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.own_program(name).or_else(|| self.programs.get(name).cloned())
    }

    /// Finds a program in the project or in the active environment.
    pub fn own_program(&self, name: &str) -> Option<PathBuf> {
        let own = self.dirs.iter().flat_map(|dir| &dir.bins);
        let found = own.chain(&self.active_env).find(|(_, names)| names.contains(name));
        found.map(|(dir, _)| dir.join(name))
    }

    /// Whether there is a Python environment other than the system's.
    pub fn has_own_python(&self) -> bool {
        self.own_program("python").or_else(|| self.own_program("python3")).is_some()
    }

    /// Finds Python: in the project, in the active environment, or on `PATH`.
    pub fn python(&self) -> Option<PathBuf> {
        self.program("python")
            .filter(|found| {
                // The system's `python` may be Python 2.
                Some(found) != self.programs.get("python") || !self.programs.contains_key("python3")
            })
            .or_else(|| self.program("python3"))
    }

    /// Returns the nearest directory that contains one of these names.
    pub fn nearest(&self, names: &[&str]) -> Option<&ProjectDir> {
        self.dirs.iter().find(|dir| names.iter().any(|name| dir.names.contains(*name)))
    }

    /// Returns the directory of the path.
    pub fn base_dir(&self) -> &Path {
        self.dirs.first().map_or(Path::new("/"), |dir| &dir.path)
    }

    /// Resolves a file name reported by a program that ran in `folder`. A
    /// canonical path is mapped back to the symlinked one that the caller used.
    pub fn resolve_path(&self, named: &str, dir: &Path) -> PathBuf {
        let path = dir.join(named.strip_prefix("./").unwrap_or(named));
        let above = self.dirs.iter().rev().filter(|dir| dir.real_path != dir.path);
        let mut linked = above.filter_map(|dir| {
            let rest = path.strip_prefix(&dir.real_path).ok()?;
            Some(dir.path.join(rest))
        });
        linked.next().unwrap_or(path)
    }

    /// Returns the files with one of these extensions or names.
    pub fn files_matching(&self, endings: &[&str]) -> impl Iterator<Item = &Path> {
        self.files.iter().map(PathBuf::as_path).filter(move |path| self.matches_file(path, endings))
    }

    /// Whether a file matches, by its name or by its shebang.
    pub(crate) fn matches_file(&self, path: &Path, endings: &[&str]) -> bool {
        matches_pattern(path, endings) || (endings.contains(&"sh") && self.scripts.contains(path))
    }

    /// Whether any file matches.
    pub fn has_files(&self, endings: &[&str]) -> bool {
        self.files_matching(endings).next().is_some()
    }
}

/// Whether a file has one of these extensions (`py`) or names (`=Dockerfile`).
pub(crate) fn matches_pattern(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    endings.iter().any(|wanted| match wanted.strip_prefix('=') {
        Some(wanted) => name == wanted,
        None => ending == *wanted,
    })
}

impl ProjectDir {
    /// Returns the text of a file; empty if it does not exist.
    pub fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }

    /// Whether a TOML file such as `pyproject.toml` contains a table.
    pub(crate) fn has_table(&self, file: &str, table: &[&str]) -> bool {
        let Some(document) = self.toml(file) else { return false };
        let mut item = document.as_item();
        for part in table {
            match item.get(part) {
                Some(inner) => item = inner,
                None => return false,
            }
        }
        true
    }

    /// Parses a TOML file.
    pub(crate) fn toml(&self, file: &str) -> Option<toml_edit::DocumentMut> {
        self.texts.get(file)?.parse().ok()
    }

    /// Whether an INI file has a section.
    pub(crate) fn has_section(&self, file: &str, section: &str) -> bool {
        self.text(file).lines().any(|line| {
            line.trim().strip_prefix('[').and_then(|line| line.strip_suffix(']')) == Some(section)
        })
    }

    /// Whether an INI file has one of these settings in a section.
    pub(crate) fn has_setting(&self, file: &str, section: &str, names: &[&str]) -> bool {
        let mut is_in = false;
        self.text(file).lines().any(|line| {
            let bare = line.trim();
            if let Some(name) = bare.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                is_in = name == section;
            }
            let name = bare.split(['=', ':']).next().unwrap_or_default().trim();
            // Indented lines continue the previous value.
            is_in && !line.starts_with([' ', '\t']) && names.contains(&name)
        })
    }

    /// Parses `package.json`.
    pub(crate) fn package_json(&self) -> Option<Value> {
        serde_json::from_str(self.texts.get("package.json")?).ok()
    }

    /// Whether `package.json` lists a package as a dependency.
    pub(crate) fn depends_on(&self, package: &str) -> bool {
        let Some(manifest) = self.package_json() else { return false };
        ["devDependencies", "dependencies", "peerDependencies", "optionalDependencies"]
            .iter()
            .any(|kind| manifest.get(kind).and_then(|list| list.get(package)).is_some())
    }

    /// Whether the Python project requires a package.
    pub(crate) fn requires(&self, package: &str) -> bool {
        let files = [
            "pyproject.toml",
            "requirements.txt",
            "requirements-dev.txt",
            "Pipfile",
            "setup.cfg",
            "tox.ini",
        ];
        files.iter().any(|file| contains_word(self.text(file), package))
    }

    /// Whether `pyproject.toml` requires a package; settings of the package do
    /// not count.
    pub(crate) fn declares(&self, package: &str) -> bool {
        let own = format!("tool.{package}");
        let mut is_own = false;
        self.text("pyproject.toml").lines().map(str::trim).any(|line| {
            if let Some(heading) = line.strip_prefix('[') {
                let name = heading.trim_matches(['[', ']', ' ']);
                is_own = name == own || name.starts_with(&format!("{own}."));
                return false;
            }
            !is_own && contains_word(line, package)
        })
    }

    /// Whether the name of an entry starts with this prefix.
    pub(crate) fn has_prefix(&self, prefix: &str) -> bool {
        self.names.range(prefix.to_owned()..).next().is_some_and(|name| name.starts_with(prefix))
    }
}

/// Whether a list of requirements contains this whole word.
fn contains_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

fn parse_names(body: &[u8]) -> BTreeSet<String> {
    let lines = body.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// Splits the output at the markers.
fn split_sections<'a>(bytes: &'a [u8], marker: &[u8]) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    let mut start = None;
    let mut at = 0;
    while at + marker.len() <= bytes.len() {
        if bytes.get(at..at + marker.len()) == Some(marker) {
            if let Some(start) = start {
                found.push(bytes.get(start..at).unwrap_or_default());
            }
            at += marker.len();
            start = Some(at);
        } else {
            at += 1;
        }
    }
    found.extend(start.and_then(|start| bytes.get(start..)));
    found
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
