//! Settings of git: which of them run programs, lead elsewhere or take a guard
//! away, whether they are stored, given for one call, or named by a variable.

use std::sync::LazyLock;

use super::git;
use crate::leaf::{Leaf, Word};
use crate::site::{Act, Inner};
use crate::table::Table;

/// What the value of a setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// A program, a hook, or a file with more settings.
    Runs,
    /// One of git's own tools, or a script by its path.
    Tool,
    /// A program if a `!` stands before it.
    Bang,
    /// Whom git trusts or talks through.
    Trust,
    /// By which ways git may talk to others.
    Protocol,
    /// Where a repository pushes to and pulls from.
    Address,
    /// The same, or the name of a remote.
    Remote,
    /// Whether files that git does not know are kept.
    Guard,
    /// How long it keeps what no branch holds.
    Term,
}

/// Settings by their section and their last part, whatever stands between. A
/// `*` is every one of the section.
const SETTINGS: &[(&str, &str, Use)] = &[
    ("branch", "remote pushremote", Use::Remote),
    ("browser", "cmd path", Use::Runs),
    ("bundle", "uri", Use::Address),
    ("clean", "requireforce", Use::Guard),
    (
        "core",
        "alternaterefscommand askpass attributesfile editor fsmonitor gitproxy hookspath pager \
         sshcommand worktree",
        Use::Runs,
    ),
    ("credential", "helper", Use::Runs),
    ("diff", "command external textconv", Use::Runs),
    ("diff", "guitool tool", Use::Tool),
    ("difftool", "cmd path", Use::Runs),
    ("fetch", "bundleuri", Use::Address),
    ("filter", "clean process smudge", Use::Runs),
    ("gc", "pruneexpire reflogexpire reflogexpireunreachable worktreepruneexpire", Use::Term),
    ("gc", "recentobjectshook", Use::Runs),
    ("gpg", "defaultkeycommand program", Use::Runs),
    ("guitool", "cmd", Use::Runs),
    ("help", "browser", Use::Runs),
    ("help", "htmlpath", Use::Tool),
    ("hook", "command", Use::Runs),
    (
        "http",
        "cookiefile curloptresolve delegation proxy proxysslcainfo proxysslcert proxysslkey \
         savecookies sslcainfo sslcapath sslcert sslkey sslverify",
        Use::Trust,
    ),
    ("imap", "tunnel", Use::Runs),
    ("imap", "host", Use::Address),
    ("include", "path", Use::Runs),
    ("includeif", "path", Use::Runs),
    ("init", "templatedir", Use::Runs),
    ("instaweb", "browser httpd modulepath", Use::Runs),
    ("interactive", "difffilter", Use::Runs),
    ("lfs", "args clean path smudge standalonetransferagent", Use::Runs),
    ("lfs", "pushurl url", Use::Address),
    ("man", "cmd path", Use::Runs),
    ("merge", "driver", Use::Runs),
    ("merge", "guitool tool", Use::Tool),
    ("mergetool", "cmd path", Use::Runs),
    ("pager", "*", Use::Runs),
    ("protocol", "allow", Use::Protocol),
    ("remote", "proxy receivepack uploadpack vcs", Use::Runs),
    ("remote", "lfspushurl lfsurl pushdefault pushurl url", Use::Address),
    ("remote", "lfsdefault lfspushdefault", Use::Remote),
    (
        "sendemail",
        "cccmd headercmd sendmailcmd smtpserver smtpserveroption smtpsslcertpath tocmd",
        Use::Runs,
    ),
    ("sequence", "editor", Use::Runs),
    ("submodule", "update", Use::Bang),
    ("submodule", "url", Use::Address),
    ("svn", "authorsprog", Use::Runs),
    ("svn-remote", "pushurl url", Use::Address),
    ("tar", "command", Use::Runs),
    ("trace2", "eventtarget normaltarget perftarget", Use::Tool),
    ("trailer", "cmd command", Use::Runs),
    ("transfer", "bundleuri", Use::Address),
    ("uploadpack", "packobjectshook", Use::Runs),
    ("url", "insteadof pushinsteadof", Use::Runs),
    ("web", "browser", Use::Runs),
];

static BY_SECTION: LazyLock<Table<Vec<(&'static str, Use)>>> = LazyLock::new(|| {
    let mut by_section: Table<Vec<(&'static str, Use)>> = Table::default();
    for (section, names, what) in SETTINGS {
        let names = names.split_whitespace().map(|name| (name, *what));
        by_section.entry(section).or_default().extend(names);
    }
    by_section
});

