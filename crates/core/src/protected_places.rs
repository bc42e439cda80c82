//! The protected places, as data: the policy, the sandbox, the analysis of shell
//! commands and the reference all read these lists.
//!
//! An entry that ends with `/**` is a whole directory tree. The policy protects
//! the targets of entries that are symbolic links as well.

/// Below the home directory: neither read nor written. Keys, credentials, and
/// the logins and conversations of other programs.
pub const HOME_CREDENTIALS: &[&str] = &[
    // Keys.
    ".ssh/**",
    ".gnupg/**",
    ".pki/**",
    ".step/**",
    ".config/age/**",
    ".config/sops/**",
    ".local/share/keyrings/**",
    ".local/share/kwalletd/**",
    "Library/Keychains/**",
    // Logins of command-line clients, by host.
    ".netrc",
    "_netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".curlrc",
    // Version control and forges.
    ".git-credentials",
    ".config/git/credentials",
    ".subversion/auth/**",
    ".config/gh/**",
    ".config/glab-cli/**",
    ".config/hub",
    ".jira.d/**",
    ".circleci/cli.yml",
    ".sentryclirc",
    // Agents and models.
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".gemini/google_accounts.json",
    ".qwen/oauth_creds.json",
    ".config/github-copilot/**",
    ".copilot/**",
    ".local/share/opencode/auth.json",
    ".config/cursor/auth.json",
    ".config/Cursor/User/globalStorage/state.vscdb",
    ".config/Code/User/globalStorage/state.vscdb",
    ".config/Windsurf/User/globalStorage/state.vscdb",
    ".codeium/**",
    ".config/goose/secrets.yaml",
    ".aider.conf.yml",
    ".aider/oauth-keys.env",
    ".continue/config.json",
    ".continue/config.yaml",
    ".local/share/amp/secrets.json",
    ".local/share/crush/crush.json",
    ".local/share/amazon-q/data.sqlite3",
    ".factory/auth.json",
    ".config/io.datasette.llm/keys.json",
    ".openai/**",
    ".anthropic/**",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".huggingface/token",
    ".kaggle/kaggle.json",
    ".modal.toml",
    // Clouds and object stores.
    ".aws/**",
    ".azure/**",
    ".config/gcloud/**",
    ".config/doctl/**",
    ".oci/**",
    ".aliyun/**",
    ".config/scw/**",
    ".config/hcloud/**",
    ".config/openstack/**",
    ".cloudflared/**",
    ".config/.wrangler/**",
    ".boto",
    ".s3cfg",
    ".passwd-s3fs",
    ".mc/**",
    ".config/rclone/**",
    // Developer platforms and services.
    ".fly/config.yml",
    ".config/heroku/**",
    ".config/netlify/**",
    ".config/com.vercel.cli/**",
    ".local/share/com.vercel.cli/**",
    ".railway/**",
    ".supabase/**",
    ".cf/config.json",
    ".config/stripe/**",
    ".config/ngrok/**",
    ".ngrok2/**",
    ".config/configstore/**",
    // Containers and clusters.
    ".docker/config.json",
    ".config/containers/auth.json",
    ".kube/**",
    ".talos/**",
    ".config/argocd/**",
    ".config/helm/registry/**",
    ".config/helm/repositories.yaml",
    // Infrastructure as code, and vaults.
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".tofurc",
    ".pulumi/credentials.json",
    ".chef/**",
    ".vault-token",
    ".doppler/**",
    // Package registries.
    ".npmrc",
    ".config/pnpm/auth.ini",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".local/share/uv/credentials/**",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/gem/credentials",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".sbt/.credentials",
    ".ivy2/.credentials",
    ".hex/hex.config",
    ".pub-cache/credentials.json",
    ".config/dart/pub-credentials.json",
    ".jfrog/**",
    // Databases and data platforms.
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".databrickscfg",
    ".snowflake/**",
    ".snowsql/config",
    ".dbt/profiles.yml",
    ".config/atlascli/**",
    ".local/share/DBeaverData/**",
    // Password managers.
    ".password-store/**",
    ".config/gopass/**",
    ".local/share/gopass/**",
    ".config/op/**",
    ".config/1Password/**",
    ".config/Bitwarden/**",
    ".config/Bitwarden CLI/**",
    ".config/rbw/**",
    ".config/keepassxc/**",
    ".lpass/**",
    ".var/app/com.bitwarden.desktop/**",
    ".var/app/org.keepassxc.KeePassXC/**",
    // Browsers, including snap and flatpak.
    ".mozilla/firefox/**",
    ".config/mozilla/firefox/**",
    ".librewolf/**",
    ".config/google-chrome/**",
    ".config/google-chrome-beta/**",
    ".config/chromium/**",
    ".config/BraveSoftware/**",
    ".config/microsoft-edge/**",
    ".config/microsoft-edge-beta/**",
    ".config/vivaldi/**",
    ".config/opera/**",
    "snap/firefox/**",
    "snap/chromium/**",
    "snap/brave/**",
    "snap/thunderbird/**",
    ".var/app/org.mozilla.firefox/**",
    ".var/app/com.google.Chrome/**",
    ".var/app/org.chromium.Chromium/**",
    ".var/app/com.brave.Browser/**",
    ".var/app/com.microsoft.Edge/**",
    ".var/app/com.vivaldi.Vivaldi/**",
    ".var/app/com.opera.Opera/**",
    ".var/app/io.gitlab.librewolf-community/**",
    "Library/Application Support/Google/Chrome/**",
    "Library/Application Support/Firefox/**",
    "Library/Application Support/BraveSoftware/**",
    "Library/Cookies/**",
    "Library/Safari/**",
    // Chat.
    ".config/Slack/**",
    ".config/Signal/**",
    ".config/discord/**",
    ".config/Element/**",
    ".config/Mattermost/**",
    ".local/share/TelegramDesktop/**",
    ".zoom/**",
    ".irssi/**",
    ".weechat/**",
    ".config/weechat/**",
    ".var/app/com.slack.Slack/**",
    ".var/app/org.signal.Signal/**",
    ".var/app/com.discordapp.Discord/**",
    ".var/app/org.telegram.desktop/**",
    // Mail.
    ".thunderbird/**",
    ".local/share/evolution/**",
    ".config/evolution/**",
    ".muttrc",
    ".config/mutt/**",
    ".config/neomutt/**",
    ".config/aerc/accounts.conf",
    ".msmtprc",
    ".config/msmtp/**",
    ".mbsyncrc",
    ".offlineimaprc",
    ".fetchmailrc",
    ".var/app/org.mozilla.Thunderbird/**",
    // Wallets.
    ".bitcoin/wallet.dat",
    ".bitcoin/wallets/**",
    ".ethereum/keystore/**",
    ".foundry/keystores/**",
    ".electrum/wallets/**",
    ".config/solana/**",
    ".near-credentials/**",
    ".config/Exodus/**",
    ".config/Ledger Live/**",
    ".lnd/**",
    "Monero/wallets/**",
    // Private networks.
    ".openvpn/**",
    ".config/openfortivpn/**",
    ".config/protonvpn/**",
    ".config/Mullvad VPN/**",
    // Command histories.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
    ".rediscli_history",
];

