//! Servers reachable from other hosts, and tunnels from outside.

use std::sync::LazyLock;

use hermes_core::Scope;

use crate::eval_context::EffectBuilder;
use crate::leaf::ShellWord;
use crate::static_names::StaticNameSet;

/// Programs that open a tunnel from outside.
const TUNNEL_PROGRAMS: &[&str] = &[
    "ngrok",
    "cloudflared",
    "localtunnel",
    "lt",
    "frpc",
    "frps",
    "bore",
    "chisel",
    "gost",
    "inlets",
    "zrok",
    "pagekite",
    "devtunnel",
    "rathole",
    "sshuttle",
    "serveo",
    "tunnelto",
    "telebit",
    "localxpose",
    "loclx",
    "pinggy",
    "iodine",
    "dnscat",
    "dnscat2",
    "ptunnel",
    "stunnel",
    "wstunnel",
    "tailscale",
    "zerotier-cli",
    "expose",
    "hookdeck",
    "smee",
    "croc",
    "wormhole",
    "transfer",
    "magic-wormhole",
    "ffsend",
    "onionshare",
    "onionshare-cli",
    "tmate",
    "upterm",
    "sshx",
    "gotty",
    "ttyd",
    "wetty",
    "rustdesk",
    "anydesk",
    "teamviewer",
    "x11vnc",
    "vncserver",
];

/// Programs that serve files or a shell to the network.
const SERVER_PROGRAMS: &[&str] = &[
    "http-server",
    "serve",
    "live-server",
    "darkhttpd",
    "webfsd",
    "miniserve",
    "dufs",
    "simple-http-server",
    "httpd",
    "thttpd",
    "lighttpd",
    "vsftpd",
    "proftpd",
    "tftpd",
    "rsyncd",
    "sshd",
    "dropbear",
    "inetd",
    "xinetd",
    "telnetd",
    "smbd",
    "nfsd",
    "minidlnad",
    "filebrowser",
    "updog",
];

static TUNNEL_NAMES: LazyLock<StaticNameSet> =
    LazyLock::new(|| TUNNEL_PROGRAMS.iter().copied().collect());
static SERVER_NAMES: LazyLock<StaticNameSet> =
    LazyLock::new(|| SERVER_PROGRAMS.iter().copied().collect());

/// Adds findings for servers on all interfaces and for tunnels.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let program = act.program;
    let first = words.iter().find(|word| !word.text.starts_with('-'));
    let verb = first.map_or("", |word| word.text.as_str());
    let looks = crate::args::asks_for_help(program, words) || only_shows(program, words);
    let through = matches!(program, "npx" | "bunx" | "pnpx" | "uvx" | "pipx")
        && (TUNNEL_NAMES.contains(verb) || SERVER_NAMES.contains(verb));
    let editor = program == "code" && verb == "tunnel";
    if (TUNNEL_NAMES.contains(program) || through || editor) && !looks {
        act.affect_any(Scope::NETWORK_SEND);
        act.ask("tunnel", "Opens a tunnel from another network");
        return;
    }
    if SERVER_NAMES.contains(program) && !looks {
        act.affect_any(Scope::NETWORK_SEND);
        act.ask("network-listen", "Listens for network connections");
        return;
    }
    let serves = match program {
        "caddy" => matches!(verb, "file-server" | "reverse-proxy" | "run" | "start"),
        "git" => verb == "daemon" || verb == "instaweb",
        "iperf" | "iperf3" => words.iter().any(|word| word.text == "-s"),
        "rclone" => verb == "serve",
        "ruby" => words.iter().any(|word| word.text == "-run"),
        "adb" => verb == "tcpip",
        _ => false,
    };
    if serves
        || (!only_mentions(act, program) && words.iter().any(|word| is_any_address(word, program)))
    {
        act.ask("network-listen", "Listens for connections on all interfaces");
        act.affect_any(Scope::NETWORK_SEND);
    }
}

/// Whether a tunnel or server program only checks its settings, or shows its
/// state or the help of a subcommand.
fn only_shows(program: &str, words: &[ShellWord]) -> bool {
    // A program without subcommands may ignore a second word.
    const SUBCOMMAND_PROGRAMS: &[&str] = &[
        "bore",
        "bunx",
        "chisel",
        "cloudflared",
        "code",
        "croc",
        "devtunnel",
        "ffsend",
        "hookdeck",
        "inlets",
        "loclx",
        "ngrok",
        "npx",
        "pnpx",
        "tailscale",
        "upterm",
        "uvx",
        "wormhole",
        "zrok",
    ];
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    match texts.as_slice() {
        ["-t" | "-T", ..] => program == "sshd",
        // A server program takes the word for a directory.
        ["status" | "version" | "help" | "ip" | "ping" | "netcheck", ..] => {
            TUNNEL_NAMES.contains(program)
        }
        [verb, "--help"] => !verb.starts_with('-') && SUBCOMMAND_PROGRAMS.contains(&program),
        _ => false,
    }
}

/// Whether a program only mentions addresses.
fn only_mentions(act: &EffectBuilder<'_>, program: &str) -> bool {
    act.leaf.reads_only
        || matches!(
            program,
            "git"
                | "gh"
                | "sed"
                | "awk"
                | "curl"
                | "wget"
                | "ping"
                | "nmap"
                | "tee"
                | "psql"
                | "mysql"
                | "sqlite3"
                | "dig"
                | "nslookup"
                | "host"
                | "ssh"
                | "hermes"
        )
}

/// Whether a word names the wildcard address.
fn is_any_address(word: &ShellWord, program: &str) -> bool {
    let text = word.text.rsplit('=').next().unwrap_or(&word.text);
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = if program == "socat" { text.rsplit("bind=").next().unwrap_or(text) } else { text };
    let address = text.split(['/', ',']).next().unwrap_or(text);
    let host = match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => address,
    };
    matches!(host, "0.0.0.0" | "[::]" | "::" | "0:0:0:0:0:0:0:0")
        || (program == "socat" && word.text.to_ascii_uppercase().contains("-LISTEN:"))
}
