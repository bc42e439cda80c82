//! Settings of git: which of them run programs, lead elsewhere or take a guard
//! away, whether they are stored, given for one call, or named by a variable.

use std::sync::LazyLock;

use super::git;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::{LeafCommand, ShellWord};
use crate::static_names::StaticNameMap;

/// What the value of a setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingUse {
    /// A program, a hook, or a file with more settings.
    Program,
    /// One of git's own tools, or a script by its path.
    Tool,
    /// A program if a `!` stands before it.
    BangCommand,
    /// Whom git trusts or talks through.
    Trust,
    /// By which ways git may talk to others.
    Protocol,
    /// Where a repository pushes to and pulls from.
    Address,
    /// The same, or the name of a remote.
    Remote,
    /// Whether files that git does not know are kept.
    KeepUntracked,
    /// How long it keeps what no branch holds.
    Retention,
}

/// Settings by their section and their last part, whatever stands between. A
/// `*` is every one of the section.
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

/// Values that make git run nothing, or what everybody runs.
const HARMLESS_VALUES: &[&str] = &[
    "",
    "/dev/null",
    ":",
    "cache",
    "cat",
    "false",
    "less",
    "nano",
    "osxkeychain",
    "store",
    "true",
    "vim",
];

/// What a setting is for, by its name in small letters.
fn setting_use(name: &str) -> Option<SettingUse> {
    let section = name.split('.').next()?;
    let last = name.rsplit('.').next()?;
    let own = USES_BY_SECTION.get(section)?;
    let found = own.iter().find(|(known, _)| *known == last || *known == "*");
    found.map(|(_, what)| *what).filter(|_| name.len() > section.len())
}

/// Whether a setting may be worth a question, whatever its value is.
pub(super) fn is_relevant(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("alias.") || name.starts_with("remote.") || setting_use(&name).is_some()
}

/// Options of `git config` that have a value.
const CONFIG_VALUED_OPTIONS: &[&str] =
    &["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];

/// Verbs of `git config`.
const CONFIG_VERBS: &[&str] =
    &["list", "get", "set", "unset", "add", "edit", "rename-section", "remove-section"];

/// Options and verbs of `git config` that look.
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

/// Those that change something though no value follows.
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

/// The options and the verb of `git config`, and from the first name on the
/// rest, in which a dash means nothing.
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

/// Settings that are stored.
pub(super) fn describe(act: &mut EffectBuilder<'_>, arguments: &[ShellWord]) {
    if !changes_config(arguments) {
        return;
    }
    let (options, rest) = split_config(arguments);
    let has = |names: &[&str]| options.iter().any(|word| names.contains(&word.text.as_str()));
    if has(&["--system"]) {
        act.ask("system-setting", "Changes the settings of git for everybody");
    }
    if has(&["--rename-section", "rename-section"]) {
        act.ask("env-override", "Gives settings of git other names");
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

/// Asks about a setting, written `name=value`.
pub(super) fn judge(act: &mut EffectBuilder<'_>, setting: &ShellWord) {
    let (name, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
    let name = name.to_ascii_lowercase();
    if name.starts_with("alias.") {
        return check_alias(act, &ShellWord { text: value.to_owned(), ..setting.clone() });
    }
    let unknown = !setting.known && !setting.named;
    match setting_use(&name) {
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
            act.ask("env-override", format!("Changes whom git trusts or talks through ({name})"));
        }
        Some(SettingUse::Protocol) if unknown || opens_protocol(&name, value) => {
            act.ask("env-override", format!("Lets git talk to others in more ways ({name})"));
        }
        Some(SettingUse::Address) if !value.is_empty() => {
            act.ask("git-remote", REMOTE_CHANGE_REASON)
        }
        Some(SettingUse::Remote) if unknown || is_address(value) => {
            act.ask("git-remote", REMOTE_CHANGE_REASON)
        }
        Some(SettingUse::KeepUntracked) if !matches!(value, "" | "true" | "yes" | "on" | "1") => {
            act.ask("git-history-loss", "Lets git delete files that it does not know");
        }
        Some(SettingUse::Retention) if !matches!(value, "" | "never") => {
            act.ask(
                "git-history-loss",
                format!("Changes when git forgets earlier states ({name})"),
            );
        }
        _ => {}
    }
}

/// Said of what leads the next push or pull elsewhere.
const REMOTE_CHANGE_REASON: &str = "Changes where this repository pushes to and pulls from";

fn ask_program_setting(act: &mut EffectBuilder<'_>, name: &str) {
    act.ask("env-override", format!("Makes git run another program ({name})"));
}

/// Whether a way of talking is opened. Repositories of this machine are no
/// such way.
fn opens_protocol(name: &str, value: &str) -> bool {
    name != "protocol.file.allow" && !matches!(value, "" | "never")
}

/// Whether a remote is not named, but written down as an address.
fn is_address(value: &str) -> bool {
    value.contains(':') || value.starts_with(['/', '~']) || value.starts_with("../")
}

/// What a new verb of git stands for: source of a shell after `!`, else the
/// words of another call of git.
fn check_alias(act: &mut EffectBuilder<'_>, value: &ShellWord) {
    const ALIAS_RUNS_REASON: &str = "Makes git run a program under another name";
    if let Some(code) = value.text.strip_prefix('!') {
        act.ask("program-option", ALIAS_RUNS_REASON);
        act.inner.push(InnerCommand::Source(ShellWord { text: code.to_owned(), ..value.clone() }));
    } else if alias_runs_program(act, value) {
        act.ask("program-option", ALIAS_RUNS_REASON);
    }
}

/// Whether git with these words would run a program that they name.
fn alias_runs_program(act: &EffectBuilder<'_>, value: &ShellWord) -> bool {
    // One word is a verb without options.
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
