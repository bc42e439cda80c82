//! Process list of a system without `/proc`, read from `ps`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::process::{Command, Stdio};

use super::process::ProcessStat;

/// Columns that every `ps` supports. The start time takes five words, the
/// command the rest of the line.
const PS_COLUMNS: &str = "pid=,ppid=,pgid=,tpgid=,stat=,rss=,time=,lstart=,command=";

/// Lists all processes, or one.
pub(crate) fn list(only: Option<u32>) -> io::Result<Vec<ProcessStat>> {
    let mut command = Command::new("ps");
    match only {
        Some(pid) => command.arg("-p").arg(pid.to_string()),
        None => command.arg("-ax"),
    };
    command.arg("-o").arg(PS_COLUMNS).env("LC_ALL", "C").env("TZ", "UTC");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let found: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().filter_map(parse).collect();
    if found.is_empty() && only.is_none() {
        return Err(io::Error::other("ps listed no processes"));
    }
    Ok(found)
}

/// Parses one line of output. `ps` reports no usable session id; the process
/// group replaces it.
pub(crate) fn parse(line: &str) -> Option<ProcessStat> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    let foreground = words.next()?.parse().unwrap_or(0);
    let state = *words.next()?.as_bytes().first()?;
    let memory = words.next()?.parse::<u64>().ok()?.saturating_mul(1024);
    let ticks = parse_cpu_time(words.next()?)?;
    let mut start = DefaultHasher::new();
    for _ in 0..5 {
        words.next()?.hash(&mut start);
    }
    let name = words.collect::<Vec<_>>().join(" ");
    Some(ProcessStat {
        pid,
        parent,
        group,
        session: group,
        foreground,
        state,
        threads: 1,
        ticks,
        started: start.finish(),
        memory,
        name,
        is_kernel: false,
    })
}

/// Parses processor time, written
/// `[[days-]hours:]minutes:seconds[.hundredths]`.
fn parse_cpu_time(text: &str) -> Option<u64> {
    let (days, text) = match text.split_once('-') {
        Some((days, rest)) => (days.parse::<u64>().ok()?, rest),
        None => (0, text),
    };
    let (text, rest) = text.split_once('.').unwrap_or((text, "0"));
    let mut seconds = 0_u64;
    for part in text.split(':') {
        seconds = seconds.checked_mul(60)?.checked_add(part.parse().ok()?)?;
    }
    let seconds = seconds.checked_add(days.checked_mul(86_400)?)?;
    seconds.checked_mul(100)?.checked_add(rest.parse().ok()?)
}

#[cfg(test)]
#[path = "ps_tests.rs"]
mod tests;
