//! Code in a command that does more than compute. It is judged like a script of
//! the project, which the sandbox confines: imports, opened files and started
//! programs need no approval. Findings remain for files that it names, commands
//! that would need approval, and attack patterns.

use hermes_core::{Effect, Resource, Scope};

use super::code_calls::{self, FileArgument};
use super::code_check::CodeLanguage;
use super::databases;
use super::network::url_host;
use crate::embedded::{self, CommentStyle};
use crate::eval_context::EffectBuilder;
use crate::leaf::{CommandFinding, ShellWord};
use crate::secret_paths;

/// Longer strings are not names.
const MAX_NAME_BYTES: usize = 512;

/// Functions that run a command.
const COMMAND_RUNNERS: &[&str] = &[
    "system",
    "system2",
    "exec",
    "execl",
    "execlp",
    "execv",
    "execvp",
    "execSync",
    "execFileSync",
    "execute",
    "popen",
    "Popen",
    "spawn",
    "spawnSync",
    "spawnl",
    "spawnlp",
    "spawnv",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "cmd",
    "readpipe",
    "shell_exec",
    "passthru",
    "proc_open",
    "pipe",
    "CDLL",
    "send",
    "open",
];

/// Functions that delete, move or empty a file.
const FILE_REMOVERS: &[&str] = &[
    "unlink",
    "unlinkSync",
    "rm",
    "rmSync",
    "rm_rf",
    "rm_f",
    "rmdir",
    "rmdirSync",
    "removeSync",
    "truncate",
    "ftruncate",
    "mv",
];

/// The same, with qualified names because the bare ones have other meanings.
const QUALIFIED_REMOVERS: &[&str] =
    &["os.remove", "file.remove", "File.delete", "Deno.remove", "fs.remove"];

/// Functions that always delete a tree.
const TREE_REMOVERS: &[&str] =
    &["rm_rf", "rm_r", "remove_entry", "remove_entry_secure", "removeDirectory"];

/// Functions that list files.
const FILE_LISTERS: &[&str] =
    &["glob", "listdir", "readdir", "readdirSync", "scandir", "iterdir", "rglob", "walk"];

/// Names that yield the home directory.
const HOME_NAMES: &[&str] =
    &["homedir", "home", "HOME", "expanduser", "user_home", "USERPROFILE", "gethomedir"];

/// Functions that evaluate a string as code.
const CODE_EVALUATORS: &[&str] = &["exec", "eval", "compile", "Function", "loadstring", "system"];

/// Functions that decode a string.
const TEXT_DECODERS: &[&str] = &[
    "b64decode",
    "b32decode",
    "b16decode",
    "a85decode",
    "b85decode",
    "base64_decode",
    "decode_base64",
    "unhexlify",
    "fromhex",
    "hex2bin",
    "atob",
    "decompress",
    "gzinflate",
    "str_rot13",
    "fromCharCode",
    "pack",
    "unpack",
];

/// Names that download something.
const NETWORK_FETCHERS: &[&str] = &[
    "urlopen",
    "urlretrieve",
    "urllib",
    "requests",
    "httpx",
    "aiohttp",
    "fetch",
    "axios",
    "http",
    "https",
    "URI",
    "LWP",
    "Net",
    "download",
    "file_get_contents",
    "curl_init",
    "copy",
    "include",
    "source",
];

/// Names that load code from a path or URL.
const CODE_LOADERS: &[&str] = &[
    "run_path",
    "dofile",
    "loadfile",
    "load",
    "require",
    "include",
    "include_once",
    "source",
    "do",
    "dlopen",
    "path",
];

/// The same, where a URL is loaded as code.
const REMOTE_LOADERS: &[&str] = &["include", "include_once", "source"];

/// Names that connect to another host, and those that give it a shell.
const SOCKET_NAMES: &[&str] = &["socket", "TCPSocket", "fsockopen", "createConnection", "net"];
const SHELL_GIVERS: &[&str] = &["dup2", "pty", "popen"];
const SHELL_NAMES: &[&str] = &["sh", "bash", "/bin/sh", "/bin/bash"];

