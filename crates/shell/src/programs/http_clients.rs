//! Programs that download pages and files: curl, wget and similar, with every
//! option that reads or writes a file.

use std::sync::LazyLock;

use hermes_core::Scope;

use super::network::{ask_dynamic_host, authority_host, proxy_host, url_host};
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::{ShellWord, TextTaint};
use crate::secret_paths;

/// Options of curl that take a value.
static CURL_VALUED_OPTIONS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let groups = [
        PLAIN_OPTIONS,
        WRITE_OPTIONS,
        READ_OPTIONS,
        DATA_OPTIONS,
        FILE_NAMING_OPTIONS,
        PROXY_OPTIONS,
    ];
    groups.iter().flat_map(|group| group.split_whitespace()).collect()
});

const PLAIN_OPTIONS: &str = "-X -A -e -u -m -r -C -Y -y -z -t -U -Q -P --request --user-agent --referer \
    --user --max-time --range --continue-at --connect-timeout --retry --retry-delay \
    --retry-max-time --url --interface --output-dir --limit-rate --max-redirs --proxy-user \
    --dns-servers --dns-interface --dns-ipv4-addr --dns-ipv6-addr --abstract-unix-socket \
    --unix-socket --haproxy-clientip --engine --aws-sigv4 --cert-type --key-type --ciphers \
    --curves --delegation --expect100-timeout --form-string --ftp-account --ftp-method \
    --ftp-port --happy-eyeballs-timeout-ms --hostpubmd5 --hostpubsha256 --keepalive-time --krb \
    --local-port --login-options --mail-auth --mail-from --mail-rcpt --max-filesize --noproxy \
    --oauth2-bearer --parallel-max --pass --pinnedpubkey --proto --proto-default --proto-redir \
    --quote --rate --request-target --sasl-authzid --service-name --speed-limit --speed-time \
    --telnet-option --time-cond --tls-max --tls13-ciphers --tlsauthtype --tlspassword --tlsuser \
    --create-file-mode --ipfs-gateway --trace-config --proxy-pass --ech --keepalive-cnt --ip-tos \
    --vlan-priority --proxy-cert-type --proxy-key-type --proxy-ciphers --proxy-tlsauthtype \
    --proxy-tlsuser --proxy-tlspassword --proxy-pinnedpubkey --proxy-service-name \
    --proxy-tls13-ciphers --socks5-gssapi-service --tftp-blksize --ftp-alternative-to-user \
    --ftp-ssl-ccc-mode --sigalgs --upload-flags";
const WRITE_OPTIONS: &str = "-o --output -c --cookie-jar -D --dump-header --trace --trace-ascii --stderr \
    --libcurl --hsts --alt-svc --etag-save";
const READ_OPTIONS: &str = "-K --config -E --cert --key --cacert --capath --netrc-file --etag-compare \
    --crlfile --egd-file --random-file --pubkey --proxy-cert --proxy-key --proxy-cacert --hsts \
    --alt-svc --proxy-capath --proxy-crlfile --ssl-sessions --knownhosts";
const DATA_OPTIONS: &str = "-d -F -T --data --data-raw --data-binary --data-urlencode --data-ascii --json \
    --form --upload-file --form-string --url-query";
const FILE_NAMING_OPTIONS: &str =
    "-w --write-out -H --header -b --cookie --variable --proxy-header";
/// Options without a value whose names are a prefix of one with a value.
const BARE_OPTIONS: &[&str] = &["--head", "--netrc", "--parallel", "--crlf"];
const PROXY_OPTIONS: &str = "-x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname \
    --proxy1.0 --doh-url --resolve --connect-to";

fn split_options(options: &'static str) -> Vec<&'static str> {
    options.split_whitespace().collect()
}

/// Describes HTTP clients.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) -> bool {
    match act.program {
        "curl" | "curlie" => curl(act, words),
        "wget" | "wget2" => super::wget::describe(act, words),
        "aria2c" => aria(act, words),
        "http" | "https" | "xh" | "xhs" | "httpie" => httpie(act, words),
        "fetch" | "lynx" | "w3m" | "links" | "elinks" => browse(act, words),
        _ => return false,
    }
    true
}

