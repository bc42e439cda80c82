//! History of submitted lines, shared with other conversations through a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use hermes_store::regular_file;

/// Maximum number of lines kept.
const MAX_HISTORY_LINES: usize = 2_000;
/// Longer lines are not kept.
const MAX_LINE_BYTES: usize = 32 * 1024;
/// A larger file is not a history file and is ignored.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Submitted lines, latest last.
#[derive(Debug, Default)]
pub(crate) struct InputHistory {
    lines: Vec<String>,
    path: Option<PathBuf>,
}

impl InputHistory {
    /// Reads the history file if it exists; errors are ignored.
    pub(crate) fn open(path: Option<PathBuf>) -> Self {
        let lines = path.as_deref().and_then(|path| load(path).ok()).unwrap_or_default();
        Self { lines, path }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn get(&self, at: usize) -> Option<&str> {
        self.lines.get(at).map(String::as_str)
    }

    /// Adds a line, unless it starts with a space or repeats the previous one.
    pub(crate) fn add(&mut self, line: &str) {
        let is_known = self.lines.last().is_some_and(|last| last == line);
        if line.trim().is_empty()
            || line.starts_with(' ')
            || line.len() > MAX_LINE_BYTES
            || is_known
        {
            return;
        }
        self.lines.push(line.to_owned());
        if let Some(path) = &self.path {
            // A history failure must not stop the conversation.
            let _ = append(path, line);
        }
    }

    /// Returns the latest line that starts with `text` and is longer.
    pub(crate) fn latest_with_prefix(&self, text: &str) -> Option<&str> {
        let longer = |line: &&String| line.len() > text.len() && line.starts_with(text);
        self.lines.iter().rev().find(longer).map(String::as_str)
    }

    /// Returns the index of the latest line before `end` that contains `text`.
    pub(crate) fn find(&self, text: &str, end: usize) -> Option<usize> {
        let lines = self.lines.get(..end.min(self.lines.len()))?;
        let needle = text.to_lowercase();
        lines.iter().rposition(|line| line.to_lowercase().contains(&needle))
    }
}

fn load(path: &Path) -> io::Result<Vec<String>> {
    let bytes = regular_file::read_at_most(path, MAX_FILE_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<String> = text.lines().map(unescape).collect();
    if lines.len() > 2 * MAX_HISTORY_LINES {
        lines.drain(..lines.len() - MAX_HISTORY_LINES);
        rewrite(path, &lines)?;
    }
    Ok(lines)
}

/// Opens and locks the file. Another process may have replaced it in the
/// meantime.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        // Write only to a regular file: opening a FIFO would block.
        match regular_file::open(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.lock()?;
        let (ours, theirs) = (file.metadata()?, std::fs::metadata(path)?);
        if (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()) {
            return Ok(file);
        }
    }
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    // A single write, so a concurrent reader sees the whole line or none of it.
    open_locked(path)?.write_all(format!("{}\n", escape(line)).as_bytes())
}

fn rewrite(path: &Path, lines: &[String]) -> io::Result<()> {
    let _lock = open_locked(path)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let next = PathBuf::from(name);
    let mut text = String::new();
    for line in lines {
        text.push_str(&escape(line));
        text.push('\n');
    }
    let mut options = OpenOptions::new();
    let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(&next)?;
    file.write_all(text.as_bytes())?;
    std::fs::rename(&next, path)
}

fn escape(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
