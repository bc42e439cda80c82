//! Redacts secrets: known values in every common encoding, and anything that
//! looks like a well-known token.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::dfa::DFA;
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::common_values::is_common_value;
use crate::encodings::{EncodedNeedle, all_forms, written_forms};
use crate::fragments::FragmentIndex;
use crate::hex_dumps::{self, DumpedBytes};
use crate::joined_text::JoinedText;
use crate::json;
use crate::number_dumps;
use crate::patterns::{
    PATTERN_TRIGGERS, SecretKind, TriggerExaminer, airtable_tokens, assigned_values, may_span_lines,
};
use crate::prefilter;
use crate::secret_parts::identifying_parts;
use crate::word_diffs::diff_sides;

/// Bytes of a needle that the automaton searches for; the rest is compared. So
/// a private key costs no more than a token.
const NEEDLE_PREFIX_BYTES: usize = 10;

/// Up to this total pattern length, the faster automaton is affordable.
const MAX_FAST_PATTERNS: usize = 40_000;

/// Bytes of text after which building the faster automaton pays off: a process
/// that makes one call reads only a few thousand.
const FAST_AFTER_BYTES: usize = 512 * 1024;

/// The text around a label may look like another secret, so redaction repeats,
/// up to this limit.
const MAX_ROUNDS: usize = 16;

/// The automaton for the known values could not be built.
#[derive(Debug, thiserror::Error)]
#[error("Too many secrets to search for: {0}")]
pub struct RedactorError(String);

/// Redacts secrets from texts. Cheap to clone, and immutable.
#[derive(Clone)]
pub struct Redactor {
    inner: Arc<RedactorInner>,
}

struct RedactorInner {
    automaton: AhoCorasick,
    /// The faster matcher, built lazily; `None` if it would be too large.
    fast: OnceLock<Option<FastMatcher>>,
    /// Bytes of text read so far.
    read: AtomicUsize,
    needles: Vec<(EncodedNeedle, usize)>,
    fragments: FragmentIndex,
    /// Labels of the secrets, followed by those of the kinds.
    labels: Vec<String>,
    unguarded: Vec<String>,
    /// The values searched for in hex dumps, with their labels.
    values: Vec<(String, usize)>,
    dump_automaton: OnceLock<Option<AhoCorasick>>,
}

/// A matcher that pays off for large amounts of text.
struct FastMatcher {
    automaton: AhoCorasick,
    /// Quickly rules out texts without any match.
    prefilter: Option<DFA>,
    /// Length of the longest pattern in bytes.
    longest_pattern: usize,
}

/// Which secrets are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchScope {
    All,
    /// Without values that only a name before them marks as secret.
    Command,
    /// Without values that only a name or an option marks as secret.
    Recognizable,
}

/// A range of a text to redact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SecretSpan {
    start: usize,
    end: usize,
    label: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("labels", &self.inner.labels).finish_non_exhaustive()
    }
}

impl Default for Redactor {
    /// Returns a redactor that knows token patterns but no values.
    fn default() -> Self {
        static DEFAULT_REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
            Redactor::new(std::iter::empty::<(&str, &str)>()).expect("the triggers are few")
        });
        DEFAULT_REDACTOR.clone()
    }
}

impl Redactor {
    /// Creates a redactor for these names and values, in addition to token
    /// patterns.
    ///
    /// A value too short or too common to be distinguished from other text is
    /// not searched for; see [`Redactor::unprotected_names`]. For a value that
    /// looks random, fragments of 12 characters and more are redacted as well.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(
        secrets: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, RedactorError> {
        let mut needles = Vec::new();
        let mut labels = Vec::new();
        let mut unguarded = Vec::new();
        let (mut guarded, mut shown) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            let (name, value) = (name.as_ref(), value.as_ref().trim());
            if is_common_value(value) {
                unguarded.push(name.to_owned());
                continue;
            }
            let label = labels.len();
            labels.push(label_for(name, value));
            let mut forms = all_forms(value);
            for part in identifying_parts(value) {
                forms.extend(written_forms(part));
                shown.extend(
                    (part.len() >= hex_dumps::MIN_VALUE_BYTES).then(|| (part.to_owned(), label)),
                );
            }
            needles.extend(forms.into_iter().map(|needle| (needle, label)));
            guarded.push((value.to_owned(), label));
        }
        labels.extend(SecretKind::ALL_KINDS.iter().map(|kind| kind.label()));
        let values = guarded.iter().map(|(value, label)| (value.as_str(), *label));
        let fragments = FragmentIndex::new(values);
        let automaton = build_automaton(&needles, &fragments, AhoCorasickKind::ContiguousNFA)
            .map_err(|error| RedactorError(error.to_string()))?;
        guarded.retain(|(value, _)| value.len() >= hex_dumps::MIN_VALUE_BYTES);
        guarded.append(&mut shown);
        let (fast, read) = (OnceLock::new(), AtomicUsize::new(0));
        let (values, dumped) = (guarded, OnceLock::new());
        let mut inner = RedactorInner {
            automaton,
            fast,
            read,
            needles,
            fragments,
            labels,
            unguarded,
            values,
            dump_automaton: dumped,
        };
        inner.settle_labels();
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the names whose values are too short or too common to search
    /// for.
    pub fn unprotected_names(&self) -> &[String] {
        &self.inner.unguarded
    }

