//! Tools that can print a secret.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::StaticNameMap;

/// Words that together make a tool print a secret. `a|b` is a choice, `*` is a
/// wildcard.
const SECRET_SHOWING_WORDS: &[(&str, &[&str])] = &[
    ("kubectl|oc|k", &["config", "view", "--raw|--flatten"]),
    ("kubectl|oc|k", &["get", "secret*", "-o*|--output*|-ojson|--template*"]),
    ("kubectl|oc|k", &["get", "*,secret*|secret*,*", "-o*|--output*|--template*"]),
    ("kubectl|oc|k", &["get", "--raw*", "*secrets*"]),
    ("kubectl|oc|k", &["create", "token"]),
    ("dhall", &["*/.ssh*"]),
    ("oc", &["whoami", "-t|--show-token"]),
    ("gpg|gpg2", &["--export-secret*"]),
    ("aws", &["configure", "get", "*secret*|*token*|*key*"]),
    ("aws", &["configure", "export-credentials"]),
    ("aws", &["sts", "get-session-token|assume-role*|get-federation-token"]),
    ("aws", &["ecr|ecr-public", "get-login-password|get-authorization-token"]),
    ("aws", &["secretsmanager", "get-secret-value|batch-get-secret-value"]),
    ("aws", &["ssm", "get-parameter*", "--with-decryption"]),
    ("aws", &["sso", "get-role-credentials"]),
    ("aws", &["codeartifact", "get-authorization-token"]),
    ("aws", &["rds", "generate-db-auth-token"]),
    ("aws", &["eks", "get-token"]),
    ("gcloud", &["auth", "*print-access-token|*print-identity-token"]),
    ("gcloud", &["auth", "application-default", "*print-access-token"]),
    ("gcloud", &["secrets", "versions", "access"]),
    ("gcloud", &["config", "config-helper"]),
    ("az", &["account", "get-access-token"]),
    ("az", &["keyvault", "secret", "show|download"]),
    ("az", &["acr", "credential", "show"]),
    ("az", &["storage", "account", "keys", "list|show"]),
    ("gh|glab", &["auth", "token"]),
    ("gh|glab", &["auth", "status", "-t|--show-token"]),
    ("heroku", &["auth:token|config|config:get"]),
    ("fly|flyctl", &["auth", "token"]),
    ("fly|flyctl", &["tokens", "create*"]),
    ("vercel", &["env", "pull"]),
    ("doctl", &["auth", "token"]),
    ("pass|gopass", &["show|-c|ls"]),
    ("op", &["read"]),
    ("op", &["item|document", "get"]),
    ("bw|rbw", &["get|export|list"]),
    ("lpass", &["show|export"]),
    ("keepassxc-cli", &["show|export|clip"]),
    ("vault|bao", &["kv", "get"]),
    ("vault|bao", &["read|print"]),
    ("security", &["find-*|dump-keychain|export"]),
    ("secret-tool", &["lookup|search"]),
    ("keyring", &["get"]),
    ("sops", &["-d|--decrypt|decrypt|exec-env"]),
    ("ansible-vault", &["view|decrypt|edit"]),
    ("doppler|infisical", &["secrets|export"]),
    ("chezmoi", &["secret"]),
    ("npm|pnpm|yarn", &["token"]),
    ("npm|pnpm|yarn", &["config", "get", "*auth*|*token*|*password*"]),
    ("git", &["credential", "fill"]),
    ("git", &["credential-*", "get"]),
    ("pulumi", &["config|stack", "--show-secrets"]),
    ("pulumi", &["stack", "output", "--show-secrets"]),
    ("terraform|tofu", &["state", "pull"]),
    ("terraform|tofu", &["output", "-raw|-json"]),
    ("wg", &["showconf|genkey"]),
    ("wg", &["show", "private-key|preshared-keys"]),
    ("nmcli", &["-s|--show-secrets"]),
    ("nmcli", &["device", "wifi", "show-password"]),
    (DOCKER_HELPER_PREFIX, &["get|list"]),
    ("aws-vault", &["export"]),
    ("saml2aws", &["script"]),
    ("ykman", &["oath", "accounts", "code"]),
    ("oathtool", &[]),
    ("klist", &["-k"]),
    ("mimikatz|lazagne|pypykatz|secretsdump.py|unshadow|john|hashcat", &[]),
];

/// Name prefix of docker's credential helpers.
const DOCKER_HELPER_PREFIX: &str = "docker-credential-";

static WORDS_BY_NAME: LazyLock<StaticNameMap<Vec<&'static [&'static str]>>> = LazyLock::new(|| {
    let mut by_name: StaticNameMap<Vec<&'static [&'static str]>> = StaticNameMap::default();
    for (names, wanted) in SECRET_SHOWING_WORDS {
        for name in names.split('|') {
            by_name.entry(name).or_default().push(wanted);
        }
    }
    by_name
});

/// Adds a finding if the words of a command print a secret.
pub(super) fn describe(act: &mut EffectBuilder<'_>) {
    let program = act.program;
    let words = act.words.get(1..).unwrap_or(&[]);
    let name =
        if program.starts_with(DOCKER_HELPER_PREFIX) { DOCKER_HELPER_PREFIX } else { program };
    let shows = WORDS_BY_NAME
        .get(name)
        .is_some_and(|entries| entries.iter().any(|wanted| contains_in_order(wanted, words)));
    // A name alone requests printing it.
    let bare = matches!(program, "pass" | "gopass")
        && words.first().is_some_and(|word| word.text.contains('/') && !word.text.starts_with('-'));
    if shows || bare {
        act.ask("secret-exposure", "Shows a secret");
    }
}

fn is_one_of(choice: &str, text: &str) -> bool {
    choice.split('|').any(|pattern| {
        pattern == text || (pattern.contains('*') && crate::text::glob_match(pattern, text))
    })
}

fn lowercase(text: &str) -> Cow<'_, str> {
    match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => text.to_ascii_lowercase().into(),
        false => text.into(),
    }
}

/// Whether all of these words occur, those without a dash in this order.
fn contains_in_order(wanted: &[&str], words: &[ShellWord]) -> bool {
    let mut from = 0;
    wanted.iter().all(|choice| {
        let start = if choice.starts_with('-') { 0 } else { from };
        let found =
            words.iter().skip(start).position(|word| is_one_of(choice, &lowercase(&word.text)));
        if let (Some(at), false) = (found, choice.starts_with('-')) {
            from = start + at + 1;
        }
        found.is_some()
    })
}
