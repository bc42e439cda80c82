//! Places that are protected in every profile, unless one lays them open by
//! name: keys, credential stores, devices, start-up files, our own state.

use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::globs::Globs;
use crate::pattern::{Places, escape, fold, is_within};
use crate::scattered::{is_scattered, spread};

/// Below the home folder: neither read nor written.
const HOME_SECRETS: &[&str] = &[
    ".ssh/**",
    ".aws/**",
    ".gnupg/**",
    ".kube/**",
    ".azure/**",
    ".docker/config.json",
    ".config/gh/**",
    ".config/gcloud/**",
    ".config/op/**",
    ".config/git/credentials",
    ".config/rclone/**",
    ".config/doctl/**",
    ".config/hub",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings-security.xml",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".password-store/**",
    ".local/share/keyrings/**",
    ".mozilla/firefox/**",
    ".config/google-chrome/**",
    ".config/chromium/**",
    ".config/BraveSoftware/**",
    "Library/Keychains/**",
    ".bitcoin/wallet.dat",
    ".s3cfg",
    ".boto",
    ".databrickscfg",
    ".snowflake/**",
    ".fly/config.yml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".kaggle/kaggle.json",
    ".config/configstore/**",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/sops/**",
    ".curlrc",
    ".electrum/wallets/**",
    ".bash_history",
    ".zsh_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
    ".rediscli_history",
];

/// Below the home folder: read, but not written, since a program runs it or
/// trusts it later.
const HOME_STARTUP: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".config/zsh/**",
    ".oh-my-zsh/**",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".pam_environment",
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".gitconfig",
    ".config/git/config",
    ".config/git/attributes",
    ".config/git/hooks/**",
    ".hgrc",
    ".config/hg/**",
    ".vimrc",
    ".gvimrc",
    ".exrc",
    ".vim/**",
    ".config/vim/**",
    ".config/nvim/**",
    ".local/share/nvim/site/**",
    ".nanorc",
    ".config/nano/**",
    ".emacs",
    ".emacs.el",
    ".emacs.d/**",
    ".config/emacs/**",
    ".config/helix/**",
    ".tmux.conf",
    ".config/tmux/**",
    ".screenrc",
    ".gdbinit",
    ".config/gdb/**",
    ".lldbinit",
    ".psqlrc",
    ".sqliterc",
    ".wgetrc",
    ".config/curlrc",
    ".irbrc",
    ".pryrc",
    ".Rprofile",
    ".perldb",
    ".pdbrc",
    ".lesskey",
    ".pip/**",
    ".config/pip/**",
    ".pydistutils.cfg",
    ".condarc",
    ".cargo/config",
    ".cargo/config.toml",
    ".ansible.cfg",
    ".ipython/*/startup/**",
    ".julia/config/**",
    ".local/lib/python*/site-packages/*.pth",
    ".local/lib/python*/site-packages/*customize.py",
    ".mailcap",
    ".nvm/*.sh",
    ".pyenv/shims/**",
    ".sbt/**",
    ".subversion/config",
    ".terraformrc",
    "go/bin/**",
    ".cargo/env",
    ".cargo/bin/**",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".gradle/init.d/**",
    ".mavenrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/direnv/**",
    ".config/mise/**",
    ".config/i3/**",
    ".config/sway/**",
    ".config/hypr/**",
    ".config/kitty/**",
    ".config/alacritty/**",
    ".local/bin/**",
    ".local/share/applications/**",
    ".local/share/dbus-1/**",
    ".vscode/argv.json",
    ".config/Code/User/settings.json",
    ".config/Code/User/tasks.json",
    ".claude.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/**",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".cursor/mcp.json",
    ".config/fish/**",
    ".config/systemd/**",
    ".config/autostart/**",
    ".config/environment.d/**",
    ".docker/**",
    ".local/share/systemd/**",
    "Library/LaunchAgents/**",
];

/// Anywhere: neither read nor written.
const SECRETS: &[&str] = &[
    "**/.env",
    "**/.env.*",
    "**/.env~",
    "**/.env_*",
    "**/.envrc",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ed25519",
    "**/id_ecdsa_sk",
    "**/id_ed25519_sk",
    "**/*.tfstate",
    "**/*.tfstate.backup",
    "**/config/master.key",
    "**/service-account*.json",
    "**/service_account*.json",
    "**/*.p12",
    "**/*.pfx",
    "**/*.kdbx",
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers",
    "/etc/sudoers.d/**",
    "/etc/ssh/*_key",
    "/etc/ssl/private/**",
    "/etc/krb5.keytab",
    "/etc/wireguard/**",
    "/etc/kubernetes/admin.conf",
    "/etc/NetworkManager/system-connections/**",
    "/tmp/krb5cc_*",
    "/root/.ssh/**",
    "/home/*/.ssh/**",
    "/home/*/.aws/**",
    "/home/*/.gnupg/**",
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/secrets/**",
    "/var/run/secrets/**",
    "/proc/kcore",
    "/proc/kmem",
    "/proc/kallsyms",
    "/proc/sysrq-trigger",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/maps",
    "/proc/*/smaps",
    "/proc/*/smaps_rollup",
    "/proc/*/numa_maps",
    "/proc/*/pagemap",
    "/proc/*/auxv",
    "/proc/*/cmdline",
    "/proc/*/fd/*",
    "/proc/*/map_files/**",
    "/proc/*/stack",
    "/proc/*/syscall",
    "/proc/*/task/*/environ",
    "/proc/*/task/*/mem",
    "/proc/*/task/*/maps",
    "/proc/*/task/*/smaps",
    "/proc/*/task/*/numa_maps",
    "/proc/*/task/*/pagemap",
    "/proc/*/task/*/auxv",
    "/proc/*/task/*/cmdline",
    "/proc/*/task/*/stack",
    "/proc/*/task/*/syscall",
    "/proc/*/task/*/fd/*",
];

