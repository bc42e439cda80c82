//! Environment variables that change what other programs run, or where they
//! connect.

use std::net::IpAddr;

use hermes_core::{Effect, Resource, Scope};

use super::env_var_tables::{
    BUILD_TOOL_VARIABLES, CODE_PLACE_VARIABLES, HARMLESS_PROGRAMS, LOADER_VARIABLE_SET,
    OPTION_VARIABLES, OUTPUT_FILE_VARIABLES, PROGRAM_VARIABLES, SEARCH_PATH_VARIABLES,
};
use crate::leaf::{CommandFinding, ShellWord};

/// Whether a path is neither in the project nor a usual location.
fn is_outside_place(value: &ShellWord) -> bool {
    let text = value.text.as_str();
    let usual = ["/.gradle", "/.julia", "/.local", "/R/library"];
    let own = ["/home/", "/Users/", "/root/"].iter().any(|start| text.starts_with(start))
        && usual.iter().any(|end| text.ends_with(end));
    !value.known && !text.starts_with("$PWD")
        || text.starts_with(['/', '~']) && !own
        || text.split('/').any(|part| part == "..")
}

/// Whether an output file is neither a plain file of the project nor a
/// temporary one.
fn is_outside_file(value: &ShellWord) -> bool {
    let path = value.text.strip_prefix("file=").unwrap_or(&value.text);
    let passing = ["/tmp/", "/var/tmp/", "/dev/std", "/dev/null"];
    let hidden = path.starts_with('.') && !path.starts_with("./");
    // A home directory may be below a temporary directory.
    let dotted = path.split('/').any(|part| part.len() > 1 && part.starts_with('.'));
    (path.starts_with(['/', '~']) || hidden || !value.known)
        && (dotted || !passing.iter().any(|place| path.starts_with(place)))
}

/// Whether a variable adds terraform options other than the harmless ones.
fn has_terraform_option(name: &str, value: &ShellWord) -> bool {
    const HARMLESS_TERRAFORM_OPTIONS: &[&str] = &[
        "-compact-warnings",
        "-detailed-exitcode",
        "-input",
        "-json",
        "-lock",
        "-lock-timeout",
        "-no-color",
        "-parallelism",
        "-reconfigure",
        "-recursive",
        "-refresh",
        "-refresh-only",
        "-target",
        "-upgrade",
        "-var",
        "-var-file",
    ];
    let is_plain = |word: &str| {
        let name = word.split('=').next().unwrap_or(word);
        !word.starts_with('-')
            || HARMLESS_TERRAFORM_OPTIONS.contains(&name.trim_start_matches("--"))
    };
    let text = value.text.as_str();
    name.starts_with("TF_CLI_ARGS") && !(value.known && text.split_whitespace().all(is_plain))
}

/// Whether a variable names a credential provider or build program of cargo, go
/// or rustup.
fn is_provider(name: &str, value: &ShellWord) -> bool {
    let text = value.text.as_str();
    match name {
        "GOAUTH" => !(value.known && text.split(';').all(|part| is_builtin_auth(part.trim()))),
        "GOENV" => !matches!(text, "" | "off") || !value.known,
        "RUSTUP_TOOLCHAIN" => text.contains('/') || !value.known && !value.named,
        _ => {
            let registry =
                name.starts_with("CARGO_REGISTRIES_") || name.starts_with("CARGO_REGISTRY");
            registry && (name.ends_with("_INDEX") || name.ends_with("_CREDENTIAL_PROVIDER"))
        }
    }
}

/// Authentication methods of go that run no program.
fn is_builtin_auth(way: &str) -> bool {
    matches!(way, "" | "off" | "netrc")
}

