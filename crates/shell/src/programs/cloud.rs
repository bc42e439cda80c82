//! Clusters, cloud services and infrastructure.

use hermes_core::Scope;

use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::ShellWord;

/// Describes the command-line clients of clusters and cloud services.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    match act.program {
        "kubectl" | "oc" | "k3s" | "k" => kubectl(act, words),
        "helm" => helm(act, words),
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "serverless" | "sls" => {
            infrastructure(act, words)
        }
        "aws" => return downloads(act, words),
        "ansible" | "ansible-playbook" => {
            let check = words.iter().any(|word| {
                matches!(
                    word.text.as_str(),
                    "--check" | "-C" | "--syntax-check" | "--list-hosts" | "--version"
                )
            });
            if check {
                act.affect_any(Scope::CLOUD_READ);
            } else {
                act.affect_any(Scope::CLOUD_WRITE);
                act.ask("infrastructure-change", "Changes other machines");
            }
        }
        _ => return false,
    }
    true
}

fn describe_read(act: &mut EffectBuilder<'_>) {
    act.affect_any(Scope::CLOUD_READ);
    act.mark_read_only();
}

fn describe_change(act: &mut EffectBuilder<'_>, category: &'static str, reason: &str) {
    act.affect_any(Scope::CLOUD_WRITE);
    act.ask(category, reason);
}

/// Options of kubectl that take a value.
const KUBECTL_VALUED: &[&str] = &[
    "-n",
    "--namespace",
    "--context",
    "--kubeconfig",
    "--as-group",
    "--as-uid",
    "--cache-dir",
    "--certificate-authority",
    "--client-certificate",
    "--client-key",
    "--password",
    "--profile",
    "--profile-output",
    "--request-timeout",
    "--tls-server-name",
    "--username",
    "-v",
    "--v",
    "--vmodule",
    "-o",
    "-f",
    "-l",
    "-c",
    "--cluster",
    "--user",
    "-s",
    "--server",
    "--token",
    "--as",
];

/// Options of helm that take a value.
const HELM_VALUED: &[&str] = &[
    "-n",
    "--namespace",
    "-f",
    "--values",
    "--set",
    "--kube-context",
    "--version",
    "--kube-apiserver",
    "--kube-token",
    "--burst-limit",
    "--kube-as-group",
    "--kube-as-user",
    "--kube-ca-file",
    "--kube-tls-server-name",
    "--qps",
    "--registry-config",
    "--repository-cache",
    "--repository-config",
];

/// Options without a value that are often followed by another option.
const BARE_OPTIONS: &[&str] = &[
    "-A",
    "--all",
    "--all-namespaces",
    "--atomic",
    "-auto-approve",
    "--create-namespace",
    "--debug",
    "--force",
    "-i",
    "--install",
    "--recursive",
    "-R",
    "--reuse-values",
    "--wait",
    "-y",
    "--yes",
];

/// The client's own options that are not the value of another one. What follows
/// two dashes is for an inner command.
fn own_options(words: &[ShellWord]) -> impl Iterator<Item = &str> {
    let own = words.split(|word| word.text == "--").next().unwrap_or(&[]);
    let takes_value = |word: &ShellWord| {
        let text = word.text.as_str();
        let is_bare = text.contains('=') || BARE_OPTIONS.contains(&text);
        !word.known || text.starts_with('-') && !is_bare
    };
    let is_value =
        move |at: usize| at.checked_sub(1).and_then(|at| own.get(at)).is_some_and(takes_value);
    let options = own.iter().enumerate().filter(move |(at, _)| !is_value(*at));
    options.map(|(_, word)| word.text.as_str())
}

/// Whether a client only prints its help.
fn asks_for_help(words: &[ShellWord]) -> bool {
    words.first().is_some_and(|word| word.text == "help")
        || own_options(words).any(|text| text == "--help")
}

/// Whether a client only shows what it would change.
fn is_dry_run(words: &[ShellWord], bare: bool) -> bool {
    let is_dry = |text: &str| match text.strip_prefix("--dry-run") {
        Some("=client" | "=server" | "=true") => true,
        Some("") => bare,
        _ => false,
    };
    // The last one counts, which may follow an option with or without a value.
    let mut given = words.iter().filter(|word| word.text.starts_with("--dry-run"));
    given.all(|word| is_dry(&word.text)) && own_options(words).any(is_dry)
}

