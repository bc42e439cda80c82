//! What goes into an archive: found first, in an order that is always the
//! same, and packed afterwards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hermes_core::ToolError;
use hermes_files::{FileMetadata, FileAccess, OpenDir, FileKind, explain_error};

use super::{Created, Packing};
use crate::format::Format;
use crate::gauge::Oversight;
use crate::limits::LEVELS;
use crate::member::Skipped;
use crate::name::SafeName;
use crate::rules::Rules;
use crate::unkept::Unkept;

/// Entries of an archive that is made.
const ENTRIES: usize = 500_000;

/// A file or folder to be packed.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it is; absolute.
    pub path: PathBuf,
    /// Its name in the archive; empty for a folder of which only the content
    /// is packed.
    pub name: PathBuf,
}

/// One entry to be.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) name: PathBuf,
    pub(super) what: What,
    pub(super) size: u64,
    pub(super) mode: u32,
    /// All of the bits, of which only those of the mode are packed.
    bits: u32,
    pub(super) modified: Option<SystemTime>,
    /// Which source it comes from, and where below.
    source: usize,
    relative: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    File,
    Folder,
    Link(PathBuf),
}

/// Everything that is packed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    pub(super) bytes: u64,
    skipped: Vec<Skipped>,
    /// Files and links that were found, and that `include` does not choose.
    passed: u64,
    roots: Vec<Root>,
}

/// A source that was found.
#[derive(Debug)]
enum Root {
    /// A folder, held open.
    Folder(OpenDir),
    /// A file, by its path.
    File(PathBuf),
}

/// A folder that is packed.
struct Top<'a> {
    number: usize,
    source: &'a Source,
    facts: FileMetadata,
    /// Where it really is.
    place: &'a Path,
    /// The archive itself, if it is below.
    own: Option<&'a Path>,
}

/// A folder on the way down.
struct Level {
    folder: OpenDir,
    relative: PathBuf,
    left: std::vec::IntoIter<(OsString, FileKind)>,
    rules: Option<Rules>,
}

impl Item {
    pub(super) fn shown(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// Seconds since 1970.
    pub(super) fn seconds(&self) -> u64 {
        let since = |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).ok();
        self.modified.and_then(since).map_or(0, |since| since.as_secs())
    }
}

impl Plan {
    /// Finds everything. `own` is the real place of the archive, which is
    /// never packed into itself.
    pub(super) fn make(
        files: &FileAccess<'_>,
        packing: &Packing<'_>,
        own: &Path,
        oversight: Oversight<'_>,
    ) -> Result<Self, ToolError> {
        let (found, skipped) = (BTreeMap::new(), Vec::new());
        let mut search = Search { files, packing, own, oversight, found, skipped, passed: 0 };
        let mut roots = Vec::new();
        for (number, source) in packing.sources.iter().enumerate() {
            roots.push(search.add(number, source)?);
        }
        let items: Vec<Item> = search.found.into_values().collect();
        let bytes = items.iter().map(|item| item.size).sum();
        Ok(Self { items, bytes, skipped: search.skipped, passed: search.passed, roots })
    }

    /// Opens a file that was found.
    pub(super) fn open(&self, files: &FileAccess<'_>, item: &Item) -> Result<File, ToolError> {
        match self.roots.get(item.source) {
            Some(Root::Folder(folder)) => {
                folder.open(&item.relative).map_err(|error| explain_error("read", &item.name, &error))
            }
            Some(Root::File(path)) => files.open(path),
            None => Err(ToolError::internal("A file of the plan has no source")),
        }
    }