/// Anywhere: not written.
const PROTECTED: &[&str] = &[
    "/etc/**",
    "/boot/**",
    "/dev/**",
    "/proc/**",
    "/sys/**",
    "/usr/lib/systemd/**",
    "/lib/systemd/**",
    "/private/etc/**",
    "/private/var/**",
    "/var/spool/cron/**",
    "/var/spool/at/**",
    "/var/lib/docker/**",
    "**/.git/hooks/**",
    "**/.git/config",
    "**/.git/config.worktree",
    "**/.git/commondir",
    "**/.git/gitdir",
    "**/.git/modules/**/hooks/**",
    "**/.git/modules/**/config",
    "**/.git/modules/**/config.worktree",
    "**/.git/modules/**/commondir",
    "**/.git/worktrees/*/config.worktree",
    "**/.git/worktrees/*/commondir",
    "**/.git/worktrees/*/gitdir",
    "**/.git/info/attributes",
    "**/.hermes/**",
];

/// Devices that are safe to read and write.
const HARMLESS_DEVICES: &[&str] =
    &["null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr"];

/// Names like those of secrets that are made to be shared.
const EXAMPLES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema"];

/// Below our own home: what tools may read and write there.
const OURS_OPEN: &[&str] = &["cache/**", "skills/**", "memories/**", "tmp/**", "workspace/**"];

/// Below our own home: what may not even be read.
const OURS_SECRET: &[&str] = &[
    ".env",
    "auth.json",
    "auth.lock",
    ".anthropic_oauth.json",
    "webhook_subscriptions.json",
    "secrets.json",
    "secrets.json*",
    "auth/**",
    "mcp-tokens/**",
    "mcp-server-token",
    "mcp-server-token*",
    "pairing/**",
    "checkpoints/**",
    "chat_history",
    // What was said in all sessions, with the files that SQLite puts beside it.
    "sessions.db",
    "sessions.db-wal",
    "sessions.db-shm",
    "sessions.db-*",
    "state.db",
    "state.db-*",
    "cache/bws_cache.json",
    "skills/.hub/**",
    "logs/audit/**",
    "approvals/**",
    "approvals.json",
    "approvals.json*",
    // Who holds one of these keeps us from changing what it is about.
    "config.yaml.lock",
    "*.lock",
    "cron/*.lock",
    "memories/*.lock",
    // The variables of a session, with the values that secrets stood for.
    "session-state/**",
    // The homes of other profiles.
    "profiles/*/.env",
    "profiles/*/auth.json",
    "profiles/*/secrets.json*",
    "profiles/*/sessions.db*",
    "profiles/*/state.db*",
    "profiles/*/mcp-tokens/**",
    "profiles/*/session-state/**",
    "profiles/*/approvals/**",
    "profiles/*/approvals.json*",
    "profiles/*/*.lock",
    "profiles/*/checkpoints/**",
    "profiles/*/logs/audit/**",
];

