//! The lines that were sent before, shared with other conversations through a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use hermes_store::regular_file;

/// So many lines are remembered.
const MAX_HISTORY_LINES: usize = 2_000;
/// A line that is longer is not remembered.
const MAX_LINE_BYTES: usize = 32 * 1024;
/// A file that is larger is not ours.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Lines, the latest last.
#[derive(Debug, Default)]
pub(crate) struct InputHistory {
    lines: Vec<String>,
    path: Option<PathBuf>,
}

impl InputHistory {
    /// Reads the file, if there is one; what cannot be read is not missed.
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

    /// Remembers a line, unless it begins with a space or was sent just before.
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
            // Not remembering is no reason to stop talking.
            let _ = append(path, line);
        }
    }

    /// The latest line that begins with a text and is longer.
    pub(crate) fn latest_with_prefix(&self, text: &str) -> Option<&str> {
        let longer = |line: &&String| line.len() > text.len() && line.starts_with(text);
        self.lines.iter().rev().find(longer).map(String::as_str)
    }

    /// The latest line before `end` in which a text occurs.
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

/// The file, locked. Another process may have put a new one in its place meanwhile.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        // What is no file is not written to: a pipe would be waited for.
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
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // One write, so that whoever reads at this moment sees a line or none.
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