    /// Redacts a text: `[secret:NAME]` replaces a known secret,
    /// `[redacted:KIND]` a detected one. A text without secrets is returned
    /// unchanged.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_in(text, SearchScope::All)
    }

    /// [`Redactor::redact`] for the prompt of a model: leaves values that only
    /// their name marks as secret, because the user's own files may mean them.
    pub fn redact_prompt<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact_in(text, SearchScope::Recognizable)
    }

    fn redact_in<'a>(&self, text: &'a str, scope: SearchScope) -> Cow<'a, str> {
        let spans = self.inner.spans(text, scope);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = self.inner.replace(text, &spans);
        for _ in 1..MAX_ROUNDS {
            let spans = self.inner.spans(&clean, scope);
            if spans.is_empty() {
                break;
            }
            clean = self.inner.replace(&clean, &spans);
        }
        Cow::Owned(clean)
    }

    /// [`Redactor::redact`] for a stored command: also redacts the values it
    /// assigns to names of secrets, `PW=…` and `--token …`.
    pub fn redact_command<'a>(&self, command: &'a str) -> Cow<'a, str> {
        // What it assigns is read below, by the rules of a shell.
        let clean = self.redact_in(command, SearchScope::Command);
        let values = assigned_values(&clean);
        if values.is_empty() {
            return clean;
        }
        let mut masked = String::with_capacity(clean.len());
        let mut copied = 0;
        for value in values {
            masked.push_str(clean.get(copied..value.start).unwrap_or_default());
            masked.push_str("[redacted]");
            copied = value.end;
        }
        masked.push_str(clean.get(copied..).unwrap_or_default());
        Cow::Owned(masked)
    }

    /// [`Redactor::redact`] for a JSON text, which stays valid JSON: strings
    /// and keys are decoded and encoded again, and a number that is a secret
    /// becomes a string.
    pub fn redact_json(&self, text: &mut String) {
        if self.may_contain_secret(text, SearchScope::All)
            && let Some(clean) = json::redact_json(text, self, true)
        {
            *text = clean;
        }
    }

    /// [`Redactor::redact_json`] for state that programs read again, such as
    /// the definitions of a shell: leaves values that only their name marks as
    /// secret.
    pub fn redact_state(&self, text: &mut String) {
        if self.may_contain_secret(text, SearchScope::Recognizable)
            && let Some(clean) = json::redact_json(text, self, false)
        {
            *text = clean;
        }
    }

    /// Whether a JSON text may contain a secret, perhaps escaped.
    fn may_contain_secret(&self, text: &str, scope: SearchScope) -> bool {
        // The needles include the forms with short escapes, so without other
        // escapes a string need not be decoded to be known clean. Escaped
        // fragments are matched less precisely.
        let hidden = if self.inner.fragments.is_escapable() {
            text.contains('\\')
        } else {
            ["\\u", "\\/", "\\\\"].iter().any(|escape| text.contains(escape))
        };
        // Lines of a dump, and values on lines after their name, are joined only
        // after decoding.
        let is_split = text.contains("\\n") && may_span_lines(text);
        hidden || is_split || may_show_bytes(text) || !self.inner.spans(text, scope).is_empty()
    }

    /// [`Redactor::redact`], with or without values that only their name marks
    /// as secret.
    pub(crate) fn redact_string<'a>(&self, text: &'a str, named: bool) -> Cow<'a, str> {
        self.redact_in(text, if named { SearchScope::All } else { SearchScope::Recognizable })
    }

    /// Overwrites secrets with asterisks, keeping the length in bytes.
    pub fn mask(&self, bytes: &mut [u8]) {
        let mut found = Vec::new();
        let mut at = 0;
        let mut look = |text: &str, at: usize| {
            found.extend(
                self.inner
                    .spans(text, SearchScope::All)
                    .iter()
                    .map(|span| at + span.start..at + span.end),
            );
        };
        if let Ok(text) = std::str::from_utf8(bytes) {
            // Scanning chunk by chunk takes far longer.
            look(text, 0);
        } else {
            for chunk in bytes.utf8_chunks() {
                look(chunk.valid(), at);
                at += chunk.valid().len() + chunk.invalid().len();
            }
        }
        for range in found {
            bytes.get_mut(range).into_iter().for_each(|secret| secret.fill(b'*'));
        }
    }

    /// Whether the text contains a secret.
    pub fn contains_secret(&self, text: &str) -> bool {
        !self.inner.spans(text, SearchScope::All).is_empty()
    }

    /// Returns the label of this kind.
    pub(crate) fn label_of(&self, kind: SecretKind) -> &str {
        let at = self.inner.labels.len() - SecretKind::ALL_KINDS.len() + kind as usize;
        self.inner.labels.get(at).map_or("", String::as_str)
    }
}

