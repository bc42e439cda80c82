//! Code that a child runs between fork and exec: only system calls on what the
//! parent has prepared, no allocation, no lock.

use std::ffi::{c_int, c_long, c_void};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::raw::namespace::ChildNamespaces;

/// Defines the steps and their error messages. The step number travels to the
/// parent in the upper half of the error code.
macro_rules! steps {
    ($( $name:ident = $number:literal, $text:literal; )+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Step { $( $name = $number, )+ }
        impl Step {
            pub(crate) fn name(number: i32) -> Option<&'static str> {
                match number { $( $number => Some($text), )+ _ => None }
            }
        }
    };
}

steps! {
    Twice = 1, "the command already has a sandbox; make a new command for each spawn";
    Refresh = 2, "the paths changed and the sandbox could not be prepared again";
    Directory = 3, "cannot keep the working directory";
    Files = 4, "cannot close inherited file descriptors";
    Limits = 5, "cannot set the resource limits";
    UserNamespace = 6, "cannot join the user namespace";
    MountNamespace = 7, "cannot join the mount namespace";
    Capabilities = 8, "cannot drop capabilities";
    Privileges = 9, "cannot forbid new privileges";
    Landlock = 10, "cannot enforce the Landlock rules";
    Seccomp = 11, "cannot load the seccomp filter";
    Bubblewrap = 12, "cannot run bubblewrap";
    Streams = 13, "cannot set up the standard streams";
    Group = 14, "cannot create a process group or session";
    MemoryNamespace = 15, "cannot join the IPC namespace";
    NetworkNamespace = 16, "cannot join the network namespace";
}

/// Shift that exceeds every Linux errno.
const STEP_SHIFT: u32 = 16;

impl Step {
    /// Returns an error that carries this step, without allocating.
    pub(crate) fn error(self, errno: i32) -> io::Error {
        io::Error::from_raw_os_error(((self as i32) << STEP_SHIFT) | errno)
    }

    /// Returns an error that carries this step and the errno of this thread.
    pub(super) fn last_os_error(self) -> io::Error {
        self.error(errno())
    }
}

/// Returns the step and the errno of an error made by [`Step::error`].
pub(crate) fn decode_step(error: &io::Error) -> Option<(&'static str, i32)> {
    let code = error.raw_os_error()?;
    let step = Step::name(code >> STEP_SHIFT)?;
    Some((step, code & ((1 << STEP_SHIFT) - 1)))
}

/// A resource and its limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildRlimit {
    pub(crate) resource: u32,
    pub(crate) max: u64,
}

/// Everything that a child needs to enter the sandbox.
#[derive(Debug)]
pub(crate) struct SandboxEntry {
    pub(crate) limits: Vec<ChildRlimit>,
    pub(crate) namespaces: Option<ChildNamespaces>,
    /// Capabilities to keep, if the child has them.
    pub(crate) capabilities: u64,
    pub(crate) ruleset: OwnedFd,
    pub(crate) filter: Vec<libc::sock_filter>,
}

/// Makes the child of `command` enter the sandbox.
pub(crate) fn install(command: &mut Command, entry: Arc<SandboxEntry>) {
    // SAFETY: `enter` makes only system calls, on data built before the fork.
    unsafe {
        command.pre_exec(move || {
            enter_once()?;
            enter(&entry)
        })
    };
}

/// Makes the child of `command` run `hook` after previously installed hooks.
/// The hook must make only system calls.
pub(crate) fn install_hook(
    command: &mut Command,
    hook: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the only callers are the probes, whose hooks make system calls on
    // memory built before the fork, and the refusal of a command.
    unsafe { command.pre_exec(hook) };
}

/// Process that entered last. A child has its own copy.
static ENTERED_PID: AtomicI32 = AtomicI32::new(0);

