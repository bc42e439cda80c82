//! Command patterns of permission rules: `git push`, `npm run *`, `rm -rf /`.

use crate::leaf::{LeafCommand, ShellWord};
use crate::text::{glob_match, program_name};

/// Programs with subcommands, and how many words the subcommand has.
const SUBCOMMAND_COUNTS: &[(&[&str], usize)] = &[
    (
        &[
            "git",
            "cargo",
            "go",
            "docker",
            "podman",
            "kubectl",
            "helm",
            "terraform",
            "tofu",
            "pulumi",
            "npm",
            "pnpm",
            "yarn",
            "bun",
            "pip",
            "pip3",
            "uv",
            "poetry",
            "gem",
            "bundle",
            "apt",
            "apt-get",
            "dnf",
            "yum",
            "brew",
            "systemctl",
            "hermes",
            "rustup",
            "conda",
            "snap",
            "flatpak",
            "launchctl",
            "make",
            "mix",
            "dotnet",
            "deno",
            "docker-compose",
            "openssl",
            "tmux",
            "composer",
            "pacman",
            "zypper",
            "apk",
            "nix",
            "crontab",
            "npx",
            "just",
        ],
        1,
    ),
    (&["gcloud", "aws", "az", "gh", "glab"], 2),
];

/// Subcommands followed by one more word that names what runs.
const NESTED_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("npm", &["run", "exec"]),
    ("pnpm", &["run", "exec"]),
    ("yarn", &["run"]),
    ("bun", &["run"]),
    ("uv", &["pip", "run", "tool"]),
    ("docker", &["compose", "container", "image", "volume", "network", "system", "buildx"]),
    ("podman", &["compose", "container", "image", "volume", "network", "system"]),
    ("git", &["stash", "remote", "worktree", "submodule", "bisect"]),
    ("hermes", &["permissions", "config", "secrets"]),
    ("go", &["mod"]),
    ("deno", &["task"]),
];

/// The subcommand words of a leaf.
pub(crate) fn subcommand<'w>(program: &str, words: &'w [ShellWord]) -> Vec<&'w String> {
    let count = SUBCOMMAND_COUNTS
        .iter()
        .find(|(names, _)| names.contains(&program))
        .map_or(0, |(_, count)| *count);
    let arguments = words.get(1..).unwrap_or(&[]);
    let rest = if program == "git" { crate::programs::split_git(arguments).1 } else { arguments };
    let mut operands =
        rest.iter().filter(|word| !word.text.starts_with(['-', '+']) && word.known && !word.glob);
    let mut all: Vec<&String> = Vec::new();
    for _ in 0..count {
        all.extend(operands.next().map(|word| &word.text));
    }
    let deeper = NESTED_SUBCOMMANDS.iter().any(|(name, verbs)| {
        *name == program && all.first().is_some_and(|verb| verbs.contains(&verb.as_str()))
    });
    if deeper {
        all.extend(operands.next().map(|word| &word.text));
    }
    all
}

/// Programs that run a command as another user.
const PRIVILEGE_PROGRAMS: &[&str] =
    &["sudo", "doas", "su", "pkexec", "runuser", "sg", "setpriv", "run0"];

/// A rule about commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    kind: PatternKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternKind {
    /// Program, leading words, and flags that must occur.
    Words { program: String, place: Option<String>, leading: Vec<String>, flags: Vec<String> },
    /// Text with shell syntax, compared with the whole command.
    Text(String),
    /// A whole command, compared verbatim.
    Exact(String),
}

impl CommandPattern {
    /// Parses a pattern.
    pub fn parse(rule: &str) -> Result<Self, String> {
        let rule = rule.trim();
        if rule.is_empty() {
            return Err("a command pattern must not be empty".to_owned());
        }
        if rule.len() > 4096 {
            return Err("a command pattern must not be longer than 4096 bytes".to_owned());
        }
        if let Some(exact) = rule.strip_prefix('=') {
            let exact = exact.trim().to_owned();
            return match exact.is_empty() {
                true => Err("a command pattern must not be empty".to_owned()),
                false => Ok(Self { kind: PatternKind::Exact(exact) }),
            };
        }
        let Some(words) = split_words(rule) else {
            if is_half_quoted(rule) {
                return Err(format!("'{rule}' has an unclosed quote"));
            }
            return Ok(Self { kind: PatternKind::Text(normalise(rule)) });
        };
        let mut words = words.into_iter();
        let program = words.next().unwrap_or_default();
        let place = program.contains('/').then(|| program.clone());
        let program =
            if program.contains('/') { program_name(&program).into_owned() } else { program };
        if program.is_empty() {
            return Err("a command pattern must name a program".to_owned());
        }
        let (mut leading, mut flags) = (Vec::new(), Vec::new());
        for word in words {
            match word.as_str() {
                // Matches any remaining words.
                "*" | "**" => break,
                flag if is_flag(flag) => flags.extend(single_flags(&program, flag)),
                _ => leading.push(word),
            }
        }
        Ok(Self { kind: PatternKind::Words { program, place, leading, flags } })
    }

