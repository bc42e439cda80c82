//! What an archive says that it holds.

use std::path::Path;

use hermes_core::ToolError;
use hermes_files::FileAccess;

use crate::choice::Choice;
use crate::format::Format;
use crate::gauge::Oversight;
use crate::limits::Limits;
use crate::member::{Member, Nature, Skipped};
use crate::read::{Appetite, Opened};

/// Entries of a list. Only those of a page are kept.
const ENTRIES: u64 = 2_000_000;

/// Which of the entries are told.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// How many are passed over.
    pub offset: u64,
    /// How many are told.
    pub limit: u64,
}

/// The entries of an archive, and sums over all of them.
#[derive(Debug)]
pub struct Listing {
    /// The format.
    pub format: Format,
    /// The entries of the page, in the order of the archive.
    pub members: Vec<Member>,
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
    pub skipped: Vec<Skipped>,
}

/// Lists the entries of the archive at `path`. Their content is read only
/// where the format leaves no other way.
pub fn list(
    files: &FileAccess<'_>,
    path: &Path,
    choice: &Choice,
    page: Page,
    limits: Limits,
    oversight: Oversight<'_>,
) -> Result<Listing, ToolError> {
    let opened = Opened::new(files, path)?;
    let mut listing = Listing {
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
    let free = limits.free.max(limits.bytes);
    let limits = Limits { entries: limits.entries.max(ENTRIES), free, ..limits };
    let replaced = opened.visit(limits, oversight, Appetite::Names, &mut |member, _| {
        if choice.takes(Path::new(&member.shown())) {
            listing.add(member, page);
        }
        Ok(())
    })?;
    listing.skipped = Skipped::replaced(replaced, choice).collect();
    Ok(listing)
}

impl Listing {
    fn add(&mut self, member: Member, page: Page) {
        let is_shown = self.total >= page.offset && (self.members.len() as u64) < page.limit;
        self.total += 1;
        match member.nature {
            Nature::File => {
                self.files += 1;
                self.bytes = self.bytes.saturating_add(member.size.unwrap_or(0));
            }
            Nature::Folder => self.folders += 1,
            _ => {}
        }
        self.encrypted |= member.encrypted;
        if is_shown {
            self.members.push(member);
        }
    }
}
