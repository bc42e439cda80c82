//! Options of common tools that name a program to run, or code to load.

use std::sync::LazyLock;

use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::{StaticNameMap, by_name};

/// Options of a program whose value is a program or shell source.
struct ExecOptions {
    names: &'static [&'static str],
    options: &'static [&'static str],
    /// Other options that always take the next word as their value.
    valued: &'static [&'static str],
}

const fn exec_options(
    names: &'static [&'static str],
    options: &'static [&'static str],
) -> ExecOptions {
    ExecOptions { names, options, valued: &[] }
}

impl ExecOptions {
    const fn with_valued(self, valued: &'static [&'static str]) -> Self {
        Self { valued, ..self }
    }
}

const EXEC_OPTION_TABLE: &[ExecOptions] = &[
    exec_options(&["rg", "ripgrep"], &["--pre", "--hostname-bin"]).with_valued(&[
        "-A",
        "-B",
        "-C",
        "-E",
        "-M",
        "-T",
        "-e",
        "-f",
        "-g",
        "-j",
        "-m",
        "-r",
        "-t",
        "--after-context",
        "--before-context",
        "--context",
        "--encoding",
        "--file",
        "--glob",
        "--iglob",
        "--ignore-file",
        "--max-columns",
        "--max-count",
        "--max-depth",
        "--pre-glob",
        "--regexp",
        "--replace",
        "--sort",
        "--threads",
        "--type",
        "--type-add",
        "--type-not",
    ]),
    exec_options(&["sort", "gsort"], &["--compress-program"]).with_valued(&[
        "-k",
        "-o",
        "-t",
        "-S",
        "-T",
        "--key",
        "--output",
        "--field-separator",
        "--buffer-size",
        "--temporary-directory",
        "--parallel",
        "--batch-size",
        "--files0-from",
    ]),
    exec_options(&["ls", "eza"], &[]),
    exec_options(&["split", "gsplit"], &["--filter"]).with_valued(&[
        "-a",
        "-b",
        "-C",
        "-l",
        "-n",
        "-t",
        "--suffix-length",
        "--bytes",
        "--lines",
        "--number",
    ]),
    exec_options(&["man"], &["-P", "--pager", "-H", "--html"]).with_valued(&[
        "-C",
        "-L",
        "-M",
        "-S",
        "-s",
        "-e",
        "-m",
        "--config-file",
        "--locale",
        "--manpath",
        "--sections",
        "--extension",
        "--systems",
    ]),
    exec_options(&["bat", "batcat"], &["--pager"]).with_valued(&[
        "-l",
        "-r",
        "-H",
        "-m",
        "--language",
        "--line-range",
        "--highlight-line",
        "--file-name",
        "--theme",
        "--style",
        "--tabs",
        "--wrap",
    ]),
    exec_options(&["delta"], &["--pager"]),
    exec_options(&["ag"], &["--pager"]).with_valued(&[
        "-G",
        "-m",
        "-p",
        "-W",
        "--file-search-regex",
        "--ignore",
        "--ignore-dir",
        "--depth",
        "--max-count",
        "--path-to-ignore",
    ]),
    exec_options(&["ack", "tig", "systemctl", "journalctl"], &["--pager"]),
    exec_options(&["zip"], &["-TT", "--unzip-command"]),
    exec_options(&["go"], &["-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool"]),
    exec_options(&["rsync"], &["-e", "--rsh", "--rsync-path"]),
    exec_options(&["scp", "sftp"], &["-S", "-D"]),
    exec_options(&["lftp", "ftp"], &["-e", "-c"]),
    exec_options(&["mosh"], &["--ssh", "--server"]),
    exec_options(&["fzf", "sk"], &["--preview", "--bind", "--cmd", "-c"]),
    exec_options(&["ctest"], &["--build-makeprogram", "--test-command"]),
    exec_options(&["cmake"], &["-DCMAKE_C_COMPILER_LAUNCHER", "-DCMAKE_CXX_COMPILER_LAUNCHER"]),
    exec_options(&["mysql", "mariadb", "mycli"], &["--pager", "--init-command"]),
    exec_options(&["npm", "pnpm", "yarn"], &["--script-shell"]),
    exec_options(
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        &["-wrapper", "-fplugin", "-specs"],
    ),
    exec_options(&["rustdoc"], &["--runtool", "--test-builder"]),
    exec_options(&["ffmpeg"], &["-init_hw_device"]),
    exec_options(&["pytest", "py.test"], &["--pdbcls", "--rsh"]),
    exec_options(&["tshark", "tcpdump", "wireshark"], &["-z"]),
    exec_options(&["ansible", "ansible-playbook"], &["--ssh-common-args", "--become-method"]),
    exec_options(&["hg"], &["--ssh", "--remotecmd"]),
    exec_options(&["svn"], &["--editor-cmd", "--diff-cmd", "--diff3-cmd"]),
    exec_options(&["mutt", "mail", "mailx"], &["-S"]),
    exec_options(&["diff", "colordiff"], &["--pager"]),
    exec_options(&["x11vnc"], &["-afteraccept", "-gone"]),
    exec_options(&["logrotate"], &["--mail"]),
    exec_options(&["openvpn"], &["--up", "--down", "--route-up", "--ipchange"]),
    exec_options(&["pg_basebackup", "initdb", "pg_ctl"], &["-o"]),
    exec_options(&["exiftool"], &["-if", "-config", "-execute", "-userParam"]),
    exec_options(&["nmap"], &["--script-args-file"]),
    exec_options(&["entr"], &[]),
    exec_options(&["nano"], &["-s", "--speller"]),
    exec_options(&["borg"], &["--rsh", "--remote-path"]),
    exec_options(&["restic"], &["--password-command"]),
    exec_options(&["ldd", "nm", "objcopy"], &["--plugin"]),
];