    /// Leaves out what the format cannot hold.
    pub(super) fn drop_unfit(&mut self, format: Format) {
        // In 7z they are characters.
        let needs_text = format == Format::SevenZip;
        let longest = if format == Format::Zip { usize::from(u16::MAX) } else { usize::MAX };
        let (mut skipped, mut bytes) = (Vec::new(), 0);
        self.items.retain(|item| {
            let is_text = item.name.to_str().is_some()
                && !matches!(&item.what, What::Link(target) if target.to_str().is_none());
            let reason = if needs_text && !is_text {
                Some(format!("{format} cannot hold a name that is not valid UTF-8"))
            } else if item.name.as_os_str().len() >= longest {
                Some(format!("the name is too long for {format}"))
            } else {
                let why = SafeName::objection(item.name.as_os_str().as_bytes());
                let why = why.filter(|_| !format.is_single());
                why.map(|why| format!("its name {why}, so that nobody could unpack it"))
            };
            let keeps = reason.is_none();
            let path = || item.name.clone();
            skipped.extend(reason.map(|reason| Skipped { path: path(), reason }));
            bytes += if keeps { item.size } else { 0 };
            keeps
        });
        self.bytes = bytes;
        self.skipped.append(&mut skipped);
    }

    pub(super) fn nothing(&self) -> ToolError {
        if self.passed > 0 {
            let count = match self.passed {
                1 => "the file".to_owned(),
                many => format!("any of the {many} files"),
            };
            return ToolError::invalid(format!(
                "There is nothing to pack: include does not match {count} that paths name"
            ))
            .with_hint(
                "A glob without a slash is for names (*.rs), one with a slash for whole paths in \
                 the archive (src/**).",
            );
        }
        let error = ToolError::invalid("There is nothing to pack");
        match self.skipped.first() {
            Some(first) => {
                let path = first.path.display();
                error.with_hint(format!("{path} was left out: {}", first.reason))
            }
            None => error.with_hint("Check paths, include, exclude and gitignore."),
        }
    }

    pub(super) fn into_created(self, packed: u64) -> Created {
        let count = |what: fn(&What) -> bool| {
            self.items.iter().filter(|item| what(&item.what)).count() as u64
        };
        let mut unkept = Unkept::default();
        self.items.iter().for_each(|item| unkept.see_special(&item.name, item.bits));
        Created {
            files: count(|what| *what == What::File),
            folders: count(|what| *what == What::Folder),
            links: count(|what| matches!(what, What::Link(_))),
            bytes: self.bytes,
            packed,
            names: self.items.into_iter().map(|item| item.name).collect(),
            skipped: self.skipped,
            not_kept: unkept.into_told(),
        }
    }
}

struct Search<'a> {
    files: &'a FileAccess<'a>,
    packing: &'a Packing<'a>,
    own: &'a Path,
    oversight: Oversight<'a>,
    /// By the bytes of the name, so that the order is the same everywhere.
    found: BTreeMap<Vec<u8>, Item>,
    skipped: Vec<Skipped>,
    passed: u64,
}

