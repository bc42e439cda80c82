//! What is said of a container in the configuration.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// A container of Apptainer or Singularity.
#[derive(Debug, Clone, PartialEq)]
pub struct SingularitySettings {
    /// A `.sif` file, a folder, or an address such as `docker://…`.
    pub image: String,
    /// What of this machine is seen in it: `/here:/there`, perhaps with `:ro`.
    pub binds: Vec<String>,
    /// A folder that keeps what is changed in it; without one that is lost
    /// when it is closed.
    pub overlay: Option<PathBuf>,
    /// Megabytes of memory at most.
    pub memory_mb: Option<u64>,
    /// Processors at most.
    pub cpus: Option<f64>,
    /// Whether it has a network.
    pub network: bool,
    /// The folder that sessions begin in.
    pub directory: Option<OsString>,
    /// What programs find in their environment beside what the image says.
    pub environment: BTreeMap<OsString, OsString>,
    /// The program; else the one of the two that is installed.
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
