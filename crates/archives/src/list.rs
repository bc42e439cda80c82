//! Listing of archive entries.

use std::path::Path;

use hermes_core::ToolError;
use hermes_files::FileAccess;

use crate::filter::GlobFilter;
use crate::format::ArchiveFormat;
use crate::limits::ArchiveLimits;
use crate::member::{ArchiveMember, MemberKind, SkippedEntry};
use crate::progress::ProgressHooks;
use crate::read::{OpenArchive, VisitMode};

/// Maximum entries of a listing. Only one page is kept in memory.
const MAX_LISTED_ENTRIES: u64 = 2_000_000;

/// Page of a listing.
#[derive(Debug, Clone, Copy)]
pub struct ListPage {
    /// Entries to skip.
    pub offset: u64,
    /// Maximum entries to return.
    pub limit: u64,
}

/// Entries of an archive, with totals over all of them.
#[derive(Debug)]
pub struct ArchiveListing {
    /// Format of the archive.
    pub format: ArchiveFormat,
    /// Entries of the page, in archive order.
    pub members: Vec<ArchiveMember>,
    /// Number of matching entries.
    pub total: u64,
    /// Number of matching files.
    pub files: u64,
    /// Number of matching directories.
    pub dirs: u64,
    /// Total bytes of content, as stated by the archive.
    pub bytes: u64,
    /// Size of the archive in bytes.
    pub packed: u64,
    /// Whether any entry needs a password.
    pub encrypted: bool,
    /// Entries that are not listed, and why.
    pub skipped: Vec<SkippedEntry>,
}

/// Lists the entries of the archive at `path`. Reads content only if the format
/// requires it.
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
        dirs: 0,
        bytes: 0,
        packed: opened.len,
        encrypted: false,
        skipped: Vec::new(),
    };
    // Nothing is kept, so a bomb is only read, up to a limit.
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
            MemberKind::Directory => self.dirs += 1,
            _ => {}
        }
        self.encrypted |= member.encrypted;
        if is_shown {
            self.members.push(member);
        }
    }
}