fn build_automaton(
    needles: &[(EncodedNeedle, usize)],
    fragments: &FragmentIndex,
    kind: AhoCorasickKind,
) -> Result<AhoCorasick, aho_corasick::BuildError> {
    AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(Some(kind))
        .build(patterns(needles, fragments))
}

/// Returns the patterns of the automaton, in order.
fn patterns<'a>(
    needles: &'a [(EncodedNeedle, usize)],
    fragments: &'a FragmentIndex,
) -> impl Iterator<Item = &'a [u8]> + Clone {
    let values = needles.iter().map(|(needle, _)| {
        let bytes = needle.text.as_bytes();
        bytes.get(..NEEDLE_PREFIX_BYTES).unwrap_or(bytes)
    });
    let triggers = PATTERN_TRIGGERS.iter().map(|(text, _)| text.as_bytes());
    values.chain(fragments.anchors()).chain(triggers)
}

/// Returns the label of a secret. The user chose its name, so it is reduced to
/// plain characters, and left out if it is part of the value.
fn label_for(name: &str, value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let name: String = name.chars().take(64).map(|c| if plain(c) { c } else { '_' }).collect();
    let telling = name.len() >= 4 && value.contains(&name);
    if name.is_empty() || telling { "[secret]".to_owned() } else { format!("[secret:{name}]") }
}

impl RedactorInner {
    /// Replaces labels that contain a secret, which would be redacted
    /// endlessly.
    fn settle_labels(&mut self) {
        for at in 0..self.labels.len() {
            let fits = |label: &str| self.spans(label, SearchScope::All).is_empty();
            let Some(label) = self.labels.get(at).filter(|label| !fits(label)) else { continue };
            let instead = ["[secret]", "[redacted]", "[...]", "***"];
            let chosen = instead.into_iter().find(|other| *other != label && fits(other));
            let chosen = chosen.unwrap_or_default().to_owned();
            if let Some(label) = self.labels.get_mut(at) {
                *label = chosen;
            }
        }
    }

    /// Returns the matcher for large amounts of text, once enough was read.
    fn fast_matcher_for(&self, text: &str) -> Option<&FastMatcher> {
        if self.read.fetch_add(text.len(), Relaxed) < FAST_AFTER_BYTES {
            return None;
        }
        let make = || {
            let lengths = patterns(&self.needles, &self.fragments).map(<[u8]>::len);
            if lengths.clone().sum::<usize>() > MAX_FAST_PATTERNS {
                return None;
            }
            let automaton =
                build_automaton(&self.needles, &self.fragments, AhoCorasickKind::DFA).ok()?;
            let glance = prefilter::build_dfa(patterns(&self.needles, &self.fragments));
            Some(FastMatcher {
                automaton,
                prefilter: glance,
                longest_pattern: lengths.max().unwrap_or_default(),
            })
        };
        self.fast.get_or_init(make).as_ref()
    }

    /// Returns the ranges to redact, from left to right, without overlaps.
    fn spans(&self, text: &str, scope: SearchScope) -> Vec<SecretSpan> {
        let mut found = self.visible_spans(text, scope);
        if let Some(joined) = JoinedText::new(text) {
            let spans = self.visible_spans(joined.text(), scope).into_iter();
            found.extend(spans.filter_map(|span| {
                let (start, end) = joined.source_range(span.start, span.end)?;
                Some(SecretSpan { start, end, ..span })
            }));
        }
        for side in diff_sides(text).into_iter().flatten() {
            let spans = self.visible_spans(side.text(), scope).into_iter();
            found.extend(spans.filter_map(|span| {
                let (start, end) = side.source_range(text, span.start, span.end)?;
                Some(SecretSpan { start, end, ..span })
            }));
        }
        merge(found)
    }

