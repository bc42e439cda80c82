//! Whether this system can enforce the sandbox, and what to do if it cannot.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use hermes_core::{
    CallProposal, Confinement, Effect, NetworkMode, Resource, Scope, Session, ToolAnnotations,
    WorkingDir,
};
use hermes_policy::PermissionPolicy;
use hermes_sandbox::SandboxSupport;

/// The command that accepts the reduced sandbox.
pub const REDUCED_COMMAND: &str = "hermes config set sandbox.missing reduced";

/// What the reduced sandbox does not enforce.
pub const REDUCED_GAPS: &str = "Landlock and seccomp still restrict where commands write \
    and which system calls they make. Protected files inside directories that they may use are not \
    hidden, package managers use separate caches in the temporary directory, and commands use \
    the network of this machine, where no host is checked, unless sandbox.network is off.";

/// The namespace limit that the remedies set.
const MANY_NAMESPACES: u64 = 15_000;

/// The setting by which AppArmor restricts user namespaces.
const APPARMOR_SETTING: &str = "kernel.apparmor_restrict_unprivileged_userns";

/// Flags of a container that allows user namespaces.
const CONTAINER_FLAGS: &str =
    "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined …";

/// Returns the mechanisms of this system; probes them once.
pub fn support() -> &'static SandboxSupport {
    static SANDBOX_SUPPORT: OnceLock<SandboxSupport> = OnceLock::new();
    SANDBOX_SUPPORT.get_or_init(hermes_sandbox::support)
}

/// Describes the mechanisms of this system in one line, with the cause of what is missing.
pub fn summary() -> String {
    let mut support = support().clone();
    support.user_namespaces_error = NamespaceObstacle::find().map(|obstacle| obstacle.detail);
    support.to_string()
}

/// Checks that this system has the mechanisms that a confinement needs. Starting
/// a process prepares the sandbox, and fails if that is impossible.
pub fn can_enforce(confinement: &Confinement) -> Result<(), String> {
    let support = support();
    if confinement.bubblewrap && support.bubblewrap.is_none() {
        return Err("bubblewrap is not installed".to_owned());
    }
    if support.landlock.is_none() {
        return Err("this kernel has no Landlock, or it is switched off".to_owned());
    }
    if !support.seccomp {
        return Err("this kernel cannot filter system calls".to_owned());
    }
    let needs_namespaces = confinement.network != NetworkMode::Host
        || !confinement.overlays.is_empty()
        || !confinement.read_only.is_empty()
        || !confinement.hidden.is_empty()
        || !confinement.partial_dirs.is_empty();
    if confinement.reduced || !needs_namespaces {
        return Ok(());
    }
    match NamespaceObstacle::find() {
        Some(obstacle) => Err(format!(
            "{}. `{REDUCED_COMMAND}` runs commands in the reduced sandbox; `hermes doctor` lists the \
             ways to enable the full one",
            obstacle.reason
        )),
        None => Ok(()),
    }
}

/// Returns the confinement of a plain command under these permissions; none if
/// the sandbox is off.
pub fn trial_confinement(permissions: &PermissionPolicy, cwd: &Path) -> Option<Confinement> {
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let at = WorkingDir::new(cwd.to_owned(), home);
    let session = Session::in_memory();
    let command =
        Effect { scope: Scope::TERMINAL_EXECUTE, resource: Resource::Command("true".to_owned()) };
    let (_, confinement) = permissions.consider(&CallProposal {
        tool: "terminal",
        toolset: "terminal",
        arguments: &serde_json::Value::Null,
        effects: &[command],
        code: None,
        annotations: ToolAnnotations::default(),
        working_dir: &at,
        call_id: "trial",
        session: &session,
        task_id: "trial",
        depth: 0,
    });
    // An approver who could accept less does not change what the rules require.
    let reduced = permissions.sandbox().is_reduced;
    confinement.map(|confinement| Confinement { reduced, ..confinement })
}

