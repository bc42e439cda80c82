//! What an archive says that it holds.

use std::path::Path;

use hermes_core::ToolError;
use hermes_files::FileAccess;

use crate::filter::GlobFilter;
use crate::format::ArchiveFormat;
use crate::limits::ArchiveLimits;
use crate::member::{ArchiveMember, MemberKind, SkippedEntry};
use crate::progress::ProgressHooks;
use crate::read::{OpenArchive, VisitMode};

/// Entries of a list. Only those of a page are kept.
const MAX_LISTED_ENTRIES: u64 = 2_000_000;

/// Which of the entries are told.
#[derive(Debug, Clone, Copy)]
pub struct ListPage {
    /// How many are passed over.
    pub offset: u64,
    /// How many are told.
    pub limit: u64,
}

/// The entries of an archive, and sums over all of them.
#[derive(Debug)]
pub struct ArchiveListing {
    /// The format.
    pub format: ArchiveFormat,
    /// The entries of the page, in the order of the archive.
    pub members: Vec<ArchiveMember>,
    /// How many there are that were asked for.
    pub total: u64,
    /// How many of those are files.
    pub files: u64,
    /// How many of those are folders.
    pub folders: u64,
    /// Bytes of their content, as the archive says.
    pub bytes: u64,
    /// Bytes of the archive.
    pub packed: u64,
    /// Whether any of them needs a password.
    pub encrypted: bool,
    /// Entries that are not told, and why.
    pub skipped: Vec<SkippedEntry>,
}

/// Lists the entries of the archive at `path`. Their content is read only
/// where the format leaves no other way.
pub fn list(
    files: &FileAccess<'_>,
    path: &Path,
    choice: &GlobFilter,
    page: ListPage,
    limits: ArchiveLimits,
    oversight: ProgressHooks<'_>,
) -> Result<ArchiveListing, ToolError> {
    let opened = OpenArchive::new(files, path)?;
    let mut listing = ArchiveListing {
        format: opened.format,
        members: Vec::new(),
        total: 0,
        files: 0,
        folders: 0,
        bytes: 0,
        packed: opened.len,
        encrypted: false,
        skipped: Vec::new(),
    };
    // Nothing is kept, so that a bomb is only passed, up to a bound.
    let free = limits.free_bytes.max(limits.bytes);
    let limits = ArchiveLimits {
        entries: limits.entries.max(MAX_LISTED_ENTRIES),
        free_bytes: free,
        ..limits
    };
    let replaced = opened.visit(limits, oversight, VisitMode::Names, &mut |member, _| {
        if choice.includes(Path::new(&member.display_name())) {
            listing.add_member(member, page);
        }
        Ok(())
    })?;
    listing.skipped = SkippedEntry::replaced_by_later(replaced, choice).collect();
    Ok(listing)
}

impl ArchiveListing {
    fn add_member(&mut self, member: ArchiveMember, page: ListPage) {
        let is_shown = self.total >= page.offset && (self.members.len() as u64) < page.limit;
        self.total += 1;
        match member.kind {
            MemberKind::File => {
                self.files += 1;
                self.bytes = self.bytes.saturating_add(member.size.unwrap_or(0));
            }
            MemberKind::Directory => self.folders += 1,
            _ => {}
        }
        self.encrypted |= member.encrypted;
        if is_shown {
            self.members.push(member);
        }
    }
}
