//! Applies the machine-applicable edits of a linter.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hermes_checks::lint::edits::{apply_edits, edits_overlap};
use hermes_checks::lint::{ChosenLinter, LintEdit};
use hermes_checks::{LintFinding, LintSeverity};
use hermes_core::ToolError;

use super::LinterRun;
use super::check::{LintOutcome, run_linter};
use crate::checks::{CheckContext, FileChanges};

/// Maximum number of rounds: one edit may enable another.
const MAX_FIX_ROUNDS: usize = 4;

/// Applies edits and can roll them back.
#[derive(Debug)]
pub(super) struct EditApplier<'a> {
    context: &'a CheckContext<'a>,
    choice: &'a ChosenLinter,
    /// Number of errors before the edits.
    errors: usize,
    /// The old and new content of each file.
    files: BTreeMap<PathBuf, (Vec<u8>, Vec<u8>)>,
    pub(super) fixed: usize,
    pub(super) note: Option<String>,
}

impl<'a> EditApplier<'a> {
    pub(super) fn new(
        desk: &'a CheckContext<'a>,
        choice: &'a ChosenLinter,
        found: &[LintFinding],
    ) -> Self {
        let errors = count_errors(found);
        Self { context: desk, choice, errors, files: BTreeMap::new(), fixed: 0, note: None }
    }

    /// Applies edits until none are left. Rolls all of them back if the number
    /// of errors grows.
    pub(super) async fn run(
        &mut self,
        before: Vec<LintFinding>,
        mut edits: Vec<Vec<LintEdit>>,
        run: &mut LinterRun,
    ) -> Result<LintOutcome, ToolError> {
        let mut found = before.clone();
        for _ in 0..MAX_FIX_ROUNDS {
            if !self.apply_round(&edits).await? {
                break;
            }
            match run_linter(self.context, self.choice, run).await? {
                LintOutcome::Found(after, more) if count_errors(&after) <= self.errors => {
                    (found, edits) = (after, more);
                }
                _ => {
                    self.roll_back().await?;
                    return Ok(LintOutcome::Found(before, Vec::new()));
                }
            }
        }
        self.fixed = before.len().saturating_sub(found.len());
        Ok(LintOutcome::Found(found, edits))
    }

    /// Adds the changed files to `changes`.
    pub(super) fn report_changes(self, changes: &mut FileChanges) {
        for (path, (old, new)) in &self.files {
            changes.add(&self.context.display_path(path), old, new);
        }
    }

    /// Applies the edits that do not overlap; returns whether any file changed.
    async fn apply_round(&mut self, groups: &[Vec<LintEdit>]) -> Result<bool, ToolError> {
        let mut chosen: Vec<&LintEdit> = Vec::new();
        for group in groups {
            let is_here = group
                .iter()
                .all(|edit| hermes_checks::is_within(&self.edit_path(edit), &self.context.path));
            let is_free =
                !group.iter().any(|edit| chosen.iter().any(|other| edits_overlap(edit, other)));
            if is_here && is_free {
                chosen.extend(group);
            }
        }
        let mut by_file: BTreeMap<PathBuf, Vec<LintEdit>> = BTreeMap::new();
        for edit in chosen {
            by_file.entry(self.edit_path(edit)).or_default().push(edit.clone());
        }
        let mut has_changed = false;
        for (path, edits) in by_file {
            let Some(old) = self.context.read(&path).await? else { continue };
            let Some(new) = apply_edits(&old, &edits).filter(|new| *new != old) else { continue };
            self.context.write(&path, &old, &new).await?;
            has_changed = true;
            let known = self.files.entry(path).or_insert_with(|| (old, Vec::new()));
            known.1 = new;
        }
        Ok(has_changed)
    }

    async fn roll_back(&mut self) -> Result<(), ToolError> {
        for (path, (old, new)) in std::mem::take(&mut self.files) {
            self.context.write(&path, &new, &old).await?;
        }
        let name = self.choice.linter.name;
        self.note = Some(format!("The edits of {name} cause new errors; nothing was changed."));
        Ok(())
    }

    fn edit_path(&self, edit: &LintEdit) -> PathBuf {
        self.context.survey.resolve_path(&edit.file, &self.choice.dir)
    }
}

fn count_errors(found: &[LintFinding]) -> usize {
    found.iter().filter(|finding| finding.severity == LintSeverity::Error).count()
}
