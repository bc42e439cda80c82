//! Unpacking: all or nothing, and only below the target.

mod commit;
mod merge_plan;
mod staging;
mod target;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Resource, Scope, ToolError};
use hermes_files::{FileAccess, JournalDir};

use crate::dropped_attributes::{DroppedAttribute, DroppedAttributes};
use crate::filter::GlobFilter;
use crate::format::ArchiveFormat;
use crate::limits::ArchiveLimits;
use crate::member::{ArchiveMember, MemberKind, REPLACED_REASON, SkippedEntry};
use crate::name::SafeName;
use crate::progress::ProgressHooks;
use crate::read::{OpenArchive, VisitMode};

use staging::StagingDir;
use target::UnpackTarget;

/// What to do with a file that already exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnpackConflictPolicy {
    /// Unpack nothing.
    #[default]
    Refuse,
    /// Replace it.
    Overwrite,
    /// Keep it and skip the entry.
    Skip,
    /// Keep it and rename the entry.
    Rename,
}

/// What to unpack, and where.
#[derive(Debug)]
pub struct UnpackRequest<'a> {
    /// Path of the archive.
    pub archive: &'a Path,
    /// Target directory; created if missing.
    pub target: &'a Path,
    /// Filter for the entries.
    pub choice: &'a GlobFilter,
    /// Number of leading directories to strip from names.
    pub strip: usize,
    /// What to do with existing files.
    pub existing: UnpackConflictPolicy,
    /// Limits on unpacked data.
    pub limits: ArchiveLimits,
    /// Journals for moving several files into place, to roll back after a kill.
    pub journals: Option<&'a JournalDir>,
}

/// An unpacked archive.
#[derive(Debug)]
pub struct UnpackReport {
    /// Format of the archive.
    pub format: ArchiveFormat,
    /// Number of files written.
    pub files: u64,
    /// Number of directories in the archive.
    pub dirs: u64,
    /// Number of symbolic and hard links.
    pub links: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Size of the archive in bytes.
    pub packed: u64,
    /// Final names of the unpacked entries, relative to the target.
    pub names: Vec<PathBuf>,
    /// Skipped entries, and why.
    pub skipped: Vec<SkippedEntry>,
    /// Attributes of unpacked entries that were dropped.
    pub not_kept: Vec<DroppedAttribute>,
    /// Number of replaced files.
    pub replaced: u64,
    /// Renamed entries: old and new name.
    pub renamed: Vec<(PathBuf, PathBuf)>,
}

/// Unpacks an archive. On failure, the target stays unchanged.
pub fn extract(
    grants: &Grants,
    unpacking: &UnpackRequest<'_>,
    oversight: ProgressHooks<'_>,
) -> Result<UnpackReport, ToolError> {
    extract_announcing(grants, unpacking, oversight, &|_| {})
}

/// Like [`extract`], but reports, right before anything is changed, which
/// files, links and directories are about to be created or replaced.
pub fn extract_announcing(
    grants: &Grants,
    unpacking: &UnpackRequest<'_>,
    oversight: ProgressHooks<'_>,
    tell: &dyn Fn(&[PathBuf]),
) -> Result<UnpackReport, ToolError> {
    let opened = OpenArchive::new(&FileAccess::with_grants(grants), unpacking.archive)?;
    let place = UnpackTarget::resolve(grants, unpacking.target)?;
    let staging = StagingDir::new_in(&place, unpacking.target)?;
    let mut work = MemberUnpacker {
        grants,
        unpacking,
        place: &place,
        staging,
        links: BTreeMap::new(),
        left_out: Vec::new(),
        written: HashMap::new(),
        unkept: DroppedAttributes::default(),
        stripped: 0,
        out: UnpackReport {
            format: opened.format,
            files: 0,
            dirs: 0,
            links: 0,
            bytes: 0,
            packed: opened.len,
            names: Vec::new(),
            skipped: Vec::new(),
            not_kept: Vec::new(),
            replaced: 0,
            renamed: Vec::new(),
        },
    };
    let mut seen_any = false;
    let replaced =
        opened.visit(unpacking.limits, oversight, VisitMode::Content, &mut |member, content| {
            seen_any = true;
            work.unpack_member(&opened, &member, content)
        })?;
    work.out.skipped.extend(SkippedEntry::replaced_by_later(replaced, unpacking.choice));
    work.finish(seen_any, oversight, tell)
}

struct MemberUnpacker<'a> {
    grants: &'a Grants,
    unpacking: &'a UnpackRequest<'a>,
    place: &'a UnpackTarget,
    staging: StagingDir,
    /// Symbolic links, created last so nothing can be written through one.
    links: BTreeMap<SafeName, Vec<u8>>,
    /// Skipped links; no entry may take their place.
    left_out: Vec<SafeName>,
    /// Bytes of the files written so far, by name.
    written: HashMap<PathBuf, u64>,
    unkept: DroppedAttributes,
    /// Entries other than directories whose whole name was stripped.
    stripped: usize,
    out: UnpackReport,
}

