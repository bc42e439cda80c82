#![allow(clippy::unwrap_used)]

use tempfile::TempDir;

use super::*;

/// A machine whose kernel says this.
pub(in super::super) fn machine(files: &[(&str, &str)]) -> TempDir {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

#[test]
fn the_second_make_within_other_groups() {
    let root = machine(&[
        ("proc/self/cgroup", "0::/user/app\n"),
        ("sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n"),
        ("sys/fs/cgroup/user/memory.max", "1073741824\n"),
        ("sys/fs/cgroup/user/memory.current", "500\n"),
        ("sys/fs/cgroup/user/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/user/app/memory.max", "max\n"),
        ("sys/fs/cgroup/user/app/memory.current", "400\n"),
        ("sys/fs/cgroup/user/app/memory.swap.max", "0\n"),
        ("sys/fs/cgroup/user/app/memory.swap.current", "0\n"),
        ("sys/fs/cgroup/user/app/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/user/app/pids.max", "64\n"),
        ("sys/fs/cgroup/user/app/pids.current", "3\n"),
        ("sys/fs/cgroup/user/app/cpuset.cpus.effective", "0-1\n"),
    ]);
    let expected = CgroupLimits {
        cgroup: Some("v2"),
        memory: Some(LimitUsage { limit: 1 << 30, used: 500 }),
        swap: Some(LimitUsage { limit: 0, used: 0 }),
        pids: Some(LimitUsage { limit: 64, used: 3 }),
        cpus: Some(1.5),
        cpuset: Some("0-1".to_owned()),
    };
    assert_eq!(CgroupLimits::read(root.path()), expected);
}

#[test]
fn the_first_make_has_a_tree_for_each_controller() {
    let root = machine(&[
        ("proc/self/cgroup", "4:memory:/app/x\n3:cpu,cpuacct:/app\n2:pids:/\n0::/\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("sys/fs/cgroup/memory/memory.usage_in_bytes", "999\n"),
        ("sys/fs/cgroup/memory/app/x/memory.limit_in_bytes", "1000\n"),
        ("sys/fs/cgroup/memory/app/x/memory.usage_in_bytes", "10\n"),
        ("sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        ("sys/fs/cgroup/pids/pids.max", "max\n"),
    ]);
    let expected = CgroupLimits {
        cgroup: Some("v1"),
        memory: Some(LimitUsage { limit: 1_000, used: 10 }),
        cpus: Some(0.5),
        ..CgroupLimits::default()
    };
    assert_eq!(CgroupLimits::read(root.path()), expected);
}

#[test]
fn in_a_container_the_path_may_be_one_of_outside() {
    for path in ["/docker/abc", "/../../docker/abc"] {
        let root = machine(&[
            ("proc/self/cgroup", &format!("0::{path}\n")),
            ("sys/fs/cgroup/cgroup.controllers", "memory\n"),
            ("sys/fs/cgroup/memory.max", "4096\n"),
            ("sys/fs/cgroup/memory.current", "12\n"),
        ]);
        let limits = CgroupLimits::read(root.path());
        assert_eq!(limits.memory, Some(LimitUsage { limit: 4_096, used: 12 }), "{path}");
    }
}

#[test]
fn nothing_is_made_up() {
    assert_eq!(CgroupLimits::read(machine(&[]).path()), CgroupLimits::default());
    let odd = machine(&[
        ("proc/self/cgroup", "nonsense\n:::\n1:memory\n"),
        ("sys/fs/cgroup/memory/memory.limit_in_bytes", "lots\n"),
    ]);
    assert_eq!(CgroupLimits::read(odd.path()), CgroupLimits::default());
}