/// Below the home directory: readable, and written only with approval. Every new
/// shell or login runs these.
pub const HOME_SHELL_STARTUP: &[&str] = &[
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
    ".config/fish/**",
];

/// Below the home directory: the same of sessions and services that start
/// automatically.
pub const HOME_AUTOSTART: &[&str] = &[
    ".xinitrc",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".config/systemd/**",
    ".config/autostart/**",
    ".config/environment.d/**",
    ".config/i3/**",
    ".config/sway/**",
    ".config/hypr/**",
    ".local/share/systemd/**",
    ".local/share/applications/**",
    ".local/share/dbus-1/**",
    "Library/LaunchAgents/**",
];

/// Below the home directory: the same of programs, and of settings that programs
/// run or trust later.
pub const HOME_PROGRAM_SETTINGS: &[&str] = &[
    // Programs on the search path.
    ".local/bin/**",
    "go/bin/**",
    ".cargo/bin/**",
    ".cargo/env",
    ".nvm/*.sh",
    ".pyenv/shims/**",
    // Terminals.
    ".tmux.conf",
    ".config/tmux/**",
    ".screenrc",
    ".config/kitty/**",
    ".config/alacritty/**",
    // Version control.
    ".gitconfig",
    ".config/git/config",
    ".config/git/attributes",
    ".config/git/hooks/**",
    ".hgrc",
    ".config/hg/**",
    ".subversion/config",
    // Editors.
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
    ".vscode/argv.json",
    ".config/Code/User/settings.json",
    ".config/Code/User/tasks.json",
    // Debuggers, clients and interpreters.
    ".gdbinit",
    ".config/gdb/**",
    ".lldbinit",
    ".psqlrc",
    ".sqliterc",
    ".wgetrc",
    ".config/curlrc",
    ".lesskey",
    ".mailcap",
    ".irbrc",
    ".pryrc",
    ".Rprofile",
    ".perldb",
    ".pdbrc",
    ".ipython/*/startup/**",
    ".julia/config/**",
    ".local/lib/python*/site-packages/*.pth",
    ".local/lib/python*/site-packages/*customize.py",
    // Package managers and build tools.
    ".pip/**",
    ".config/pip/**",
    ".pydistutils.cfg",
    ".condarc",
    ".cargo/config",
    ".cargo/config.toml",
    ".ansible.cfg",
    ".sbt/**",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".gradle/init.d/**",
    ".mavenrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".config/direnv/**",
    ".config/mise/**",
    ".docker/**",
    // Agents.
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/**",
    ".claude/commands/**",
    ".claude/agents/**",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".cursor/mcp.json",
    ".config/opencode/**",
    ".config/goose/config.yaml",
];

/// Anywhere: read and written only with approval. Variables of a project, whose
/// values may be secrets.
pub const DOTENV_FILES: &[&str] = &["**/.env", "**/.env.*", "**/.env~", "**/.env_*", "**/.envrc"];

/// Common names that [`DOTENV_FILES`] matches, for comparison with the globs of
/// shell commands.
pub const DOTENV_NAMES: &[&str] =
    &[".env", ".env.local", ".env.production", ".env.development", ".env.prod", ".envrc"];

/// Names like those of dotenv files that are meant to be shared.
pub const DOTENV_EXAMPLES: &[&str] =
    &[".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", ".env.schema"];

/// Anywhere: written and deleted only with approval, because other programs run
/// or obey them as soon as the user opens the directory.
pub const AUTO_RUN_FILES: &[&str] = &[
    // Editors: tasks that start with the directory, paths of interpreters.
    "**/.vscode/tasks.json",
    "**/.vscode/launch.json",
    "**/.vscode/settings.json",
    "**/.vscode/extensions.json",
    "**/.idea/**/workspace.xml",
    "**/.idea/runConfigurations/**",
    "**/.zed/settings.json",
    "**/.zed/tasks.json",
    "**/.exrc",
    "**/.nvimrc",
    "**/.nvim.lua",
    "**/.dir-locals.el",
    // Agents: hooks, servers and instructions.
    "**/.claude/settings*.json",
    "**/.claude/hooks/**",
    "**/.claude/commands/**",
    "**/.claude/agents/**",
    "**/.mcp.json",
    "**/.cursor/**/mcp.json",
    "**/.cursor/rules/**",
    "**/.cursorrules",
    "**/.windsurfrules",
    "**/.codex/config.toml",
    "**/.gemini/settings.json",
    "**/.opencode/**",
    "**/AGENTS.md",
    "**/CLAUDE.md",
    "**/GEMINI.md",
    // Containers for development.
    "**/.devcontainer/**",
    "**/.devcontainer.json",
    // Programs and addresses that git uses.
    "**/.husky/**",
    "**/.gitmodules",
    "**/.git/config",
    "**/.git/hooks/**",
    "**/.git/info/attributes",
    "**/.git/modules/**/config",
    "**/.git/modules/**/hooks/**",
    // Build tools and package managers: wrappers, scripts, registries.
    "**/.cargo/config",
    "**/.cargo/config.toml",
    "**/.yarnrc.yml",
    "**/.npmrc",
    // Debuggers.
    "**/.gdbinit",
    "**/.lldbinit",
    // Environments that a shell loads when it enters the directory.
    "**/.direnv/**",
    "**/.mise.toml",
    "**/mise.toml",
];

/// Anywhere: neither read nor written.
pub const SECRET_FILES: &[&str] = &[
    // Keys and credentials, by their names.
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
    // System credentials.
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
    "/run/secrets/**",
    "/var/run/secrets/**",
    // Other users.
    "/root/.ssh/**",
    "/home/*/.ssh/**",
    "/home/*/.aws/**",
    "/home/*/.gnupg/**",
    // Sockets of container engines.
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    // Memory and environments of processes.
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

/// Anywhere: never written.
pub const SYSTEM_SETUP: &[&str] = &[
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
    // Pointers of git to the settings and hooks of a repository.
    "**/.git/config.worktree",
    "**/.git/commondir",
    "**/.git/gitdir",
    "**/.git/modules/**/config.worktree",
    "**/.git/modules/**/commondir",
    "**/.git/worktrees/*/config.worktree",
    "**/.git/worktrees/*/commondir",
    "**/.git/worktrees/*/gitdir",
    // Project settings of hermes.
    "**/.hermes/**",
];

/// Among [`SYSTEM_SETUP`]: what every new shell runs.
pub const SYSTEM_SHELL_STARTUP: &[&str] = &[
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/profile.d/**",
    "/etc/zsh/**",
    "/etc/environment",
    "/etc/ld.so.preload",
];

/// Among [`SYSTEM_SETUP`]: what starts automatically.
pub const SYSTEM_AUTOSTART: &[&str] = &[
    "/etc/systemd/**",
    "/lib/systemd/**",
    "/usr/lib/systemd/**",
    "/etc/init.d/**",
    "/etc/cron.d/**",
    "/etc/crontab",
    "/etc/cron.daily/**",
    "/etc/cron.hourly/**",
    "/var/spool/cron/**",
    "/Library/LaunchDaemons/**",
    "/etc/rc.local",
];

/// Among [`SYSTEM_SETUP`]: accounts and their rights.
pub const SYSTEM_ACCOUNTS: &[&str] =
    &["/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/sudoers.d/**", "/etc/group"];

/// Devices that are safe to read and write.
pub const HARMLESS_DEVICES: &[&str] =
    &["null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr"];

/// Below the hermes home: what tools may read and write.
pub const HERMES_HOME_OPEN: &[&str] =
    &["cache/**", "skills/**", "memories/**", "tmp/**", "workspace/**"];

/// Below the hermes home: never read.
pub const HERMES_HOME_SECRET: &[&str] = &[
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
    // Conversations, with the files that SQLite creates beside its database.
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
    // Holding one of these locks blocks changes to what it guards.
    "config.yaml.lock",
    "*.lock",
    "cron/*.lock",
    "memories/*.lock",
    // Variables of sessions, with the values of secrets.
    "session-state/**",
    // Homes of other profiles.
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

/// Among these: files that come and go at run time. The sandbox hides them in
/// advance, so a long-lived child has the same limits as the next one.
pub const HERMES_HOME_TRANSIENT: &[&str] = &[
    "sessions.db",
    "sessions.db-wal",
    "sessions.db-shm",
    "approvals.json",
    "approvals.json.lock",
    "config.yaml.lock",
];

/// All lists, with what the policy does about each; for the reference.
pub const PLACE_LISTS: &[PlaceList] = &[
    PlaceList { base: "~", rule: "never read or written", places: HOME_CREDENTIALS },
    PlaceList { base: "", rule: "never read or written", places: SECRET_FILES },
    PlaceList { base: "$HERMES_HOME", rule: "never read or written", places: HERMES_HOME_SECRET },
    PlaceList { base: "", rule: "never written", places: SYSTEM_SETUP },
    PlaceList { base: "", rule: "read or written with approval", places: DOTENV_FILES },
    PlaceList { base: "~", rule: "written with approval", places: HOME_SHELL_STARTUP },
    PlaceList { base: "~", rule: "written with approval", places: HOME_AUTOSTART },
    PlaceList { base: "~", rule: "written with approval", places: HOME_PROGRAM_SETTINGS },
    PlaceList { base: "", rule: "written with approval", places: AUTO_RUN_FILES },
];

/// One list of protected places.
#[derive(Debug, Clone, Copy)]
pub struct PlaceList {
    /// The directory that the places are below; empty for patterns that match
    /// anywhere.
    pub base: &'static str,
    /// What the policy does about them.
    pub rule: &'static str,
    /// The places.
    pub places: &'static [&'static str],
}
