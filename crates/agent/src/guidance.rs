//! What a project tells agents about itself: files such as `AGENTS.md`. Those
//! above the working folder are told at the beginning; those of a folder below
//! when a call first touches it.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use hermes_core::Workplace;
use hermes_threats::{Level, scan};
use serde_json::Value;

/// The names of such files. Of one folder the first that is there counts.
const NAMES: [&str; 7] =
    [".hermes.md", "HERMES.md", "AGENTS.md", "agents.md", "CLAUDE.md", "claude.md", ".cursorrules"];
/// Of a file at the beginning so many characters are told, and of one in between.
const OPENING: usize = 20_000;
const PASSING: usize = 8_000;
/// So far up from a place that a call touches, folders are looked at.
const ANCESTORS: usize = 5;
/// What stands around that which is told with an answer.
const OPENED: &str = "<project>";
const CLOSED: &str = "</project>";
/// The most folders that are looked at for one call.
const FOLDERS: usize = 20;

/// What a project says, and what of it has been told. By default it says
/// nothing.
#[derive(Debug, Default)]
pub struct Guidance {
    root: Option<PathBuf>,
    cwd: PathBuf,
    told: HashSet<PathBuf>,
}

impl Guidance {
    /// That of the project around a folder: the repository that it is in, or
    /// the folder alone.
    pub fn of(cwd: &Path) -> Self {
        let cwd = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        let root = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd);
        Self { root: Some(root.to_owned()), told: HashSet::new(), cwd }
    }

    /// What is told at the beginning: from the root of the project down to the
    /// working folder.
    pub fn opening(&mut self) -> Option<String> {
        let root = self.root.clone()?;
        let mut folders: Vec<PathBuf> =
            self.cwd.ancestors().take_while(|f| f.starts_with(&root)).map(Into::into).collect();
        folders.reverse();
        self.tell(&folders, OPENING)
    }

    /// What is told with the answer to a call: what the folders say that it is
    /// the first to touch.
    pub fn of_call(&mut self, arguments: &Value) -> Option<String> {
        let root = self.root.clone()?;
        let mut folders = Vec::new();
        let at = Workplace::new(&self.cwd, None);
        for place in places(arguments) {
            let place = at.fold(Path::new(place));
            let is_below = |f: &&Path| f.starts_with(&root) && *f != root;
            let mut above: Vec<PathBuf> =
                place.ancestors().take(ANCESTORS).filter(is_below).map(Into::into).collect();
            above.reverse();
            folders.extend(above.into_iter().filter(|f| !self.told.contains(f) && f.is_dir()));
            if folders.len() > FOLDERS {
                break;
            }
        }
        let told = self.tell(&folders, PASSING)?;
        // It ends where we say, not where it says itself.
        let told = told.replace(CLOSED, "[/project]");
        Some(format!(
            "{OPENED}\nWhat the project says about this place, not the user:\n\n{told}\n{CLOSED}"
        ))
    }

    fn tell(&mut self, folders: &[PathBuf], most: usize) -> Option<String> {
        let root = self.root.clone()?;
        let mut told = String::new();
        for folder in folders {
            if !self.told.insert(folder.clone()) {
                continue;
            }
            let Some((name, text)) = read_first(folder, most) else { continue };
            let path = folder.join(name);
            let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            if !told.is_empty() {
                told.push_str("\n\n");
            }
            match scan(&text, Level::Context).first() {
                None => told.push_str(&format!("## {shown}\n\n{}", text.trim())),
                Some(finding) => told.push_str(&format!(
                    "## {shown}\n\n[Not shown: it holds text that looks like an attack on the \
                     reader ({}).]",
                    finding.id
                )),
            }
        }
        (!told.is_empty()).then_some(told)
    }
}

/// The first such file of a folder that says something.
fn read_first(folder: &Path, most: usize) -> Option<(&'static str, String)> {
    NAMES.into_iter().find_map(|name| {
        let path = folder.join(name);
        // A pipe of that name would be waited for.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_mul(4);
        fs::File::open(&path).ok()?.take(bound + 1).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}');
        if text.trim().is_empty() {
            return None;
        }
        let mut kept: String = text.chars().take(most).collect();
        if kept.len() < text.len() {
            kept.push_str("\n[The rest is left out; read the file for it.]");
        }
        Some((name, kept))
    })
}

/// The places that a call names: its paths, and words of a command that look
/// like one.
fn places(arguments: &Value) -> Vec<&str> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let mut places: Vec<&str> =
        ["path", "file_path", "workdir", "cwd", "folder"].into_iter().filter_map(text).collect();
    if let Some(command) = text("command") {
        let is_edge = |c: char| c.is_whitespace() || "'\"`;|&()<>=".contains(c);
        places.extend(command.split(is_edge).filter(|word| word.contains('/')).take(FOLDERS));
    }
    places.retain(|place| !place.is_empty() && place.len() < 4096 && !place.contains('\0'));
    places
}

#[cfg(test)]
#[path = "guidance_tests.rs"]
mod tests;
