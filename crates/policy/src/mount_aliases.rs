//! Alternative paths to the same file through mounts. A symlink can be
//! resolved; a bind mount exists under both paths.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a scan of the mounts is valid.
const MOUNT_SCAN_TTL: Duration = Duration::from_secs(2);

/// Further mounts are ignored; they belong to containers.
const MAX_MOUNTS: usize = 1024;
const MAX_ALIASES: usize = 64;

/// Lists the mounts of this process.
const MOUNTINFO_FILE: &str = "/proc/self/mountinfo";

/// Pairs of directories or files that are the same. Usually empty.
#[derive(Debug, Default)]
pub(crate) struct MountAliases(Vec<(PathBuf, PathBuf)>);

/// The latest scan.
#[derive(Debug, Default)]
pub(crate) struct MountAliasCache(Mutex<Option<(Instant, Arc<MountAliases>)>>);

impl MountAliasCache {
    /// Returns the aliases now, or as of a recent scan.
    pub(crate) fn aliases(&self) -> Arc<MountAliases> {
        let mut last = self.0.lock();
        last.take_if(|(since, _)| since.elapsed() >= MOUNT_SCAN_TTL);
        let look = || {
            let text = fs::read(MOUNTINFO_FILE).unwrap_or_default();
            (Instant::now(), Arc::new(MountAliases::from_mountinfo(&text, is_same_file)))
        };
        Arc::clone(&last.get_or_insert_with(look).1)
    }
}

impl MountAliases {
    fn from_mountinfo(text: &[u8], is_same: impl Fn(&Path, &Path) -> bool) -> Self {
        let lines = text.split(|byte| *byte == b'\n').take(MAX_MOUNTS);
        let mounts: Vec<MountInfoLine> = lines.filter_map(MountInfoLine::parse).collect();
        let mut pairs: Vec<(PathBuf, PathBuf)> = Vec::new();
        for outer in &mounts {
            // Usually each mount has its own device, so this is a cheap filter.
            for inner in mounts.iter().filter(|inner| inner.device == outer.device) {
                let below = inner.root.strip_prefix(&outer.root).ok();
                let Some(other) = below.map(|below| join_below(&outer.mount_point, below)) else {
                    continue;
                };
                let is_known = || pairs.iter().any(|(a, b)| *a == other && *b == inner.mount_point);
                // A path covered by another mount is no longer reachable.
                if other != inner.mount_point && !is_known() && is_same(&inner.mount_point, &other)
                {
                    pairs.push((inner.mount_point.clone(), other));
                }
                if pairs.len() == MAX_ALIASES {
                    return Self(pairs);
                }
            }
        }
        Self(pairs)
    }

    /// Returns the other paths to the same file.
    pub(crate) fn other_paths<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let led = move |from: &Path, to: &Path| Some(join_below(to, path.strip_prefix(from).ok()?));
        self.0.iter().flat_map(move |(a, b)| [led(a, b), led(b, a)]).flatten()
    }
}

/// Joins two paths without adding a trailing slash.
fn join_below(dir: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { dir.to_owned() } else { dir.join(below) }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path| fs::symlink_metadata(path).ok().map(|it| (it.dev(), it.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// One line of `mountinfo`.
struct MountInfoLine<'a> {
    device: &'a [u8],
    root: PathBuf,
    mount_point: PathBuf,
}

impl<'a> MountInfoLine<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { device, root: unescape_field(root), mount_point: unescape_field(point) })
    }
}

/// Decodes octal escapes such as `\040`.
fn unescape_field(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let number = after.get(..3).filter(|_| *first == b'\\');
        let number =
            number.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        bytes.push(number.unwrap_or(*first));
        rest = after.get(if number.is_some() { 3 } else { 0 }..).unwrap_or_default();
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
#[path = "mount_aliases_tests.rs"]
mod tests;