/// Names that read stdin, and those that read arguments.
const INPUT_NAMES: &[&str] = &["input", "stdin", "STDIN", "gets", "interact", "pdb"];
const ARGUMENT_NAMES: &[&str] = &["argv", "ARGV", "args"];

/// Python internals from which everything else is reachable.
const PYTHON_INTERNALS: &[&str] = &["__subclasses__", "__globals__", "__builtins__"];

/// Names that have no legitimate reason to be concatenated.
const SPLIT_NAMES: &[&str] = &[
    "os",
    "sys",
    "fs",
    "subprocess",
    "child_process",
    "system",
    "exec",
    "execute",
    "execSync",
    "eval",
    "popen",
    "passthru",
    "import",
    "remove",
    "unlink",
    "unlinkSync",
    "rmSync",
    "delete",
    "readFile",
    "readFileSync",
];

/// Calls that write the file given as the first argument.
const WRITING_CALLS: &[&str] = &[
    "writeFileSync",
    "writeFile",
    "appendFileSync",
    "appendFile",
    "createWriteStream",
    "file_put_contents",
    "File.write",
    "IO.write",
    "to_csv",
    "to_json",
    "to_pickle",
    "to_excel",
    "savetxt",
];

/// Calls that delete the file given as the first argument.
const DELETING_CALLS: &[&str] = &[
    "os.remove",
    "os.unlink",
    "os.rmdir",
    "os.rename",
    "unlink",
    "unlinkSync",
    "rmSync",
    "renameSync",
    "rename",
    "File.delete",
    "file.remove",
    "Deno.removeSync",
];

/// A piece of code, split into code and strings.
pub(super) struct CodeSnippet<'a> {
    pub(super) language: CodeLanguage,
    /// The source text.
    pub(super) whole: &'a str,
    /// The source without the contents of its strings.
    pub(super) bare: &'a str,
    pub(super) strings: &'a [String],
    /// Where each string begins in the bare code.
    pub(super) places: &'a [usize],
    /// Its command-line arguments.
    pub(super) operands: &'a [ShellWord],
}

impl CodeSnippet<'_> {
    fn comments(&self) -> CommentStyle {
        match self.language {
            CodeLanguage::Python => CommentStyle::Hash,
            CodeLanguage::JavaScript | CodeLanguage::Php => CommentStyle::Slashes,
            _ => CommentStyle::Unknown,
        }
    }

    /// The first of these names that is used, as an identifier or a string.
    fn find_used_name(&self, list: &[&str]) -> Option<&str> {
        let named = embedded::identifiers(self.bare).find(|word| list.contains(word));
        named.or_else(|| {
            let texts = self.strings.iter().map(String::as_str);
            texts.into_iter().find(|text| list.contains(text))
        })
    }

    /// Adjacent strings, joined where only a concatenation is between them.
    fn joined_strings(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut open: Option<(String, usize)> = None;
        for (text, place) in self.strings.iter().zip(self.places) {
            let between = open.as_ref().and_then(|(_, end)| self.bare.get(*end..*place));
            let is_next = between.is_some_and(|between| {
                !between.is_empty() && between.chars().all(|c| "+.*&, \n".contains(c))
            });
            let so_far = open.take().filter(|_| is_next).map(|(text, _)| text);
            let joined = so_far.map(|so_far| so_far + text);
            found.extend(joined.clone());
            open = Some((joined.unwrap_or_else(|| text.clone()), place + 2));
        }
        found
    }

    /// Strings that may be commands.
    fn commands(&self) -> Vec<String> {
        let (_, mut texts) = embedded::split_strings(self.whole, self.comments());
        texts.extend(percent_strings(self.whole));
        texts.extend(self.strings.iter().cloned());
        if self.whole.contains("<<`") {
            texts.extend(self.whole.lines().map(str::to_owned));
        }
        let pipes = texts.iter().filter_map(|text| {
            let text = text.trim();
            text.strip_suffix('|').or_else(|| text.strip_prefix('|')).map(str::to_owned)
        });
        let pipes: Vec<String> = pipes.collect();
        texts.extend(pipes);
        texts
    }

    /// Whether it runs commands in a way of its language.
    fn runs_commands(&self) -> bool {
        let quoted = self.language != CodeLanguage::Python && self.whole.contains('`');
        quoted
            || self.find_used_name(COMMAND_RUNNERS).is_some()
            || !percent_strings(self.whole).is_empty()
    }
}

