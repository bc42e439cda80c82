//! Clusters, clouds and infrastructure.

use hermes_core::Scope;

use crate::args::Args;
use crate::leaf::Word;
use crate::site::{Act, Inner};

/// Describes the command lines of clusters and clouds.
pub(super) fn describe(act: &mut Act<'_>) -> bool {
    let words = act.arguments();
    match act.leaf.program.as_str() {
        "kubectl" | "oc" | "k3s" | "k" => kubectl(act, &words),
        "helm" => helm(act, &words),
        "terraform" | "tofu" | "terragrunt" | "pulumi" | "cdk" | "serverless" | "sls" => {
            infrastructure(act, &words)
        }
        "aws" | "gcloud" | "az" | "gsutil" | "doctl" | "fly" | "flyctl" | "heroku" | "vercel"
        | "netlify" | "wrangler" | "linode-cli" | "hcloud" | "oci" | "ibmcloud" | "s3cmd"
        | "rclone" | "mc" | "eksctl" | "railway" => {
            provider(act, &words);
        }
        "ansible" | "ansible-playbook" => {
            let check = words.iter().any(|word| {
                matches!(
                    word.text.as_str(),
                    "--check" | "-C" | "--syntax-check" | "--list-hosts" | "--version"
                )
            });
            if check {
                act.any(Scope::CLOUD_READ);
            } else {
                act.any(Scope::CLOUD_WRITE);
                act.ask("infrastructure-change", "Changes other machines");
            }
        }
        _ => return false,
    }
    true
}

fn looks(act: &mut Act<'_>) {
    act.any(Scope::CLOUD_READ);
    act.only_reads();
}

fn changes(act: &mut Act<'_>, category: &'static str, reason: &str) {
    act.any(Scope::CLOUD_WRITE);
    act.ask(category, reason);
}

fn helps(words: &[Word]) -> bool {
    words.iter().any(|word| matches!(word.text.as_str(), "--help" | "--version" | "help"))
}

fn kubectl(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
        words,
        &[
            "-n",
            "--namespace",
            "--context",
            "--kubeconfig",
            "-o",
            "-f",
            "-l",
            "-c",
            "--cluster",
            "--user",
        ],
    );
    let dry = words
        .iter()
        .any(|word| word.text.starts_with("--dry-run=") && !word.text.ends_with("none"));
    match args.operand(0) {
        "get" | "describe" | "logs" | "top" | "explain" | "version" | "cluster-info"
        | "api-resources" | "api-versions" | "diff" | "events" | "auth" | "wait" | "completion"
        | "options" | "" => looks(act),
        "config"
            if matches!(
                args.operand(1),
                "view" | "get-contexts" | "current-context" | "get-clusters"
            ) =>
        {
            looks(act)
        }
        "rollout" if matches!(args.operand(1), "status" | "history") => looks(act),
        _ if dry || helps(words) => looks(act),
        "port-forward" | "proxy" => act.any(Scope::CLOUD_READ),
        "exec" => {
            changes(act, "cluster-change", "Runs a command inside the cluster");
            if let Some(at) = words.iter().position(|word| word.text == "--") {
                let command: Vec<Word> = words.iter().skip(at + 1).cloned().collect();
                act.inner.push(Inner::Words(command));
            }
        }
        verb => {
            let reason = format!("Changes the cluster ({verb})");
            changes(act, "cluster-change", &reason);
        }
    }
    args.values(&["-f"]).iter().for_each(|word| act.read(word));
}

fn helm(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
        words,
        &["-n", "--namespace", "-f", "--values", "--set", "--kube-context", "--version"],
    );
    match args.operand(0) {
        "list" | "ls" | "status" | "get" | "history" | "show" | "template" | "lint" | "version"
        | "search" | "env" | "verify" | "" => looks(act),
        "repo" | "dependency" | "pull" => act.any(Scope::NETWORK_FETCH),
        "create" | "package" => {}
        _ if args.has(&["--dry-run"]) || helps(words) => looks(act),
        verb => {
            let reason = format!("Changes the cluster ({verb})");
            changes(act, "cluster-change", &reason);
        }
    }
}

