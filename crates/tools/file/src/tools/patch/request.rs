//! Parses the arguments of a call. Checks the disk only to resolve an ambiguous
//! name in a patch.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use hermes_core::{ToolError, WorkingDir};
use hermes_text::matching::PatchHunk;
use hermes_text::patch_formats::{PatchFormat, PatchOperation, parse_patch_with};

use super::{Args, PatchMode, format_hints};
use crate::path_text::resolve;

/// All changes of a call, in order.
#[derive(Debug)]
pub(super) struct PatchPlan {
    pub(super) steps: Vec<PatchStep>,
    /// Files whose executable bit is set or cleared at the end.
    pub(super) programs: Vec<(PathBuf, bool)>,
    /// `None` in replace mode.
    pub(super) format: Option<PatchFormat>,
    /// Parts of the patch that are ignored.
    pub(super) warnings: Vec<String>,
}

/// One change. Paths are absolute.
#[derive(Debug)]
pub(super) enum PatchStep {
    Replace { path: PathBuf, old: String, new: String, all: bool },
    Add { path: PathBuf, text: String },
    Update { path: PathBuf, hunks: Vec<PatchHunk>, to: Option<PathBuf> },
    Delete { path: PathBuf, hunks: Vec<PatchHunk> },
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileTouch {
    Read,
    Write,
    Delete,
}

impl PatchStep {
    /// The file that the step changes.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Replace { path, .. }
            | Self::Add { path, .. }
            | Self::Update { path, .. }
            | Self::Delete { path, .. } => path,
        }
    }
}

impl PatchPlan {
    pub(super) fn from_args(args: &Args, at: &WorkingDir) -> Result<Self, ToolError> {
        // Models pass empty strings for arguments they do not use.
        let filled = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let by_patch = match (args.mode, filled(&args.patch), filled(&args.old_string)) {
            (Some(PatchMode::Patch), true, _) | (_, true, false) => true,
            (Some(PatchMode::Replace), ..) | (_, false, true) => false,
            (Some(PatchMode::Patch), false, false) => {
                return Err(ToolError::invalid("patch mode needs the patch argument").with_hint(
                    "Give a V4A patch, a unified diff or SEARCH/REPLACE blocks as `patch`.",
                ));
            }
            (None, true, true) => {
                return Err(ToolError::invalid("Both old_string and patch are given")
                    .with_hint("Give one of them, or select one with mode."));
            }
            (None, false, false) => false,
        };
        if by_patch { Self::from_patch_args(args, at) } else { Self::from_replace_args(args, at) }
    }

