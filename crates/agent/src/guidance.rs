//! Project guidance files such as `AGENTS.md`. Those from the project root to
//! the working directory are shown at the start; those of a subdirectory when a
//! call first touches it.

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_core::{CallProposal, Effect, Scope, Session, ToolAnnotations, Verdict, WorkingDir};
use hermes_engine::Engine;
use hermes_files::{WalkMode, open_file, real_path};
use hermes_threats::{ScanLevel, scan};
use serde_json::{Value, json};

/// Guidance file names. The first one found in a directory is used.
const GUIDANCE_FILE_NAMES: [&str; 7] =
    [".hermes.md", "HERMES.md", "AGENTS.md", "agents.md", "CLAUDE.md", "claude.md", ".cursorrules"];
/// Maximum characters of a file shown at the start, and of one shown with a
/// call.
const MAX_INITIAL_CHARS: usize = 20_000;
const MAX_CALL_CHARS: usize = 8_000;
/// Ancestor directories checked for each path that a call touches.
const MAX_ANCESTORS: usize = 5;
/// Tags around guidance shown with a result.
const OPENING_TAG: &str = "<project>";
const CLOSING_TAG: &str = "</project>";
/// Maximum directories checked per call.
const MAX_DIRS_PER_CALL: usize = 20;

/// Returns why a file, by its real path, may not be read; `None` if it may.
pub type ReadGate = Arc<dyn Fn(&Path) -> Option<String> + Send + Sync>;

/// Creates a gate that applies the policy for `read_file`. No user is asked: a
/// read that needs approval is refused.
pub fn policy_read_gate(engine: &Engine, session: &Session, cwd: &Path) -> ReadGate {
    let (engine, session, at) = (engine.clone(), session.clone(), WorkingDir::new(cwd, None));
    Arc::new(move |real| {
        let effects = [Effect::path(Scope::FILE_READ, real)];
        let proposal = CallProposal {
            tool: "read_file",
            toolset: "file",
            arguments: &json!({"path": real}),
            effects: &effects,
            code: None,
            annotations: ToolAnnotations { read_only: true, ..ToolAnnotations::default() },
            working_dir: &at,
            call_id: "",
            session: &session,
            task_id: "",
            depth: 0,
        };
        match engine.judge(&proposal).verdict {
            Verdict::Allow => None,
            Verdict::Ask { reason, .. } | Verdict::Deny { reason, .. } => Some(reason),
        }
    })
}

/// Guidance of a project, and which directories were already shown. Empty by
/// default.
#[derive(Default)]
pub struct ProjectGuidance {
    root: Option<PathBuf>,
    cwd: PathBuf,
    shown_dirs: HashSet<PathBuf>,
    gate: Option<ReadGate>,
    refused: Vec<String>,
}

impl std::fmt::Debug for ProjectGuidance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProjectGuidance").field("root", &self.root).finish_non_exhaustive()
    }
}

impl ProjectGuidance {
    /// Creates the guidance of the repository that contains `cwd`, or of `cwd`
    /// alone. Reads only files that the gate allows.
    pub fn for_project(cwd: &Path, gate: ReadGate) -> Self {
        let cwd = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        let root = cwd.ancestors().find(|dir| dir.join(".git").exists()).unwrap_or(&cwd);
        Self { root: Some(root.to_owned()), gate: Some(gate), cwd, ..Self::default() }
    }