    /// Whether the pattern matches this leaf, also through wrappers such as
    /// `sudo`; see [`LeafCommand::wrappers`] for those.
    pub fn matches(&self, leaf: &LeafCommand) -> bool {
        match &self.kind {
            PatternKind::Text(text) => normalise(&leaf.text) == *text,
            PatternKind::Exact(text) => leaf.text.trim() == text,
            PatternKind::Words { .. } => {
                self.matches_words(&leaf.program, &leaf.words)
                    || leaf.unwrapped_words.iter().any(|words| {
                        let name = words.first().map(|word| program_name(&word.text));
                        self.matches_words(&name.unwrap_or_default(), words)
                    })
            }
        }
    }

    /// Whether the pattern, in an allow rule, covers this leaf: its words come
    /// first and in order, no option that it does not name comes between them,
    /// and the command runs as another user only if the pattern says so. A
    /// plain name means the installed program: `./git` is a different one. An
    /// exact pattern never covers a leaf, because a part of a command may refer
    /// to a different directory than the whole.
    pub fn permits(&self, leaf: &LeafCommand) -> bool {
        let (program, place, leading, flags) = match &self.kind {
            PatternKind::Words { program, place, leading, flags } => {
                (program, place, leading, flags)
            }
            PatternKind::Text(_) => return self.matches(leaf),
            PatternKind::Exact(_) => return false,
        };
        if !means_leaf_program(program, place.as_deref(), leaf) {
            return false;
        }
        if let Some(other) =
            leaf.wrappers.iter().find(|via| PRIVILEGE_PROGRAMS.contains(&via.as_str()))
        {
            return other == program && self.matches(leaf);
        }
        if !glob_match(program, &leaf.program) {
            return false;
        }
        let mut wanted = leading.iter();
        let mut next = wanted.next();
        let mut given: Vec<String> = Vec::new();
        for word in without_git_dir(&leaf.program, leaf.words.get(1..).unwrap_or(&[])) {
            if is_flag(&word.text) {
                let own = single_flags(&leaf.program, &word.text);
                let named = own.iter().all(|own| flags.iter().any(|flag| glob_match(flag, own)));
                if next.is_some() && !named {
                    return false;
                }
                given.extend(own);
            } else if let Some(leading) = next {
                if !word.known || !is_same_word(leading, &word.text) {
                    return false;
                }
                next = wanted.next();
            }
        }
        next.is_none() && flags.iter().all(|flag| given.iter().any(|own| glob_match(flag, own)))
    }

    /// Whether a pattern with shell syntax matches this whole command.
    pub fn matches_text(&self, source: &str) -> bool {
        match &self.kind {
            PatternKind::Text(text) => {
                let source = normalise(source);
                if text.contains('*') {
                    glob_match(text, &source)
                } else {
                    source.contains(text.as_str())
                }
            }
            PatternKind::Exact(text) => source.trim() == text,
            PatternKind::Words { .. } => false,
        }
    }

    /// Whether the pattern is exactly this whole command.
    pub fn is_exact_command(&self, source: &str) -> bool {
        match &self.kind {
            PatternKind::Exact(_) => self.matches_text(source),
            _ => self.matches_text(source) && Self::parse(source).is_ok_and(|own| own == *self),
        }
    }

    fn matches_words(&self, name: &str, words: &[ShellWord]) -> bool {
        let PatternKind::Words { program, leading, flags, .. } = &self.kind else { return false };
        if !glob_match(program, name) {
            return false;
        }
        let arguments = words.get(1..).unwrap_or(&[]);
        let arguments =
            if name == "git" { crate::programs::split_git(arguments).1 } else { arguments };
        let mut given: Vec<String> = Vec::new();
        let mut operands: Vec<&str> = Vec::new();
        // Operands that may be values of the preceding option.
        let mut values: Vec<bool> = Vec::new();
        let mut after_option = false;
        for word in arguments {
            if is_flag(&word.text) {
                given.extend(single_flags(name, &word.text));
                after_option = !word.text.contains('=');
            } else {
                operands.push(&word.text);
                values.push(after_option || word.text.starts_with('+'));
                after_option = false;
            }
        }
        if !flags.iter().all(|flag| given.iter().any(|own| glob_match(flag, own))) {
            return false;
        }
        // The subcommand comes first; the other words may come anywhere after
        // it.
        let fixed = SUBCOMMAND_COUNTS.iter().any(|(names, _)| names.contains(&name));
        let mut rest = operands.as_slice();
        for (index, wanted) in leading.iter().enumerate() {
            let in_place = fixed && index == 0;
            let fits = |own: &&str| {
                is_same_word(wanted, own)
                    || (index == 0 && crate::programs::is_same_verb(name, wanted, own))
            };
            match rest.iter().position(fits) {
                Some(at) if !in_place || values.iter().take(at).all(|value| *value) => {
                    rest = rest.get(at + 1..).unwrap_or(&[]);
                }
                _ => return false,
            }
        }
        true
    }
}

