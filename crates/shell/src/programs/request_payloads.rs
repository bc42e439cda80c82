//! Data that a request sends: files named by an option, and command output in
//! the words of a program that fetches.

use std::sync::LazyLock;

use hermes_core::{Effect, Resource, Scope};

use super::network::{proxy_host, url_host};
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::{LeafCommand, ShellWord, TextTaint};
use crate::static_names::StaticNameMap;

/// Load generators and query tools: the options that name a file to send, and
/// those whose value is sent.
const PAYLOAD_OPTIONS: &[(&str, &str, &str)] = &[
    ("ab", "-p -u", ""),
    ("autocannon", "-i --input", "-b --body"),
    ("bombardier", "-f --body-file", "-b --body"),
    ("dig kdig", "-f", ""),
    ("grpcurl", "", "-d"),
    ("hey", "-D", "-d"),
    ("httpstat", "-T --upload-file", "-d --data --data-binary --data-raw -F --form"),
    ("iperf iperf3", "-F --file", ""),
    ("oha", "-D -F", "-d"),
    ("vegeta", "-body", ""),
];

static OPTIONS_BY_NAME: LazyLock<StaticNameMap<(&'static str, &'static str)>> =
    LazyLock::new(|| {
        let entries = PAYLOAD_OPTIONS.iter();
        let named = |(names, files, data): &'static (&'static str, &'static str, &'static str)| {
            names.split(' ').map(move |name| (name, (*files, *data)))
        };
        entries.flat_map(named).collect()
    });

/// Programs that send all of their words with the request.
const REQUEST_PROGRAMS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "http",
    "https",
    "xh",
    "dig",
    "nslookup",
    "host",
    "ping",
    "ping6",
    "whois",
    "drill",
    "getent",
    "kdig",
    "doggo",
    "dog",
    "lynx",
    "w3m",
    "fetch",
    "traceroute",
    "mtr",
];

/// Options of these programs whose values stay local.
const LOCAL_OPTIONS: &[&str] =
    &["-o", "--output", "-O", "-P", "--output-dir", "-m", "-w", "--cacert", "-T", "-c"];

/// The same for all other programs.
const OTHER_LOCAL_OPTIONS: &[&str] = &[
    "-o",
    "--output",
    "-O",
    "-P",
    "--output-dir",
    "-d",
    "--dir",
    "--dest",
    "--prefix",
    "--target",
    "-j",
    "--jobs",
];

/// Adds a send to a fetch that carries data.
pub(super) fn describe(act: &mut EffectBuilder<'_>) {
    let words = act.arguments();
    let fetches = act.leaf.effects.iter().any(|effect| effect.scope == Scope::NETWORK_FETCH);
    let shown = words.iter().any(is_computed_word);
    if fetches && has_payload(act, words) || sends_computed(act, shown) {
        send_to_fetched_hosts(act);
    } else if shown {
        for host in named_hosts(act, words) {
            act.affect_host(Scope::NETWORK_SEND, Some(&host));
        }
    }
}

/// Whether an option names data to send. Adds reads for files among it.
fn has_payload(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    if act.program == "siege" {
        return posts(act, words);
    }
    let Some((files, data)) = OPTIONS_BY_NAME.get(act.program) else { return false };
    // Some tools write long options with one dash.
    let single = |word: &ShellWord| match word.text.split_once('=') {
        Some((name, value)) if files.split(' ').any(|file| file == name) => {
            Some(ShellWord { text: value.to_owned(), ..word.clone() })
        }
        _ => None,
    };
    let valued: Vec<&str> = files.split(' ').chain(data.split(' ')).collect();
    let args = CommandArgs::parse(words, &valued);
    let mut sent = args.values(&files.split(' ').collect::<Vec<_>>());
    sent.extend(words.iter().filter_map(single));
    sent.iter().for_each(|file| super::http_clients::upload(act, file));
    if act.program.starts_with("iperf") {
        let machine = CommandArgs::parse(words, &["-c", "--client"]).value(&["-c", "--client"]);
        let host = machine.as_ref().and_then(ShellWord::known_text).map(str::to_ascii_lowercase);
        act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
    }
    !sent.is_empty() || args.has(&data.split(' ').collect::<Vec<_>>())
}

/// Handles `siege 'URL POST < FILE'`.
fn posts(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    let orders = words.iter().filter(|word| word.text.contains(" POST"));
    let orders: Vec<&ShellWord> = orders.collect();
    for order in &orders {
        if let Some((_, file)) = order.text.split_once('<') {
            super::http_clients::upload(
                act,
                &ShellWord { text: file.trim().to_owned(), ..(*order).clone() },
            );
        }
    }
    !orders.is_empty()
}

