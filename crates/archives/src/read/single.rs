//! One compressed file without a name.

use std::io::{self, BufReader, Read};

use hermes_core::ToolError;
use hermes_files::explain_error;

use super::members::Members;
use super::{Appetite, Tour, Visitor};
use crate::format::Format;
use crate::gauge::Metered;
use crate::limits::{Purpose, Spending};
use crate::member::{Member, Nature};

pub(super) fn visit(tour: &Tour<'_>, each: &mut Visitor<'_>) -> Result<(), ToolError> {
    let stream = decode(tour)?;
    let purpose = match tour.appetite {
        Appetite::Names => Purpose::Pass,
        Appetite::Content => Purpose::Keep,
    };
    let (budget, gauge) = (tour.budget, tour.gauge);
    let mut content = Spending { inner: stream, purpose, budget, gauge };
    let metadata = tour.archive.file.metadata();
    let mut member = Member {
        name: tour.archive.inner_name(),
        nature: Nature::File,
        size: None,
        packed: Some(tour.archive.len),
        mode: None,
        modified: metadata.and_then(|found| found.modified()).ok(),
        encrypted: false,
    };
    if tour.appetite == Appetite::Names {
        // The format does not say the size, or only its last digits.
        let size = io::copy(&mut content, &mut io::sink()).map_err(|error| tour.broken(&error))?;
        member.size = Some(size);
        return each(member, &mut io::empty());
    }
    each(member, &mut content)
}

/// The stream inside.
pub(super) fn decode<'t>(tour: &'t Tour<'_>) -> Result<Box<dyn Read + 't>, ToolError> {
    let source = BufReader::new(Metered { inner: tour.source()?, gauge: tour.gauge });
    Ok(match tour.archive.format {
        Format::Gz | Format::TarGz => Box::new(Members::new(source)),
        Format::Zst | Format::TarZst => {
            let decoder = zstd::stream::read::Decoder::with_buffer(source);
            Box::new(decoder.map_err(|error| explain_error("read", &tour.archive.path, &error))?)
        }
        _ => Box::new(source),
    })
}
