//! A user and mount namespace made once, by a short-lived process, and kept by
//! its descriptors for any number of children to join.

use std::ffi::{CString, c_long};
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::raw::child::errno;

/// The descriptors that children join.
#[derive(Debug)]
pub(crate) struct Namespaces {
    pub(crate) user: OwnedFd,
    pub(crate) mount: OwnedFd,
}

/// One thing to mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mount {
    /// The path on itself, so that it cannot be renamed.
    Pin(CString),
    /// The path on itself, without writing.
    ReadOnly(CString),
    /// An empty folder on the folder.
    HideFolder(CString),
    /// A file that cannot be opened on the file.
    HideFile(CString),
}

impl Mount {
    fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let (Self::Pin(path)
        | Self::ReadOnly(path)
        | Self::HideFolder(path)
        | Self::HideFile(path)) = self;
        PathBuf::from(std::ffi::OsStr::from_bytes(path.as_bytes()))
    }
}

/// Where the making failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The system does not let this user make namespaces.
    Refused(io::Error),
    /// This path could not be covered.
    Path(PathBuf, io::Error),
    /// Something else.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reports of the making process: a stage or the number of a mount, and an
/// error number.
const MADE: i32 = -1;
const MOUNTED: i32 = -2;
const PRIVATE: i32 = -3;

/// Two at a time would hold the ends of each other's pipes.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Makes the namespaces and mounts in the order given.
pub(crate) fn build(mounts: &[Mount]) -> Result<Namespaces, Failure> {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (mut reports, report) = io::pipe()?;
    let (wait, mut go) = io::pipe()?;
    let ends = (report.as_raw_fd(), wait.as_raw_fd(), go.as_raw_fd());
    // SAFETY: the new process makes system calls only and never returns here.
    let process = match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error().into()),
        0 => make(ends.0, ends.1, ends.2, mounts),
        process => process,
    };
    drop((report, wait));
    let made = direct(process, &mut reports, &mut go, mounts);
    drop(go);
    // SAFETY: the process is a child of this one that nobody else waits for.
    unsafe {
        if made.is_err() {
            libc::kill(process, libc::SIGKILL);
        }
        while libc::waitpid(process, std::ptr::null_mut(), 0) < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
    made
}

fn direct(
    process: i32,
    reports: &mut PipeReader,
    go: &mut impl Write,
    mounts: &[Mount],
) -> Result<Namespaces, Failure> {
    match next_report(reports)? {
        (MADE, 0) => {}
        (_, error) => return Err(Failure::Refused(io::Error::from_raw_os_error(error))),
    }
    let own = PathBuf::from(format!("/proc/{process}"));
    map_ids(&own).map_err(Failure::Refused)?;
    go.write_all(b"m")?;
    match next_report(reports)? {
        (MOUNTED, 0) => {}
        (PRIVATE, error) => return Err(Failure::Refused(io::Error::from_raw_os_error(error))),
        (number, error) => {
            let path = usize::try_from(number).ok().and_then(|number| mounts.get(number));
            let path = path.map(Mount::path).unwrap_or_default();
            return Err(Failure::Path(path, io::Error::from_raw_os_error(error)));
        }
    }
    let user = File::open(own.join("ns/user"))?.into();
    let mount = File::open(own.join("ns/mnt"))?.into();
    go.write_all(b"x")?;
    Ok(Namespaces { user, mount })
}

fn next_report(reports: &mut PipeReader) -> io::Result<(i32, i32)> {
    let mut bytes = [0_u8; 8];
    reports.read_exact(&mut bytes)?;
    let [a, b, c, d, e, f, g, h] = bytes;
    Ok((i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h])))
}

