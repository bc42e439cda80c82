//! Preselects blocks of a text that may be similar to given lines, so only a
//! few need exact scoring.

use std::collections::HashMap;

use super::indent::indent;
use super::line_table::LineTable;
use super::nearest::MAX_SHOWN_CHARS;

/// Maximum number of lines compared closely, and the minimum and maximum number
/// of blocks.
const MAX_COMPARED_LINES: usize = 4_000;
const MIN_MAX_BLOCKS: (usize, usize) = (12, 1_000);

/// Returns the rows where a block similar to these lines may begin, by shared
/// words: rare words weigh more, and whole lines more than words. Adds rows
/// with similarly spelled lines.
pub(super) fn find_candidates(rows: &LineTable<'_>, lines: &[&str]) -> Vec<usize> {
    let mut wanted: HashMap<&str, SharedWord> = HashMap::new();
    let mut known = WordFilter::default();
    for (at, line) in lines.iter().enumerate() {
        for word in words(line).chain(whole_line_keys(line)).filter(|word| !word.is_empty()) {
            known.add(word);
            let places = &mut wanted.entry(word).or_default().places;
            if places.len() < 8 && places.last() != Some(&at) {
                places.push(at);
            }
        }
    }
    for row in 0..rows.len() {
        let line = rows.line(row);
        let line = line.get(..MAX_SHOWN_CHARS).unwrap_or(line);
        for word in words(line).chain(whole_line_keys(line)).filter(|word| known.may_contain(word))
        {
            if let Some(SharedWord { rows, .. }) = wanted.get_mut(word)
                && rows.last() != Some(&row)
            {
                rows.push(row);
            }
        }
    }
    let mut votes = vec![0.0; rows.len()];
    for (word, shared) in &wanted {
        let count = shared.rows.len();
        // A word on every other line carries no information and costs most.
        if count > 2_000 && count * 8 > rows.len() {
            continue;
        }
        let weight = (1.0 + rows.len() as f64 / count.max(1) as f64).ln();
        let weight = if word.contains(' ') { 3.0 * weight } else { weight };
        for row in shared.rows.iter().take(5_000) {
            for start in shared.places.iter().filter_map(|place| row.checked_sub(*place)) {
                if let Some(vote) = votes.get_mut(start) {
                    *vote += weight;
                }
            }
        }
    }
    let (least, most) = MIN_MAX_BLOCKS;
    let closely = (MAX_COMPARED_LINES / lines.len().max(1)).clamp(least, most);
    let mut found = highest_rows(votes.into_iter().enumerate(), closely);
    found.extend(similar_rows(rows, lines));
    found.sort_unstable();
    found.dedup();
    found
}

/// Positions of a word in the old text and in the file.
#[derive(Default)]
struct SharedWord {
    places: Vec<usize>,
    rows: Vec<usize>,
}

/// A Bloom-style filter that rejects most unwanted words without a map lookup.
struct WordFilter([u64; 256]);

impl Default for WordFilter {
    fn default() -> Self {
        Self([0; 256])
    }
}

impl WordFilter {
    fn bit_position(word: &str) -> (usize, u64) {
        let bytes = word.as_bytes();
        let (first, last) = (bytes.first().copied(), bytes.last().copied());
        let bit = (bytes.len() + usize::from(last.unwrap_or_default())) % 64;
        (usize::from(first.unwrap_or_default()), 1 << bit)
    }

    fn add(&mut self, word: &str) {
        let (at, bit) = Self::bit_position(word);
        if let Some(bits) = self.0.get_mut(at) {
            *bits |= bit;
        }
    }

    fn may_contain(&self, word: &str) -> bool {
        let (at, bit) = Self::bit_position(word);
        self.0.get(at).is_some_and(|bits| bits & bit != 0)
    }
}

/// Returns the rows with the highest scores above zero, best first.
fn highest_rows(scored: impl Iterator<Item = (usize, f64)>, most: usize) -> Vec<usize> {
    let mut best: Vec<(usize, f64)> = Vec::with_capacity(most + 1);
    for (row, score) in scored {
        let floor = if best.len() < most { 0.0 } else { best.last().map_or(0.0, |(_, s)| *s) };
        if score > floor {
            let at = best.partition_point(|(_, better)| *better >= score);
            best.insert(at, (row, score));
            best.truncate(most);
        }
    }
    best.into_iter().map(|(row, _)| row).collect()
}

/// Returns the whole line, with and without its indentation.
fn whole_line_keys(line: &str) -> impl Iterator<Item = &str> {
    let whole = line.trim_end();
    let words = whole.trim_start();
    [words].into_iter().chain((words.len() < whole.len()).then_some(whole))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| word.len() > 1)
}

/// Maximum number of old lines compared with every line by spelling.
const MAX_SPELLING_LINES: usize = 4;

/// Returns the rows of lines that share most byte pairs with the longest old
/// lines, for texts that share no whole word.
fn similar_rows(rows: &LineTable<'_>, lines: &[&str]) -> Vec<usize> {
    let mut longest: Vec<(usize, &str)> =
        lines.iter().map(|line| line.trim()).enumerate().collect();
    longest.sort_by_key(|(_, line)| std::cmp::Reverse(line.len()));
    let shown = longest.iter().take(MAX_SPELLING_LINES).filter(|(_, line)| !line.is_empty());
    let wanted: Vec<(usize, u128)> = shown.map(|(at, line)| (*at, byte_pair_mask(line))).collect();
    let masks: Vec<u128> = rows.lines().map(byte_pair_mask).collect();
    let shared = |row: usize, wanted: u128| {
        let mask = masks.get(row).copied().unwrap_or_default();
        let all = (mask | wanted).count_ones().max(1);
        f64::from((mask & wanted).count_ones()) / f64::from(all)
    };
    let score = |start: usize| wanted.iter().map(|(at, mask)| shared(start + at, *mask)).sum();
    highest_rows((0..rows.len()).map(|start| (start, score(start))), 2 * MIN_MAX_BLOCKS.0)
}

/// Returns the adjacent byte pairs of a line, hashed to numbers below 1024.
fn byte_pairs(line: &str) -> impl Iterator<Item = usize> {
    let bytes = line.trim().as_bytes();
    let bytes = bytes.get(..MAX_SHOWN_CHARS).unwrap_or(bytes);
    bytes.windows(2).map(|pair| {
        let mixed = pair.iter().fold(7_u32, |mixed, byte| {
            (mixed ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x9E37_79B1)
        });
        usize::try_from(mixed >> 22).unwrap_or_default()
    })
}

/// Returns the byte pairs of a line as a bit mask.
fn byte_pair_mask(line: &str) -> u128 {
    byte_pairs(line).fold(0, |mask, pair| mask | 1 << (pair / 8))
}

/// Returns the similarity of two lines from 0 to 1, by shared byte pairs and,
/// with little weight, by indentation.
pub(super) fn line_similarity(a: &str, b: &str) -> f64 {
    let depth = if indent(a) == indent(b) { 1.0 } else { 0.97 };
    if a.trim() == b.trim() {
        return depth;
    }
    let mut counts = [0_u16; 1024];
    let (mut all, mut shared) = (0_u32, 0_u32);
    for pair in byte_pairs(a) {
        all += 1;
        if let Some(count) = counts.get_mut(pair) {
            *count += 1;
        }
    }
    for pair in byte_pairs(b) {
        all += 1;
        if let Some(count) = counts.get_mut(pair).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    if all == 0 { 0.0 } else { depth * f64::from(2 * shared) / f64::from(all) }
}