    fn visible_spans(&self, text: &str, scope: SearchScope) -> Vec<SecretSpan> {
        let first_kind = self.labels.len() - SecretKind::ALL_KINDS.len();
        let first_anchor = self.needles.len();
        let first_trigger = first_anchor + self.fragments.len();
        let fast = self.fast_matcher_for(text);
        let is_clean = |fast: &FastMatcher| {
            let glance = fast.prefilter.as_ref();
            glance.is_some_and(|glance| {
                prefilter::has_no_match(glance, fast.longest_pattern, text.as_bytes())
            })
        };
        let mut found = Vec::new();
        for region in hex_dumps::dump_regions(text, hex_dumps::find_window) {
            let (part, start) = (text.get(region.clone()).unwrap_or_default(), region.start);
            self.find_dumped(&hex_dumps::dumped_bytes(part, start), &mut found);
            self.find_dumped(&number_dumps::numbered_bytes(part, start), &mut found);
        }
        for region in hex_dumps::dump_regions(text, number_dumps::find_cells) {
            let (part, start) = (text.get(region.clone()).unwrap_or_default(), region.start);
            self.find_dumped(&number_dumps::character_bytes(part, start), &mut found);
        }
        airtable_tokens(text, |start, end| {
            found.push(SecretSpan { start, end, label: first_kind + SecretKind::Key as usize });
        });
        if fast.is_some_and(is_clean) {
            return found;
        }
        let mut examiner = TriggerExaminer::new(text);
        let automaton = fast.map_or(&self.automaton, |fast| &fast.automaton);
        for hit in automaton.find_overlapping_iter(text) {
            let pattern = hit.pattern().as_usize();
            if let Some((needle, label)) = self.needles.get(pattern) {
                if let Some((start, end)) = needle.range_at(text, hit.start()) {
                    found.push(SecretSpan { start, end, label: *label });
                }
            } else if pattern < first_trigger {
                let piece = self.fragments.fragment_at(pattern - first_anchor, text, hit.start());
                found.extend(piece.map(|(start, end, label)| SecretSpan { start, end, label }));
            } else if let Some((_, trigger)) = PATTERN_TRIGGERS.get(pattern - first_trigger) {
                let is_left = match scope {
                    SearchScope::All => false,
                    SearchScope::Command => trigger.is_named(),
                    SearchScope::Recognizable => trigger.is_named() || trigger.is_option(),
                };
                if is_left {
                    continue;
                }
                examiner.examine(*trigger, hit.start(), hit.end(), |start, end, kind| {
                    found.push(SecretSpan { start, end, label: first_kind + kind as usize });
                });
            }
        }
        found
    }

    /// Adds the ranges in which dumps show a value.
    fn find_dumped(&self, rows: &[DumpedBytes], found: &mut Vec<SecretSpan>) {
        let make = || AhoCorasick::new(self.values.iter().map(|(value, _)| value)).ok();
        let Some(automaton) = self.dump_automaton.get_or_init(make).as_ref() else { return };
        for row in rows {
            for hit in automaton.find_overlapping_iter(&row.bytes) {
                let label = self.values.get(hit.pattern().as_usize()).map(|(_, label)| *label);
                let range = row.range(hit.start(), hit.end());
                found.extend(label.zip(range).map(|(label, (start, end))| SecretSpan {
                    start,
                    end,
                    label,
                }));
            }
        }
    }

    fn replace(&self, text: &str, spans: &[SecretSpan]) -> String {
        let mut clean = String::with_capacity(text.len());
        let mut copied = 0;
        for span in spans {
            clean.push_str(text.get(copied..span.start).unwrap_or_default());
            clean.push_str(self.labels.get(span.label).map_or("", String::as_str));
            copied = span.end;
        }
        clean.push_str(text.get(copied..).unwrap_or_default());
        clean
    }
}

/// Whether a text may contain a dump of bytes.
fn may_show_bytes(text: &str) -> bool {
    hex_dumps::may_contain_dump(text) || number_dumps::find_cells(text.as_bytes()).is_some()
}

/// Merges overlapping ranges; the label of a known secret wins.
fn merge(mut found: Vec<SecretSpan>) -> Vec<SecretSpan> {
    found.sort_unstable_by_key(|span| (span.start, Reverse(span.end), span.label));
    let mut merged: Vec<SecretSpan> = Vec::with_capacity(found.len());
    for span in found {
        match merged.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                last.label = last.label.min(span.label);
            }
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
