//! Sharding of session documents that grow: a call reads and writes only the
//! shard it needs.

/// Number of shards per document.
pub(crate) const SHARD_COUNT: usize = 64;

/// Returns the name of the shard for `key`.
pub(crate) fn shard(document: &str, key: &str) -> String {
    let [first, ..] = *blake3::hash(key.as_bytes()).as_bytes();
    shard_name(document, usize::from(first) % SHARD_COUNT)
}

/// Returns the names of all shards of a document.
pub(crate) fn shards(document: &str) -> impl Iterator<Item = String> {
    (0..SHARD_COUNT).map(move |number| shard_name(document, number))
}

fn shard_name(document: &str, number: usize) -> String {
    format!("{document}/{number:02x}")
}
