//! Applies the changes of an overlay to the user's directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::OverlayEntry;
use super::diff::open_file;
use super::tree::{self, NodeKind, UpperNode};

/// Mode bits that give a file other rights than its caller's.
const PRIVILEGE_BITS: u32 = 0o7000;

/// Summary of what was applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OverlayApplyReport {
    /// Number of files and symlinks written.
    pub written: u64,
    /// Number of files, links and directories deleted.
    pub deleted: u64,
    /// What was skipped, and why.
    pub skipped: Vec<SkippedChange>,
}

/// A change that was not applied, or only in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedChange {
    /// The path, relative to the user's directory.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

pub(super) fn apply(entry: &OverlayEntry, hidden: &[PathBuf]) -> io::Result<OverlayApplyReport> {
    let upper = tree::open_root(&entry.upper())?;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&entry.target)?;
    let target = tree::open_root(&entry.target)?;
    let mut work = OverlayApplier { hidden, count: 0, report: OverlayApplyReport::default() };
    work.apply_directory(upper.as_fd(), target.as_fd(), Path::new(""), 0)?;
    Ok(work.report)
}

struct OverlayApplier<'a> {
    hidden: &'a [PathBuf],
    /// Number of temporary names used.
    count: u64,
    report: OverlayApplyReport,
}

