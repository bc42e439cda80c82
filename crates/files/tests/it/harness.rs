//! A workspace, an outside that must stay as it is, and grants as a policy
//! would give them.

use std::fs;
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Grant, Grants, Scope};
use hermes_files::{WalkMode, real_path};
use tempfile::TempDir;

pub(crate) const WALKS: [WalkMode; 2] = [WalkMode::Kernel, WalkMode::Stepwise];
pub(crate) const SCOPES: [Scope; 3] = [Scope::FILE_READ, Scope::FILE_WRITE, Scope::FILE_DELETE];

/// `ws`, the workspace, and `out`, everything else.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("ws")).unwrap();
        fs::create_dir(dir.path().join("out")).unwrap();
        fs::write(dir.path().join("out/secret"), "secret").unwrap();
        Self { dir }
    }

    pub(crate) fn ws(&self, name: &str) -> PathBuf {
        below(self.real().join("ws"), name)
    }

    pub(crate) fn out(&self, name: &str) -> PathBuf {
        below(self.real().join("out"), name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.ws(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Names and contents outside.
    pub(crate) fn outside(&self) -> Vec<(String, String)> {
        let mut all: Vec<_> = fs::read_dir(self.out(""))
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, fs::read_to_string(entry.path()).unwrap_or_default())
            })
            .collect();
        all.sort();
        all
    }

    pub(crate) fn assert_outside_untouched(&self) {
        assert_eq!(self.outside(), [("secret".to_owned(), "secret".to_owned())]);
    }

    fn real(&self) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap()
    }
}

fn below(dir: PathBuf, name: &str) -> PathBuf {
    if name.is_empty() { dir } else { dir.join(name) }
}

/// Everything may be done to this path, which was looked up just now.
pub(crate) fn judged(path: &Path) -> Grants {
    let real = real_path(path).unwrap();
    let grant = |scope: &Scope| Grant {
        effect: Effect::path(scope.clone(), path),
        real_path: Some(real.clone()),
    };
    Grants::new(SCOPES.iter().map(grant).collect())
}