/// Values that make git run nothing, or what everybody runs.
const HARMLESS: &[&str] = &[
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
fn use_of(name: &str) -> Option<Use> {
    let section = name.split('.').next()?;
    let last = name.rsplit('.').next()?;
    let own = BY_SECTION.get(section)?;
    let found = own.iter().find(|(known, _)| *known == last || *known == "*");
    found.map(|(_, what)| *what).filter(|_| name.len() > section.len())
}

/// Whether a setting may be worth a question, whatever its value is.
pub(super) fn matters(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("alias.") || name.starts_with("remote.") || use_of(&name).is_some()
}

/// Options of `git config` that have a value.
const VALUED: &[&str] =
    &["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];

/// Verbs of `git config`.
const VERBS: &[&str] =
    &["list", "get", "set", "unset", "add", "edit", "rename-section", "remove-section"];

/// Options and verbs of `git config` that look.
const LOOKING: &[&str] = &[
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
const CHANGING: &[&str] = &[
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
fn split(arguments: &[Word]) -> (&[Word], &[Word]) {
    let mut at = 0;
    let mut verb = false;
    while let Some(word) = arguments.get(at) {
        let text = word.text.as_str();
        match text.starts_with('-') {
            true => at += 1 + usize::from(VALUED.contains(&text)),
            false if !verb && VERBS.contains(&text) => {
                verb = true;
                at += 1;
            }
            false => break,
        }
    }
    arguments.split_at(at.min(arguments.len()))
}

/// Whether `git config` changes a setting.
pub(super) fn stores(arguments: &[Word]) -> bool {
    let (options, rest) = split(arguments);
    let has = |names: &[&str]| options.iter().any(|word| names.contains(&word.text.as_str()));
    !has(LOOKING) && (rest.len() > 1 || has(CHANGING))
}

/// Settings that are stored.
pub(super) fn describe(act: &mut Act<'_>, arguments: &[Word]) {
    if !stores(arguments) {
        return;
    }
    let (options, rest) = split(arguments);
    let has = |names: &[&str]| options.iter().any(|word| names.contains(&word.text.as_str()));
    if has(&["--system"]) {
        act.ask("system-setting", "Changes the settings of git for everybody");
    }
    if has(&["--rename-section", "rename-section"]) {
        act.ask("env-override", "Gives settings of git other names");
    }
    let Some(name) = rest.first() else { return };
    if use_of(&name.text.to_ascii_lowercase()) == Some(Use::Address) {
        act.ask("git-remote", ELSEWHERE);
    }
    if let Some(value) = rest.get(1) {
        let text = format!("{}={}", name.text, value.text);
        let known = name.known && value.known;
        judge(act, &Word { text, known, ..value.clone() });
    }
}

/// Asks about a setting, written `name=value`.
pub(super) fn judge(act: &mut Act<'_>, setting: &Word) {
    let (name, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
    let name = name.to_ascii_lowercase();
    if name.starts_with("alias.") {
        return alias(act, &Word { text: value.to_owned(), ..setting.clone() });
    }
    let unknown = !setting.known && !setting.named;
    match use_of(&name) {
        Some(Use::Runs) if !HARMLESS.contains(&value) => runs(act, &name),
        Some(Use::Tool) if !setting.known || value.contains('/') => runs(act, &name),
        Some(Use::Bang) if unknown || value.starts_with('!') => runs(act, &name),
        Some(Use::Trust) if !value.is_empty() => {
            act.ask("env-override", format!("Changes whom git trusts or talks through ({name})"));
        }
        Some(Use::Protocol) if unknown || matters_as_way(&name, value) => {
            act.ask("env-override", format!("Lets git talk to others in more ways ({name})"));
        }
        Some(Use::Address) if !value.is_empty() => act.ask("git-remote", ELSEWHERE),
        Some(Use::Remote) if unknown || is_address(value) => act.ask("git-remote", ELSEWHERE),
        Some(Use::Guard) if !matches!(value, "" | "true" | "yes" | "on" | "1") => {
            act.ask("git-history-loss", "Lets git delete files that it does not know");
        }
        Some(Use::Term) if !matches!(value, "" | "never") => {
            act.ask(
                "git-history-loss",
                format!("Changes when git forgets earlier states ({name})"),
            );
        }
        _ => {}
    }
}

/// Said of what leads the next push or pull elsewhere.
const ELSEWHERE: &str = "Changes where this repository pushes to and pulls from";

fn runs(act: &mut Act<'_>, name: &str) {
    act.ask("env-override", format!("Makes git run another program ({name})"));
}

/// Whether a way of talking is opened. Repositories of this machine are no
/// such way.
fn matters_as_way(name: &str, value: &str) -> bool {
    name != "protocol.file.allow" && !matches!(value, "" | "never")
}

/// Whether a remote is not named, but written down as an address.
fn is_address(value: &str) -> bool {
    value.contains(':') || value.starts_with(['/', '~']) || value.starts_with("../")
}

/// What a new verb of git stands for: source of a shell after `!`, else the
/// words of another call of git.
fn alias(act: &mut Act<'_>, value: &Word) {
    const RUNS: &str = "Makes git run a program under another name";
    if let Some(code) = value.text.strip_prefix('!') {
        act.ask("program-option", RUNS);
        act.inner.push(Inner::Source(Word { text: code.to_owned(), ..value.clone() }));
    } else if runs_others(act, value) {
        act.ask("program-option", RUNS);
    }
}

/// Whether git with these words would run a program that they name.
fn runs_others(act: &Act<'_>, value: &Word) -> bool {
    // One word is a verb without options.
    if !value.text.contains(char::is_whitespace) {
        return false;
    }
    let own = value.text.split_whitespace().map(|part| part.replace(['"', '\'', '\\'], ""));
    let words: Vec<Word> = std::iter::once("git".to_owned())
        .chain(own)
        .map(|text| Word { text, ..value.clone() })
        .collect();
    if words.iter().any(|word| word.text.contains("alias.")) {
        return true;
    }
    let mut leaf = Leaf::default();
    let mut other = Act::of(&mut leaf, act.site, "git", &words);
    git::describe(&mut other, words.get(1..).unwrap_or(&[]));
    let runs = !other.inner.is_empty();
    runs || leaf.findings.iter().any(|found| {
        matches!(found.category, "env-override" | "program-option") && found.reason != git::FOREIGN
    })
}

#[cfg(test)]
#[path = "gitsettings_tests.rs"]
mod tests;
