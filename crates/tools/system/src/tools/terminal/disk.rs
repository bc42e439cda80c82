//! Warning about a nearly full disk.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_exec::DiskSpace;
use parking_lot::Mutex;

/// Minimum time between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// Time of the last warning.
#[derive(Debug, Default)]
pub(super) struct DiskWarning(Mutex<Option<Instant>>);

impl DiskWarning {
    /// Returns a warning if a disk that holds one of these directories is
    /// nearly full.
    pub(super) fn warning_for(&self, dirs: &[&Path]) -> Option<String> {
        self.warning_for_rooms(dirs.iter().filter_map(|dir| {
            let there = dir.ancestors().find(|dir| dir.exists())?;
            Some((*dir, DiskSpace::for_path(there).ok()?))
        }))
    }

    fn warning_for_rooms<'a>(
        &self,
        mut rooms: impl Iterator<Item = (&'a Path, DiskSpace)>,
    ) -> Option<String> {
        let mut last = self.0.lock();
        if last.is_some_and(|last| last.elapsed() < WARNING_INTERVAL) {
            return None;
        }
        let (dir, room) = rooms.find(|(_, room)| room.is_nearly_full())?;
        *last = Some(Instant::now());
        Some(format!(
            "The disk of {} is {} % full, {} MB are left.",
            dir.display(),
            room.used_percent(),
            room.free >> 20
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once() {
        let warned = DiskWarning::default();
        let at = Path::new("/work");
        let room = |free: u64| [(at, DiskSpace { free: free << 30, total: 100 << 30 })].into_iter();
        assert_eq!(warned.warning_for_rooms(room(50)), None);
        let said = warned.warning_for_rooms(room(2)).unwrap();
        assert_eq!(said, "The disk of /work is 98 % full, 2048 MB are left.");
        assert_eq!(warned.warning_for_rooms(room(2)), None, "once is enough");
    }
}
