//! Verifies the chain line by line.

use serde_json::Value;

use crate::chain::{ChainHash, LogKey, LogLine};
use crate::verify::{LogFault, VerifyReport};

/// State of a verification.
#[derive(Debug)]
pub(crate) struct ChainVerifier {
    key: Option<LogKey>,
    /// Sequence number at which the chain should start.
    begin_seq: u64,
    /// Sequence number of the last line of the chain.
    pub(crate) seq: u64,
    /// Accepted `prev` values of the next line: the hash that the last line
    /// shows, and the one it should have. A changed line then counts as one
    /// fault, not two.
    accepted_prevs: Vec<ChainHash>,
    /// The first line: its position, sequence number and `prev`.
    pub(crate) first: Option<((String, u64), (u64, ChainHash))>,
    /// Position of the last line checked.
    pub(crate) position: (String, u64),
    /// The entry that the head names, and its hash as found in the log.
    head_seq: Option<u64>,
    pub(crate) hash_at_head: Option<ChainHash>,
    /// Lines since the last linked one that do not belong to the chain.
    strays: Vec<StrayLine>,
    stray_count: u64,
}

/// A line that is not an entry of this log.
#[derive(Debug)]
struct StrayLine {
    file: String,
    line: u64,
    digest: Option<ChainHash>,
    has_newline: bool,
    what: &'static str,
}

/// Further consecutive strays are merged into one fault.
const MAX_STRAYS: usize = 100;

const CHANGED_LINE: &str = "it was changed, or written with another key";
const NO_ENTRY: &str = "it is not an entry";

impl ChainVerifier {
    pub(crate) fn new(key: Option<LogKey>, begin_seq: u64, head_seq: Option<u64>) -> Self {
        Self {
            key,
            begin_seq,
            seq: 0,
            accepted_prevs: Vec::new(),
            first: None,
            position: (String::new(), 0),
            head_seq,
            hash_at_head: None,
            strays: Vec::new(),
            stray_count: 0,
        }
    }

    /// Checks the next line, including its line break if it has one.
    pub(crate) fn check_line(
        &mut self,
        file: &str,
        number: u64,
        text: &[u8],
        report: &mut VerifyReport,
    ) {
        let (text, ended) = match text.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (text, false),
        };
        self.position = (file.to_owned(), number);
        let Some(line) = LogLine::parse(text).filter(|_| ended) else {
            self.add_stray(file, number, text, ended, NO_ENTRY);
            return;
        };
        let intact = self.key.as_ref().is_none_or(|key| line.is_intact(key));
        let due = self.first.as_ref().map_or(self.begin_seq, |_| self.seq.saturating_add(1));
        if !intact && line.seq != due {
            self.add_stray(file, number, text, ended, CHANGED_LINE);
            return;
        }
        count_line(&line, report);
        self.link_line(file, number, &line, intact, report);
        if intact {
            report_event(file, number, &line, report);
        }
    }

    /// Links a line to the end of the chain.
    fn link_line(
        &mut self,
        file: &str,
        number: u64,
        line: &LogLine<'_>,
        intact: bool,
        report: &mut VerifyReport,
    ) {
        let strays = self.settle_strays(Some(line).filter(|_| intact), report);
        let mut fault = |what: String| report.add_fault(LogFault::new(file, number, what));
        if !intact {
            fault(CHANGED_LINE.to_owned());
        }
        if self.first.is_none() {
            self.first = Some(((file.to_owned(), number), (line.seq, line.prev)));
        } else if line.seq <= self.seq {
            fault(format!("entry {} follows entry {}", line.seq, self.seq));
            return;
        } else if line.seq - self.seq > 1 {
            // If there are as many strays as missing numbers, the strays are
            // those entries.
            if line.seq - self.seq - 1 != strays {
                fault(missing_entries(self.seq + 1, line.seq - 1));
            }
        } else if intact && !self.accepted_prevs.contains(&line.prev) {
            fault("its `prev` does not match the hash of the line before".to_owned());
        }
        self.seq = line.seq;
        self.accepted_prevs = vec![line.hash];
        if let Some(key) = self.key.as_ref().filter(|_| !intact) {
            self.accepted_prevs.push(line.expected_hash(key));
        }
        if self.head_seq == Some(line.seq) {
            self.hash_at_head = Some(line.hash);
        }
    }

    fn add_stray(&mut self, file: &str, line: u64, text: &[u8], ended: bool, what: &'static str) {
        self.stray_count += 1;
        if self.strays.len() < MAX_STRAYS {
            let digest = self.key.as_ref().map(|key| key.digest(text));
            self.strays.push(StrayLine {
                file: file.to_owned(),
                line,
                digest,
                has_newline: ended,
                what,
            });
        }
    }

    /// Reports the strays before a line and returns their number. A stray that
    /// the line accounts for was left by a crash and is not counted.
    fn settle_strays(&mut self, line: Option<&LogLine<'_>>, report: &mut VerifyReport) -> u64 {
        let unkept = self.stray_count - self.strays.len() as u64;
        let torn = line.and_then(torn_digest).filter(|_| unkept == 0);
        if let Some(torn) = torn
            && let Some(stray) = self.strays.pop_if(|s| s.digest.is_none_or(|d| d == torn))
        {
            self.stray_count -= 1;
            let what = "an entry is truncated; the log continues after it";
            report.notes.push(LogFault::new(stray.file, stray.line, what));
        }
        let count = std::mem::take(&mut self.stray_count);
        for stray in self.strays.drain(..) {
            report.add_fault(LogFault::new(stray.file, stray.line, stray.what));
        }
        if unkept > 0
            && let Some(last) = report.faults.last_mut()
        {
            last.last_line += unkept;
        }
        count
    }

    /// Reports what follows the last line. An unterminated last line is left by
    /// a crash; the next writer terminates it.
    pub(crate) fn finish(&mut self, report: &mut VerifyReport) {
        if self.strays.last().is_some_and(|stray| !stray.has_newline && stray.what == NO_ENTRY)
            && self.stray_count == self.strays.len() as u64
            && let Some(stray) = self.strays.pop()
        {
            self.stray_count -= 1;
            let what = "the last entry is truncated";
            report.notes.push(LogFault::new(stray.file, stray.line, what));
        }
        self.settle_strays(None, report);
    }
}

