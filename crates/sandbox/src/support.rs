//! Detects the sandbox mechanisms of this system.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::raw::child;
use crate::raw::namespace::{self, NamespaceError};
use crate::{SandboxError, SandboxSupport};

/// Queries the kernel's mechanisms; creates namespaces to test them.
pub fn support() -> SandboxSupport {
    let namespaces = namespace::build(&[], None);
    SandboxSupport {
        landlock: child::landlock_version().ok(),
        seccomp: child::has_seccomp(),
        user_namespaces: namespaces.is_ok(),
        user_namespaces_error: namespaces.err().map(|failure| match failure {
            NamespaceError::Refused(error) | NamespaceError::Io(error) => error.to_string(),
            NamespaceError::Path(path, error) => format!("{}: {error}", path.display()),
        }),
        bubblewrap: find_bubblewrap(),
    }
}

/// Returns the Landlock ABI version, or an error with a hint on how to enable
/// it.
pub(crate) fn require_landlock() -> Result<u32, SandboxError> {
    child::landlock_version().map_err(|error| SandboxError::Unsupported {
        what: "Landlock",
        why: error.to_string(),
        hint: "run Linux 5.13 or newer with `landlock` in the `lsm=` list of the kernel \
               command line, or allow unconfined children",
    })
}

/// Fails if system calls cannot be filtered.
pub(crate) fn require_seccomp() -> Result<(), SandboxError> {
    if child::has_seccomp() {
        return Ok(());
    }
    Err(SandboxError::Unsupported {
        what: "seccomp filters",
        why: "the kernel does not support them".to_owned(),
        hint: "run a kernel with CONFIG_SECCOMP_FILTER, or allow unconfined children",
    })
}

/// Converts an error of creating a namespace.
pub(crate) fn namespace_error(failure: NamespaceError) -> SandboxError {
    match failure {
        NamespaceError::Refused(error) => SandboxError::Unsupported {
            what: "user namespaces (to mask protected or hidden paths inside allowed trees)",
            why: error.to_string(),
            hint: "set the sysctls kernel.apparmor_restrict_unprivileged_userns=0 and \
                   user.max_user_namespaces above 0, in a container allow `unshare` and \
                   `mount`, or remove the protected and hidden paths from the allowed trees",
        },
        NamespaceError::Path(path, source) => SandboxError::Path { path, source },
        NamespaceError::Io(error) => SandboxError::Io(error),
    }
}

/// Returns the first executable `bwrap` on the search path.
pub(crate) fn find_bubblewrap() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|it| it.join("bwrap")).find(
        |file| {
            file.metadata()
                .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        },
    )
}
