//! The same confinement by way of bubblewrap, which makes the namespaces
//! itself: files and processes outside are not refused but absent.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use hermes_core::{Confinement, NetworkMode};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::aside::Unwelcome;
use crate::covers::Covers;
use crate::filter::{self, Shape};
use crate::launched::c_string;
use crate::raw::child::{self, Limit};
use crate::raw::image::{Gate, Image, Wrap, install_image};
use crate::raw::namespace::Mount;
use crate::sandbox::{limits, process_limit_gap};
use crate::sockets::Sockets;
use crate::support::find_bubblewrap;
use crate::watch::Watch;
use crate::{Held, Launch, SandboxError};

/// Bubblewrap with the arguments of one confinement.
#[derive(Debug)]
pub(crate) struct Bubblewrap {
    program: PathBuf,
    confinement: Confinement,
    unwelcome: Unwelcome,
    limits: Vec<Limit>,
    filter: Arc<OwnedFd>,
    state: Mutex<State>,
}

/// What depends on the files that are there.
#[derive(Debug)]
struct State {
    arguments: Vec<CString>,
    watch: Watch,
    sockets: Sockets,
    covers: Covers,
}

impl Bubblewrap {
    /// Fails if bubblewrap is not installed: it was asked for by name.
    pub(crate) fn prepare(confinement: &Confinement) -> Result<(Self, Held), SandboxError> {
        let program = find_bubblewrap().ok_or_else(|| SandboxError::Unsupported {
            what: "bubblewrap",
            why: "there is no `bwrap` on the search path".to_owned(),
            hint: "install the package `bubblewrap`, or switch it off in the settings",
        })?;
        let shape = Shape { network: true, guard_truncate: false, shared_memory: false };
        let filter = Arc::new(store(&filter::build(shape))?);
        let state = State::prepare(confinement, &filter)?;
        let mut gaps = state.covers.gaps.clone();
        if confinement.delete.is_some() {
            gaps.push("deleting and renaming files (bubblewrap cannot forbid it)".to_owned());
        }
        if !confinement.overlays.is_empty() {
            gaps.push("caches of package managers (read-only under bubblewrap)".to_owned());
        }
        if confinement.network == NetworkMode::Isolated {
            gaps.push("hosts judged one by one (only loopback under bubblewrap)".to_owned());
        }
        let limit_gap = process_limit_gap(&confinement.limits);
        gaps.extend(limit_gap.clone());
        let own = state.covers.placeholders.iter().filter_map(|it| it.own_path());
        let held = Held {
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
            unwelcome: Unwelcome::of(confinement),
            limits: limits(&confinement.limits),
            filter,
            state: Mutex::new(state),
        };
        Ok((bubblewrap, held))
    }

    /// What is not to be made.
    pub(crate) fn unwelcome(&self) -> &Unwelcome {
        &self.unwelcome
    }

    /// Has the child of `command` run bubblewrap, and that the program.
    pub(crate) fn apply(&self, command: &mut Command) -> Result<(), SandboxError> {
        match self.gate(&Launch::of(command)?)? {
            Ok((gate, image)) => install_image(command, gate, image),
            Err(error) => {
                let code = error.raw_os_error().unwrap_or(libc::EINVAL);
                child::install_hook(command, move || Err(io::Error::from_raw_os_error(code)));
            }
        }
        Ok(())
    }

    /// Bubblewrap as the program, and what a child does before. The inner
    /// error is one of the spawn: a missing program is, as it is without
    /// bubblewrap.
    pub(crate) fn gate(&self, launch: &Launch) -> Result<io::Result<(Gate, Image)>, SandboxError> {
        if !launch.is_there() {
            return Ok(Err(io::Error::from_raw_os_error(libc::ENOENT)));
        }
        let program = c_string(self.program.as_os_str())?;
        let mut arguments = vec![program.clone()];
        {
            let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if state.watch.has_changed() || state.sockets.has_new(&self.confinement) {
                let fresh = State::prepare(&self.confinement, &self.filter)?;
                *state = fresh;
            }
            arguments.extend(state.arguments.iter().cloned());
        }
        let directory = [OsStr::new("--chdir"), launch.directory.as_os_str(), OsStr::new("--")];
        let rest = directory.into_iter().chain([launch.program.as_os_str()]);
        for argument in rest.chain(launch.arguments.iter().map(OsString::as_os_str)) {
            arguments.push(c_string(argument)?);
        }
        let gate = Gate::Bubblewrap(Wrap::new(self.limits.clone(), Arc::clone(&self.filter))?);
        Ok(Ok((gate, Image::new(vec![program], arguments, launch.variables()?))))
    }
}