/// Every id that this process knows stands for itself. Only an administrator
/// may say so; anybody else may map the own ids only.
fn map_ids(process: &Path) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    if user == 0 {
        let whole = |name: &str| -> io::Result<()> {
            let lines = fs::read_to_string(Path::new("/proc/self").join(name))?;
            let map: String = lines
                .lines()
                .filter_map(|line| {
                    let mut fields = line.split_whitespace();
                    let (first, _, count) = (fields.next()?, fields.next()?, fields.next()?);
                    Some(format!("{first} {first} {count}\n"))
                })
                .collect();
            fs::write(process.join(name), map)
        };
        if whole("uid_map").is_ok() && whole("gid_map").is_ok() {
            return Ok(());
        }
    }
    // The user's map may have been written above, and is written once only.
    if fs::read_to_string(process.join("uid_map"))?.is_empty() {
        fs::write(process.join("uid_map"), format!("{user} {user} 1\n"))?;
    }
    fs::write(process.join("setgroups"), "deny")?;
    fs::write(process.join("gid_map"), format!("{group} {group} 1\n"))
}

/// The making process. Only system calls from here on.
fn make(report: RawFd, wait: RawFd, go: RawFd, mounts: &[Mount]) -> ! {
    // SAFETY: descriptors are open, paths end with zeros, buffers are live.
    unsafe {
        // Else the end of the parent would go unnoticed.
        libc::close(go);
        if libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) != 0 {
            tell(report, MADE, errno());
            libc::_exit(1);
        }
        tell(report, MADE, 0);
        await_byte(wait);
        let root = c"/".as_ptr();
        let (none, flags) = (std::ptr::null(), libc::MS_REC | libc::MS_SLAVE);
        if libc::mount(none, root, none, flags, std::ptr::null()) != 0 {
            tell(report, PRIVATE, errno());
            libc::_exit(1);
        }
        for (number, mount) in mounts.iter().enumerate() {
            let error = perform(mount);
            if error != 0 {
                tell(report, number as i32, error);
                libc::_exit(1);
            }
        }
        tell(report, MOUNTED, 0);
        await_byte(wait);
        libc::_exit(0)
    }
}

fn perform(mount: &Mount) -> i32 {
    let none = std::ptr::null();
    // SAFETY: paths end with zeros.
    let done = unsafe {
        match mount {
            Mount::Pin(path) | Mount::ReadOnly(path) => libc::mount(
                path.as_ptr(),
                path.as_ptr(),
                none,
                libc::MS_BIND | libc::MS_REC,
                std::ptr::null(),
            ),
            Mount::HideFolder(path) => libc::mount(
                c"tmpfs".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                c"size=4096,mode=000".as_ptr().cast(),
            ),
            Mount::HideFile(path) => libc::mount(
                c"/dev/null".as_ptr(),
                path.as_ptr(),
                none,
                libc::MS_BIND,
                std::ptr::null(),
            ),
        }
    };
    if done != 0 {
        return errno();
    }
    match mount {
        Mount::Pin(_) | Mount::HideFolder(_) => 0,
        Mount::ReadOnly(path) => set_attributes(path, READ_ONLY, libc::AT_RECURSIVE),
        // A device on a mount without devices cannot be opened by anybody.
        Mount::HideFile(path) => {
            set_attributes(path, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC, 0)
        }
    }
}

const READ_ONLY: u64 = 1;
const NO_SUID: u64 = 2;
const NO_DEVICES: u64 = 4;
const NO_EXEC: u64 = 8;

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

fn set_attributes(path: &CString, set: u64, flags: i32) -> i32 {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path ends with a zero, the structure has the size told.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD as c_long,
            path.as_ptr(),
            flags as c_long,
            &attributes,
            size_of::<MountAttributes>(),
        )
    };
    if done == 0 { 0 } else { errno() }
}

fn tell(report: RawFd, stage: i32, error: i32) {
    let words = [stage, error];
    // SAFETY: two words are read from a live array; eight bytes go at once.
    unsafe { libc::write(report, words.as_ptr().cast(), size_of_val(&words)) };
}

/// Ends the process if the parent is gone.
fn await_byte(wait: RawFd) {
    let mut byte = 0_u8;
    // SAFETY: one byte is written to a live variable.
    unsafe {
        loop {
            match libc::read(wait, (&raw mut byte).cast(), 1) {
                1 => return,
                -1 if errno() == libc::EINTR => {}
                _ => libc::_exit(1),
            }
        }
    }
}