/// Fails if a command was prepared twice, which would nest sandboxes.
pub(super) fn enter_once() -> io::Result<()> {
    // SAFETY: takes no argument and cannot fail.
    let own = unsafe { libc::getpid() };
    if ENTERED_PID.swap(own, Ordering::Relaxed) == own {
        return Err(Step::Twice.error(libc::EBUSY));
    }
    Ok(())
}

/// Enters the sandbox. This cannot be undone.
pub(super) fn enter(entry: &SandboxEntry) -> io::Result<()> {
    close_inherited()?;
    set_limits(&entry.limits)?;
    if let Some(namespaces) = &entry.namespaces {
        join_namespaces(namespaces)?;
    }
    drop_capabilities(entry.capabilities)?;
    forbid_new_privileges()?;
    // SAFETY: both arguments are plain numbers; the descriptor is open.
    let restricted = unsafe {
        libc::syscall(libc::SYS_landlock_restrict_self, entry.ruleset.as_raw_fd(), 0 as c_long)
    };
    if restricted != 0 {
        return Err(Step::Landlock.last_os_error());
    }
    load_filter(&entry.filter)
}

/// Marks inherited descriptors close-on-exec: an open directory of the parent
/// would bypass the mount namespace. They cannot be closed now, as one of them
/// reports errors.
pub(super) fn close_inherited() -> io::Result<()> {
    let first = libc::STDERR_FILENO + 1;
    // SAFETY: the arguments are plain numbers.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first as c_long,
            u32::MAX as c_long,
            libc::CLOSE_RANGE_CLOEXEC as c_long,
        )
    };
    if done == 0 { Ok(()) } else { Err(Step::Files.last_os_error()) }
}

pub(super) fn set_limits(limits: &[ChildRlimit]) -> io::Result<()> {
    for limit in limits {
        let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both pointers refer to live structures of the right type.
        let done = unsafe {
            if libc::prlimit(0, limit.resource as _, std::ptr::null(), &mut now) != 0 {
                return Err(Step::Limits.last_os_error());
            }
            // Never above the limit of the parent.
            let most = limit.max.min(now.rlim_max);
            let wanted = libc::rlimit { rlim_cur: most.min(now.rlim_cur), rlim_max: most };
            libc::prlimit(0, limit.resource as _, &wanted, std::ptr::null_mut())
        };
        if done != 0 {
            return Err(Step::Limits.last_os_error());
        }
    }
    Ok(())
}

/// Joins the namespaces. Joining a mount namespace moves the working directory
/// to its root, so the directory is resolved again by name, this time through
/// the masks.
fn join_namespaces(namespaces: &ChildNamespaces) -> io::Result<()> {
    let mut directory = [0_u8; libc::PATH_MAX as usize];
    // SAFETY: the kernel writes at most the given number of bytes, including a
    // terminating null.
    let length =
        unsafe { libc::syscall(libc::SYS_getcwd, directory.as_mut_ptr(), directory.len()) };
    if length < 0 {
        return Err(Step::Directory.last_os_error());
    }
    // An unreachable directory has a path that is not absolute.
    if directory[0] != b'/' {
        return Err(Step::Directory.error(libc::ENOENT));
    }
    // SAFETY: the descriptors are open; the path is null-terminated.
    unsafe {
        if libc::setns(namespaces.user.as_raw_fd(), libc::CLONE_NEWUSER) != 0 {
            return Err(Step::UserNamespace.last_os_error());
        }
        if libc::setns(namespaces.mount.as_raw_fd(), libc::CLONE_NEWNS) != 0 {
            return Err(Step::MountNamespace.last_os_error());
        }
        if let Ok(memory) = &namespaces.ipc
            && libc::setns(memory.as_raw_fd(), libc::CLONE_NEWIPC) != 0
        {
            return Err(Step::MemoryNamespace.last_os_error());
        }
        if let Some(network) = &namespaces.network
            && libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) != 0
        {
            return Err(Step::NetworkNamespace.last_os_error());
        }
        if let Some(inner) = &namespaces.inner_user
            && libc::setns(inner.as_raw_fd(), libc::CLONE_NEWUSER) != 0
        {
            return Err(Step::UserNamespace.last_os_error());
        }
        if libc::chdir(directory.as_ptr().cast()) != 0 {
            return Err(Step::Directory.last_os_error());
        }
    }
    Ok(())
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    process: c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const CAP_SETPCAP: u64 = 1 << 8;
/// `SECBIT_NOROOT` and its lock: being root gives no capabilities.
const SECUREBITS_NO_ROOT: c_long = 0b11;

