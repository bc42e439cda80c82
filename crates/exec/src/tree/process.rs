//! State of one process, as reported by the system.

/// One reading of a process's state.
#[derive(Debug, Clone)]
pub(crate) struct ProcessStat {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// The foreground process group of its terminal; 0 without a terminal.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) foreground: u32,
    pub(crate) state: u8,
    pub(crate) threads: u64,
    pub(crate) ticks: u64,
    pub(crate) started: u64,
    pub(crate) memory: u64,
    pub(crate) name: String,
    /// Kernel threads belong to no job.
    pub(crate) is_kernel: bool,
}

impl ProcessStat {
    /// Whether it still runs. A process whose main thread has exited looks like
    /// a zombie while its other threads continue.
    pub(crate) fn is_alive(&self) -> bool {
        match self.state {
            b'Z' => self.threads > 1,
            b'X' | b'x' => false,
            _ => true,
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{look, parse, read_small};

#[cfg(not(target_os = "linux"))]
pub(crate) fn look(pid: u32) -> Option<ProcessStat> {
    super::ps::list(Some(pid)).ok()?.into_iter().find(|it| it.pid == pid)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{self, File};
    use std::io::{self, Read};
    use std::sync::OnceLock;

    use super::ProcessStat;

    const KERNEL_THREAD: u64 = 0x0020_0000;

    pub(crate) fn look(pid: u32) -> Option<ProcessStat> {
        let mut buffer = [0; 1024];
        let file = File::open(format!("/proc/{pid}/stat")).ok()?;
        let length = read_small(file, &mut buffer).ok()?;
        parse(pid, buffer.get(..length)?)
    }

    /// Reads from a file until its end or until `buffer` is full.
    pub(crate) fn read_small(mut file: impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        let mut length = 0;
        while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match file.read(rest) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }

    /// Parses a line of `/proc/PID/stat`. The name comes first, in parentheses,
    /// and may itself contain parentheses and spaces.
    pub(crate) fn parse(pid: u32, line: &[u8]) -> Option<ProcessStat> {
        let open = memchr::memchr(b'(', line)?;
        let close = memchr::memrchr(b')', line)?;
        let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let mut fields = [""; 22];
        for (slot, field) in fields.iter_mut().zip(rest.split_ascii_whitespace()) {
            *slot = field;
        }
        let number = |at: usize| fields.get(at).and_then(|it| it.parse::<u64>().ok());
        // Some fields are -1 if not applicable.
        let id = |at: usize| number(at).and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
        let ticks = (11..=14).map(|at| number(at).unwrap_or(0)).fold(0, u64::saturating_add);
        Some(ProcessStat {
            pid,
            parent: id(1),
            group: id(2),
            session: id(3),
            foreground: id(5),
            state: *fields.first()?.as_bytes().first()?,
            threads: number(17)?,
            ticks,
            started: number(19)?,
            memory: number(21).unwrap_or(0).saturating_mul(page_size()),
            name,
            is_kernel: number(6)? & KERNEL_THREAD != 0,
        })
    }

    /// Returns the page size in bytes, from the auxiliary vector.
    fn page_size() -> u64 {
        const KEY: usize = 6;
        static PAGE: OnceLock<u64> = OnceLock::new();
        *PAGE.get_or_init(|| {
            let shown = fs::read("/proc/self/auxv").unwrap_or_default();
            let words: Vec<usize> = shown
                .chunks_exact(size_of::<usize>())
                .filter_map(|word| word.try_into().ok().map(usize::from_ne_bytes))
                .collect();
            let found = words.chunks_exact(2).find(|pair| pair.first() == Some(&KEY));
            found
                .and_then(|pair| pair.get(1))
                .and_then(|it| u64::try_from(*it).ok())
                .unwrap_or(4096)
        })
    }
}