/// Among these: what comes and goes while we run. It is hidden beforehand, so
/// that a child which lives on is held as the next one will be.
const OURS_FLEETING: &[&str] = &[
    "sessions.db",
    "sessions.db-wal",
    "sessions.db-shm",
    "approvals.json",
    "approvals.json.lock",
    "config.yaml.lock",
];

/// The protected places, ready to be asked.
#[derive(Debug, Clone)]
pub struct Sensitive {
    secret: Globs,
    protected: Globs,
    open: Globs,
    hermes: PathBuf,
    /// What can be named one by one, for the sandbox.
    named: Vec<PathBuf>,
    /// What of these may come to be at any time.
    fleeting: Vec<PathBuf>,
    /// What has a star in its name, but a fixed place to look for it.
    scattered: Vec<String>,
    guarded: Vec<PathBuf>,
}

impl Sensitive {
    /// The protected places of this user on this machine.
    pub fn new(places: &Places) -> Self {
        let pattern = |base: &Path| escape(base.to_string_lossy().trim_end_matches('/'));
        let below = |base: Option<&Path>, list: &[&str]| -> Vec<String> {
            base.map(pattern)
                .iter()
                .flat_map(|base| list.iter().map(move |item| format!("{base}/{item}")))
                .collect()
        };
        let home = |list: &[&str]| below(places.home.as_deref().map(fold).as_deref(), list);
        let ours = |list: &[&str]| below(Some(&fold(&places.hermes)), list);
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
        let known = places.home.iter().chain([&places.hermes]);
        let bases: Vec<String> = known.map(|base| pattern(&fold(base))).collect();
        let secret: [Vec<String>; 3] = [owned(SECRETS), home(HOME_SECRETS), ours(OURS_SECRET)];
        let protected: [Vec<String>; 3] = [owned(PROTECTED), home(HOME_STARTUP), ours(&["**"])];
        let of_home = |list| named(places.home.as_deref(), list);
        let mut guarded = [named(None, PROTECTED), of_home(HOME_STARTUP)].concat();
        guarded.push(places.hermes.clone());
        // Looked for on the disk, so spelled as it is there.
        let scattered = [
            owned(SECRETS),
            below(places.home.as_deref(), HOME_SECRETS),
            below(Some(&places.hermes), OURS_SECRET),
        ];
        let scattered = scattered.concat().into_iter().filter(|item| is_scattered(item)).collect();
        Self {
            secret: Globs::new(secret.concat(), &bases),
            protected: Globs::new(protected.concat(), &bases),
            open: Globs::new(ours(OURS_OPEN), &bases),
            hermes: fold(&places.hermes).into_owned(),
            named: [
                named(None, SECRETS),
                of_home(HOME_SECRETS),
                named(Some(&places.hermes), OURS_SECRET),
            ]
            .concat(),
            fleeting: named(Some(&places.hermes), OURS_FLEETING),
            scattered,
            guarded,
        }
    }

    /// Whether the path is a device that anyone may read and write.
    pub fn is_harmless_device(path: &Path) -> bool {
        device(path).is_some_and(|name| HARMLESS_DEVICES.contains(&&*name))
    }

    /// Whether the path is where a container engine listens.
    pub(crate) fn is_engine(path: &Path) -> bool {
        let listed = SECRETS.iter().filter(|place| place.ends_with(".sock"));
        listed.into_iter().any(|place| path == Path::new(place))
    }

