//! wget: its options, and the wgetrc commands that `--execute` takes.

use std::sync::LazyLock;

use hermes_core::Scope;

use super::http_clients::{follow_list, reach_urls, upload};
use crate::args::CommandArgs;
use crate::eval_context::EffectBuilder;
use crate::leaf::{ShellWord, TextTaint};
use crate::static_names::{StaticNameMap, StaticNameSet};

/// Options that take a value.
static VALUED_OPTIONS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let plain = PLAIN_OPTIONS.split_whitespace();
    plain.chain(ORDER_OPTIONS.iter().map(|(_, option)| *option)).chain(["--config"]).collect()
});

const PLAIN_OPTIONS: &str = "-O -o -P -U -t -T -i -a -e -A -R -l -Q -B -w -D -I -X --append-output --execute \
    --user-agent --tries --timeout --header --referer --user --password --limit-rate --http-user \
    --http-password --proxy-user --proxy-password --ftp-user --ftp-password --bind-address --wait \
    --waitretry --quota --level --domains --exclude-domains --accept --reject --accept-regex \
    --reject-regex --regex-type --include-directories --exclude-directories --secure-protocol \
    --certificate-type --private-key-type --pinnedpubkey --ciphers --dns-timeout \
    --connect-timeout --read-timeout --restrict-file-names --prefer-family --default-page \
    --cut-dirs --local-encoding --remote-encoding --progress --report-speed --start-pos \
    --max-redirect --compression --warc-header --warc-max-size --warc-tempdir --dns-servers \
    --preferred-location --follow-tags --ignore-tags --retry-on-http-error --metalink-index";

/// wgetrc commands with a relevant equivalent option, without `_` and `-`.
const ORDER_OPTIONS: &[(&str, &str)] = &[
    ("base", "--base"),
    ("bodydata", "--body-data"),
    ("bodyfile", "--body-file"),
    ("cacertificate", "--ca-certificate"),
    ("cadirectory", "--ca-directory"),
    ("certificate", "--certificate"),
    ("crlfile", "--crl-file"),
    ("dirprefix", "--directory-prefix"),
    ("egdfile", "--egd-file"),
    ("hstsfile", "--hsts-file"),
    ("input", "--input-file"),
    ("inputmetalink", "--input-metalink"),
    ("loadcookies", "--load-cookies"),
    ("logfile", "--output-file"),
    ("method", "--method"),
    ("outputdocument", "--output-document"),
    ("postdata", "--post-data"),
    ("postfile", "--post-file"),
    ("privatekey", "--private-key"),
    ("randomfile", "--random-file"),
    ("rejectedlog", "--rejected-log"),
    ("savecookies", "--save-cookies"),
    ("useaskpass", "--use-askpass"),
    ("warcdedup", "--warc-dedup"),
    ("warcfile", "--warc-file"),
];

/// wgetrc commands that change how something is fetched, not what is read, sent
/// or written, nor the source.
const HARMLESS_ORDERS: &str = "accept acceptregex addhostdir adjustextension background backupconverted \
    backups cache certificatetype ciphers compression connecttimeout contentdisposition \
    contentonerror continue convertfileonly convertlinks cookies cutdirs debug defaultpage \
    deleteafter dirstruct dnscache dnstimeout domains dotbytes dotsinline dotspacing dotstyle \
    excludedirectories excludedomains followftp followtags forcehtml ftpproxy glob header hsts \
    htmlextension httpkeepalive httpproxy httpsonly httpsproxy ifmodifiedsince ignorecase \
    ignorelength ignoretags includedirectories inet4only inet6only iri keepsessioncookies \
    limitrate localencoding maxredirect mirror noclobber noparent noproxy numtries \
    pagerequisites passiveftp preferfamily progress protocoldirectories quiet quota randomwait \
    readtimeout reclevel recursive referer regextype reject rejectregex relativeonly \
    remoteencoding removelisting reportspeed restrictfilenames retrsymlinks retryconnrefused \
    retryonhttperror robots saveheaders secureprotocol serverresponse showalldnsentries \
    showprogress spanhosts spider startpos strictcomments timeout timestamping tries \
    trustservernames unlink useproxy useragent useservertimestamps verbose wait waitretry xattr";

static OPTIONS_BY_ORDER: LazyLock<StaticNameMap<&'static str>> =
    LazyLock::new(|| ORDER_OPTIONS.iter().copied().collect());
static HARMLESS_ORDER_SET: LazyLock<StaticNameSet> =
    LazyLock::new(|| HARMLESS_ORDERS.split_whitespace().collect());

