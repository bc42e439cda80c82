//! Free space of file systems.

use std::io;
use std::path::Path;

/// Less free space than this counts as nearly full, whatever the size of the disk.
const LOW_SPACE_BYTES: u64 = 1 << 30;

/// Space on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes available to the user.
    pub free: u64,
    /// Total bytes.
    pub total: u64,
}

impl DiskSpace {
    /// Reads the space of the file system that holds `path`.
    pub fn for_path(path: &Path) -> io::Result<Self> {
        let found = rustix::fs::statvfs(path)?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        // Blocks reserved for the administrator count as used.
        let used = found.f_blocks.saturating_sub(found.f_bfree);
        Ok(Self { free: bytes(found.f_bavail), total: bytes(used.saturating_add(found.f_bavail)) })
    }

    /// Used space in percent.
    pub fn used_percent(&self) -> u64 {
        let used = u128::from(self.total.saturating_sub(self.free));
        u64::try_from(used * 100 / u128::from(self.total.max(1))).unwrap_or(100)
    }

    /// Whether it is nearly full.
    pub fn is_nearly_full(&self) -> bool {
        self.total > 0 && (self.used_percent() >= 95 || self.free < LOW_SPACE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_by_share_or_by_size() {
        let room = |free, total| DiskSpace { free, total };
        let gigabytes = |count: u64| count << 30;
        assert!(!room(gigabytes(50), gigabytes(100)).is_nearly_full());
        assert!(room(gigabytes(5), gigabytes(100)).is_nearly_full());
        assert!(!room(gigabytes(6), gigabytes(100)).is_nearly_full());
        assert!(room(gigabytes(1) - 1, gigabytes(2)).is_nearly_full());
        assert!(!room(0, 0).is_nearly_full(), "a file system without blocks is not full");
        assert_eq!(room(0, u64::MAX).used_percent(), 100);
    }

    #[test]
    fn the_root_has_a_size() {
        assert!(DiskSpace::for_path(Path::new("/")).unwrap().total > 0);
    }
}