impl Search<'_> {
    fn add(&mut self, number: usize, source: &Source) -> Result<Root, ToolError> {
        let facts = self.files.metadata(&source.path)?;
        let place = self.files.real_path(&source.path)?;
        match facts.kind {
            FileKind::Directory => {
                let folder = self.files.open_dir(&source.path)?;
                let own = self.own.strip_prefix(&place).ok().map(Path::to_path_buf);
                let top = Top { number, source, facts, place: &place, own: own.as_deref() };
                self.walk(&top, &folder)?;
                Ok(Root::Folder(folder))
            }
            FileKind::File if place == self.own => {
                Err(ToolError::invalid("The archive cannot be packed into itself")
                    .with_hint("Give the archive another path."))
            }
            FileKind::File => {
                let item =
                    Item::new(source.name.clone(), What::File, facts, number, PathBuf::new());
                self.keep(item)?;
                Ok(Root::File(source.path.clone()))
            }
            other => Err(ToolError::invalid(format!(
                "{} is {} and cannot be packed",
                source.path.display(),
                other.describe()
            ))),
        }
    }

    fn walk(&mut self, top: &Top<'_>, opened: &OpenDir) -> Result<(), ToolError> {
        let &Top { number, source, facts, place, own } = top;
        let is_open = self.packing.choice.is_open();
        if !source.name.as_os_str().is_empty() && is_open {
            self.keep(Item::new(source.name.clone(), What::Folder, facts, number, PathBuf::new()))?;
        }
        let rules = self.packing.gitignore.then(|| Rules::above(self.files, &source.path));
        let failed = |error: std::io::Error| explain_error("pack", &source.path, &error);
        let top = opened.try_clone().map_err(failed)?;
        let mut levels = Vec::new();
        self.enter(&mut levels, top, PathBuf::new(), rules.transpose()?, source);
        loop {
            let depth = levels.len();
            let Some(level) = levels.last_mut() else { break };
            if (self.oversight.stopped)() {
                return Err(ToolError::cancelled());
            }
            let Some((entry, kind)) = level.left.next() else {
                levels.pop();
                continue;
            };
            let relative = level.relative.join(&entry);
            let name = source.name.join(&relative);
            let is_ignored =
                |rules: &Rules| entry == ".git" || rules.leave_out(&relative, kind == FileKind::Directory);
            if level.rules.as_ref().is_some_and(is_ignored) || self.packing.choice.leaves_out(&name)
            {
                continue;
            }
            if self.files.denies(&place.join(&relative)) {
                self.skip(&name, "a rule protects it");
                continue;
            }
            if own == Some(relative.as_path()) {
                self.skip(&name, "it is the archive itself");
                continue;
            }
            let found = Path::new(&entry);
            let Ok(facts) = level.folder.metadata(found) else {
                self.skip(&name, "it went away");
                continue;
            };
            if self.files.denies_hard_linked(&place.join(&relative), &facts) {
                self.skip(&name, "it is another name of a protected file");
                continue;
            }
            let item = |what| Item::new(name.clone(), what, facts, number, relative.clone());
            match facts.kind {
                FileKind::Directory if depth >= LEVELS => self.skip(&name, "it is nested too deep"),
                FileKind::Directory => {
                    if is_open || self.packing.choice.takes(&name) {
                        self.keep(item(What::Folder))?;
                    }
                    let rules = level.rules.clone();
                    match level.folder.open_dir(found) {
                        Ok(folder) => self.enter(&mut levels, folder, relative, rules, source),
                        Err(error) => self.skip(&name, &error.to_string()),
                    }
                }
                FileKind::File if self.packing.choice.takes(&name) => self.keep(item(What::File))?,
                FileKind::Link if self.packing.choice.takes(&name) => {
                    match level.folder.read_link(found) {
                        Ok(Some(target)) => self.keep(item(What::Link(target)))?,
                        _ => self.skip(&name, "it went away"),
                    }
                }
                FileKind::File | FileKind::Link => self.passed += 1,
                other => self.skip(&name, &format!("it is {}", other.describe())),
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        levels: &mut Vec<Level>,
        folder: OpenDir,
        relative: PathBuf,
        above: Option<Rules>,
        source: &Source,
    ) {
        let listed = folder.entries().and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let left: Vec<_> = match listed {
            Ok(entries) => entries.into_iter().map(|entry| (entry.name, entry.kind)).collect(),
            Err(error) => {
                self.skip(&source.name.join(&relative), &error.to_string());
                return;
            }
        };
        let rules = above.map(|above| above.within(&folder, &relative));
        levels.push(Level { folder, relative, left: left.into_iter(), rules });
    }

    fn keep(&mut self, item: Item) -> Result<(), ToolError> {
        let key = item.name.as_os_str().as_bytes().to_vec();
        let is_folder = item.what == What::Folder;
        let shown = item.shown();
        match self.found.insert(key, item) {
            Some(old) if !(is_folder && old.what == What::Folder) => {
                Err(ToolError::invalid(format!("Two of the paths would both be {shown:?}"))
                    .with_hint("Pack them one by one, or pack the folder above them."))
            }
            _ if self.found.len() > ENTRIES => {
                Err(ToolError::limit(format!("There are more than {ENTRIES} files to pack"))
                    .with_hint("Pack a part of them; exclude or gitignore=true leaves some out."))
            }
            _ => Ok(()),
        }
    }

    fn skip(&mut self, name: &Path, reason: &str) {
        self.skipped.push(Skipped { path: name.to_path_buf(), reason: reason.to_owned() });
    }
}

impl Item {
    fn new(name: PathBuf, what: What, facts: FileMetadata, source: usize, relative: PathBuf) -> Self {
        Self {
            name,
            size: if what == What::File { facts.len } else { 0 },
            what,
            mode: facts.mode & 0o777,
            bits: facts.mode,
            modified: facts.modified,
            source,
            relative,
        }
    }
}
