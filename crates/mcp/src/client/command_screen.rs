//! Screens server commands for signs of an attack: a shell or interpreter with
//! an inline script that downloads something or installs itself in an autostart
//! location. No server needs that.

/// Programs that run a script from their arguments, and the options for it.
const SCRIPT_INTERPRETERS: [(&str, &[&str]); 14] = [
    ("sh", &["-c"]),
    ("bash", &["-c"]),
    ("zsh", &["-c"]),
    ("dash", &["-c"]),
    ("fish", &["-c"]),
    ("ksh", &["-c"]),
    ("cmd", &["/c"]),
    ("powershell", &["-c", "-command", "-encodedcommand", "-enc"]),
    ("pwsh", &["-c", "-command", "-encodedcommand", "-enc"]),
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("node", &["-e", "--eval", "-p"]),
    ("perl", &["-e"]),
    ("ruby", &["-e"]),
];

/// Words that indicate network access.
const EGRESS_WORDS: [&str; 14] = [
    "curl",
    "wget",
    "nc",
    "ncat",
    "socat",
    "telnet",
    "/dev/tcp/",
    "/dev/udp/",
    "invoke-webrequest",
    "invoke-restmethod",
    "downloadstring",
    "urlopen",
    "requests.",
    "fetch(",
];

/// Places whose contents run or grant access automatically.
const AUTOSTART_PLACES: [&str; 15] = [
    "authorized_keys",
    ".ssh/",
    "/etc/ssh",
    "/etc/pam",
    "sudoers",
    "crontab",
    "/etc/cron",
    "rc.local",
    "systemd",
    "launchagents",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    "autostart",
];

/// Returns why a command is suspicious, if it is.
pub(crate) fn screen_command(command: &str, args: &[String]) -> Option<String> {
    let mut words = vec![command];
    words.extend(args.iter().map(String::as_str));
    // `env` and similar programs run the command that follows them.
    let at = words
        .iter()
        .position(|word| SCRIPT_INTERPRETERS.iter().any(|it| program_name(word) == it.0))?;
    let (name, options) = SCRIPT_INTERPRETERS.iter().find(|it| program_name(words[at]) == it.0)?;
    let runs_text = words[at..].iter().any(|word| options.contains(&word.to_lowercase().as_str()));
    if !runs_text {
        return None;
    }
    let script = words[at..].join(" ").to_lowercase();
    let is_word = |needle: &str| {
        script.match_indices(needle).any(|(from, _)| {
            let before = script[..from].chars().next_back();
            let after = script[from + needle.len()..].chars().next();
            let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !needle.chars().all(char::is_alphanumeric) || !(is_letter(before) || is_letter(after))
        })
    };
    if let Some(way) = EGRESS_WORDS.iter().find(|way| is_word(way)) {
        return Some(format!(
            "it runs {name} with an inline script that uses {way}; a server does not need that"
        ));
    }
    let place = AUTOSTART_PLACES.iter().find(|place| script.contains(**place))?;
    Some(format!(
        "it runs {name} with an inline script that touches {place}; a server does not \
        need that"
    ))
}

fn program_name(word: &str) -> String {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_lowercase();
    name.strip_suffix(".exe").map_or(name.clone(), str::to_owned)
}

#[cfg(test)]
#[path = "command_screen_tests.rs"]
mod tests;
