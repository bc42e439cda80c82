//! Reading a compressed file without a name.

use std::io::{self, BufReader, Read};

use hermes_core::ToolError;
use hermes_files::explain_error;

use super::gzip_members::GzipMembers;
use super::{ArchiveVisit, MemberVisitor, VisitMode};
use crate::format::ArchiveFormat;
use crate::limits::{BudgetedReader, ReadPurpose};
use crate::member::{ArchiveMember, MemberKind};
use crate::progress::MeteredReader;

pub(super) fn visit(
    tour: &ArchiveVisit<'_>,
    each: &mut MemberVisitor<'_>,
) -> Result<(), ToolError> {
    let stream = decode(tour)?;
    let purpose = match tour.mode {
        VisitMode::Names => ReadPurpose::PassOver,
        VisitMode::Content => ReadPurpose::Keep,
    };
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut content = BudgetedReader { inner: stream, purpose, budget, gauge };
    let metadata = tour.archive.file.metadata();
    let mut member = ArchiveMember {
        name: tour.archive.single_member_name(),
        kind: MemberKind::File,
        size: None,
        packed: Some(tour.archive.len),
        mode: None,
        modified: metadata.and_then(|found| found.modified()).ok(),
        encrypted: false,
    };
    if tour.mode == VisitMode::Names {
        // The format does not store the size, or only its low bits.
        let size =
            io::copy(&mut content, &mut io::sink()).map_err(|error| tour.damaged_error(&error))?;
        member.size = Some(size);
        return each(member, &mut io::empty());
    }
    each(member, &mut content)
}

/// Returns the decompressed stream.
pub(super) fn decode<'t>(tour: &'t ArchiveVisit<'_>) -> Result<Box<dyn Read + 't>, ToolError> {
    let source = BufReader::new(MeteredReader { inner: tour.rewound_file()?, gauge: tour.gauge });
    Ok(match tour.archive.format {
        ArchiveFormat::Gz | ArchiveFormat::TarGz => Box::new(GzipMembers::new(source)),
        ArchiveFormat::Zst | ArchiveFormat::TarZst => {
            let decoder = zstd::stream::read::Decoder::with_buffer(source);
            Box::new(decoder.map_err(|error| explain_error("read", &tour.archive.path, &error))?)
        }
        _ => Box::new(source),
    })
}
