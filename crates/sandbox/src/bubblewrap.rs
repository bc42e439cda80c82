//! Enforces a confinement with bubblewrap, which creates the namespaces itself:
//! files and processes outside are absent rather than denied.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hermes_core::{Confinement, NetworkMode};
use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::foreign_sockets::ForeignSockets;
use crate::launched_child::c_string;
use crate::mount_masks::MountMasks;
use crate::path_fingerprint::PathFingerprint;
use crate::quarantine::ForbiddenPaths;
use crate::raw::child::{self, ChildRlimit};
use crate::raw::image::{BubblewrapSetup, ExecImage, PreExec, install_image};
use crate::raw::namespace::MountAction;
use crate::sandbox::{process_limit_gap, resource_limits};
use crate::seccomp_filter::{self, FilterOptions};
use crate::support::find_bubblewrap;
use crate::{EnforcementReport, LaunchSpec, SandboxError};

/// Bubblewrap with the arguments of one confinement.
#[derive(Debug)]
pub(crate) struct Bubblewrap {
    program: PathBuf,
    confinement: Confinement,
    forbidden: ForbiddenPaths,
    limits: Vec<ChildRlimit>,
    filter: Arc<OwnedFd>,
    state: Mutex<BubblewrapState>,
}

/// State that depends on which files exist.
#[derive(Debug)]
struct BubblewrapState {
    arguments: Vec<CString>,
    fingerprint: PathFingerprint,
    sockets: ForeignSockets,
    masks: MountMasks,
}

impl Bubblewrap {
    /// Prepares bubblewrap. Fails if it is not installed: the user asked for it
    /// explicitly.
    pub(crate) fn prepare(
        confinement: &Confinement,
    ) -> Result<(Self, EnforcementReport), SandboxError> {
        let program = find_bubblewrap().ok_or_else(|| SandboxError::Unsupported {
            what: "bubblewrap",
            why: "`bwrap` was not found in PATH".to_owned(),
            hint: "install the `bubblewrap` package, or disable it in the settings",
        })?;
        let shape = FilterOptions { network: true, guard_truncate: false, shares_ipc: false };
        let filter = Arc::new(write_filter(&seccomp_filter::build(shape))?);
        let state = BubblewrapState::prepare(confinement, &filter)?;
        let mut gaps = state.masks.gaps.clone();
        if confinement.delete.is_some() {
            gaps.push("deleting and renaming files (bubblewrap cannot forbid it)".to_owned());
        }
        if !confinement.overlays.is_empty() {
            gaps.push("package manager caches (read-only under bubblewrap)".to_owned());
        }
        if confinement.network == NetworkMode::Isolated {
            gaps.push("per-host network decisions (only loopback under bubblewrap)".to_owned());
        }
        let limit_gap = process_limit_gap(&confinement.limits);
        gaps.extend(limit_gap.clone());
        let own = state.masks.placeholders.iter().filter_map(|it| it.own_path());
        let report = EnforcementReport {
            landlock: None,
            seccomp: true,
            mount_namespace: true,
            network_namespace: confinement.network != NetworkMode::Host,
            bubblewrap: Some(program.clone()),
            rlimits: true,
            placeholders: own.map(Path::to_owned).collect(),
            withheld: confinement.denied_services.clone(),
            gaps,
            limit_gap,
        };
        let bubblewrap = Self {
            program,
            confinement: confinement.clone(),
            forbidden: ForbiddenPaths::from_spec(confinement),
            limits: resource_limits(&confinement.limits),
            filter,
            state: Mutex::new(state),
        };
        Ok((bubblewrap, report))
    }

    /// Returns the paths that must not be created.
    pub(crate) fn forbidden(&self) -> &ForbiddenPaths {
        &self.forbidden
    }

    /// Makes the child of `command` run its program through bubblewrap.
    pub(crate) fn apply(&self, command: &mut Command) -> Result<(), SandboxError> {
        match self.pre_exec(&LaunchSpec::from_command(command)?)? {
            Ok((gate, image)) => install_image(command, gate, image),
            Err(error) => {
                let code = error.raw_os_error().unwrap_or(libc::EINVAL);
                child::install_hook(command, move || Err(io::Error::from_raw_os_error(code)));
            }
        }
        Ok(())
    }

    /// Returns the bubblewrap command and what the child does before exec. The
    /// inner error is a spawn error: a missing program fails as it does without
    /// bubblewrap.
    pub(crate) fn pre_exec(
        &self,
        launch: &LaunchSpec,
    ) -> Result<io::Result<(PreExec, ExecImage)>, SandboxError> {
        if !launch.program_exists() {
            return Ok(Err(io::Error::from_raw_os_error(libc::ENOENT)));
        }
        let program = c_string(self.program.as_os_str())?;
        let mut arguments = vec![program.clone()];
        {
            let mut state = self.state.lock();
            if state.fingerprint.has_changed() || state.sockets.has_new(&self.confinement) {
                let fresh = BubblewrapState::prepare(&self.confinement, &self.filter)?;
                *state = fresh;
            }
            arguments.extend(state.arguments.iter().cloned());
        }
        let directory = [OsStr::new("--chdir"), launch.directory.as_os_str(), OsStr::new("--")];
        let rest = directory.into_iter().chain([launch.program.as_os_str()]);
        for argument in rest.chain(launch.arguments.iter().map(OsString::as_os_str)) {
            arguments.push(c_string(argument)?);
        }
        let gate = PreExec::Bubblewrap(BubblewrapSetup::new(
            self.limits.clone(),
            Arc::clone(&self.filter),
        )?);
        Ok(Ok((gate, ExecImage::new(vec![program], arguments, launch.environment_lines()?))))
    }
}

