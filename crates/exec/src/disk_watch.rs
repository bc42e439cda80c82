//! Ends confined jobs that fill the disk, before other programs run out of space.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::disk_space::DiskSpace;
use crate::job::Job;
use crate::jobs::KILL_GRACE;

/// Interval between checks of the disk.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Bounds of the space that stays free, which is 1 % of the disk.
const MIN_FREE_BYTES: u64 = 256 << 20;
const MAX_FREE_BYTES: u64 = 1 << 30;

/// Watches the disks that a job writes to, while it runs.
pub(crate) fn watch(job: &Arc<Job>, directory: &Path) {
    let disks: Vec<(PathBuf, u64)> = [directory.to_owned(), std::env::temp_dir()]
        .into_iter()
        .filter_map(|path| {
            let floor = min_free_bytes(DiskSpace::for_path(&path).ok()?);
            Some((path, floor))
        })
        .collect();
    let job = Arc::downgrade(job);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let Some(job) = job.upgrade().filter(|job| job.ended().is_none()) else { return };
            let is_full = |(path, floor): &&(PathBuf, u64)| {
                DiskSpace::for_path(path).is_ok_and(|room| room.free < *floor)
            };
            if let Some((path, floor)) = disks.iter().find(is_full) {
                job.add_remark(format!(
                    "The command was ended: the disk of {} is nearly full, and the sandbox keeps {} MB free.",
                    path.display(),
                    floor >> 20
                ));
                job.terminate(KILL_GRACE).await;
                return;
            }
        }
    });
}

/// The space to keep free: half of what is free if the disk has less than the minimum
/// already.
fn min_free_bytes(room: DiskSpace) -> u64 {
    (room.total / 100).clamp(MIN_FREE_BYTES, MAX_FREE_BYTES).min(room.free / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_disk_stays_free_within_bounds() {
        let room = |free, total| DiskSpace { free, total };
        assert_eq!(min_free_bytes(room(50 << 30, 60 << 30)), (60 << 30) / 100);
        assert_eq!(min_free_bytes(room(500 << 30, 1000 << 30)), MAX_FREE_BYTES);
        assert_eq!(min_free_bytes(room(5 << 30, 8 << 30)), MIN_FREE_BYTES);
        assert_eq!(min_free_bytes(room(100 << 20, 8 << 30)), 50 << 20);
    }
}
