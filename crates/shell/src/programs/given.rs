//! What the variables that a program is given make of it: code of the project
//! gets the network through it, files are written, contents are sent.

use std::sync::LazyLock;

use hermes_core::{Effect, Resource, Scope};

use super::sends::fetched_from;
use crate::leaf::{Leaf, Taint, Word};
use crate::scope::Value;
use crate::site::Act;
use crate::table::Table;

/// What a variable does to the programs that heed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// Code that they load.
    Code,
    /// A file or a folder that they write to.
    Target,
}

/// Variables, and the programs that heed them. With the network off, code of
/// the project is the project's own business.
const GIVEN: &[(&str, &str, Gives)] = &[
    (
        "PYTHONPATH",
        "ansible ansible-galaxy ansible-playbook aws az conda gcloud gsutil http httpie https mamba \
         pip pip3 pipenv pipx poetry pre-commit python python3 sam twine uv yt-dlp",
        Gives::Code,
    ),
    ("PYTHONUSERBASE", "aws az pip pip3 pipenv pipx poetry twine yt-dlp", Gives::Code),
    ("NODE_PATH", "bun cdk firebase netlify npm npx pnpm serverless sls vercel yarn", Gives::Code),
    ("RUBYLIB GEM_HOME GEM_PATH", "bundle bundler gem pod", Gives::Code),
    ("PERL5LIB PERLLIB", "cpan cpanm", Gives::Code),
    ("CARGO_HOME", "cargo rustup", Gives::Code),
    ("RUSTUP_HOME", "cargo rustup", Gives::Code),
    ("GOROOT", "go", Gives::Code),
    ("JAVA_HOME CLASSPATH", "ant gradle lein mill mvn sbt", Gives::Code),
    ("LUA_PATH LUA_CPATH", "luarocks", Gives::Code),
    ("GIT_INDEX_FILE", "git", Gives::Target),
    ("SSLKEYLOGFILE", "aria2c curl git http httpie node python python3 wget wget2", Gives::Target),
    ("TMPDIR", "mktemp", Gives::Target),
];

static BY_VARIABLE: LazyLock<Table<(&'static str, Gives)>> = LazyLock::new(|| {
    let entries = GIVEN.iter();
    let named = |(names, programs, gives): &'static (&'static str, &'static str, Gives)| {
        names.split(' ').map(move |name| (name, (*programs, *gives)))
    };
    entries.flat_map(named).collect()
});

/// Looks at the variables that the program of a leaf is given.
pub(crate) fn describe<'v>(
    act: &mut Act<'_>,
    variables: impl Iterator<Item = (&'v str, &'v Value)>,
) {
    for (name, value) in variables {
        if let Some((programs, gives)) = BY_VARIABLE.get(name)
            && programs.split_whitespace().any(|program| program == act.program)
        {
            match gives {
                Gives::Code => load(act, name, value),
                Gives::Target => act.write(&word_of(value)),
            }
        }
        if is_computed(value) && is_sent(name) {
            send(act.leaf);
        }
    }
}

fn word_of(value: &Value) -> Word {
    let known = value.text.is_some();
    Word { known, text: value.text.clone().unwrap_or_default(), ..Word::default() }
}

/// Code of the project in a program that reaches others.
fn load(act: &mut Act<'_>, name: &str, value: &Value) {
    let families = ["network", "cloud", "docker"];
    let reaches = act.leaf.effects.iter().any(|e| families.contains(&e.scope.family()));
    let text = value.text.as_deref();
    let own = |part: &str| match act.site.absolute(&Word::literal(part)) {
        Some(path) => path.starts_with(act.site.at.cwd()),
        None => !part.is_empty(),
    };
    // A home is often asked for; a list of folders may have one of ours in it.
    let unseen = || !is_home(name) || value.taint.has(Taint::COMPUTED);
    if reaches && text.map_or_else(unseen, |text| text.split(':').any(own)) {
        let program = act.program;
        let reason =
            format!("Makes {program}, which has the network, load code of the project ({name})");
        act.ask("env-override", reason);
    }
}

/// Whether a variable names the one folder in which a language is installed.
fn is_home(name: &str) -> bool {
    name.ends_with("_HOME") || matches!(name, "GOROOT" | "PYTHONUSERBASE")
}

/// Whether it is made of what a command has looked at.
fn is_computed(value: &Value) -> bool {
    value.text.is_none() && value.shape.is_none() && value.taint.has(Taint::COMPUTED)
}

/// Whether programs tell others what a variable says.
fn is_sent(name: &str) -> bool {
    const STARTS: &[&str] = &["GIT_CONFIG_VALUE_", "npm_config_", "NPM_CONFIG_", "PIP_"];
    const SENT: &[&str] = &["PGAPPNAME", "PGDATABASE", "PGOPTIONS", "PGUSER", "REDISCLI_AUTH"];
    name.contains("USER_AGENT")
        || name.contains("HEADER")
        || STARTS.iter().any(|start| name.starts_with(start))
        || SENT.contains(&name)
}

/// Sends to every machine that is named.
fn send(leaf: &mut Leaf) {
    let hosts: Vec<String> = fetched_from(leaf).map(str::to_owned).collect();
    for host in hosts {
        leaf.effect(Effect { scope: Scope::NETWORK_SEND, resource: Resource::Host(host) });
    }
}

#[cfg(test)]
#[path = "given_tests.rs"]
mod tests;
