//! A network namespace and the user namespace that owns it: created once per
//! session, kept open by descriptors, and joined by any number of children.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use super::child::errno;
use super::helper::{
    FORK_LOCK, HelperPipes, HelperProcess, next_report, send_report, wait_for_byte,
};
use super::namespace::{IdMapLines, enter_inner_user_namespace, map_ids};

/// Descriptors of a network namespace and its user namespaces.
#[derive(Debug)]
pub(crate) struct NetworkHandles {
    /// User namespace that owns the network namespace.
    pub(crate) user: OwnedFd,
    pub(crate) network: OwnedFd,
    /// Nested user namespace in which the user has the original id again.
    pub(crate) inner_user: Option<OwnedFd>,
}

/// Stages that the helper process reports.
const STAGE_USER: i32 = 1;
const STAGE_NETWORK: i32 = 2;
const STAGE_INNER_USER: i32 = 3;

impl NetworkHandles {
    /// Creates both namespaces.
    pub(crate) fn create() -> io::Result<Self> {
        let _turn = FORK_LOCK.lock();
        let names = IdMapLines::for_current_user();
        let attempt = |names: Option<&IdMapLines>| {
            let helper = HelperProcess::fork(|ends| run_helper(ends, names))?;
            helper.drive(|process, reports, go| {
                Self::from_helper(process, reports, go, names.is_some())
            })
        };
        match attempt(names.as_ref()) {
            // Where the user may not be mapped to root, keep the user's own id.
            Err(_) if names.is_some() => attempt(None),
            made => made,
        }
    }

    fn from_helper(
        process: i32,
        reports: &mut PipeReader,
        go: &mut PipeWriter,
        is_renamed: bool,
    ) -> io::Result<Self> {
        let own = PathBuf::from(format!("/proc/{process}"));
        expect_stage(reports, STAGE_USER)?;
        map_ids(&own, is_renamed)?;
        let user = open(&own.join("ns/user"))?;
        go.write_all(b"n")?;
        expect_stage(reports, STAGE_NETWORK)?;
        let network = open(&own.join("ns/net"))?;
        go.write_all(b"i")?;
        let inner = match is_renamed {
            true => {
                expect_stage(reports, STAGE_INNER_USER)?;
                let inner = open(&own.join("ns/user"))?;
                go.write_all(b"x")?;
                Some(inner)
            }
            false => None,
        };
        Ok(Self { user, network, inner_user: inner })
    }

    /// Opens the namespaces of a running process.
    pub(crate) fn for_process(process: u32) -> io::Result<Self> {
        let own = PathBuf::from(format!("/proc/{process}"));
        let network = open(&own.join("ns/net"))?;
        let user = owning_user_namespace(&network)?;
        let inner = open(&own.join("ns/user"))?;
        let is_inner = !rustix::process::geteuid().is_root();
        Ok(Self { user, network, inner_user: is_inner.then_some(inner) })
    }

    /// Opens a socket in the network namespace.
    pub(crate) fn open_socket(
        &self,
        domain: c_int,
        kind: c_int,
        protocol: c_int,
    ) -> io::Result<OwnedFd> {
        let request = SocketRequest {
            user: self.user.as_raw_fd(),
            network: self.network.as_raw_fd(),
            domain,
            kind: kind | libc::SOCK_CLOEXEC,
            protocol,
        };
        request.run()
    }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(File::open(path)?.into())
}

fn expect_stage(reports: &mut PipeReader, stage: i32) -> io::Result<()> {
    match next_report(reports)? {
        (reported, 0) if reported == stage => Ok(()),
        (_, error) => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Returns the user namespace that owns a namespace.
fn owning_user_namespace(namespace: &OwnedFd) -> io::Result<OwnedFd> {
    const NS_GET_USERNS: libc::c_ulong = 0xb701;
    // SAFETY: takes no argument and returns a new descriptor, owned by the
    // caller.
    unsafe {
        match libc::ioctl(namespace.as_raw_fd(), NS_GET_USERNS as _) {
            fd if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Runs in the helper process. Makes only system calls.
fn run_helper(ends: HelperPipes, names: Option<&IdMapLines>) {
    let HelperPipes { report, wait, go } = ends;
    // SAFETY: the arguments are plain numbers; descriptors are open.
    unsafe {
        // Otherwise the exit of the parent would go unnoticed.
        libc::close(go);
        report_stage(report, STAGE_USER, libc::unshare(libc::CLONE_NEWUSER));
        wait_for_byte(wait);
        report_stage(report, STAGE_NETWORK, libc::unshare(libc::CLONE_NEWNET));
        wait_for_byte(wait);
        if let Some(names) = names {
            send_report(report, STAGE_INNER_USER, enter_inner_user_namespace(names));
            wait_for_byte(wait);
        }
        libc::_exit(0)
    }
}

fn report_stage(report: RawFd, stage: i32, done: c_int) {
    send_report(report, stage, if done == 0 { 0 } else { errno() });
    if done != 0 {
        // SAFETY: exits the process immediately.
        unsafe { libc::_exit(1) }
    }
}

/// A socket to open in other namespaces, by a short-lived process that shares
/// memory and descriptors with this one.
struct SocketRequest {
    user: RawFd,
    network: RawFd,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
}

/// The request and its result: a descriptor, or a negative errno.
struct SocketCall<'a> {
    request: &'a SocketRequest,
    result: c_int,
}

/// Stack size of the process that makes the calls.
const STACK_BYTES: usize = 32 << 10;

impl SocketRequest {
    fn run(&self) -> io::Result<OwnedFd> {
        let mut stack: Vec<u128> = Vec::with_capacity(STACK_BYTES / size_of::<u128>());
        let mut errand = SocketCall { request: self, result: -libc::EINVAL };
        // SAFETY: the stack and `errand` outlive the call, as it returns only
        // after the process has left this memory. With all signals blocked, no
        // handler of ours runs in it.
        let result = unsafe {
            let (mut all, mut mask): (libc::sigset_t, libc::sigset_t) =
                (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut mask);
            let top = stack.as_mut_ptr().add(stack.capacity());
            // No exit signal, so no other code reaps the process.
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES;
            let process =
                libc::clone(run_socket_call, top.cast(), flags, (&raw mut errand).cast::<c_void>());
            let cause = errno();
            libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            if process < 0 {
                return Err(io::Error::from_raw_os_error(cause));
            }
            while libc::waitpid(process, std::ptr::null_mut(), libc::__WALL) < 0
                && errno() == libc::EINTR
            {}
            (&raw const errand.result).read_volatile()
        };
        if result < 0 {
            return Err(io::Error::from_raw_os_error(-result));
        }
        // SAFETY: the process opened the descriptor in our table, and only we
        // own it.
        Ok(unsafe { OwnedFd::from_raw_fd(result) })
    }
}

extern "C" fn run_socket_call(argument: *mut c_void) -> c_int {
    // SAFETY: the parent passed this structure and waits; descriptors are open.
    unsafe {
        let errand = argument.cast::<SocketCall<'_>>();
        let request = (*errand).request;
        let made = if libc::setns(request.user, libc::CLONE_NEWUSER) != 0
            || libc::setns(request.network, libc::CLONE_NEWNET) != 0
        {
            -1
        } else {
            libc::socket(request.domain, request.kind, request.protocol)
        };
        let result = if made < 0 { -errno() } else { made };
        (&raw mut (*errand).result).write_volatile(result);
        libc::_exit(0)
    }
}
