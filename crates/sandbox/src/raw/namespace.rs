//! A user and mount namespace made once, by a short-lived process, and kept by
//! its descriptors for any number of children to join.

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

/// The descriptors that children join.
#[derive(Debug)]
pub(crate) struct ChildNamespaces {
    pub(crate) user: OwnedFd,
    pub(crate) mount: OwnedFd,
    /// The network namespace, unless children use that of this process.
    pub(crate) network: Option<OwnedFd>,
    /// That of memory and queues which go by a number.
    pub(crate) ipc: Result<OwnedFd, i32>,
    /// Below the first one, if the user is called root there: here, the user
    /// has the own number again.
    pub(crate) inner_user: Option<OwnedFd>,
    /// The folder of the terminals that only those who join see.
    pub(crate) terminals: Result<OwnedFd, i32>,
    /// The folder that is empty at first, if there is one.
    pub(crate) fresh_dir: Option<OwnedFd>,
    /// The roots of the overlays.
    pub(crate) overlays: Vec<OwnedFd>,
    /// The directories that are views, with their paths.
    pub(crate) views: Vec<(PathBuf, OwnedFd)>,
}

/// One thing to mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MountAction {
    /// Everything without writing, but for the trees at these paths: Landlock
    /// knows nothing of modes, owners, times and attributes.
    Seal(Vec<CString>),
    /// The path on itself, so that it cannot be renamed.
    Pin(CString),
    /// The path on itself, without writing.
    ReadOnly(CString),
    /// An empty folder on the folder.
    HideDirectory(CString),
    /// An empty folder on the folder, in which anything may be made.
    FreshTmpfs(CString),
    /// A file that cannot be opened on the file.
    HideFile(CString),
    /// The same on a socket, if it is still there.
    HideSocket(CString),
    /// An empty folder on the folder, with what was at these paths in it.
    PartialDirectory(CString, Vec<ExposedPath>),
    /// An overlay at a directory of ours, from where it is moved to its place.
    Overlay(OverlayPlan),
    /// The mounts at the first path on the second one.
    Bind(CString, CString),
}

/// An overlay, ready to be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OverlayPlan {
    /// Where it is mounted at first.
    pub(crate) staging: CString,
    /// Where children see it.
    pub(crate) target: CString,
    /// The options of the file system.
    pub(crate) options: CString,
}

/// What stays in an enclosed folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExposedPath {
    /// The folders on the way to it.
    pub(crate) parents: Vec<CString>,
    pub(crate) path: CString,
    /// Where it comes from, if that is another place.
    pub(crate) source: Option<CString>,
    /// The target of a symbolic link, which is made anew.
    pub(crate) link: Option<CString>,
    pub(crate) is_directory: bool,
    /// Whether it may be written, where that is for the mount to say.
    pub(crate) is_writable: bool,
}

/// How many paths stay in an enclosed folder.
pub(crate) const MAX_EXPOSED_PATHS: usize = 1024;
/// How many trees stay open where all else is sealed.
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

/// Where the making failed.
#[derive(Debug)]
pub(crate) enum NamespaceError {
    /// The system does not let this user make namespaces.
    Refused(io::Error),
    /// This path could not be covered.
    Path(PathBuf, io::Error),
    /// Something else.
    Io(io::Error),
}

impl From<io::Error> for NamespaceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reports of the making process: a stage or the number of a mount, and an
/// error number.
const STAGE_UNSHARED: i32 = -1;
const STAGE_PRIVATE_MOUNTS: i32 = -3;
const STAGE_TERMINALS: i32 = -4;
const STAGE_INNER_USER: i32 = -5;
const STAGE_IPC: i32 = -6;

/// What the user is called in the second of two namespaces, as the kernel
/// wants to be told.
#[derive(Debug)]
pub(super) struct IdMapLines {
    user: CString,
    group: CString,
}

impl IdMapLines {
    /// Those of this user; none for an administrator, who needs no second one.
    pub(super) fn for_current_user() -> Option<Self> {
        let user = rustix::process::geteuid();
        let line = |id: u32| CString::new(format!("{id} 0 1\n")).ok();
        let group = rustix::process::getegid().as_raw();
        let (named, group) = (line(user.as_raw())?, line(group)?);
        (!user.is_root()).then_some(Self { user: named, group })
    }
}

/// Makes the namespaces and mounts in the order given. Terminals can only be
/// mounted where there is a root, so that anybody else is called root first,
/// if the system lets them.
///
/// With a network space, the mounts belong to the user namespace of that
/// space, so that children can join both.
pub(crate) fn build(
    mounts: &[MountAction],
    space: Option<&NetworkHandles>,
) -> Result<ChildNamespaces, NamespaceError> {
    let _turn = FORK_LOCK.lock();
    if space.is_none()
        && let Some(names) = IdMapLines::for_current_user()
    {
        match try_build(mounts, Some(&names), None) {
            Err(NamespaceError::Refused(_) | NamespaceError::Io(_)) => {}
            made => return made,
        }
    }
    try_build(mounts, None, space)
}

fn try_build(
    mounts: &[MountAction],
    names: Option<&IdMapLines>,
    space: Option<&NetworkHandles>,
) -> Result<ChildNamespaces, NamespaceError> {
    let user = space.map(|space| space.user.as_raw_fd());
    let helper = HelperProcess::fork(|ends| run_helper(ends, mounts, names, user))?;
    helper.drive(|process, reports, go| drive_helper(process, reports, go, mounts, names, space))
}

