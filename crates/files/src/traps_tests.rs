use super::*;

#[test]
fn inner_files_of_processes_and_streams_are_traps() {
    for path in [
        "/proc/self/environ",
        "/proc/1/fd/0",
        "/proc/1/task/1/mem",
        "/proc/self/cmdline",
        "/proc/kmsg",
        "/proc/kcore",
        "/dev/stdin",
        "/dev/fd/2",
        "/sys/kernel/tracing/trace_pipe",
        "/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw",
    ] {
        assert!(is_trap(Path::new(path)), "{path}");
    }
    for path in [
        "/proc/cpuinfo",
        "/proc/self/status",
        "/dev/shm/stdin",
        "/home/a/environ",
        "/home/a/fd/0",
        "/sys/class/net/lo/mtu",
        "/device/stdin",
    ] {
        assert!(!is_trap(Path::new(path)), "{path}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn links_to_traps_are_followed_in_every_part() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().expect("folder");
    let link = |name: &str, target: &str| {
        let path = dir.path().join(name);
        symlink(target, &path).expect("link");
        path
    };
    let direct = link("direct", "/proc/self/environ");
    let chained = link("chained", "direct");
    let process = link("process", "/proc/self");
    let harmless = link("harmless", "/proc/cpuinfo");
    assert!(refuse_traps(&direct).is_err());
    assert!(refuse_traps(&chained).is_err());
    assert!(refuse_traps(&process.join("environ")).is_err());
    assert!(refuse_traps(&process.join("fd/0")).is_err());
    assert!(refuse_traps(&harmless).is_ok());
    let round = link("round", "round");
    assert!(refuse_traps(&round).is_ok(), "a loop ends, and opening it fails by itself");
}
