//! Results of `file_compress`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_archives::{
    ArchiveFormat, ArchiveLimits, ArchiveListing, ArchiveMember, DroppedAttribute, MemberKind,
    PackReport, SkippedEntry, UnpackReport,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::path_text::display_path;

/// Maximum number of skipped entries listed with reasons.
const MAX_SKIPPED_REASONS: usize = 20;

/// Usual size of the zero padding at the end of a tar.
const TAR_TRAILER_BYTES: u64 = 20 * 512;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Output {
    archive: String,
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    files: u64,
    folders: u64,
    #[serde(skip_serializing_if = "is_zero")]
    links: u64,
    /// Total size of the files, not of the archive.
    bytes: u64,
    archive_bytes: u64,
    /// Unpacked over packed size, as compared with `max_ratio`.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// The first packed or extracted paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<Vec<String>>,
    /// A page of the archive's entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<ArchiveRow>>,
    /// Number of matches, shown or not.
    total: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    encrypted: bool,
    #[serde(skip_serializing_if = "is_zero")]
    replaced: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    renamed: Vec<RenamedRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped: Vec<SkippedRow>,
    #[serde(skip_serializing_if = "is_zero")]
    skipped_total: u64,
    /// Attributes that were dropped from entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_kept: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// An entry that was skipped, and why.
#[derive(Debug, Serialize)]
struct SkippedRow {
    path: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct RenamedRow {
    from: String,
    to: String,
}

/// An entry of the archive.
#[derive(Debug, Serialize)]
struct ArchiveRow {
    path: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compressed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    encrypted: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Output {
    fn new(archive: &Path, format: ArchiveFormat, bytes: u64, packed: u64) -> Self {
        // Rounded up, so the ratio is usable as a limit.
        let ratio = (bytes as f64 / packed.max(1) as f64 * 100.0).ceil() / 100.0;
        Self {
            archive: display_path(archive),
            format: format.name(),
            bytes,
            archive_bytes: packed,
            ratio: (bytes > 0).then_some(ratio),
            ..Self::default()
        }
    }

    /// `place` returns the path that was packed under a name.
    pub(super) fn created(
        archive: &Path,
        format: ArchiveFormat,
        made: PackReport,
        shown: usize,
        place: impl Fn(&Path) -> PathBuf,
    ) -> Self {
        let mut output = Self::new(archive, format, made.bytes, made.packed);
        output.files = made.files;
        output.folders = made.dirs;
        output.links = made.links;
        let word =
            |name: &Path| name.to_str().map_or_else(|| display_path(&place(name)), str::to_owned);
        output.set_paths(&made.names, shown, word);
        output.set_skipped(&made.skipped, word);
        output.not_kept = not_kept(&made.not_kept, word);
        if made.names.iter().any(|name| name.iter().any(|part| part == ".git")) {
            output.add_hint(
                "The archive contains .git, which extract refuses to write into a repository \
                 or a protected place; use exclude=.git there.",
            );
        }
        output.add_ratio_hint();
        output
    }

    pub(super) fn extracted(
        archive: &Path,
        target: &Path,
        out: UnpackReport,
        shown: usize,
    ) -> Self {
        let mut output = Self::new(archive, out.format, out.bytes, out.packed);
        output.target = Some(display_path(target));
        output.files = out.files;
        output.folders = out.dirs;
        output.links = out.links;
        output.replaced = out.replaced;
        let word = |name: &Path| display_name(target, name);
        let renamed = out.renamed.iter().take(MAX_SKIPPED_REASONS);
        output.renamed =
            renamed.map(|(old, new)| RenamedRow { from: word(old), to: word(new) }).collect();
        output.set_paths(&out.names, shown, word);
        output.set_skipped(&out.skipped, word);
        output.not_kept = not_kept(&out.not_kept, word);
        output
    }

    /// `target` is where the entries would be extracted.
    pub(super) fn listed(
        archive: &Path,
        target: &Path,
        listing: ArchiveListing,
        offset: u64,
    ) -> Self {
        let mut output = Self::new(archive, listing.format, listing.bytes, listing.packed);
        output.files = listing.files;
        output.folders = listing.dirs;
        output.encrypted = listing.encrypted;
        output.total = listing.total;
        let end = offset.saturating_add(listing.members.len() as u64);
        output.truncated = end < listing.total;
        output.next_offset = output.truncated.then_some(end);
        output.hint = if output.truncated {
            let first = offset + 1;
            Some(format!("Entries {first}-{end} of {}; continue with offset={end}.", listing.total))
        } else if listing.members.is_empty() && listing.total > 0 {
            Some(format!("There are {} entries; offset is past the last one.", listing.total))
        } else {
            None
        };
        let entries = listing.members.iter().map(|member| ArchiveRow::from_member(member, target));
        output.entries = Some(entries.collect());
        output.set_skipped(&listing.skipped, |name| display_name(target, name));
        output.add_ratio_hint();
        output
    }

    /// Adds the `max_ratio` needed to extract a highly compressed archive.
    fn add_ratio_hint(&mut self) {
        let ArchiveLimits { ratio, free_bytes: free, .. } = ArchiveLimits::default();
        // The tar trailer counts as well.
        let needed =
            self.bytes.saturating_add(TAR_TRAILER_BYTES).div_ceil(self.archive_bytes.max(1));
        if needed > ratio && self.bytes > free {
            self.add_hint(&format!("Extracting it requires max_ratio={needed}."));
        }
    }

    fn add_hint(&mut self, more: &str) {
        let hint = self.hint.get_or_insert_default();
        hint.push_str(if hint.is_empty() { "" } else { " " });
        hint.push_str(more);
    }

    fn set_paths(&mut self, names: &[PathBuf], shown: usize, word: impl Fn(&Path) -> String) {
        self.total = names.len() as u64;
        self.truncated = names.len() > shown;
        self.paths = Some(names.iter().take(shown).map(|name| word(name)).collect());
    }

    fn set_skipped(&mut self, skipped: &[SkippedEntry], word: impl Fn(&Path) -> String) {
        self.skipped_total = skipped.len() as u64;
        let told = skipped.iter().take(MAX_SKIPPED_REASONS);
        let told = told.map(|SkippedEntry { path, reason }| (word(path), reason.clone()));
        self.skipped = told.map(|(path, reason)| SkippedRow { path, reason }).collect();
    }
}

/// Returns one line per kind of dropped attribute.
fn not_kept(all: &[DroppedAttribute], word: impl Fn(&Path) -> String) -> Vec<String> {
    let line = |DroppedAttribute { what, first, count }: &DroppedAttribute| match count {
        1 => format!("{what}: {}", word(first)),
        2 => format!("{what}: {} and another", word(first)),
        _ => format!("{what}: {} and {} others", word(first), count - 1),
    };
    all.iter().map(line).collect()
}

impl ArchiveRow {
    fn from_member(member: &ArchiveMember, place: &Path) -> Self {
        let folder = member.path().parent().unwrap_or(Path::new(""));
        let told =
            |from: &Path, target: &[u8]| display_name(from, Path::new(OsStr::from_bytes(target)));
        let target = match &member.kind {
            MemberKind::Link(target) if !target.is_empty() => {
                Some(told(&place.join(folder), target))
            }
            MemberKind::HardLink(target) if !target.is_empty() => Some(told(place, target)),
            _ => None,
        };
        Self {
            path: display_name(place, member.path()),
            kind: member.kind.name(),
            size: member.size.filter(|_| member.kind == MemberKind::File),
            compressed: member.packed.filter(|_| member.kind == MemberKind::File),
            mode: member.mode.map(|mode| format!("{mode:04o}")),
            modified: member.modified.and_then(to_rfc3339),
            target,
            encrypted: member.encrypted,
        }
    }
}

/// Formats a name below the target; one that is not UTF-8 becomes a URL.
fn display_name(target: &Path, name: &Path) -> String {
    name.to_str().map_or_else(|| display_path(&target.join(name)), str::to_owned)
}

/// Formats a time as RFC 3339, to the second.
fn to_rfc3339(time: SystemTime) -> Option<String> {
    let seconds = Timestamp::try_from(time).ok()?.as_second();
    Some(Timestamp::from_second(seconds).ok()?.to_string())
}
