//! Attempts of a probe, made with bare system calls in a child that is in the
//! sandbox and has not run a program yet.

use std::ffi::{CStr, CString, c_long};

use crate::raw::child::errno;

/// An attempt of a probe, made by a child in the sandbox.
#[derive(Debug)]
pub(crate) enum ProbeAttempt {
    /// Opens a file or directory and reads from it.
    Read(CString),
    /// Reads a file and checks that it has exactly this content.
    Compare(CString, Vec<u8>),
    /// Opens a file for writing, without changing it.
    Write(CString),
    /// Creates a new file.
    Create(CString),
    /// Changes the mode of a file.
    Chmod(CString),
    /// Connects to a TCP port of this machine.
    Connect(u16),
    /// Connects to a Unix socket.
    ConnectUnix(CString),
    /// Checks whether it may signal this process.
    Signal(i32),
    /// Attaches to this process with ptrace.
    Trace(i32),
    /// Sets the limits of this process to their current values.
    SetLimits(i32),
    /// Attaches the shared memory segment with this id.
    AttachSharedMemory(i32),
    /// Renames the first path to the second.
    Move(CString, CString),
    /// Creates a user namespace.
    Unshare,
    /// Mounts a file system over this directory.
    Mount(CString),
    /// Sets up an io_uring.
    SetUpIoUring,
}

impl ProbeAttempt {
    /// Makes the attempt and returns zero or the errno. Makes only system
    /// calls.
    pub(crate) fn run(&self) -> i32 {
        // SAFETY: paths are null-terminated; structures are live and of the
        // given size.
        let result = unsafe {
            match self {
                Self::Read(path) => return read_some(path),
                Self::Compare(path, wanted) => return compare(path, wanted),
                Self::Write(path) => {
                    libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_NONBLOCK | libc::O_CLOEXEC)
                        as c_long
                }
                Self::Create(path) => {
                    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
                    libc::open(path.as_ptr(), flags, 0o600) as c_long
                }
                Self::Chmod(path) => libc::chmod(path.as_ptr(), 0o640) as c_long,
                Self::Connect(port) => return connect_tcp(*port),
                Self::ConnectUnix(path) => return connect_unix(path),
                Self::Signal(process) => libc::kill(*process, 0) as c_long,
                Self::Trace(process) => {
                    libc::syscall(libc::SYS_ptrace, libc::PTRACE_SEIZE as c_long, *process, 0, 0)
                }
                Self::SetLimits(process) => return set_limits(*process),
                Self::AttachSharedMemory(memory) => {
                    libc::syscall(libc::SYS_shmat, *memory, 0 as c_long, libc::SHM_RDONLY)
                }
                Self::Move(from, to) => libc::rename(from.as_ptr(), to.as_ptr()) as c_long,
                Self::Unshare => libc::unshare(libc::CLONE_NEWUSER) as c_long,
                Self::Mount(path) => {
                    let none = c"none".as_ptr();
                    let kind = c"tmpfs".as_ptr();
                    libc::mount(none, path.as_ptr(), kind, 0, std::ptr::null()) as c_long
                }
                Self::SetUpIoUring => {
                    let mut parameters = [0_u8; 256];
                    libc::syscall(libc::SYS_io_uring_setup, 1 as c_long, parameters.as_mut_ptr())
                }
            }
        };
        if result < 0 { errno() } else { 0 }
    }
}

fn set_limits(process: i32) -> i32 {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is live and of the right type.
    unsafe {
        let none = std::ptr::null_mut();
        if libc::prlimit(process, libc::RLIMIT_CORE, std::ptr::null(), &mut now) != 0
            || libc::prlimit(process, libc::RLIMIT_CORE, &now, none) != 0
        {
            return errno();
        }
    }
    0
}

/// A System V shared memory segment, removed on drop.
#[derive(Debug)]
pub(crate) struct SharedMemory(pub(crate) i32);

impl SharedMemory {
    pub(crate) fn new() -> std::io::Result<Self> {
        const SEGMENT_BYTES: usize = 4096;
        // SAFETY: the arguments are plain numbers.
        let number = unsafe { libc::shmget(libc::IPC_PRIVATE, SEGMENT_BYTES, 0o600) };
        if number < 0 { Err(std::io::Error::last_os_error()) } else { Ok(Self(number)) }
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the kernel does not read the structure with this command.
        unsafe { libc::shmctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// Reads from a file or directory. Root may open a masked directory, but it is
/// empty.
fn read_some(path: &CStr) -> i32 {
    let mut bytes = [0_u8; 1024];
    // SAFETY: the path is null-terminated; the kernel writes within the buffer.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC);
        if file < 0 {
            return errno();
        }
        let read = libc::read(file, bytes.as_mut_ptr().cast(), bytes.len());
        if read >= 0 {
            return 0;
        }
        let failed = errno();
        if failed != libc::EISDIR {
            return failed;
        }
        // `.` and `..` take 24 bytes each.
        const EMPTY_DIR_BYTES: c_long = 48;
        match libc::syscall(libc::SYS_getdents64, file, bytes.as_mut_ptr(), bytes.len()) {
            size if size > EMPTY_DIR_BYTES => 0,
            size if size >= 0 => libc::ENOENT,
            _ => errno(),
        }
    }
}

/// Compares the content of a file. Returns `EILSEQ` if it differs.
fn compare(path: &CStr, wanted: &[u8]) -> i32 {
    let mut bytes = [0_u8; 1024];
    let mut rest = wanted;
    // SAFETY: the path is null-terminated; the kernel writes within the buffer.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC);
        if file < 0 {
            return errno();
        }
        loop {
            let read = libc::read(file, bytes.as_mut_ptr().cast(), bytes.len());
            let Ok(size) = usize::try_from(read) else { return errno() };
            if size == 0 {
                return if rest.is_empty() { 0 } else { libc::EILSEQ };
            }
            match bytes.get(..size).and_then(|part| rest.strip_prefix(part)) {
                Some(left) => rest = left,
                None => return libc::EILSEQ,
            }
        }
    }
}

fn connect_tcp(port: u16) -> i32 {
    // SAFETY: the address is a live structure of the given size.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return errno();
        }
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = libc::INADDR_LOOPBACK.to_be();
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        if libc::connect(socket, (&raw const address).cast(), size) < 0 { errno() } else { 0 }
    }
}

fn connect_unix(path: &CStr) -> i32 {
    // SAFETY: the address is a live structure of the given size.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return errno();
        }
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        // Keep the terminating null byte.
        let room = address.sun_path.len() - 1;
        if path.to_bytes().len() > room {
            return libc::ENAMETOOLONG;
        }
        for (place, byte) in address.sun_path.iter_mut().zip(path.to_bytes()) {
            *place = *byte as libc::c_char;
        }
        let size = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        if libc::connect(socket, (&raw const address).cast(), size) < 0 { errno() } else { 0 }
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
