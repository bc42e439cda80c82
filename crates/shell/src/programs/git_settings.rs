//! Git settings that run programs, redirect traffic or remove a safeguard,
//! whether stored, given for one call, or set by a variable.

use std::sync::LazyLock;

use super::git;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::{LeafCommand, ShellWord};
use crate::static_names::StaticNameMap;

/// What the value of a setting means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingUse {
    /// A program, a hook, or a file with more settings.
    Program,
    /// One of git's own tools, or the path of a script.
    Tool,
    /// A program if it starts with `!`.
    BangCommand,
    /// Whom git trusts, or which proxy it uses.
    Trust,
    /// Which transport protocols git may use.
    Protocol,
    /// Where a repository pushes to and pulls from.
    Address,
    /// A URL as in `Address`, or the name of a remote.
    Remote,
    /// Whether untracked files are kept.
    KeepUntracked,
    /// How long git keeps unreachable objects.
    Retention,
}

/// Settings by section and last part, whatever is between them. `*` matches
/// every setting of the section.
const SETTING_USES: &[(&str, &str, SettingUse)] = &[
    ("branch", "remote pushremote", SettingUse::Remote),
    ("browser", "cmd path", SettingUse::Program),
    ("bundle", "uri", SettingUse::Address),
    ("clean", "requireforce", SettingUse::KeepUntracked),
    (
        "core",
        "alternaterefscommand askpass attributesfile editor fsmonitor gitproxy hookspath pager \
         sshcommand worktree",
        SettingUse::Program,
    ),
    ("credential", "helper", SettingUse::Program),
    ("diff", "command external textconv", SettingUse::Program),
    ("diff", "guitool tool", SettingUse::Tool),
    ("difftool", "cmd path", SettingUse::Program),
    ("fetch", "bundleuri", SettingUse::Address),
    ("filter", "clean process smudge", SettingUse::Program),
    (
        "gc",
        "pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire",
        SettingUse::Retention,
    ),
    ("gc", "recentobjectshook", SettingUse::Program),
    ("gpg", "defaultkeycommand program", SettingUse::Program),
    ("guitool", "cmd", SettingUse::Program),
    ("help", "browser", SettingUse::Program),
    ("help", "htmlpath", SettingUse::Tool),
    ("hook", "command", SettingUse::Program),
    (
        "http",
        "cookiefile curloptresolve delegation proxy proxysslcainfo proxysslcert proxysslkey \
         savecookies sslcainfo sslcapath sslcert sslkey sslverify",
        SettingUse::Trust,
    ),
    ("imap", "tunnel", SettingUse::Program),
    ("imap", "host", SettingUse::Address),
    ("include", "path", SettingUse::Program),
    ("includeif", "path", SettingUse::Program),
    ("init", "templatedir", SettingUse::Program),
    ("instaweb", "browser httpd modulepath", SettingUse::Program),
    ("interactive", "difffilter", SettingUse::Program),
    ("lfs", "args clean path smudge standalonetransferagent", SettingUse::Program),
    ("lfs", "pushurl url", SettingUse::Address),
    ("man", "cmd path", SettingUse::Program),
    ("merge", "driver", SettingUse::Program),
    ("merge", "guitool tool", SettingUse::Tool),
    ("mergetool", "cmd path", SettingUse::Program),
    ("pager", "*", SettingUse::Program),
    ("protocol", "allow", SettingUse::Protocol),
    ("remote", "proxy receivepack uploadpack vcs", SettingUse::Program),
    ("remote", "lfspushurl lfsurl pushdefault pushurl url", SettingUse::Address),
    ("remote", "lfsdefault lfspushdefault", SettingUse::Remote),
    (
        "sendemail",
        "cccmd headercmd sendmailcmd smtpserver smtpserveroption smtpsslcertpath tocmd",
        SettingUse::Program,
    ),
    ("sequence", "editor", SettingUse::Program),
    ("submodule", "update", SettingUse::BangCommand),
    ("submodule", "url", SettingUse::Address),
    ("svn", "authorsprog", SettingUse::Program),
    ("svn-remote", "pushurl url", SettingUse::Address),
    ("tar", "command", SettingUse::Program),
    ("trace2", "eventtarget normaltarget perftarget", SettingUse::Tool),
    ("trailer", "cmd command", SettingUse::Program),
    ("transfer", "bundleuri", SettingUse::Address),
    ("uploadpack", "packobjectshook", SettingUse::Program),
    ("url", "insteadof pushinsteadof", SettingUse::Program),
    ("web", "browser", SettingUse::Program),
];

