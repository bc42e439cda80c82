//! The words that make a container, and what tells it from others.

use std::path::Path;

use hermes_core::ToolError;

use super::settings::DockerSettings;

/// A bound that an engine may or may not be able to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceLimit {
    Memory,
    Processors,
    Processes,
    Disk,
}

impl ResourceLimit {
    pub(super) const ALL: [Self; 4] = [Self::Memory, Self::Processors, Self::Processes, Self::Disk];

    /// Its words, if it is wanted.
    pub(super) fn arguments(self, settings: &DockerSettings) -> Option<[String; 2]> {
        let (option, value) = match self {
            Self::Memory => ("--memory", format!("{}m", settings.memory_mb?)),
            Self::Processors => ("--cpus", settings.cpus?.to_string()),
            Self::Processes => ("--pids-limit", settings.pids?.to_string()),
            Self::Disk => ("--storage-opt", format!("size={}m", settings.disk_mb?)),
        };
        Some([option.to_owned(), value])
    }

    /// It, for people.
    pub(super) fn describe(self, settings: &DockerSettings) -> Option<String> {
        Some(match self {
            Self::Memory => format!("{} MB of memory", settings.memory_mb?),
            Self::Processors => format!("{} processors", settings.cpus?),
            Self::Processes => format!("{} processes", settings.pids?),
            Self::Disk => format!("{} MB of disk", settings.disk_mb?),
        })
    }
}

/// Folders that are in memory, in every container, and how.
const TMPFS_MOUNTS: [(&str, &str); 3] = [
    ("/tmp", "exec,nosuid,nodev,size=512m,mode=1777"),
    ("/var/tmp", "noexec,nosuid,nodev,size=256m,mode=1777"),
    ("/run", "noexec,nosuid,nodev,size=64m,mode=755"),
];
/// Those of a container that does not stay.
const EPHEMERAL_TMPFS_MOUNTS: [(&str, &str); 3] = [
    ("/workspace", "exec,nosuid,nodev,size=10g,mode=1777"),
    ("/home", "exec,nosuid,nodev,size=1g,mode=755"),
    ("/root", "exec,nosuid,nodev,size=1g,mode=700"),
];
/// What is kept here of a container that stays, and where it is there.
const PERSISTENT_DIRS: [(&str, &str); 2] = [("home", "/root"), ("workspace", "/workspace")];

/// Whether the user has something of their own in this place: an engine takes
/// only one.
fn is_user_mount(settings: &DockerSettings, folder: &str) -> bool {
    let targets = settings.volumes.iter().filter_map(|volume| volume.split(':').nth(1));
    targets.into_iter().any(|there| Path::new(there) == Path::new(folder))
}

/// Everything that a container is made with, without its name, its labels and
/// its image.
pub(super) fn run_arguments(settings: &DockerSettings, left_out: &[ResourceLimit]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |some: &[&str]| words.extend(some.iter().map(|&word| word.to_owned()));
    add(&["--entrypoint", "sh", "--cap-drop", "ALL"]);
    for capability in settings.granted_capabilities() {
        add(&["--cap-add", &capability]);
    }
    add(&["--security-opt", "no-new-privileges"]);
    for (folder, how) in
        TMPFS_MOUNTS.into_iter().filter(|(folder, _)| !is_user_mount(settings, folder))
    {
        add(&["--tmpfs", &format!("{folder}:rw,{how}")]);
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
            for (folder, how) in
                EPHEMERAL_TMPFS_MOUNTS.into_iter().filter(|(it, _)| !is_user_mount(settings, it))
            {
                add(&["--tmpfs", &format!("{folder}:rw,{how}")]);
            }
        }
        Some(storage) => {
            for (name, folder) in
                PERSISTENT_DIRS.into_iter().filter(|(_, it)| !is_user_mount(settings, it))
            {
                add(&["--volume", &format!("{}:{folder}", storage.join(name).display())]);
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

/// What differs when anything differs.
pub(super) fn fingerprint(settings: &DockerSettings, image: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    let words = run_arguments(settings, &[]);
    for word in words.iter().map(String::as_str).chain([image, settings.start_dir()]) {
        hasher.update(&(word.len() as u64).to_le_bytes()).update(word.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// An image whose name an engine would read as an option is none.
pub(super) fn check_image(settings: &DockerSettings) -> Result<(), ToolError> {
    let image = settings.image.as_str();
    if !image.is_empty() && !image.starts_with('-') && !image.contains(char::is_control) {
        return Ok(());
    }
    Err(ToolError::invalid(format!("docker: {image:?} is no name of an image"))
        .with_hint("Set `terminal.docker_image` to a name such as debian:stable."))
}

/// Folders that are to be seen there must be here: an engine would make them.
pub(super) fn check_volumes(settings: &DockerSettings) -> Result<(), ToolError> {
    for volume in &settings.volumes {
        let mut parts = volume.split(':');
        let (here, there) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if here.is_empty() || !there.starts_with('/') {
            return Err(ToolError::invalid(format!("docker: {volume:?} is no volume")).with_hint(
                "Write it as /folder/here:/folder/there, with :ro at the end to protect it.",
            ));
        }
        // A name without a slash is a volume that the engine keeps.
        if here.contains('/') && !Path::new(here).exists() {
            return Err(ToolError::not_found(format!(
                "docker: {here} is to be seen in the container, and is not there"
            ))
            .with_hint("Make the folder, or take it out of the volumes."));
        }
    }
    if let Some(storage) = settings.storage.as_ref().filter(|_| settings.persistent) {
        for (name, _) in PERSISTENT_DIRS {
            std::fs::create_dir_all(storage.join(name)).map_err(|error| {
                ToolError::io(format!("{} cannot be made", storage.display()), &error)
            })?;
        }
    }
    Ok(())
}

/// The name of a container; engines know few letters.
pub(super) fn container_name(settings: &DockerSettings, word: &str) -> String {
    let plain = |text: &str| -> String {
        let text = text.chars().take(40);
        text.map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
    };
    let mut name = format!("hermes-{}-{}", plain(&settings.profile), plain(&settings.task));
    if settings.persistent {
        // Two names may look the same in these letters.
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
