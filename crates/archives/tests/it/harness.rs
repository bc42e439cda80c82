//! A folder, and archives made and unpacked in it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hermes_archives::{
    ArchiveFormat, ArchiveLimits, ArchiveListing, GlobFilter, ListPage, PackReport, PackRequest,
    PackSource, ProgressHooks, UnpackConflictPolicy, UnpackReport, UnpackRequest, create, extract,
    list,
};
use hermes_core::{Grants, ToolError};
use hermes_files::FileAccess;
use tempfile::TempDir;

pub(crate) struct Place {
    dir: TempDir,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    File(Vec<u8>, u32),
    Folder,
    Link(PathBuf),
}

pub(crate) type Tree = BTreeMap<PathBuf, Found>;

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// Where the disk does not set the pace.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self { dir: dir.unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Packs the content of the folder `from`.
    pub(crate) fn pack(&self, from: &str, archive: &str) -> Result<PackReport, ToolError> {
        let format = ArchiveFormat::from_name(Path::new(archive)).unwrap();
        self.pack_as(from, "", archive, format, &GlobFilter::all())
    }

    pub(crate) fn pack_as(
        &self,
        from: &str,
        name: &str,
        archive: &str,
        format: ArchiveFormat,
        choice: &GlobFilter,
    ) -> Result<PackReport, ToolError> {
        let sources = [PackSource { path: self.at(from), name: name.into() }];
        let packing = PackRequest {
            max_bytes: u64::MAX,
            sources: &sources,
            archive: &self.at(archive),
            format,
            level: None,
            choice,
            gitignore: false,
            existing: hermes_files::ExistingFile::Replace,
        };
        create(&Grants::allow_all(), &packing, ProgressHooks::NONE)
    }

    pub(crate) fn unpack(&self, archive: &str, target: &str) -> Result<UnpackReport, ToolError> {
        self.unpack_with(archive, target, |_| {})
    }

    pub(crate) fn unpack_with(
        &self,
        archive: &str,
        target: &str,
        change: impl FnOnce(&mut UnpackRequest<'_>),
    ) -> Result<UnpackReport, ToolError> {
        let (archive, target, choice) = (self.at(archive), self.at(target), GlobFilter::all());
        let mut unpacking = UnpackRequest {
            archive: &archive,
            target: &target,
            choice: &choice,
            strip: 0,
            existing: UnpackConflictPolicy::Refuse,
            limits: ArchiveLimits::default(),
            journals: None,
        };
        change(&mut unpacking);
        extract(&Grants::allow_all(), &unpacking, ProgressHooks::NONE)
    }

    pub(crate) fn list(&self, archive: &str) -> Result<ArchiveListing, ToolError> {
        let page = ListPage { offset: 0, limit: 1000 };
        let grants = Grants::allow_all();
        let files = FileAccess::with_grants(&grants);
        list(
            &files,
            &self.at(archive),
            &GlobFilter::all(),
            page,
            ArchiveLimits::default(),
            ProgressHooks::NONE,
        )
    }

    /// Everything below a folder, by relative path.
    pub(crate) fn tree(&self, name: &str) -> Tree {
        let top = self.at(name);
        let mut found = Tree::new();
        let mut open = vec![top.clone()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                let path = entry.path();
                let kind = entry.file_type().unwrap();
                let what = if kind.is_symlink() {
                    Found::Link(fs::read_link(&path).unwrap())
                } else if kind.is_dir() {
                    open.push(path.clone());
                    Found::Folder
                } else {
                    let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                    Found::File(fs::read(&path).unwrap(), mode)
                };
                found.insert(path.strip_prefix(&top).unwrap().to_path_buf(), what);
            }
        }
        found
    }

    /// The names in the top folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs a program here; none if it is not installed.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Option<String> {
        let output = match Command::new(program).args(arguments).current_dir(self.path()).output() {
            Ok(output) => output,
            Err(error) => {
                println!("skipped: {program} cannot be run: {error}");
                return None;
            }
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let wrong = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}{wrong}");
        Some(said)
    }

    /// Runs a Python program here.
    pub(crate) fn python(&self, script: &str) {
        self.run("python3", &["-c", script]).expect("python3 is installed");
    }
}

/// A tree with everything that a file can be called.
pub(crate) fn furnish(place: &Place, dir: &str) {
    place.write(format!("{dir}/plain.txt"), "hello\n");
    place.write(format!("{dir}/empty"), "");
    place.write(format!("{dir}/with space/and\nnewline"), "x".repeat(5000));
    place.write(format!("{dir}/ünï/日本.txt"), "text");
    let script = place.write(format!("{dir}/run.sh"), "#!/bin/sh\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(place.at(format!("{dir}/hollow"))).unwrap();
    std::os::unix::fs::symlink("plain.txt", place.at(format!("{dir}/link"))).unwrap();
    std::os::unix::fs::symlink("../plain.txt", place.at(format!("{dir}/ünï/up"))).unwrap();
    let long = "long-name-".repeat(20);
    place.write(format!("{dir}/{long}/{long}"), "deep");
}

pub(crate) fn raw(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
