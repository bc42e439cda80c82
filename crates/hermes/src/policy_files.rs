//! The files that a policy is made from.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hermes_config::HermesHome;
use hermes_exec::network::registries::UserRegistries;
use hermes_policy::{PathVariables, RegistryLookup};

/// Returns the values of the variables in permission patterns.
pub fn path_variables(home: &HermesHome, workspace: &Path) -> PathVariables {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let workspace = real(workspace);
    let mut temp = vec![real(&std::env::temp_dir())];
    for dir in ["/tmp", "/var/tmp"].map(Path::new).into_iter().filter(|dir| dir.is_dir()) {
        if !temp.contains(&real(dir)) {
            temp.push(real(dir));
        }
    }
    PathVariables {
        // The root of the file system is no workspace.
        workspace: (workspace != Path::new("/")).then_some(workspace),
        home: std::env::home_dir().filter(|home| home.is_absolute()).map(|home| real(&home)),
        hermes: real(home.root()),
        temp,
    }
}

/// Returns the rules of the project that contains the workspace: the nearest
/// `.hermes/hermes_permissions.yaml` in it or above, except the one of the user.
pub fn project_policy_file(places: &PathVariables) -> Option<PathBuf> {
    let workspace = places.workspace.as_deref()?;
    let stop = places.home.as_deref();
    for dir in workspace.ancestors() {
        let ours = dir.join(".hermes");
        let file = ours.join("hermes_permissions.yaml");
        // A dangling symlink counts, so that loading it fails with an error.
        if file.symlink_metadata().is_ok()
            && std::fs::canonicalize(&ours).ok().as_ref() != Some(&places.hermes)
        {
            return Some(file);
        }
        if Some(dir) == stop {
            break;
        }
    }
    None
}

/// Returns a look-up that asks package managers for their registries, and caches
/// the answers.
pub fn registry_lookup(home: &HermesHome) -> RegistryLookup {
    static REGISTRY_LOOKUP: OnceLock<UserRegistries> = OnceLock::new();
    let file = home.root().join("sandbox/registries.json");
    Arc::new(move |manager| {
        REGISTRY_LOOKUP.get_or_init(|| UserRegistries::new(file.clone())).hosts_for(manager)
    })
}
