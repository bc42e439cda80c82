//! User and mount namespaces, created once by a short-lived process and kept
//! open by descriptors for any number of children to join.

use std::ffi::{CStr, CString, c_long};
use std::fs::{self, File};
use std::io::{self, PipeReader, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use crate::raw::child::errno;
use crate::raw::helper::{
    FORK_LOCK, HelperPipes, HelperProcess, next_report, send_report, wait_for_byte,
};
use crate::raw::network::NetworkHandles;

/// Descriptors of the namespaces that children join.
#[derive(Debug)]
pub(crate) struct ChildNamespaces {
    pub(crate) user: OwnedFd,
    pub(crate) mount: OwnedFd,
    /// Network namespace, unless children share that of this process.
    pub(crate) network: Option<OwnedFd>,
    /// IPC namespace, for System V shared memory and queues.
    pub(crate) ipc: Result<OwnedFd, i32>,
    /// Nested user namespace, used if the user is mapped to root in `user`:
    /// here the user has the original id again.
    pub(crate) inner_user: Option<OwnedFd>,
    /// The private `/dev/pts`.
    pub(crate) terminals: Result<OwnedFd, i32>,
    /// The root of the [`MountAction::FreshTmpfs`], if there is one.
    pub(crate) fresh_dir: Option<OwnedFd>,
    /// Roots of the overlays.
    pub(crate) overlays: Vec<OwnedFd>,
    /// Partial directories, with their paths.
    pub(crate) views: Vec<(PathBuf, OwnedFd)>,
}

/// A mount to perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MountAction {
    /// Makes everything but the trees at these paths read-only: Landlock does
    /// not restrict changes of modes, owners, times and attributes.
    Seal(Vec<CString>),
    /// Binds the path on itself, so it cannot be renamed.
    Pin(CString),
    /// Binds the path on itself, read-only.
    ReadOnly(CString),
    /// Mounts an empty directory over the directory.
    HideDirectory(CString),
    /// Mounts an empty, writable directory over the directory.
    FreshTmpfs(CString),
    /// Mounts a file that cannot be opened over the file.
    HideFile(CString),
    /// Does the same for a socket, if it still exists.
    HideSocket(CString),
    /// Mounts an empty directory over the directory and exposes these paths in
    /// it.
    PartialDirectory(CString, Vec<ExposedPath>),
    /// Mounts an overlay at its staging directory, from where it is bound to
    /// its target.
    Overlay(OverlayPlan),
    /// Binds the mounts at the first path to the second.
    Bind(CString, CString),
}

/// An overlay, ready to be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OverlayPlan {
    /// Where it is mounted first.
    pub(crate) staging: CString,
    /// Where children see it.
    pub(crate) target: CString,
    /// Mount options.
    pub(crate) options: CString,
}

/// A path that stays visible in a partial directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExposedPath {
    /// Its parent directories, which are created.
    pub(crate) parents: Vec<CString>,
    pub(crate) path: CString,
    /// Where it is bound from, if not from `path`.
    pub(crate) source: Option<CString>,
    /// Target of a symlink, which is created again.
    pub(crate) link: Option<CString>,
    pub(crate) is_directory: bool,
    /// Whether the mount must be writable.
    pub(crate) is_writable: bool,
}

/// Maximum number of paths exposed in a partial directory.
pub(crate) const MAX_EXPOSED_PATHS: usize = 1024;
/// Maximum number of trees that stay writable while everything else is
/// read-only.
pub(crate) const MAX_WRITABLE_TREES: usize = 64;

impl MountAction {
    fn path(&self) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let path = match self {
            Self::Seal(_) => ROOT_DIR,
            Self::Pin(path)
            | Self::ReadOnly(path)
            | Self::HideDirectory(path)
            | Self::FreshTmpfs(path)
            | Self::HideFile(path)
            | Self::HideSocket(path)
            | Self::PartialDirectory(path, _)
            | Self::Bind(_, path) => path,
            Self::Overlay(plan) => &plan.target,
        };
        PathBuf::from(std::ffi::OsStr::from_bytes(path.to_bytes()))
    }
}

const ROOT_DIR: &CStr = c"/";

