use rustix::io::Errno;

use super::*;

#[test]
fn a_full_disk_and_a_spent_quota_are_told_apart_from_our_own_bound() {
    for (errno, expected) in [
        (Errno::NOSPC, Some(UnsavedReason::DiskFull)),
        (Errno::DQUOT, Some(UnsavedReason::DiskFull)),
        (Errno::IO, None),
        (Errno::ACCESS, None),
    ] {
        assert_eq!(out_of_space_reason(&errno.into()), expected, "{errno}");
    }
    assert!(UnsavedReason::DiskFull.describe().contains("disk"));
    assert!(!UnsavedReason::DiskFull.describe().contains("max_total_size_mb"));
    assert!(UnsavedReason::NoRoom.describe().contains("max_total_size_mb"));
}