static USES_BY_SECTION: LazyLock<StaticNameMap<Vec<(&'static str, SettingUse)>>> =
    LazyLock::new(|| {
        let mut by_section: StaticNameMap<Vec<(&'static str, SettingUse)>> =
            StaticNameMap::default();
        for (section, names, what) in SETTING_USES {
            let names = names.split_whitespace().map(|name| (name, *what));
            by_section.entry(section).or_default().extend(names);
        }
        by_section
    });

/// Values that make git run nothing, or a common program.
const HARMLESS_VALUES: &[&str] =
    &["", "/dev/null", ":", "cache", "cat", "false", "less", "nano", "osxkeychain", "true", "vim"];

/// The use of a setting, by its lowercase name.
fn setting_use(name: &str) -> Option<SettingUse> {
    let section = name.split('.').next()?;
    let last = name.rsplit('.').next()?;
    let own = USES_BY_SECTION.get(section)?;
    let found = own.iter().find(|(known, _)| *known == last || *known == "*");
    found.map(|(_, what)| *what).filter(|_| name.len() > section.len())
}

/// Whether a setting may need a finding, depending on its value.
pub(super) fn is_relevant(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("alias.") || name.starts_with("remote.") || setting_use(&name).is_some()
}

/// Options of `git config` that take a value.
const CONFIG_VALUED_OPTIONS: &[&str] =
    &["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];

/// Subcommands of `git config`.
const CONFIG_VERBS: &[&str] =
    &["list", "get", "set", "unset", "add", "edit", "rename-section", "remove-section"];

/// Options and subcommands of `git config` that only read.
const CONFIG_READ_WORDS: &[&str] = &[
    "--get",
    "--get-all",
    "--get-color",
    "--get-colorbool",
    "--get-regexp",
    "--get-urlmatch",
    "--list",
    "-l",
    "get",
    "list",
];

/// Options and subcommands of `git config` that write even without a value.
const CONFIG_WRITE_WORDS: &[&str] = &[
    "--add",
    "--edit",
    "--remove-section",
    "--rename-section",
    "--replace-all",
    "--unset",
    "--unset-all",
    "-e",
    "edit",
    "remove-section",
    "rename-section",
    "set",
    "unset",
];

/// Splits `git config` arguments into options with the subcommand, and the rest
/// from the first name on, where a dash has no meaning.
fn split_config(arguments: &[ShellWord]) -> (&[ShellWord], &[ShellWord]) {
    let mut at = 0;
    let mut verb = false;
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        match text.starts_with('-') {
            true => at += 1 + usize::from(CONFIG_VALUED_OPTIONS.contains(&text)),
            false if !verb && CONFIG_VERBS.contains(&text) => {
                verb = true;
                at += 1;
            }
            false => break,
        }
    }
    arguments.split_at(at.min(arguments.len()))
}

/// Whether `git config` changes a setting.
pub(super) fn changes_config(arguments: &[ShellWord]) -> bool {
    let (options, rest) = split_config(arguments);
    let has = |names: &[&str]| options.iter().any(|word| names.contains(&word.text.as_str()));
    !has(CONFIG_READ_WORDS) && (rest.len() > 1 || has(CONFIG_WRITE_WORDS))
}

/// Checks stored settings.
pub(super) fn describe(act: &mut EffectBuilder<'_>, arguments: &[ShellWord]) {
    if !changes_config(arguments) {
        return;
    }
    let (options, rest) = split_config(arguments);
    let has = |names: &[&str]| options.iter().any(|word| names.contains(&word.text.as_str()));
    if has(&["--system"]) {
        act.ask("system-setting", "Changes git settings for all users");
    }
    if has(&["--rename-section", "rename-section"]) {
        act.ask("env-override", "Renames git settings");
    }
    let Some(name) = rest.first() else { return };
    if setting_use(&name.text.to_ascii_lowercase()) == Some(SettingUse::Address) {
        act.ask("git-remote", REMOTE_CHANGE_REASON);
    }
    if let Some(value) = rest.get(1) {
        let text = format!("{}={}", name.text, value.text);
        let known = name.known && value.known;
        judge(act, &ShellWord { text, known, ..value.clone() });
    }
}

/// Adds a finding for a risky setting, written `name=value`.
pub(super) fn judge(act: &mut EffectBuilder<'_>, setting: &ShellWord) {
    let (name, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
    let name = name.to_ascii_lowercase();
    if name.starts_with("alias.") {
        return check_alias(act, &ShellWord { text: value.to_owned(), ..setting.clone() });
    }
    let unknown = !setting.known && !setting.named;
    match setting_use(&name) {
        Some(SettingUse::Program) if name.ends_with(".helper") && value == "store" => {
            act.ask("env-override", format!("Makes git store passwords unencrypted ({name})"));
        }
        Some(SettingUse::Program) if !HARMLESS_VALUES.contains(&value) => {
            ask_program_setting(act, &name)
        }
        Some(SettingUse::Tool) if !setting.known || value.contains('/') => {
            ask_program_setting(act, &name)
        }
        Some(SettingUse::BangCommand) if unknown || value.starts_with('!') => {
            ask_program_setting(act, &name)
        }
        Some(SettingUse::Trust) if !value.is_empty() => {
            act.ask("env-override", format!("Changes whom git trusts or connects via ({name})"));
        }
        Some(SettingUse::Protocol) if unknown || opens_protocol(&name, value) => {
            act.ask("env-override", format!("Lets git use more transport protocols ({name})"));
        }
        Some(SettingUse::Address) if !value.is_empty() => {
            act.ask("git-remote", REMOTE_CHANGE_REASON)
        }
        Some(SettingUse::Remote) if unknown || is_address(value) => {
            act.ask("git-remote", REMOTE_CHANGE_REASON)
        }
        Some(SettingUse::KeepUntracked) if !matches!(value, "" | "true" | "yes" | "on" | "1") => {
            act.ask("git-history-loss", "Lets git delete untracked files");
        }
        Some(SettingUse::Retention) if !matches!(value, "" | "never") => {
            act.ask(
                "git-history-loss",
                format!("Changes when git expires earlier states ({name})"),
            );
        }
        _ => {}
    }
}

/// Reason for settings that redirect the next push or pull.
const REMOTE_CHANGE_REASON: &str = "Changes where this repository pushes to and pulls from";

fn ask_program_setting(act: &mut EffectBuilder<'_>, name: &str) {
    act.ask("env-override", format!("Makes git run another program ({name})"));
}

/// Whether a transport protocol is allowed. Local repositories do not count.
fn opens_protocol(name: &str, value: &str) -> bool {
    name != "protocol.file.allow" && !matches!(value, "" | "never")
}

/// Whether a remote is given as a URL or path instead of a name.
fn is_address(value: &str) -> bool {
    value.contains(':') || value.starts_with(['/', '~']) || value.starts_with("../")
}

/// Checks what an alias expands to: shell code after `!`, else the words of
/// another git call.
fn check_alias(act: &mut EffectBuilder<'_>, value: &ShellWord) {
    const ALIAS_RUNS_REASON: &str = "Creates a git alias that runs a program";
    if let Some(code) = value.text.strip_prefix('!') {
        act.ask("program-option", ALIAS_RUNS_REASON);
        act.inner.push(InnerCommand::Source(ShellWord { text: code.to_owned(), ..value.clone() }));
    } else if alias_runs_program(act, value) {
        act.ask("program-option", ALIAS_RUNS_REASON);
    }
}

/// Whether git with these words would run a program named in them.
fn alias_runs_program(act: &EffectBuilder<'_>, value: &ShellWord) -> bool {
    // A single word is a subcommand without options.
    if !value.text.contains(char::is_whitespace) {
        return false;
    }
    let own = value.text.split_whitespace().map(|part| part.replace(['"', '\'', '\\'], ""));
    let words: Vec<ShellWord> = std::iter::once("git".to_owned())
        .chain(own)
        .map(|text| ShellWord { text, ..value.clone() })
        .collect();
    if words.iter().any(|word| word.text.contains("alias.")) {
        return true;
    }
    let mut leaf = LeafCommand::default();
    let mut other = EffectBuilder::new(&mut leaf, act.context, "git", &words);
    git::describe(&mut other, words.get(1..).unwrap_or(&[]));
    let runs = !other.inner.is_empty();
    runs || leaf.findings.iter().any(|found| {
        matches!(found.category, "env-override" | "program-option")
            && found.reason != git::FOREIGN_REPO_REASON
    })
}

#[cfg(test)]
#[path = "git_settings_tests.rs"]
mod tests;
