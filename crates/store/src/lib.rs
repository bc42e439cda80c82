//! State on disk: atomic files, locks, session documents.