/// A finding if the variable changes what other programs run.
pub(crate) fn environment_override(name: &str, value: &ShellWord) -> Option<CommandFinding> {
    let ask = |reason: String| Some(CommandFinding::ask("env-override", reason));
    let text = value.text.as_str();
    // The shell's command lookup tables.
    if matches!(name.split('[').next(), Some("BASH_CMDS" | "BASH_ALIASES")) {
        return Some(CommandFinding::ask("shadowing", "Redefines a command"));
    }
    let loads = name.starts_with("LD_") && !matches!(name, "LD_LIBRARY_PATH" | "LD_RUN_PATH")
        || name.starts_with("DYLD_") && name != "DYLD_LIBRARY_PATH"
        || name.starts_with("BASH_FUNC")
        || name == "ENV" && is_file(text)
        || matches!(name, "HOME" | "XDG_CONFIG_HOME" | "GIT_DIR") && is_unusual_home(name, text)
        || is_provider(name, value)
        || name.starts_with("CARGO_SOURCE_")
        || name == "GOPROXY" && !is_usual_proxy(text)
        || LOADER_VARIABLE_SET.contains(name) && !(text.is_empty() && value.known)
        || (CODE_PLACE_VARIABLES.contains(&name) && is_outside_place(value))
        || has_terraform_option(name, value)
        || is_git_setting(name, text)
        || is_npm_setting(name);
    if loads {
        return ask(format!("Sets {name}, which makes other programs run different code"));
    }
    if OUTPUT_FILE_VARIABLES.contains(&name) && is_outside_file(value) {
        return ask(format!("Makes programs write to {text} ({name})"));
    }
    let unchecked = match name {
        "GIT_SSL_NO_VERIFY" => !text.is_empty(),
        "NODE_TLS_REJECT_UNAUTHORIZED" | "PYTHONHTTPSVERIFY" => text == "0" || !value.known,
        "SSL_CERT_FILE" | "NODE_EXTRA_CA_CERTS" | "CURL_CA_BUNDLE" => text.starts_with("/tmp"),
        _ => false,
    };
    if unchecked {
        return Some(CommandFinding::ask("tls-off", "Disables certificate verification"));
    }
    if is_proxy(name) && is_foreign_proxy(text) {
        let reason = format!("Sends traffic through another machine ({name})");
        return Some(CommandFinding::ask("proxy", reason));
    }
    let names_a_program = PROGRAM_VARIABLES.contains(&name)
        || name.ends_with("PAGER")
        || name.ends_with("EDITOR")
        || (name.starts_with("CARGO_TARGET_")
            && (name.ends_with("_RUNNER") || name.ends_with("_LINKER")));
    if names_a_program && !is_harmless(value) {
        return ask(format!("Sets {name}, which other programs run"));
    }
    let several = text.split_whitespace().skip(1).any(|part| !part.starts_with('-'));
    let wrapped = ["ccache ", "sccache ", "distcc "].iter().any(|tool| text.starts_with(tool));
    let shell = text.contains([';', '|', '&', '#', '`']) || text.contains("$(");
    let odd = !value.known || is_unusual_program(text) || shell || (several && !wrapped);
    if BUILD_TOOL_VARIABLES.contains(&name) && odd {
        return ask(format!("Sets {name}, which a build runs"));
    }
    let options = OPTION_VARIABLES.iter().find(|(names, _)| names.contains(&name));
    if options.is_some_and(|(_, marks)| marks.iter().any(|mark| text.contains(mark))) {
        return ask(format!("Sets {name}, which makes other programs run different code"));
    }
    if SEARCH_PATH_VARIABLES.contains(&name) && has_unusual_dirs(name, text) {
        return ask(format!(
            "Makes programs load code from a world-writable or relative directory ({name})"
        ));
    }
    let history = matches!(name, "HISTFILE" | "HISTSIZE" | "HISTFILESIZE");
    (history && matches!(text, "/dev/null" | "0" | ""))
        .then(|| CommandFinding::ask("history-tampering", "Disables the shell history"))
}

/// Whether the value is a file that a shell would read.
fn is_file(text: &str) -> bool {
    text.contains('/') || text.ends_with("sh") || text.contains('$')
}

/// Whether programs would look for their settings in an unusual place.
fn is_unusual_home(name: &str, text: &str) -> bool {
    match name {
        "GIT_DIR" => {
            let own = text == ".git" || text.ends_with("/.git") || !text.contains('/');
            let shared = ["/tmp", "/var/tmp", "/dev/shm"];
            !(own && text.ends_with(".git")) && text != "/dev/null"
                || shared.iter().any(|place| text.starts_with(place))
        }
        "XDG_CONFIG_HOME" => !text.ends_with("/.config"),
        _ => !matches!(text, "/root" | "") && !is_home_dir(text),
    }
}

