//! Behaviour of the library as an embedding program sees it.

mod embedding;
