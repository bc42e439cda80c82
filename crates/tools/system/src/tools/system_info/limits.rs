//! Resource limits of this process, set for its container or service through
//! cgroup v1 or v2.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A file without a limit holds a number near the largest one.
const UNLIMITED_THRESHOLD: u64 = 1 << 60;
/// Maximum nesting of cgroups to read.
const MAX_CGROUP_DEPTH: usize = 32;

/// The tightest limits in effect; resources without a limit are omitted.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct CgroupLimits {
    /// The cgroup version: v1 or v2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cgroup: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<LimitUsage>,
    /// Swap, where it is accounted separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) swap: Option<LimitUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pids: Option<LimitUsage>,
    /// CPU quota, in processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<f64>,
    /// Processors that the process may run on, as the kernel lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpuset: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct LimitUsage {
    pub(super) limit: u64,
    pub(super) used: u64,
}

impl CgroupLimits {
    /// Reads the limits of this process. `root` is `/` except in tests.
    pub(super) fn read(root: &Path) -> Self {
        let Ok(membership) = fs::read_to_string(root.join("proc/self/cgroup")) else {
            return Self::default();
        };
        let mounted = root.join("sys/fs/cgroup");
        if mounted.join("cgroup.controllers").is_file() {
            let path = membership.lines().find_map(|line| line.strip_prefix("0::"));
            return Self::from_v2(&CgroupPath::locate(&mounted, path.unwrap_or("/")));
        }
        let group = |controller: &str| {
            let (names, path) = membership.lines().find_map(|line| {
                let (names, path) = line.split_once(':')?.1.split_once(':')?;
                names.split(',').any(|name| name == controller).then_some((names, path))
            })?;
            let dir = [controller, names].map(|name| mounted.join(name));
            let dir = dir.into_iter().find(|dir| dir.is_dir())?;
            Some(CgroupPath::locate(&dir, path))
        };
        Self::from_v1(group)
    }

    /// Whether memory, processes or CPU time are limited.
    pub(super) fn is_limited(&self) -> bool {
        self.memory.is_some() || self.pids.is_some() || self.cpus.is_some()
    }

    fn from_v2(group: &CgroupPath) -> Self {
        Self {
            cgroup: Some("v2"),
            memory: group.tightest_bound("memory.max", "memory.current"),
            swap: group.tightest_bound("memory.swap.max", "memory.swap.current"),
            pids: group.tightest_bound("pids.max", "pids.current"),
            cpus: group.minimum(|dir| {
                let text = read_trimmed(&dir.join("cpu.max"))?;
                let (quota, period) = text.split_once(' ')?;
                cpu_share(quota, period)
            }),
            cpuset: group.first_text("cpuset.cpus.effective"),
        }
    }

    fn from_v1(group: impl Fn(&str) -> Option<CgroupPath>) -> Self {
        let memory = group("memory");
        let (cpu, cpuset, pids) = (group("cpu"), group("cpuset"), group("pids"));
        let is_there = [&memory, &cpu, &cpuset, &pids].iter().any(|group| group.is_some());
        Self {
            cgroup: is_there.then_some("v1"),
            memory: memory.and_then(|group| {
                group.tightest_bound("memory.limit_in_bytes", "memory.usage_in_bytes")
            }),
            // cgroup v1 accounts swap together with memory.
            swap: None,
            pids: pids.and_then(|group| group.tightest_bound("pids.max", "pids.current")),
            cpus: cpu.and_then(|group| {
                group.minimum(|dir| {
                    let quota = read_trimmed(&dir.join("cpu.cfs_quota_us"))?;
                    cpu_share(&quota, &read_trimmed(&dir.join("cpu.cfs_period_us"))?)
                })
            }),
            cpuset: cpuset.and_then(|group| group.first_text("cpuset.cpus")),
        }
    }
}

/// A cgroup and its ancestors, innermost first.
#[derive(Debug)]
struct CgroupPath(Vec<PathBuf>);

impl CgroupPath {
    /// Resolves a cgroup path below its mount. In a container the path may be
    /// the host's; then the mount itself is the container's cgroup.
    fn locate(mounted: &Path, path: &str) -> Self {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let inner: PathBuf = parts.iter().collect();
        let is_foreign = parts.contains(&"..") || !mounted.join(&inner).is_dir();
        let depth = if is_foreign { 0 } else { parts.len().min(MAX_CGROUP_DEPTH) };
        let dirs = (0..=depth)
            .rev()
            .map(|depth| mounted.join(parts.iter().take(depth).collect::<PathBuf>()));
        Self(dirs.collect())
    }

    fn tightest_bound(&self, limit: &str, used: &str) -> Option<LimitUsage> {
        let bounds = self.0.iter().filter_map(|dir| {
            let limit: u64 = read_trimmed(&dir.join(limit))?.parse().ok()?;
            let used = read_trimmed(&dir.join(used))?.parse().unwrap_or_default();
            (limit < UNLIMITED_THRESHOLD).then_some(LimitUsage { limit, used })
        });
        bounds.min_by_key(|bound| bound.limit)
    }

    fn minimum(&self, read: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
        self.0.iter().filter_map(|dir| read(dir)).min_by(f64::total_cmp)
    }

    fn first_text(&self, name: &str) -> Option<String> {
        self.0.iter().find_map(|dir| read_trimmed(&dir.join(name))).filter(|text| !text.is_empty())
    }
}

fn read_trimmed(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Returns the quota in processors; none if it is `max` or negative.
fn cpu_share(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    let has_limit = quota > 0.0 && period > 0.0;
    has_limit.then(|| (quota / period * 100.0).round() / 100.0)
}

#[cfg(test)]
#[path = "limits_tests.rs"]
pub(super) mod tests;
