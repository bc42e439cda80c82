//! Effects of variables passed to a program: it loads code of the project while
//! it has network access, writes files, or sends contents.

use std::sync::LazyLock;

use hermes_core::{Effect, Resource, Scope};

use super::request_payloads::fetched_from;
use crate::eval_context::EffectBuilder;
use crate::leaf::{LeafCommand, ShellWord, TextTaint};
use crate::shell_scope::ShellValue;
use crate::static_names::StaticNameMap;

/// What a variable does to the programs that use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VariableEffect {
    /// Code that the program loads.
    Code,
    /// A file or a directory that the program writes to.
    OutputPath,
}

/// Variables, and the programs that use them. Without network access, loading
/// code of the project needs no finding.
const VARIABLE_EFFECTS: &[(&str, &str, VariableEffect)] = &[
    (
        "PYTHONPATH",
        "ansible ansible-galaxy ansible-playbook aws az conda gcloud gsutil http httpie https mamba \
         pip pip3 pipenv pipx poetry pre-commit python python3 sam twine uv yt-dlp",
        VariableEffect::Code,
    ),
    ("PYTHONUSERBASE", "aws az pip pip3 pipenv pipx poetry twine yt-dlp", VariableEffect::Code),
    (
        "NODE_PATH",
        "bun cdk firebase netlify npm npx pnpm serverless sls vercel yarn",
        VariableEffect::Code,
    ),
    ("RUBYLIB GEM_HOME GEM_PATH", "bundle bundler gem pod", VariableEffect::Code),
    ("PERL5LIB PERLLIB", "cpan cpanm", VariableEffect::Code),
    ("CARGO_HOME", "cargo rustup", VariableEffect::Code),
    ("RUSTUP_HOME", "cargo rustup", VariableEffect::Code),
    ("GOROOT", "go", VariableEffect::Code),
    ("JAVA_HOME CLASSPATH", "ant gradle lein mill mvn sbt", VariableEffect::Code),
    ("LUA_PATH LUA_CPATH", "luarocks", VariableEffect::Code),
    ("GIT_INDEX_FILE", "git", VariableEffect::OutputPath),
    (
        "SSLKEYLOGFILE",
        "aria2c curl git http httpie node python python3 wget wget2",
        VariableEffect::OutputPath,
    ),
    ("TMPDIR", "mktemp", VariableEffect::OutputPath),
];

static EFFECTS_BY_VARIABLE: LazyLock<StaticNameMap<(&'static str, VariableEffect)>> =
    LazyLock::new(|| {
        let entries = VARIABLE_EFFECTS.iter();
        let named =
            |(names, programs, gives): &'static (&'static str, &'static str, VariableEffect)| {
                names.split(' ').map(move |name| (name, (*programs, *gives)))
            };
        entries.flat_map(named).collect()
    });

/// Checks the variables passed to the program of a leaf.
pub(crate) fn describe<'v>(
    act: &mut EffectBuilder<'_>,
    variables: impl Iterator<Item = (&'v str, &'v ShellValue)>,
) {
    for (name, value) in variables {
        if let Some((programs, gives)) = EFFECTS_BY_VARIABLE.get(name)
            && programs.split_whitespace().any(|program| program == act.program)
        {
            match gives {
                VariableEffect::Code => check_code_path(act, name, value),
                VariableEffect::OutputPath => act.write(&value_word(value)),
            }
        }
        if is_computed(value) && is_sent(name) {
            send_to_hosts(act.leaf);
        }
    }
}

fn value_word(value: &ShellValue) -> ShellWord {
    let known = value.text.is_some();
    ShellWord { known, text: value.text.clone().unwrap_or_default(), ..ShellWord::default() }
}

/// Adds a finding if a program with network access loads code of the project.
fn check_code_path(act: &mut EffectBuilder<'_>, name: &str, value: &ShellValue) {
    let families = ["network", "cloud", "docker"];
    let reaches = act.leaf.effects.iter().any(|e| families.contains(&e.scope.family()));
    let text = value.text.as_deref();
    let own = |part: &str| match act.context.absolute(&ShellWord::literal(part)) {
        Some(path) => path.starts_with(act.context.at.cwd()),
        None => !part.is_empty(),
    };
    // An unknown home is common and harmless; an unknown list of directories
    // may include one of the project.
    let unseen = || !is_language_home(name) || value.taint.has(TextTaint::COMPUTED);
    if reaches && text.map_or_else(unseen, |text| text.split(':').any(own)) {
        let program = act.program;
        let reason =
            format!("Makes {program}, which has network access, load code of the project ({name})");
        act.ask("env-override", reason);
    }
}

/// Whether a variable names the single directory in which a language is
/// installed.
fn is_language_home(name: &str) -> bool {
    name.ends_with("_HOME") || matches!(name, "GOROOT" | "PYTHONUSERBASE")
}

/// Whether a value is computed from the output of a command.
fn is_computed(value: &ShellValue) -> bool {
    value.text.is_none() && value.shape.is_none() && value.taint.has(TextTaint::COMPUTED)
}

/// Whether programs send the value of a variable to other hosts.
fn is_sent(name: &str) -> bool {
    const SENT_PREFIXES: &[&str] = &["GIT_CONFIG_VALUE_", "npm_config_", "NPM_CONFIG_", "PIP_"];
    const SENT_VARIABLES: &[&str] =
        &["PGAPPNAME", "PGDATABASE", "PGOPTIONS", "PGUSER", "REDISCLI_AUTH"];
    name.contains("USER_AGENT")
        || name.contains("HEADER")
        || SENT_PREFIXES.iter().any(|start| name.starts_with(start))
        || SENT_VARIABLES.contains(&name)
}

/// Adds a send to every known host.
fn send_to_hosts(leaf: &mut LeafCommand) {
    let hosts: Vec<String> = fetched_from(leaf).map(str::to_owned).collect();
    for host in hosts {
        leaf.add_effect(Effect { scope: Scope::NETWORK_SEND, resource: Resource::Host(host) });
    }
}

#[cfg(test)]
#[path = "program_env_tests.rs"]
mod tests;
