//! Tool search: BM25 over names, descriptions, parameter names and keywords, in
//! any script.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::entry::ToolEntry;

const BM25_K1: f64 = 1.5;
const BM25_B: f64 = 0.75;

/// A search index over tools.
#[derive(Debug)]
pub struct ToolSearchIndex {
    entries: Vec<Arc<ToolEntry>>,
    // Term → (tool, frequency), sorted so scores are summed in a fixed order.
    postings: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average_length: f64,
}

impl ToolSearchIndex {
    /// Indexes these tools.
    pub fn new(entries: Vec<Arc<ToolEntry>>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            let mut length = 0.0;
            visit_searchable_text(entry, |text, weight| {
                for term in tokenize(text) {
                    *counts.entry(term).or_default() += weight;
                    length += weight;
                }
            });
            for (term, count) in counts {
                postings.entry(term).or_default().push((at, count));
            }
            lengths.push(length);
        }
        let average = lengths.iter().sum::<f64>() / (lengths.len().max(1) as f64);
        Self { entries, postings, lengths, average_length: average }
    }

    /// Number of tools.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The best matches, best first.
    pub fn search(&self, query: &str, limit: usize) -> Vec<&Arc<ToolEntry>> {
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let total = self.entries.len() as f64;
        let mut asked = tokenize(query);
        asked.sort();
        asked.dedup();
        for term in &asked {
            let Some(found) = self.postings.get(term) else { continue };
            let df = found.len() as f64;
            let idf = (1.0 + (total - df + 0.5) / (df + 0.5)).ln();
            for &(at, count) in found {
                let length = self.lengths.get(at).copied().unwrap_or(self.average_length);
                let norm = BM25_K1
                    * (1.0 - BM25_B + BM25_B * length / self.average_length.max(f64::MIN_POSITIVE));
                *scores.entry(at).or_default() += idf * count * (BM25_K1 + 1.0) / (count + norm);
            }
        }
        if scores.is_empty() {
            return self.by_substring(query, limit);
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.iter().take(limit).filter_map(|(at, _)| self.entries.get(*at)).collect()
    }

    fn by_substring(&self, query: &str, limit: usize) -> Vec<&Arc<ToolEntry>> {
        let query = query.trim().to_lowercase();
        if query.is_empty() {
            return Vec::new();
        }
        let holds = |text: &str| text.to_lowercase().contains(&query);
        self.entries
            .iter()
            .filter(|e| holds(e.name()) || holds(&e.spec().description))
            .take(limit)
            .collect()
    }
}

/// Visits the searchable texts of a tool with their weights; a name weighs more
/// than a description.
fn visit_searchable_text(entry: &ToolEntry, mut visit: impl FnMut(&str, f64)) {
    let spec = entry.spec();
    visit(&spec.name, 2.0);
    visit(&spec.description, 1.0);
    visit(&spec.toolset, 1.0);
    for alias in &spec.aliases {
        visit(&alias.name, 1.0);
    }
    for word in &spec.keywords {
        visit(word, 1.5);
    }
    let properties = entry.schema().raw().get("properties").and_then(|p| p.as_object());
    for name in properties.into_iter().flat_map(|p| p.keys()) {
        visit(name, 1.0);
    }
}

/// Lower-cased words. Scripts without spaces between words are split into
/// overlapping bigrams, so any part of a phrase matches.
fn tokenize(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        for piece in split_camel_case(word) {
            let piece = piece.to_lowercase();
            if piece.chars().any(is_unspaced_script) {
                push_bigrams(&piece, &mut out);
            } else {
                out.push(stem(piece));
            }
        }
    }
    out
}

/// Splits `camelCase` into words.
fn split_camel_case(word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut before_lower = false;
    for (at, c) in word.char_indices() {
        if c.is_uppercase() && before_lower {
            pieces.extend(word.get(start..at));
            start = at;
        }
        before_lower = c.is_lowercase() || c.is_numeric();
    }
    pieces.extend(word.get(start..));
    pieces
}

/// Reduces an English plural to its singular. Finer stemming causes more errors
/// than it is worth.
fn stem(word: String) -> String {
    let plural = word.len() > 3 && word.is_ascii() && word.ends_with('s') && !word.ends_with("ss");
    if plural { word.trim_end_matches('s').to_owned() } else { word }
}

fn push_bigrams(piece: &str, out: &mut Vec<String>) {
    let chars: Vec<char> = piece.chars().collect();
    if chars.len() == 1 {
        out.push(piece.to_owned());
    }
    out.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
}

/// Han, kana, Thai, Lao, Khmer, Burmese.
fn is_unspaced_script(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2FFFF)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
