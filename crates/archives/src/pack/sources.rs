//! Collects the entries of an archive in a stable order before packing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::ToolError;
use hermes_files::{FileAccess, FileKind, FileMetadata, OpenDir, explain_error};

use super::{PackReport, PackRequest};
use crate::dropped_attributes::DroppedAttributes;
use crate::format::ArchiveFormat;
use crate::ignore_rules::PackIgnoreRules;
use crate::limits::MAX_DIR_LEVELS;
use crate::member::SkippedEntry;
use crate::name::SafeName;
use crate::progress::ProgressHooks;

/// Maximum entries of a created archive.
const MAX_PACKED_ENTRIES: usize = 500_000;

/// A file or directory to pack.
#[derive(Debug, Clone)]
pub struct PackSource {
    /// Absolute path.
    pub path: PathBuf,
    /// Name in the archive; empty to pack only the contents of a directory.
    pub name: PathBuf,
}

/// An entry to pack.
#[derive(Debug)]
pub(super) struct PackEntry {
    pub(super) name: PathBuf,
    pub(super) kind: PackEntryKind,
    pub(super) size: u64,
    pub(super) mode: u32,
    /// All mode bits, of which only the permission bits are packed.
    full_mode: u32,
    pub(super) modified: Option<SystemTime>,
    /// Index of the source; `relative` is the path below it.
    source: usize,
    relative: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PackEntryKind {
    File,
    Directory,
    Link(PathBuf),
}

/// Everything to pack.
#[derive(Debug)]
pub(super) struct PackPlan {
    pub(super) entries: Vec<PackEntry>,
    pub(super) bytes: u64,
    skipped: Vec<SkippedEntry>,
    /// Files and links found but not matched by `include`.
    unmatched: u64,
    roots: Vec<SourceRoot>,
}

/// An opened source.
#[derive(Debug)]
enum SourceRoot {
    /// A directory, held open.
    Folder(OpenDir),
    /// A file, by its path.
    File(PathBuf),
}

/// A directory to pack.
struct SourceDir<'a> {
    index: usize,
    source: &'a PackSource,
    facts: FileMetadata,
    /// Real path of the directory.
    place: &'a Path,
    /// Path of the archive itself, if it is below.
    archive: Option<&'a Path>,
}

/// A directory level of the walk.
struct WalkLevel {
    dir: OpenDir,
    relative: PathBuf,
    left: std::vec::IntoIter<(OsString, FileKind)>,
    rules: Option<PackIgnoreRules>,
}

impl PackEntry {
    pub(super) fn display_name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// Returns the modification time in seconds since 1970.
    pub(super) fn unix_seconds(&self) -> u64 {
        let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).ok();
        self.modified.and_then(since).map_or(0, |since| since.as_secs())
    }
}

impl PackPlan {
    /// Collects all entries. `own` is the real path of the archive, which is
    /// never packed into itself.
    pub(super) fn build(
        files: &FileAccess<'_>,
        packing: &PackRequest<'_>,
        own: &Path,
        oversight: ProgressHooks<'_>,
    ) -> Result<Self, ToolError> {
        let (found, skipped) = (BTreeMap::new(), Vec::new());
        let mut search =
            SourceWalker { files, packing, archive: own, oversight, found, skipped, unmatched: 0 };
        let mut roots = Vec::new();
        for (number, source) in packing.sources.iter().enumerate() {
            roots.push(search.add_source(number, source)?);
        }
        let items: Vec<PackEntry> = search.found.into_values().collect();
        let bytes = items.iter().map(|item| item.size).sum();
        Ok(Self {
            entries: items,
            bytes,
            skipped: search.skipped,
            unmatched: search.unmatched,
            roots,
        })
    }

    /// Opens a collected file.
    pub(super) fn open(&self, files: &FileAccess<'_>, item: &PackEntry) -> Result<File, ToolError> {
        match self.roots.get(item.source) {
            Some(SourceRoot::Folder(dir)) => {
                dir.open(&item.relative).map_err(|error| explain_error("read", &item.name, &error))
            }
            Some(SourceRoot::File(path)) => files.open(path),
            None => Err(ToolError::internal("A file of the plan has no source")),
        }
    }

