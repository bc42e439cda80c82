//! Second paths to the same place by way of mounts. A link leads elsewhere and
//! is followed; what is mounted twice is in both places.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How long a look at the mounts counts.
const MOUNT_SCAN_TTL: Duration = Duration::from_secs(2);

/// More are not looked at: they are those of containers.
const MAX_MOUNTS: usize = 1024;
const MAX_ALIASES: usize = 64;

/// Where the mounts of this process are told.
const MOUNTINFO_FILE: &str = "/proc/self/mountinfo";

/// Pairs of folders or files that are one. Mostly there are none.
#[derive(Debug, Default)]
pub(crate) struct MountAliases(Vec<(PathBuf, PathBuf)>);

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct MountAliasCache(Mutex<Option<(Instant, Arc<MountAliases>)>>);

impl MountAliasCache {
    /// What is mounted twice now, or was a moment ago.
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
            // Mostly each has a device of its own, and that is quickly seen.
            for inner in mounts.iter().filter(|inner| inner.device == outer.device) {
                let below = inner.root.strip_prefix(&outer.root).ok();
                let Some(other) = below.map(|below| join_below(&outer.mount_point, below)) else {
                    continue;
                };
                let is_known = || pairs.iter().any(|(a, b)| *a == other && *b == inner.mount_point);
                // What another mount lies over is not there any more.
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

    /// The other paths to a place.
    pub(crate) fn other_paths<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let led = move |from: &Path, to: &Path| Some(join_below(to, path.strip_prefix(from).ok()?));
        self.0.iter().flat_map(move |(a, b)| [led(a, b), led(b, a)]).flatten()
    }
}

/// A path without a slash at its end.
fn join_below(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { folder.to_owned() } else { folder.join(below) }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path| fs::symlink_metadata(path).ok().map(|it| (it.dev(), it.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// One line of what the system tells of mounts.
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

/// Blanks and the like are told by their numbers: `\040`.
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