/// Terminal browsers. Form data comes from a file or stdin.
fn browse(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args =
        CommandArgs::parse(words, &["-o", "-cmd_script", "-cmd_log", "-cfg", "-post", "-header"]);
    args.values(&["-o"]).iter().for_each(|word| act.write(word));
    let forms = args.values(&["-post"]);
    forms.iter().for_each(|form| upload(act, form));
    let fills = |word: &ShellWord| matches!(word.text.as_str(), "-post_data" | "-get_data");
    let sends = !forms.is_empty() || words.iter().any(fills);
    let scope = if sends { Scope::NETWORK_SEND } else { Scope::NETWORK_FETCH };
    reach_urls(act, &scope, &args.operands);
}

/// Programs that accept a URL in place of a file.
const URL_OPENING_PROGRAMS: &[&str] = &[
    "convert",
    "ffmpeg",
    "ffplay",
    "ffprobe",
    "identify",
    "magick",
    "mplayer",
    "mpv",
    "pandoc",
    "vlc",
    "wkhtmltopdf",
    "xmllint",
    "xsltproc",
];

/// Options of ffmpeg whose value may contain a URL that it does not open.
const URL_MENTIONING_OPTIONS: &[&str] =
    &["-headers", "-user_agent", "-referer", "-cookies", "-metadata"];

/// Adds the hosts from which such a program reads, or to which it writes its
/// output.
pub(super) fn describe_opened_urls(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    if !URL_OPENING_PROGRAMS.contains(&act.program) {
        return;
    }
    let form = words.windows(3).find(|three| three[0].text == "--post-file");
    if let Some([_, _, file]) = form {
        upload(act, file);
    }
    let posts = form.is_some() || words.iter().any(|word| word.text == "--post");
    let mut before = "";
    for word in words {
        let option = std::mem::replace(&mut before, &word.text);
        let address = ["http://", "https://", "ftp://"]
            .iter()
            .filter_map(|start| word.text.find(start))
            .min()
            .filter(|at| {
                *at == 0 || act.program == "ffmpeg" && !URL_MENTIONING_OPTIONS.contains(&option)
            });
        let Some(at) = address else { continue };
        // A URL that is not an ffmpeg input is an output.
        let made =
            act.program == "ffmpeg" && option != "-i" && !URL_MENTIONING_OPTIONS.contains(&option);
        let scope = if made || posts { Scope::NETWORK_SEND } else { Scope::NETWORK_FETCH };
        let text = word.text.get(at..).unwrap_or_default().to_owned();
        reach_urls(act, &scope, &[ShellWord { text, ..word.clone() }]);
    }
}