    /// Drops entries that the format cannot hold.
    pub(super) fn drop_unsupported(&mut self, format: ArchiveFormat) {
        // Names in 7z are text, not bytes.
        let needs_text = format == ArchiveFormat::SevenZip;
        let longest = if format == ArchiveFormat::Zip { usize::from(u16::MAX) } else { usize::MAX };
        let (mut skipped, mut bytes) = (Vec::new(), 0);
        self.entries.retain(|item| {
            let is_text = item.name.to_str().is_some()
                && !matches!(&item.kind, PackEntryKind::Link(target) if target.to_str().is_none());
            let reason = if needs_text && !is_text {
                Some(format!("{format} cannot hold a name that is not valid UTF-8"))
            } else if item.name.as_os_str().len() >= longest {
                Some(format!("the name is too long for {format}"))
            } else {
                let why = SafeName::rejection_reason(item.name.as_os_str().as_bytes());
                let why = why.filter(|_| !format.is_single());
                why.map(|why| format!("its name {why}, so it could not be unpacked"))
            };
            let keeps = reason.is_none();
            let path = || item.name.clone();
            skipped.extend(reason.map(|reason| SkippedEntry { path: path(), reason }));
            bytes += if keeps { item.size } else { 0 };
            keeps
        });
        self.bytes = bytes;
        self.skipped.append(&mut skipped);
    }

    pub(super) fn nothing_to_pack_error(&self) -> ToolError {
        if self.unmatched > 0 {
            let count = match self.unmatched {
                1 => "the file".to_owned(),
                many => format!("any of the {many} files"),
            };
            return ToolError::invalid(format!(
                "There is nothing to pack: include does not match {count} in paths"
            ))
            .with_hint(
                "A glob without a slash matches names (*.rs), one with a slash matches whole \
                 paths in the archive (src/**).",
            );
        }
        let error = ToolError::invalid("There is nothing to pack");
        match self.skipped.first() {
            Some(first) => {
                let path = first.path.display();
                error.with_hint(format!("{path} was skipped: {}", first.reason))
            }
            None => error.with_hint("Check paths, include, exclude and gitignore."),
        }
    }

    pub(super) fn into_report(self, packed: u64) -> PackReport {
        let count = |what: fn(&PackEntryKind) -> bool| {
            self.entries.iter().filter(|item| what(&item.kind)).count() as u64
        };
        let mut unkept = DroppedAttributes::default();
        self.entries.iter().for_each(|item| unkept.note_special(&item.name, item.full_mode));
        PackReport {
            files: count(|what| *what == PackEntryKind::File),
            dirs: count(|what| *what == PackEntryKind::Directory),
            links: count(|what| matches!(what, PackEntryKind::Link(_))),
            bytes: self.bytes,
            packed,
            names: self.entries.into_iter().map(|item| item.name).collect(),
            skipped: self.skipped,
            not_kept: unkept.into_list(),
        }
    }
}

struct SourceWalker<'a> {
    files: &'a FileAccess<'a>,
    packing: &'a PackRequest<'a>,
    archive: &'a Path,
    oversight: ProgressHooks<'a>,
    /// Keyed by the bytes of the name, for the same order everywhere.
    found: BTreeMap<Vec<u8>, PackEntry>,
    skipped: Vec<SkippedEntry>,
    unmatched: u64,
}

