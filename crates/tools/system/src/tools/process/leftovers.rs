//! Processes started by an earlier `hermes` that still run.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_core::{ToolContext, ToolError};
use hermes_exec::job_records::JobRecord;
use hermes_exec::output::clean;
use hermes_exec::{JobRegistry, tree};

use super::report::Output;
use super::{Args, PAGE_LINES, ProcessAction};
use crate::blocking::blocking;

/// How often to check whether a process that is not our child still runs.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum bytes of a line; the rest is dropped.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// Leftovers of this session or of this directory tree. Others belong to
/// unrelated sessions.
pub(in crate::tools) async fn session_leftovers(
    jobs: &Arc<JobRegistry>,
    cx: &ToolContext,
) -> Vec<JobRecord> {
    let looked = Arc::clone(jobs);
    let mut entries = blocking(cx, move || looked.orphans()).await.unwrap_or_default();
    let cwd = cx.working_dir.cwd();
    entries.retain(|entry| {
        entry.session == cx.session.id()
            || entry.cwd.starts_with(cwd)
            || cwd.starts_with(&entry.cwd)
    });
    entries
}

/// Handles an action on a process that this `hermes` did not start.
pub(super) async fn answer(
    args: &Args,
    id: &str,
    jobs: &Arc<JobRegistry>,
    cx: &ToolContext,
) -> Result<Output, ToolError> {
    let action = args.action;
    let entries = session_leftovers(jobs, cx).await;
    let Some(entry) = entries.iter().find(|entry| entry.id == id) else {
        return Err(unknown_process(id, &entries, jobs, cx));
    };
    if let Some(place) = &entry.elsewhere {
        return answer_remote(action, entry, place, jobs, cx).await;
    }
    if let (ProcessAction::Poll | ProcessAction::Log | ProcessAction::Wait, Some(file)) =
        (action, &entry.output)
    {
        return read_output(args, entry, file, cx).await;
    }
    if action != ProcessAction::Kill {
        let output = match &entry.output {
            Some(file) => format!(" Its output is in {}.", file.display()),
            None => " Its output is lost.".to_owned(),
        };
        return Err(ToolError::conflict(
            "The process was started by an earlier instance of hermes",
        )
        .with_hint(format!("It is still running; action=kill ends it.{output}")));
    }
    let (jobs, entry) = (Arc::clone(jobs), entry.clone());
    let is_gone = blocking(cx, move || jobs.terminate_orphan(&entry)).await?;
    if !is_gone {
        return Err(ToolError::conflict("Some of its processes could not be killed")
            .with_hint("They may belong to another user."));
    }
    Ok(Output::for_id(id, "killed"))
}

/// Handles an action on a leftover process on a remote backend.
async fn answer_remote(
    action: ProcessAction,
    entry: &JobRecord,
    place: &str,
    jobs: &JobRegistry,
    cx: &ToolContext,
) -> Result<Output, ToolError> {
    if action != ProcessAction::Kill {
        let message = format!(
            "The process was started by an earlier instance of hermes, in \
            {place}"
        );
        return Err(ToolError::conflict(message)
            .with_hint("Whether it still runs is unknown; action=kill ends it if it does."));
    }
    cx.run_until_cancelled(jobs.terminate_remote_orphan(entry)).await??;
    Ok(Output::for_id(&entry.id, "killed"))
}

/// Reads the output file of a leftover process; for `wait`, after it has exited
/// or the timeout has passed.
async fn read_output(
    args: &Args,
    entry: &JobRecord,
    file: &Path,
    cx: &ToolContext,
) -> Result<Output, ToolError> {
    let is_alive = || tree::is_alive(entry.pid, entry.started);
    let until = Instant::now() + super::wait_limit(args, cx);
    while args.action == ProcessAction::Wait && is_alive() && Instant::now() < until {
        cx.run_until_cancelled(tokio::time::sleep(POLL_INTERVAL.min(until - Instant::now())))
            .await?;
    }
    let runs = is_alive();
    let count = args.limit.map_or(PAGE_LINES, |limit| usize::try_from(limit).unwrap_or(PAGE_LINES));
    let (from, first) = (file.to_path_buf(), args.offset.map(|first| first.max(1)));
    let page =
        blocking(cx, move || OutputPage::read(&from, first, count.clamp(1, 10 * PAGE_LINES)))
            .await?;
    let page = page.map_err(|error| ToolError::io(file.display(), &error))?;
    let status = match (runs, args.action) {
        (true, ProcessAction::Wait) => "timeout",
        (true, _) => "running",
        (false, _) => "exited",
    };
    let mut output = Output::for_id(&entry.id, status);
    output.total_lines = Some(page.total);
    let last = page.first + page.lines.len() as u64;
    output.showing = (!page.lines.is_empty()).then(|| format!("lines {}-{}", page.first, last - 1));
    output.output = Some(page.lines.join("\n"));
    output.add_note(&match runs {
        true => format!(
            "Started by an earlier instance of hermes. Its output is in {}.",
            file.display()
        ),
        false => {
            "Started by an earlier instance of hermes, so its exit status is unknown.".to_owned()
        }
    });
    Ok(output)
}

/// A page of output lines.
struct OutputPage {
    first: u64,
    lines: Vec<String>,
    total: u64,
}

impl OutputPage {
    fn read(file: &Path, first: Option<u64>, count: usize) -> io::Result<Self> {
        let mut reader = BufReader::new(open(file)?);
        let (mut total, mut lines) = (0, VecDeque::new());
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line)? {
            total += 1;
            match first {
                Some(first) if total < first || lines.len() >= count => continue,
                None if lines.len() >= count => drop(lines.pop_front()),
                _ => {}
            }
            lines.push_back(clean(&line));
        }
        let first = first.unwrap_or(total - lines.len() as u64 + 1);
        Ok(Self { first, lines: lines.into(), total })
    }
}

/// Opens the output file of a process. The process may have replaced it, for
/// instance with a symlink to a file that it could not read itself.
fn open(path: &Path) -> io::Result<File> {
    let strange = || io::Error::other("the output file was replaced");
    let found = path.symlink_metadata()?;
    if !found.is_file() {
        return Err(strange());
    }
    let file = File::open(path)?;
    let opened = file.metadata()?;
    let is_same = (opened.dev(), opened.ino()) == (found.dev(), found.ino());
    if is_same { Ok(file) } else { Err(strange()) }
}

/// Reads the next line, truncated to the limit; false at the end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut is_there = false;
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok(is_there);
        }
        is_there = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let kept = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        let room = MAX_LINE_BYTES.saturating_sub(line.len()).min(kept.len());
        line.extend_from_slice(kept.get(..room).unwrap_or_default());
        let used = end.map_or(piece.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

fn unknown_process(
    id: &str,
    left: &[JobRecord],
    jobs: &JobRegistry,
    cx: &ToolContext,
) -> ToolError {
    let own = jobs.session_jobs(cx.session.id());
    let there: Vec<&str> = own
        .iter()
        .map(|handle| handle.job.id.as_str())
        .chain(left.iter().map(|entry| entry.id.as_str()))
        .collect();
    let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
    ToolError::not_found(format!("No process '{id}' in this session"))
        .with_hint(format!("Known processes: {there}."))
}
