//! File types and modes in git diffs.

use super::PatchError;

/// The modes that a diff gives for a file.
#[derive(Debug, Default)]
pub(super) struct FileModes {
    /// Mode of a new file.
    created: Option<u32>,
    /// Modes before and after.
    old: Option<u32>,
    new: Option<u32>,
}

/// The file type bits of a mode.
const FILE_TYPE_MASK: u32 = 0o170_000;
const SYMLINK_TYPE: u32 = 0o120_000;
const SUBMODULE_TYPE: u32 = 0o160_000;
const EXECUTABLE_BITS: u32 = 0o111;

impl FileModes {
    /// Reads a header line, if it gives a mode.
    pub(super) fn read_line(&mut self, number: usize, line: &str) -> Result<(), PatchError> {
        let after = |words: &str| {
            let mode = line.strip_prefix(words)?.split_whitespace().next_back()?;
            u32::from_str_radix(mode, 8).ok()
        };
        if let Some(mode) = after("deleted file mode ") {
            // The content of a symlink is its target, which can be deleted like
            // text.
            return if mode & FILE_TYPE_MASK == SYMLINK_TYPE {
                Ok(())
            } else {
                require_regular_file(number, mode)
            };
        }
        // The `index` line has a mode only if it is unchanged.
        let stays = after("index ").filter(|_| line.split_whitespace().count() == 3);
        let said = [after("new file mode "), after("old mode "), after("new mode ")];
        for mode in said.into_iter().chain([stays]).flatten() {
            require_regular_file(number, mode)?;
        }
        let [created, old, new] = said;
        self.created = created.or(self.created);
        self.old = old.or(self.old);
        self.new = new.or(self.new);
        Ok(())
    }

    /// Whether the file becomes executable (true) or stops being so (false);
    /// none if that is unchanged. Git tracks no other mode bits.
    pub(super) fn executable_change(&self) -> Option<bool> {
        let runs = |mode: u32| mode & EXECUTABLE_BITS != 0;
        match (self.created, self.old, self.new) {
            (Some(created), ..) => runs(created).then_some(true),
            (None, Some(old), Some(new)) if runs(old) != runs(new) => Some(runs(new)),
            _ => None,
        }
    }
}

fn require_regular_file(number: usize, mode: u32) -> Result<(), PatchError> {
    match mode & FILE_TYPE_MASK {
        SYMLINK_TYPE => Err(PatchError::at_line(
            number,
            "a patch cannot create or change symbolic links; leave this file out, and use `ln -s`",
        )),
        SUBMODULE_TYPE => Err(PatchError::at_line(
            number,
            "a patch cannot change submodules; leave this one out, and use git",
        )),
        _ => Ok(()),
    }
}
