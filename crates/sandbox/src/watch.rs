//! Notices when the files that a sandbox was prepared for are not the same any
//! more.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::Confinement;

use crate::covers::Covers;

/// The birth is part of it, as numbers of files are given out again.
type Identity = (u64, u64, Option<SystemTime>);

/// The files as they were.
#[derive(Debug)]
pub(crate) struct Watch {
    seen: Vec<(PathBuf, Option<Identity>)>,
}

impl Watch {
    /// Looks at all that the confinement names or that is covered.
    pub(crate) fn new(confinement: &Confinement, covers: &Covers) -> Self {
        let named = [
            &confinement.read,
            &confinement.write,
            &confinement.read_only,
            &confinement.nested,
            &confinement.hidden,
        ];
        let mut paths: Vec<PathBuf> = covers.paths().map(Path::to_owned).collect();
        paths.extend(named.into_iter().flatten().cloned());
        paths.sort();
        paths.dedup();
        let look = |path: PathBuf| {
            let identity = identity(&path);
            (path, identity)
        };
        Self { seen: paths.into_iter().map(look).collect() }
    }

    /// Whether any was replaced, was made or has gone. Editors and git replace
    /// a file with every save, and with the file goes its cover.
    pub(crate) fn has_changed(&self) -> bool {
        self.seen.iter().any(|(path, before)| identity(path) != *before)
    }
}

fn identity(path: &Path) -> Option<Identity> {
    fs::metadata(path).ok().map(|about| (about.dev(), about.ino(), about.created().ok()))
}
