//! Programs that manage the machine: power, processes, services, disks,
//! accounts, schedules.

use std::sync::LazyLock;

use hermes_core::Scope;

use crate::args::{CommandArgs, asks_for_help};
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;
use crate::static_names::{StaticNameMap, by_name};

/// Programs that always ask, whatever their arguments, with category and
/// reason.
const ALWAYS_ASK_PROGRAMS: &[(&[&str], &str, &str)] = &[
    (&["insmod", "rmmod", "modprobe", "kexec", "depmod"], "kernel", "Changes the running kernel"),
    (
        &["umount", "swapoff", "swapon", "losetup", "pivot_root"],
        "kernel",
        "Changes the mounted filesystems",
    ),
    (
        &[
            "useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupdel",
            "groupmod", "passwd", "chpasswd", "visudo", "vipw", "gpasswd", "chsh", "chfn", "dscl",
            "newusers",
        ],
        "users",
        "Changes accounts",
    ),
    (
        &["iptables", "ip6tables", "ufw", "nft", "firewall-cmd", "ebtables", "pfctl", "ipset"],
        "firewall",
        "Changes the firewall",
    ),
    (
        &[
            "gdisk",
            "cfdisk",
            "lvremove",
            "vgremove",
            "pvremove",
            "lvreduce",
            "lvcreate",
            "vgcreate",
            "pvcreate",
            "mdadm",
            "cryptsetup",
            "zpool",
            "zfs",
            "resize2fs",
            "tune2fs",
            "fsck",
            "e2fsck",
            "hdparm",
            "badblocks",
            "partprobe",
            "btrfs",
        ],
        "disk",
        "Changes disks",
    ),
    (
        &[
            "setenforce",
            "aa-disable",
            "apparmor_parser",
            "auditctl",
            "setcap",
            "update-alternatives",
            "update-grub",
            "grub-install",
            "efibootmgr",
            "bcdedit",
        ],
        "system-setting",
        "Changes the security or boot settings of the machine",
    ),
    (
        &[
            "timedatectl",
            "hostnamectl",
            "localectl",
            "networksetup",
            "scutil",
            "nmcli",
            "defaults",
            "spctl",
            "csrutil",
            "nvram",
        ],
        "system-setting",
        "Changes system settings",
    ),
];

/// Describes programs that manage the machine.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let program = act.program;
    if is_mkfs(program) {
        format_disk(act, words);
        return true;
    }
    match program {
        "shutdown" | "reboot" | "halt" | "poweroff" => power(act, words),
        "init" | "telinit" => {
            if matches!(CommandArgs::parse(words, &[]).operand(0), "0" | "6") {
                act.block("power-off", "Shuts down or reboots the machine");
            } else if !words.is_empty() {
                act.ask("service-control", "Changes the state of the whole machine");
            }
        }
        "systemctl" | "service" | "launchctl" | "rc-service" | "rc-update" | "chkconfig"
        | "update-rc.d" | "initctl" | "supervisorctl" | "pm2" | "sv" | "loginctl" => {
            services(act, words);
        }
        "kill" => kill(act, words),
        "pkill" | "killall" | "skill" | "xkill" | "killall5" => kill_by_name(act, words),
        "renice" => act.affect_any(Scope::PROCESS_MANAGE),
        "crontab" => crontab(act, words),
        "at" | "batch" | "atrm" | "anacron" => {
            if !words.iter().any(|word| word.text == "-l" || word.text == "-V") {
                act.affect_any(Scope::SCHEDULE_WRITE);
                act.ask("persistence", "Schedules a command to run later");
            }
        }
        "atq" => act.mark_read_only(),
        "sysctl" => {
            let writes = words.iter().any(|word| {
                word.text.contains('=')
                    || matches!(word.text.as_str(), "-w" | "-p" | "--system" | "--write")
            });
            if writes {
                act.ask("kernel", "Changes the running kernel")
            } else {
                act.mark_read_only()
            }
        }
        "mount" => {
            if words.iter().any(|word| !word.text.starts_with('-')) {
                act.ask("kernel", "Changes the mounted filesystems");
            } else {
                act.mark_read_only();
            }
        }
        "fdisk" | "sfdisk" | "sgdisk" | "parted" | "diskutil" | "wipefs" | "blkdiscard"
        | "mkswap" | "hdiutil" => {
            disks(act, program, words);
        }
        "hermes" => check_hermes(act, words),
        "make" | "gmake" | "ninja" | "just" | "task" | "cmake" | "meson" | "bazel" => {
            build(act, words)
        }
        "tmux" | "screen" => multiplexer(act, words),
        "xdg-open" | "open" => {
            let host = words.iter().find_map(|word| super::network::url_host(&word.text));
            if host.is_some() {
                act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
            }
        }
        "gdb" | "lldb" | "cgdb" | "rust-gdb" | "rust-lldb" => debugger(act, words),
        "dbus-send" | "gdbus" | "busctl" | "qdbus" => {
            let reads = words.iter().any(|word| {
                matches!(word.text.as_str(), "list" | "tree" | "introspect" | "status" | "monitor")
            }) && !words.iter().any(|word| word.text == "call");
            if reads {
                act.mark_read_only()
            } else {
                act.ask("service-control", "Sends a command to a system service")
            }
        }
        "sudoedit" | "sudo_edit" => {
            act.ask("privilege", "Edits files as another user");
            words
                .iter()
                .filter(|word| !word.text.starts_with('-'))
                .for_each(|word| act.write(word));
        }
        _ => return check_always_ask(act, program),
    }
    true
}