/// Describes an invocation of wget.
pub(super) fn describe(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let orders =
        CommandArgs::parse_abbreviated(words, &VALUED_OPTIONS, &[]).values(&["-e", "--execute"]);
    if orders.is_empty() {
        return transfer(act, words);
    }
    let mut all: Vec<ShellWord> =
        orders.iter().filter_map(|order| order_as_option(act, order)).collect();
    all.extend_from_slice(words);
    transfer(act, &all);
}

/// Translates a wgetrc command to the equivalent option.
fn order_as_option(act: &mut EffectBuilder<'_>, order: &ShellWord) -> Option<ShellWord> {
    let (name, value) = order.text.split_once('=').unwrap_or((&order.text, ""));
    let (name, value) = (name.trim(), value.trim());
    let plain = name.to_ascii_lowercase().replace(['_', '-'], "");
    if let Some(option) = OPTIONS_BY_ORDER.get(plain.as_str()).filter(|_| order.known) {
        return Some(ShellWord { text: format!("{option}={value}"), ..order.clone() });
    }
    if !order.known || !HARMLESS_ORDER_SET.contains(plain.as_str()) {
        act.ask(
            "program-option",
            format!("Passes wget a command that is not known to be harmless ({})", order.text),
        );
    }
    let proxy = ShellWord { text: value.to_owned(), ..order.clone() };
    act.leaf.effects.extend(super::proxy_effect(name, &proxy));
    None
}

const READ_OPTIONS: &[&str] = &[
    "--load-cookies",
    "--certificate",
    "--private-key",
    "--ca-certificate",
    "--crl-file",
    "--input-metalink",
    "--warc-dedup",
];

const WRITE_OPTIONS: &[&str] = &[
    "-o",
    "-a",
    "--output-file",
    "--append-output",
    "--save-cookies",
    "--warc-file",
    "--rejected-log",
    "--hsts-file",
];

/// Whether an HTTP method only retrieves.
fn is_safe_method(method: &str) -> bool {
    ["get", "head"].iter().any(|own| method.eq_ignore_ascii_case(own))
}

fn transfer(act: &mut EffectBuilder<'_>, words: &[ShellWord]) {
    let args = CommandArgs::parse_abbreviated(words, &VALUED_OPTIONS, &[]);
    if args.has(&["--help", "--version"]) {
        return act.mark_read_only();
    }
    let files = args.values(&["--post-file", "--body-file"]);
    let sends = !files.is_empty()
        || args.has(&["--post-data", "--body-data"])
        || args.values(&["--method"]).iter().any(|method| !is_safe_method(&method.text));
    let scope = if sends { Scope::NETWORK_SEND } else { Scope::NETWORK_FETCH };
    let lists = args.values(&["-i", "--input-file"]);
    let far: Vec<ShellWord> =
        lists.iter().filter(|word| word.text.contains("://")).cloned().collect();
    if !far.is_empty() {
        act.ask("obfuscation", "Fetches URLs from a list on another machine");
        reach_urls(act, &scope, &far);
    }
    for list in lists.iter().filter(|word| !word.text.contains("://")) {
        act.read(list);
        follow_list(act, &scope, list);
    }
    if lists.is_empty() || !args.operands.is_empty() {
        reach_urls(act, &scope, &args.operands);
    } else {
        act.affect_any(scope.clone());
    }
    for file in &files {
        upload(act, file);
    }
    if words.iter().any(|word| word.taint.has(TextTaint::SECRET)) {
        act.ask("secret-exfiltration", "Sends a likely secret to another machine");
    }
    if args.has(&["--use-askpass"]) {
        act.ask("program-option", "Makes wget run another program");
    }
    if args.value(&["--config"]).is_some() {
        act.ask("program-option", "Uses another configuration file (wget)");
    }
    args.values(READ_OPTIONS).iter().for_each(|word| act.read(word));
    args.values(WRITE_OPTIONS).iter().for_each(|word| act.write(word));
    let target = args.value(&["-O", "--output-document"]);
    match (target, args.value(&["-P", "--directory-prefix"])) {
        (Some(file), _) => act.write(&file),
        (None, Some(dir)) => act.write(&dir),
        _ if args.has(&["--spider"]) => {}
        _ => {
            for url in args.operands.iter().filter(|url| url.known) {
                let name = url.text.split(['?', '#']).next().unwrap_or("");
                let name = name.split_once("://").map_or(name, |(_, rest)| rest);
                let name = name.split_once('/').map_or("index.html", |(_, path)| path);
                let name = name.rsplit('/').next().filter(|name| !name.is_empty());
                act.write(&ShellWord::literal(name.unwrap_or("index.html")));
            }
        }
    }
}