/// Whether a pattern means the file that a leaf runs, and not another one with
/// the same name.
fn means_leaf_program(program: &str, place: Option<&str>, leaf: &LeafCommand) -> bool {
    let first = leaf.words.first().map_or("", |word| word.text.as_str());
    let has_path = |words: &std::sync::Arc<[ShellWord]>| {
        words.first().is_some_and(|word| word.text.contains('/'))
    };
    let here = |place: &str| {
        first.contains('/')
            && normalize_path(place) == normalize_path(first)
            && !leaf.unwrapped_words.iter().any(has_path)
    };
    match (&leaf.local_program, place) {
        (None, None) => true,
        (None, Some(place)) => place.starts_with(['/', '~']) || here(place),
        (Some(own), Some(place)) => own == place || here(place),
        (Some(_), None) => program == "*",
    }
}

/// The words of git after the options that only select a directory or disable
/// the pager. Options that may set anything else stay.
fn without_git_dir<'w>(program: &str, words: &'w [ShellWord]) -> &'w [ShellWord] {
    if program != "git" {
        return words;
    }
    let mut rest = words;
    loop {
        rest = match rest {
            [flag, dir, rest @ ..] if flag.text == "-C" && dir.known => rest,
            [flag, rest @ ..] if matches!(flag.text.as_str(), "--no-pager" | "-P") => rest,
            _ => return rest,
        };
    }
}

fn is_same_word(wanted: &str, own: &str) -> bool {
    if glob_match(wanted, own) {
        return true;
    }
    // `/`, `/.` and `//` are the same path.
    wanted.starts_with('/') && normalize_path(wanted) == normalize_path(own)
}

fn normalize_path(path: &str) -> String {
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// Programs whose long options have a single dash.
const SINGLE_DASH_PROGRAMS: &[&str] =
    &["find", "terraform", "tofu", "java", "openssl", "ffmpeg", "gcc", "clang"];

/// Splits clustered flags: `-rf` is `-r` and `-f`.
fn single_flags(program: &str, word: &str) -> Vec<String> {
    let letters = word.get(1..).unwrap_or("");
    let cluster = !word.starts_with("--")
        && !SINGLE_DASH_PROGRAMS.contains(&program)
        && letters.len() > 1
        && letters.len() <= 6
        && letters.bytes().all(|b| b.is_ascii_alphabetic());
    if !cluster {
        return vec![word.to_owned()];
    }
    let mut all: Vec<String> = letters.chars().map(|letter| format!("-{letter}")).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a quote is unclosed, which no valid command has.
fn is_half_quoted(rule: &str) -> bool {
    let is_read = |text: &str| crate::parse::parse(text, 0).problem.is_none();
    !is_read(rule) && ['"', '\''].iter().any(|mark| is_read(&format!("{rule}{mark}")))
}

/// The words of a plain pattern; `None` if it has shell syntax.
fn split_words(rule: &str) -> Option<Vec<String>> {
    let script = crate::parse::parse(rule, 0);
    let plain = !rule.contains([';', '&', '|', '<', '>', '(', ')', '`', '\n', '$', '{', '}']);
    match (plain, script.problem) {
        (true, None) => {}
        _ => return None,
    }
    let crate::syntax::ShellCommand::Simple(simple) = script.body else { return None };
    if !simple.assignments.is_empty() {
        return None;
    }
    let text = |raw: &crate::syntax::RawWord| {
        raw.parts
            .iter()
            .map(|part| match part {
                crate::syntax::WordPart::Text { text, .. } => text.as_str(),
                _ => "",
            })
            .collect::<String>()
    };
    let words: Vec<String> = simple.words.iter().map(text).collect();
    (!words.is_empty()).then_some(words)
}

/// Removes the spaces that the shell does not need, for comparison.
fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for c in text.chars() {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        let tight = |c: char| ";&|(){}<>:".contains(c);
        if space && !out.is_empty() && !tight(c) && !out.ends_with(tight) {
            out.push(' ');
        }
        space = false;
        out.push(c);
    }
    out
}

impl std::fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            PatternKind::Text(text) => f.write_str(text),
            PatternKind::Exact(text) => write!(f, "= {text}"),
            PatternKind::Words { program, leading, flags, .. } => {
                f.write_str(program)?;
                leading.iter().chain(flags).try_for_each(|word| write!(f, " {word}"))
            }
        }
    }
}

#[cfg(test)]
#[path = "command_pattern_tests.rs"]
mod tests;