impl BubblewrapState {
    fn prepare(confinement: &Confinement, filter: &OwnedFd) -> Result<Self, SandboxError> {
        // Bubblewrap creates the mounts itself and does not support our
        // overlays.
        let confinement = &Confinement { overlays: Vec::new(), ..confinement.clone() };
        let mut covers = MountMasks::plan(confinement, true)?;
        let (sockets, foreign) = ForeignSockets::scan(confinement);
        // Paths outside of the trees do not exist in the new root.
        let within = |path: &PathBuf| {
            let mut trees = confinement.read.iter().chain(&confinement.write);
            trees.any(|tree| path.starts_with(tree))
        };
        covers.mask_sockets(foreign.into_iter().filter(within).collect(), confinement);
        let watch = PathFingerprint::new(confinement, &covers);
        let mut arguments = namespace_arguments(confinement);
        arguments.extend(tree_arguments(confinement)?);
        arguments.extend(mask_arguments(&covers.mounts()?, &confinement.write));
        // The new root is private, but must not be writable either.
        if !confinement.write.iter().any(|tree| tree == Path::new("/")) {
            arguments.extend(["--remount-ro", "/"].map(Into::into));
        }
        arguments.extend(["--seccomp".into(), filter.as_raw_fd().to_string().into()]);
        let arguments = arguments.iter().map(|it| c_string(it)).collect::<io::Result<_>>()?;
        Ok(Self { arguments, fingerprint: watch, sockets, masks: covers })
    }
}

fn namespace_arguments(confinement: &Confinement) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = [
        "--unshare-user",
        "--unshare-ipc",
        "--unshare-pid",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]
    .map(Into::into)
    .to_vec();
    if confinement.network != NetworkMode::Host {
        arguments.push("--unshare-net".into());
    }
    arguments.extend(["--cap-drop", "ALL"].map(Into::into));
    arguments
}

/// Returns the arguments for the allowed trees, outer ones first, in a root
/// that is otherwise empty except for its symlinks (`/bin` is one on most
/// systems).
fn tree_arguments(confinement: &Confinement) -> io::Result<Vec<OsString>> {
    let mut binds: BTreeMap<&Path, &str> = BTreeMap::new();
    for path in &confinement.write {
        binds.insert(path, "--bind-try");
    }
    for path in &confinement.read {
        // A writable path is already readable.
        if !confinement.write.iter().any(|tree| path.starts_with(tree)) {
            binds.insert(path, "--ro-bind-try");
        }
    }
    let mut arguments = Vec::new();
    for (path, option) in &binds {
        arguments.extend([OsString::from(option), path.into(), path.into()]);
    }
    if !binds.contains_key(Path::new("/")) {
        for entry in fs::read_dir("/")? {
            let path = entry?.path();
            if binds.keys().any(|tree| tree.starts_with(&path)) {
                continue;
            }
            if let Ok(target) = fs::read_link(&path) {
                arguments.extend(["--symlink".into(), target.into(), path.into()]);
            }
        }
    }
    arguments.extend(["--dev", "/dev", "--proc", "/proc"].map(Into::into));
    Ok(arguments)
}

fn mask_arguments(mounts: &[MountAction], write: &[PathBuf]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    // Exposed paths are bound from outside, so masks within them must follow.
    let encloses = |mount: &&MountAction| match mount {
        MountAction::PartialDirectory(_, kept) => kept.iter().all(|kept| !kept.is_writable),
        _ => false,
    };
    let rest = mounts.iter().filter(|mount| !encloses(mount));
    for mount in mounts.iter().filter(encloses).chain(rest) {
        let name = |path: &CString| OsString::from_vec(path.as_bytes().to_vec());
        match mount {
            MountAction::Pin(path) => arguments.extend(["--bind".into(), name(path), name(path)]),
            MountAction::ReadOnly(path) => {
                arguments.extend(["--ro-bind".into(), name(path), name(path)]);
            }
            MountAction::HideDirectory(path) => arguments.extend([
                "--perms".into(),
                "0000".into(),
                "--tmpfs".into(),
                name(path),
                "--remount-ro".into(),
                name(path),
            ]),
            MountAction::HideFile(path) | MountAction::HideSocket(path) => {
                arguments.extend(["--ro-bind".into(), "/dev/null".into(), name(path)]);
            }
            // Bubblewrap makes only the given trees writable, and mounts its
            // own `/dev` including `/dev/shm`.
            MountAction::Seal(_)
            | MountAction::FreshTmpfs(_)
            | MountAction::Overlay(_)
            | MountAction::Bind(..) => {}
            MountAction::PartialDirectory(path, kept) => {
                arguments.extend(["--tmpfs".into(), name(path)]);
                for kept in kept {
                    if let Some(link) = &kept.link {
                        arguments.extend(["--symlink".into(), name(link), name(&kept.path)]);
                        continue;
                    }
                    let option = if kept.is_writable { "--bind" } else { "--ro-bind-try" };
                    arguments.extend([option.into(), name(&kept.path), name(&kept.path)]);
                }
                // Writable trees in the directory go on top of the exposed
                // paths.
                let dir = PathBuf::from(name(path));
                for tree in write.iter().filter(|tree| tree.starts_with(&dir)) {
                    arguments.extend(["--bind-try".into(), tree.into(), tree.into()]);
                }
                arguments.extend(["--remount-ro".into(), name(path)]);
            }
        }
    }
    arguments
}

/// Writes the filter to a memfd that bubblewrap reads.
fn write_filter(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
    let mut bytes = Vec::with_capacity(filter.len() * 8);
    for it in filter {
        bytes.extend(it.code.to_ne_bytes());
        bytes.extend([it.jt, it.jf]);
        bytes.extend(it.k.to_ne_bytes());
    }
    let mut file = File::from(memfd_create("filter", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    Ok(file.into())
}
