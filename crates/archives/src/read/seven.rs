//! Reading 7z, compressed with LZMA or LZMA2, or stored.

use std::io::{self, BufReader, Read};
use std::time::{Duration, SystemTime};

use hermes_core::ToolError;
use sevenz_rust2::{Archive, ArchiveEntry, ArchiveReader, Coder, Error, NtTime, Password};

use super::seven_header::{MAX_DICTIONARY_BYTES, decoder_memory, is_header_within_limits};
use super::{ArchiveVisit, MemberVisitor, VisitMode};
use crate::limits::{BudgetedReader, ReadPurpose};
use crate::member::{
    ArchiveMember, MAX_LINK_TARGET_BYTES, MemberKind, TYPE_BITS, TYPE_DIRECTORY, TYPE_FILE,
    TYPE_LINK,
};
use crate::progress::MeteredReader;

/// Attribute flag: the upper half is a Unix mode.
pub(crate) const UNIX_MODE_ATTRIBUTE: u32 = 0x8000;
/// Id of the encryption method.
const AES_METHOD: &[u8] = &[0x06, 0xF1, 0x07, 0x01];

pub(super) fn visit(
    tour: &ArchiveVisit<'_>,
    each: &mut MemberVisitor<'_>,
) -> Result<(), ToolError> {
    let mut source =
        BufReader::new(MeteredReader { inner: tour.rewound_file()?, gauge: tour.gauge });
    if !is_header_within_limits(&mut source).map_err(|error| tour.damaged_error(&error))? {
        return Err(memory_error("its list of entries"));
    }
    let archive = Archive::read(&mut source, &Password::empty())
        .map_err(|error| to_tool_error(tour, &error))?;
    let any = |fits: fn(&Coder) -> bool| {
        archive.blocks.iter().any(|block| block.ordered_coder_iter().any(|(_, coder)| fits(coder)))
    };
    let is_encrypted = any(|coder| coder.encoder_method_id() == AES_METHOD);
    if any(|coder| {
        decoder_memory(coder.encoder_method_id(), coder.properties()) > MAX_DICTIONARY_BYTES
    }) {
        return Err(memory_error("its content"));
    }
    if tour.mode == VisitMode::Names || is_encrypted {
        for entry in &archive.files {
            tour.budget.count_entry()?;
            let mut member = to_member(entry);
            member.encrypted = is_encrypted && entry.has_stream;
            each(member, &mut io::empty())?;
        }
        return Ok(());
    }
    let mut reader = ArchiveReader::from_archive(archive, source, Password::empty());
    reader.set_thread_count(1);
    let mut show = |entry: &ArchiveEntry, content: &mut dyn Read| {
        let shown =
            tour.budget.count_entry().and_then(|()| visit_entry(tour, entry, content, each));
        // The tracker keeps the reason.
        shown.map(|()| true).map_err(|error| Error::from(tour.gauge.stop(error)))
    };
    reader.for_each_entries(&mut show).map_err(|error| to_tool_error(tour, &error))
}

fn memory_error(what: &str) -> ToolError {
    ToolError::limit(format!("The archive is refused: {what} would take too much memory"))
        .with("rule", "unsafe-archive")
        .with_hint(
            "It may be a decompression bomb. If it is trusted, unpack it with a program \
            such as `7z`.",
        )
}

fn visit_entry(
    tour: &ArchiveVisit<'_>,
    entry: &ArchiveEntry,
    content: &mut dyn Read,
    each: &mut MemberVisitor<'_>,
) -> Result<(), ToolError> {
    let mut member = to_member(entry);
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut content = BudgetedReader { inner: content, purpose: ReadPurpose::Keep, budget, gauge };
    if matches!(member.kind, MemberKind::Link(_)) {
        let mut target = Vec::new();
        let read = (&mut content).take(MAX_LINK_TARGET_BYTES + 1).read_to_end(&mut target);
        read.map_err(|error| tour.damaged_error(&error))?;
        member.kind = MemberKind::Link(target);
    }
    each(member, &mut content)
}

fn to_member(entry: &ArchiveEntry) -> ArchiveMember {
    let attributes = entry.windows_attributes;
    let has_mode = entry.has_windows_attributes && attributes & UNIX_MODE_ATTRIBUTE != 0;
    let mode = has_mode.then_some(attributes >> 16);
    let nature = match mode.map_or(0, |mode| mode & TYPE_BITS) {
        _ if entry.is_anti_item => MemberKind::Special,
        TYPE_LINK => MemberKind::Link(Vec::new()),
        0 | TYPE_FILE | TYPE_DIRECTORY if entry.is_directory => MemberKind::Directory,
        0 | TYPE_FILE => MemberKind::File,
        _ => MemberKind::Special,
    };
    let mut name = entry.name.clone().into_bytes();
    if !has_mode {
        name.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    }
    ArchiveMember {
        name,
        kind: nature,
        size: Some(entry.size),
        packed: None,
        mode: mode.map(|mode| mode & 0o7777),
        modified: entry
            .has_last_modified_date
            .then(|| to_system_time(entry.last_modified_date))
            .flatten(),
        encrypted: false,
    }
}

/// Converts a timestamp; `None` if it is before 1970.
fn to_system_time(time: NtTime) -> Option<SystemTime> {
    let since = u64::from(time).checked_sub(u64::from(NtTime::UNIX_EPOCH))?;
    let nanoseconds = u32::try_from(since % 10_000_000 * 100).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(since / 10_000_000, nanoseconds))
}

fn to_tool_error(tour: &ArchiveVisit<'_>, error: &Error) -> ToolError {
    match error {
        Error::PasswordRequired | Error::MaybeBadPassword(_) => {
            tour.gauge.stop_reason_or(|| tour.encrypted_error(None))
        }
        Error::UnsupportedCompressionMethod(method) if method.contains("AES") => {
            tour.gauge.stop_reason_or(|| tour.encrypted_error(None))
        }
        Error::UnsupportedCompressionMethod(method) => {
            tour.unsupported_error(&format!("it is compressed with {method}"))
        }
        Error::Unsupported(what) => tour.unsupported_error(what),
        Error::ExternalUnsupported => tour.unsupported_error("its headers are in another stream"),
        other => tour.damaged_error(other),
    }
}