/// Whether a word is computed from the output of a command, or contains a
/// secret.
fn is_computed_word(word: &ShellWord) -> bool {
    word.taint.has(TextTaint::COMPUTED) && !word.known || word.taint.has(TextTaint::SECRET)
}

/// Whether computed data is part of the request.
fn sends_computed(act: &EffectBuilder<'_>, shown: bool) -> bool {
    let listed = act.context.input.taint.has(TextTaint::COMPUTED)
        && act.leaf.wrappers.iter().any(|via| via.ends_with("xargs") || via == "parallel");
    let within = |word: &ShellWord| {
        let whole = word.text.starts_with("{}") || word.text.starts_with('…');
        word.text.contains("://") && (!word.known || word.text.contains("{}")) && !whole
    };
    if listed && act.words.iter().any(within) {
        return true;
    }
    let whole = shown && REQUEST_PROGRAMS.contains(&act.program);
    let mut before = "";
    for word in act.words.iter().skip(1).filter(|_| shown) {
        let far = || whole && !LOCAL_OPTIONS.contains(&before) || word.text.contains("://");
        let header = || word.text.to_ascii_lowercase().contains("header");
        if is_computed_word(word) && (far() || header()) {
            return true;
        }
        before = &word.text;
    }
    false
}

/// Adds a send to every host that is fetched from.
fn send_to_fetched_hosts(act: &mut EffectBuilder<'_>) {
    let fetched = |effect: &&Effect| effect.scope == Scope::NETWORK_FETCH;
    let hosts: Vec<Resource> =
        act.leaf.effects.iter().filter(fetched).map(|effect| effect.resource.clone()).collect();
    if hosts.is_empty() || act.program == "getent" {
        act.affect_any(Scope::NETWORK_SEND);
    }
    for resource in hosts {
        act.leaf.add_effect(Effect { scope: Scope::NETWORK_SEND, resource });
    }
}

/// The hosts that receive computed words of a program: hosts it fetches from,
/// registries, databases.
fn named_hosts(act: &EffectBuilder<'_>, words: &[ShellWord]) -> Vec<String> {
    let mut before = "";
    let mut shown = false;
    for word in words {
        // The target directory of a clone is not sent.
        let cloned = || before.contains("://") && words.iter().any(|word| word.text == "clone");
        let kept = OTHER_LOCAL_OPTIONS.contains(&before) || act.program == "git" && cloned();
        shown |= is_computed_word(word) && !word.named && !kept;
        before = &word.text;
    }
    let reaches = |family: &str| act.leaf.effects.iter().any(|e| e.scope.family() == family);
    if !shown {
        return Vec::new();
    }
    match act.program {
        "go" => {
            words.iter().filter(|word| is_computed_word(word)).filter_map(module_host).collect()
        }
        _ if reaches("network") => {
            let of_words = words.iter().filter_map(|word| url_host(value_of(word)));
            fetched_from(act.leaf).map(str::to_owned).chain(of_words).collect()
        }
        _ if reaches("database") => database_hosts(words),
        _ => Vec::new(),
    }
}

/// The hosts that a leaf is known to fetch from.
pub(super) fn fetched_from(leaf: &LeafCommand) -> impl Iterator<Item = &str> {
    leaf.effects.iter().filter_map(|effect| match &effect.resource {
        Resource::Host(host) if effect.scope == Scope::NETWORK_FETCH => Some(host.as_str()),
        _ => None,
    })
}

/// A word, or the value after the `=` of a long option.
fn value_of(word: &ShellWord) -> &str {
    let option = word.text.strip_prefix("--").and_then(|text| text.split_once('='));
    option.map_or(word.text.as_str(), |(_, value)| value)
}

/// The host at the start of a module path.
fn module_host(word: &ShellWord) -> Option<String> {
    let (host, _) = word.text.split_once('/')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    (host.contains('.') && !host.starts_with('.') && host.chars().all(plain))
        .then(|| host.to_ascii_lowercase())
}

/// The database hosts that the words name. A name without a dot counts as
/// local.
fn database_hosts(words: &[ShellWord]) -> Vec<String> {
    let mut hosts = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = word.text.as_str();
        let next = words.get(at + 1).map(|next| next.text.as_str());
        let conninfo = text.split_whitespace().find_map(|part| part.strip_prefix("host="));
        let host = match text {
            "-h" | "--host" => next.and_then(proxy_host),
            _ => conninfo
                .or_else(|| text.strip_prefix("--host="))
                .map(str::to_ascii_lowercase)
                .or_else(|| url_host(text)),
        };
        hosts.extend(host);
    }
    hosts.retain(|host| host.contains('.') && !host.starts_with("127."));
    hosts
}

#[cfg(test)]
#[path = "request_payloads_tests.rs"]
mod tests;
