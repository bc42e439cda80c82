//! Which mechanisms this system has.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::raw::child;
use crate::raw::namespace::{self, NamespaceError};
use crate::{SandboxError, SandboxSupport};

/// Asks the kernel what it can do; namespaces by making some.
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

/// The version of Landlock, or what to do to have one.
pub(crate) fn require_landlock() -> Result<u32, SandboxError> {
    child::landlock_version().map_err(|error| SandboxError::Unsupported {
        what: "Landlock",
        why: error.to_string(),
        hint: "run Linux 5.13 or newer with `landlock` in the `lsm=` list of the kernel's \
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
        why: "the kernel does not know them".to_owned(),
        hint: "run a kernel with CONFIG_SECCOMP_FILTER, or allow unconfined children",
    })
}

/// The error of a namespace that could not be made.
pub(crate) fn namespace_error(failure: NamespaceError) -> SandboxError {
    match failure {
        NamespaceError::Refused(error) => SandboxError::Unsupported {
            what: "user namespaces, as paths inside allowed trees are protected or hidden",
            why: error.to_string(),
            hint: "set the sysctls kernel.apparmor_restrict_unprivileged_userns=0 and \
                   user.max_user_namespaces above 0, in a container allow `unshare` and \
                   `mount`, or take the protected and hidden paths out of the allowed trees",
        },
        NamespaceError::Path(path, source) => SandboxError::Path { path, source },
        NamespaceError::Io(error) => SandboxError::Io(error),
    }
}

/// The first `bwrap` on the search path that can be run.
pub(crate) fn find_bubblewrap() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|it| it.join("bwrap")).find(
        |file| {
            file.metadata()
                .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        },
    )
}