fn kubectl(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, KUBECTL_VALUED);
    match args.operand(0) {
        "get" | "describe" | "logs" | "top" | "explain" | "version" | "cluster-info"
        | "api-resources" | "api-versions" | "diff" | "events" | "auth" | "wait" | "completion"
        | "options" | "" => describe_read(act),
        "config"
            if matches!(
                args.operand(1),
                "view" | "get-contexts" | "current-context" | "get-clusters"
            ) =>
        {
            describe_read(act)
        }
        "rollout" if matches!(args.operand(1), "status" | "history") => describe_read(act),
        _ if is_dry_run(words, false) || asks_for_help(words) => describe_read(act),
        "port-forward" | "proxy" => {
            describe_change(act, "tunnel", "Opens a tunnel into the cluster")
        }
        "exec" => {
            describe_change(act, "cluster-change", "Runs a command inside the cluster");
            if let Some(at) = words.iter().position(|word| word.text == "--") {
                let command: Vec<ShellWord> = words.iter().skip(at + 1).cloned().collect();
                act.inner.push(InnerCommand::Words(command));
            }
        }
        verb => {
            let reason = format!("Changes the cluster ({verb})");
            describe_change(act, "cluster-change", &reason);
        }
    }
    args.values(&["-f"]).iter().for_each(|word| act.read(word));
    reach_server(act, &args.values(&["-s", "--server"]));
    for file in args.values(&["--kubeconfig"]) {
        act.read(&file);
        act.ask("program-option", "Loads settings that may run programs from a file (kubectl)");
    }
}

/// Adds the server that replaces the default one.
fn reach_server(act: &mut EffectBuilder<'_>, servers: &[ShellWord]) {
    for server in servers {
        let host = super::network::proxy_host(&server.text).filter(|_| server.known);
        act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
    }
}

fn helm(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, HELM_VALUED);
    reach_server(act, &args.values(&["--kube-apiserver"]));
    match args.operand(0) {
        "list" | "ls" | "status" | "get" | "history" | "show" | "template" | "lint" | "version"
        | "search" | "env" | "verify" | "" => describe_read(act),
        "repo" | "dependency" | "pull" => act.affect_any(Scope::NETWORK_FETCH),
        "create" | "package" => {}
        _ if is_dry_run(words, true) || asks_for_help(words) => describe_read(act),
        verb => {
            let reason = format!("Changes the cluster ({verb})");
            describe_change(act, "cluster-change", &reason);
        }
    }
}

fn infrastructure(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(words, &["-s", "--stack", "-C", "--cwd", "-target"]);
    match args.operand(0) {
        "plan" | "validate" | "fmt" | "show" | "output" | "version" | "graph" | "providers"
        | "preview" | "diff" | "synth" | "ls" | "list" | "whoami" | "about" | "console" | "get"
        | "login" | "" => describe_read(act),
        "init" if words.iter().any(|word| word.text.starts_with("-from-module")) => {
            act.affect_any(Scope::NETWORK_FETCH);
            act.ask("remote-code", "Loads infrastructure code from another source");
        }
        "init" => act.affect_any(Scope::NETWORK_FETCH),
        "state" if matches!(args.operand(1), "list" | "show" | "pull") => describe_read(act),
        "stack" | "workspace" | "config"
            if matches!(
                args.operand(1),
                "" | "ls" | "list" | "show" | "select" | "output" | "get"
            ) =>
        {
            describe_read(act)
        }
        _ if asks_for_help(words) => describe_read(act),
        verb => {
            let reason = format!("Changes the infrastructure ({verb})");
            describe_change(act, "infrastructure-change", &reason);
        }
    }
}

/// Describes `aws s3 cp` and `sync` as downloads; false for anything else.
fn downloads(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let args = CommandArgs::parse(
        words,
        &[
            "--profile",
            "--region",
            "--output",
            "--query",
            "--endpoint-url",
            "--exclude",
            "--include",
        ],
    );
    let far = |index: usize| args.operand(index).starts_with("s3://");
    let verb = args.operand(0) == "s3" && matches!(args.operand(1), "cp" | "sync");
    if !verb || !far(2) || far(3) || args.has(&["--delete", "--endpoint-url"]) {
        return false;
    }
    act.affect_any(Scope::CLOUD_READ);
    args.operands.iter().skip(3).for_each(|word| act.write(word));
    true
}

#[cfg(test)]
#[path = "cloud_tests.rs"]
mod tests;
