//! Detects new findings: those missing from a baseline, or those on changed
//! lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::LintFinding;

/// Known findings, without their line numbers, which move.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintBaseline {
    counts: BTreeMap<String, u32>,
}

impl LintBaseline {
    /// Builds a baseline from these findings.
    pub fn from_findings(findings: &[LintFinding]) -> Self {
        let mut counts = BTreeMap::new();
        for finding in findings {
            *counts.entry(fingerprint(finding)).or_default() += 1;
        }
        Self { counts }
    }

    /// Returns the number of findings.
    pub fn len(&self) -> usize {
        self.counts.values().map(|&count| count as usize).sum()
    }

    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Retains only the findings that are not in the baseline.
    pub fn keep_new(&self, findings: &mut Vec<LintFinding>) {
        let mut left = self.counts.clone();
        findings.retain(|finding| match left.get_mut(&fingerprint(finding)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        });
    }
}

/// Identifies a finding without its line. Digits in the message are ignored,
/// since they may be line numbers.
fn fingerprint(finding: &LintFinding) -> String {
    let words = finding.message.split(|c: char| c.is_ascii_digit()).filter(|word| !word.is_empty());
    let rule = finding.rule.as_deref().unwrap_or_default();
    let parts = [finding.tool, &finding.file, rule].into_iter().chain(words);
    // FNV-1a: baselines outlive this program, and the standard hasher may change.
    let hash =
        parts.flat_map(|part| part.bytes().chain([0])).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{hash:016x}")
}

/// Changed lines by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedLines {
    files: BTreeMap<String, Vec<(u64, u64)>>,
}

impl ChangedLines {
    /// Parses a unified diff without context (`git diff -U0 --no-prefix`).
    pub fn from_diff(diff: &str) -> Self {
        let mut files: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        let mut file = None;
        let mut skip = 0;
        for line in diff.lines() {
            if skip > 0 {
                // A content line may look like a file header.
                skip -= usize::from(!line.starts_with('\\'));
            } else if let Some(name) = line.strip_prefix("+++ ") {
                file = Some(unquote(name)).filter(|name| name != "/dev/null");
            } else if let Some((old, new)) = parse_hunk(line) {
                skip = usize::try_from(old.1 + new.1).unwrap_or(usize::MAX);
                if let Some(file) = file.clone() {
                    files.entry(file).or_default().push((new.0, new.0 + new.1));
                }
            }
        }
        Self { files }
    }

    /// Marks all lines of a new file as changed.
    pub fn add_file(&mut self, file: impl Into<String>) {
        self.files.insert(file.into(), vec![(0, u64::MAX)]);
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Yields the changed files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Whether a finding in this file is on changed lines. A finding about the
    /// whole file counts if any line has changed.
    pub fn touches(&self, file: &str, finding: &LintFinding) -> bool {
        let Some(ranges) = self.files.get(file) else { return false };
        let Some(first) = finding.line else { return true };
        let last = finding.end_line.unwrap_or(first).max(first);
        ranges.iter().any(|(from, to)| first < *to && last >= *from)
    }
}

type LineRange = (u64, u64);

/// Parses `@@ -1,2 +3,4 @@`: start and count of the old and new lines.
fn parse_hunk(line: &str) -> Option<(LineRange, LineRange)> {
    let mut words = line.strip_prefix("@@ -")?.split(' ');
    let range = |word: &str| {
        let (from, count) = word.split_once(',').unwrap_or((word, "1"));
        Some((from.parse().ok()?, count.parse().ok()?))
    };
    let old = range(words.next()?)?;
    let new = range(words.next()?.strip_prefix('+')?)?;
    Some((old, new))
}

/// Decodes a file name of git, which quotes special characters and appends a
/// tab if the name contains spaces.
fn unquote(name: &str) -> String {
    let name = name.strip_suffix('\t').unwrap_or(name);
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
        return name.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'\\' {
            bytes.push(first);
            continue;
        }
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                let Some((&escaped, after)) = after.split_first() else { break };
                bytes.push(match escaped {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'r' => b'\r',
                    // A quote or a backslash.
                    other => other,
                });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[path = "new_findings_tests.rs"]
mod tests;