    /// Takes the messages about files that were not shown, for the user.
    pub fn take_refused(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refused)
    }

    /// Returns the guidance from the project root down to the working
    /// directory.
    pub fn initial_text(&mut self) -> Option<String> {
        let root = self.root.clone()?;
        let mut dirs: Vec<PathBuf> =
            self.cwd.ancestors().take_while(|f| f.starts_with(&root)).map(Into::into).collect();
        dirs.reverse();
        self.collect_guidance(&dirs, MAX_INITIAL_CHARS)
    }

    /// Returns the guidance of directories that this call is the first to
    /// touch.
    pub fn for_call(&mut self, arguments: &Value) -> Option<String> {
        let root = self.root.clone()?;
        let mut dirs = Vec::new();
        let at = WorkingDir::new(&self.cwd, None);
        for place in mentioned_paths(arguments) {
            let place = at.normalize(Path::new(place));
            let is_below = |f: &&Path| f.starts_with(&root) && *f != root;
            let mut above: Vec<PathBuf> =
                place.ancestors().take(MAX_ANCESTORS).filter(is_below).map(Into::into).collect();
            above.reverse();
            dirs.extend(above.into_iter().filter(|f| !self.shown_dirs.contains(f) && f.is_dir()));
            if dirs.len() > MAX_DIRS_PER_CALL {
                break;
            }
        }
        let shown = self.collect_guidance(&dirs, MAX_CALL_CHARS)?;
        // The file must not close the tag itself.
        let shown = shown.replace(CLOSING_TAG, "[/project]");
        Some(format!(
            "{OPENING_TAG}\nGuidance of the project for this location, not from the \
             user:\n\n{shown}\n{CLOSING_TAG}"
        ))
    }

    fn collect_guidance(&mut self, dirs: &[PathBuf], most: usize) -> Option<String> {
        let root = self.root.clone()?;
        let mut reported: Vec<String> = Vec::new();
        for dir in dirs {
            if !self.shown_dirs.insert(dir.clone()) {
                continue;
            }
            for name in GUIDANCE_FILE_NAMES {
                let path = dir.join(name);
                let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
                let why = match self.read_guidance(&path, &root, most) {
                    Ok(None) => continue,
                    Ok(Some(text)) => match scan(&text, ScanLevel::Context).first() {
                        None => {
                            reported.push(format!("## {shown}\n\n{}", text.trim()));
                            break;
                        }
                        Some(finding) => format!(
                            "it contains text that looks like a prompt injection ({})",
                            finding.id
                        ),
                    },
                    Err(why) => why,
                };
                reported.push(format!("## {shown}\n\n[Not shown: {why}.]"));
                self.refused.push(format!("{} is not shown to the model: {why}.", path.display()));
                break;
            }
        }
        (!reported.is_empty()).then(|| reported.join("\n\n"))
    }

    /// Reads a guidance file; `None` if it is missing or blank. A symlink may
    /// point to another file of the project, not outside it. The path that is
    /// read is the one that was checked.
    fn read_guidance(
        &self,
        path: &Path,
        root: &Path,
        most: usize,
    ) -> Result<Option<String>, String> {
        match fs::metadata(path) {
            // Opening a FIFO of that name would block.
            Ok(found) if found.is_file() => {}
            _ => return Ok(None),
        }
        let Ok(real) = real_path(path) else { return Ok(None) };
        if !real.starts_with(root) {
            return Err("it resolves to a path outside the project".to_owned());
        }
        if let Some(why) = self.gate.as_ref().and_then(|gate| gate(&real)) {
            let why = why.trim_end_matches('.');
            return Err(format!("it may not be read ({why})"));
        }
        let bound = u64::try_from(most).unwrap_or(u64::MAX).saturating_mul(4);
        let mut bytes = Vec::new();
        let read = open_file(&real, WalkMode::default())
            .and_then(|file| file.take(bound.saturating_add(1)).read_to_end(&mut bytes));
        if read.is_err() {
            return Ok(None);
        }
        Ok(excerpt(&bytes, most))
    }
}

/// Returns the start of a text; `None` if it is blank.
fn excerpt(bytes: &[u8], most: usize) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return None;
    }
    let mut kept: String = text.chars().take(most).collect();
    if kept.len() < text.len() {
        kept.push_str("\n[Truncated; read the file for the rest.]");
    }
    Some(kept)
}

/// Returns the paths that a call names: path arguments, and words of a command
/// that look like paths.
fn mentioned_paths(arguments: &Value) -> Vec<&str> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let mut places: Vec<&str> =
        ["path", "file_path", "workdir", "cwd", "folder"].into_iter().filter_map(text).collect();
    if let Some(command) = text("command") {
        let is_edge = |c: char| c.is_whitespace() || "'\"`;|&()<>=".contains(c);
        places.extend(
            command.split(is_edge).filter(|word| word.contains('/')).take(MAX_DIRS_PER_CALL),
        );
    }
    places.retain(|place| !place.is_empty() && place.len() < 4096 && !place.contains('\0'));
    places
}

#[cfg(test)]
#[path = "guidance_tests.rs"]
mod tests;
