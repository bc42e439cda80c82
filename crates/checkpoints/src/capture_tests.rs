use rustix::io::Errno;

use super::*;

#[test]
fn a_full_disk_and_a_spent_quota_are_told_apart_from_our_own_bound() {
    for (errno, expected) in [
        (Errno::NOSPC, Some(Unkept::DiskFull)),
        (Errno::DQUOT, Some(Unkept::DiskFull)),
        (Errno::IO, None),
        (Errno::ACCESS, None),
    ] {
        assert_eq!(no_room(&errno.into()), expected, "{errno}");
    }
    assert!(Unkept::DiskFull.describe().contains("disk"));
    assert!(!Unkept::DiskFull.describe().contains("max_total_size_mb"));
    assert!(Unkept::NoRoom.describe().contains("max_total_size_mb"));
}