impl SourceWalker<'_> {
    fn add_source(&mut self, number: usize, source: &PackSource) -> Result<SourceRoot, ToolError> {
        let facts = self.files.metadata(&source.path)?;
        let place = self.files.real_path(&source.path)?;
        match facts.kind {
            FileKind::Directory => {
                let dir = self.files.open_dir(&source.path)?;
                let own = self.archive.strip_prefix(&place).ok().map(Path::to_path_buf);
                let top = SourceDir {
                    index: number,
                    source,
                    facts,
                    place: &place,
                    archive: own.as_deref(),
                };
                self.walk(&top, &dir)?;
                Ok(SourceRoot::Folder(dir))
            }
            FileKind::File if place == self.archive => {
                Err(ToolError::invalid("The archive cannot be packed into itself")
                    .with_hint("Choose another path for the archive."))
            }
            FileKind::File => {
                let item = PackEntry::new(
                    source.name.clone(),
                    PackEntryKind::File,
                    facts,
                    number,
                    PathBuf::new(),
                );
                self.add_entry(item)?;
                Ok(SourceRoot::File(source.path.clone()))
            }
            other => Err(ToolError::invalid(format!(
                "{} is {} and cannot be packed",
                source.path.display(),
                other.describe()
            ))),
        }
    }

    fn walk(&mut self, top: &SourceDir<'_>, opened: &OpenDir) -> Result<(), ToolError> {
        let &SourceDir { index: number, source, facts, place, archive: own } = top;
        let is_open = self.packing.choice.includes_all();
        if !source.name.as_os_str().is_empty() && is_open {
            self.add_entry(PackEntry::new(
                source.name.clone(),
                PackEntryKind::Directory,
                facts,
                number,
                PathBuf::new(),
            ))?;
        }
        let rules = self
            .packing
            .gitignore
            .then(|| PackIgnoreRules::for_ancestors(self.files, &source.path));
        let failed = |error: std::io::Error| explain_error("pack", &source.path, &error);
        let top = opened.try_clone().map_err(failed)?;
        let mut levels = Vec::new();
        self.enter(&mut levels, top, PathBuf::new(), rules.transpose()?, source);
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { break };
            if (self.oversight.stopped)() {
                return Err(ToolError::cancelled());
            }
            let Some((entry, kind)) = level.left.next() else {
                levels.pop();
                continue;
            };
            let relative = level.relative.join(&entry);
            let name = source.name.join(&relative);
            let is_ignored = |rules: &PackIgnoreRules| {
                entry == ".git" || rules.is_ignored(&relative, kind == FileKind::Directory)
            };
            if level.rules.as_ref().is_some_and(is_ignored) || self.packing.choice.excludes(&name) {
                continue;
            }
            if self.files.denies(&place.join(&relative)) {
                self.skip(&name, "it is protected by a rule");
                continue;
            }
            if own == Some(relative.as_path()) {
                self.skip(&name, "it is the archive itself");
                continue;
            }
            let found = Path::new(&entry);
            let Ok(facts) = level.dir.metadata(found) else {
                self.skip(&name, "it no longer exists");
                continue;
            };
            if self.files.denies_hard_linked(&place.join(&relative), &facts) {
                self.skip(&name, "it is a hard link to a protected file");
                continue;
            }
            let item = |what| PackEntry::new(name.clone(), what, facts, number, relative.clone());
            match facts.kind {
                FileKind::Directory if depth >= MAX_DIR_LEVELS => {
                    self.skip(&name, "it is nested too deeply")
                }
                FileKind::Directory => {
                    if is_open || self.packing.choice.includes(&name) {
                        self.add_entry(item(PackEntryKind::Directory))?;
                    }
                    let rules = level.rules.clone();
                    match level.dir.open_dir(found) {
                        Ok(dir) => self.enter(&mut levels, dir, relative, rules, source),
                        Err(error) => self.skip(&name, &error.to_string()),
                    }
                }
                FileKind::File if self.packing.choice.includes(&name) => {
                    self.add_entry(item(PackEntryKind::File))?
                }
                FileKind::Link if self.packing.choice.includes(&name) => {
                    match level.dir.read_link(found) {
                        Ok(Some(target)) => self.add_entry(item(PackEntryKind::Link(target)))?,
                        _ => self.skip(&name, "it no longer exists"),
                    }
                }
                FileKind::File | FileKind::Link => self.unmatched += 1,
                other => self.skip(&name, &format!("it is {}", other.describe())),
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        levels: &mut Vec<WalkLevel>,
        dir: OpenDir,
        relative: PathBuf,
        above: Option<PackIgnoreRules>,
        source: &PackSource,
    ) {
        let listed = dir.entries().and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let left: Vec<_> = match listed {
            Ok(entries) => entries.into_iter().map(|entry| (entry.name, entry.kind)).collect(),
            Err(error) => {
                self.skip(&source.name.join(&relative), &error.to_string());
                return;
            }
        };
        let rules = above.map(|above| above.for_subdir(&dir, &relative));
        levels.push(WalkLevel { dir, relative, left: left.into_iter(), rules });
    }

    fn add_entry(&mut self, item: PackEntry) -> Result<(), ToolError> {
        let key = item.name.as_os_str().as_bytes().to_vec();
        let is_folder = item.kind == PackEntryKind::Directory;
        let shown = item.display_name();
        match self.found.insert(key, item) {
            Some(old) if !(is_folder && old.kind == PackEntryKind::Directory) => Err(
                ToolError::invalid(format!("Two of the paths would have the same name {shown:?}"))
                    .with_hint("Pack them separately, or pack their parent directory."),
            ),
            _ if self.found.len() > MAX_PACKED_ENTRIES => Err(ToolError::limit(format!(
                "There are more than {MAX_PACKED_ENTRIES} entries to pack"
            ))
            .with_hint("Pack a part of them, or skip some with exclude or gitignore=true.")),
            _ => Ok(()),
        }
    }

    fn skip(&mut self, name: &Path, reason: &str) {
        self.skipped.push(SkippedEntry { path: name.to_path_buf(), reason: reason.to_owned() });
    }
}

impl PackEntry {
    fn new(
        name: PathBuf,
        what: PackEntryKind,
        facts: FileMetadata,
        source: usize,
        relative: PathBuf,
    ) -> Self {
        Self {
            name,
            size: if what == PackEntryKind::File { facts.len } else { 0 },
            kind: what,
            mode: facts.mode & 0o777,
            full_mode: facts.mode,
            modified: facts.modified,
            source,
            relative,
        }
    }
}
