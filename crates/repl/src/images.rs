//! Saves images produced by code as files.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Maximum number of images of one kind in a directory.
const MAX_IMAGES_PER_DIR: u32 = 10_000;

/// An image saved to a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SavedImage {
    /// The kind: `figure` or `image`.
    pub kind: String,
    /// The file.
    pub path: PathBuf,
}

/// An image as received from the driver.
#[derive(Debug)]
pub(crate) struct ReceivedImage {
    pub(crate) kind: String,
    pub(crate) extension: String,
    pub(crate) bytes: Vec<u8>,
}

impl ReceivedImage {
    /// Saves the image in a directory, under an unused name.
    pub(crate) fn save(&self, dir: &Path) -> io::Result<SavedImage> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let kind = if self.kind == "figure" { "figure" } else { "image" };
        let known = ["png", "jpg", "svg"].into_iter().find(|known| *known == self.extension);
        let extension = known.unwrap_or("bin");
        for number in 1..MAX_IMAGES_PER_DIR {
            let path = dir.join(format!("{kind}-{number}.{extension}"));
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
        Err(io::Error::other("too many images in the directory"))
    }
}

/// Converts a word to a safe path component.
pub(crate) fn path_component(word: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    word.chars().take(60).map(plain).collect()
}