/// Adds effects and findings of a piece of code.
pub(super) fn describe(act: &mut EffectBuilder<'_>, code: &CodeSnippet<'_>) {
    // A string in a program that may be a command; the program itself was
    // already checked.
    if act.context.in_code {
        return;
    }
    let joined = code.joined_strings();
    describe_files(act, code, &joined);
    describe_secrets(act, code, &joined);
    let mut found = embedded::destructive_code(code.whole, code.comments(), act.context.at);
    if code.find_used_name(INPUT_NAMES).is_some() {
        found.extend(check_input(act, code));
    }
    if code.runs_commands() {
        let mut reads: Vec<Resource> = Vec::new();
        let mut look = |analysis: &crate::CommandAnalysis| {
            let effects = analysis.leaves.iter().flat_map(|leaf| &leaf.effects);
            let secret = effects.filter(|effect| {
                effect.scope == Scope::FILE_READ
                    && effect
                        .resource
                        .as_path()
                        .is_some_and(|it| secret_paths::names_secret(&it.to_string_lossy()))
            });
            reads.extend(secret.map(|effect| effect.resource.clone()));
        };
        embedded::find_dangerous_commands(&code.commands(), act.context.at, &mut found, &mut look);
        for resource in reads {
            act.leaf.add_effect(Effect { scope: Scope::FILE_READ, resource });
        }
    }
    found.extend(removal_finding(code));
    found.extend(attack_findings(code, &joined));
    found.extend(
        code.strings
            .iter()
            .find_map(|text| databases::loss_reason(text))
            .map(|reason| CommandFinding::ask("sql-loss", reason)),
    );
    found.into_iter().for_each(|finding| act.leaf.add_finding(finding));
    check_loaded_code(act, code);
    if code.find_used_name(NETWORK_FETCHERS).or_else(|| code.find_used_name(SOCKET_NAMES)).is_some()
    {
        for host in code.strings.iter().filter_map(|text| url_host(text)) {
            act.affect_host(Scope::NETWORK_FETCH, Some(&host));
        }
    }
}

/// Checks how the code uses its input: as a path, or as more code.
fn check_input(act: &mut EffectBuilder<'_>, code: &CodeSnippet<'_>) -> Vec<CommandFinding> {
    if code.find_used_name(CODE_EVALUATORS).is_some() {
        act.ask("dynamic-code", "Runs its input as code");
    }
    let Some(text) = act.context.input.text.clone() else { return Vec::new() };
    if secret_paths::mentions_secret(&text) {
        act.ask("secret-path", "Gets the name of something that looks like a secret");
    }
    embedded::destructive_code(&text, CommentStyle::Unknown, act.context.at)
}

/// Adds files that the code writes or deletes and names by string literals.
fn describe_files(act: &mut EffectBuilder<'_>, code: &CodeSnippet<'_>, joined: &[String]) {
    let named = |names: &[&str]| {
        let all = code_calls::file_arguments(code.bare, code.strings, code.places, names);
        let texts = all.into_iter().filter_map(|naming| match naming {
            FileArgument::Text(path) if is_name(&path) => Some(ShellWord::literal(path)),
            _ => None,
        });
        texts.collect::<Vec<ShellWord>>()
    };
    let mut written = named(WRITING_CALLS);
    // An aliased call shows only by its original name.
    let mentions: usize = WRITING_CALLS.iter().map(|name| code.bare.matches(name).count()).sum();
    if mentions > written.len() {
        let paths = code.strings.iter().filter(|text| text.starts_with('/') && is_name(text));
        written.extend(paths.map(|text| ShellWord::literal(text.as_str())));
    }
    written.extend(opened_for_writing(code));
    if !written.is_empty() || mentions > 0 || code.bare.contains("write_text") {
        let paths = joined.iter().filter(|text| text.contains('/') && is_name(text));
        written.extend(paths.map(|text| ShellWord::literal(text.as_str())));
        if code.find_used_name(ARGUMENT_NAMES).is_some() {
            written.extend(code.operands.iter().cloned());
        }
    }
    written.iter().for_each(|word| act.write(word));
    named(DELETING_CALLS).iter().for_each(|word| act.delete(word));
}

