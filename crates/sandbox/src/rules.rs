//! The Landlock ruleset of a confinement.

use std::fmt::Display;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use hermes_core::{Confinement, NetworkMode};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreatedAttr, Scope, path_beneath_rules,
};

use crate::raw::namespace::ChildNamespaces;
use crate::{SandboxError, private_dir};

/// Devices that programs expect and that expose no state of other processes.
const ALLOWED_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
];

/// Terminals of the host, for children without private terminals.
const TERMINAL_DIR: &str = "/dev/pts";

/// Read by the C library, language runtimes and `ps`. Landlock keeps children
/// from inspecting processes outside of the sandbox.
const PROC_DIR: &str = "/proc";

/// Creates the kernel's ruleset, which any number of children can use.
pub(crate) fn build(
    confinement: &Confinement,
    abi: u32,
    namespaces: Option<&ChildNamespaces>,
) -> Result<OwnedFd, SandboxError> {
    let terminals = namespaces.and_then(|made| made.terminals.as_ref().ok());
    // Without a mount namespace, only these rules can exclude hidden paths.
    let readable = match namespaces {
        Some(_) => confinement.read.clone(),
        None => readable_except_hidden(confinement),
    };
    let abi = ABI::from(i32::try_from(abi).unwrap_or(i32::MAX));
    let everything = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    // Children have no reason to create device files.
    let write = everything & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    // Renaming removes a name, so it needs the same right as deleting.
    let remove = AccessFs::RemoveFile | AccessFs::RemoveDir;
    let (kept, removable) = match &confinement.delete {
        Some(trees) => (write & !remove, with_private_trees(trees, confinement)),
        None => (write, Vec::new()),
    };
    let device = read & !BitFlags::from(AccessFs::Execute)
        | everything & (AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev);

    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(everything)
        .map_err(landlock_error)?;
    let tcp = AccessNet::from_all(abi);
    let is_apart = namespaces.is_some_and(|made| made.network.is_some());
    let is_open = is_apart || confinement.network == NetworkMode::Host;
    if !is_open && !tcp.is_empty() {
        ruleset = ruleset.handle_access(tcp).map_err(landlock_error)?;
    }
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes).map_err(landlock_error)?;
    }
    let mut created = ruleset
        .create()
        .map_err(landlock_error)?
        .add_rules(path_beneath_rules(&readable, read))
        .and_then(|it| it.add_rules(path_beneath_rules(&confinement.write, kept)))
        .and_then(|it| it.add_rules(path_beneath_rules(removable, remove)))
        .and_then(|it| it.add_rules(path_beneath_rules(ALLOWED_DEVICES, device)))
        .and_then(|it| it.add_rules(path_beneath_rules([Path::new(PROC_DIR)], read)))
        .map_err(landlock_error)?;
    created = match terminals {
        Some(dir) => created.add_rule(PathBeneath::new(dir, device)),
        None => created.add_rules(path_beneath_rules([Path::new(TERMINAL_DIR)], device)),
    }
    .map_err(landlock_error)?;
    // A view is a separate mount, so it needs its own rule.
    let is_readable = |path: &Path| confinement.read.iter().any(|tree| path.starts_with(tree));
    for (path, dir) in namespaces.into_iter().flat_map(|made| &made.views) {
        if is_readable(path) {
            created = created.add_rule(PathBeneath::new(dir, read)).map_err(landlock_error)?;
        }
    }
    let own = namespaces.into_iter().flat_map(|made| made.fresh_dir.iter().chain(&made.overlays));
    for dir in own {
        created = created.add_rule(PathBeneath::new(dir, write)).map_err(landlock_error)?;
    }
    Option::<OwnedFd>::from(created).ok_or_else(|| landlock_error("the kernel returned no ruleset"))
}

/// Returns the readable trees without the hidden paths in them. Rules can only
/// allow, so a tree that contains a hidden path is split into its entries,
/// recursively along the way to that path.
fn readable_except_hidden(confinement: &Confinement) -> Vec<PathBuf> {
    let real = |path: &PathBuf| fs::canonicalize(path).ok();
    let mut hidden: Vec<PathBuf> = confinement.hidden.iter().filter_map(real).collect();
    for enclosed in &confinement.partial_dirs {
        let entries = fs::read_dir(&enclosed.dir).into_iter().flatten().flatten();
        let closed = entries.map(|entry| entry.path()).filter(|it| !enclosed.open.contains(it));
        hidden.extend(closed);
    }
    let mut open = Vec::new();
    let mut trees = confinement.read.clone();
    while let Some(tree) = trees.pop() {
        if hidden.iter().any(|path| tree.starts_with(path)) {
            continue;
        }
        if !hidden.iter().any(|path| path.starts_with(&tree)) {
            open.push(tree);
            continue;
        }
        let entries = fs::read_dir(&tree).into_iter().flatten().flatten();
        let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
        trees.extend(plain.map(|entry| entry.path()));
    }
    open
}

/// Returns `trees` and the writable trees that only the child uses.
fn with_private_trees(trees: &[PathBuf], confinement: &Confinement) -> Vec<PathBuf> {
    let mut all = trees.to_vec();
    if let Ok(den) = private_dir() {
        all.extend(confinement.write.iter().filter(|tree| tree.starts_with(&den)).cloned());
    }
    all
}

fn landlock_error(why: impl Display) -> SandboxError {
    SandboxError::Rules { what: "Landlock", why: why.to_string() }
}
