//! The library facade: everything that an embedding program needs.
