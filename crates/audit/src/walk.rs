//! From line to line along the chain.

use serde_json::Value;

use crate::chain::{Digest, Key, Line};
use crate::verify::{Fault, Report};

/// Where a check has come to.
#[derive(Debug)]
pub(crate) struct Walk {
    key: Option<Key>,
    /// Where the chain should begin.
    begin_seq: u64,
    /// The number of the last line of the chain.
    pub(crate) seq: u64,
    /// What the next line may name as the hash before it: the hash that the
    /// last line shows, and the one that it should have had. A changed line
    /// is then one fault, not two.
    prevs: Vec<Digest>,
    /// The first line: its place, its number, what it names as before it.
    pub(crate) first: Option<((String, u64), (u64, Digest))>,
    /// The last place that was looked at.
    pub(crate) place: (String, u64),
    /// The entry that the head names, and the hash of it that was found.
    head_seq: Option<u64>,
    pub(crate) at_head: Option<Digest>,
    /// Lines that cannot be placed since the last one that could.
    strays: Vec<Stray>,
    stray_count: u64,
}

/// A line that is not an entry of this log.
#[derive(Debug)]
struct Stray {
    file: String,
    line: u64,
    digest: Option<Digest>,
    ended: bool,
    what: &'static str,
}

/// More of them in a row are one fault.
const MAX_STRAYS: usize = 100;

const CHANGED: &str = "it was changed, or written with another key";
const NO_ENTRY: &str = "it is not an entry";

impl Walk {
    pub(crate) fn new(key: Option<Key>, begin_seq: u64, head_seq: Option<u64>) -> Self {
        Self {
            key,
            begin_seq,
            seq: 0,
            prevs: Vec::new(),
            first: None,
            place: (String::new(), 0),
            head_seq,
            at_head: None,
            strays: Vec::new(),
            stray_count: 0,
        }
    }

    /// Takes the next line, with its line break if it has one.
    pub(crate) fn line(&mut self, file: &str, number: u64, text: &[u8], report: &mut Report) {
        let (text, ended) = match text.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (text, false),
        };
        self.place = (file.to_owned(), number);
        let Some(line) = Line::read(text).filter(|_| ended) else {
            self.stray(file, number, text, ended, NO_ENTRY);
            return;
        };
        let intact = self.key.as_ref().is_none_or(|key| line.is_intact(key));
        let due = self.first.as_ref().map_or(self.begin_seq, |_| self.seq.saturating_add(1));
        if !intact && line.seq != due {
            self.stray(file, number, text, ended, CHANGED);
            return;
        }
        count(&line, report);
        self.place_line(file, number, &line, intact, report);
        if intact {
            tell_event(file, number, &line, report);
        }
    }

    /// Puts a line behind the last one of the chain.
    fn place_line(
        &mut self,
        file: &str,
        number: u64,
        line: &Line<'_>,
        intact: bool,
        report: &mut Report,
    ) {
        let strays = self.settle(Some(line).filter(|_| intact), report);
        let mut fault = |what: String| report.fault(Fault::new(file, number, what));
        if !intact {
            fault(CHANGED.to_owned());
        }
        if self.first.is_none() {
            self.first = Some(((file.to_owned(), number), (line.seq, line.prev)));
        } else if line.seq <= self.seq {
            fault(format!("entry {} stands after entry {}", line.seq, self.seq));
            return;
        } else if line.seq - self.seq > 1 {
            // As many strays as numbers are missing are those entries.
            if line.seq - self.seq - 1 != strays {
                fault(missing(self.seq + 1, line.seq - 1));
            }
        } else if intact && !self.prevs.contains(&line.prev) {
            fault("it does not follow the line before".to_owned());
        }
        self.seq = line.seq;
        self.prevs = vec![line.hash];
        if let Some(key) = self.key.as_ref().filter(|_| !intact) {
            self.prevs.push(line.expected(key));
        }
        if self.head_seq == Some(line.seq) {
            self.at_head = Some(line.hash);
        }
    }

    fn stray(&mut self, file: &str, line: u64, text: &[u8], ended: bool, what: &'static str) {
        self.stray_count += 1;
        if self.strays.len() < MAX_STRAYS {
            let digest = self.key.as_ref().map(|key| key.digest(text));
            self.strays.push(Stray { file: file.to_owned(), line, digest, ended, what });
        }
    }

    /// Tells of the strays before a line, and how many there are. One that
    /// the line accounts for was left by a crash and does not count.
    fn settle(&mut self, line: Option<&Line<'_>>, report: &mut Report) -> u64 {
        let unkept = self.stray_count - self.strays.len() as u64;
        let torn = line.and_then(torn_digest).filter(|_| unkept == 0);
        if let Some(torn) = torn
            && let Some(stray) = self.strays.pop_if(|s| s.digest.is_none_or(|d| d == torn))
        {
            self.stray_count -= 1;
            let what = "an entry was not written to its end; the log goes on after it";
            report.notes.push(Fault::new(stray.file, stray.line, what));
        }
        let count = std::mem::take(&mut self.stray_count);
        for stray in self.strays.drain(..) {
            report.fault(Fault::new(stray.file, stray.line, stray.what));
        }
        if unkept > 0
            && let Some(last) = report.faults.last_mut()
        {
            last.last_line += unkept;
        }
        count
    }

    /// Tells of what stands after the last line. A last line without an end
    /// is the work of a crash; the next writer ends it.
    pub(crate) fn end(&mut self, report: &mut Report) {
        if self.strays.last().is_some_and(|stray| !stray.ended && stray.what == NO_ENTRY)
            && self.stray_count == self.strays.len() as u64
            && let Some(stray) = self.strays.pop()
        {
            self.stray_count -= 1;
            let what = "the last entry was not written to its end";
            report.notes.push(Fault::new(stray.file, stray.line, what));
        }
        self.settle(None, report);
    }
}

