//! A folder with a log in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_audit::{AuditLog, AuditQuery, LogOptions, VerifyReport, query, verify};
use serde_json::json;
use tempfile::TempDir;

/// Long enough for the slowest machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Folder {
    /// The folder of the log is one in it, as something stands beside that.
    _keep: TempDir,
    path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let keep = TempDir::new().unwrap();
        let path = keep.path().join("audit");
        fs::create_dir(&path).unwrap();
        Self { _keep: keep, path }
    }

    /// With so many entries.
    pub(crate) fn with_entries(count: usize) -> Self {
        let dir = Self::new();
        dir.add(count, &LogOptions::default());
        dir
    }

    pub(crate) fn add(&self, count: usize, options: &LogOptions) {
        let log = AuditLog::open_with(self.path().to_owned(), options.clone());
        for number in 0..count {
            log.append(json!({ "tool": "read_file", "number": number, "session": "s" }));
        }
        log.flush(PATIENCE).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn log_file(&self) -> PathBuf {
        self.file("audit.jsonl")
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.log_file()).unwrap().lines().map(str::to_owned).collect()
    }

    pub(crate) fn write_lines(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(self.log_file(), text).unwrap();
    }

    /// The files that were put aside, oldest first.
    pub(crate) fn older(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("audit-"))
            .collect();
        found.sort();
        found
    }

    pub(crate) fn report(&self) -> VerifyReport {
        verify(self.path())
    }

    pub(crate) fn count(&self) -> usize {
        query(self.path(), &AuditQuery::default(), usize::MAX).unwrap().len()
    }
}

/// File, line and words of every fault.
pub(crate) fn faults(report: &VerifyReport) -> Vec<(&str, u64, &str)> {
    report.faults.iter().map(|f| (f.file.as_str(), f.line, f.what.as_str())).collect()
}

#[track_caller]
pub(crate) fn assert_clean(report: &VerifyReport, entries: u64) {
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.entries, entries, "{report}");
}
