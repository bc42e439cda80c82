//! Unpacking: everything or nothing, and nowhere else than below the target.

mod commit;
mod place;
mod route;
mod staging;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_core::{Grants, Resource, Scope, ToolError};
use hermes_files::{FileAccess, JournalDir};

use crate::choice::Choice;
use crate::format::Format;
use crate::gauge::Oversight;
use crate::limits::Limits;
use crate::member::{Member, Nature, REPLACED, Skipped};
use crate::name::SafeName;
use crate::read::{Appetite, Opened};
use crate::unkept::{NotKept, Unkept};

use place::Place;
use staging::Staging;

/// What happens to a file that is there already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Existing {
    /// Nothing is unpacked at all.
    #[default]
    Refuse,
    /// It is replaced.
    Overwrite,
    /// It stays, and the entry is left out.
    Skip,
    /// It stays, and the entry gets another name.
    Rename,
}

/// What is unpacked, and where.
#[derive(Debug)]
pub struct Unpacking<'a> {
    /// The archive.
    pub archive: &'a Path,
    /// The folder into which it goes; made if it is missing.
    pub target: &'a Path,
    /// Which of the entries.
    pub choice: &'a Choice,
    /// How many leading folders are taken off the names.
    pub strip: usize,
    /// If a file is there already.
    pub existing: Existing,
    /// How much may come out.
    pub limits: Limits,
    /// Where the way of several files into their places is written down, so
    /// that it can be taken back if we are killed on it.
    pub journals: Option<&'a JournalDir>,
}

/// What was unpacked.
#[derive(Debug)]
pub struct Extracted {
    /// The format of the archive.
    pub format: Format,
    /// Files that were written.
    pub files: u64,
    /// Folders of the archive.
    pub folders: u64,
    /// Links, symbolic and hard.
    pub links: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Bytes of the archive.
    pub packed: u64,
    /// What was unpacked, relative to the target, by its final name.
    pub names: Vec<PathBuf>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// What is not there of that which was not left out.
    pub not_kept: Vec<NotKept>,
    /// Files that were replaced.
    pub replaced: u64,
    /// Entries that got another name: as it was, as it is.
    pub renamed: Vec<(PathBuf, PathBuf)>,
}

/// Unpacks an archive. On any failure what was there before is there, and
/// nothing else.
pub fn extract(
    grants: &Grants,
    unpacking: &Unpacking<'_>,
    oversight: Oversight<'_>,
) -> Result<Extracted, ToolError> {
    extract_telling(grants, unpacking, oversight, &|_| {})
}

/// [`extract`] that tells, right before anything is changed, which files, links
/// and folders are about to come into their places, or into those of others.
pub fn extract_telling(
    grants: &Grants,
    unpacking: &Unpacking<'_>,
    oversight: Oversight<'_>,
    tell: &dyn Fn(&[PathBuf]),
) -> Result<Extracted, ToolError> {
    let opened = Opened::new(&FileAccess::with_grants(grants), unpacking.archive)?;
    let place = Place::find(grants, unpacking.target)?;
    let staging = Staging::begin(&place, unpacking.target)?;
    let mut work = Work {
        grants,
        unpacking,
        place: &place,
        staging,
        links: BTreeMap::new(),
        left_out: Vec::new(),
        written: HashMap::new(),
        unkept: Unkept::default(),
        stripped: 0,
        out: Extracted {
            format: opened.format,
            files: 0,
            folders: 0,
            links: 0,
            bytes: 0,
            packed: opened.len,
            names: Vec::new(),
            skipped: Vec::new(),
            not_kept: Vec::new(),
            replaced: 0,
            renamed: Vec::new(),
        },
    };
    let mut seen_any = false;
    let replaced =
        opened.visit(unpacking.limits, oversight, Appetite::Content, &mut |member, content| {
            seen_any = true;
            work.take(&opened, &member, content)
        })?;
    work.out.skipped.extend(Skipped::replaced(replaced, unpacking.choice));
    work.finish(seen_any, oversight, tell)
}

struct Work<'a> {
    grants: &'a Grants,
    unpacking: &'a Unpacking<'a>,
    place: &'a Place,
    staging: Staging,
    /// Symbolic links are made when all else is there, so that nothing can
    /// be written through one.
    links: BTreeMap<SafeName, Vec<u8>>,
    /// Links that are left out; nothing may take their place.
    left_out: Vec<SafeName>,
    /// Bytes of the files that are there so far, by their names.
    written: HashMap<PathBuf, u64>,
    unkept: Unkept,
    /// Entries of whose names nothing was left, but for folders.
    stripped: usize,
    out: Extracted,
}

