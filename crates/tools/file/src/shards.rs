//! Documents of a session that grow with it, cut into pieces: a call reads and
//! writes the one that it needs.

/// How many pieces.
pub(crate) const SHARD_COUNT: usize = 64;

/// The document that holds what is known under `key`.
pub(crate) fn shard(document: &str, key: &str) -> String {
    let [first, ..] = *blake3::hash(key.as_bytes()).as_bytes();
    shard_name(document, usize::from(first) % SHARD_COUNT)
}

/// All pieces of a document.
pub(crate) fn shards(document: &str) -> impl Iterator<Item = String> {
    (0..SHARD_COUNT).map(move |number| shard_name(document, number))
}

fn shard_name(document: &str, number: usize) -> String {
    format!("{document}/{number:02x}")
}
