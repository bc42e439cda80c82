//! Finding files by content and by name, as fast as ripgrep.