impl Work<'_> {
    fn take(
        &mut self,
        opened: &Opened,
        member: &Member,
        content: &mut dyn Read,
    ) -> Result<(), ToolError> {
        let shown = member.shown();
        if !self.unpacking.choice.takes(Path::new(shown.trim_start_matches("./"))) {
            return Ok(());
        }
        let Some(name) = SafeName::new(&member.name)? else { return Ok(()) };
        let Some(name) = name.strip(self.unpacking.strip) else {
            if member.nature != Nature::Folder {
                self.skip(member, "strip_components leaves nothing of its name");
                self.stripped += 1;
            }
            return Ok(());
        };
        if member.encrypted {
            return Err(ToolError::invalid(format!(
                "{shown:?} in {} is encrypted; passwords are not supported",
                opened.path.display()
            ))
            .with("encrypted", true)
            .with_hint("Ask the user to decrypt it with a program such as `7z`."));
        }
        if !self.may_go(&name, &member.nature)? {
            return Ok(());
        }
        match &member.nature {
            Nature::Folder => {
                self.staging.make_folder(&name, member.mode, member.modified)?;
                if let Some(mode) = member.mode {
                    self.unkept.see_special(name.as_path(), mode);
                    self.unkept.see_closed(name.as_path(), mode);
                }
                self.out.folders += 1;
            }
            Nature::File => {
                let is_again = self.make_way(&name, member)?;
                let bytes = self.write(opened, &name, member, content)?;
                self.written.insert(name.as_path().to_path_buf(), bytes);
                self.out.bytes = self.out.bytes.saturating_add(bytes);
                if !is_again {
                    self.out.files += 1;
                    self.out.names.push(name.as_path().to_path_buf());
                }
            }
            Nature::Link(target) => match name.may_point_to(target) {
                Ok(()) => {
                    if self.links.insert(name, target.clone()).is_some() {
                        self.skip(member, REPLACED);
                    }
                }
                Err(why) => {
                    self.skip(member, why);
                    self.left_out.push(name);
                }
            },
            Nature::HardLink(target) => self.link_hard(member, &name, target)?,
            Nature::Special => self.skip(member, "it is neither a file nor a folder nor a link"),
        }
        Ok(())
    }

    /// Whether an entry may go where its name says; what is there already is
    /// looked at before anything is unpacked for nothing.
    fn may_go(&mut self, name: &SafeName, nature: &Nature) -> Result<bool, ToolError> {
        let path = self.unpacking.target.join(name.as_path());
        self.grants.check(&Scope::FILE_WRITE, &Resource::Path(path.clone()))?;
        if self.grants.denies(&Scope::FILE_WRITE, &self.place.real.join(name.as_path())) {
            return Err(ToolError::denied(format!("{} is protected by a rule", path.display()))
                .with("rule", "protected")
                .with_hint("Nothing was unpacked. Leave the entry out with exclude."));
        }
        if let Some(git) = name.git_folder()
            && self.place.holds(&git)?
        {
            return Err(ToolError::denied(format!(
                "The archive would write into the repository at {}",
                self.unpacking.target.join(git).display()
            ))
            .with("rule", "repository")
            .with_hint("What git runs later must not come from an archive; choose another target, or leave it out with exclude."));
        }
        if *nature == Nature::Folder || !self.place.holds(name.as_path())? {
            return Ok(true);
        }
        match self.unpacking.existing {
            Existing::Refuse => Err(exists(&path)),
            Existing::Skip => {
                let (path, reason) = (name.as_path().to_path_buf(), "it exists already".into());
                self.out.skipped.push(Skipped { path, reason });
                Ok(false)
            }
            Existing::Overwrite | Existing::Rename => Ok(true),
        }
    }

    /// An entry that was added to an archive later takes the place of the
    /// file of the same name, as in every program that unpacks one. Says
    /// whether there was such a file.
    fn make_way(&mut self, name: &SafeName, member: &Member) -> Result<bool, ToolError> {
        let Some(bytes) = self.written.remove(name.as_path()) else { return Ok(false) };
        self.staging.remove(name)?;
        self.out.bytes = self.out.bytes.saturating_sub(bytes);
        self.skip(member, REPLACED);
        Ok(true)
    }

    fn write(
        &mut self,
        opened: &Opened,
        name: &SafeName,
        member: &Member,
        content: &mut dyn Read,
    ) -> Result<u64, ToolError> {
        let mut file = self.staging.create(name, member.mode)?;
        if let Some(mode) = member.mode {
            self.unkept.see_special(name.as_path(), mode);
            if let Ok(facts) = file.metadata() {
                self.unkept.see_masked(name.as_path(), mode, facts.mode());
            }
        }
        // Reading and writing fail for different reasons.
        let mut trouble = None;
        let mut source = Noting { inner: content, trouble: &mut trouble };
        let copied = io::copy(&mut source, &mut file);
        let bytes = copied.map_err(|error| match trouble {
            Some(text) => damaged(opened, member, &text),
            None => self.staging.failed(name.as_path(), &error),
        })?;
        if let Some(modified) = member.modified {
            // Some file systems keep no such time; the content is what counts.
            let _ = file.set_modified(modified);
        }
        Ok(bytes)
    }

    fn link_hard(
        &mut self,
        member: &Member,
        name: &SafeName,
        target: &[u8],
    ) -> Result<(), ToolError> {
        let target = SafeName::new(target)?.and_then(|target| target.strip(self.unpacking.strip));
        let linked = match &target {
            Some(target) => self.staging.link_hard(name, target)?,
            None => false,
        };
        if linked {
            self.out.links += 1;
            self.out.names.push(name.as_path().to_path_buf());
        } else {
            self.skip(member, "another name of a file that was not unpacked");
        }
        Ok(())
    }

    fn finish(
        mut self,
        seen_any: bool,
        oversight: Oversight<'_>,
        tell: &dyn Fn(&[PathBuf]),
    ) -> Result<Extracted, ToolError> {
        for (name, target) in std::mem::take(&mut self.links) {
            self.staging.link_soft(&name, &target)?;
            self.out.links += 1;
            self.out.names.push(name.as_path().to_path_buf());
        }
        if let Some(name) = self.left_out.iter().find(|name| self.staging.holds(name)) {
            return Err(ToolError::denied(format!(
                "The archive has a link that leads out, {:?}, and entries below it or of its name",
                name.as_path().to_string_lossy()
            ))
            .with("rule", "unsafe-entry")
            .with_hint("Nothing was unpacked. Such an archive is broken or hostile."));
        }
        let nothing = self.out.names.is_empty() && self.out.folders == 0;
        if nothing && self.out.skipped.is_empty() && seen_any && !self.unpacking.choice.is_open() {
            return Err(ToolError::not_found("No entry of the archive matches include")
                .with_hint("The action list shows what is in it."));
        }
        if nothing && self.stripped > 0 && self.stripped == self.out.skipped.len() {
            let strip = self.unpacking.strip;
            return Err(ToolError::not_found(format!(
                "strip_components={strip} leaves nothing of any name in the archive"
            ))
            .with_hint("The action list shows how many folders the names begin with."));
        }
        if (oversight.stopped)() {
            return Err(ToolError::cancelled());
        }
        self.staging.settle(&mut self.unkept);
        let coming = self.out.names.iter().map(PathBuf::as_path).chain(self.staging.folders());
        let mut coming: Vec<PathBuf> = coming.map(|path| self.place.real.join(path)).collect();
        if !self.place.missing.is_empty() {
            coming.push(self.place.real.clone());
        }
        tell(&coming);
        let Unpacking { existing, target, journals, .. } = *self.unpacking;
        let moved = self.staging.commit(existing, target, journals)?;
        moved.amend(&mut self.out);
        self.out.not_kept = self.unkept.into_told();
        Ok(self.out)
    }

    fn skip(&mut self, member: &Member, reason: &str) {
        let path = member.path().to_path_buf();
        self.out.skipped.push(Skipped { path, reason: reason.to_owned() });
    }
}

pub(crate) fn exists(path: &Path) -> ToolError {
    ToolError::conflict(format!("{} exists already; nothing was unpacked", path.display()))
        .with("path", path.to_string_lossy())
        .with_hint("Choose another target, or set existing to overwrite, skip or rename.")
}

/// A reader that remembers that it was the one who failed.
struct Noting<'a> {
    inner: &'a mut dyn Read,
    trouble: &'a mut Option<String>,
}

impl Read for Noting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        if let Err(error) = &read
            && error.kind() != io::ErrorKind::Interrupted
        {
            *self.trouble = Some(error.to_string());
        }
        read
    }
}

fn damaged(opened: &Opened, member: &Member, why: &str) -> ToolError {
    let (path, entry) = (opened.path.display(), member.shown());
    ToolError::invalid(format!("{entry:?} in {path} cannot be unpacked: {why}"))
        .with("damaged", true)
        .with_hint("Nothing was unpacked. The archive may be cut off or changed on its way here.")
}