fn drive_helper(
    process: i32,
    reports: &mut PipeReader,
    go: &mut impl Write,
    mounts: &[MountAction],
    names: Option<&IdMapLines>,
    space: Option<&NetworkHandles>,
) -> Result<ChildNamespaces, NamespaceError> {
    match next_report(reports)? {
        (STAGE_UNSHARED, 0) => {}
        (_, error) => return Err(NamespaceError::Refused(io::Error::from_raw_os_error(error))),
    }
    let own = PathBuf::from(format!("/proc/{process}"));
    if space.is_none() {
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
    let mut inner = space.and_then(|space| space.inner_user.as_ref()).map(cloned).transpose()?;
    let network = space.map(|space| cloned(&space.network)).transpose()?;
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

/// Whether all that is kept is the child's own.
fn is_all_private(kept: &[ExposedPath]) -> bool {
    kept.iter().all(|kept| kept.is_writable && kept.source.is_none())
}

/// Every id that this process knows stands for itself. Only an administrator
/// may say so; anybody else may map the own ids only, also to those of root.
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
    // The user's map may have been written above, and is written once only.
    let (as_user, as_group) = if as_root { (0, 0) } else { (user, group) };
    if fs::read_to_string(process.join("uid_map"))?.is_empty() {
        fs::write(process.join("uid_map"), format!("{as_user} {user} 1\n"))?;
    }
    fs::write(process.join("setgroups"), "deny")?;
    fs::write(process.join("gid_map"), format!("{as_group} {group} 1\n"))
}

/// The making process. Only system calls from here on.
fn run_helper(
    ends: HelperPipes,
    mounts: &[MountAction],
    names: Option<&IdMapLines>,
    user: Option<RawFd>,
) {
    let HelperPipes { report, wait, go } = ends;
    // SAFETY: descriptors are open, paths end with zeros, buffers are live.
    unsafe {
        // Else the end of the parent would go unnoticed.
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

/// Makes the second user namespace and says what the user is called there.
pub(super) fn enter_inner_user_namespace(names: &IdMapLines) -> i32 {
    // SAFETY: plain numbers.
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
    // SAFETY: the path ends with a zero, the bytes are live.
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

/// Else a child could read what is typed at those of the user.
fn mount_private_terminals() -> i32 {
    // SAFETY: all texts end with zeros.
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
        MountAction::PartialDirectory(folder, kept) => {
            return mount_partial_directory(folder, kept);
        }
        MountAction::Overlay(plan) => return mount_overlay(plan),
        MountAction::Bind(from, to) => {
            let tree = clone_mount_tree(from);
            return if tree < 0 { errno() } else { attach_mount_tree(tree, to) };
        }
        _ => {}
    }
    // SAFETY: paths end with zeros.
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
        // With a folder goes what there was to keep in it.
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
        // A device on a mount without devices cannot be opened by anybody.
        MountAction::HideFile(path) | MountAction::HideSocket(path) => {
            set_attributes(path, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC, 0)
        }
    }
}

/// A copy of the mounts at a path, which is nowhere yet; its descriptor, or a
/// negative number.
fn clone_mount_tree(path: &CStr) -> RawFd {
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
    let flags = c_long::from(flags as i32 | libc::AT_RECURSIVE);
    let at = libc::AT_FDCWD as c_long;
    // SAFETY: the path ends with a zero.
    unsafe { libc::syscall(libc::SYS_open_tree, at, path.as_ptr(), flags) as i32 }
}

/// Puts such a copy on a path.
fn attach_mount_tree(tree: RawFd, path: &CStr) -> i32 {
    let flags = c_long::from(libc::MOVE_MOUNT_F_EMPTY_PATH as i32);
    let (empty, at) = (c"".as_ptr(), libc::AT_FDCWD as c_long);
    // SAFETY: paths end with zeros, the descriptor was just made.
    unsafe {
        let to = path.as_ptr();
        if libc::syscall(libc::SYS_move_mount, tree as c_long, empty, at, to, flags) != 0 {
            return errno();
        }
        libc::close(tree);
    }
    0
}

/// Takes hold of what stays open before all is closed, so that every mount in
/// it stays as it was.
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

/// Takes hold of what is kept before it is covered.
fn mount_partial_directory(folder: &CString, kept: &[ExposedPath]) -> i32 {
    let mut trees = [-1; MAX_EXPOSED_PATHS];
    // SAFETY: paths end with zeros; the descriptors are those just made.
    unsafe {
        for (tree, kept) in trees.iter_mut().zip(kept).filter(|(_, kept)| kept.link.is_none()) {
            *tree = clone_mount_tree(kept.source.as_ref().unwrap_or(&kept.path));
            // What has gone since is not missed.
            if *tree < 0 && (kept.is_writable || errno() != libc::ENOENT) {
                return errno();
            }
        }
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
        let options = c"size=1048576,mode=700".as_ptr().cast();
        let tmpfs = c"tmpfs".as_ptr();
        if libc::mount(tmpfs, folder.as_ptr(), tmpfs, flags, options) != 0 {
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
            for folder in kept.parents.iter().chain(own) {
                if libc::mkdir(folder.as_ptr(), 0o700) != 0 && errno() != libc::EEXIST {
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
    set_attributes(folder, READ_ONLY, 0)
}

fn mount_overlay(plan: &OverlayPlan) -> i32 {
    let overlay = c"overlay".as_ptr();
    // SAFETY: all texts end with zeros.
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
