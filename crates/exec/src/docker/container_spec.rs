//! Arguments that create a container, and its identity.

use std::path::Path;

use hermes_core::ToolError;

use super::settings::DockerSettings;

/// A resource limit that an engine may be unable to enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceLimit {
    Memory,
    Processors,
    Processes,
    Disk,
}

impl ResourceLimit {
    pub(super) const ALL: [Self; 4] = [Self::Memory, Self::Processors, Self::Processes, Self::Disk];

    /// Its command-line arguments, if it is set.
    pub(super) fn arguments(self, settings: &DockerSettings) -> Option<[String; 2]> {
        let (option, value) = match self {
            Self::Memory => ("--memory", format!("{}m", settings.memory_mb?)),
            Self::Processors => ("--cpus", settings.cpus?.to_string()),
            Self::Processes => ("--pids-limit", settings.pids?.to_string()),
            Self::Disk => ("--storage-opt", format!("size={}m", settings.disk_mb?)),
        };
        Some([option.to_owned(), value])
    }

    /// Describes it for the user.
    pub(super) fn describe(self, settings: &DockerSettings) -> Option<String> {
        Some(match self {
            Self::Memory => format!("{} MB of memory", settings.memory_mb?),
            Self::Processors => format!("{} processors", settings.cpus?),
            Self::Processes => format!("{} processes", settings.pids?),
            Self::Disk => format!("{} MB of disk", settings.disk_mb?),
        })
    }
}

/// Directories in memory in every container, with mount options.
const TMPFS_MOUNTS: [(&str, &str); 3] = [
    ("/tmp", "exec,nosuid,nodev,size=512m,mode=1777"),
    ("/var/tmp", "noexec,nosuid,nodev,size=256m,mode=1777"),
    ("/run", "noexec,nosuid,nodev,size=64m,mode=755"),
];
/// Further ones in a container that is not persistent.
const EPHEMERAL_TMPFS_MOUNTS: [(&str, &str); 3] = [
    ("/workspace", "exec,nosuid,nodev,size=10g,mode=1777"),
    ("/home", "exec,nosuid,nodev,size=1g,mode=755"),
    ("/root", "exec,nosuid,nodev,size=1g,mode=700"),
];
/// Directories of a persistent container that are stored on the host, and their mount
/// points.
const PERSISTENT_DIRS: [(&str, &str); 2] = [("home", "/root"), ("workspace", "/workspace")];

/// Whether the user mounts a volume at this path: an engine accepts only one mount per
/// path.
fn is_user_mount(settings: &DockerSettings, dir: &str) -> bool {
    let targets = settings.volumes.iter().filter_map(|volume| volume.split(':').nth(1));
    targets.into_iter().any(|there| Path::new(there) == Path::new(dir))
}

/// All arguments of a container but its name, labels and image.
pub(super) fn run_arguments(settings: &DockerSettings, left_out: &[ResourceLimit]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |some: &[&str]| words.extend(some.iter().map(|&word| word.to_owned()));
    add(&["--entrypoint", "sh", "--cap-drop", "ALL"]);
    for capability in settings.granted_capabilities() {
        add(&["--cap-add", &capability]);
    }
    add(&["--security-opt", "no-new-privileges"]);
    for (dir, how) in TMPFS_MOUNTS.into_iter().filter(|(dir, _)| !is_user_mount(settings, dir)) {
        add(&["--tmpfs", &format!("{dir}:rw,{how}")]);
    }
    if settings.init {
        add(&["--init"]);
    }
    if !settings.network {
        add(&["--network", "none"]);
    }
    if let Some(user) = &settings.user {
        add(&["--user", user]);
    }
    for limit in ResourceLimit::ALL.iter().filter(|limit| !left_out.contains(limit)) {
        if let Some([option, value]) = limit.arguments(settings) {
            add(&[&option, &value]);
        }
    }
    match &settings.storage {
        _ if !settings.persistent => {
            for (dir, how) in
                EPHEMERAL_TMPFS_MOUNTS.into_iter().filter(|(it, _)| !is_user_mount(settings, it))
            {
                add(&["--tmpfs", &format!("{dir}:rw,{how}")]);
            }
        }
        Some(storage) => {
            for (name, dir) in
                PERSISTENT_DIRS.into_iter().filter(|(_, it)| !is_user_mount(settings, it))
            {
                add(&["--volume", &format!("{}:{dir}", storage.join(name).display())]);
            }
        }
        None => {}
    }
    for volume in &settings.volumes {
        add(&["--volume", volume]);
    }
    words.extend(settings.extra_arguments.iter().cloned());
    words
}

/// A hash of all settings.
pub(super) fn fingerprint(settings: &DockerSettings, image: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    let words = run_arguments(settings, &[]);
    for word in words.iter().map(String::as_str).chain([image, settings.start_dir()]) {
        hasher.update(&(word.len() as u64).to_le_bytes()).update(word.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Rejects an image whose name the engine would read as an option.
pub(super) fn check_image(settings: &DockerSettings) -> Result<(), ToolError> {
    let image = settings.image.as_str();
    if !image.is_empty() && !image.starts_with('-') && !image.contains(char::is_control) {
        return Ok(());
    }
    Err(ToolError::invalid(format!("docker: {image:?} is not a valid image name"))
        .with_hint("Set `terminal.docker_image` to a name such as debian:stable."))
}

/// Checks that volume sources exist: an engine would create them.
pub(super) fn check_volumes(settings: &DockerSettings) -> Result<(), ToolError> {
    for volume in &settings.volumes {
        let mut parts = volume.split(':');
        let (here, there) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if here.is_empty() || !there.starts_with('/') {
            return Err(ToolError::invalid(format!("docker: {volume:?} is not a valid volume"))
                .with_hint(
                    "Write it as /host/path:/container/path, with :ro at the end for read-only.",
                ));
        }
        // A name without a slash is a named volume of the engine.
        if here.contains('/') && !Path::new(here).exists() {
            return Err(ToolError::not_found(format!(
                "docker: the volume source {here} does not exist"
            ))
            .with_hint("Create the directory, or remove it from `terminal.docker_volumes`."));
        }
    }
    if let Some(storage) = settings.storage.as_ref().filter(|_| settings.persistent) {
        for (name, _) in PERSISTENT_DIRS {
            std::fs::create_dir_all(storage.join(name)).map_err(|error| {
                ToolError::io(format!("cannot create {}", storage.display()), &error)
            })?;
        }
    }
    Ok(())
}

/// The container's name, in the characters that engines allow.
pub(super) fn container_name(settings: &DockerSettings, word: &str) -> String {
    let plain = |text: &str| -> String {
        let text = text.chars().take(40);
        text.map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
    };
    let mut name = format!("hermes-{}-{}", plain(&settings.profile), plain(&settings.task));
    if settings.persistent {
        // Distinct names may map to the same characters.
        let whole = format!("{}/{}", settings.home_id(), settings.task);
        name.push_str(&format!("-{}", &blake3::hash(whole.as_bytes()).to_hex()[..8]));
    } else {
        name.push_str(&format!("-{word}"));
    }
    name
}

#[cfg(test)]
#[path = "container_spec_tests.rs"]
mod tests;
