//! What a linter is sure of, written into the files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hermes_checks::lint::edits::{apply_edits, edits_overlap};
use hermes_checks::lint::{ChosenLinter, LintEdit};
use hermes_checks::{LintFinding, LintSeverity};
use hermes_core::ToolError;

use super::Run;
use super::check::{Look, look};
use crate::checks::{Changes, Desk};

/// How often it is looked whether there is more: one edit may make way for
/// another.
const ROUNDS: usize = 4;

/// Edits being made.
#[derive(Debug)]
pub(super) struct Editing<'a> {
    desk: &'a Desk<'a>,
    choice: &'a ChosenLinter,
    /// Errors that were there before.
    errors: usize,
    /// What each file was, and what it is now.
    files: BTreeMap<PathBuf, (Vec<u8>, Vec<u8>)>,
    pub(super) fixed: usize,
    pub(super) note: Option<String>,
}

impl<'a> Editing<'a> {
    pub(super) fn new(desk: &'a Desk<'a>, choice: &'a ChosenLinter, found: &[LintFinding]) -> Self {
        let errors = errors(found);
        Self { desk, choice, errors, files: BTreeMap::new(), fixed: 0, note: None }
    }

    /// Makes the edits, as long as there are some. If there are more errors than
    /// before, all of them are taken back.
    pub(super) async fn run(
        &mut self,
        before: Vec<LintFinding>,
        mut edits: Vec<Vec<LintEdit>>,
        run: &mut Run,
    ) -> Result<Look, ToolError> {
        let mut found = before.clone();
        for _ in 0..ROUNDS {
            if !self.make(&edits).await? {
                break;
            }
            match look(self.desk, self.choice, run).await? {
                Look::Found(after, more) if errors(&after) <= self.errors => {
                    (found, edits) = (after, more);
                }
                _ => {
                    self.take_back().await?;
                    return Ok(Look::Found(before, Vec::new()));
                }
            }
        }
        self.fixed = before.len().saturating_sub(found.len());
        Ok(Look::Found(found, edits))
    }

    /// Tells what has become of the files.
    pub(super) fn tell(self, changes: &mut Changes) {
        for (path, (old, new)) in &self.files {
            changes.add(&self.desk.show(path), old, new);
        }
    }

    /// Makes those that do not touch one another; whether there was one.
    async fn make(&mut self, groups: &[Vec<LintEdit>]) -> Result<bool, ToolError> {
        let mut chosen: Vec<&LintEdit> = Vec::new();
        for group in groups {
            let is_here =
                group.iter().all(|edit| hermes_checks::is_within(&self.place(edit), &self.desk.path));
            let is_free = !group.iter().any(|edit| chosen.iter().any(|other| edits_overlap(edit, other)));
            if is_here && is_free {
                chosen.extend(group);
            }
        }
        let mut by_file: BTreeMap<PathBuf, Vec<LintEdit>> = BTreeMap::new();
        for edit in chosen {
            by_file.entry(self.place(edit)).or_default().push(edit.clone());
        }
        let mut has_changed = false;
        for (path, edits) in by_file {
            let Some(old) = self.desk.read(&path).await? else { continue };
            let Some(new) = apply_edits(&old, &edits).filter(|new| *new != old) else { continue };
            self.desk.write(&path, &old, &new).await?;
            has_changed = true;
            let known = self.files.entry(path).or_insert_with(|| (old, Vec::new()));
            known.1 = new;
        }
        Ok(has_changed)
    }

    async fn take_back(&mut self) -> Result<(), ToolError> {
        for (path, (old, new)) in std::mem::take(&mut self.files) {
            self.desk.write(&path, &new, &old).await?;
        }
        let name = self.choice.linter.name;
        self.note =
            Some(format!("What {name} proposes does not hold together; nothing was changed."));
        Ok(())
    }

    fn place(&self, edit: &LintEdit) -> PathBuf {
        self.desk.survey.resolve_path(&edit.file, &self.choice.dir)
    }
}

fn errors(found: &[LintFinding]) -> usize {
    found.iter().filter(|finding| finding.severity == LintSeverity::Error).count()
}
