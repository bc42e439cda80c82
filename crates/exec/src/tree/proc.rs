//! Process list of a system with `/proc`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use hermes_sandbox::ProcessTag;
use memchr::memmem::Finder;
use rustix::fs::{Dir, Mode, OFlags, open, openat};
use rustix::io::Errno;

use super::JOB_VARIABLE;
use super::process::{ProcessStat, parse, read_small};
use super::table::{JobMark, MarkFilter, ProcessScan};

const OPEN_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC);
/// Maximum bytes of a command line that are read.
const MAX_COMMAND_BYTES: usize = 1024;
/// Maximum number of passes while processes start and exit during the scan.
const MAX_SCAN_PASSES: usize = 16;

/// Reads all processes and the requested marks.
///
/// A process may start another and exit between being listed and being
/// inspected; then neither is seen. So whenever a process has exited, the list
/// is read again for new ones. `each` is called for every process immediately,
/// for callers that cannot wait for the complete list.
pub(super) fn all(
    need: &MarkFilter,
    each: &mut dyn FnMut(&ProcessStat, Option<&JobMark>),
) -> io::Result<ProcessScan> {
    let mut source = ProcReader::open()?;
    let mut found = ProcessScan::default();
    let mut seen = HashSet::new();
    for _ in 0..MAX_SCAN_PASSES {
        let mut has_gone = false;
        for entry in Dir::read_from(&source.proc_dir)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok();
            let Some(pid) = name.and_then(|it| it.parse::<u32>().ok()) else { continue };
            if seen.contains(&pid) {
                continue;
            }
            let process = match source.read_process(pid) {
                Ok(Some(process)) => process,
                Ok(None) => {
                    has_gone = true;
                    continue;
                }
                // Some systems hide the processes of other users.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    seen.insert(pid);
                    continue;
                }
                Err(error) => return Err(error),
            };
            seen.insert(pid);
            has_gone |= !process.is_alive();
            let mark = match needs_mark(&process, need) {
                true => source.read_mark(pid)?,
                false => MarkLookup::Unmarked,
            };
            match mark {
                MarkLookup::Found(mark) => {
                    each(&process, Some(&mark));
                    found.marks.insert(pid, mark);
                }
                MarkLookup::Unmarked => each(&process, None),
                MarkLookup::Gone => has_gone = true,
            }
            found.processes.push(process);
        }
        if !has_gone {
            found.is_complete = true;
            break;
        }
    }
    if found.processes.is_empty() {
        return Err(io::Error::other("no processes are visible in /proc"));
    }
    Ok(found)
}

fn needs_mark(process: &ProcessStat, need: &MarkFilter) -> bool {
    process.is_alive()
        && !process.is_kernel
        && process.started >= need.started
        && need.session != Some(process.session)
}

enum MarkLookup {
    Found(JobMark),
    Unmarked,
    Gone,
}

/// An open `/proc` and a read buffer.
struct ProcReader {
    proc_dir: OwnedFd,
    path: String,
    buffer: Box<[u8]>,
    finder: Finder<'static>,
}

impl ProcReader {
    fn open() -> io::Result<Self> {
        const PIECE: usize = 16 * 1024;
        Ok(Self {
            proc_dir: open("/proc", OPEN_FLAGS.union(OFlags::DIRECTORY), Mode::empty())?,
            path: String::new(),
            buffer: vec![0; PIECE].into_boxed_slice(),
            finder: Finder::new(JOB_VARIABLE.as_bytes()),
        })
    }

