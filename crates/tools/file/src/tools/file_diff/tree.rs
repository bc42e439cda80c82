//! Comparison of two directory trees, entry by entry.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hermes_core::{ToolContext, ToolError};
use hermes_files::{FileAccess, FileKind, explain_error};
use hermes_search::{DirIgnoreRules, IgnoreMarkers};

use super::compared_dir::ComparedDir;
use super::output::{DiffStatus, DirDiffSummary, Output};
use super::pair::DiffRequest;
use super::{Args, MAX_ENTRIES};

/// Number of differences after which the walk stops.
const MAX_DIFFERENCES: usize = 100_000;
/// Maximum number of unreadable paths reported.
const MAX_UNREADABLE_NAMES: usize = 20;
/// Interval between progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(700);

/// A directory still to be compared, and the parent rules on each side where it
/// exists.
struct PendingDirPair {
    relative: PathBuf,
    rules: [Option<Option<DirIgnoreRules>>; 2],
    /// Whether it is already reported as a change of type.
    is_reported: bool,
}

/// An entry that differs.
pub(super) struct EntryDifference {
    pub(super) relative: PathBuf,
    pub(super) status: DiffStatus,
    /// Kind on each side.
    pub(super) kinds: [Option<FileKind>; 2],
}

/// State of a comparison of two trees.
pub(super) struct TreeComparison<'a> {
    pub(super) dirs: [ComparedDir; 2],
    pub(super) cx: &'a ToolContext,
    pub(super) summary: DirDiffSummary,
    pub(super) differences: Vec<EntryDifference>,
    pub(super) unreadable: Vec<String>,
    /// Number of entries that the policy denies.
    pub(super) denied: usize,
    pub(super) is_partial: bool,
    looked_at: usize,
    last_report: Instant,
}

/// Entries of a directory on both sides, and the rules that apply in it.
#[derive(Default)]
struct PairedListing {
    names: BTreeMap<OsString, [Option<FileKind>; 2]>,
    rules: [Option<DirIgnoreRules>; 2],
}

pub(super) fn compare(
    args: &Args,
    old: &Path,
    new: &Path,
    request: &DiffRequest,
    cx: &ToolContext,
) -> Result<Output, ToolError> {
    let name =
        |path: &Option<String>| path.as_deref().unwrap_or(".").trim_end_matches('/').to_owned();
    let halves = [
        ComparedDir::open(name(&args.path), old, args.gitignore, cx)?,
        ComparedDir::open(name(&args.other_path), new, args.gitignore, cx)?,
    ];
    let reported = args.encoding()?;
    let mut walk = TreeComparison {
        dirs: halves,
        cx,
        summary: DirDiffSummary::default(),
        differences: Vec::new(),
        unreadable: Vec::new(),
        denied: 0,
        is_partial: false,
        looked_at: 0,
        last_report: Instant::now(),
    };
    walk.run(args.gitignore)?;
    walk.differences.sort_by(|a, b| a.relative.cmp(&b.relative));
    let shown = usize::try_from(args.limit.clamp(1, MAX_ENTRIES)).unwrap_or(usize::MAX);
    walk.describe(shown, request, reported)
}

