//! Spawns a child without copying the parent (vfork). The child runs in the
//! parent's memory, on a separate stack, until exec; the spawning thread is
//! suspended meanwhile.

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use super::child::{Step, errno};
use super::image::{ExecImage, PreExec};
use crate::ProcessGroup;

/// Everything that the child needs.
#[derive(Debug)]
pub(crate) struct SpawnRequest<'a> {
    pub(crate) pre_exec: &'a PreExec,
    pub(crate) image: &'a ExecImage,
    pub(crate) directory: &'a CStr,
    pub(crate) streams: [RawFd; 3],
    pub(crate) group: ProcessGroup,
    /// Limits on file locks that tag the child.
    pub(crate) tag_limits: Option<(u64, u64)>,
}

/// Memory shared by parent and child.
struct VforkShared<'a> {
    start: &'a SpawnRequest<'a>,
    mask: libc::sigset_t,
    /// Error code of the step that failed in the child; zero if none did.
    error_code: i32,
}

/// Enough for a path and a few calls, with room to spare. More than twice as
/// much would make the allocator trim its memory on every spawn.
const STACK_BYTES: usize = 32 << 10;

/// Spawns the child and returns its process id and pidfd.
pub(crate) fn spawn(start: &SpawnRequest<'_>) -> io::Result<(i32, OwnedFd)> {
    // `u128` has the stack alignment of every supported architecture.
    let mut stack: Vec<u128> = Vec::with_capacity(STACK_BYTES / size_of::<u128>());
    let mut process_file: c_int = -1;
    // SAFETY: the stack, the shared structure and the descriptor outlive the
    // call, because it returns only after the child has left this memory. All
    // signals are blocked, so no handler of the parent runs in the child.
    let (process, failed) = unsafe {
        let mut shared = VforkShared { start, mask: std::mem::zeroed(), error_code: 0 };
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut shared.mask);
        let top = stack.as_mut_ptr().add(stack.capacity());
        let process = libc::clone(
            run_child,
            top.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD,
            (&raw mut shared).cast(),
            &raw mut process_file,
        );
        let cause = errno();
        libc::pthread_sigmask(libc::SIG_SETMASK, &shared.mask, std::ptr::null_mut());
        if process < 0 {
            return Err(io::Error::from_raw_os_error(cause));
        }
        (process, (&raw const shared.error_code).read_volatile())
    };
    // SAFETY: the kernel has just created the descriptor, and nothing else owns
    // it.
    let process_file = unsafe { OwnedFd::from_raw_fd(process_file) };
    if failed != 0 {
        // SAFETY: this is our own child, and it exits without being killed.
        unsafe {
            while libc::waitpid(process, std::ptr::null_mut(), 0) < 0 && errno() == libc::EINTR {}
        }
        return Err(io::Error::from_raw_os_error(failed));
    }
    Ok((process, process_file))
}

extern "C" fn run_child(argument: *mut c_void) -> c_int {
    // SAFETY: the parent passed a pointer to this structure and is suspended.
    unsafe {
        let shared = argument.cast::<VforkShared<'_>>();
        let error = match prepare_child((*shared).start) {
            Ok(()) => {
                libc::pthread_sigmask(libc::SIG_SETMASK, &(*shared).mask, std::ptr::null_mut());
                (*shared).start.image.exec()
            }
            Err(error) => error.raw_os_error().unwrap_or(libc::EINVAL),
        };
        (&raw mut (*shared).error_code).write_volatile(error);
        libc::_exit(127)
    }
}

fn prepare_child(start: &SpawnRequest<'_>) -> io::Result<()> {
    reset_signals();
    set_process_tag(start.tag_limits);
    set_streams(start.streams)?;
    // SAFETY: plain numbers, and a NUL-terminated path.
    unsafe {
        let grouped = match start.group {
            ProcessGroup::Inherit => 0,
            ProcessGroup::New => libc::setpgid(0, 0),
            ProcessGroup::NewSession | ProcessGroup::NewTerminalSession => libc::setsid(),
        };
        let terminal = start.group == ProcessGroup::NewTerminalSession;
        if grouped < 0 || (terminal && libc::ioctl(0, libc::TIOCSCTTY, 0) < 0) {
            return Err(Step::Group.last_os_error());
        }
        if libc::chdir(start.directory.as_ptr()) < 0 {
            return Err(io::Error::from_raw_os_error(errno()));
        }
    }
    start.pre_exec.apply()
}

/// Resets signal handlers, which would run in the parent's memory. SIGPIPE gets
/// the default action as well, which programs expect.
fn reset_signals() {
    const MAX_SIGNAL: c_int = 64;
    for signal in 1..=MAX_SIGNAL {
        // SAFETY: the structures are live; invalid signal numbers fail.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut action) != 0 {
                continue;
            }
            let ignored = action.sa_sigaction == libc::SIG_IGN;
            if action.sa_sigaction == libc::SIG_DFL || (ignored && signal != libc::SIGPIPE) {
                continue;
            }
            action = std::mem::zeroed();
            action.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Tags the child so it can be found later. Best effort: if the limit cannot be
/// set, the child runs untagged.
fn set_process_tag(stamp: Option<(u64, u64)>) {
    let Some((current, most)) = stamp else { return };
    let limit = libc::rlimit { rlim_cur: current, rlim_max: most };
    // SAFETY: the structure is live and has the right type.
    unsafe { libc::prlimit(0, libc::RLIMIT_LOCKS, &limit, std::ptr::null_mut()) };
}

fn set_streams(mut streams: [RawFd; 3]) -> io::Result<()> {
    // SAFETY: plain descriptor numbers.
    unsafe {
        // Move descriptors below 3 out of the way first, so none is
        // overwritten.
        for (number, stream) in (0..).zip(&mut streams) {
            if *stream < 3 && *stream != number {
                *stream = libc::fcntl(*stream, libc::F_DUPFD_CLOEXEC, 3);
            }
            if *stream < 0 {
                return Err(Step::Streams.last_os_error());
            }
        }
        for (number, stream) in (0..).zip(streams) {
            let done = if stream == number {
                libc::fcntl(stream, libc::F_SETFD, 0)
            } else {
                libc::dup2(stream, number)
            };
            if done < 0 {
                return Err(Step::Streams.last_os_error());
            }
        }
    }
    Ok(())
}