/// Why user namespaces cannot be created, and the remedies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceObstacle {
    /// The cause as a clause.
    pub reason: String,
    /// The technical detail.
    pub detail: String,
    /// Commands, each of which removes the obstacle on its own.
    pub remedies: Vec<String>,
}

/// Facts that distinguish the causes.
struct NamespaceEvidence<'a> {
    /// The value of a kernel setting, by its path below `/proc/sys`.
    setting: &'a dyn Fn(&str) -> Option<u64>,
    is_container: bool,
    /// The program that creates namespaces.
    program: &'a Path,
    /// The error of the kernel.
    error: &'a str,
}

impl NamespaceObstacle {
    /// Returns what prevents this program from creating user namespaces, if anything.
    pub fn find() -> Option<Self> {
        let error = support().user_namespaces_error.as_deref()?;
        // The part of the sentence that the system reported.
        let error = error.split_once("not there: ").map_or(error, |(_, said)| said);
        let error = error.split(';').next().unwrap_or(error);
        let setting = |name: &str| {
            std::fs::read_to_string(format!("/proc/sys/{name}")).ok()?.trim().parse().ok()
        };
        let is_container =
            ["/.dockerenv", "/run/.containerenv"].iter().any(|it| Path::new(it).exists())
                || std::env::var_os("container").is_some();
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/usr/bin/hermes"));
        let setting = &setting;
        Some(Self::explain(&NamespaceEvidence { setting, is_container, program: &program, error }))
    }

    fn explain(evidence: &NamespaceEvidence<'_>) -> Self {
        let is = |name: &str, value: u64| (evidence.setting)(name) == Some(value);
        for kind in ["user", "mnt", "net"] {
            if is(&format!("user/max_{kind}_namespaces"), 0) {
                let name = format!("user.max_{kind}_namespaces");
                return Self::switched_off(&name, MANY_NAMESPACES);
            }
        }
        if is("kernel/unprivileged_userns_clone", 0) {
            return Self::switched_off("kernel.unprivileged_userns_clone", 1);
        }
        if is("kernel/apparmor_restrict_unprivileged_userns", 1) {
            let detail = format!("{APPARMOR_SETTING} = 1");
            return Self {
                reason: format!("AppArmor restricts user namespaces ({detail})"),
                detail,
                remedies: vec![
                    apparmor_profile(evidence.program),
                    sysctl_command(APPARMOR_SETTING, 0),
                ],
            };
        }
        if evidence.is_container {
            return Self {
                reason: "this container does not allow user namespaces".to_owned(),
                detail: "not allowed in this container".to_owned(),
                remedies: vec![CONTAINER_FLAGS.to_owned()],
            };
        }
        Self {
            reason: format!("user namespaces cannot be created ({})", evidence.error),
            detail: evidence.error.to_owned(),
            remedies: vec![
                sysctl_command("user.max_user_namespaces", MANY_NAMESPACES),
                apparmor_profile(evidence.program),
                sysctl_command(APPARMOR_SETTING, 0),
                CONTAINER_FLAGS.to_owned(),
            ],
        }
    }

    fn switched_off(name: &str, value: u64) -> Self {
        let detail = format!("{name} = 0");
        let reason = format!("user namespaces are switched off ({detail})");
        Self { reason, detail, remedies: vec![sysctl_command(name, value)] }
    }
}

/// Returns the command that sets a kernel setting, now and after a reboot.
fn sysctl_command(name: &str, value: u64) -> String {
    format!(
        "echo '{name} = {value}' | sudo tee /etc/sysctl.d/60-hermes.conf && sudo sysctl -p \
         /etc/sysctl.d/60-hermes.conf"
    )
}

/// Returns the command that allows user namespaces for one program.
fn apparmor_profile(program: &Path) -> String {
    format!(
        "printf 'abi <abi/4.0>,\\nprofile hermes \"{}\" flags=(unconfined) {{\\n  userns,\\n}}\\n' | \
         sudo tee /etc/apparmor.d/hermes && sudo apparmor_parser -r /etc/apparmor.d/hermes",
        program.display()
    )
}

#[cfg(test)]
#[path = "sandbox_support_tests.rs"]
mod tests;
