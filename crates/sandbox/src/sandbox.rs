//! A prepared sandbox, which spawns confined children.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;

use hermes_core::{ChildLimits, Confinement, NetworkMode};
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, openat};

use crate::bubblewrap::Bubblewrap;
use crate::foreign_sockets::ForeignSockets;
use crate::mask_watcher::{MaskPlan, WatchGuard};
use crate::mount_masks::MountMasks;
use crate::network_namespace::NetworkNamespace;
use crate::path_fingerprint::PathFingerprint;
use crate::placeholder::Placeholder;
use crate::quarantine::ForbiddenPaths;
use crate::raw::child::{self, ChildRlimit, SandboxEntry, Step};
use crate::raw::image::{ExecImage, PreExec};
use crate::seccomp_filter::{self, FilterOptions};
use crate::support::{require_landlock, require_seccomp};
use crate::{EnforcementReport, LaunchSpec, SandboxError, rules};

/// First Landlock ABI that restricts truncation.
const TRUNCATE_ABI: u32 = 3;
/// First Landlock ABI that scopes signals and abstract sockets.
const SCOPE_ABI: u32 = 6;
/// First Landlock ABI that restricts sockets in the file system.
const SOCKET_ABI: u32 = 9;

/// Capabilities that root keeps: access to files of other users, on paths that
/// Landlock allows.
const FILE_CAPABILITIES: u64 = {
    const CAP_CHOWN: u64 = 1 << 0;
    const CAP_DAC_OVERRIDE: u64 = 1 << 1;
    const CAP_FOWNER: u64 = 1 << 3;
    const CAP_FSETID: u64 = 1 << 4;
    CAP_CHOWN | CAP_DAC_OVERRIDE | CAP_FOWNER | CAP_FSETID
};

/// A confinement prepared for any number of children.
///
/// Keep it while its children run: dropping it removes the placeholders that
/// keep protected paths from being created.
#[derive(Debug)]
pub struct Sandbox {
    enforcement: EnforcementReport,
    mechanism: SandboxMechanism,
}

#[derive(Debug)]
enum SandboxMechanism {
    Kernel(Box<KernelSandbox>),
    Bubblewrap(Box<Bubblewrap>),
    Unconfined,
}

/// A sandbox built from kernel mechanisms.
#[derive(Debug)]
struct KernelSandbox {
    confinement: Confinement,
    abi: u32,
    /// Resolved once: later, symlinks on the way may be a child's.
    forbidden: Arc<ForbiddenPaths>,
    /// Network namespace that the children share; `None` for the host network.
    network: Option<Arc<NetworkNamespace>>,
    state: Mutex<PreparedState>,
}

/// The prepared entry, and the files that it was prepared for.
#[derive(Debug)]
struct PreparedState {
    entry: Arc<SandboxEntry>,
    fingerprint: PathFingerprint,
    sockets: ForeignSockets,
    placeholders: Vec<Placeholder>,
    /// Keeps the masks up to date while children run.
    _watch_guard: Option<WatchGuard>,
}

impl Sandbox {
    /// Prepares everything that needs no child. Fails if the system cannot
    /// enforce the file and network rules of the confinement; it never weakens
    /// them silently. Other gaps are in [`EnforcementReport::gaps`].
    ///
    /// Children share the network namespace `namespace`. Without one, and unless
    /// they use the host network, they get a new one with loopback only.
    pub fn prepare(
        confinement: &Confinement,
        namespace: Option<Arc<NetworkNamespace>>,
    ) -> Result<Self, SandboxError> {
        require_seccomp()?;
        if confinement.bubblewrap {
            let (bubblewrap, report) = Bubblewrap::prepare(confinement)?;
            return Ok(Self {
                enforcement: report,
                mechanism: SandboxMechanism::Bubblewrap(Box::new(bubblewrap)),
            });
        }
        let abi = require_landlock()?;
        let forbidden = Arc::new(ForbiddenPaths::from_spec(confinement));
        let namespace = match confinement.network {
            NetworkMode::Host => None,
            _ => namespace.or_else(|| NetworkNamespace::create().ok().map(Arc::new)),
        };
        // Without a namespace, hosts cannot be judged one by one.
        let is_isolated = confinement.network == NetworkMode::Isolated;
        let is_unjudged = is_isolated && namespace.is_none() && confinement.reduced;
        let opened = Confinement { network: NetworkMode::Host, ..confinement.clone() };
        let confinement = if is_unjudged { &opened } else { confinement };
        let (state, mut gaps) =
            PreparedState::prepare(confinement, &forbidden, namespace.as_deref(), abi)?;
        if abi < SCOPE_ABI {
            gaps.push(format!(
                "signals to and abstract sockets of other processes (requires Landlock ABI \
                 {SCOPE_ABI}, found {abi})"
            ));
        }
        if is_unjudged {
            gaps.push(
                "network isolation (children use the host network; hosts are not judged)"
                    .to_owned(),
            );
        }
        let limit_gap = process_limit_gap(&confinement.limits);
        gaps.extend(limit_gap.clone());
        let report = EnforcementReport {
            landlock: Some(abi),
            seccomp: true,
            mount_namespace: state.entry.namespaces.is_some(),
            network_namespace: namespace.is_some() && state.entry.namespaces.is_some(),
            bubblewrap: None,
            rlimits: true,
            placeholders: state.own_placeholders(),
            withheld: confinement.denied_services.clone(),
            gaps,
            limit_gap,
        };
        let state = Mutex::new(state);
        let own = KernelSandbox {
            confinement: confinement.clone(),
            abi,
            forbidden,
            network: namespace,
            state,
        };
        Ok(Self { enforcement: report, mechanism: SandboxMechanism::Kernel(Box::new(own)) })
    }

