//! Token counts of definitions. The counts of built-in tools are compiled in,
//! because loading a tokenizer takes longer than the rest of `hermes tools
//! list`; other definitions are counted on demand.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::value::RawValue;

/// One line per definition: its hash, its count, the tool's name.
const TOKEN_TABLE: &str = include_str!("../data/tokens.tsv");

/// Returns the token count of a definition, from the table or else from the
/// tokenizer of current OpenAI models (o200k).
pub(crate) fn count(definition: &str) -> usize {
    lookup(definition).unwrap_or_else(|| measure(definition))
}

/// Estimates the tokens of a list of definitions without the tokenizer, whose
/// table would take tens of megabytes in a long-running process.
pub(crate) fn estimate(definitions: &str) -> usize {
    // Average for English text in JSON, measured on the table.
    const BYTES_PER_TOKEN: usize = 4;
    let Ok(each) = serde_json::from_str::<Vec<&RawValue>>(definitions) else {
        return definitions.len() / BYTES_PER_TOKEN;
    };
    each.iter()
        .map(|one| lookup(one.get()).unwrap_or_else(|| one.get().len().div_ceil(BYTES_PER_TOKEN)))
        .sum()
}

/// Returns the count from the table.
pub(crate) fn lookup(definition: &str) -> Option<usize> {
    static TOKEN_COUNTS: OnceLock<HashMap<u64, usize>> = OnceLock::new();
    let counts = TOKEN_COUNTS.get_or_init(|| {
        TOKEN_TABLE
            .lines()
            .filter_map(|line| {
                let mut fields = line.split('\t');
                let hash = u64::from_str_radix(fields.next()?, 16).ok()?;
                Some((hash, fields.next()?.parse().ok()?))
            })
            .collect()
    });
    counts.get(&hash(definition)).copied()
}

/// Counts with the tokenizer.
pub(crate) fn measure(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// Returns a line of the table.
pub(crate) fn table_row(name: &str, definition: &str) -> String {
    format!("{:016x}\t{}\t{name}", hash(definition), measure(definition))
}

/// FNV-1a: the table is a file, so its hash must not change with the compiler.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;