fn curl(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    // `--expand-url` is `--url` with variables.
    let plain = |word: &ShellWord| match word.text.strip_prefix("--expand-") {
        Some(rest) => ShellWord { text: format!("--{rest}"), ..word.clone() },
        None => word.clone(),
    };
    let expands = words.iter().any(|word| word.text.starts_with("--expand-"));
    let expanded: Vec<ShellWord> = words.iter().filter(|_| expands).map(plain).collect();
    let words = if expands { expanded.as_slice() } else { words };
    let args = CommandArgs::parse_abbreviated(words, &CURL_VALUED_OPTIONS, BARE_OPTIONS);
    if args.has(&["--help", "--version", "-V"]) {
        return act.mark_read_only();
    }
    let data = args.values(&split_options(DATA_OPTIONS));
    let method = args.value(&["-X", "--request"]).map(|word| word.text.to_ascii_uppercase());
    let headers = args.values(&["-H", "--header", "--proxy-header"]);
    let from_file = |word: &&ShellWord| word.text.contains('@') && !word.text.contains("\": ");
    let header_file = headers.iter().any(|word| word.text.starts_with('@'));
    // The file contains the value of a header.
    let mut tags = args.values(&["--etag-compare"]);
    tags.retain(|word| !word.text.to_ascii_lowercase().contains("etag"));
    let only_asks = args.has(&["-G", "--get"]) && !data.iter().any(|word| from_file(&word));
    let queries = args.values(&["--url-query"]);
    let variables = args.values(&["--variable"]);
    let mut cookie_files = args.values(&["-b", "--cookie"]);
    cookie_files.retain(|word| !word.text.contains('='));
    let sends = header_file
        || !tags.is_empty()
        || args.has(&["-Q", "--quote"])
        || cookie_files.iter().any(|word| !is_cookie_file(&word.text) || is_user_file(act, word))
        || variables.iter().any(|word| word.text.starts_with('%') || word.text.contains('@'))
        || !only_asks && data.iter().any(|word| !queries.contains(word))
        || queries.iter().any(|word| from_file(&word))
        || method.is_some_and(|method| !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS"));
    let scope = if sends { Scope::NETWORK_SEND } else { Scope::NETWORK_FETCH };
    let mut urls = args.operands.to_vec();
    urls.extend(args.values(&["--url"]));
    let lists = urls.iter().filter_map(|url| url.text.strip_prefix('@'));
    for list in lists.map(ShellWord::literal).collect::<Vec<_>>() {
        act.read(&list);
        follow_list(act, &Scope::NETWORK_SEND, &list);
    }
    let speaks = urls.iter().chain(&args.values(&["--proto-default"])).any(is_raw_protocol);
    let (sends, scope) = if speaks { (true, Scope::NETWORK_SEND) } else { (sends, scope) };
    reach_urls(act, &scope, &urls);
    upload_files(act, &args, &data);
    let secret = words.iter().any(|word| word.taint.has(TextTaint::SECRET));
    if secret || (sends && act.context.input.taint.has(TextTaint::SECRET)) {
        reach_urls(act, &Scope::NETWORK_SEND, &urls);
        act.ask("secret-exfiltration", "Sends a likely secret to another machine");
    }
    for word in args.values(&split_options(READ_OPTIONS)) {
        let file = word.text.split(':').next().unwrap_or("").to_owned();
        act.read(&expand_home(act, &word, &file));
    }
    // A cookie without `=` and a format with `@` name files.
    for word in &cookie_files {
        act.read(word);
    }
    for word in args.values(&["-K", "--config"]) {
        ask_dynamic_host(act, &word.text);
    }
    for word in args.values(&split_options(FILE_NAMING_OPTIONS)) {
        let file = match word.text.strip_prefix('@') {
            None => word.text.split_once('@').filter(|(name, _)| is_name(name)).map(|(_, f)| f),
            file => file,
        };
        if let Some(file) = file {
            act.read(&expand_home(act, &word, file));
        }
    }
    reach_proxies(act, &args, &scope);
    write_outputs(act, &args, &urls);
}

/// Protocols that download something.
const FETCH_PROTOCOLS: &[&str] =
    &["http", "https", "ftp", "ftps", "sftp", "scp", "file", "ipfs", "ipns"];

/// Whether a URL or protocol name can carry arbitrary text to a port: telnet,
/// gopher, dict, mail and similar.
fn is_raw_protocol(word: &ShellWord) -> bool {
    let protocol = match word.text.split_once("://") {
        Some((protocol, _)) => protocol,
        None if word.text.bytes().all(|byte| byte.is_ascii_lowercase()) => match &*word.text {
            known @ ("telnet" | "gopher" | "gophers" | "dict" | "smtp" | "smtps" | "mqtt") => known,
            _ => return false,
        },
        None => return false,
    };
    let is_name = protocol.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_name && !FETCH_PROTOCOLS.iter().any(|known| protocol.eq_ignore_ascii_case(known))
}

/// The files that a `--write-out` format redirects to.
fn output_files(format: &str) -> impl Iterator<Item = &str> {
    let parts = format.split("%output{").skip(1);
    parts.filter_map(|part| part.split_once('}')).map(|(file, _)| file.trim_start_matches(">>"))
}

/// Whether a file is neither in the project nor temporary: cookies in such a
/// file are logins of the user.
fn is_user_file(act: &EffectBuilder<'_>, file: &ShellWord) -> bool {
    let path = act.context.absolute(&expand_home(act, file, &file.text));
    let is_passing = |path: &std::path::Path| {
        ["/tmp", "/var/tmp", "/dev"].iter().any(|place| path.starts_with(place))
    };
    let is_at_home = |path: &std::path::Path| {
        act.context.at.home().is_some_and(|home| path.starts_with(home)) || !is_passing(path)
    };
    path.is_some_and(|path| !path.starts_with(act.context.at.cwd()) && is_at_home(&path))
}

/// Whether a file is a cookie file, by its name. Lines of any other file may
/// not be cookies.
fn is_cookie_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.is_empty() || name == "null" || name.contains("cookie") || name.contains("jar")
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Adds files whose contents are sent.
fn upload_files(act: &mut EffectBuilder<'_>, args: &CommandArgs, data: &[ShellWord]) {
    let uploaded = args.values(&["-T", "--upload-file"]);
    for word in data {
        let files: Vec<&str> = if uploaded.contains(word) {
            vec![word.text.as_str()]
        } else {
            let named = word.text.split_once('@').map(|(_, file)| file);
            named.or_else(|| word.text.split_once("=<").map(|(_, file)| file)).into_iter().collect()
        };
        for file in files {
            let file = file.split(';').next().unwrap_or(file);
            upload(act, &expand_home(act, word, file));
        }
    }
}

fn write_outputs(act: &mut EffectBuilder<'_>, args: &CommandArgs, urls: &[ShellWord]) {
    for word in args.values(&["-w", "--write-out"]) {
        let files = output_files(&word.text);
        files.for_each(|file| act.write(&ShellWord { text: file.to_owned(), ..word.clone() }));
    }
    let dir = args.value(&["--output-dir"]);
    let placed = |word: &ShellWord| super::git_losses::in_dir(dir.as_ref(), word);
    for word in args.values(&split_options(WRITE_OPTIONS)) {
        let named = args.values(&["-o", "--output"]).contains(&word);
        // `#1` expands to a part of the URL.
        let computed = named && word.text.contains('#');
        let word = if named { placed(&word) } else { word };
        act.write(&ShellWord {
            known: word.known && !computed,
            named: word.named && !computed,
            ..word
        });
    }
    if args.has(&["-O", "--remote-name", "--remote-name-all", "-J"]) {
        for url in urls.iter().filter(|url| url.known) {
            let name = url.text.split(['?', '#']).next().unwrap_or("");
            act.write(&placed(&ShellWord::literal(name.rsplit('/').next().unwrap_or(""))));
        }
    }
}

/// Adds other hosts that curl connects to.
fn reach_proxies(act: &mut EffectBuilder<'_>, args: &CommandArgs, scope: &Scope) {
    for word in args.values(&["--resolve"]) {
        // host:port:address,address
        for address in word.text.splitn(3, ':').nth(2).unwrap_or("").split(',') {
            act.affect_host(scope.clone(), Some(address.trim_matches(['[', ']', '+'])));
        }
    }
    for word in args.values(&["--connect-to"]) {
        // host:port:host:port
        if let Some(host) = word.text.splitn(3, ':').nth(2).and_then(authority_host) {
            act.affect_host(scope.clone(), Some(&host));
        }
    }
    let others: Vec<&str> = PROXY_OPTIONS
        .split_whitespace()
        .filter(|name| !matches!(*name, "--resolve" | "--connect-to"))
        .collect();
    for word in args.values(&others) {
        let host = proxy_host(&word.text).filter(|_| word.known);
        act.affect_host(scope.clone(), host.as_deref());
    }
    for word in args.values(&["--unix-socket", "--abstract-unix-socket"]) {
        act.read(&word);
        act.ask("privilege", "Talks to a local service through its socket");
    }
}

/// A path with `~` replaced by the home directory, for programs that get `~`
/// unexpanded.
fn expand_home(act: &EffectBuilder<'_>, word: &ShellWord, path: &str) -> ShellWord {
    let text = match (path.strip_prefix("~/"), act.context.at.home()) {
        (Some(rest), Some(home)) => home.join(rest).to_string_lossy().into_owned(),
        _ => path.to_owned(),
    };
    ShellWord { text, ..word.clone() }
}

/// Adds a file that is uploaded.
pub(super) fn upload(act: &mut EffectBuilder<'_>, file: &ShellWord) {
    act.read(file);
    const PRIVATE_PATH_MARKS: &[&str] = &["/.env", "credentials", ".pem", "/etc/passwd"];
    let path = act
        .context
        .absolute(file)
        .map(|path| path.to_string_lossy().into_owned())
        .unwrap_or_default();
    if secret_paths::may_name_secret(&path)
        || PRIVATE_PATH_MARKS.iter().any(|mark| path.contains(mark))
        || file.taint.has(TextTaint::SECRET)
    {
        act.ask("secret-exfiltration", "Sends a private file to another machine");
    }
}

/// Services that return credentials of the requesting machine.
const METADATA_HOSTS: &[&str] = &[
    "168.63.129.16",
    "192.0.0.192",
    "169.254.170.2",
    "metadata",
    "metadata.google.internal",
    "metadata.azure.com",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "rancher-metadata",
    "instance-data.ec2.internal",
];

/// Domains that resolve to the address in front of them.
const IP_ECHO_DOMAINS: &[&str] = &[".nip.io", ".sslip.io", ".xip.io", ".traefik.me"];

/// Adds the hosts of URLs.
pub(super) fn reach_urls(act: &mut EffectBuilder<'_>, scope: &Scope, urls: &[ShellWord]) {
    if urls.is_empty() {
        act.affect_any(scope.clone());
    }
    for url in urls {
        let rest = url.text.split_once("://").map_or(url.text.as_str(), |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or("");
        let bracket = authority.rsplit('@').next().unwrap_or("").starts_with('[');
        if url.known && (authority.contains(['{', '}']) || (authority.contains('[') && !bracket)) {
            act.ask("obfuscation", format!("The host is written as a pattern ({authority})"));
        }
        let host =
            url_host(&url.text).or_else(|| url.known.then(|| authority_host(&url.text)).flatten());
        if let Some(host) = host.as_deref() {
            if METADATA_HOSTS.contains(&host) {
                act.ask("metadata-address", format!("{host} returns the machine's credentials"));
            }
            let echoed = IP_ECHO_DOMAINS.iter().find_map(|end| host.strip_suffix(end));
            if let Some(address) = echoed.map(|text| text.replace('-', ".")) {
                let from = address.match_indices('.').rev().nth(3).map_or(0, |(at, _)| at + 1);
                act.affect_host(scope.clone(), address.get(from..));
            }
        }
        if host.is_none() && !url.known {
            ask_dynamic_host(act, &url.text);
        }
        act.affect_host(scope.clone(), host.as_deref());
    }
}

/// Handles lists of URLs, and settings that may contain some. They are unknown
/// unless the same command wrote them.
pub(super) fn follow_list(act: &mut EffectBuilder<'_>, scope: &Scope, list: &ShellWord) {
    let text = match list.text.as_str() {
        "-" | "/dev/stdin" => act.context.input.text.clone(),
        _ => list.content.clone(),
    };
    match text {
        Some(text) => {
            let urls: Vec<ShellWord> =
                text.split_whitespace().take(64).map(ShellWord::literal).collect();
            reach_urls(act, scope, &urls);
        }
        None => ask_dynamic_host(act, &list.text),
    }
}

fn aria(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &[
            "-d",
            "-o",
            "-i",
            "-l",
            "-x",
            "-s",
            "-j",
            "-k",
            "--dir",
            "--out",
            "--input-file",
            "--log",
        ],
    );
    if args.has(&["--help", "--version", "-v", "-h"]) {
        return act.mark_read_only();
    }
    reach_urls(act, &Scope::NETWORK_FETCH, &args.operands);
    for list in args.values(&["-i", "--input-file"]) {
        follow_list(act, &Scope::NETWORK_FETCH, &list);
    }
    let reads =
        ["-i", "--input-file", "--conf-path", "--load-cookies", "--private-key", "--certificate"];
    args.values(&reads).iter().for_each(|word| act.read(word));
    let writes = ["-l", "--log", "--save-session", "--save-cookies"];
    args.values(&writes).iter().for_each(|word| act.write(word));
    let dir = args.value(&["-d", "--dir"]);
    let file = args.value(&["-o", "--out"]).unwrap_or_else(|| ShellWord::literal("."));
    act.write(&super::git_losses::in_dir(dir.as_ref(), &file));
}

fn httpie(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse(
        words,
        &[
            "-o",
            "--output",
            "-a",
            "--auth",
            "--session",
            "--session-read-only",
            "--cert",
            "--cert-key",
        ],
    );
    let method = args.operand(0).to_ascii_uppercase();
    let named =
        matches!(method.as_str(), "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS");
    let url: Vec<ShellWord> =
        args.operands.iter().skip(usize::from(named)).take(1).cloned().collect();
    let items: Vec<ShellWord> =
        args.operands.iter().skip(usize::from(named) + 1).cloned().collect();
    let files: Vec<ShellWord> = items
        .iter()
        .filter_map(|word| {
            let (_, file) = word.text.split_once('@')?;
            Some(ShellWord { text: file.to_owned(), ..word.clone() })
        })
        .collect();
    let asks = matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS");
    let input = act.context.input;
    let fed = input.connected && input.text.as_deref() != Some("");
    let fed = fed && !args.has(&["--ignore-stdin", "-I"]);
    let sends = fed || if named { !asks } else { !items.is_empty() };
    let scope = if sends || !files.is_empty() { Scope::NETWORK_SEND } else { Scope::NETWORK_FETCH };
    reach_urls(act, &scope, &url);
    for file in &files {
        upload(act, file);
    }
    args.values(&["--session", "--session-read-only", "--cert", "--cert-key"])
        .iter()
        .filter(|word| word.text.contains('/'))
        .for_each(|word| act.read(word));
    args.values(&["-o", "--output"]).iter().for_each(|word| act.write(word));
}

#[cfg(test)]
#[path = "http_clients_tests.rs"]
mod tests;
