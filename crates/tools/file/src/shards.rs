//! Documents of a session that grow with it, cut into pieces: a call reads and
//! writes the one that it needs.

/// How many pieces.
pub(crate) const SHARDS: usize = 64;

/// The document that holds what is known under `key`.
pub(crate) fn shard(document: &str, key: &str) -> String {
    let [first, ..] = *blake3::hash(key.as_bytes()).as_bytes();
    name(document, usize::from(first) % SHARDS)
}

/// All pieces of a document.
pub(crate) fn shards(document: &str) -> impl Iterator<Item = String> {
    (0..SHARDS).map(move |number| name(document, number))
}

fn name(document: &str, number: usize) -> String {
    format!("{document}/{number:02x}")
}
