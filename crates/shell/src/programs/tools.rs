//! Programs that are ruled by a verb: most verbs change something far away,
//! and only those in the table are known to look, or to keep to the project.

use std::sync::LazyLock;

use hermes_core::Scope;

use super::toolbox::TOOLS;
use super::workbench::PLAIN;
use crate::args::Args;
use crate::leaf::Word;
use crate::site::Act;
use crate::table::Table;
use crate::text::glob_match;

/// What a tool has in its hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Realm {
    Cloud,
    Containers,
    Database,
    Machine,
    Network,
    /// Packages that others install.
    Packages,
    /// Nothing but the project, as long as the verb is known.
    Project,
}

/// A tool and its verbs. A verb is one word or several with `/` between, each
/// of which may be a glob; `.` stands for no verb at all, a dash begins an option,
/// and what comes after `!` is left out.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) names: &'static str,
    pub(super) realm: Realm,
    /// Options that take the next word.
    pub(super) valued: &'static str,
    /// Verbs that only look.
    pub(super) looks: &'static str,
    /// Verbs that change nothing but the project.
    pub(super) works: &'static str,
}

static BY_NAME: LazyLock<Table<&'static Tool>> = LazyLock::new(|| {
    let tools = TOOLS.iter().chain(PLAIN);
    tools.flat_map(|tool| tool.names.split_whitespace().map(move |name| (name, tool))).collect()
});

/// Options that many tools have, with a value.
const COMMON: &[&str] = &[
    "-n",
    "--namespace",
    "-o",
    "--output",
    "--region",
    "--profile",
    "--project",
    "--context",
    "--config",
    "-c",
    "--zone",
    "--query",
    "--format",
    "--filter",
    "-a",
    "--app",
    "-f",
    "--file",
    "--env",
    "-e",
    "--log-level",
    "--cwd",
    "-C",
];

/// Judges a tool by its verb; false if it is not in the table.
pub(super) fn describe(act: &mut Act<'_>) -> bool {
    let Some(tool) = BY_NAME.get(act.program).copied() else { return false };
    let words = act.arguments();
    let mut valued: Vec<&str> = COMMON.to_vec();
    valued.extend(tool.valued.split_whitespace());
    let args = Args::parse(words, &valued);
    let verbs: Vec<&Word> = args.operands.iter().collect();
    if asks_about_itself(words) || is_one_of(tool.looks, &verbs, words) {
        looks(act, tool.realm);
    } else if is_one_of(tool.works, &verbs, words) {
        if tool.realm == Realm::Packages {
            act.any(Scope::NETWORK_FETCH);
        }
        super::outputs::describe(act);
    } else {
        changes(act, tool.realm, verbs.first().map_or("", |verb| verb.text.as_str()));
    }
    let elsewhere = ["--endpoint-url", "--endpoint", "--server", "--api-server"];
    for word in args.values(&elsewhere) {
        let host = super::network::proxy_host(&word.text);
        act.reach(Scope::NETWORK_SEND, host.as_deref());
    }
    let named = args.operands.iter().skip(1);
    let files: Vec<Word> =
        named.filter(|word| word.text.contains(['/', '.']) && !has_scheme(word)).cloned().collect();
    files.iter().for_each(|word| act.read(word));
    true
}

fn has_scheme(word: &Word) -> bool {
    word.text.contains("://") || word.text.contains(char::is_whitespace)
}

/// Whether nothing but help or the version is asked for.
pub(super) fn asks_about_itself(words: &[Word]) -> bool {
    let first = words.first().map_or("", |word| word.text.as_str());
    let last = words.last().map_or("", |word| word.text.as_str());
    let alone = words.len() == 1;
    matches!(last, "--help" | "-help")
        || matches!(first, "--version" | "-version" | "help")
        || (alone
            && matches!(first, "version" | "-v" | "-V" | "-h" | "--usage" | "-vV" | "-version"))
}

fn is_one_of(list: &str, verbs: &[&Word], words: &[Word]) -> bool {
    let fits = |pattern: &str| match pattern {
        "." => verbs.is_empty(),
        option if option.starts_with('-') => {
            let named = |word: &&Word| word.text.contains(['.', '/']);
            verbs.iter().all(named) && words.iter().any(|word| word.text == option)
        }
        _ => pattern.split('/').enumerate().all(|(at, part)| {
            let own = verbs.get(at).and_then(|word| word.known());
            own.is_some_and(|own| part == own || (part.contains('*') && glob_match(part, own)))
        }),
    };
    let mut patterns = list.split_whitespace();
    patterns.clone().any(fits)
        && !patterns.any(|pattern| pattern.strip_prefix('!').is_some_and(fits))
}

fn looks(act: &mut Act<'_>, realm: Realm) {
    match realm {
        Realm::Cloud => act.any(Scope::CLOUD_READ),
        Realm::Containers => act.any(Scope::DOCKER_READ),
        Realm::Database => act.any(Scope::DATABASE_READ),
        Realm::Network | Realm::Packages => act.any(Scope::NETWORK_FETCH),
        Realm::Machine | Realm::Project => {}
    }
    if realm != Realm::Network && realm != Realm::Packages {
        act.only_reads();
    }
    super::outputs::describe(act);
}

fn changes(act: &mut Act<'_>, realm: Realm, verb: &str) {
    let (scope, category, what) = match realm {
        Realm::Cloud => (Some(Scope::CLOUD_WRITE), "infrastructure-change", "the infrastructure"),
        Realm::Containers => (Some(Scope::DOCKER_RUN), "container-loss", "containers or machines"),
        Realm::Database => (Some(Scope::DATABASE_WRITE), "sql-loss", "a database"),
        Realm::Machine => (None, "system-setting", "the machine"),
        Realm::Network => (Some(Scope::NETWORK_SEND), "network-send", "another machine"),
        Realm::Packages => (Some(Scope::NETWORK_SEND), "publish", "what others install"),
        Realm::Project => (None, "unknown-subcommand", "something"),
    };
    if let Some(scope) = scope {
        act.any(scope);
    }
    let reason = match (realm, verb) {
        (Realm::Project, _) => {
            format!("Nobody knows what “{} {verb}” does", act.program)
        }
        (_, "") => format!("May change {what} ({})", act.program),
        _ => format!("May change {what} ({} {verb})", act.program),
    };
    act.ask(category, reason);
}