    fn from_replace_args(args: &Args, at: &WorkingDir) -> Result<Self, ToolError> {
        let needed = |what: &str| {
            ToolError::invalid(format!("{what} is missing")).with_hint(
                "Replace mode needs path, old_string and new_string; a patch goes into the \
                    patch argument.",
            )
        };
        let path = args.path.as_deref().filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| needed("path"))?;
        let old = args.old_string.clone().ok_or_else(|| needed("old_string"))?;
        let new = args.new_string.clone().ok_or_else(|| needed("new_string"))?;
        let path = resolve_file(at, path)?;
        let step = PatchStep::Replace { path, old, new, all: args.replace_all };
        Ok(Self { steps: vec![step], programs: Vec::new(), format: None, warnings: Vec::new() })
    }

    fn from_patch_args(args: &Args, at: &WorkingDir) -> Result<Self, ToolError> {
        let text = args.patch.as_deref().unwrap_or_default();
        let path = args.path.as_deref().filter(|path| !path.is_empty());
        // A header often has only the last components of the path.
        let meant = |name: &str| match path {
            Some(path) if Path::new(path).ends_with(name) => path.to_owned(),
            _ => name.to_owned(),
        };
        let is_there = |name: &str| {
            !has_parent_component(name)
                && std::fs::symlink_metadata(resolve(at, &meant(name))).is_ok()
        };
        let parsed = parse_patch_with(text, path, &is_there).map_err(|error| {
            let refused = ToolError::invalid(format!("The patch cannot be parsed: {error}"));
            let refused = match error.line {
                0 => refused,
                line => refused.with("line", line),
            };
            refused.with_hint(error.remedy.unwrap_or(format_hints::format_example(error.format)))
        })?;
        let named = |name: &str| {
            // The caller chose the path argument; a header is untrusted.
            if has_parent_component(name) && path != Some(name) {
                return Err(ToolError::invalid(format!(
                    "The patch names '{name}', which contains `..`"
                ))
                .with_hint("Use paths relative to the working directory, or absolute ones."));
            }
            resolve_file(at, &meant(name))
        };
        let mut steps = Vec::with_capacity(parsed.operations.len());
        for operation in parsed.operations {
            steps.push(match operation {
                PatchOperation::Add { path, text } => PatchStep::Add { path: named(&path)?, text },
                PatchOperation::Update { path, hunks, to } => PatchStep::Update {
                    path: named(&path)?,
                    hunks,
                    to: to.as_deref().map(named).transpose()?,
                },
                PatchOperation::Delete { path, hunks } => {
                    PatchStep::Delete { path: named(&path)?, hunks }
                }
            });
        }
        let programs = parsed.executables.iter().map(|(path, runs)| Ok((named(path)?, *runs)));
        let programs = programs.collect::<Result<_, ToolError>>()?;
        Ok(Self { steps, programs, format: Some(parsed.format), warnings: parsed.warnings })
    }

    /// The files that the call touches, and how.
    pub(super) fn touched(&self) -> BTreeSet<(PathBuf, FileTouch)> {
        let mut touched = BTreeSet::new();
        let mut add = |path: &Path, touches: &[FileTouch]| {
            touched.extend(touches.iter().map(|touch| (path.to_path_buf(), *touch)));
        };
        for step in &self.steps {
            match step {
                PatchStep::Update { path, to: Some(to), .. } => {
                    add(path, &[FileTouch::Read, FileTouch::Delete]);
                    add(to, &[FileTouch::Read, FileTouch::Write]);
                }
                PatchStep::Replace { path, .. }
                | PatchStep::Add { path, .. }
                | PatchStep::Update { path, .. } => {
                    add(path, &[FileTouch::Read, FileTouch::Write]);
                }
                PatchStep::Delete { path, .. } => add(path, &[FileTouch::Read, FileTouch::Delete]),
            }
        }
        for (path, _) in &self.programs {
            add(path, &[FileTouch::Read, FileTouch::Write]);
        }
        touched
    }

    /// Whether the call makes more than one change.
    pub(super) fn has_multiple_changes(&self) -> bool {
        let several = |step: &PatchStep| match step {
            PatchStep::Update { hunks, .. } => hunks.len() > 1,
            _ => false,
        };
        self.steps.len() + self.programs.len() > 1 || self.steps.iter().any(several)
    }

    /// The files that must exist, each once.
    pub(super) fn sources(&self) -> BTreeSet<&Path> {
        let is_new = |step: &&PatchStep| matches!(step, PatchStep::Add { .. });
        let is_made =
            |path: &Path| self.steps.iter().any(|step| is_new(&step) && step.path() == path);
        let programs = self.programs.iter().map(|(path, _)| path.as_path());
        let changed = self.steps.iter().filter(|step| !is_new(step)).map(PatchStep::path);
        changed.chain(programs.filter(|path| !is_made(path))).collect()
    }

    /// The files that the call touches.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.touched().into_iter().map(|(path, _)| path).collect();
        paths.dedup();
        paths
    }
}

/// Whether a path has a `..` component.
fn has_parent_component(name: &str) -> bool {
    Path::new(name).components().any(|part| part == Component::ParentDir)
}

/// Resolves a path to an absolute one; it must name a file.
fn resolve_file(at: &WorkingDir, path: &str) -> Result<PathBuf, ToolError> {
    if path.ends_with('/') || path.ends_with("/.") {
        return Err(ToolError::invalid(format!(
            "'{path}' names a directory: it ends with a slash"
        ))
        .with_hint("A patch changes files: omit the slash, or name a file in the directory."));
    }
    Ok(resolve(at, path))
}
