//! Making archives: as a whole or not at all.

mod seven;
mod single;
mod sources;
mod tarball;
mod zipfile;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Scope, ToolError};
use hermes_files::{ExistingFile, FileAccess, WriteOptions, real_path};

use crate::choice::Choice;
use crate::format::Format;
use crate::gauge::{Gauge, Oversight};
use crate::member::Skipped;
use crate::unkept::NotKept;

pub use sources::Source;
use sources::{Item, Plan};

/// What goes into an archive, and how.
#[derive(Debug)]
pub struct Packing<'a> {
    /// What is packed, each under its name.
    pub sources: &'a [Source],
    /// Where the archive goes.
    pub archive: &'a Path,
    /// The format.
    pub format: Format,
    /// How hard to compress; the usual if none.
    pub level: Option<u32>,
    /// Which of the files.
    pub choice: &'a Choice,
    /// Whether what git ignores is left out.
    pub gitignore: bool,
    /// What happens to an archive that is there already.
    pub existing: ExistingFile,
}

/// An archive that was made.
#[derive(Debug)]
pub struct Created {
    /// Files in it.
    pub files: u64,
    /// Folders in it.
    pub folders: u64,
    /// Symbolic links in it.
    pub links: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Bytes of the archive.
    pub packed: u64,
    /// The names of what is in it.
    pub names: Vec<PathBuf>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// What is not in it of that which was not left out.
    pub not_kept: Vec<NotKept>,
}

/// Makes an archive. It appears under its name when it is complete; until
/// then, and after a failure, what was there before is still there.
pub fn create(
    grants: &Grants,
    packing: &Packing<'_>,
    oversight: Oversight<'_>,
) -> Result<Created, ToolError> {
    let files = FileAccess::with_grants(grants);
    check_level(packing)?;
    let own = match grants.real_path(&Scope::FILE_WRITE, packing.archive)? {
        Some(real) => real,
        None => real_path(packing.archive)
            .map_err(|error| hermes_files::explain_error("write", packing.archive, &error))?,
    };
    let mut plan = Plan::make(&files, packing, &own, oversight)?;
    plan.drop_unfit(packing.format);
    if plan.items.is_empty() {
        return Err(plan.nothing());
    }
    if packing.format.is_single() {
        single::require_one_file(packing, &plan)?;
    }
    let gauge = Gauge::new(oversight, plan.bytes);
    let job = Job { files: &files, plan: &plan, packing, gauge: &gauge };
    let mode = WriteOptions { existing: packing.existing, ..WriteOptions::default() };
    let mut packed = 0;
    files
        .write_with(packing.archive, mode, |file| {
            job.fill(file)?;
            packed = file.metadata()?.len();
            Ok(())
        })
        .map_err(|error| gauge.reason(|| error))?;
    Ok(plan.into_created(packed))
}

fn check_level(packing: &Packing<'_>) -> Result<(), ToolError> {
    let Some(level) = packing.level else { return Ok(()) };
    let format = packing.format;
    match format.levels() {
        Some(levels) if levels.contains(&level) => Ok(()),
        Some(levels) => Err(ToolError::invalid(format!(
            "{format} knows the levels {} to {}, not {level}",
            levels.start(),
            levels.end()
        ))),
        None => Err(ToolError::invalid(format!("{format} does not compress and knows no level"))),
    }
}

/// The writing of one archive.
struct Job<'a> {
    files: &'a FileAccess<'a>,
    plan: &'a Plan,
    packing: &'a Packing<'a>,
    gauge: &'a Gauge<'a>,
}

impl Job<'_> {
    fn fill(&self, file: &mut File) -> io::Result<()> {
        match self.packing.format {
            Format::Zip => zipfile::write(self, BufWriter::new(file)),
            Format::SevenZip => seven::write(self, BufWriter::new(file)),
            Format::Tar => {
                let mut out = BufWriter::new(file);
                tarball::write(self, &mut out)?;
                out.flush()
            }
            Format::TarGz | Format::TarZst | Format::Gz | Format::Zst => {
                let mut out = BufWriter::new(file);
                single::write(self, &mut out)?;
                out.flush()
            }
        }
    }

    /// The content of a file: as many bytes as were there when it was looked
    /// at, no more and no less.
    fn content(&self, item: &Item) -> io::Result<Content<'_>> {
        let file = self.plan.open(self.files, item).map_err(|error| self.gauge.stop(error))?;
        Ok(Content { file, left: item.size, path: item.shown(), gauge: self.gauge })
    }

    fn failed(&self, error: impl std::fmt::Display) -> io::Error {
        let what = format!("Cannot write the {} archive: {error}", self.packing.format);
        self.gauge.stop(ToolError::internal(what))
    }
}

/// What is read of a file that is packed.
struct Content<'a> {
    file: File,
    left: u64,
    path: String,
    gauge: &'a Gauge<'a>,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.gauge.check()?;
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if room == 0 {
            return Ok(0);
        }
        let read = self.file.read(buffer.get_mut(..room).unwrap_or_default())?;
        if read == 0 {
            let what = format!("{} became shorter while it was packed", self.path);
            return Err(self.gauge.stop(
                ToolError::conflict(what)
                    .with_hint("Nothing was written. Try again when nobody writes to it."),
            ));
        }
        self.left -= read as u64;
        self.gauge.advance(read as u64);
        Ok(read)
    }
}
