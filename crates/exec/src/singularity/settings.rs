//! Settings of a container.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Settings of an Apptainer or Singularity container.
#[derive(Debug, Clone, PartialEq)]
pub struct SingularitySettings {
    /// A `.sif` file, a directory, or a URI such as `docker://…`.
    pub image: String,
    /// Binds of this machine: `/here:/there`, optionally with `:ro`.
    pub binds: Vec<String>,
    /// A directory for changes; without one they are lost when the container is
    /// closed.
    pub overlay: Option<PathBuf>,
    /// Memory limit in megabytes.
    pub memory_mb: Option<u64>,
    /// Limit of processors.
    pub cpus: Option<f64>,
    /// Whether it has a network.
    pub network: bool,
    /// Start directory of sessions.
    pub directory: Option<OsString>,
    /// Additional environment variables of programs.
    pub environment: BTreeMap<OsString, OsString>,
    /// The program; by default the one that is installed.
    pub program: Option<OsString>,
}

impl Default for SingularitySettings {
    fn default() -> Self {
        Self {
            image: String::new(),
            binds: Vec::new(),
            overlay: None,
            memory_mb: None,
            cpus: None,
            network: true,
            directory: None,
            environment: BTreeMap::new(),
            program: None,
        }
    }
}