/// Failure to create the namespaces.
#[derive(Debug)]
pub(crate) enum NamespaceError {
    /// The system does not let this user create namespaces.
    Refused(io::Error),
    /// This path could not be masked.
    Path(PathBuf, io::Error),
    /// Any other I/O error.
    Io(io::Error),
}

impl From<io::Error> for NamespaceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Stages that the helper reports, along with an errno. A mount is reported by
/// its index instead.
const STAGE_UNSHARED: i32 = -1;
const STAGE_PRIVATE_MOUNTS: i32 = -3;
const STAGE_TERMINALS: i32 = -4;
const STAGE_INNER_USER: i32 = -5;
const STAGE_IPC: i32 = -6;

/// Id map lines that restore the user's ids in the nested user namespace.
#[derive(Debug)]
pub(super) struct IdMapLines {
    user: CString,
    group: CString,
}

impl IdMapLines {
    /// Returns the lines for this user; `None` for root, who needs no nested
    /// namespace.
    pub(super) fn for_current_user() -> Option<Self> {
        let user = rustix::process::geteuid();
        let line = |id: u32| CString::new(format!("{id} 0 1\n")).ok();
        let group = rustix::process::getegid().as_raw();
        let (named, group) = (line(user.as_raw())?, line(group)?);
        (!user.is_root()).then_some(Self { user: named, group })
    }
}

/// Creates the namespaces and performs the mounts in order. Mounting terminals
/// requires a root user in the namespace, so other users are mapped to root
/// first if the system permits it.
///
/// With `space`, the mounts belong to the user namespace that owns its network
/// namespace, so children can join both.
pub(crate) fn build(
    mounts: &[MountAction],
    handles: Option<&NetworkHandles>,
) -> Result<ChildNamespaces, NamespaceError> {
    let _turn = FORK_LOCK.lock();
    if handles.is_none()
        && let Some(names) = IdMapLines::for_current_user()
    {
        match try_build(mounts, Some(&names), None) {
            Err(NamespaceError::Refused(_) | NamespaceError::Io(_)) => {}
            made => return made,
        }
    }
    try_build(mounts, None, handles)
}

fn try_build(
    mounts: &[MountAction],
    names: Option<&IdMapLines>,
    handles: Option<&NetworkHandles>,
) -> Result<ChildNamespaces, NamespaceError> {
    let user = handles.map(|handles| handles.user.as_raw_fd());
    let helper = HelperProcess::fork(|ends| run_helper(ends, mounts, names, user))?;
    helper.drive(|process, reports, go| drive_helper(process, reports, go, mounts, names, handles))
}

fn drive_helper(
    process: i32,
    reports: &mut PipeReader,
    go: &mut impl Write,
    mounts: &[MountAction],
    names: Option<&IdMapLines>,
    handles: Option<&NetworkHandles>,
) -> Result<ChildNamespaces, NamespaceError> {
    match next_report(reports)? {
        (STAGE_UNSHARED, 0) => {}
        (_, error) => return Err(NamespaceError::Refused(io::Error::from_raw_os_error(error))),
    }
    let own = PathBuf::from(format!("/proc/{process}"));
    if handles.is_none() {
        map_ids(&own, names.is_some()).map_err(NamespaceError::Refused)?;
    }
    go.write_all(b"m")?;
    let terminals = match next_report(reports)? {
        (STAGE_TERMINALS, error) => error,
        (STAGE_PRIVATE_MOUNTS, error) => {
            return Err(NamespaceError::Refused(io::Error::from_raw_os_error(error)));
        }
        (number, error) => {
            let path = usize::try_from(number).ok().and_then(|number| mounts.get(number));
            let path = path.map(MountAction::path).unwrap_or_default();
            return Err(NamespaceError::Path(path, io::Error::from_raw_os_error(error)));
        }
    };
    let memory = match next_report(reports)? {
        (STAGE_IPC, 0) => Ok(File::open(own.join("ns/ipc"))?.into()),
        (_, error) => Err(error),
    };
    let is_fresh = |mount: &&MountAction| matches!(mount, MountAction::FreshTmpfs(_));
    let within = |path: PathBuf| -> io::Result<OwnedFd> {
        let path = path.strip_prefix("/").unwrap_or(&path);
        Ok(File::open(own.join("root").join(path))?.into())
    };
    let fresh = mounts.iter().find(is_fresh).map(MountAction::path).map(within).transpose()?;
    let overlays = mounts.iter().filter(|mount| matches!(mount, MountAction::Overlay(_)));
    let overlays = overlays.map(|mount| within(mount.path())).collect::<io::Result<_>>()?;
    let is_view = |mount: &&MountAction| matches!(mount, MountAction::PartialDirectory(_, kept) if !is_all_private(kept));
    let views = mounts.iter().filter(is_view).map(MountAction::path);
    let views = views.map(|path| Ok((path.clone(), within(path)?))).collect::<io::Result<_>>()?;
    let user = File::open(own.join("ns/user"))?.into();
    let mount = File::open(own.join("ns/mnt"))?.into();
    let terminals = match terminals {
        0 => Ok(File::open(own.join("root/dev/pts"))?.into()),
        error => Err(error),
    };
    let cloned = |fd: &OwnedFd| fd.try_clone();
    let mut inner =
        handles.and_then(|handles| handles.inner_user.as_ref()).map(cloned).transpose()?;
    let network = handles.map(|handles| cloned(&handles.network)).transpose()?;
    if names.is_some() {
        go.write_all(b"i")?;
        match next_report(reports)? {
            (STAGE_INNER_USER, 0) => inner = Some(File::open(own.join("ns/user"))?.into()),
            (_, error) => return Err(NamespaceError::Refused(io::Error::from_raw_os_error(error))),
        }
    }
    go.write_all(b"x")?;
    Ok(ChildNamespaces {
        user,
        mount,
        network,
        ipc: memory,
        inner_user: inner,
        terminals,
        fresh_dir: fresh,
        overlays,
        views,
    })
}

