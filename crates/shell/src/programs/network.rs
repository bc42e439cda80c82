//! Programs that connect to other hosts.

use hermes_core::Scope;

use crate::args::CommandArgs;
use crate::eval_context::{EffectBuilder, InnerCommand};
use crate::leaf::{ShellWord, TextTaint};

/// The host of a URL: lowercase, without user, port and brackets.
pub(crate) fn url_host(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    authority_host(rest)
}

pub(super) fn authority_host(rest: &str) -> Option<String> {
    let ends = |c: char| matches!(c, '/' | '?' | '#' | '\\') || c.is_whitespace();
    let authority = rest.split(ends).next().unwrap_or("");
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(inside) => inside.split(']').next().unwrap_or(inside),
        None => host.split(':').next().unwrap_or(host),
    };
    // Programs fold letters and digits of other scripts to ASCII.
    let folded = match host.is_ascii() {
        true => host.to_owned(),
        false => crate::text::program_name(host).replace(['\u{3002}', '\u{ff61}'], "."),
    };
    (!host.is_empty() && !host.contains('$'))
        .then(|| folded.trim_end_matches('.').to_ascii_lowercase())
}

/// The host of `user@host:path`.
pub(crate) fn remote_host(text: &str) -> Option<String> {
    let (left, _) = text.split_once(':')?;
    let plain = !left.is_empty() && !left.contains('/') && !text.contains("://");
    plain.then(|| left.rsplit('@').next().unwrap_or(left).to_ascii_lowercase())
}

/// The host of a proxy, which may lack a scheme.
pub(super) fn proxy_host(text: &str) -> Option<String> {
    url_host(text).or_else(|| authority_host(text))
}

/// Adds a finding for a host that is only known at run time: it may be any
/// host, including this one.
pub(super) fn ask_dynamic_host(act: &mut EffectBuilder<'_>, written: &str) {
    let reason = format!("The host of {written} is only known at run time");
    act.ask("dynamic-host", reason);
}

/// Describes network programs.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    match act.program {
        "ssh" | "autossh" | "mosh" => ssh(act, words),
        "scp" | "sftp" => copy(act, words),
        "nc" | "ncat" | "netcat" | "nc.openbsd" | "nc.traditional" => netcat(act, words),
        "socat" => socat(act, words),
        "telnet" | "ftp" | "lftp" | "tftp" => {
            let args = CommandArgs::parse(words, &["-e", "-u", "-p"]);
            let host = args.operand(0).to_ascii_lowercase();
            act.affect_host(Scope::NETWORK_SEND, Some(&host));
        }
        "ping" | "ping6" | "dig" | "nslookup" | "host" | "whois" | "traceroute" | "tracepath"
        | "mtr" | "nmap" | "drill" | "kdig" | "dog" | "doggo" => {
            // A file of queries is not a host.
            let valued: &[&str] = match act.program {
                "dig" | "kdig" => &["-b", "-c", "-f", "-k", "-p", "-t", "-y"],
                _ => &["-c", "-i", "-W", "-w", "-p", "-t", "-s", "-I", "-m"],
            };
            let args = CommandArgs::parse(words, valued);
            let many = act.program == "nmap";
            let mut hosts = args.operands.iter().filter(|word| !word.text.starts_with(['@', '+']));
            let host = hosts.next();
            if let Some(word) = host.filter(|word| !word.known) {
                ask_dynamic_host(act, &word.text);
            }
            let first = host.and_then(ShellWord::known_text).map(str::to_ascii_lowercase);
            act.affect_host(Scope::NETWORK_FETCH, first.as_deref().map(first_of_range).as_deref());
            for word in hosts.filter(|word| many && word.known) {
                act.affect_host(Scope::NETWORK_FETCH, Some(&first_of_range(&word.text)));
            }
            // `@server` is queried in place of the default one.
            for server in words.iter().filter_map(|word| word.text.strip_prefix('@')) {
                act.affect_host(Scope::NETWORK_FETCH, Some(&server.to_ascii_lowercase()));
            }
        }
        "mail" | "mailx" | "sendmail" | "mutt" | "swaks" | "msmtp" | "ssmtp" => {
            act.affect_any(Scope::EMAIL_SEND);
            act.affect_any(Scope::NETWORK_SEND);
        }
        "ssh-keygen" => keygen(act, words),
        "ssh-add" | "ssh-agent" => {}
        "ssh-copy-id" => {
            let args = CommandArgs::parse(words, &["-i", "-p", "-o"]);
            let host = args.operand(0).rsplit('@').next().unwrap_or("").to_ascii_lowercase();
            act.affect_host(Scope::NETWORK_SEND, Some(&host));
        }
        "openssl" => openssl(act, words),
        "ip" | "ifconfig" | "route" => interfaces(act, words),
        _ => return false,
    }
    true
}

/// The first address of a range: `10.0.0.0` for `10.0.0.0/24` and `10.0.0.*`.
fn first_of_range(text: &str) -> String {
    let address = text.split('/').next().unwrap_or(text);
    let ranges = |c: char| c.is_ascii_digit() || ".-,*".contains(c);
    if !address.chars().all(ranges) {
        return address.to_owned();
    }
    let first = |part: &str| match part.split(['-', ',', '*']).next() {
        Some("") | None => "0".to_owned(),
        Some(number) => number.to_owned(),
    };
    address.split('.').map(first).collect::<Vec<_>>().join(".")
}