    /// Returns a sandbox that launches children in the same way but does not
    /// confine them, for callers configured to run without one.
    pub fn unconfined() -> Self {
        Self { enforcement: EnforcementReport::default(), mechanism: SandboxMechanism::Unconfined }
    }

    /// Returns the enforced mechanisms.
    pub fn enforcement(&self) -> &EnforcementReport {
        &self.enforcement
    }

    /// Spawns a child in the sandbox. A command can be spawned only once. If a
    /// step fails in the child, the error names it, and the program does not
    /// run.
    ///
    /// The time grows with the memory size of this process, as it forks; with
    /// [`Sandbox::launch`] it is constant.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        self.install(command).map_err(io::Error::other)?;
        command.spawn().map_err(explain_spawn_error)
    }

    /// Makes the child of `command` enter the sandbox, for callers that spawn
    /// it themselves. Set the arguments and the environment first. If entering
    /// the sandbox fails, the spawn fails; [`explain_spawn_error`] says why.
    pub fn apply(&self, command: &mut Command) {
        if let Err(error) = self.install(command) {
            let errno = match error {
                SandboxError::Path { source, .. } | SandboxError::Io(source) => {
                    source.raw_os_error().unwrap_or(libc::EINVAL)
                }
                _ => libc::EPERM,
            };
            child::install_hook(command, move || Err(Step::Refresh.error(errno)));
        }
    }

    fn install(&self, command: &mut Command) -> Result<(), SandboxError> {
        match &self.mechanism {
            SandboxMechanism::Kernel(own) => child::install(command, own.entry()?),
            SandboxMechanism::Bubblewrap(bubblewrap) => bubblewrap.apply(command)?,
            SandboxMechanism::Unconfined => {}
        }
        Ok(())
    }

    /// Opens a new terminal of those that children see, and returns our end;
    /// `None` if the children have no private terminals.
    ///
    /// # Errors
    /// If the system has no free terminal.
    pub fn open_terminal(&self) -> Option<io::Result<OwnedFd>> {
        let SandboxMechanism::Kernel(own) = &self.mechanism else { return None };
        let entry = match own.entry() {
            Ok(entry) => entry,
            Err(error) => return Some(Err(io::Error::other(error))),
        };
        let dir = entry.namespaces.as_ref()?.terminals.as_ref().ok()?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        Some(openat(dir, "ptmx", flags, Mode::empty()).map_err(io::Error::from))
    }

    /// Moves aside what a child created at forbidden paths. Call this after a
    /// child has exited.
    pub fn quarantine(&self) {
        let forbidden = match &self.mechanism {
            SandboxMechanism::Kernel(own) => &own.forbidden,
            SandboxMechanism::Bubblewrap(bubblewrap) => bubblewrap.forbidden(),
            SandboxMechanism::Unconfined => return,
        };
        forbidden.quarantine();
    }

    /// Returns the steps before exec, and the program to execute.
    pub(crate) fn pre_exec(&self, launch: &LaunchSpec) -> io::Result<(PreExec, ExecImage)> {
        match &self.mechanism {
            SandboxMechanism::Kernel(own) => {
                let entry = own.entry().map_err(io::Error::other)?;
                Ok((PreExec::Direct(entry), launch.exec_image()?))
            }
            SandboxMechanism::Bubblewrap(bubblewrap) => {
                Ok(bubblewrap.pre_exec(launch).map_err(io::Error::other)??)
            }
            SandboxMechanism::Unconfined => Ok((PreExec::Unconfined, launch.exec_image()?)),
        }
    }

    /// Whether bubblewrap runs the children.
    pub(crate) fn is_bubblewrap(&self) -> bool {
        matches!(self.mechanism, SandboxMechanism::Bubblewrap(_))
    }
}

impl KernelSandbox {
    /// Returns the entry for the next child, prepared again if files have
    /// changed.
    fn entry(&self) -> Result<Arc<SandboxEntry>, SandboxError> {
        let mut state = self.state.lock();
        if state.fingerprint.has_changed() || state.sockets.has_new(&self.confinement) {
            let namespace = self.network.as_deref();
            let (fresh, _) =
                PreparedState::prepare(&self.confinement, &self.forbidden, namespace, self.abi)?;
            *state = fresh;
        }
        Ok(Arc::clone(&state.entry))
    }
}