/// Asks unless the debugger's commands only inspect the program.
fn debugger(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const DEBUGGER_CODE_OPTIONS: &[&str] = &[
        "-ex",
        "-iex",
        "-eval-command",
        "--eval-command",
        "--ex",
        "--iex",
        "--init-eval-command",
        "-o",
        "-O",
        "-k",
        "-K",
        "--one-line",
        "--one-line-before-file",
        "--one-line-on-crash",
    ];
    const HARMLESS_DEBUGGER_COMMANDS: &str = "bt backtrace where run r start quit q continue c next n step s finish \
        info i break b list l frame f up down thread disassemble disas x/ watch display detach \
        delete until register image process target help version bt; set";
    let harmless = |text: &str| {
        let first = text.split_whitespace().next().unwrap_or("");
        let set = first == "set" && !text.contains("pagination") && !text.contains("confirm");
        !set && !text.contains(['!', '|', '`'])
            && HARMLESS_DEBUGGER_COMMANDS.split_whitespace().any(|own| own == first)
    };
    let given = words.iter().enumerate().filter_map(|(at, word)| {
        let (name, glued) = match word.text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.text.as_str(), None),
        };
        let next = || words.get(at + 1).map(|word| word.text.clone());
        DEBUGGER_CODE_OPTIONS.contains(&name).then(|| glued.or_else(next).unwrap_or_default())
    });
    let orders = given.into_iter().any(|order| !harmless(order.trim()));
    let files = ["-p", "-x", "--command", "--pid", "-s", "--source", "-S", "-ix"];
    let flags = words.iter().any(|word| files.contains(&word.text.as_str()));
    if orders || flags || act.context.input.connected {
        act.ask("interpreter-code", "Runs programs from a debugger");
    }
}

fn check_always_ask(act: &mut EffectBuilder<'_>, program: &str) -> bool {
    static ALWAYS_ASK_BY_NAME: LazyLock<StaticNameMap<&'static (&[&str], &str, &str)>> =
        LazyLock::new(|| by_name(ALWAYS_ASK_PROGRAMS, |(names, _, _)| names));
    let Some((_, category, reason)) = ALWAYS_ASK_BY_NAME.get(program) else { return false };
    let texts: Vec<&str> = act.arguments().iter().map(|word| word.text.as_str()).collect();
    let looks = asks_for_help(program, act.arguments())
        || match program {
            "iptables" | "ip6tables" => texts.iter().any(|text| {
                matches!(*text, "-L" | "-S" | "--list" | "-nL" | "-nvL" | "-vnL" | "--list-rules")
            }),
            "ufw" => texts.contains(&"status"),
            "nft" => texts.first() == Some(&"list"),
            "firewall-cmd" => texts.iter().any(|text| {
                text.starts_with("--list") || text.starts_with("--get") || *text == "--state"
            }),
            "zfs" | "zpool" => matches!(texts.first(), Some(&("list" | "status" | "get"))),
            "btrfs" => {
                texts.iter().any(|text| matches!(*text, "show" | "list" | "df" | "usage" | "stats"))
            }
            "mdadm" => {
                texts.iter().any(|text| matches!(*text, "--detail" | "-D" | "--examine" | "-E"))
            }
            "timedatectl" | "hostnamectl" | "localectl" => {
                texts.is_empty()
                    || matches!(texts.first(), Some(&("status" | "show" | "list-timezones")))
            }
            "nmcli" => texts.iter().all(|text| {
                matches!(
                    *text,
                    "device"
                        | "dev"
                        | "connection"
                        | "con"
                        | "show"
                        | "status"
                        | "general"
                        | "d"
                        | "c"
                )
            }),
            "defaults" => matches!(texts.first(), Some(&("read" | "domains" | "find"))),
            "hdparm" => texts.iter().any(|text| matches!(*text, "-I" | "-i" | "-t" | "-T" | "-tT")),
            "losetup" | "swapon" => {
                texts.is_empty()
                    || matches!(texts.first(), Some(&("-a" | "-l" | "--list" | "--show" | "-s")))
            }
            "passwd" => texts.iter().any(|text| matches!(*text, "-S" | "--status")),
            "cryptsetup" => matches!(texts.first(), Some(&("status" | "luksDump" | "isLuks"))),
            "update-alternatives" => {
                texts.iter().any(|text| matches!(*text, "--list" | "--display" | "--query"))
            }
            _ => false,
        };
    if looks {
        act.mark_read_only();
    } else {
        act.ask(category, *reason);
    }
    true
}

