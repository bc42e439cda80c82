//! The seccomp filter of a confinement. It allows everything except system
//! calls that reach out of the sandbox, bypass Landlock, or use rarely needed
//! parts of the kernel.

use std::collections::BTreeMap;

use libc::{c_long, sock_filter};

use crate::bpf::{self, ArgumentCheck, SyscallRule};

/// System calls refused regardless of their arguments.
const REFUSED_SYSCALLS: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and the root directory.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // Kernel work that bypasses the system call filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Keyrings.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The host.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Flags of `clone` and `unshare` that create namespaces.
const NAMESPACE_FLAGS: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
/// Only for `unshare`: in `clone` this bit is part of the exit signal.
const TIME_NAMESPACE_FLAG: u32 = 0x80;

/// System V IPC and POSIX message queues. Their ids and names are visible to
/// all programs of the user.
const IPC_SYSCALLS: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Flags of `open` that create a file.
const CREATE_FLAGS: u32 = libc::O_CREAT as u32 | (libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
/// The number is the same on all architectures.
const SYS_FCHMODAT2: c_long = 452;

/// Argument of `personality` that only reads the current value.
const PERSONALITY_QUERY: u32 = 0xffff_ffff;
const PER_LINUX32: u32 = 8;

/// Argument of `ioprio_set` that selects one process.
const IOPRIO_PROCESS: u32 = 1;

/// Options of the filter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilterOptions {
    /// Whether internet sockets are allowed.
    pub(crate) network: bool,
    /// Whether the filter must refuse truncation because Landlock does not.
    pub(crate) guard_truncate: bool,
    /// Whether System V IPC and message queues are shared with the host.
    pub(crate) shares_ipc: bool,
}

/// Returns the BPF program to load in each child.
pub(crate) fn build(shape: FilterOptions) -> Vec<sock_filter> {
    bpf::assemble(&rules(shape))
}

// The types of these constants depend on the C library.
#[allow(clippy::unnecessary_cast)]
fn rules(shape: FilterOptions) -> BTreeMap<u32, SyscallRule> {
    use ArgumentCheck::{AnyBit, Equal};
    let mut rules: BTreeMap<u32, SyscallRule> = REFUSED_SYSCALLS
        .iter()
        .map(|call| (*call as u32, SyscallRule::Refuse(libc::EPERM)))
        .collect();
    let mut when = |call: c_long, alternatives: Vec<Vec<ArgumentCheck>>| {
        rules.insert(call as u32, SyscallRule::RefuseWhen(alternatives));
    };
    let personalities = [0, PER_LINUX32, libc::ADDR_NO_RANDOMIZE as u32, PERSONALITY_QUERY];
    when(libc::SYS_clone, vec![vec![AnyBit(0, NAMESPACE_FLAGS)]]);
    when(libc::SYS_unshare, vec![vec![AnyBit(0, NAMESPACE_FLAGS | TIME_NAMESPACE_FLAG)]]);
    when(libc::SYS_personality, vec![none_of(0, &personalities)]);
    // Both inject input into the terminal.
    let typing = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
    when(libc::SYS_ioctl, typing.map(|request| vec![Equal(1, request)]).to_vec());
    when(libc::SYS_socket, socket_checks(shape.network));
    refuse_setuid(&mut when);
    refuse_process_control(&mut when);
    if shape.guard_truncate {
        // `O_RDONLY | O_TRUNC` truncates, but Landlock sees only a read.
        let mask = (libc::O_TRUNC | libc::O_ACCMODE) as u32;
        let bad = (libc::O_TRUNC | libc::O_RDONLY) as u32;
        when(
            libc::SYS_openat,
            vec![vec![ArgumentCheck::MaskedEqual(2, mask, bad)], creates_setuid(2)],
        );
        #[cfg(target_arch = "x86_64")]
        when(
            libc::SYS_open,
            vec![vec![ArgumentCheck::MaskedEqual(1, mask, bad)], creates_setuid(1)],
        );
        rules.insert(libc::SYS_truncate as u32, SyscallRule::Refuse(libc::EPERM));
    }
    if shape.shares_ipc {
        rules.extend(
            IPC_SYSCALLS.iter().map(|call| (*call as u32, SyscallRule::Refuse(libc::EPERM))),
        );
    }
    // Their arguments are in memory, which the filter cannot read. On ENOSYS,
    // the C library and programs fall back to the older calls.
    rules.insert(libc::SYS_clone3 as u32, SyscallRule::Refuse(libc::ENOSYS));
    rules.insert(libc::SYS_openat2 as u32, SyscallRule::Refuse(libc::ENOSYS));
    rules
}