    /// Why a file must not be read, if so. The path is real and
    /// [folded](crate::fold).
    pub fn refuses_read(&self, folded: &Path) -> Option<&'static str> {
        if let Some(device) = device(folded) {
            // To list a folder is not to open what is in it.
            let is_harmless = HARMLESS_DEVICES.contains(&&*device) || folded.is_dir();
            return (!is_harmless).then_some("a device");
        }
        if is_example(folded) {
            return None;
        }
        // A set that could not be made holds everything.
        let is_secret = self.secret.is_match(folded).unwrap_or(true);
        is_secret.then_some("a private key, a credential store or a secret")
    }

    /// Why a file must not be written or deleted, if so; the same of the path.
    pub fn refuses_write(&self, folded: &Path) -> Option<&'static str> {
        if let Some(why) = self.refuses_read(folded) {
            return Some(why);
        }
        if device(folded).is_some_and(|device| HARMLESS_DEVICES.contains(&&*device)) {
            return None;
        }
        let is_open = || self.open.is_match(folded).unwrap_or(false);
        if is_within(folded, &self.hermes) && is_open() {
            return None;
        }
        let is_protected = self.protected.is_match(folded).unwrap_or(true);
        is_protected.then_some("part of the system's, the shell's or hermes's own set-up")
    }

    /// Why a file must not be made here, if so: a file called `.git` says
    /// where the repository is, and with it whose settings and hooks count. A
    /// folder of that name is a repository, which git itself keeps.
    pub fn refuses_pointer(real: &Path) -> Option<&'static str> {
        let named = real.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        (named && !real.is_dir()).then_some("where git looks for a repository and its settings")
    }

    /// The secret places that have a fixed name.
    pub fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// The secret places that are there now or may be soon, but for those that
    /// can be anywhere.
    pub fn present(&self) -> Vec<PathBuf> {
        let named = self.named.iter().filter(|path| path.exists());
        let named = named.chain(&self.fleeting).cloned();
        named.chain(self.scattered.iter().flat_map(|pattern| spread(pattern))).collect()
    }

    /// Names by which secrets are known in any folder, with at most one star
    /// each, and those that only look like one.
    pub(crate) fn anywhere() -> (Vec<String>, Vec<String>) {
        let names = SECRETS.iter().filter_map(|item| item.strip_prefix("**/"));
        let names = names.filter(|name| !name.contains('/') && name.matches('*').count() <= 1);
        let owned = |name: &str| name.to_owned();
        (names.map(owned).collect(), EXAMPLES.iter().map(|name| owned(name)).collect())
    }

    /// The places with a fixed name that programs trust once they are there.
    /// Nobody trusts what a program remembers of what was typed.
    pub(crate) fn trusted(&self) -> impl Iterator<Item = &PathBuf> {
        let is_history = |path: &Path| path.as_os_str().as_bytes().ends_with(b"_history");
        self.named.iter().chain(&self.guarded).filter(move |path| !is_history(path))
    }

    /// The places with a fixed name that are read, but not written.
    pub fn guarded(&self) -> &[PathBuf] {
        &self.guarded
    }

    /// Whether a folder holds one of the protected places that are there.
    pub fn is_above(&self, folder: &Path) -> bool {
        let all = self.named.iter().chain(&self.guarded);
        all.into_iter().any(|path| path != folder && path.starts_with(folder) && path.exists())
    }
}

fn is_example(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    EXAMPLES.iter().any(|example| example.as_bytes().eq_ignore_ascii_case(name))
}

/// What of a path is below `/dev`.
fn device(path: &Path) -> Option<Cow<'_, str>> {
    let name = path.as_os_str().as_bytes().strip_prefix(b"/dev")?;
    let name = if name.is_empty() { name } else { name.strip_prefix(b"/")? };
    Some(String::from_utf8_lossy(name))
}

/// The places of a list that have a fixed name. What the kernel shows in
/// `/proc` and `/dev` is not kept with the others.
fn named(base: Option<&Path>, list: &[&str]) -> Vec<PathBuf> {
    let plain = list.iter().filter_map(|item| {
        let item = item.strip_suffix("/**").unwrap_or(item);
        let is_plain = !item.contains(['*', '?', '[', '{']);
        match base {
            Some(base) if is_plain => Some(base.join(item)),
            None if is_plain && item.starts_with('/') => Some(PathBuf::from(item)),
            _ => None,
        }
    });
    plain.filter(|path| !path.starts_with("/proc") && !path.starts_with("/dev")).collect()
}

#[cfg(test)]
#[path = "sensitive_tests.rs"]
mod tests;