fn ssh(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    const SSH_VALUED_OPTIONS: &[&str] = &[
        "-p", "-i", "-l", "-o", "-F", "-L", "-R", "-D", "-J", "-b", "-c", "-e", "-m", "-S", "-W",
        "-w", "-E", "-B", "-I", "-O", "-Q",
    ];
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(SSH_VALUED_OPTIONS.contains(&word.text.as_str()));
    }
    let args =
        CommandArgs::parse(words.get(..at.min(words.len())).unwrap_or(&[]), SSH_VALUED_OPTIONS);
    args.values(&["-i", "-F"]).iter().for_each(|word| act.read(word));
    if args.has(&["-V"]) {
        return act.mark_read_only();
    }
    let Some(target) = words.get(at) else { return };
    let name = target.text.split_once("://").map_or(target.text.as_str(), |(_, rest)| rest);
    let host = name.rsplit('@').next().unwrap_or("").to_ascii_lowercase();
    act.affect_host(Scope::NETWORK_SEND, target.known.then_some(host.as_str()));
    if args.has(&["-R", "-D", "-L"]) {
        act.ask("tunnel", "Opens a tunnel to another network");
    }
    let command = words.get(at + 1..).unwrap_or(&[]);
    let input = act.context.input;
    if command.is_empty() && input.connected && !act.check_tainted_code(input.taint) {
        // The remote shell runs what comes through the pipe.
        let text = input.text.clone().unwrap_or_default();
        act.inner.push(InnerCommand::Source(ShellWord {
            text,
            known: input.text.is_some(),
            ..ShellWord::default()
        }));
    }
    if !command.is_empty() {
        let mut joined = ShellWord::literal("");
        for word in command {
            joined.known &= word.known;
            joined.text = format!("{} {}", joined.text, word.text).trim_start().to_owned();
        }
        // A variable expanded on the remote side is harder to judge, but no
        // more dangerous.
        joined.known |= !joined.text.contains('…');
        act.inner.push(InnerCommand::Source(joined));
    }
}

fn copy(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args =
        CommandArgs::parse(words, &["-P", "-i", "-o", "-F", "-S", "-c", "-l", "-J", "-b", "-D"]);
    args.values(&["-i", "-F"]).iter().for_each(|word| act.read(word));
    let last = args.operands.len().saturating_sub(1);
    for (index, word) in args.operands.iter().enumerate() {
        match remote_host(&word.text) {
            Some(host) => act.affect_host(Scope::NETWORK_SEND, Some(&host)),
            None if act.program == "sftp" => {
                let host = word.text.rsplit('@').next().unwrap_or("").to_ascii_lowercase();
                act.affect_host(Scope::NETWORK_SEND, Some(&host));
            }
            None if index == last => act.write(word),
            None => super::http_clients::upload(act, word),
        }
    }
}

fn netcat(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &["-p", "-w", "-s", "-e", "-c", "-X", "-x", "-i", "-q", "--exec", "--sh-exec"],
    );
    if args.has(&["-e", "-c", "--exec", "--sh-exec"]) {
        act.ask("reverse-shell", "Connects a program to the network");
    }
    if args.has(&["-l"]) {
        act.ask("network-listen", "Listens for network connections");
    }
    let host = args.operands.first().and_then(ShellWord::known_text).map(str::to_ascii_lowercase);
    if args.has(&["-z"]) {
        act.affect_host(Scope::NETWORK_FETCH, host.as_deref());
    } else {
        act.affect_host(Scope::NETWORK_SEND, host.as_deref());
    }
    if act.context.input.taint.has(TextTaint::SECRET) {
        act.ask("secret-exfiltration", "Sends a likely secret to another machine");
    }
}

fn socat(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    act.affect_any(Scope::NETWORK_SEND);
    let runs = words.iter().any(|word| {
        let lower = word.text.to_ascii_lowercase();
        lower.starts_with("exec:") || lower.starts_with("system:") || lower.starts_with("shell:")
    });
    if runs {
        act.ask("reverse-shell", "Connects a program to the network");
    }
}

fn keygen(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args =
        CommandArgs::parse(words, &["-f", "-t", "-b", "-C", "-N", "-P", "-R", "-F", "-E", "-m"]);
    let files = args.values(&["-f"]);
    if args.has(&["-l", "-y", "-F", "-B", "-e"]) {
        act.mark_read_only();
        files.iter().for_each(|word| act.read(word));
    } else {
        files.iter().for_each(|word| act.write(word));
    }
}

fn openssl(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if super::verb_tools::asks_about_itself(words) {
        return act.mark_read_only();
    }
    let after = |name: &str| {
        words.iter().position(|word| word.text == name).and_then(|at| words.get(at + 1)).cloned()
    };
    for name in ["-in", "-inkey", "-key", "-CAfile", "-cert"] {
        if let Some(file) = after(name) {
            act.read(&file);
        }
    }
    for name in ["-out", "-keyout"] {
        if let Some(file) = after(name) {
            act.write(&file);
        }
    }
    match words.first().map(|word| word.text.as_str()) {
        Some("s_client") => {
            let host = after("-connect").and_then(|word| authority_host(&word.text));
            let input = act.context.input;
            let says = input.connected && input.text.as_deref() != Some("");
            let scope = if says { Scope::NETWORK_SEND } else { Scope::NETWORK_FETCH };
            act.affect_host(scope, host.as_deref());
        }
        Some("s_server") => act.ask("network-listen", "Listens for network connections"),
        Some(
            "version" | "dgst" | "x509" | "ciphers" | "list" | "rand" | "verify" | "asn1parse",
        ) => act.mark_read_only(),
        _ => {}
    }
}

fn interfaces(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let changes = words.iter().any(|word| {
        matches!(
            word.text.as_str(),
            "add" | "del" | "delete" | "set" | "flush" | "up" | "down" | "replace" | "change"
        )
    });
    if changes {
        act.ask("network-setting", "Changes the network configuration");
    } else {
        act.mark_read_only();
    }
}