fn is_mkfs(program: &str) -> bool {
    program == "mkfs"
        || program.starts_with("mkfs.")
        || matches!(program, "mke2fs" | "mkntfs" | "mkdosfs" | "newfs")
}

fn format_disk(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if asks_for_help(act.program, words) || CommandArgs::parse(words, &[]).operands.is_empty() {
        return act.mark_read_only();
    }
    act.block("format-disk", "Formats a disk and erases its contents");
}

fn disks(act: &mut EffectBuilder<'_>, program: &str, words: &[ShellWord]) {
    if asks_for_help(program, words) {
        return act.mark_read_only();
    }
    let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.text.as_str()));
    let operands = words.iter().any(|word| !word.text.starts_with('-'));
    let short = |letters: &[char]| {
        words.iter().any(|word| {
            word.text.starts_with('-')
                && !word.text.starts_with("--")
                && word.text.contains(letters)
        })
    };
    match program {
        "blkdiscard" | "mkswap" if operands => {
            act.block("format-disk", "Erases the contents of a disk");
        }
        "wipefs"
            if operands
                && (short(&['a', 'o']) || has(&["--all"]))
                && !short(&['n'])
                && !has(&["--no-act"]) =>
        {
            act.block("format-disk", "Erases the contents of a disk");
        }
        "sgdisk" if has(&["-Z", "-o", "--zap-all", "--clear", "-z", "--zap"]) => {
            act.block("format-disk", "Deletes the partitions of a disk");
        }
        "sfdisk"
            if operands
                && !short(&['l', 'd', 'J', 's', 'V'])
                && !has(&["--list", "--dump", "--json", "--verify"]) =>
        {
            act.block("format-disk", "Overwrites the partitions of a disk");
        }
        "parted" if has(&["mklabel", "mktable", "mkpart", "rm", "resizepart", "mkfs"]) => {
            act.block("format-disk", "Changes the partitions of a disk");
        }
        "diskutil"
            if has(&[
                "eraseDisk",
                "eraseVolume",
                "partitionDisk",
                "zeroDisk",
                "secureErase",
                "randomDisk",
                "reformat",
            ]) =>
        {
            act.block("format-disk", "Erases the contents of a disk");
        }
        "diskutil" if has(&["list", "info"]) => act.mark_read_only(),
        "parted" | "fdisk" | "sfdisk" | "sgdisk"
            if short(&['l', 'p', 'd', 'J']) || has(&["print", "--list"]) =>
        {
            act.mark_read_only()
        }
        "wipefs" => act.mark_read_only(),
        _ if operands => act.ask("disk", "Changes the partitions of a disk"),
        _ => {}
    }
}

fn power(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let first = words.iter().map(|word| word.text.as_str()).find(|text| *text != "--no-wall");
    if matches!(first, Some("--help" | "--version" | "-c" | "--show")) {
        return act.mark_read_only();
    }
    act.block("power-off", "Shuts down or reboots the machine");
}