impl MemberUnpacker<'_> {
    fn unpack_member(
        &mut self,
        opened: &OpenArchive,
        member: &ArchiveMember,
        content: &mut dyn Read,
    ) -> Result<(), ToolError> {
        let shown = member.display_name();
        if !self.unpacking.choice.includes(Path::new(shown.trim_start_matches("./"))) {
            return Ok(());
        }
        let Some(name) = SafeName::new(&member.name)? else { return Ok(()) };
        let Some(name) = name.strip_components(self.unpacking.strip) else {
            if member.kind != MemberKind::Directory {
                self.skip(member, "strip_components removes its whole name");
                self.stripped += 1;
            }
            return Ok(());
        };
        if member.encrypted {
            return Err(ToolError::invalid(format!(
                "{shown:?} in {} is encrypted; passwords are not supported",
                opened.path.display()
            ))
            .with("encrypted", true)
            .with_hint("Ask the user to decrypt it with a program such as `7z`."));
        }
        if !self.check_destination(&name, &member.kind)? {
            return Ok(());
        }
        match &member.kind {
            MemberKind::Directory => {
                self.staging.make_dir(&name, member.mode, member.modified)?;
                if let Some(mode) = member.mode {
                    self.unkept.note_special(name.as_path(), mode);
                    self.unkept.note_closed_dir(name.as_path(), mode);
                }
                self.out.dirs += 1;
            }
            MemberKind::File => {
                let is_again = self.replace_earlier(&name, member)?;
                let bytes = self.write_file(opened, &name, member, content)?;
                self.written.insert(name.as_path().to_path_buf(), bytes);
                self.out.bytes = self.out.bytes.saturating_add(bytes);
                if !is_again {
                    self.out.files += 1;
                    self.out.names.push(name.as_path().to_path_buf());
                }
            }
            MemberKind::Link(target) => match name.check_link_target(target) {
                Ok(()) => {
                    if self.links.insert(name, target.clone()).is_some() {
                        self.skip(member, REPLACED_REASON);
                    }
                }
                Err(why) => {
                    self.skip(member, why);
                    self.left_out.push(name);
                }
            },
            MemberKind::HardLink(target) => self.make_hard_link(member, &name, target)?,
            MemberKind::Special => {
                self.skip(member, "it is neither a file nor a directory nor a link")
            }
        }
        Ok(())
    }

    /// Whether an entry may be written to its path. Checks existing files
    /// early, before anything is unpacked in vain.
    fn check_destination(
        &mut self,
        name: &SafeName,
        nature: &MemberKind,
    ) -> Result<bool, ToolError> {
        let path = self.unpacking.target.join(name.as_path());
        self.grants.check(&Scope::FILE_WRITE, &Resource::Path(path.clone()))?;
        if self.grants.denies(&Scope::FILE_WRITE, &self.place.real.join(name.as_path())) {
            return Err(ToolError::denied(format!("{} is protected by a rule", path.display()))
                .with("rule", "protected")
                .with_hint("Nothing was unpacked. Skip the entry with exclude."));
        }
        if let Some(git) = name.git_dir()
            && self.place.contains(&git)?
        {
            return Err(ToolError::denied(format!(
                "The archive would write into the repository at {}",
                self.unpacking.target.join(git).display()
            ))
            .with("rule", "repository")
            .with_hint(
                "Files that git executes must not come from an archive; choose another \
                target, or skip them with exclude.",
            ));
        }
        if *nature == MemberKind::Directory || !self.place.contains(name.as_path())? {
            return Ok(true);
        }
        match self.unpacking.existing {
            UnpackConflictPolicy::Refuse => Err(exists_error(&path)),
            UnpackConflictPolicy::Skip => {
                let (path, reason) = (name.as_path().to_path_buf(), "it already exists".into());
                self.out.skipped.push(SkippedEntry { path, reason });
                Ok(false)
            }
            UnpackConflictPolicy::Overwrite | UnpackConflictPolicy::Rename => Ok(true),
        }
    }

    /// Removes an earlier file of the same name, because the last entry wins,
    /// as in other unpackers. Returns whether there was one.
    fn replace_earlier(
        &mut self,
        name: &SafeName,
        member: &ArchiveMember,
    ) -> Result<bool, ToolError> {
        let Some(bytes) = self.written.remove(name.as_path()) else { return Ok(false) };
        self.staging.remove(name)?;
        self.out.bytes = self.out.bytes.saturating_sub(bytes);
        self.skip(member, REPLACED_REASON);
        Ok(true)
    }

    fn write_file(
        &mut self,
        opened: &OpenArchive,
        name: &SafeName,
        member: &ArchiveMember,
        content: &mut dyn Read,
    ) -> Result<u64, ToolError> {
        let mut file = self.staging.create_file(name, member.mode)?;
        if let Some(mode) = member.mode {
            self.unkept.note_special(name.as_path(), mode);
            if let Ok(facts) = file.metadata() {
                self.unkept.note_masked(name.as_path(), mode, facts.mode());
            }
        }
        // Distinguish read errors from write errors.
        let mut trouble = None;
        let mut source = FailureNotingReader { inner: content, failure: &mut trouble };
        let copied = io::copy(&mut source, &mut file);
        let bytes = copied.map_err(|error| match trouble {
            Some(text) => damaged_entry_error(opened, member, &text),
            None => self.staging.entry_error(name.as_path(), &error),
        })?;
        if let Some(modified) = member.modified {
            // Some file systems do not store it; only the content matters.
            let _ = file.set_modified(modified);
        }
        Ok(bytes)
    }

    fn make_hard_link(
        &mut self,
        member: &ArchiveMember,
        name: &SafeName,
        target: &[u8],
    ) -> Result<(), ToolError> {
        let target =
            SafeName::new(target)?.and_then(|target| target.strip_components(self.unpacking.strip));
        let linked = match &target {
            Some(target) => self.staging.hard_link(name, target)?,
            None => false,
        };
        if linked {
            self.out.links += 1;
            self.out.names.push(name.as_path().to_path_buf());
        } else {
            self.skip(member, "a hard link to a file that was not unpacked");
        }
        Ok(())
    }

    fn finish(
        mut self,
        seen_any: bool,
        oversight: ProgressHooks<'_>,
        tell: &dyn Fn(&[PathBuf]),
    ) -> Result<UnpackReport, ToolError> {
        for (name, target) in std::mem::take(&mut self.links) {
            self.staging.symlink(&name, &target)?;
            self.out.links += 1;
            self.out.names.push(name.as_path().to_path_buf());
        }
        if let Some(name) = self.left_out.iter().find(|name| self.staging.contains(name)) {
            return Err(ToolError::denied(format!(
                "The archive has a symlink that points outside, {:?}, and entries below it or \
                 of the same name",
                name.as_path().to_string_lossy()
            ))
            .with("rule", "unsafe-entry")
            .with_hint("Nothing was unpacked. The archive is broken or malicious."));
        }
        let nothing = self.out.names.is_empty() && self.out.dirs == 0;
        if nothing
            && self.out.skipped.is_empty()
            && seen_any
            && !self.unpacking.choice.includes_all()
        {
            return Err(ToolError::not_found("No entry of the archive matches include")
                .with_hint("Use the action list to see the entries."));
        }
        if nothing && self.stripped > 0 && self.stripped == self.out.skipped.len() {
            let strip = self.unpacking.strip;
            return Err(ToolError::not_found(format!(
                "strip_components={strip} removes the whole name of every entry"
            ))
            .with_hint("Use the action list to see how many directories the names start with."));
        }
        if (oversight.stopped)() {
            return Err(ToolError::cancelled());
        }
        self.staging.apply_dir_metadata(&mut self.unkept);
        let coming = self.out.names.iter().map(PathBuf::as_path).chain(self.staging.dirs());
        let mut coming: Vec<PathBuf> = coming.map(|path| self.place.real.join(path)).collect();
        if !self.place.missing.is_empty() {
            coming.push(self.place.real.clone());
        }
        tell(&coming);
        let UnpackRequest { existing, target, journals, .. } = *self.unpacking;
        let moved = self.staging.commit(existing, target, journals)?;
        moved.add_to_report(&mut self.out);
        self.out.not_kept = self.unkept.into_list();
        Ok(self.out)
    }

    fn skip(&mut self, member: &ArchiveMember, reason: &str) {
        let path = member.path().to_path_buf();
        self.out.skipped.push(SkippedEntry { path, reason: reason.to_owned() });
    }
}

pub(crate) fn exists_error(path: &Path) -> ToolError {
    ToolError::conflict(format!("{} already exists; nothing was unpacked", path.display()))
        .with("path", path.to_string_lossy())
        .with_hint("Choose another target, or set existing to overwrite, skip or rename.")
}

/// A reader that records its own failure.
struct FailureNotingReader<'a> {
    inner: &'a mut dyn Read,
    failure: &'a mut Option<String>,
}

impl Read for FailureNotingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        if let Err(error) = &read
            && error.kind() != io::ErrorKind::Interrupted
        {
            *self.failure = Some(error.to_string());
        }
        read
    }
}

fn damaged_entry_error(opened: &OpenArchive, member: &ArchiveMember, why: &str) -> ToolError {
    let (path, entry) = (opened.path.display(), member.display_name());
    ToolError::invalid(format!("{entry:?} in {path} cannot be unpacked: {why}"))
        .with("damaged", true)
        .with_hint("Nothing was unpacked. The archive may be truncated or corrupted.")
}