/// Whether all exposed paths are the child's own.
fn is_all_private(kept: &[ExposedPath]) -> bool {
    kept.iter().all(|kept| kept.is_writable && kept.source.is_none())
}

/// Maps every id of this process to itself. Only root may do so; other users
/// may map only their own ids, including to root.
pub(super) fn map_ids(process: &Path, as_root: bool) -> io::Result<()> {
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
    // The uid map may have been written above, and can be written only once.
    let (as_user, as_group) = if as_root { (0, 0) } else { (user, group) };
    if fs::read_to_string(process.join("uid_map"))?.is_empty() {
        fs::write(process.join("uid_map"), format!("{as_user} {user} 1\n"))?;
    }
    fs::write(process.join("setgroups"), "deny")?;
    fs::write(process.join("gid_map"), format!("{as_group} {group} 1\n"))
}

/// Runs in the helper process. Makes only system calls.
fn run_helper(
    ends: HelperPipes,
    mounts: &[MountAction],
    names: Option<&IdMapLines>,
    user: Option<RawFd>,
) {
    let HelperPipes { report, wait, go } = ends;
    // SAFETY: descriptors are open, paths are null-terminated, buffers are
    // live.
    unsafe {
        // Otherwise the exit of the parent would go unnoticed.
        libc::close(go);
        let apart = match user {
            Some(user) if libc::setns(user, libc::CLONE_NEWUSER) != 0 => -1,
            Some(_) => libc::unshare(libc::CLONE_NEWNS),
            None => libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS),
        };
        if apart != 0 {
            send_report(report, STAGE_UNSHARED, errno());
            libc::_exit(1);
        }
        send_report(report, STAGE_UNSHARED, 0);
        wait_for_byte(wait);
        let root = ROOT_DIR.as_ptr();
        let (none, flags) = (std::ptr::null(), libc::MS_REC | libc::MS_SLAVE);
        if libc::mount(none, root, none, flags, std::ptr::null()) != 0 {
            send_report(report, STAGE_PRIVATE_MOUNTS, errno());
            libc::_exit(1);
        }
        for (number, mount) in mounts.iter().enumerate() {
            let error = perform_mount(mount);
            if error != 0 {
                send_report(report, number as i32, error);
                libc::_exit(1);
            }
        }
        send_report(report, STAGE_TERMINALS, mount_private_terminals());
        let apart = libc::unshare(libc::CLONE_NEWIPC) == 0;
        send_report(report, STAGE_IPC, if apart { 0 } else { errno() });
        wait_for_byte(wait);
        if let Some(names) = names {
            send_report(report, STAGE_INNER_USER, enter_inner_user_namespace(names));
            wait_for_byte(wait);
        }
        libc::_exit(0)
    }
}