impl PreparedState {
    /// Prepares the state. Files may be removed or replaced between lookup and
    /// masking; then it retries.
    fn prepare(
        confinement: &Confinement,
        forbidden: &Arc<ForbiddenPaths>,
        namespace: Option<&NetworkNamespace>,
        abi: u32,
    ) -> Result<(Self, Vec<String>), SandboxError> {
        const MAX_ATTEMPTS: usize = 4;
        let is_gone = |error: &SandboxError| matches!(error, SandboxError::Path { source, .. } if source.kind() == io::ErrorKind::NotFound);
        for _ in 1..MAX_ATTEMPTS {
            match Self::try_prepare(confinement, forbidden, namespace, abi) {
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(error),
                Ok((mut state, gaps)) => {
                    if !state.fingerprint.has_changed() {
                        return Ok((state, gaps));
                    }
                }
            }
        }
        Self::try_prepare(confinement, forbidden, namespace, abi)
    }

    fn try_prepare(
        confinement: &Confinement,
        forbidden: &Arc<ForbiddenPaths>,
        namespace: Option<&NetworkNamespace>,
        abi: u32,
    ) -> Result<(Self, Vec<String>), SandboxError> {
        let mut covers = MountMasks::plan(confinement, abi < SOCKET_ABI)?;
        // Taken before the rules are made, so a change in between is noticed.
        let watch = PathFingerprint::new(confinement, &covers);
        let (sockets, foreign) = ForeignSockets::scan(confinement);
        covers.mask_sockets(foreign, confinement);
        let plan = MaskPlan::new(&covers, &confinement.pending_secrets, forbidden);
        let namespaces =
            covers.build(namespace.map(NetworkNamespace::handles), confinement.reduced)?;
        match namespaces.as_ref().map(|made| &made.terminals) {
            Some(Ok(_)) => {}
            Some(Err(errno)) => {
                let why = io::Error::from_raw_os_error(*errno);
                covers.gaps.push(format!("terminals of this user ({why})"));
            }
            None => covers.gaps.push(
                "terminals, sockets and memory files of other programs, modes and times of \
                 files elsewhere (requires user namespaces)"
                    .to_owned(),
            ),
        }
        let shape = FilterOptions {
            network: confinement.network == NetworkMode::Host
                || namespaces.as_ref().is_some_and(|made| made.network.is_some()),
            guard_truncate: abi < TRUNCATE_ABI,
            shares_ipc: namespaces.as_ref().is_none_or(|made| made.ipc.is_err()),
        };
        let root = rustix::process::geteuid().is_root();
        let ruleset = rules::build(confinement, abi, namespaces.as_ref())?;
        let entry = SandboxEntry {
            limits: resource_limits(&confinement.limits),
            namespaces,
            capabilities: if root { FILE_CAPABILITIES } else { 0 },
            ruleset,
            filter: seccomp_filter::build(shape),
        };
        let entry = Arc::new(entry);
        let post = match plan {
            Ok(plan) => plan.register(&entry),
            Err(why) => {
                let shown = format!("files replaced or created while a child runs ({why})");
                covers.gaps.push(shown);
                None
            }
        };
        let placeholders = std::mem::take(&mut covers.placeholders);
        Ok((
            Self { entry, fingerprint: watch, sockets, placeholders, _watch_guard: post },
            covers.gaps,
        ))
    }

    fn own_placeholders(&self) -> Vec<PathBuf> {
        self.placeholders.iter().filter_map(|it| it.own_path().map(Path::to_owned)).collect()
    }
}

/// Returns the resource limits of the confinement. Core files are disabled, as
/// they would contain what the child has read.
// The integer type depends on the C library.
#[allow(clippy::unnecessary_cast)]
pub(crate) fn resource_limits(limits: &ChildLimits) -> Vec<ChildRlimit> {
    let wanted = [
        (libc::RLIMIT_NPROC, limits.processes),
        (libc::RLIMIT_AS, limits.memory),
        (libc::RLIMIT_DATA, limits.private_memory),
        (libc::RLIMIT_FSIZE, limits.file_size),
        (libc::RLIMIT_NOFILE, limits.open_files),
        (libc::RLIMIT_CORE, Some(0)),
    ];
    wanted
        .into_iter()
        .filter_map(|(resource, most)| Some(ChildRlimit { resource: resource as u32, max: most? }))
        .collect()
}

/// Returns the gap in the process limit, if any. The kernel never counts the
/// processes of the host's root, not even in a user namespace.
pub(crate) fn process_limit_gap(limits: &ChildLimits) -> Option<String> {
    let most = limits.processes?;
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let mut fields = map.split_whitespace().skip(1);
    (fields.next() == Some("0")).then(|| {
        format!("at most {most} processes (the kernel does not count those of root; run as another user)")
    })
}

/// Names the step of entering the sandbox that failed. Returns other errors
/// unchanged.
pub fn explain_spawn_error(error: io::Error) -> io::Error {
    match child::decode_step(&error) {
        Some((step, errno)) => {
            let cause = io::Error::from_raw_os_error(errno);
            io::Error::new(cause.kind(), format!("sandbox: {step}: {cause}"))
        }
        None => error,
    }
}
