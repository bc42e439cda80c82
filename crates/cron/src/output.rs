//! Files with the answers of a job.

use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;

use crate::claims::RunClaim;
use crate::run::RunStatus;
use crate::{CronError, files};

/// Headings above the answer: ours, and that of Hermes Agent.
const ANSWER_HEADINGS: [&str; 2] = ["\n## Answer\n", "\n## Response\n"];

/// Marks an answer that must not be delivered.
const SILENT_MARK: &str = "[SILENT]";

/// Saves an answer and returns its path.
pub(crate) fn write_output(
    dir: &Path,
    claim: &RunClaim,
    answer: &RunAnswer<'_>,
    zone: &TimeZone,
    most: usize,
) -> Result<PathBuf, CronError> {
    let dir = dir.join("output").join(&claim.job.id);
    files::create_private_dir(&dir)?;
    let name = claim.started.to_zoned(zone.clone()).strftime("%Y-%m-%d_%H-%M-%S").to_string();
    let mut path = dir.join(format!("{name}.md"));
    let mut more = 1;
    while path.exists() {
        more += 1;
        path = dir.join(format!("{name}-{more}.md"));
    }
    files::write(&path, answer.to_markdown(claim, zone).as_bytes())?;
    prune(&dir, most);
    Ok(path)
}

/// Returns the last answer of a job: that of a successful run, and not a silent
/// one, which would hide what was reported before.
pub(crate) fn last_answer(dir: &Path, job: &str) -> Option<String> {
    // The id is a directory name, and other programs write the file of jobs.
    if job.is_empty() || !job.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let pages = pages_by_age(&dir.join("output").join(job));
    pages.iter().rev().find_map(|path| {
        let page = std::fs::read_to_string(path).ok()?;
        Some(answer_in_page(&page)?.to_owned()).filter(|answer| !is_silent(answer))
    })
}

/// Returns the answer in a page, unless its run failed.
fn answer_in_page(page: &str) -> Option<&str> {
    let has_failed = |line: &str| line.strip_prefix("- status: ").is_some_and(|it| it != "ok");
    // The head ends where the task begins.
    if page.lines().take_while(|line| !line.starts_with("## ")).any(has_failed) {
        return None;
    }
    let (_, answer) = ANSWER_HEADINGS.iter().find_map(|heading| page.split_once(heading))?;
    Some(answer.trim()).filter(|answer| !answer.is_empty())
}

/// The answer of a run.
#[derive(Debug)]
pub(crate) struct RunAnswer<'a> {
    pub(crate) status: RunStatus,
    pub(crate) text: &'a str,
    pub(crate) error: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
}

impl RunAnswer<'_> {
    fn to_markdown(&self, claim: &RunClaim, zone: &TimeZone) -> String {
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

/// Whether an answer must not be delivered. A report that only mentions the
/// mark, or ends with it, is delivered.
pub(crate) fn is_silent(text: &str) -> bool {
    let text = text.trim();
    let upper: String = text.chars().take(16).collect::<String>().to_uppercase();
    let whole = text.chars().count() <= 16;
    upper.starts_with(SILENT_MARK) || (whole && matches!(upper.as_str(), "SILENT" | "NO_REPLY"))
}

/// Removes all but the latest `most` files.
fn prune(dir: &Path, most: usize) {
    let pages = pages_by_age(dir);
    let old = pages.len().saturating_sub(most.max(1));
    for path in pages.into_iter().take(old) {
        let _ = std::fs::remove_file(path);
    }
}

/// Returns the pages in a directory, oldest first.
fn pages_by_age(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut pages: Vec<(std::time::SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "md"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    pages.sort();
    pages.into_iter().map(|(_, path)| path).collect()
}