/// Creates the nested user namespace and maps the user's ids in it.
pub(super) fn enter_inner_user_namespace(names: &IdMapLines) -> i32 {
    // SAFETY: the argument is a plain number.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return errno();
    }
    let lines = [
        (c"/proc/self/setgroups", c"deny"),
        (c"/proc/self/uid_map", names.user.as_c_str()),
        (c"/proc/self/gid_map", names.group.as_c_str()),
    ];
    lines.into_iter().map(|(file, line)| write_line(file, line)).find(|it| *it != 0).unwrap_or(0)
}

fn write_line(file: &CStr, line: &CStr) -> i32 {
    let bytes = line.to_bytes();
    // SAFETY: the path is null-terminated; the bytes are live.
    unsafe {
        let open = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if open < 0 {
            return errno();
        }
        let written = libc::write(open, bytes.as_ptr().cast(), bytes.len());
        let error = if written < 0 { errno() } else { 0 };
        libc::close(open);
        error
    }
}

/// Mounts a private `/dev/pts`; otherwise a child could read what is typed at
/// the user's terminals.
fn mount_private_terminals() -> i32 {
    // SAFETY: all strings are null-terminated.
    let done = unsafe {
        libc::mount(
            c"devpts".as_ptr(),
            c"/dev/pts".as_ptr(),
            c"devpts".as_ptr(),
            libc::MS_NOSUID | libc::MS_NOEXEC,
            c"newinstance,ptmxmode=0666,mode=0620".as_ptr().cast(),
        )
    };
    if done == 0 { 0 } else { errno() }
}

pub(super) fn perform_mount(mount: &MountAction) -> i32 {
    let none = std::ptr::null();
    match mount {
        MountAction::Seal(open) => return seal_read_only(open),
        MountAction::PartialDirectory(dir, kept) => {
            return mount_partial_directory(dir, kept);
        }
        MountAction::Overlay(plan) => return mount_overlay(plan),
        MountAction::Bind(from, to) => {
            let tree = clone_mount_tree(from);
            return if tree < 0 { errno() } else { attach_mount_tree(tree, to) };
        }
        _ => {}
    }
    // SAFETY: paths are null-terminated.
    let done = unsafe {
        match mount {
            MountAction::Pin(path) | MountAction::ReadOnly(path) => libc::mount(
                path.as_ptr(),
                path.as_ptr(),
                none,
                libc::MS_BIND | libc::MS_REC,
                std::ptr::null(),
            ),
            MountAction::HideDirectory(path) => libc::mount(
                c"tmpfs".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
                c"size=4096,mode=000".as_ptr().cast(),
            ),
            MountAction::FreshTmpfs(path) => libc::mount(
                c"tmpfs".as_ptr(),
                path.as_ptr(),
                c"tmpfs".as_ptr(),
                libc::MS_NOSUID | libc::MS_NODEV,
                c"mode=1777".as_ptr().cast(),
            ),
            MountAction::HideFile(path) | MountAction::HideSocket(path) => libc::mount(
                c"/dev/null".as_ptr(),
                path.as_ptr(),
                none,
                libc::MS_BIND,
                std::ptr::null(),
            ),
            MountAction::Seal(_)
            | MountAction::PartialDirectory(..)
            | MountAction::Overlay(_)
            | MountAction::Bind(..) => 0,
        }
    };
    if done != 0 {
        // A directory or socket that is gone needs no mask.
        let may_go = matches!(mount, MountAction::HideSocket(_) | MountAction::Pin(_));
        let gone = may_go && errno() == libc::ENOENT;
        return if gone { 0 } else { errno() };
    }
    match mount {
        MountAction::Seal(_)
        | MountAction::Pin(_)
        | MountAction::HideDirectory(_)
        | MountAction::FreshTmpfs(_)
        | MountAction::PartialDirectory(..)
        | MountAction::Overlay(_)
        | MountAction::Bind(..) => 0,
        MountAction::ReadOnly(path) => set_attributes(path, READ_ONLY, libc::AT_RECURSIVE),
        // No user can open a device on a mount without devices.
        MountAction::HideFile(path) | MountAction::HideSocket(path) => {
            set_attributes(path, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC, 0)
        }
    }
}