static OPTIONS_BY_NAME: LazyLock<StaticNameMap<&'static ExecOptions>> =
    LazyLock::new(|| by_name(EXEC_OPTION_TABLE, |entry| entry.names));

/// Finds options that run something.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let program = act.program;
    if let Some(entry) = OPTIONS_BY_NAME.get(program) {
        for code in values_beside(words, entry.options, entry.valued) {
            let plain = entry.names.contains(&"rsync") && is_plain_ssh(&code.text);
            if !plain {
                act.program_option(&code);
            }
        }
    }
    match program {
        "aria2c" => {
            let hooks = words.iter().any(|word| word.text.starts_with("--on-"));
            if hooks {
                act.ask("program-option", "Runs another program after a download");
            }
        }
        "java" | "javaw" | "kotlin" | "scala" => {
            let marks = ["-javaagent", "-agentpath", "-agentlib", "-XX:OnError", "-XX:OnOutOf"];
            if words.iter().any(|word| marks.iter().any(|mark| word.text.starts_with(mark))) {
                act.ask("program-option", "Makes java load or run other code");
            }
        }
        "rustc" | "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "ld" => {
            let linker = values(words, &["-C", "--codegen"]).iter().any(|word| {
                let tool = word.text.strip_prefix("linker=").unwrap_or("");
                tool.starts_with(['.', '/', '~']) && !tool.starts_with("/usr/")
            });
            let parts = words.iter().any(|word| {
                (word.text.starts_with("-B")
                    && program != "rustc"
                    && word.text != "-Bstatic"
                    && word.text != "-Bdynamic"
                    && word.text != "-Bsymbolic")
                    || word.text == "-plugin"
            });
            if linker || parts {
                act.ask("program-option", "Makes a compiler run other programs");
            }
        }
        "mlr" | "miller" => {
            let acts = ["system(", "exec(", "os.", "tee >", "print >", "emit >", "dump >", "| \""];
            if words.iter().any(|word| acts.iter().any(|mark| word.text.contains(mark))) {
                act.ask("interpreter-code", "Runs programs or writes files from an inline script");
            }
        }
        "openssl" => engines(act, words),
        "node" | "nodejs" | "bun" | "ruby" | "mocha" | "ts-node" | "tsx" => preloads(act, words),
        "cargo" => cargo(act, words),
        "npm" | "pnpm" | "yarn" => package_settings(act, words),
        "ssh" | "scp" | "sftp" | "autossh" | "ssh-copy-id" | "sshfs" => ssh(act, words),
        "curl" if !values(words, &["-K", "--config"]).is_empty() => {
            act.ask("program-option", "Reads curl options from a file");
        }
        _ => {}
    }
}

/// The values of options, in the next word or attached. Long options may be
/// abbreviated.
fn values(words: &[ShellWord], options: &[&str]) -> Vec<ShellWord> {
    values_beside(words, options, &[])
}

/// Like [`values`], without the words that are values of the `valued` options.
fn values_beside(words: &[ShellWord], options: &[&str], valued: &[&str]) -> Vec<ShellWord> {
    let mut found = Vec::new();
    let mut is_value = false;
    for (at, word) in words.iter().enumerate() {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word.text == "--" {
            break;
        }
        is_value = word.known && !word.glob && valued.contains(&word.text.as_str());
        let (name, glued) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.text.as_str(), None),
        };
        for option in options {
            let long = option.starts_with("--");
            let short = long && name.len() > 4 && option.starts_with(name);
            let inline = if name == *option || short {
                glued
            } else if !long && option.len() == 2 && word.text.starts_with(option) {
                word.text.get(2..)
            } else {
                continue;
            };
            let value = match inline {
                Some(value) => ShellWord { text: value.to_owned(), ..word.clone() },
                None => words.get(at + 1).cloned().unwrap_or_default(),
            };
            found.push(value);
            break;
        }
    }
    found
}

fn is_plain_ssh(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let ssh = matches!(words.next(), Some("ssh" | "rsync" | "sudo"));
    ssh && !text.to_ascii_lowercase().contains("command")
}