fn services(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &["-t", "-p", "-H", "-M", "-n", "--type", "--property", "--state"],
    );
    let by_place = match act.program {
        "service" | "rc-service" => args.operand(1),
        _ => args.operand(0),
    };
    match by_place {
        "poweroff" | "reboot" | "halt" | "kexec" | "emergency" | "rescue" | "soft-reboot"
            if matches!(act.program, "systemctl" | "loginctl") =>
        {
            act.block("power-off", "Shuts down or reboots the machine");
        }
        "isolate"
            if args.operands.iter().any(|word| {
                ["poweroff", "reboot", "halt", "rescue", "emergency"]
                    .iter()
                    .any(|name| word.text.starts_with(name))
            }) =>
        {
            act.block("power-off", "Shuts down or reboots the machine");
        }
        "status" | "show" | "cat" | "is-active" | "is-enabled" | "is-failed" | "list-units"
        | "list-unit-files" | "list-timers" | "list-sockets" | "list-dependencies" | "list"
        | "get-default" | "help" | "print" | "blame" | "show-environment" | "ls" | "logs"
        | "info" | "describe" | "prettylist" | "jlist" | "list-sessions" | "list-users"
        | "show-session" | "" => act.mark_read_only(),
        verb => {
            let reason = format!("Changes system services ({verb})");
            act.affect_any(Scope::PROCESS_MANAGE);
            act.ask("service-control", reason);
            if matches!(verb, "enable" | "load" | "bootstrap") {
                act.ask("persistence", "Makes a service start automatically");
            }
        }
    }
}

fn kill(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let mut rest = words;
    match words.first().map(|word| word.text.as_str()) {
        Some("-l" | "-L" | "--list" | "--help" | "--version") => return act.mark_read_only(),
        Some("-s" | "-n" | "--signal") => rest = words.get(2..).unwrap_or(&[]),
        Some(text) if text.starts_with('-') && text != "--" && words.len() > 1 => {
            rest = words.get(1..).unwrap_or(&[]);
        }
        _ => {}
    }
    act.affect_any(Scope::PROCESS_MANAGE);
    let alone = words.len() == 1;
    for word in rest.iter().filter(|word| word.text != "--") {
        match word.text.as_str() {
            "-1" if !alone => act.block("kill-everything", "Kills every process"),
            "1" => act.ask("force-kill", "Kills the init process (PID 1)"),
            text if text.contains('$') && !word.known => {}
            _ => {}
        }
    }
}

fn kill_by_name(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    act.affect_any(Scope::PROCESS_MANAGE);
    let lists = matches!(words, [only] if matches!(only.text.as_str(), "-l" | "--list"));
    if lists || asks_for_help(act.program, words) {
        return act.mark_read_only();
    }
    if words.iter().any(|word| !word.text.starts_with('-') && word.text.contains("hermes")) {
        act.ask("hermes-itself", "Stops hermes");
    }
    act.ask("force-kill", "Kills processes by name");
}

fn crontab(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-u"]);
    if args.has(&["-l"]) {
        act.affect_any(Scope::SCHEDULE_READ);
        return act.mark_read_only();
    }
    act.affect_any(Scope::SCHEDULE_WRITE);
    let reason = if args.has(&["-r"]) {
        "Deletes all scheduled jobs"
    } else {
        "Schedules a command to run later"
    };
    act.ask("persistence", reason);
    args.operands.iter().for_each(|word| act.read(word));
}

/// Asks unless the command only reads. The agent must not change its own limits
/// or start another agent without them.
fn check_hermes(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["--profile", "--home", "--config"]);
    let loose = args.has(&["--yolo", "--permissions", "--home"]);
    let looks = match (args.operand(0), args.operand(1)) {
        (
            "" | "tools" | "toolsets" | "audit" | "doctor" | "completions" | "help" | "version",
            _,
        ) => !matches!(
            args.operand(1),
            "clear" | "delete" | "purge" | "prune" | "rm" | "reset" | "set"
        ),
        ("permissions", "check" | "explain" | "show" | "profiles" | "verify" | "list" | "path") => {
            true
        }
        ("config", "get" | "list" | "show" | "path") => true,
        ("checkpoints", "list" | "show" | "diff" | "status") => true,
        _ => false,
    };
    let bare = args.operands.is_empty() && !super::verb_tools::asks_about_itself(words);
    let reason = match args.operand(0) {
        "permissions" | "config" | "audit" | "profile" | "approvals" => {
            "Changes the settings of hermes"
        }
        "secrets" | "secret" | "auth" | "login" => "Accesses the secrets of hermes",
        "uninstall" | "stop" | "reset" => "Stops or removes hermes",
        _ => "Starts hermes inside hermes",
    };
    if !looks || bare || loose {
        act.ask("hermes-itself", reason);
    }
}