/// Clones the mounts at a path without attaching them; returns a descriptor, or
/// a negative number on failure.
fn clone_mount_tree(path: &CStr) -> RawFd {
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
    let flags = c_long::from(flags as i32 | libc::AT_RECURSIVE);
    let at = libc::AT_FDCWD as c_long;
    // SAFETY: the path is null-terminated.
    unsafe { libc::syscall(libc::SYS_open_tree, at, path.as_ptr(), flags) as i32 }
}

/// Attaches cloned mounts to a path.
fn attach_mount_tree(tree: RawFd, path: &CStr) -> i32 {
    let flags = c_long::from(libc::MOVE_MOUNT_F_EMPTY_PATH as i32);
    let (empty, at) = (c"".as_ptr(), libc::AT_FDCWD as c_long);
    // SAFETY: paths are null-terminated; the caller owns the descriptor.
    unsafe {
        let to = path.as_ptr();
        if libc::syscall(libc::SYS_move_mount, tree as c_long, empty, at, to, flags) != 0 {
            return errno();
        }
        libc::close(tree);
    }
    0
}

/// Makes everything read-only. Clones the writable trees first, so their mounts
/// stay unchanged.
fn seal_read_only(open: &[CString]) -> i32 {
    let mut trees = [-1; MAX_WRITABLE_TREES];
    for (tree, path) in trees.iter_mut().zip(open) {
        *tree = clone_mount_tree(path);
        if *tree < 0 {
            return errno();
        }
    }
    let error = set_attributes(ROOT_DIR, READ_ONLY, libc::AT_RECURSIVE);
    if error != 0 {
        return error;
    }
    let pairs = trees.iter().zip(open);
    pairs.map(|(tree, path)| attach_mount_tree(*tree, path)).find(|error| *error != 0).unwrap_or(0)
}

/// Mounts a partial directory. Clones the exposed paths before masking them.
fn mount_partial_directory(dir: &CString, kept: &[ExposedPath]) -> i32 {
    let mut trees = [-1; MAX_EXPOSED_PATHS];
    // SAFETY: paths are null-terminated; the descriptors were just opened.
    unsafe {
        for (tree, kept) in trees.iter_mut().zip(kept).filter(|(_, kept)| kept.link.is_none()) {
            *tree = clone_mount_tree(kept.source.as_ref().unwrap_or(&kept.path));
            // A path that is gone meanwhile is skipped.
            if *tree < 0 && (kept.is_writable || errno() != libc::ENOENT) {
                return errno();
            }
        }
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        let options = c"size=1048576,mode=700".as_ptr().cast();
        let tmpfs = c"tmpfs".as_ptr();
        if libc::mount(tmpfs, dir.as_ptr(), tmpfs, flags, options) != 0 {
            return errno();
        }
        for kept in kept {
            if let Some(link) = &kept.link
                && libc::symlink(link.as_ptr(), kept.path.as_ptr()) != 0
            {
                return errno();
            }
        }
        for (tree, kept) in trees.iter().zip(kept).filter(|(tree, _)| **tree >= 0) {
            let own = kept.is_directory.then_some(&kept.path);
            for dir in kept.parents.iter().chain(own) {
                if libc::mkdir(dir.as_ptr(), 0o700) != 0 && errno() != libc::EEXIST {
                    return errno();
                }
            }
            let file = libc::S_IFREG | 0o600;
            if !kept.is_directory && libc::mknod(kept.path.as_ptr(), file, 0) != 0 {
                return errno();
            }
            let error = attach_mount_tree(*tree, &kept.path);
            if error != 0 {
                return error;
            }
        }
    }
    set_attributes(dir, READ_ONLY, 0)
}

fn mount_overlay(plan: &OverlayPlan) -> i32 {
    let overlay = c"overlay".as_ptr();
    // SAFETY: all strings are null-terminated.
    let done = unsafe {
        libc::mount(
            overlay,
            plan.staging.as_ptr(),
            overlay,
            libc::MS_NOSUID | libc::MS_NODEV,
            plan.options.as_ptr().cast(),
        )
    };
    if done == 0 { 0 } else { errno() }
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

fn set_attributes(path: &CStr, set: u64, flags: i32) -> i32 {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, user_namespace: 0 };
    // SAFETY: the path is null-terminated; the structure has the given size.
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