    /// Opens a file of a process; `None` if the process has exited.
    fn file(&mut self, pid: u32, name: &str) -> Result<Option<File>, Errno> {
        self.path.clear();
        let _ = write!(self.path, "{pid}/{name}");
        match openat(&self.proc_dir, self.path.as_str(), OPEN_FLAGS, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT | Errno::SRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns `None` if the process has exited.
    fn read_process(&mut self, pid: u32) -> io::Result<Option<ProcessStat>> {
        let Some(file) = self.file(pid, "stat")? else { return Ok(None) };
        // Reading fails if the process exits meanwhile.
        let Ok(length) = read_small(file, &mut self.buffer) else { return Ok(None) };
        Ok(self.buffer.get(..length).and_then(|line| parse(pid, line)))
    }

    /// Returns the mark of a process: from its initial environment, or its tag.
    fn read_mark(&mut self, pid: u32) -> io::Result<MarkLookup> {
        match self.read_environment_mark(pid)? {
            MarkLookup::Unmarked => self.read_tag_mark(pid),
            seen => Ok(seen),
        }
    }

    fn read_environment_mark(&mut self, pid: u32) -> io::Result<MarkLookup> {
        // During an exec, the environment reads as empty for a moment.
        for _ in 0..3 {
            let file = match self.file(pid, "environ") {
                Ok(Some(file)) => file,
                Ok(None) => return Ok(MarkLookup::Gone),
                // It belongs to another user.
                Err(Errno::ACCESS | Errno::PERM) => return Ok(MarkLookup::Unmarked),
                Err(error) => return Err(error.into()),
            };
            match self.search(file) {
                Ok(Some(mark)) => return Ok(mark),
                Ok(None) => {}
                Err(_) => return Ok(MarkLookup::Gone),
            }
        }
        let is_alive = self.read_process(pid)?.is_some_and(|it| it.is_alive());
        Ok(if is_alive { MarkLookup::Unmarked } else { MarkLookup::Gone })
    }

    /// Reads the tags from its limit on file locks.
    fn read_tag_mark(&mut self, pid: u32) -> io::Result<MarkLookup> {
        const LINE: &[u8] = b"Max file locks";
        let file = match self.file(pid, "limits") {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(MarkLookup::Gone),
            Err(Errno::ACCESS | Errno::PERM) => return Ok(MarkLookup::Unmarked),
            Err(error) => return Err(error.into()),
        };
        let Ok(length) = read_small(file, &mut self.buffer) else { return Ok(MarkLookup::Gone) };
        let text = self.buffer.get(..length).unwrap_or_default();
        let mut lines = text.split(|byte| *byte == b'\n');
        let words = lines.find_map(|line| std::str::from_utf8(line.strip_prefix(LINE)?).ok());
        let mut words = words.unwrap_or_default().split_ascii_whitespace();
        let mut next =
            || words.next().and_then(|it| it.parse().ok()).and_then(ProcessTag::from_limit);
        let stamps = [next(), next()];
        let is_stamped = stamps.iter().any(Option::is_some);
        Ok(if is_stamped { MarkLookup::Found(JobMark::Tags(stamps)) } else { MarkLookup::Unmarked })
    }

    /// Searches for the mark in chunks, since an environment may be megabytes
    /// long. Returns `None` for an empty one.
    fn search(&mut self, mut file: File) -> io::Result<Option<MarkLookup>> {
        const LONGEST: usize = 4 * 1024;
        // The first variable has no terminator before it; supply one.
        let mut text = vec![0];
        let mut is_empty = true;
        loop {
            let length = match file.read(&mut self.buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            is_empty &= length == 0;
            text.extend_from_slice(self.buffer.get(..length).unwrap_or_default());
            let places = self.finder.find_iter(&text);
            for at in places.filter(|at| *at > 0 && text.get(at - 1) == Some(&0)) {
                let rest = text.get(at + JOB_VARIABLE.len()..).and_then(|it| it.strip_prefix(b"="));
                let Some(rest) = rest else { continue };
                let end = memchr::memchr(0, rest).or((length == 0).then_some(rest.len()));
                if let Some(value) = end.and_then(|end| rest.get(..end)) {
                    let value = String::from_utf8(value.to_vec());
                    let value = value.ok().filter(|value| !value.is_empty());
                    let words = value.map(|value| MarkLookup::Found(JobMark::Environment(value)));
                    return Ok(Some(words.unwrap_or(MarkLookup::Unmarked)));
                }
            }
            if length == 0 {
                return Ok((!is_empty).then_some(MarkLookup::Unmarked));
            }
            // Keep enough for a mark split across two chunks.
            text.drain(..text.len().saturating_sub(LONGEST));
        }
    }
}

/// Returns the command line of a process, its words separated by spaces.
pub(super) fn command(pid: u32) -> Option<String> {
    let mut buffer = [0; MAX_COMMAND_BYTES];
    let file = File::open(format!("/proc/{pid}/cmdline")).ok()?;
    let length = read_small(file, &mut buffer).ok()?;
    let line = buffer.get(..length)?;
    let words: Vec<_> = line.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let line = words.join(" ").trim_end().to_owned();
    (!line.is_empty()).then_some(line)
}
