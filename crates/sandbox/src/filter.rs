//! The seccomp filter of a confinement: everything is allowed but what reaches
//! out of the sandbox, around Landlock, or into the kernel's rarely used parts.

use std::collections::BTreeMap;

use libc::{c_long, sock_filter};

use crate::bpf::{self, Check, Rule};

/// Refused whatever the arguments are.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The view of the file system.
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
    // Ways to have the kernel act without a system call that a filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Keys of the user's session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine.
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

/// The flags by which `clone` and `unshare` make namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
/// `unshare` only: in `clone` the bit belongs to the signal.
const TIME_NAMESPACE: u32 = 0x80;

/// Asks for the current value.
const PERSONALITY_QUERY: u32 = 0xffff_ffff;
const PER_LINUX32: u32 = 8;

/// What the filter depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Whether internet sockets are allowed.
    pub(crate) network: bool,
    /// Whether Landlock does not know truncation, so that the filter must.
    pub(crate) guard_truncate: bool,
}

/// The program to load in each child.
pub(crate) fn build(shape: Shape) -> Vec<sock_filter> {
    bpf::assemble(&rules(shape))
}

// The types of these numbers depend on the C library.
#[allow(clippy::unnecessary_cast)]
fn rules(shape: Shape) -> BTreeMap<u32, Rule> {
    use Check::{AnyBit, Equal};
    let mut rules: BTreeMap<u32, Rule> =
        REFUSED.iter().map(|call| (*call as u32, Rule::Refuse(libc::EPERM))).collect();
    let mut when = |call: c_long, alternatives: Vec<Vec<Check>>| {
        rules.insert(call as u32, Rule::RefuseWhen(alternatives));
    };
    let personalities = [0, PER_LINUX32, libc::ADDR_NO_RANDOMIZE as u32, PERSONALITY_QUERY];
    when(libc::SYS_clone, vec![vec![AnyBit(0, NAMESPACES)]]);
    when(libc::SYS_unshare, vec![vec![AnyBit(0, NAMESPACES | TIME_NAMESPACE)]]);
    when(libc::SYS_personality, vec![none_of(0, &personalities)]);
    // Both put text into the terminal as if it had been typed.
    let typing = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
    when(libc::SYS_ioctl, typing.map(|request| vec![Equal(1, request)]).to_vec());
    when(libc::SYS_socket, sockets(shape.network));
    if shape.guard_truncate {
        // Truncates, and Landlock sees no more than a file opened for reading.
        let mask = (libc::O_TRUNC | libc::O_ACCMODE) as u32;
        let bad = (libc::O_TRUNC | libc::O_RDONLY) as u32;
        when(libc::SYS_openat, vec![vec![Check::Masked(2, mask, bad)]]);
        #[cfg(target_arch = "x86_64")]
        when(libc::SYS_open, vec![vec![Check::Masked(1, mask, bad)]]);
        rules.insert(libc::SYS_truncate as u32, Rule::Refuse(libc::EPERM));
        rules.insert(libc::SYS_openat2 as u32, Rule::Refuse(libc::ENOSYS));
    }
    // Its flags are in memory, where no filter sees them; without it, the C
    // library takes the older call.
    rules.insert(libc::SYS_clone3 as u32, Rule::Refuse(libc::ENOSYS));
    rules
}

/// Local sockets always; the internet with `network`; of netlink only the list
/// of interfaces, which `getifaddrs` reads; nothing else, and nothing raw.
fn sockets(network: bool) -> Vec<Vec<Check>> {
    use Check::{Differs, Equal, Masked};
    let (netlink, route) = (libc::AF_NETLINK as u32, libc::NETLINK_ROUTE as u32);
    let internet = [libc::AF_INET as u32, libc::AF_INET6 as u32];
    let mut families = vec![libc::AF_UNIX as u32, netlink];
    if network {
        families.extend(internet);
    }
    let mut alternatives = vec![none_of(0, &families), vec![Equal(0, netlink), Differs(2, route)]];
    for family in internet {
        // The upper bits of the type are flags.
        alternatives.push(vec![Equal(0, family), Masked(1, 0xf, libc::SOCK_RAW as u32)]);
    }
    alternatives
}

fn none_of(argument: u32, values: &[u32]) -> Vec<Check> {
    values.iter().map(|value| Check::Differs(argument, *value)).collect()
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
