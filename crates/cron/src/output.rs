//! The files with the answers of a job.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use crate::claims::Claim;
use crate::run::Status;
use crate::{CronError, files};

/// An answer that says that there is nothing to say.
const SILENT: &str = "[SILENT]";

/// Writes an answer down; where.
pub(crate) fn keep(
    folder: &Path,
    claim: &Claim,
    answer: &Answer<'_>,
    zone: &TimeZone,
    most: usize,
) -> Result<PathBuf, CronError> {
    let folder = folder.join("output").join(&claim.job.id);
    files::make_folder(&folder)?;
    let name = claim.started.to_zoned(zone.clone()).strftime("%Y-%m-%d_%H-%M-%S").to_string();
    let mut path = folder.join(format!("{name}.md"));
    let mut more = 1;
    while path.exists() {
        more += 1;
        path = folder.join(format!("{name}-{more}.md"));
    }
    files::write(&path, answer.page(claim, zone).as_bytes())?;
    prune(&folder, most);
    Ok(path)
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: Status,
    pub(crate) text: &'a str,
    pub(crate) error: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
}

impl Answer<'_> {
    fn page(&self, claim: &Claim, zone: &TimeZone) -> String {
        let shown = |at: jiff::Timestamp| {
            at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %:z").to_string()
        };
        let mut page = format!(
            "# {}\n\n- job: {}\n- run: {}\n- due: {}\n- started: {}\n- status: {}\n",
            claim.job.name,
            claim.job.id,
            claim.run,
            shown(claim.due),
            shown(claim.started),
            self.status.name(),
        );
        if let Some(session) = self.session {
            page.push_str(&format!("- session: {session}\n"));
        }
        page.push_str(&format!("\n## Task\n\n{}\n", claim.job.prompt.trim_end()));
        if let Some(error) = self.error {
            page.push_str(&format!("\n## Error\n\n{}\n", error.trim_end()));
        }
        if !self.text.trim().is_empty() {
            page.push_str(&format!("\n## Answer\n\n{}\n", self.text.trim_end()));
        }
        page
    }
}

/// Whether an answer asks not to be sent. A report that only mentions the mark,
/// or ends with it, is sent.
pub(crate) fn is_silent(text: &str) -> bool {
    let text = text.trim();
    let upper: String = text.chars().take(16).collect::<String>().to_uppercase();
    let whole = text.chars().count() <= 16;
    upper.starts_with(SILENT) || (whole && matches!(upper.as_str(), "SILENT" | "NO_REPLY"))
}

/// Leaves the latest files.
fn prune(folder: &Path, most: usize) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut pages: Vec<(std::time::SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "md"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    pages.sort();
    let old = pages.len().saturating_sub(most.max(1));
    for (_, path) in pages.into_iter().take(old) {
        let _ = std::fs::remove_file(path);
    }
}
