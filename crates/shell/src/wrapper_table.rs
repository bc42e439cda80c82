//! The table of programs whose only purpose is to run another program.

use std::sync::LazyLock;

use crate::static_names::StaticNameMap;

/// How to separate a wrapper's own words from the command it runs.
pub(crate) struct WrapperSpec {
    pub(crate) names: &'static [&'static str],
    /// Options that take the next word.
    pub(crate) valued: &'static [&'static str],
    /// Number of the wrapper's own operands before the command.
    pub(crate) own: usize,
    /// Whether `NAME=value` may come before the command.
    pub(crate) assigns: bool,
    /// The word that must come first, such as `run`.
    pub(crate) verb: &'static [&'static str],
    /// Whether a single word is shell source.
    pub(crate) source: bool,
}

const fn plain(names: &'static [&'static str]) -> WrapperSpec {
    valued(names, &[])
}

const fn valued(names: &'static [&'static str], valued: &'static [&'static str]) -> WrapperSpec {
    with_own_words(names, valued, 0)
}

const fn with_own_words(
    names: &'static [&'static str],
    valued: &'static [&'static str],
    own: usize,
) -> WrapperSpec {
    WrapperSpec { names, valued, own, assigns: false, verb: &[], source: false }
}

const fn verb(
    names: &'static [&'static str],
    verb: &'static [&'static str],
    valued: &'static [&'static str],
    own: usize,
) -> WrapperSpec {
    WrapperSpec { names, valued, own, assigns: false, verb, source: false }
}

const fn assigns(names: &'static [&'static str], valued: &'static [&'static str]) -> WrapperSpec {
    WrapperSpec { names, valued, own: 0, assigns: true, verb: &[], source: false }
}

const fn source(names: &'static [&'static str], valued: &'static [&'static str]) -> WrapperSpec {
    WrapperSpec { names, valued, own: 0, assigns: false, verb: &[], source: true }
}

pub(crate) const XARGS_VALUED: &[&str] = &[
    "-I",
    "-n",
    "-P",
    "-L",
    "-d",
    "-a",
    "-s",
    "-E",
    "--max-args",
    "--max-procs",
    "--delimiter",
    "--arg-file",
    "--max-chars",
    "--process-slot-var",
];
const SUDO_VALUED: &[&str] = &[
    "-u",
    "-g",
    "-h",
    "-p",
    "-C",
    "-D",
    "-R",
    "-T",
    "-U",
    "-r",
    "-t",
    "--user",
    "--group",
    "--host",
    "--prompt",
    "--chdir",
    "--chroot",
    "--close-from",
    "--other-user",
    "--role",
    "--type",
    "--command-timeout",
];

const PERF_VALUED: &[&str] =
    &["-e", "-o", "-p", "-t", "-F", "-c", "-C", "-r", "-I", "-G", "-m", "-x"];