impl OverlayApplier<'_> {
    fn skip(&mut self, path: &Path, reason: impl Into<String>) {
        self.report.skipped.push(SkippedChange { path: path.to_owned(), reason: reason.into() });
    }

    fn apply_directory(
        &mut self,
        upper: BorrowedFd<'_>,
        target: BorrowedFd<'_>,
        path: &Path,
        depth: usize,
    ) -> io::Result<()> {
        tree::refuse_depth(path, depth)?;
        let nodes = tree::nodes(upper, path).map_err(|error| tree::with_path(path, error))?;
        if tree::is_opaque(upper) {
            let kept = |name: &OsStr| nodes.iter().any(|node| node.name == name);
            for name in tree::names(target)?.into_iter().filter(|name| !kept(name)) {
                let path = path.join(&name);
                let deleted = self.delete(target, &name, &path);
                deleted.map_err(|error| tree::with_path(&path, error))?;
            }
        }
        for node in nodes {
            let applied = self.apply_node(&node, target, depth);
            // Errors within a directory already carry their path.
            match node.kind {
                NodeKind::Directory => applied?,
                _ => applied.map_err(|error| tree::with_path(&node.path, error))?,
            }
        }
        Ok(())
    }

    fn apply_node(
        &mut self,
        node: &UpperNode<'_>,
        target: BorrowedFd<'_>,
        depth: usize,
    ) -> io::Result<()> {
        if self.hidden.contains(&node.path) {
            if node.kind != NodeKind::Whiteout {
                self.skip(&node.path, "it is a protected path, hidden from children");
            }
            return Ok(());
        }
        match node.kind {
            NodeKind::Whiteout => self.delete(target, &node.name, &node.path),
            NodeKind::Directory => self.enter_directory(node, target, depth),
            NodeKind::File => self.copy_file(node, target),
            NodeKind::Link => self.copy_link(node, target),
            NodeKind::Special => {
                self.skip(&node.path, "it is a device, a socket or a pipe");
                Ok(())
            }
        }
    }

    fn delete(&mut self, target: BorrowedFd<'_>, name: &OsStr, path: &Path) -> io::Result<()> {
        if self.holds_protected(path) {
            return Ok(());
        }
        if tree::stat(target, name)?.is_some() {
            tree::remove_at(target, name)?;
            self.report.deleted += 1;
        }
        Ok(())
    }

    /// Whether a directory contains a protected path. Such a directory is kept:
    /// no child has seen all of it.
    fn holds_protected(&mut self, path: &Path) -> bool {
        let is_held = self.hidden.iter().any(|hidden| hidden.starts_with(path));
        if is_held {
            self.skip(path, "it contains a protected path, hidden from children");
        }
        is_held
    }

    fn enter_directory(
        &mut self,
        node: &UpperNode<'_>,
        target: BorrowedFd<'_>,
        depth: usize,
    ) -> io::Result<()> {
        let at = |error: io::Error| tree::with_path(&node.path, error);
        let is_new = !is_directory(target, &node.name).map_err(at)?;
        if is_new {
            tree::remove_at(target, &node.name).map_err(at)?;
            rustix::fs::mkdirat(target, &node.name, Mode::RWXU).map_err(|it| at(it.into()))?;
        }
        let upper = match tree::open_directory(node.parent, &node.name) {
            Ok(upper) => upper,
            Err(error) => {
                self.skip(&node.path, format!("it cannot be read: {error}"));
                return Ok(());
            }
        };
        let child = tree::open_directory(target, &node.name).map_err(at)?;
        self.apply_directory(upper.as_fd(), child.as_fd(), &node.path, depth + 1)?;
        if is_new {
            self.set_mode(node, &File::from(child)).map_err(at)?;
        }
        Ok(())
    }

    fn copy_file(&mut self, node: &UpperNode<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
        let mut source = match open_file(node.parent, &node.name) {
            Ok(source) => source,
            Err(error) => {
                self.skip(&node.path, format!("it cannot be read: {error}"));
                return Ok(());
            }
        };
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let owner = Mode::RUSR | Mode::WUSR;
        let (name, file) =
            self.create_temporary(|name| rustix::fs::openat(target, name, flags, owner))?;
        let mut file = File::from(file);
        let copied = io::copy(&mut source, &mut file)
            .and_then(|_| self.set_mode(node, &file))
            .and_then(|()| file.set_modified(source.metadata()?.modified()?));
        self.rename_into_place(target, &name, node, copied)
    }

    fn copy_link(&mut self, node: &UpperNode<'_>, target: BorrowedFd<'_>) -> io::Result<()> {
        let leads_to = rustix::fs::readlinkat(node.parent, &node.name, [])?;
        let name = self.create_temporary(|name| rustix::fs::symlinkat(&leads_to, target, name))?.0;
        self.rename_into_place(target, &name, node, Ok(()))
    }

    /// Renames a finished copy into place, replacing what has that name.
    fn rename_into_place(
        &mut self,
        target: BorrowedFd<'_>,
        temporary: &OsStr,
        node: &UpperNode<'_>,
        made: io::Result<()>,
    ) -> io::Result<()> {
        let put = made.and_then(|()| {
            if is_directory(target, &node.name)? {
                if self.holds_protected(&node.path) {
                    return Ok(false);
                }
                tree::remove_at(target, &node.name)?;
            }
            rustix::fs::renameat(target, temporary, target, &node.name)?;
            Ok(true)
        });
        match put {
            Ok(true) => self.report.written += 1,
            _ => drop(rustix::fs::unlinkat(target, temporary, AtFlags::empty())),
        }
        put.map(drop)
    }

    /// Copies the mode, without the bits that would give callers more rights.
    fn set_mode(&mut self, node: &UpperNode<'_>, copy: &File) -> io::Result<()> {
        let mode = node.mode();
        if node.kind == NodeKind::File && mode & PRIVILEGE_BITS != 0 {
            self.skip(&node.path, "its set-uid, set-gid and sticky bits were dropped");
        }
        copy.set_permissions(std::fs::Permissions::from_mode(mode & !PRIVILEGE_BITS))
    }

    /// Creates an entry under an unused temporary name.
    fn create_temporary<T>(
        &mut self,
        make: impl Fn(&OsStr) -> Result<T, Errno>,
    ) -> io::Result<(OsString, T)> {
        loop {
            self.count += 1;
            let name = format!(".hermes-apply-{}-{}", std::process::id(), self.count);
            let name = OsString::from(name);
            match make(&name) {
                Ok(made) => return Ok((name, made)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn is_directory(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<bool> {
    let kind = tree::stat(parent, name)?.map(|stat| FileType::from_raw_mode(stat.st_mode));
    Ok(kind == Some(FileType::Directory))
}