/// The files of `open("file", "w")` and similar calls.
fn opened_for_writing(code: &CodeSnippet<'_>) -> Vec<ShellWord> {
    let mut files = Vec::new();
    for (at, call) in code.bare.match_indices("open(") {
        let begin = at + call.len();
        let Ok(index) = code.places.binary_search(&begin) else { continue };
        let (Some(path), Some(mode)) = (code.strings.get(index), code.strings.get(index + 1))
        else {
            continue;
        };
        let between = code.places.get(index + 1).and_then(|next| code.bare.get(begin + 2..*next));
        let is_next = between.is_some_and(|it| matches!(it.trim(), "," | ", mode=" | ",mode="));
        let writes = mode.len() <= 3
            && mode.chars().all(|c| "rwaxbt+U".contains(c))
            && mode.contains(['w', 'a', 'x', '+']);
        if is_next && writes && is_name(path) {
            files.push(ShellWord::literal(path.as_str()));
        }
    }
    files
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() < MAX_NAME_BYTES && !text.contains(['\n', '\0'])
}

/// Adds secrets that the code names: as reads if a string literal names them,
/// else as a finding.
fn describe_secrets(act: &mut EffectBuilder<'_>, code: &CodeSnippet<'_>, joined: &[String]) {
    let is_plain = |text: &str| is_name(text) && !text.contains(char::is_whitespace);
    let mut is_reported = false;
    for text in code.strings.iter().filter(|text| is_plain(text)) {
        let home = act.context.at.home().map(|home| home.to_string_lossy().into_owned());
        let below = text.strip_prefix("~/").zip(home.as_deref());
        let path = below.map_or_else(|| text.clone(), |(below, home)| format!("{home}/{below}"));
        let glob = crate::text::has_glob(&path) && path.starts_with('/');
        // A string that starts with `/.` is appended to a directory.
        if glob || secret_paths::names_secret(text) && !text.starts_with("/.") {
            is_reported |= !glob;
            act.read(&ShellWord { glob, ..ShellWord::literal(path) });
        }
    }
    let parts = code.strings.iter().chain(joined);
    let hidden =
        parts.into_iter().find(|text| is_plain(text) && secret_paths::may_name_secret(text));
    let is_mentioned = || secret_paths::mentions_secret(code.whole);
    if !is_reported && (hidden.is_some() || is_mentioned()) {
        let what = hidden.map_or("a file", String::as_str);
        act.ask("secret-path", format!("Names {what}, which looks like a secret"));
    }
}

/// Finding for deletions on a large scale.
fn removal_finding(code: &CodeSnippet<'_>) -> Option<CommandFinding> {
    let lists = code.find_used_name(FILE_LISTERS).is_some()
        || code.bare.contains("list.files")
        || code.bare.contains("<*");
    if lists && empties_file(code) {
        return Some(CommandFinding::ask("mass-change", "Empties many files at once"));
    }
    let removes = code
        .find_used_name(FILE_REMOVERS)
        .or_else(|| QUALIFIED_REMOVERS.iter().copied().find(|name| code.bare.contains(name)))?;
    let is_recursive = code.find_used_name(&["recursive"]).is_some()
        || code.language == CodeLanguage::Octave && removes == "rmdir";
    let is_of_home =
        code.find_used_name(HOME_NAMES).is_some() || code.strings.iter().any(|text| text == "~");
    if is_recursive || code.find_used_name(TREE_REMOVERS).is_some() {
        return Some(embedded::tree_deletion_finding(removes));
    }
    if is_of_home {
        let reason = format!("Deletes or moves something in the home directory ({removes})");
        return Some(CommandFinding::ask("data-loss", reason));
    }
    lists.then(|| {
        CommandFinding::ask(
            "mass-change",
            format!("Deletes or moves many files at once ({removes})"),
        )
    })
}