fn infrastructure(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(words, &["-s", "--stack", "-C", "--cwd", "-target"]);
    match args.operand(0) {
        "plan" | "validate" | "fmt" | "show" | "output" | "version" | "graph" | "providers"
        | "preview" | "diff" | "synth" | "ls" | "list" | "whoami" | "about" | "console" | "get"
        | "login" | "" => looks(act),
        "init" => act.any(Scope::NETWORK_FETCH),
        "state" if matches!(args.operand(1), "list" | "show" | "pull") => looks(act),
        "stack" | "workspace" | "config"
            if matches!(
                args.operand(1),
                "" | "ls" | "list" | "show" | "select" | "output" | "get"
            ) =>
        {
            looks(act)
        }
        _ if helps(words) => looks(act),
        verb => {
            let reason = format!("Changes the infrastructure ({verb})");
            changes(act, "infrastructure-change", &reason);
        }
    }
}

/// Verbs that only look.
const READING: &[&str] = &[
    "describe", "list", "ls", "get", "show", "view", "status", "logs", "tail", "head", "lookup",
    "search", "info", "whoami", "version", "check", "validate", "wait", "help", "history",
    "regions", "size", "cat", "estimate", "preview", "select", "query", "scan", "stat", "du",
    "tree", "find", "diff", "presign", "apps", "ps", "releases",
];
/// Verbs that change something.
const CHANGING: &[&str] = &[
    "delete",
    "terminate",
    "rm",
    "rb",
    "mb",
    "create",
    "put",
    "update",
    "run",
    "start",
    "stop",
    "reboot",
    "deploy",
    "cp",
    "mv",
    "sync",
    "set",
    "add",
    "remove",
    "attach",
    "detach",
    "modify",
    "invoke",
    "publish",
    "purge",
    "destroy",
    "import",
    "restore",
    "enable",
    "disable",
    "copy",
    "move",
    "import-key-pair",
    "scale",
    "ssh",
    "apply",
    "reset",
    "launch",
    "secrets",
    "send",
    "register",
    "deregister",
    "associate",
    "disassociate",
    "revoke",
    "authorize",
    "cancel",
    "replace",
    "tag",
    "untag",
    "patch",
    "drain",
    "rollback",
    "resize",
    "rsync",
    "del",
    "release",
    "up",
    "down",
    "redeploy",
    "promote",
    "dispatch",
    "upload",
    "bulk-delete",
    "delete-objects",
    "config:set",
];

fn provider(act: &mut Act<'_>, words: &[Word]) {
    let args = Args::parse(
        words,
        &[
            "--profile",
            "--region",
            "--output",
            "--query",
            "--project",
            "--zone",
            "-g",
            "-n",
            "--subscription",
            "--account",
            "-a",
            "--app",
        ],
    );
    if act.leaf.program == "aws" && matches!(args.operand(1), "cp" | "sync") && downloads(&args) {
        act.any(Scope::CLOUD_READ);
        return args.operands.iter().skip(3).for_each(|word| act.write(word));
    }
    let verb_of = |text: &str| text.split(['-', ':']).next().unwrap_or(text).to_ascii_lowercase();
    let in_list = |word: &Word, list: &[&str]| {
        list.contains(&word.text.as_str()) || list.contains(&verb_of(&word.text).as_str())
    };
    let operands: Vec<&Word> = args.operands.iter().take(5).collect();
    let change = operands
        .iter()
        .skip(usize::from(operands.len() > 1 && act.leaf.program == "aws"))
        .find(|word| in_list(word, CHANGING));
    let read = operands.iter().find(|word| in_list(word, READING));
    let first_read = operands.iter().position(|word| in_list(word, READING));
    let first_change = operands.iter().position(|word| in_list(word, CHANGING));
    if helps(words)
        || operands.is_empty()
        || (read.is_some() && (change.is_none() || first_read < first_change))
    {
        looks(act);
    } else if let Some(verb) = change {
        let reason = format!("Changes something in the cloud ({})", verb.text);
        changes(act, "infrastructure-change", &reason);
        for word in operands.iter().filter(|word| word.text.starts_with(['/', '.', '~'])) {
            act.read(word);
        }
    } else {
        act.any(Scope::CLOUD_WRITE);
    }
}

/// Whether a copy goes from the cloud to here.
fn downloads(args: &Args) -> bool {
    args.operand(2).starts_with("s3://") && !args.operand(3).starts_with("s3://")
}
