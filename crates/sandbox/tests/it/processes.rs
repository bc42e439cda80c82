//! Other processes, privileges, limits and the kernel's side doors.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{World, has_namespaces, is_root, run};

const CALL: &str = "import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    result = libc.syscall(*args)
    print(name, 'done' if result >= 0 else os.strerror(ctypes.get_errno()))
";

/// Numbers that both architectures share, and those that they do not.
fn number(x86: i64, arm: i64) -> i64 {
    if cfg!(target_arch = "x86_64") { x86 } else { arm }
}

#[test]
fn side_doors_of_the_kernel_are_shut() {
    let mut world = World::new();
    let program = format!(
        "{CALL}
path = b'.'
call('ptrace', {ptrace}, 16, os.getppid(), 0, 0)
call('vm_readv', {readv}, os.getppid(), 0, 0, 0, 0, 0)
call('mount', {mount}, b'none', path, b'tmpfs', 0, 0)
call('unshare user', {unshare}, 0x10000000)
call('unshare mount', {unshare}, 0x20000)
call('unshare time', {unshare}, 0x80)
call('clone', {clone}, 0x10000000 | 17, 0, 0, 0, 0)
call('clone3', 435, 0, 0)
call('setns', {setns}, 0, 0)
call('io_uring', 425, 1, ctypes.create_string_buffer(256))
call('bpf', {bpf}, 0, 0, 0)
call('keyctl', {keyctl}, 0, -3, 0)
call('userfaultfd', {userfaultfd}, 0)
call('perf', {perf}, 0, 0, 0, 0, 0)
call('sti', {ioctl}, 0, 0x5412, b'x')
call('sti with noise', {ioctl}, 0, ctypes.c_long(0x100005412), b'x')
call('open_tree', 428, -100, path, 1)
call('handle', {handle}, -100, 0, 0)
call('personality', {personality}, 0x0400000)
call('chroot', {chroot}, path)
",
        ptrace = number(101, 117),
        readv = number(310, 270),
        mount = number(165, 40),
        unshare = number(272, 97),
        clone = number(56, 220),
        setns = number(308, 268),
        bpf = number(321, 280),
        keyctl = number(250, 219),
        userfaultfd = number(323, 282),
        perf = number(298, 241),
        ioctl = number(16, 29),
        handle = number(304, 265),
        personality = number(135, 92),
        chroot = number(161, 51),
    );
    for namespaced in [false, true] {
        if namespaced {
            if !has_namespaces() {
                return;
            }
            fs::create_dir(world.inside.join("kept")).unwrap();
            world.confinement.read_only = vec![world.inside.join("kept")];
        }
        let Some(ran) = world.python(&program) else { return };
        assert!(ran.ok, "{ran:?}");
        assert_eq!(ran.out.lines().count(), 20);
        for line in ran.out.lines() {
            let wanted = if line.starts_with("clone3") {
                "Function not implemented"
            } else {
                "Operation not permitted"
            };
            assert!(line.ends_with(wanted), "{line}");
        }
    }
}

/// The 32-bit-pointer numbers and the 32-bit instruction set would pass by the
/// rules for the 64-bit ones.
#[cfg(target_arch = "x86_64")]
#[test]
fn other_numberings_of_system_calls_are_refused() {
    let world = World::new();
    let program =
        format!("{CALL}\ncall('getpid', 0x40000000 + 39)\ncall('ptrace', 0x40000000 + 521)");
    let Some(ran) = world.python(&program) else { return };
    assert_eq!(ran.out, "getpid Function not implemented\nptrace Function not implemented");
}

#[test]
fn the_parent_is_out_of_reach() {
    let world = World::new();
    let parent = std::process::id();
    assert!(!world.sh(&format!("cat /proc/{parent}/environ")).ok);
    assert!(!world.sh(&format!("readlink /proc/{parent}/fd/0")).ok);
    assert!(!world.sh(&format!("ls /proc/{parent}/root/")).ok);
    if world.sandbox().enforcement().landlock < Some(6) {
        eprintln!("skipped: Landlock ABI 6 is needed for signals");
        return;
    }
    assert!(!world.sh(&format!("kill -0 {parent}")).ok);
    assert!(world.sh("sleep 60 & kill -9 $!; wait; true").ok);
}

#[test]
fn children_of_children_are_held_as_well() {
    let world = World::new();
    let secret = world.outside.join("secret");
    let ran = world.sh(&format!(
        "sh -c 'sh -c \"setsid sh -c \\\"cat {0}; echo x > {0}.new; echo ran\\\"\"'",
        secret.display()
    ));
    assert_eq!(ran.out, "ran", "{ran:?}");
    assert!(!world.outside.join("secret.new").exists());
}

