//! Second paths to the same place by way of mounts. A link leads elsewhere and
//! is followed; what is mounted twice is in both places.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a look at the mounts counts.
const FRESH: Duration = Duration::from_secs(2);

/// More are not looked at: they are those of containers.
const MOST_MOUNTS: usize = 1024;
const MOST: usize = 64;

/// Where the mounts of this process are told.
const MOUNTS: &str = "/proc/self/mountinfo";

/// Pairs of folders or files that are one. Mostly there are none.
#[derive(Debug, Default)]
pub(crate) struct Aliases(Vec<(PathBuf, PathBuf)>);

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct Look(Mutex<Option<(Instant, Arc<Aliases>)>>);

impl Look {
    /// What is mounted twice now, or was a moment ago.
    pub(crate) fn aliases(&self) -> Arc<Aliases> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.take_if(|(since, _)| since.elapsed() >= FRESH);
        let look = || {
            let text = fs::read(MOUNTS).unwrap_or_default();
            (Instant::now(), Arc::new(Aliases::of(&text, is_same)))
        };
        Arc::clone(&last.get_or_insert_with(look).1)
    }
}

impl Aliases {
    fn of(text: &[u8], is_same: impl Fn(&Path, &Path) -> bool) -> Self {
        let lines = text.split(|byte| *byte == b'\n').take(MOST_MOUNTS);
        let mounts: Vec<Mount> = lines.filter_map(Mount::read).collect();
        let mut pairs: Vec<(PathBuf, PathBuf)> = Vec::new();
        for outer in &mounts {
            // Mostly each has a device of its own, and that is quickly seen.
            for inner in mounts.iter().filter(|inner| inner.device == outer.device) {
                let below = inner.root.strip_prefix(&outer.root).ok();
                let Some(other) = below.map(|below| join(&outer.point, below)) else { continue };
                let is_known = || pairs.iter().any(|(a, b)| *a == other && *b == inner.point);
                // What another mount lies over is not there any more.
                if other != inner.point && !is_known() && is_same(&inner.point, &other) {
                    pairs.push((inner.point.clone(), other));
                }
                if pairs.len() == MOST {
                    return Self(pairs);
                }
            }
        }
        Self(pairs)
    }

    /// The other paths to a place.
    pub(crate) fn others<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let led = move |from: &Path, to: &Path| Some(join(to, path.strip_prefix(from).ok()?));
        self.0.iter().flat_map(move |(a, b)| [led(a, b), led(b, a)]).flatten()
    }
}

/// A path without a slash at its end.
fn join(folder: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { folder.to_owned() } else { folder.join(below) }
}

fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path| fs::symlink_metadata(path).ok().map(|it| (it.dev(), it.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// One line of what the system tells of mounts.
struct Mount<'a> {
    device: &'a [u8],
    root: PathBuf,
    point: PathBuf,
}

impl<'a> Mount<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { device, root: unescaped(root), point: unescaped(point) })
    }
}

/// Blanks and the like are told by their numbers: `\040`.
fn unescaped(field: &[u8]) -> PathBuf {
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
#[path = "aliases_tests.rs"]
mod tests;