const TIME_VALUED: &[&str] = &["-f", "-o", "--format", "--output"];
const TIMEOUT_VALUED: &[&str] = &["-s", "-k", "--signal", "--kill-after"];
const TRACE_VALUED: &[&str] = &[
    "-e", "-o", "-p", "-s", "-P", "-u", "-E", "-a", "-b", "-I", "-O", "-S", "-n", "-l", "-x", "-A",
    "-F",
];
const SETPRIV_VALUED: &[&str] = &[
    "--reuid",
    "--regid",
    "--groups",
    "--inh-caps",
    "--ambient-caps",
    "--bounding-set",
    "--securebits",
    "--pdeathsig",
    "--selinux-label",
    "--apparmor-profile",
    "--ruid",
    "--euid",
    "--rgid",
    "--egid",
];
const SYSTEMD_RUN_VALUED: &[&str] = &[
    "-p",
    "--property",
    "-u",
    "--unit",
    "--slice",
    "-M",
    "--machine",
    "-E",
    "--setenv",
    "--description",
    "--uid",
    "--gid",
    "--nice",
    "--working-directory",
    "-H",
    "--host",
    "--on-active",
    "--on-boot",
    "--on-calendar",
    "--timer-property",
    "--service-type",
];
const WATCHER_VALUED: &[&str] = &[
    "-w",
    "--watch",
    "-e",
    "--exts",
    "-i",
    "--ignore",
    "-s",
    "--signal",
    "-d",
    "--debounce",
    "-f",
    "--filter",
    "-E",
    "--env",
    "-W",
    "--watch-non-recursive",
    "--shell",
    "--stop-signal",
    "--stop-timeout",
    "--workdir",
    "--delay-run",
    "--fs-events",
    "--on-busy-update",
    "-o",
];
const PACKAGE_RUN_VALUED: &[&str] = &[
    "--with",
    "--with-requirements",
    "--with-editable",
    "--index",
    "--index-url",
    "--default-index",
    "--extra-index-url",
    "--find-links",
    "--python",
    "-p",
    "--extra",
    "--group",
    "--project",
    "--env-file",
    "--package",
    "--directory",
    "-C",
    "-n",
    "--name",
    "--prefix",
    "--cwd",
    "-e",
    "--environment",
    "-f",
    "--config",
    "-c",
];

/// Options of env that take a value, except the one that splits it into words.
pub(crate) const ENV_VALUED: &[&str] = &["-a", "--argv0", "-C", "--chdir", "-P", "-u", "--unset"];

/// Returns how many values an option of bwrap takes; `None` if it is unknown.
pub(crate) fn bwrap_value_count(option: &str) -> Option<usize> {
    Some(match option {
        "--as-pid-1"
        | "--assert-userns-disabled"
        | "--clearenv"
        | "--die-with-parent"
        | "--disable-userns"
        | "--help"
        | "--level-prefix"
        | "--new-session"
        | "--share-net"
        | "--unshare-all"
        | "--unshare-cgroup"
        | "--unshare-cgroup-try"
        | "--unshare-ipc"
        | "--unshare-net"
        | "--unshare-pid"
        | "--unshare-user"
        | "--unshare-user-try"
        | "--unshare-uts"
        | "--version" => 0,
        "--add-seccomp-fd" | "--args" | "--argv0" | "--block-fd" | "--cap-add" | "--cap-drop"
        | "--chdir" | "--dev" | "--dir" | "--exec-label" | "--file-label" | "--gid"
        | "--hostname" | "--info-fd" | "--json-status-fd" | "--lock-file" | "--mqueue"
        | "--overlay-src" | "--perms" | "--pidns" | "--proc" | "--remount-ro" | "--ro-overlay"
        | "--seccomp" | "--size" | "--sync-fd" | "--tmp-overlay" | "--tmpfs" | "--uid"
        | "--unsetenv" | "--userns" | "--userns-block-fd" | "--userns2" => 1,
        "--bind" | "--bind-data" | "--bind-fd" | "--bind-try" | "--chmod" | "--dev-bind"
        | "--dev-bind-try" | "--file" | "--ro-bind" | "--ro-bind-data" | "--ro-bind-fd"
        | "--ro-bind-try" | "--setenv" | "--symlink" => 2,
        "--overlay" => 3,
        _ => return None,
    })
}

