//! Adds mounts to namespaces in which children already run. The process that
//! does so shares this memory, like a launched child, so its cost does not
//! depend on the size of this program.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::AsRawFd;

use super::child::errno;
use super::namespace::{ChildNamespaces, MountAction, perform_mount};

/// Stack size of the process that makes the calls.
const STACK_BYTES: usize = 64 << 10;

struct RemountRequest<'a> {
    namespaces: &'a ChildNamespaces,
    mounts: &'a [MountAction],
}

/// Performs the mounts in order, skipping paths that no longer exist.
pub(crate) fn remount(namespaces: &ChildNamespaces, mounts: &[MountAction]) -> io::Result<()> {
    let mut stack: Vec<u128> = Vec::with_capacity(STACK_BYTES / size_of::<u128>());
    let order = RemountRequest { namespaces, mounts };
    // SAFETY: the stack and `order` outlive the call, as it returns only after
    // the process has left this memory. With all signals blocked, no handler of
    // ours runs in it.
    let status = unsafe {
        let (mut all, mut mask): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut mask);
        let top = stack.as_mut_ptr().add(stack.capacity());
        // No exit signal, so no other code reaps the process.
        let flags = libc::CLONE_VM | libc::CLONE_VFORK;
        let process =
            libc::clone(run_child, top.cast(), flags, (&raw const order).cast_mut().cast());
        let cause = errno();
        libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
        if process < 0 {
            return Err(io::Error::from_raw_os_error(cause));
        }
        let mut status = 0;
        while libc::waitpid(process, &mut status, libc::__WALL) < 0 && errno() == libc::EINTR {}
        status
    };
    match libc::WEXITSTATUS(status) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

extern "C" fn run_child(argument: *mut c_void) -> c_int {
    // SAFETY: the parent passed this structure and waits; descriptors are open.
    unsafe {
        let order = &*argument.cast::<RemountRequest<'_>>();
        let ChildNamespaces { user, mount, .. } = order.namespaces;
        if libc::setns(user.as_raw_fd(), libc::CLONE_NEWUSER) != 0
            || libc::setns(mount.as_raw_fd(), libc::CLONE_NEWNS) != 0
        {
            libc::_exit(errno());
        }
        let mut failed = 0;
        for mount in order.mounts {
            let error = perform_mount(mount);
            if error != 0 && error != libc::ENOENT {
                failed = error;
            }
        }
        libc::_exit(failed)
    }
}