impl TreeComparison<'_> {
    fn run(&mut self, gitignore: bool) -> Result<(), ToolError> {
        let rules = [0, 1].map(|at| self.dirs.get(at).map(|half| half.above.clone()));
        let mut open = vec![PendingDirPair { relative: PathBuf::new(), rules, is_reported: false }];
        while let Some(dir) = open.pop() {
            let Some(PairedListing { names, rules }) = self.list(&dir)? else { continue };
            let is_empty = names.is_empty();
            for (name, kinds) in names {
                self.check_progress()?;
                let relative = dir.relative.join(&name);
                if self.is_denied(&relative) {
                    self.denied += 1;
                    continue;
                }
                if gitignore && (name == ".git" || self.is_ignored(&rules, &relative, kinds)) {
                    continue;
                }
                if self.differences.len() >= MAX_DIFFERENCES {
                    self.is_partial = true;
                    return Ok(());
                }
                let is_folder = kinds.map(|kind| kind == Some(FileKind::Directory));
                // A directory on one side only is still walked.
                if is_folder.contains(&true) {
                    let rules = [0, 1].map(|at| {
                        let is_there = is_folder.get(at).is_some_and(|is| *is);
                        rules.get(at).filter(|_| is_there).cloned()
                    });
                    let is_told = !kinds.contains(&None) && is_folder.contains(&false);
                    open.push(PendingDirPair {
                        relative: relative.clone(),
                        rules,
                        is_reported: is_told,
                    });
                }
                self.classify(relative, kinds);
            }
            let is_single = dir.rules.iter().filter(|rules| rules.is_some()).count() == 1;
            if is_empty && is_single && !dir.is_reported {
                self.add_empty_dir(dir);
            }
        }
        Ok(())
    }

    /// Whether the call may not read an entry. One denied on one side is
    /// skipped on both, or it would look missing.
    fn is_denied(&self, relative: &Path) -> bool {
        let files = FileAccess::new(self.cx);
        self.dirs.iter().any(|half| files.denies(&half.place.join(relative)))
    }

    /// Lists a directory on both sides; `None` if one cannot be read, as every
    /// entry of the other would look new.
    fn list(&mut self, open: &PendingDirPair) -> Result<Option<PairedListing>, ToolError> {
        let mut listing = PairedListing::default();
        for (at, half) in self.dirs.iter().enumerate() {
            let Some(Some(above)) = open.rules.get(at) else { continue };
            let read = half.open_dir(&open.relative).and_then(|dir| {
                let mut marks = IgnoreMarkers::default();
                for entry in dir.entries()? {
                    let entry = entry?;
                    marks.note(entry.name.as_encoded_bytes());
                    let kinds = listing.names.entry(entry.name).or_insert([None, None]);
                    if let Some(kind) = kinds.get_mut(at) {
                        *kind = Some(entry.kind);
                    }
                }
                let place = half.place.join(&open.relative);
                Ok(above.as_ref().map(|above| above.for_dir(&place, marks, |name| dir.open(name))))
            });
            match read {
                Ok(rules) => {
                    if let Some(slot) = listing.rules.get_mut(at) {
                        *slot = rules;
                    }
                }
                Err(error) if open.relative.as_os_str().is_empty() => {
                    return Err(explain_error("list", &half.place, &error));
                }
                Err(_) => {
                    add_unreadable(&mut self.unreadable, half, &open.relative);
                    return Ok(None);
                }
            }
        }
        Ok(Some(listing))
    }

    /// Whether either side ignores an entry. It is skipped on both, or it would
    /// look missing.
    fn is_ignored(
        &self,
        rules: &[Option<DirIgnoreRules>; 2],
        relative: &Path,
        kinds: [Option<FileKind>; 2],
    ) -> bool {
        let is_folder = kinds.contains(&Some(FileKind::Directory));
        self.dirs.iter().zip(rules).any(|(half, rules)| {
            let said =
                rules.as_ref().map(|rules| rules.is_ignored(&half.place.join(relative), is_folder));
            said.flatten() == Some(true)
        })
    }

    /// Compares an entry and records a difference.
    fn classify(&mut self, relative: PathBuf, kinds: [Option<FileKind>; 2]) {
        let status = match kinds {
            [Some(FileKind::Directory), Some(FileKind::Directory) | None]
            | [None, Some(FileKind::Directory)] => return,
            [None, _] => DiffStatus::Added,
            [_, None] => DiffStatus::Removed,
            [Some(old), Some(new)] if old != new => DiffStatus::TypeChanged,
            [Some(kind), _] => match self.is_same(&relative, kind) {
                Ok(true) => {
                    self.summary.identical += 1;
                    return;
                }
                Ok(false) => DiffStatus::Changed,
                Err(_) => {
                    let [half, _] = &self.dirs;
                    add_unreadable(&mut self.unreadable, half, &relative);
                    return;
                }
            },
        };
        self.count(status);
        self.differences.push(EntryDifference { relative, status, kinds });
    }

    /// Reports an empty directory that exists on one side only.
    fn add_empty_dir(&mut self, dir: PendingDirPair) {
        let kinds = dir.rules.map(|rules| rules.map(|_| FileKind::Directory));
        let status = if kinds[0].is_none() { DiffStatus::Added } else { DiffStatus::Removed };
        self.count(status);
        self.differences.push(EntryDifference { relative: dir.relative, status, kinds });
    }

    fn count(&mut self, status: DiffStatus) {
        match status {
            DiffStatus::Added => self.summary.added += 1,
            DiffStatus::Removed => self.summary.removed += 1,
            DiffStatus::Changed => self.summary.changed += 1,
            DiffStatus::TypeChanged => self.summary.type_changed += 1,
        }
    }

    fn is_same(&self, relative: &Path, kind: FileKind) -> io::Result<bool> {
        let [old, new] = &self.dirs;
        match kind {
            FileKind::Link => Ok(old.root.read_link(relative)? == new.root.read_link(relative)?),
            FileKind::File => old.holds_same(new, relative, self.cx),
            // Pipes, sockets and devices have no content to compare.
            _ => Ok(true),
        }
    }

    /// Checks for cancellation and reports progress.
    pub(super) fn check_progress(&mut self) -> Result<(), ToolError> {
        self.cx.check_cancelled()?;
        self.looked_at += 1;
        if self.last_report.elapsed() > PROGRESS_INTERVAL {
            self.last_report = Instant::now();
            self.cx.report_progress(None, format!("{} entries compared", self.looked_at));
        }
        Ok(())
    }
}

fn add_unreadable(unreadable: &mut Vec<String>, half: &ComparedDir, relative: &Path) {
    let path = half.display_path(relative);
    if unreadable.len() < MAX_UNREADABLE_NAMES && !unreadable.contains(&path) {
        unreadable.push(path);
    }
}
