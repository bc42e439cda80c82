//! The `sh` scripts that install the program on a host and start it. They
//! require only a POSIX shell with the standard utilities.

use crate::bundle::{LOADER_NAME, PROGRAM_NAME, ProgramBundle};

/// Sets the candidate directories `$c` and `$t`, and defines `ours`, which
/// checks that a directory exists and is owned by the user.
const FIND_DIRS_SCRIPT: &str = r#"u=$(id -u); c=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}; t=${TMPDIR:-/tmp}
ours() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }
"#;

/// Name and start command of a bundle on the host.
#[derive(Debug, Clone)]
pub(crate) struct InstallScripts {
    hash: String,
    run_command: String,
}

impl InstallScripts {
    pub(crate) fn for_bundle(bundle: &ProgramBundle) -> Self {
        // The bundle's loader runs it, so it needs none from the host.
        let run = if bundle.has_loader() {
            format!("\"$d/{LOADER_NAME}\" --library-path \"$d\" \"$d/{PROGRAM_NAME}\"")
        } else {
            format!("\"$d/{PROGRAM_NAME}\"")
        };
        Self { hash: bundle.hash.clone(), run_command: run }
    }

    /// Returns a script that starts the program or reports that it is missing.
    pub(crate) fn start_script(&self, arguments: &str) -> String {
        let Self { hash, run_command: run } = self;
        format!(
            "{FIND_DIRS_SCRIPT}for d in ${{c:+\"$c/hermes/{hash}\"}} \"$t/hermes-$u-{hash}\"; do\n\
             ours \"$d\" && [ -x \"$d/{PROGRAM_NAME}\" ] && exec {run} {arguments}\n\
             done\necho hermes-missing\n"
        )
    }

    /// Returns a script that unpacks the bundle from an archive on stdin. It
    /// prints `no-tar` if tar is missing.
    pub(crate) fn unpack_script(&self, word: &str) -> String {
        format!(
            "{}command -v tar >/dev/null 2>&1 || {{ rm -rf \"$q\"; echo no-tar; exit 0; }}\n\
             (cd \"$q\" && tar xof -) || {{ rm -rf \"$q\"; exit 1; }}\n{}",
            self.choose_dir_script(word),
            self.activate_script()
        )
    }

    /// Returns a script that receives one file of the bundle on stdin.
    pub(crate) fn receive_file_script(&self, word: &str, name: &str) -> String {
        let chosen = self.choose_dir_script(word);
        format!(
            "{chosen}cat >\"$q/{name}\" || {{ rm -rf \"$q\"; exit 1; }}\nchmod 755 \"$q/{name}\"\n"
        )
    }

    /// Returns a script that completes an installation file by file.
    pub(crate) fn finish_script(&self, word: &str, bundle: &ProgramBundle) -> String {
        let links = bundle.links.iter().map(|(name, of)| format!("ln -s '{of}' \"$q/{name}\"\n"));
        let links: String = links.collect();
        format!("{}{links}{}", self.choose_dir_script(word), self.activate_script())
    }

    /// Creates the staging directory `$q` beside the final one.
    fn choose_dir_script(&self, word: &str) -> String {
        let hash = &self.hash;
        format!(
            "umask 077\n{FIND_DIRS_SCRIPT}q=\n\
             for b in ${{c:+\"$c/hermes\"}} \"$t\"; do\n\
             mkdir -p \"$b\" 2>/dev/null; [ -w \"$b\" ] || continue\n\
             q=$b/.{hash}.{word}; ours \"$q\" || mkdir \"$q\" 2>/dev/null || {{ q=; continue; }}\n\
             break\ndone\n\
             [ -n \"$q\" ] || {{ echo 'neither the cache folder nor the temporary one can be written' >&2; exit 1; }}\n"
        )
    }

    /// Checks that the program runs and moves it to the first directory where
    /// it does, since some file systems forbid execution.
    fn activate_script(&self) -> String {
        let Self { hash, run_command: run } = self;
        format!(
            "for f in ${{c:+\"$c/hermes/{hash}\"}} \"$t/hermes-$u-{hash}\"; do\n\
             d=$q\n\
             if [ \"${{f%/*}}\" != \"${{q%/*}}\" ]; then\n\
             d=${{f%/*}}/.{hash}.$$; mkdir \"$d\" 2>/dev/null && cp \"$q\"/* \"$d\"/ || {{ rm -rf \"$d\"; continue; }}\n\
             fi\n\
             if e=$({run} --version 2>&1); then\n\
             rm -rf \"$f\"; mv \"$d\" \"$f\" || exit 1\n\
             [ \"$d\" = \"$q\" ] || rm -rf \"$q\"\n\
             exit 0\n\
             fi\n\
             [ \"$d\" = \"$q\" ] || rm -rf \"$d\"\n\
             done\n\
             rm -rf \"$q\"; echo \"it cannot be run there: $e\" >&2; exit 1\n"
        )
    }
}