fn count(line: &Line<'_>, report: &mut Report) {
    report.entries += 1;
    if let Ok(time) = line.time.parse() {
        report.first = Some(report.first.map_or(time, |first| first.min(time)));
        report.last = Some(report.last.map_or(time, |last| last.max(time)));
    }
}

pub(crate) fn missing(from: u64, to: u64) -> String {
    if from == to {
        format!("entry {from} is missing before this line")
    } else {
        format!("entries {from} to {to} are missing before this line")
    }
}

/// What a line says of the torn one before it.
fn torn_digest(line: &Line<'_>) -> Option<Digest> {
    let fields = own_event(line)?;
    if fields.get("event")? != "torn" {
        return None;
    }
    Digest::read(fields.get("of")?.as_str()?.as_bytes())
}

/// The fields of a line that the log itself has written, perhaps.
fn own_event(line: &Line<'_>) -> Option<Value> {
    if !line.fields.starts_with(b"\"event\":") {
        return None;
    }
    let text = [b"{", line.fields, b"}"].concat();
    serde_json::from_slice(&text).ok()
}

/// Tells of what the log says about itself.
fn tell_event(file: &str, number: u64, line: &Line<'_>, report: &mut Report) {
    let Some(fields) = own_event(line) else { return };
    match fields.get("event").and_then(Value::as_str) {
        Some("head_lost") => {
            let what = "the head was missing or changed when this line was written; entries before it may have been cut off";
            report.fault(Fault::new(file, number, what));
        }
        Some("key_lost") => {
            let what = "the key was missing when this line was written; the lines before it cannot be checked";
            report.fault(Fault::new(file, number, what));
        }
        Some("dropped") => {
            let count = fields.get("count").and_then(Value::as_u64).unwrap_or(0);
            let what = format!("{count} entries were not written for want of room");
            report.notes.push(Fault::new(file, number, what));
        }
        _ => {}
    }
}