/// Refuses to create setuid files, which a process outside of the sandbox could
/// run. The setgid bit is allowed: on directories it is common and harmless,
/// and the filter cannot see the file type.
#[allow(clippy::unnecessary_cast)]
fn refuse_setuid(when: &mut impl FnMut(c_long, Vec<Vec<ArgumentCheck>>)) {
    let marked = |argument| vec![vec![ArgumentCheck::AnyBit(argument, libc::S_ISUID as u32)]];
    when(libc::SYS_fchmod, marked(1));
    when(libc::SYS_fchmodat, marked(2));
    when(SYS_FCHMODAT2, marked(2));
    when(libc::SYS_mknodat, marked(2));
    when(libc::SYS_openat, vec![creates_setuid(2)]);
    #[cfg(target_arch = "x86_64")]
    {
        when(libc::SYS_chmod, marked(1));
        when(libc::SYS_mknod, marked(1));
        when(libc::SYS_creat, marked(1));
        when(libc::SYS_open, vec![creates_setuid(1)]);
    }
}

/// Matches creation of a setuid file by the flags and the mode argument after
/// them. Without a creating flag, the mode is ignored and may be anything.
#[allow(clippy::unnecessary_cast)]
fn creates_setuid(flags: u32) -> Vec<ArgumentCheck> {
    let makes = ArgumentCheck::AnyBit(flags, CREATE_FLAGS);
    vec![makes, ArgumentCheck::AnyBit(flags + 1, libc::S_ISUID as u32)]
}

/// Refuses control of other processes of the same user by process id. Zero is
/// the caller. An id may also be one of the caller's own threads, whose
/// affinity and priority the C library sets by id; so for scheduling only the
/// most harmful policies are refused.
#[allow(clippy::unnecessary_cast)]
fn refuse_process_control(when: &mut impl FnMut(c_long, Vec<Vec<ArgumentCheck>>)) {
    use ArgumentCheck::{Differs, Equal, HasUpperHalf};
    // Reading a limit is harmless: the new limit is null then.
    when(
        libc::SYS_prlimit64,
        vec![vec![Differs(0, 0), Differs(2, 0)], vec![Differs(0, 0), HasUpperHalf(2)]],
    );
    // Other values of the first argument select a group, or all of the user's
    // processes.
    when(
        libc::SYS_setpriority,
        vec![vec![Differs(0, libc::PRIO_PROCESS as u32)], vec![Differs(1, 0)]],
    );
    when(libc::SYS_ioprio_set, vec![vec![Differs(0, IOPRIO_PROCESS)], vec![Differs(1, 0)]]);
    when(libc::SYS_sched_setattr, vec![vec![Differs(0, 0)]]);
    let slow = [libc::SCHED_IDLE as u32, libc::SCHED_BATCH as u32];
    let slow = slow.map(|policy| vec![Differs(0, 0), Equal(1, policy)]);
    when(libc::SYS_sched_setscheduler, slow.to_vec());
}

/// Allows local sockets; internet sockets with `network`; and of netlink only
/// the interface list, which `getifaddrs` reads. Refuses raw sockets and
/// everything else.
fn socket_checks(network: bool) -> Vec<Vec<ArgumentCheck>> {
    use ArgumentCheck::{Differs, Equal, MaskedEqual};
    let (netlink, route) = (libc::AF_NETLINK as u32, libc::NETLINK_ROUTE as u32);
    let internet = [libc::AF_INET as u32, libc::AF_INET6 as u32];
    let mut families = vec![libc::AF_UNIX as u32, netlink];
    if network {
        families.extend(internet);
    }
    let mut alternatives = vec![none_of(0, &families), vec![Equal(0, netlink), Differs(2, route)]];
    for family in internet {
        // The upper bits of the socket type are flags.
        alternatives.push(vec![Equal(0, family), MaskedEqual(1, 0xf, libc::SOCK_RAW as u32)]);
    }
    alternatives
}

fn none_of(argument: u32, values: &[u32]) -> Vec<ArgumentCheck> {
    values.iter().map(|value| ArgumentCheck::Differs(argument, *value)).collect()
}

#[cfg(test)]
#[path = "seccomp_filter_tests.rs"]
mod tests;