fn drop_capabilities(keep: u64) -> io::Result<()> {
    let mut header = CapabilityHeader { version: CAPABILITY_VERSION_3, process: 0 };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: version 3 has two sets of three words; both pointers are live.
    if unsafe { libc::syscall(libc::SYS_capget, &mut header, sets.as_mut_ptr()) } != 0 {
        return Err(Step::Capabilities.last_os_error());
    }
    let have = u64::from(sets[0].permitted) | u64::from(sets[1].permitted) << 32;
    let effective = u64::from(sets[0].effective) | u64::from(sets[1].effective) << 32;
    if have == 0 {
        return Ok(());
    }
    // SAFETY: the arguments are plain numbers.
    unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        // From here on, user id 0 gains nothing at exec. Without `CAP_SETPCAP`,
        // `no_new_privs` still applies.
        if effective & CAP_SETPCAP != 0 {
            let bits = c_long::from(libc::prctl(libc::PR_GET_SECUREBITS)) | SECUREBITS_NO_ROOT;
            if libc::prctl(libc::PR_SET_SECUREBITS, bits) != 0 {
                return Err(Step::Capabilities.last_os_error());
            }
        }
    }
    let stays = have & keep;
    for (half, set) in sets.iter_mut().enumerate() {
        let stays = (stays >> (32 * half)) as u32;
        *set = CapabilitySets { effective: stays, permitted: stays, inheritable: stays };
    }
    // SAFETY: as above.
    if unsafe { libc::syscall(libc::SYS_capset, &mut header, sets.as_ptr()) } != 0 {
        return Err(Step::Capabilities.last_os_error());
    }
    for capability in (0..64).filter(|capability| stays & (1_u64 << capability) != 0) {
        // SAFETY: the arguments are plain numbers. Capabilities must be ambient
        // to survive exec.
        let raised = unsafe {
            libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_RAISE, capability, 0, 0)
        };
        if raised != 0 {
            return Err(Step::Capabilities.last_os_error());
        }
    }
    Ok(())
}

fn forbid_new_privileges() -> io::Result<()> {
    // SAFETY: the arguments are plain numbers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(Step::Privileges.last_os_error());
    }
    Ok(())
}

fn load_filter(filter: &[libc::sock_filter]) -> io::Result<()> {
    // The kernel only reads the program, despite the mutable pointer.
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program and its instructions outlive the call.
    let loaded = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER as c_long,
            0 as c_long,
            &program,
        )
    };
    if loaded == 0 { Ok(()) } else { Err(Step::Seccomp.last_os_error()) }
}

/// Returns the Landlock ABI version.
pub(crate) fn landlock_version() -> io::Result<u32> {
    const CREATE_RULESET_VERSION: c_long = 1;
    // SAFETY: with this flag the kernel reads no structure.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<c_void>(),
            0 as c_long,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(version).map_err(|_| io::Error::last_os_error())
}

/// Whether the kernel supports seccomp filters.
pub(crate) fn has_seccomp() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one word.
    let known = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL as c_long,
            0 as c_long,
            &action,
        )
    };
    known == 0
}

/// Returns the errno of this thread.
pub(crate) fn errno() -> i32 {
    // SAFETY: the location belongs to this thread and is always valid.
    unsafe { *libc::__errno_location() }
}
