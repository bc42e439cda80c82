//! Writing gzip and Zstandard, around one file or around a tar.

use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use hermes_core::ToolError;

use super::sources::{Plan, What};
use super::{Job, Packing, tarball};
use crate::format::Format;

const USUAL_GZIP: u32 = 6;
const USUAL_ZSTD: u32 = 3;

/// These formats hold one file and not even its name.
pub(super) fn require_one_file(packing: &Packing<'_>, plan: &Plan) -> Result<(), ToolError> {
    if matches!(plan.items.as_slice(), [only] if only.what == What::File) {
        return Ok(());
    }
    let format = packing.format;
    Err(ToolError::invalid(format!("{format} holds exactly one file, not folders or several"))
        .with_hint(format!("Use tar.{format} instead.")))
}

pub(super) fn write(job: &Job<'_>, out: impl Write) -> io::Result<()> {
    let level = job.packing.level;
    match job.packing.format {
        Format::Gz | Format::TarGz => {
            let only = job.plan.items.first().filter(|_| job.packing.format == Format::Gz);
            let seconds = only.map_or(0, |item| u32::try_from(item.seconds()).unwrap_or(0));
            let level = Compression::new(level.unwrap_or(USUAL_GZIP));
            let mut encoder = GzBuilder::new().mtime(seconds).write(out, level);
            fill(job, &mut encoder)?;
            encoder.finish()?.flush()
        }
        _ => {
            let level = i32::try_from(level.unwrap_or(USUAL_ZSTD)).unwrap_or(3);
            let mut encoder = zstd::stream::write::Encoder::new(out, level)?;
            encoder.include_checksum(true)?;
            fill(job, &mut encoder)?;
            encoder.finish()?.flush()
        }
    }
}

fn fill(job: &Job<'_>, out: &mut impl Write) -> io::Result<()> {
    if !job.packing.format.is_single() {
        return tarball::write(job, out);
    }
    for item in &job.plan.items {
        io::copy(&mut job.content(item)?, out)?;
    }
    Ok(())
}