impl State {
    fn prepare(confinement: &Confinement, filter: &OwnedFd) -> Result<Self, SandboxError> {
        // It makes the mounts itself, and knows no overlays of ours.
        let confinement = &Confinement { overlays: Vec::new(), ..confinement.clone() };
        let mut covers = Covers::plan(confinement, true)?;
        let (sockets, foreign) = Sockets::look(confinement);
        // Elsewhere there are none, as nothing else is there.
        let within = |path: &PathBuf| {
            let mut trees = confinement.read.iter().chain(&confinement.write);
            trees.any(|tree| path.starts_with(tree))
        };
        covers.shut(foreign.into_iter().filter(within).collect(), confinement);
        let watch = Watch::new(confinement, &covers);
        let mut arguments = namespaces(confinement);
        arguments.extend(trees(confinement)?);
        arguments.extend(cover(&covers.mounts()?, &confinement.write));
        // The root is one more place to write to, if a private one.
        if !confinement.write.iter().any(|tree| tree == Path::new("/")) {
            arguments.extend(["--remount-ro", "/"].map(Into::into));
        }
        arguments.extend(["--seccomp".into(), filter.as_raw_fd().to_string().into()]);
        let arguments = arguments.iter().map(|it| c_string(it)).collect::<io::Result<_>>()?;
        Ok(Self { arguments, watch, sockets, covers })
    }
}

fn namespaces(confinement: &Confinement) -> Vec<OsString> {
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

/// The allowed trees, outer ones first, in a root that is otherwise empty but
/// for its symbolic links (`/bin` is one on most systems).
fn trees(confinement: &Confinement) -> io::Result<Vec<OsString>> {
    let mut binds: BTreeMap<&Path, &str> = BTreeMap::new();
    for path in &confinement.write {
        binds.insert(path, "--bind-try");
    }
    for path in &confinement.read {
        // What may be written may be read.
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

fn cover(mounts: &[Mount], write: &[PathBuf]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    // What is kept comes from outside, so that its covers come after it.
    let encloses = |mount: &&Mount| match mount {
        Mount::Enclose(_, kept) => kept.iter().all(|kept| !kept.is_written),
        _ => false,
    };
    let rest = mounts.iter().filter(|mount| !encloses(mount));
    for mount in mounts.iter().filter(encloses).chain(rest) {
        let name = |path: &CString| OsString::from_vec(path.as_bytes().to_vec());
        match mount {
            Mount::Pin(path) => arguments.extend(["--bind".into(), name(path), name(path)]),
            Mount::ReadOnly(path) => {
                arguments.extend(["--ro-bind".into(), name(path), name(path)]);
            }
            Mount::HideFolder(path) => arguments.extend([
                "--perms".into(),
                "0000".into(),
                "--tmpfs".into(),
                name(path),
                "--remount-ro".into(),
                name(path),
            ]),
            Mount::HideFile(path) | Mount::HideSocket(path) => {
                arguments.extend(["--ro-bind".into(), "/dev/null".into(), name(path)]);
            }
            // It writes in nothing but what it is told, and has a folder for devices
            // of its own, and that in it.
            Mount::Seal(_) | Mount::Fresh(_) | Mount::Overlay(_) | Mount::Bind(..) => {}
            Mount::Enclose(path, kept) => {
                arguments.extend(["--tmpfs".into(), name(path)]);
                for kept in kept {
                    if let Some(link) = &kept.link {
                        arguments.extend(["--symlink".into(), name(link), name(&kept.path)]);
                        continue;
                    }
                    let option = if kept.is_written { "--bind" } else { "--ro-bind-try" };
                    arguments.extend([option.into(), name(&kept.path), name(&kept.path)]);
                }
                // What may be written in there lies over what was bound again.
                let folder = PathBuf::from(name(path));
                for tree in write.iter().filter(|tree| tree.starts_with(&folder)) {
                    arguments.extend(["--bind-try".into(), tree.into(), tree.into()]);
                }
                arguments.extend(["--remount-ro".into(), name(path)]);
            }
        }
    }
    arguments
}

/// The filter as a file that bubblewrap reads.
fn store(filter: &[libc::sock_filter]) -> io::Result<OwnedFd> {
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
