//! Programs whose effects depend on a verb. Most verbs change something remote;
//! only those in the table are known to read, or to stay within the project.

use std::sync::LazyLock;

use hermes_core::Scope;

use super::project_tool_table::PROJECT_TOOLS;
use super::remote_tool_table::REMOTE_TOOLS;
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;
use crate::text::glob_match;

/// What a tool operates on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolDomain {
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

/// A tool and its verbs. A verb is one word, or several separated by `/`; each
/// may be a glob. `.` means no verb, a leading dash marks an option, and a
/// leading `!` excludes the pattern.
#[derive(Debug)]
pub(super) struct VerbTool {
    pub(super) names: &'static str,
    pub(super) realm: ToolDomain,
    /// Options that take the next word.
    pub(super) valued: &'static str,
    /// Verbs that only read.
    pub(super) looks: &'static str,
    /// Verbs that change nothing but the project.
    pub(super) works: &'static str,
}

static TOOLS_BY_NAME: LazyLock<StaticNameMap<&'static VerbTool>> = LazyLock::new(|| {
    let tools = REMOTE_TOOLS.iter().chain(PROJECT_TOOLS);
    tools.flat_map(|tool| tool.names.split_whitespace().map(move |name| (name, tool))).collect()
});

/// Options with a value that many tools share.
const COMMON_VALUED_OPTIONS: &[&str] = &[
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

/// Describes a tool by its verb. Returns false if the tool is not in the table.
pub(super) fn describe(act: &mut EffectBuilder<'_>) -> bool {
    let Some(tool) = TOOLS_BY_NAME.get(act.program).copied() else { return false };
    let words = act.arguments();
    let mut valued: Vec<&str> = COMMON_VALUED_OPTIONS.to_vec();
    valued.extend(tool.valued.split_whitespace());
    let args = CommandArgs::parse(words, &valued);
    let verbs: Vec<&ShellWord> = args.operands.iter().collect();
    if asks_about_itself(words) || matches_verb(tool.looks, &verbs, words) {
        describe_read(act, tool.realm);
    } else if matches_verb(tool.works, &verbs, words) {
        if tool.realm == ToolDomain::Packages {
            act.affect_any(Scope::NETWORK_FETCH);
        }
        super::output_options::describe(act);
    } else {
        describe_change(act, tool.realm, verbs.first().map_or("", |verb| verb.text.as_str()));
    }
    let elsewhere = ["--endpoint-url", "--endpoint", "--server", "--api-server"];
    for word in args.values(&elsewhere) {
        let host = super::network::proxy_host(&word.text);
        act.affect_host(Scope::NETWORK_SEND, host.as_deref());
    }
    let named = args.operands.iter().skip(1);
    let files: Vec<ShellWord> =
        named.filter(|word| word.text.contains(['/', '.']) && !has_scheme(word)).cloned().collect();
    files.iter().for_each(|word| act.read(word));
    true
}

fn has_scheme(word: &ShellWord) -> bool {
    word.text.contains("://") || word.text.contains(char::is_whitespace)
}

/// Whether the arguments only ask for help or the version.
pub(super) fn asks_about_itself(words: &[ShellWord]) -> bool {
    let first = words.first().map_or("", |word| word.text.as_str());
    let alone = words.len() == 1;
    // After an option without `=` it may be that option's value.
    let ends_with_help = match words {
        [.., before, last] => {
            let takes_value = before.text.starts_with('-') && !before.text.contains('=');
            let is_inner = words.iter().any(|word| word.text == "--");
            matches!(last.text.as_str(), "--help" | "-help")
                && before.known
                && !takes_value
                && !is_inner
        }
        _ => matches!(first, "--help" | "-help"),
    };
    ends_with_help
        || first == "help"
        || (alone
            && matches!(
                first,
                "version" | "-v" | "-V" | "-h" | "--usage" | "-vV" | "-version" | "--version"
            ))
}

fn matches_verb(list: &str, verbs: &[&ShellWord], words: &[ShellWord]) -> bool {
    let fits = |pattern: &str| match pattern {
        "." => verbs.is_empty(),
        option if option.starts_with('-') => {
            let named = |word: &&ShellWord| word.text.contains(['.', '/']);
            verbs.iter().all(named) && words.iter().any(|word| word.text == option)
        }
        _ => pattern.split('/').enumerate().all(|(at, part)| {
            let own = verbs.get(at).and_then(|word| word.known_text());
            own.is_some_and(|own| part == own || (part.contains('*') && glob_match(part, own)))
        }),
    };
    let mut patterns = list.split_whitespace();
    patterns.clone().any(fits)
        && !patterns.any(|pattern| pattern.strip_prefix('!').is_some_and(fits))
}

fn describe_read(act: &mut EffectBuilder<'_>, realm: ToolDomain) {
    match realm {
        ToolDomain::Cloud => act.affect_any(Scope::CLOUD_READ),
        ToolDomain::Containers => act.affect_any(Scope::DOCKER_READ),
        ToolDomain::Database => act.affect_any(Scope::DATABASE_READ),
        ToolDomain::Network | ToolDomain::Packages => act.affect_any(Scope::NETWORK_FETCH),
        ToolDomain::Machine | ToolDomain::Project => {}
    }
    if realm != ToolDomain::Network && realm != ToolDomain::Packages {
        act.mark_read_only();
    }
    super::output_options::describe(act);
}

fn describe_change(act: &mut EffectBuilder<'_>, realm: ToolDomain, verb: &str) {
    let (scope, category, what) = match realm {
        ToolDomain::Cloud => {
            (Some(Scope::CLOUD_WRITE), "infrastructure-change", "the infrastructure")
        }
        ToolDomain::Containers => {
            (Some(Scope::DOCKER_RUN), "container-loss", "containers or machines")
        }
        ToolDomain::Database => (Some(Scope::DATABASE_WRITE), "sql-loss", "a database"),
        ToolDomain::Machine => (None, "system-setting", "the machine"),
        ToolDomain::Network => (Some(Scope::NETWORK_SEND), "network-send", "another machine"),
        ToolDomain::Packages => {
            (Some(Scope::NETWORK_SEND), "publish", "packages that others install")
        }
        ToolDomain::Project => (None, "unknown-subcommand", "something"),
    };
    if let Some(scope) = scope {
        act.affect_any(scope);
    }
    let reason = match (realm, verb) {
        (ToolDomain::Project, _) => {
            format!("The effects of “{} {verb}” are unknown", act.program)
        }
        (_, "") => format!("May change {what} ({})", act.program),
        _ => format!("May change {what} ({} {verb})", act.program),
    };
    act.ask(category, reason);
}