fn count_line(line: &LogLine<'_>, report: &mut VerifyReport) {
    report.entries += 1;
    if let Ok(time) = line.time.parse() {
        report.first = Some(report.first.map_or(time, |first| first.min(time)));
        report.last = Some(report.last.map_or(time, |last| last.max(time)));
    }
}

pub(crate) fn missing_entries(from: u64, to: u64) -> String {
    if from == to {
        format!("entry {from} is missing before this line")
    } else {
        format!("entries {from} to {to} are missing before this line")
    }
}

/// Returns the digest of the torn line before this one, as recorded in this
/// line.
fn torn_digest(line: &LogLine<'_>) -> Option<ChainHash> {
    let fields = own_event(line)?;
    if fields.get("event")? != "torn" {
        return None;
    }
    ChainHash::parse(fields.get("of")?.as_str()?.as_bytes())
}

/// Returns the fields of a line if it may be an event of the log itself.
fn own_event(line: &LogLine<'_>) -> Option<Value> {
    if !line.fields.starts_with(b"\"event\":") {
        return None;
    }
    let text = [b"{", line.fields, b"}"].concat();
    serde_json::from_slice(&text).ok()
}

/// Reports an event that the log recorded about itself.
fn report_event(file: &str, number: u64, line: &LogLine<'_>, report: &mut VerifyReport) {
    let Some(fields) = own_event(line) else { return };
    match fields.get("event").and_then(Value::as_str) {
        Some("head_lost") => {
            let what = "the head was missing or changed when this line was written; entries before it may have been cut off";
            report.add_fault(LogFault::new(file, number, what));
        }
        Some("key_lost") => {
            let what = "the key was missing when this line was written; the lines before it cannot be checked";
            report.add_fault(LogFault::new(file, number, what));
        }
        Some("dropped") => {
            let count = fields.get("count").and_then(Value::as_u64).unwrap_or(0);
            let what = format!("{count} entries were dropped because the queue was full");
            report.notes.push(LogFault::new(file, number, what));
        }
        _ => {}
    }
}
