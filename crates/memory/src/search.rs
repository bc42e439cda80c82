//! Searches shown and archived entries.

use serde::Serialize;

/// Where an entry is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryTier {
    /// In the list that is shown to the model.
    Shown,
    /// In the archive.
    Archive,
}

/// A matching entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryHit {
    /// The entry.
    pub text: String,
    /// Where it is.
    pub tier: MemoryTier,
}

/// Returns the entries that match any word of a query: most words first, then
/// latest first. An empty query matches all.
pub(crate) fn search_entries(
    entries: &[String],
    archive: &[String],
    query: &str,
) -> Vec<MemoryHit> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let whole = query.trim();
    let score = |text: &str| {
        let text = text.to_lowercase();
        let words = words.iter().filter(|word| text.contains(**word)).count();
        words * 2 + usize::from(text.contains(whole))
    };
    let tiers = [(MemoryTier::Shown, entries), (MemoryTier::Archive, archive)];
    let mut found: Vec<(usize, MemoryHit)> = tiers
        .into_iter()
        .flat_map(|(tier, list)| list.iter().rev().map(move |text| (tier, text)))
        .map(|(tier, text)| (score(text), MemoryHit { text: text.clone(), tier }))
        .filter(|(score, _)| *score > 0)
        .collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    // If some entries match every word, the others are noise.
    let full = words.len() * 2;
    if !words.is_empty() && found.iter().any(|(score, _)| *score >= full) {
        found.retain(|(score, _)| *score >= full);
    }
    found.into_iter().map(|(_, hit)| hit).collect()
}
