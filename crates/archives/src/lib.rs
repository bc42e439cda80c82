//! Archives: made, listed and unpacked, and never let out of their folder.