fn build(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    super::packages::run_project_code(act);
    let args = CommandArgs::parse(
        words,
        &["-C", "-f", "-B", "-S", "--file", "--makefile", "--directory", "-G", "-I", "-o", "-W"],
    );
    if act.program == "cmake" && args.has(&["-E"]) && args.operand(0) == "rm" {
        act.ask("recursive-delete", "Deletes files");
    }
    let eval = words.iter().any(|word| {
        word.text.starts_with("--eval")
            || (word.text.starts_with("-E")
                && act.program.ends_with("make")
                && act.program != "cmake")
    });
    let rules = args.values(&["-f", "--file", "--makefile"]);
    let piped = rules.iter().any(|word| matches!(word.text.as_str(), "-" | "/dev/stdin"));
    if eval || piped {
        act.ask("interpreter-code", "Passes build rules in the command itself");
    }
    for file in &rules {
        act.run_file(file);
    }
    let shell = words.iter().any(|word| word.text.starts_with("SHELL="));
    if shell {
        act.ask("env-override", "Makes the build run another shell");
    }
    if words.iter().any(|word| word.text.contains("$(shell")) {
        act.ask("interpreter-code", "Runs code inside a build");
    }
}

fn multiplexer(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if act.program == "screen" {
        if words.iter().any(|word| word.text == "-X") {
            act.ask("interpreter-code", "Sends commands to another terminal");
        }
        return;
    }
    const TMUX_VALUED_OPTIONS: &[&str] = &["-L", "-S", "-f", "-c", "-T"];
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(TMUX_VALUED_OPTIONS.contains(&word.text.as_str()));
    }
    let global =
        CommandArgs::parse(words.get(..at.min(words.len())).unwrap_or(&[]), TMUX_VALUED_OPTIONS);
    for code in global.values(&["-c"]) {
        act.inner.push(InnerCommand::Source(code));
    }
    let Some(verb) = words.get(at) else { return };
    let rest = words.get(at + 1..).unwrap_or(&[]);
    match verb.text.as_str() {
        "ls" | "list-sessions" | "capture-pane" | "list-windows" | "display-message" => {
            act.mark_read_only()
        }
        "send-keys" | "send" => {
            let args = CommandArgs::parse(rest, &["-t", "-N"]);
            let keys = args
                .operands
                .iter()
                .filter(|word| !matches!(word.text.as_str(), "Enter" | "C-m" | "C-c"));
            for code in keys {
                act.inner.push(InnerCommand::Source(code.clone()));
            }
        }
        "kill-server" | "kill-session" => act.affect_any(Scope::PROCESS_MANAGE),
        "source-file" | "source" | "load-buffer" | "paste-buffer" | "set-hook" => {
            act.ask("interpreter-code", "Passes commands for a terminal to run");
        }
        "if-shell" | "if" | "bind-key" | "bind" | "set-option" | "set" => {
            for code in rest.iter().filter(|word| word.text.contains([' ', '!'])) {
                act.inner.push(InnerCommand::Source(code.clone()));
            }
        }
        "new" | "new-session" | "new-window" | "neww" | "split-window" | "splitw" | "run-shell"
        | "run" | "respawn-pane" | "respawnp" | "respawn-window" | "pipe-pane" | "pipep"
        | "display-popup" | "popup" | "confirm-before" => {
            let args = CommandArgs::parse(
                rest,
                &["-s", "-n", "-c", "-t", "-x", "-y", "-e", "-F", "-l", "-p", "-w", "-h", "-T"],
            );
            match &*args.operands {
                [] => {}
                [only] => act.inner.push(InnerCommand::Source(only.clone())),
                all => act.inner.push(InnerCommand::Words(all.to_vec())),
            }
        }
        _ => {}
    }
}

/// Describes init scripts, which start and stop services.
pub(super) fn init_script(act: &mut EffectBuilder<'_>, program: &ShellWord) {
    let places = ["/etc/init.d/", "/etc/rc.d/", "/usr/local/etc/rc.d/"];
    if !places.iter().any(|place| program.text.starts_with(place)) {
        return;
    }
    let verb = act.words.get(1).map_or("", |word| word.text.as_str());
    if !matches!(verb, "status" | "") {
        act.affect_any(Scope::PROCESS_MANAGE);
        act.ask("service-control", "Changes system services");
    }
}