/// Whether it writes empty content to a file.
fn empties_file(code: &CodeSnippet<'_>) -> bool {
    let writes = code_calls::file_arguments(code.bare, code.strings, code.places, &["write_text"]);
    let ends_empty = |call: &str| {
        let call = call.split(')').next().unwrap_or_default();
        call.ends_with(",\"\"") || call.ends_with(",''")
    };
    let is_opened = || code.strings.iter().any(|text| text.starts_with('>'));
    writes.contains(&FileArgument::Text(String::new()))
        || code.bare.split("writeFileSync(").skip(1).any(ends_empty)
            && code.strings.iter().any(String::is_empty)
        || code.language == CodeLanguage::Perl
            && code.find_used_name(&["open"]).is_some()
            && is_opened()
}

/// Findings for attack patterns.
fn attack_findings(code: &CodeSnippet<'_>, joined: &[String]) -> Vec<CommandFinding> {
    let mut found = Vec::new();
    let repeats = code.find_used_name(&["while", "loop", "until", "for"]).is_some();
    if code.find_used_name(&["fork"]).is_some() && repeats {
        found.push(CommandFinding::ask("fork-bomb", "Starts processes endlessly"));
    }
    if code.find_used_name(&["kill", "posix_kill"]).is_some() && code.bare.contains("-1") {
        found.push(CommandFinding::ask("kill-all", "Kills all processes"));
    }
    let evaluates = code.find_used_name(CODE_EVALUATORS).is_some();
    if evaluates && code.find_used_name(TEXT_DECODERS).is_some() {
        found.push(CommandFinding::ask("decoded-to-shell", "Runs code that it decodes first"));
    }
    let has_address = code.strings.iter().any(|text| url_host(text).is_some());
    if has_address
        && (evaluates && code.find_used_name(NETWORK_FETCHERS).is_some()
            || code.find_used_name(REMOTE_LOADERS).is_some())
    {
        found.push(CommandFinding::ask("remote-to-shell", "Runs code that it downloads"));
    }
    let gives_shell = code.find_used_name(SHELL_GIVERS).is_some()
        || code
            .strings
            .iter()
            .any(|text| SHELL_NAMES.contains(&text.split_whitespace().next().unwrap_or_default()));
    if code.find_used_name(SOCKET_NAMES).is_some() && gives_shell {
        found.push(CommandFinding::ask("reverse-shell", "Connects a shell to the network"));
    }
    if let Some(name) = code.find_used_name(PYTHON_INTERNALS) {
        let reason = format!("Accesses interpreter internals, which hides what it does ({name})");
        found.push(CommandFinding::ask("obfuscation", reason));
    }
    if let Some(name) = joined.iter().find(|text| SPLIT_NAMES.contains(&text.as_str())) {
        let reason = format!("Assembles the name “{name}” from parts, which hides what it does");
        found.push(CommandFinding::ask("obfuscation", reason));
    }
    found
}

/// Adds a finding for code loaded from outside the project, as for a script
/// from there.
fn check_loaded_code(act: &mut EffectBuilder<'_>, code: &CodeSnippet<'_>) {
    if code.find_used_name(CODE_LOADERS).is_none() {
        return;
    }
    let paths = code.strings.iter().filter(|text| is_name(text) && text.starts_with('/'));
    for path in paths.map(|text| ShellWord::literal(text.as_str())) {
        let place = act.context.absolute(&path);
        if place.is_some_and(|place| crate::programs::is_outside_code(act.context.at, &place)) {
            let reason = format!("Runs code from outside the project ({})", path.text);
            act.ask("outside-code", reason);
        }
    }
}

/// Strings that Perl and Ruby quote with a letter and any delimiter: `%x(…)`,
/// `qx#…#`, `%w[…]`.
fn percent_strings(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for opening in ["%x", "%w", "%W", "qx", "qw"] {
        for (at, _) in code.match_indices(opening) {
            let rest = code.get(at + opening.len()..).unwrap_or_default();
            let Some(mark) = rest.chars().next().filter(char::is_ascii_punctuation) else {
                continue;
            };
            let end = match mark {
                '(' => ')',
                '[' => ']',
                '{' => '}',
                '<' => '>',
                other => other,
            };
            let inside = rest.get(1..).unwrap_or_default();
            found.extend(inside.split_once(end).map(|(text, _)| text.to_owned()));
        }
    }
    found
}

#[cfg(test)]
#[path = "inline_code_tests.rs"]
mod tests;
