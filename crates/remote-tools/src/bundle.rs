//! This program as a bundle: the executable, its shared libraries and its
//! loader, so it also runs on hosts that lack them.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{self, Read, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// Executables larger than this are stripped of debug information.
const STRIP_THRESHOLD_BYTES: u64 = 24 * 1024 * 1024;

/// Age after which cached copies of other builds are removed.
const MAX_COPY_AGE: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// Maximum number of cached copies of other builds.
const MAX_OTHER_COPIES: usize = 3;

/// The program's name in the bundle.
pub(crate) const PROGRAM_NAME: &str = "hermes";

/// The loader's name in the bundle.
pub(crate) const LOADER_NAME: &str = "ld.so";

/// The files to install on the remote host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProgramBundle {
    /// Hash of the whole content.
    pub(crate) hash: String,
    pub(crate) files: Vec<BundledFile>,
    /// Symlinks, as name and target.
    pub(crate) links: Vec<(String, String)>,
}

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BundledFile {
    pub(crate) name: String,
    pub(crate) source: PathBuf,
}

impl ProgramBundle {
    /// Builds the bundle of an executable, with the libraries that this process
    /// has loaded. Expensive parts are kept in `cache`.
    pub(crate) fn for_executable(executable: &Path, cache: Option<&Path>) -> io::Result<Self> {
        let mut pieces =
            vec![BundledFile { name: PROGRAM_NAME.to_owned(), source: executable.to_owned() }];
        let mut links = BTreeMap::new();
        for library in loaded_libraries()? {
            let Some(name) = library.file_name().and_then(|name| name.to_str()) else { continue };
            let is_loader = ["ld-", "ld64", "ld.so"].iter().any(|start| name.starts_with(start));
            let name = if is_loader { LOADER_NAME } else { name };
            if !is_loader {
                links.extend(
                    library_aliases(&library).into_iter().map(|alias| (alias, name.to_owned())),
                );
            }
            pieces.push(BundledFile { name: name.to_owned(), source: library });
        }
        drop_duplicate_names(&mut pieces);
        let mut bundle =
            Self { hash: String::new(), files: pieces, links: links.into_iter().collect() };
        match cache {
            Some(cache) => bundle.load_or_fill_cache(&cache.join(bundle.cache_key()?))?,
            None => bundle.hash = bundle.content_hash()?,
        }
        Ok(bundle)
    }

    /// Whether the bundle includes a loader.
    pub(crate) fn has_loader(&self) -> bool {
        self.files.iter().any(|piece| piece.name == LOADER_NAME)
    }

    /// Returns a name for these files, computed without reading them.
    fn cache_key(&self) -> io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        for piece in &self.files {
            let is = fs::metadata(&piece.source)?;
            let facts = (is.dev(), is.ino(), is.len(), is.mtime(), is.mtime_nsec());
            hasher.update(format!("{} {facts:?}\n", piece.name).as_bytes());
        }
        Ok(short_hash(&hasher))
    }

    /// Loads or creates the stripped copy and the hash in a cache directory.
    fn load_or_fill_cache(&mut self, dir: &Path) -> io::Result<()> {
        let (slim, noted) = (dir.join(PROGRAM_NAME), dir.join("hash"));
        let known = fs::read_to_string(&noted).ok();
        if known.is_none() {
            fs::create_dir_all(dir)?;
            dir.parent().into_iter().for_each(|parent| remove_stale_copies(parent, dir));
            self.strip_program(&slim);
        }
        if let Some(program) = self.files.first_mut().filter(|_| slim.is_file()) {
            program.source = slim;
        }
        self.hash = match known {
            Some(known) => known,
            None => {
                let hash = self.content_hash()?;
                let mut file = tempfile::NamedTempFile::new_in(dir)?;
                file.write_all(hash.as_bytes())?;
                file.persist(&noted).map_err(|error| error.error)?;
                hash
            }
        };
        Ok(())
    }

    /// Strips debug information, if `strip` is installed.
    fn strip_program(&self, to: &Path) {
        let Some(program) = self.files.first() else { return };
        if !fs::metadata(&program.source).is_ok_and(|found| found.len() > STRIP_THRESHOLD_BYTES) {
            return;
        }
        let part = to.with_extension(std::process::id().to_string());
        let stripped = Command::new("strip")
            .args([Path::new("-o"), &part, &program.source])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if stripped.is_ok_and(|status| status.success()) {
            let _ = fs::rename(&part, to);
        }
        let _ = fs::remove_file(&part);
    }

    fn content_hash(&self) -> io::Result<String> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 256 * 1024];
        for piece in &self.files {
            let mut file = fs::File::open(&piece.source)?;
            hasher.update(format!("{} {}\n", piece.name, file.metadata()?.len()).as_bytes());
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    got => hasher.update(buffer.get(..got).unwrap_or_default()),
                };
            }
        }
        self.links.iter().for_each(|(name, of)| {
            hasher.update(format!("{name} {of}\n").as_bytes());
        });
        Ok(short_hash(&hasher))
    }

    /// Packs the bundle into a tar archive.
    pub(crate) fn archive(&self) -> io::Result<Vec<u8>> {
        let mut archive = tar::Builder::new(Vec::new());
        for piece in &self.files {
            let mut file = fs::File::open(&piece.source)?;
            let mut header = tar_header(tar::EntryType::Regular);
            header.set_size(file.metadata()?.len());
            archive.append_data(&mut header, &piece.name, &mut file)?;
        }
        for (name, of) in &self.links {
            archive.append_link(&mut tar_header(tar::EntryType::Symlink), name, of)?;
        }
        archive.into_inner()
    }
}

/// Keeps the first file of each name; the same library may be mapped from
/// several directories.
fn drop_duplicate_names(files: &mut Vec<BundledFile>) {
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.name.clone()));
}

fn tar_header(kind: tar::EntryType) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_size(0);
    header
}

fn short_hash(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex().chars().take(32).collect()
}

/// Returns the shared libraries that this process has mapped as executable,
/// including its loader.
fn loaded_libraries() -> io::Result<Vec<PathBuf>> {
    Ok(mapped_libraries(&fs::read_to_string("/proc/self/maps")?))
}

fn mapped_libraries(maps: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = maps
        .lines()
        .filter(|line| line.split_whitespace().nth(1).is_some_and(|mode| mode.contains('x')))
        .filter_map(|line| line.find('/').and_then(|at| line.get(at..)))
        .map(PathBuf::from)
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.ends_with(".so") || name.contains(".so.")
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the symlinks to a library in its directory: programs may load it by
/// one of these names.
fn library_aliases(library: &Path) -> Vec<String> {
    let Some(dir) = library.parent() else { return Vec::new() };
    let stem = library.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = stem.split(['-', '.']).next().unwrap_or_default();
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(stem) && name.contains(".so."))
        .filter(|name| fs::canonicalize(dir.join(name)).is_ok_and(|path| path == library))
        .collect();
    names.sort();
    names
}

/// Removes cached copies of other builds that are too old or too many.
fn remove_stale_copies(parent: &Path, but: &Path) {
    let age = |entry: &fs::DirEntry| {
        let made = entry.metadata().and_then(|found| found.modified()).ok()?;
        SystemTime::now().duration_since(made).ok()
    };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut others: Vec<(Duration, PathBuf)> = entries
        .filter(|entry| entry.path() != but)
        .filter_map(|entry| Some((age(&entry)?, entry.path())))
        .collect();
    others.sort();
    for (at, (age, path)) in others.into_iter().enumerate() {
        if at >= MAX_OTHER_COPIES || age > MAX_COPY_AGE {
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