/// All wrappers.
pub(crate) const WRAPPER_SPECS: &[WrapperSpec] = &[
    assigns(&["env", "genv"], ENV_VALUED),
    plain(&["command", "builtin", "nohup", "setsid", "busybox", "toybox", "unbuffer", "fakeroot"]),
    valued(&["exec"], &["-a"]),
    valued(&["nice", "gnice"], &["-n", "--adjustment"]),
    valued(&["ionice"], &["-c", "-n", "-p", "-P", "-u", "--class", "--classdata"]),
    valued(&["stdbuf", "gstdbuf"], &["-i", "-o", "-e", "--input", "--output", "--error"]),
    with_own_words(&["timeout", "gtimeout"], TIMEOUT_VALUED, 1),
    valued(&["time", "gtime"], TIME_VALUED),
    valued(&["xargs", "gxargs"], XARGS_VALUED),
    assigns(&["sudo"], SUDO_VALUED),
    assigns(&["doas"], &["-u", "-C", "-a"]),
    valued(&["pkexec"], &["--user"]),
    valued(&["run0"], &["-u", "--user", "-g", "--group", "-D", "--chdir"]),
    with_own_words(&["chroot"], &["--userspec", "--groups"], 1),
    valued(&["unshare"], &["-S", "-G", "-w", "-R", "--wd", "--root", "--setuid", "--setgid"]),
    valued(&["nsenter"], &["-t", "--target", "-S", "-G", "--setuid", "--setgid"]),
    with_own_words(
        &["taskset", "chrt", "setuidgid", "s6-setuidgid", "gosu", "su-exec", "envdir", "s6-envdir"],
        &[],
        1,
    ),
    with_own_words(
        &["envuidgid", "faketime", "dtach", "abduco", "kcov", "uclampset", "lxc-attach"],
        &["-n"],
        1,
    ),
    with_own_words(&["setarch"], &["--uname-2.6"], 1),
    plain(&["linux32", "linux64", "i386", "i686", "x86_64", "uname26", "eatmydata", "nocache"]),
    plain(&["prlimit", "valgrind", "firejail", "catchsegv", "chronic", "heaptrack", "fakechroot"]),
    plain(&[
        "dbus-launch",
        "tini",
        "dumb-init",
        "catatonit",
        "with-contenv",
        "tsocks",
        "steam-run",
    ]),
    plain(&[
        "caffeinate",
        "rlwrap",
        "ts-node-dev",
        "gamemoderun",
        "mangohud",
        "optirun",
        "primusrun",
    ]),
    plain(&["ccache", "sccache", "distcc", "icecc", "scan-build", "bear", "intercept-build"]),
    valued(&["xvfb-run"], &["-s", "-n", "--server-args", "-w", "-e", "-f", "-p"]),
    valued(&["dbus-run-session"], &["--config-file", "--dbus-daemon"]),
    valued(&["proxychains", "proxychains4", "proxychains3"], &["-f"]),
    valued(
        &["torsocks", "torify"],
        &["-a", "-P", "-u", "-p", "--address", "--port", "--user", "--pass"],
    ),
    valued(&["strace", "truss", "dtruss"], TRACE_VALUED),
    valued(
        &["ltrace", "uftrace"],
        &["-a", "-A", "-D", "-e", "-F", "-l", "-n", "-o", "-p", "-s", "-u", "-x", "-w"],
    ),
    valued(&["systemd-run"], SYSTEMD_RUN_VALUED),
    valued(&["systemd-inhibit"], &["--what", "--who", "--why", "--mode"]),
    valued(
        &["systemd-nspawn"],
        &["-D", "-M", "-u", "--directory", "--machine", "--user", "--bind"],
    ),
    valued(&["setpriv"], SETPRIV_VALUED),
    valued(
        &["numactl"],
        &[
            "-N",
            "-m",
            "-C",
            "-i",
            "-p",
            "--cpunodebind",
            "--membind",
            "--physcpubind",
            "--interleave",
        ],
    ),
    valued(&["cgexec"], &["-g"]),
    valued(&["choom"], &["-n", "-p"]),
    valued(&["cpulimit"], &["-l", "-p", "-e", "--limit", "--pid", "--exe"]),
    valued(&["trickle"], &["-d", "-u", "-w", "-t", "-l", "-n"]),
    valued(
        &["chpst", "softlimit"],
        &["-u", "-U", "-b", "-e", "-m", "-d", "-o", "-p", "-f", "-c", "-r", "-t", "-/", "-n"],
    ),
    valued(&["ssh-agent"], &["-a", "-t", "-P"]),
    assigns(&["cross-env", "cross-env-shell"], &[]),
    valued(&["env-cmd"], &["-f", "-e", "-r", "--file", "--environments"]),
    source(&["watchexec"], WATCHER_VALUED),
    source(&["reflex", "gow"], &["-r", "-g", "-R", "-G", "-d"]),
    source(
        &["concurrently", "conc"],
        &["-n", "--names", "-c", "--prefix-colors", "-m", "--prefix", "-p"],
    ),
    source(&["sem"], &["-j", "--jobs", "--id", "--timeout"]),
    source(
        &["xterm", "konsole", "alacritty", "kitty", "urxvt", "foot", "x-terminal-emulator"],
        &["-T", "--title"],
    ),
    source(&["gnome-terminal", "xfce4-terminal"], &["--title", "--working-directory"]),
    verb(
        &["perf"],
        &["stat", "record", "trace", "mem", "c2c", "lock", "kmem", "sched"],
        PERF_VALUED,
        0,
    ),
    verb(&["ip"], &["netns"], &[], 2),
    verb(&["rr"], &["record"], &["-n", "-o"], 0),
    verb(
        &["poetry", "pipenv", "pdm", "hatch", "uv", "rye", "pixi", "conda", "mamba", "micromamba"],
        &["run"],
        PACKAGE_RUN_VALUED,
        0,
    ),
    verb(
        &["bundle", "rbenv", "pyenv", "asdf", "opam", "stack", "cabal", "nodenv", "goenv"],
        &["exec"],
        &[],
        0,
    ),
    verb(&["rustup"], &["run"], &[], 1),
    verb(&["direnv"], &["exec"], &[], 1),
    verb(
        &["npm", "pnpm", "yarn", "lerna", "nx"],
        &["exec", "x"],
        &["-p", "--package", "-w", "-C", "--filter", "-F", "-c", "--call"],
        0,
    ),
    verb(&["mise"], &["exec", "x"], &[], 0),
    verb(
        &["dotenv", "dotenvx", "doppler", "infisical"],
        &["run"],
        &["-f", "-p", "--project", "-c", "--config", "-e"],
        0,
    ),
    verb(&["op"], &["run"], &["--env-file"], 0),
    verb(&["aws-vault", "chamber"], &["exec"], &["-d", "--duration"], 1),
    verb(&["multipass", "distrobox"], &["exec", "enter"], &[], 1),
    verb(&["limactl"], &["shell"], &["--workdir"], 1),
    verb(&["toolbox"], &["run"], &["-c", "--container"], 0),
];

