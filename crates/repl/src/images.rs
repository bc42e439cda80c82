//! What code has drawn, as files that others can open.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Pictures of one kind in one folder.
const MAX_IMAGES_PER_DIR: u32 = 10_000;

/// Something to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SavedImage {
    /// What it is: `figure` or `image`.
    pub kind: String,
    /// Where it is.
    pub path: PathBuf,
}

/// A picture as it comes.
#[derive(Debug)]
pub(crate) struct ReceivedImage {
    pub(crate) kind: String,
    pub(crate) extension: String,
    pub(crate) bytes: Vec<u8>,
}

impl ReceivedImage {
    /// Puts it into a folder, under a name that nothing there has yet.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<SavedImage> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let kind = if self.kind == "figure" { "figure" } else { "image" };
        let known = ["png", "jpg", "svg"].into_iter().find(|known| *known == self.extension);
        let extension = known.unwrap_or("bin");
        for number in 1..MAX_IMAGES_PER_DIR {
            let path = folder.join(format!("{kind}-{number}.{extension}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(mut file) => {
                    let written = file.write_all(&self.bytes);
                    return match written {
                        Ok(()) => Ok(SavedImage { kind: kind.to_owned(), path }),
                        Err(error) => {
                            let _ = fs::remove_file(&path);
                            Err(error)
                        }
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("there are too many pictures already"))
    }
}

/// A word as part of a path.
pub(crate) fn path_component(word: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    word.chars().take(60).map(plain).collect()
}
