//! Places that are protected in every profile, unless one lays them open by
//! name: keys, credential stores, devices, start-up files, our own state.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::pattern::{Places, fold};

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
    ".electrum/wallets/**",
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
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".pam_environment",
    ".xinitrc",
    ".xprofile",
    ".gitconfig",
    ".config/git/config",
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
    "**/.envrc",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ed25519",
    "**/id_ecdsa_sk",
    "**/id_ed25519_sk",
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers",
    "/etc/sudoers.d/**",
    "/etc/ssh/*_key",
    "/etc/ssl/private/**",
    "/etc/krb5.keytab",
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
    "/proc/*/task/*/environ",
    "/proc/*/task/*/mem",
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
    "secrets.json*",
    "auth/**",
    "mcp-tokens/**",
    "pairing/**",
    "cache/bws_cache.json",
    "skills/.hub/**",
    "logs/audit/audit.key",
    "approvals/**",
];

/// The protected places, ready to be asked.
#[derive(Debug, Clone)]
pub struct Sensitive {
    secret: GlobSet,
    protected: GlobSet,
    open: GlobSet,
    hermes: PathBuf,
    /// What can be named one by one, for the sandbox.
    named: Vec<PathBuf>,
}

impl Sensitive {
    /// The protected places of this user on this machine.
    pub fn new(places: &Places) -> Self {
        let home = |list: &[&str]| -> Vec<String> {
            let base = places.home.iter().map(|home| escape(home));
            base.flat_map(|base| list.iter().map(move |item| format!("{base}/{item}")))
                .collect()
        };
        let hermes = fold(&places.hermes);
        let base = escape(&hermes);
        let ours = |list: &[&str]| list.iter().map(|item| format!("{base}/{item}")).collect();
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
        let lists: [Vec<String>; 3] = [owned(SECRETS), home(HOME_SECRETS), ours(OURS_SECRET)];
        let secret = lists.concat();
        let protected =
            [owned(PROTECTED), home(HOME_STARTUP), vec![format!("{base}/**")]].concat();
        let open: Vec<String> = ours(OURS_OPEN);
        Self {
            named: named(&secret),
            secret: set(&secret),
            protected: set(&protected),
            open: set(&open),
            hermes,
        }
    }

    /// Why a file must not be read, if so. The path is real and folded.
    pub fn refuses_read(&self, folded: &Path) -> Option<&'static str> {
        if let Ok(device) = folded.strip_prefix("/dev") {
            let name = device.to_string_lossy();
            let is_harmless = name.is_empty() || HARMLESS_DEVICES.contains(&&*name);
            return (!is_harmless).then_some("a device");
        }
        if is_example(folded) {
            return None;
        }
        self.secret.is_match(folded).then_some("a private key, a credential store or a secret")
    }

    /// Why a file must not be written or deleted, if so.
    pub fn refuses_write(&self, folded: &Path) -> Option<&'static str> {
        if let Some(why) = self.refuses_read(folded) {
            return Some(why);
        }
        if let Ok(device) = folded.strip_prefix("/dev")
            && HARMLESS_DEVICES.contains(&&*device.to_string_lossy())
        {
            return None;
        }
        if folded.starts_with(&self.hermes) && self.open.is_match(folded) {
            return None;
        }
        self.protected
            .is_match(folded)
            .then_some("part of the system's, the shell's or hermes's own set-up")
    }

    /// The secret places that have a fixed name.
    pub fn named(&self) -> &[PathBuf] {
        &self.named
    }
}

fn is_example(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
    name.is_some_and(|name| EXAMPLES.contains(&name.as_str()))
}

fn escape(path: &Path) -> String {
    globset::escape(&path.to_string_lossy()).trim_end_matches('/').to_owned()
}

fn set(patterns: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        let mut add = |text: &str| {
            let glob = GlobBuilder::new(text)
                .literal_separator(true)
                .case_insensitive(true)
                .build();
            if let Ok(glob) = glob {
                builder.add(glob);
            }
        };
        add(pattern);
        if let Some(root) = pattern.strip_suffix("/**") {
            add(root);
        }
    }
    builder.build().unwrap_or_default()
}

/// The patterns that are a path, or a path and everything below it.
fn named(patterns: &[String]) -> Vec<PathBuf> {
    let plain = patterns.iter().filter_map(|pattern| {
        let base = pattern.strip_suffix("/**").unwrap_or(pattern);
        let is_plain = base.starts_with('/') && !base.contains(['*', '?', '[', '{']);
        (is_plain && !base.starts_with("/proc")).then(|| PathBuf::from(base.replace('\\', "")))
    });
    plain.collect()
}

#[cfg(test)]
#[path = "sensitive_tests.rs"]
mod tests;
