//! Writing gzip and Zstandard, around one file or around a tar.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use hermes_core::ToolError;

use super::sources::{PackEntryKind, PackPlan};
use super::{PackJob, PackRequest, tarball};
use crate::format::ArchiveFormat;

const DEFAULT_GZIP_LEVEL: u32 = 6;
const DEFAULT_ZSTD_LEVEL: u32 = 3;

/// Checks that one file is packed: these formats store one file without its
/// name.
pub(super) fn require_one_file(
    packing: &PackRequest<'_>,
    plan: &PackPlan,
) -> Result<(), ToolError> {
    if matches!(plan.entries.as_slice(), [only] if only.kind == PackEntryKind::File) {
        return Ok(());
    }
    let format = packing.format;
    Err(ToolError::invalid(format!(
        "{format} holds exactly one file, not directories or \
        several files"
    ))
    .with_hint(format!("Use tar.{format} instead.")))
}

pub(super) fn write(job: &PackJob<'_>, out: impl Write) -> io::Result<()> {
    let level = job.packing.level;
    match job.packing.format {
        ArchiveFormat::Gz | ArchiveFormat::TarGz => {
            let only = job.plan.entries.first().filter(|_| job.packing.format == ArchiveFormat::Gz);
            let seconds = only.map_or(0, |item| u32::try_from(item.unix_seconds()).unwrap_or(0));
            let level = Compression::new(level.unwrap_or(DEFAULT_GZIP_LEVEL));
            let mut encoder = GzBuilder::new().mtime(seconds).write(out, level);
            write_content(job, &mut encoder)?;
            encoder.finish()?.flush()
        }
        _ => {
            let level = i32::try_from(level.unwrap_or(DEFAULT_ZSTD_LEVEL)).unwrap_or(3);
            let mut encoder = zstd::stream::write::Encoder::new(out, level)?;
            encoder.include_checksum(true)?;
            write_content(job, &mut encoder)?;
            encoder.finish()?.flush()
        }
    }
}

fn write_content(job: &PackJob<'_>, out: &mut impl Write) -> io::Result<()> {
    if !job.packing.format.is_single() {
        return tarball::write(job, out);
    }
    for item in &job.plan.entries {
        io::copy(&mut job.open_content(item)?, out)?;
    }
    Ok(())
}
