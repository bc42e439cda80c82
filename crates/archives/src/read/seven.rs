//! 7z, as far as it is compressed by LZMA, LZMA2 or not at all.

use std::io::{self, BufReader, Read};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;
use sevenz_rust2::{Archive, ArchiveEntry, ArchiveReader, Coder, Error, NtTime, Password};

use super::seven_header::{DICTIONARY, is_bearable, memory};
use super::{Appetite, Tour, Visitor};
use crate::gauge::Metered;
use crate::limits::{Purpose, Spending};
use crate::member::{LONGEST_TARGET, Member, Nature, TYPE_BITS, TYPE_FILE, TYPE_FOLDER, TYPE_LINK};

/// The attribute that says that the upper half is a Unix mode.
pub(crate) const HAS_MODE: u32 = 0x8000;
/// The method of encryption.
const AES: &[u8] = &[0x06, 0xF1, 0x07, 0x01];

pub(super) fn visit(tour: &Tour<'_>, each: &mut Visitor<'_>) -> Result<(), ToolError> {
    let mut source = BufReader::new(Metered { inner: tour.source()?, gauge: tour.gauge });
    if !is_bearable(&mut source).map_err(|error| tour.broken(&error))? {
        return Err(too_much("its list of entries"));
    }
    let archive =
        Archive::read(&mut source, &Password::empty()).map_err(|error| explain(tour, &error))?;
    let any = |fits: fn(&Coder) -> bool| {
        archive.blocks.iter().any(|block| block.ordered_coder_iter().any(|(_, coder)| fits(coder)))
    };
    let is_encrypted = any(|coder| coder.encoder_method_id() == AES);
    if any(|coder| memory(coder.encoder_method_id(), coder.properties()) > DICTIONARY) {
        return Err(too_much("its content"));
    }
    if tour.appetite == Appetite::Names || is_encrypted {
        for entry in &archive.files {
            tour.budget.count_entry()?;
            let mut member = describe(entry);
            member.encrypted = is_encrypted && entry.has_stream;
            each(member, &mut io::empty())?;
        }
        return Ok(());
    }
    let mut reader = ArchiveReader::from_archive(archive, source, Password::empty());
    reader.set_thread_count(1);
    let mut show = |entry: &ArchiveEntry, content: &mut dyn Read| {
        let shown = tour.budget.count_entry().and_then(|()| show(tour, entry, content, each));
        // The reason waits with the gauge.
        shown.map(|()| true).map_err(|error| Error::from(tour.gauge.stop(error)))
    };
    reader.for_each_entries(&mut show).map_err(|error| explain(tour, &error))
}

fn too_much(what: &str) -> ToolError {
    ToolError::limit(format!("The archive is refused: {what} would take too much memory"))
        .with("rule", "unsafe-archive")
        .with_hint("It may be a bomb. If it is trusted, a program such as `7z` unpacks it.")
}

fn show(
    tour: &Tour<'_>,
    entry: &ArchiveEntry,
    content: &mut dyn Read,
    each: &mut Visitor<'_>,
) -> Result<(), ToolError> {
    let mut member = describe(entry);
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut content = Spending { inner: content, purpose: Purpose::Keep, budget, gauge };
    if matches!(member.nature, Nature::Link(_)) {
        let mut target = Vec::new();
        let read = (&mut content).take(LONGEST_TARGET + 1).read_to_end(&mut target);
        read.map_err(|error| tour.broken(&error))?;
        member.nature = Nature::Link(target);
    }
    each(member, &mut content)
}

fn describe(entry: &ArchiveEntry) -> Member {
    let attributes = entry.windows_attributes;
    let has_mode = entry.has_windows_attributes && attributes & HAS_MODE != 0;
    let mode = has_mode.then_some(attributes >> 16);
    let nature = match mode.map_or(0, |mode| mode & TYPE_BITS) {
        _ if entry.is_anti_item => Nature::Special,
        TYPE_LINK => Nature::Link(Vec::new()),
        0 | TYPE_FILE | TYPE_FOLDER if entry.is_directory => Nature::Folder,
        0 | TYPE_FILE => Nature::File,
        _ => Nature::Special,
    };
    let mut name = entry.name.clone().into_bytes();
    if !has_mode {
        name.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    }
    Member {
        name,
        nature,
        size: Some(entry.size),
        packed: None,
        mode: mode.map(|mode| mode & 0o7777),
        modified: entry
            .has_last_modified_date
            .then(|| to_system(entry.last_modified_date))
            .flatten(),
        encrypted: false,
    }
}

/// Times before 1970 are left out.
fn to_system(time: NtTime) -> Option<SystemTime> {
    let since = u64::from(time).checked_sub(u64::from(NtTime::UNIX_EPOCH))?;
    let nanoseconds = u32::try_from(since % 10_000_000 * 100).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(since / 10_000_000, nanoseconds))
}

fn explain(tour: &Tour<'_>, error: &Error) -> ToolError {
    match error {
        Error::PasswordRequired | Error::MaybeBadPassword(_) => {
            tour.gauge.reason(|| tour.locked(None))
        }
        Error::UnsupportedCompressionMethod(method) if method.contains("AES") => {
            tour.gauge.reason(|| tour.locked(None))
        }
        Error::UnsupportedCompressionMethod(method) => {
            tour.unsupported(&format!("it is compressed by {method}"))
        }
        Error::Unsupported(what) => tour.unsupported(what),
        Error::ExternalUnsupported => tour.unsupported("its headers are in another stream"),
        other => tour.broken(other),
    }
}