/// Returns the entry of a program. The dynamic loader has many names.
pub(crate) fn find_wrapper(
    program: &str,
    words: &[crate::leaf::ShellWord],
) -> Option<&'static WrapperSpec> {
    const LOADER_WRAPPER: WrapperSpec = valued(
        &["ld.so"],
        &[
            "--library-path",
            "--preload",
            "--argv0",
            "--audit",
            "--inhibit-rpath",
            "--glibc-hwcaps-mask",
        ],
    );
    const LOADER_WRAPPERS: &[WrapperSpec] = &[LOADER_WRAPPER];
    let loads = ["ld-linux", "ld-musl", "ld64.so", "ld-2.", "ld.so"];
    if loads.iter().any(|start| program.starts_with(start)) {
        return LOADER_WRAPPERS.first();
    }
    let first = words.iter().find(|word| !word.text.starts_with('-'));
    WRAPPERS_BY_NAME.get(program)?.iter().copied().find(|wrapper| {
        wrapper.verb.is_empty()
            || first.is_some_and(|word| wrapper.verb.contains(&word.text.as_str()))
    })
}

static WRAPPERS_BY_NAME: LazyLock<StaticNameMap<Vec<&'static WrapperSpec>>> = LazyLock::new(|| {
    let mut table: StaticNameMap<Vec<&'static WrapperSpec>> = StaticNameMap::default();
    for wrapper in WRAPPER_SPECS {
        for name in wrapper.names {
            table.entry(name).or_default().push(wrapper);
        }
    }
    table
});