#[test]
fn no_privileges_are_left_or_gained() {
    let mut world = World::new();
    for namespaced in [false, true] {
        if namespaced {
            if !has_namespaces() {
                return;
            }
            fs::create_dir(world.inside.join("kept")).unwrap();
            world.confinement.read_only = vec![world.inside.join("kept")];
        }
        let ran = world.sh("grep -E '^(Cap(Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/self/status");
        let value = |name: &str| {
            let line = ran.out.lines().find(|line| line.starts_with(name)).unwrap();
            u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap()
        };
        // Root keeps what concerns files: the bits 0, 1, 3 and 4.
        let most = if is_root() { 0b11011 } else { 0 };
        assert_eq!(value("CapPrm") & !most, 0, "{ran:?}");
        assert_eq!(value("CapEff") & !most, 0, "{ran:?}");
        assert_eq!(value("CapAmb") & !most, 0, "{ran:?}");
        assert_eq!((value("NoNewPrivs"), value("Seccomp")), (1, 2));
    }
    // A set-user-id program runs as whoever calls it.
    let own = world.inside.join("own-id");
    fs::copy("/usr/bin/id", &own).unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o4755)).unwrap();
    let ran = world.sh("./own-id -u");
    assert!(ran.ok, "{ran:?}");
    let su = world.sh("echo | su -c id nobody; test $? -ne 0");
    assert!(su.ok && !su.out.contains("uid="), "{su:?}");
}

#[test]
fn limits_hold() {
    let mut world = World::new();
    world.confinement.limits.file_size = Some(4096);
    world.confinement.limits.open_files = Some(32);
    world.confinement.limits.memory = Some(512 << 20);
    let ran = world.sh("ulimit -n; ulimit -v; ulimit -c; ulimit -n 64 || echo stays");
    assert_eq!(ran.out, "32\n524288\n0\nstays", "{ran:?}");
    world.sh("head -c 100000 /dev/zero > large");
    assert!(fs::metadata(world.inside.join("large")).unwrap().len() <= 4096);
    let Some(ran) = world.python("x = bytearray(1 << 30)") else { return };
    assert!(ran.err.contains("MemoryError"), "{ran:?}");
}

#[test]
fn a_fork_bomb_ends() {
    let mut world = World::new();
    world.confinement.limits.processes = Some(40);
    if is_root() {
        let held = world.sandbox().enforcement().to_string();
        assert!(held.contains("not held: at most 40 processes"), "{held}");
        eprintln!("skipped: the kernel does not count the processes of root");
        return;
    }
    let program = "import os, time
made = 0
try:
    for _ in range(400):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except OSError as e:
    print('refused', made < 41)
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
";
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;
    let sandbox = world.sandbox();
    let Some(mut command) = crate::support::python(program) else { return };
    command.process_group(0).stdout(Stdio::piped());
    let output = sandbox.spawn(&mut command).unwrap().wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "refused True");
    // The dead may take a moment to be counted out.
    world.confinement.limits.processes = None;
    assert!(run(&world.sandbox(), &world.inside, "echo well | cat").ok);
}

#[test]
fn other_processes_of_the_user_are_not_slowed_down_or_limited() {
    let world = World::new();
    let program = format!(
        "{CALL}
import resource
parent = os.getppid()
now = resource.getrlimit(resource.RLIMIT_CORE)
def attempt(name, action):
    try:
        action()
        print(name, 'done')
    except OSError as error:
        print(name, error.strerror)
attempt('limit', lambda: resource.prlimit(parent, resource.RLIMIT_CORE, now))
attempt('nice', lambda: os.setpriority(os.PRIO_PROCESS, parent, 10))
attempt('nice to all', lambda: os.setpriority(os.PRIO_USER, 0, 10))
attempt('idle', lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0)))
call('input and output', {ioprio}, 1, parent, 3 << 13)
call('pages', {pages}, parent, ctypes.c_ulong(0), None, None, None, 0)
attempt('own limit', lambda: resource.prlimit(0, resource.RLIMIT_CORE, (0, 0)))
attempt('own limit is read', lambda: resource.prlimit(os.getpid(), resource.RLIMIT_CORE))
attempt('own nice', lambda: os.nice(1))
",
        ioprio = number(251, 30),
        pages = number(279, 239),
    );
    let Some(ran) = world.python(&program) else { return };
    for line in ran.out.lines() {
        let is_own = line.starts_with("own");
        assert_eq!(line.ends_with("done"), is_own, "{ran:?}");
    }
    assert_eq!(ran.out.lines().count(), 9, "{ran:?}");
}