/// Whether a path is exactly a user's home directory.
fn is_home_dir(text: &str) -> bool {
    let name = ["/home/", "/Users/"].iter().find_map(|dir| text.strip_prefix(dir));
    name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

fn is_usual_proxy(text: &str) -> bool {
    let usual = ["direct", "off", "https://proxy.golang.org", "https://goproxy.io", ""];
    text.split([',', '|']).all(|part| usual.contains(&part))
}

/// Whether a variable is a git setting that names a program or a settings file.
fn is_git_setting(name: &str, value: &str) -> bool {
    if name.starts_with("GIT_CONFIG_KEY_") {
        return super::git_settings::is_relevant(value);
    }
    // With a path, git writes its trace there.
    if name.starts_with("GIT_TRACE") || name.starts_with("GIT_TR2") || name == "GIT_CURL_VERBOSE" {
        return is_trace_path(value);
    }
    matches!(name, "GIT_CONFIG" | "GIT_CONFIG_GLOBAL" | "GIT_CONFIG_SYSTEM")
        && !matches!(value, "" | "/dev/null")
}

fn is_trace_path(value: &str) -> bool {
    value.contains('/') || value.starts_with("af_unix")
}

fn is_npm_setting(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.strip_prefix("npm_config_").is_some_and(super::exec_options::is_running_npm_setting)
}

fn is_harmless(value: &ShellWord) -> bool {
    let Some(text) = value.known_text() else { return false };
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or("");
    let place = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"]
        .iter()
        .find_map(|dir| first.strip_prefix(dir));
    HARMLESS_PROGRAMS.contains(&place.unwrap_or(first))
        && words.all(|word| word.starts_with('-') && word != "-c")
}

/// Whether a build program is neither a plain name nor a system program.
fn is_unusual_program(text: &str) -> bool {
    text.split_whitespace().any(|word| word == "-c" && text.split_whitespace().count() > 2)
        || text.split_whitespace().next().is_some_and(|program| {
            program.contains('/')
                && !["/usr/", "/opt/", "/bin/", "/nix/", "/Library/"]
                    .iter()
                    .any(|place| program.starts_with(place))
        })
}

fn has_unusual_dirs(name: &str, text: &str) -> bool {
    let anybody =
        |part: &str| ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|place| part.starts_with(place));
    text.split(':').any(|part| {
        anybody(part)
            || (matches!(name, "LD_LIBRARY_PATH" | "DYLD_LIBRARY_PATH")
                && (part == "." || !part.starts_with(['/', '$', '~']) && !text.is_empty()))
            || (name == "PATH"
                && (part.is_empty()
                    || part == "."
                    || part.starts_with("./")
                    || !part.starts_with(['/', '$', '~'])))
    })
}

/// Allows libraries of the project for a program of the project.
pub(super) fn allow_own_libraries(leaf: &mut crate::leaf::LeafCommand) {
    leaf.findings.retain(|found| !found.reason.ends_with("(LD_LIBRARY_PATH)"));
}

/// The host that a proxy variable makes other programs connect to.
pub(crate) fn proxy_effect(name: &str, value: &ShellWord) -> Option<Effect> {
    if !is_proxy(name) || value.text.is_empty() {
        return None;
    }
    let host = super::network::proxy_host(&value.text).filter(|_| value.known);
    let resource = host.map_or(Resource::Any, Resource::Host);
    Some(Effect { scope: Scope::NETWORK_FETCH, resource })
}

/// Whether a proxy is neither on this machine nor in its network.
fn is_foreign_proxy(text: &str) -> bool {
    let host = super::network::proxy_host(text).unwrap_or_default();
    if let Ok(address) = host.parse::<IpAddr>() {
        return !match address.to_canonical() {
            IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
            IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
        };
    }
    // A number is an address too; any other name without a dot is looked up in
    // the local network.
    let is_number = host.starts_with("0x") || host.parse::<u64>().is_ok();
    host != "host.docker.internal" && (is_number || host.contains(['.', ':', '%']))
}

fn is_proxy(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "http_proxy"
            | "https_proxy"
            | "all_proxy"
            | "ftp_proxy"
            | "socks_proxy"
            | "npm_config_proxy"
            | "npm_config_https_proxy"
    )
}

#[cfg(test)]
#[path = "env_overrides_tests.rs"]
mod tests;