fn engines(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let named = values(words, &["-engine", "-provider", "-provider-path"]);
    let listed = words.first().is_some_and(|word| word.text == "engine")
        && words.iter().skip(1).any(|word| {
            word.text.contains(['/', '.']) || word.text == "dynamic" || word.text == "-pre"
        });
    if listed || named.iter().any(|word| word.text.contains(['/', '.'])) {
        act.ask("program-option", "Makes openssl load other code");
    }
}

/// Asks about preloaded code, unless it is a package or belongs to the project.
fn preloads(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let names: &[&str] = match act.program {
        "ruby" => &["-r"],
        _ => &["-r", "--require", "--import", "--loader", "--experimental-loader", "--preload"],
    };
    for word in values(words, names) {
        let scheme = word.text.contains(':') && !word.text.starts_with("node:");
        let far = word.text.starts_with(['/', '~']) || word.text.starts_with("..");
        let ours = act
            .context
            .absolute(&word)
            .is_some_and(|path| act.context.cwd.is_some_and(|cwd| path.starts_with(cwd)));
        if !word.known || scheme || (far && !ours) {
            act.ask("program-option", format!("Loads other code first ({})", word.text));
        }
    }
}

fn cargo(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const CARGO_EXEC_KEYS: &[&str] = &[
        "wrapper",
        "runner",
        "linker",
        "rustc",
        "rustdoc",
        "credential",
        "alias",
        "env.",
        "program",
    ];
    for setting in values(words, &["--config"]) {
        let (key, value) = setting.text.split_once('=').unwrap_or(("", ""));
        let key = key.to_ascii_lowercase();
        let tool = value.trim().trim_matches(['"', '\'']);
        let plain = matches!(tool, "sccache" | "lld" | "mold" | "clang" | "rust-lld");
        let flags = key.ends_with("rustflags");
        if key.is_empty()
            || (CARGO_EXEC_KEYS.iter().any(|mark| key.contains(mark)) && !plain && !flags)
        {
            act.ask(
                "program-option",
                format!("Makes cargo run another program ({})", setting.text),
            );
        }
    }
    let at = words.iter().position(|word| word.text == "watch");
    if let Some(at) = at.filter(|at| *at < 2) {
        let args =
            CommandArgs::parse(words.get(at + 1..).unwrap_or(&[]), &["-s", "--shell", "-x", "-w"]);
        for code in args.values(&["-s", "--shell"]) {
            act.inner.push(crate::eval_context::InnerCommand::Source(code));
        }
    }
}

/// Whether an npm setting names a program.
pub(super) fn is_running_npm_setting(name: &str) -> bool {
    let name = name.replace('_', "-");
    matches!(
        name.as_str(),
        "script-shell"
            | "shell"
            | "node-options"
            | "git"
            | "editor"
            | "viewer"
            | "browser"
            | "globalconfig"
            | "userconfig"
            | "init-module"
            | "onload-script"
    )
}

fn package_settings(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &[]);
    let sets =
        (args.operand(0) == "config" && args.operand(1) == "set") || args.operand(0) == "set";
    let mut names: Vec<&str> = args.operands.iter().map(|word| word.text.as_str()).collect();
    names.truncate(8);
    let named = names.iter().any(|name| {
        is_running_npm_setting(&name.split('=').next().unwrap_or(name).to_ascii_lowercase())
    });
    if sets && named {
        act.ask("program-option", "Changes which programs npm runs");
    }
    let options = ["--node-options", "--git", "--userconfig", "--globalconfig", "--shell"];
    if args.has(&options) && !values(words, &options).is_empty() {
        act.ask("program-option", "Changes which programs npm runs");
    }
}

/// Asks about ssh settings that run a local program.
fn ssh(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const SSH_EXEC_SETTINGS: &[&str] = &[
        "proxycommand",
        "localcommand",
        "permitlocalcommand",
        "knownhostscommand",
        "pkcs11provider",
        "securitykeyprovider",
        "xauthlocation",
        "include",
        "ssh_command",
        "smartcarddevice",
    ];
    for option in values(words, &["-o"]) {
        let text = option.text.trim_start();
        let (name, code) = text.split_once(['=', ' ']).unwrap_or((text, ""));
        let name = name.to_ascii_lowercase();
        if !SSH_EXEC_SETTINGS.contains(&name.trim()) || code.trim() == "none" || code.trim() == "no"
        {
            continue;
        }
        act.ask("program-option", format!("Makes ssh run another program ({name})"));
        if name.ends_with("command") && name != "permitlocalcommand" {
            let text = code.trim().to_owned();
            act.inner.push(crate::eval_context::InnerCommand::Source(ShellWord { text, ..option }));
        }
    }
    if values(words, &["-F"]).iter().any(|word| word.text != "/dev/null" && word.text != "none")
        || (act.program == "ssh" && !values(words, &["-I"]).is_empty())
    {
        act.ask("program-option", "Loads settings that may run programs from another file (ssh)");
    }
}
