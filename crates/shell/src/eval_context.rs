//! The context in which a program runs, and the builder for its effects.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Resource, Scope, WorkingDir, is_normalized};

use crate::blocked_operations;
use crate::git_history;
use crate::leaf::{CommandFinding, LeafCommand, ShellWord, TargetMode, TextTaint, Transfer};
use crate::secret_paths;
use crate::syntax::RedirectKind;
use crate::text::{has_glob, program_name};
use crate::text_stream::{ALL_FILES_GLOB, TextStream};

/// The process file system: secret files are next to harmless ones, so rules
/// must see the whole glob.
const PROC_DIR: &str = "/proc";

/// A command that a program runs.
#[derive(Debug)]
pub(crate) enum InnerCommand {
    /// A command as words.
    Words(Vec<ShellWord>),
    /// Shell source.
    Source(ShellWord),
}

/// The context of one leaf.
#[derive(Debug)]
pub(crate) struct EvalContext<'a> {
    pub(crate) at: &'a WorkingDir,
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) input: &'a TextStream,
    /// Whether globs match hidden files.
    pub(crate) dotglob: bool,
    /// Whether this is a string in a program, which may be a command.
    pub(crate) in_code: bool,
}

impl EvalContext<'_> {
    /// The absolute path of a word, if it is known. Globs are kept.
    pub(crate) fn absolute(&self, word: &ShellWord) -> Option<PathBuf> {
        let text = word.known_text().filter(|text| !text.is_empty())?;
        self.absolute_text(text)
    }

    /// The absolute path of a text.
    fn absolute_text(&self, text: &str) -> Option<PathBuf> {
        if text.starts_with('/') {
            return Some(self.at.normalize(Path::new(text)));
        }
        let joined = join(self.cwd?, text);
        Some(if is_normalized(&joined) { joined } else { self.at.normalize(&joined) })
    }

    /// The resource that a word names. A glob stands for the directory it is
    /// in.
    pub(crate) fn resource(&self, word: &ShellWord) -> Resource {
        let Some(written) = word.known_text() else { return Resource::Any };
        let text = if word.glob { dir_above_glob(written).into() } else { Cow::Borrowed(written) };
        let Some(folded) = self.absolute_text(&text).filter(|_| !text.is_empty()) else {
            return Resource::Any;
        };
        // `..` after a symlink is the parent of the link's target, which needs
        // a file system lookup: it stays in the path.
        match self.cwd.filter(|_| text.split('/').any(|part| part == "..")) {
            Some(cwd) => Resource::Path(join(cwd, &text)),
            None => Resource::Path(folded),
        }
    }
}

/// Joins a directory and a relative path with a single allocation.
fn join(dir: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::with_capacity(dir.as_os_str().len() + 1 + text.len());
    path.push(dir);
    path.push(text);
    path
}

/// The path up to the first component with a glob.
fn dir_above_glob(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in text.split('/') {
        if has_glob(part) {
            break;
        }
        kept.push(part);
    }
    match kept.as_slice() {
        [] => ".".to_owned(),
        [""] => "/".to_owned(),
        _ => kept.join("/"),
    }
}

/// Builds the effects and findings of a leaf in its context.
#[derive(Debug)]
pub(crate) struct EffectBuilder<'a> {
    pub(crate) leaf: &'a mut LeafCommand,
    pub(crate) context: &'a EvalContext<'a>,
    /// The base name of the program.
    pub(crate) program: &'a str,
    /// All words including the program. They belong to the leaf, but are
    /// readable while it is modified.
    pub(crate) words: &'a [ShellWord],
    /// The commands that it runs.
    pub(crate) inner: Vec<InnerCommand>,
}

impl<'a> EffectBuilder<'a> {
    /// A builder for a leaf without a known or relevant program.
    pub(crate) fn without_program(leaf: &'a mut LeafCommand, site: &'a EvalContext<'a>) -> Self {
        EffectBuilder { leaf, context: site, program: "", words: &[], inner: Vec::new() }
    }

    /// A builder for a leaf with its program and words.
    pub(crate) fn new(
        leaf: &'a mut LeafCommand,
        site: &'a EvalContext<'a>,
        program: &'a str,
        words: &'a [ShellWord],
    ) -> Self {
        EffectBuilder { leaf, context: site, program, words, inner: Vec::new() }
    }

    /// The words after the program.
    pub(crate) fn arguments(&self) -> &'a [ShellWord] {
        self.words.get(1..).unwrap_or(&[])
    }

    pub(crate) fn ask(&mut self, category: &'static str, reason: impl Into<String>) {
        self.leaf.add_finding(CommandFinding::ask(category, reason));
    }

    pub(crate) fn block(&mut self, category: &'static str, reason: impl Into<String>) {
        self.leaf.add_finding(CommandFinding::block(category, reason));
    }

    pub(crate) fn affect_any(&mut self, scope: Scope) {
        self.leaf.add_effect(Effect::any(scope));
    }

    pub(crate) fn affect_named(&mut self, scope: Scope, name: &str) {
        self.leaf.add_effect(Effect::name(scope, name));
    }

    /// Adds an effect on the working directory.
    pub(crate) fn affect_cwd(&mut self, scope: Scope) {
        let resource =
            self.context.cwd.map_or(Resource::Any, |cwd| Resource::Path(cwd.to_path_buf()));
        if scope.family() == "file" && scope.verb() != "read" {
            self.check_history(&scope, &ShellWord::literal("."));
        }
        self.leaf.add_effect(Effect { scope, resource });
    }

    pub(crate) fn read(&mut self, word: &ShellWord) {
        if is_stream(&word.text) {
            return;
        }
        let resource = self.context.resource(word);
        let shows = !only_lists(&self.leaf.program);
        // Reading an unknown file is not worth a question, unless its name
        // looks like a secret.
        if resource != Resource::Any {
            self.leaf.add_effect(Effect { scope: Scope::FILE_READ, resource });
        } else if shows {
            self.leaf.reads_unknown_file = true;
            if secret_paths::may_name_secret(&word.text) {
                self.ask("secret-path", format!("Reads {}, which looks like a secret", word.text));
            }
        }
        if shows {
            let many = word.glob || word.text.contains('(');
            if word.known && many && secret_paths::names_secret(&word.text) {
                self.ask("secret-path", format!("Reads {}, which looks like a secret", word.text));
            }
            self.read_guessed(Scope::FILE_READ, word);
        }
    }

    /// Adds the well-known files that a glob may match, or that an unknown word
    /// may expand to at run time.
    fn read_guessed(&mut self, scope: Scope, word: &ShellWord) {
        let home = self.context.at.home();
        let mut found = Vec::new();
        let hidden = self.context.dotglob;
        if word.known && word.glob {
            let path = self.context.absolute(word);
            found.extend(path.iter().filter(|path| path.starts_with(PROC_DIR)).cloned());
            found.extend(
                path.into_iter()
                    .flat_map(|path| secret_paths::matched_secrets(&path, home, hidden)),
            );
        }
        if !word.known {
            for hint in word.hints.iter().chain(&self.context.input.names) {
                let Some(path) = self.context.absolute_text(hint).filter(|_| !hint.is_empty())
                else {
                    continue;
                };
                let everything = hint.rsplit('/').next() == Some(ALL_FILES_GLOB);
                let near = path.starts_with(self.context.at.cwd());
                if everything && near {
                    let whole = path.parent() == Some(self.context.at.cwd());
                    if whole && shows_contents(&self.leaf.program) {
                        self.ask("secret-path", SHOWS_ALL_REASON);
                    }
                    continue;
                }
                if !has_glob(hint) {
                    found.push(path);
                    continue;
                }
                if path.starts_with(PROC_DIR) || ends_with_name(hint) {
                    found.push(path.clone());
                }
                found.extend(secret_paths::matched_secrets(&path, home, hidden));
                if let (Some(name), Some(root)) = (path.file_name(), path.parent()) {
                    found.extend(secret_paths::secrets_named(&name.to_string_lossy(), root, home));
                }
            }
        }
        for path in found {
            self.leaf.add_effect(Effect { scope: scope.clone(), resource: Resource::Path(path) });
        }
    }

    /// Reads a file below a directory, by a glob of its name.
    pub(crate) fn read_found(&mut self, root: &ShellWord, name: &str) {
        let home = self.context.at.home();
        let Some(root) = self.context.absolute(root) else { return };
        for path in secret_paths::secrets_named(name, &root, home) {
            self.leaf
                .add_effect(Effect { scope: Scope::FILE_READ, resource: Resource::Path(path) });
        }
    }

    /// Reports a program named by an option, where it is easily overlooked.
    pub(crate) fn program_option(&mut self, code: &ShellWord) {
        let first = code.text.split_whitespace().next().unwrap_or("");
        if code.known && (first.is_empty() || is_plain_tool(&program_name(first))) {
            return;
        }
        let reason = format!("Runs another program through an option ({})", code.text);
        self.ask("program-option", reason);
        self.inner.push(InnerCommand::Source(code.clone()));
    }

    pub(crate) fn write(&mut self, word: &ShellWord) {
        if is_stream(&word.text) {
            return;
        }
        self.note_runtime_globs(Scope::FILE_WRITE, word);
        if word.is_below_cwd() {
            return self.change_below_cwd(Scope::FILE_WRITE, word);
        }
        let glob = word.as_glob();
        let word = glob.as_ref().unwrap_or(word);
        if let Some(finding) = blocked_operations::device_write(word) {
            self.leaf.add_finding(finding);
        }
        self.check_history(&Scope::FILE_WRITE, word);
        let resource = self.context.resource(word);
        if let Resource::Path(path) = &resource
            && let Some(finding) = crate::programs::sensitive_write(path, self.context.at.home())
        {
            self.leaf.add_finding(finding);
        }
        self.leaf.add_effect(Effect { scope: Scope::FILE_WRITE, resource });
        self.note_glob(Scope::FILE_WRITE, word);
        self.read_guessed(Scope::FILE_WRITE, word);
        let glob = self.context.absolute(word).filter(|_| word.glob);
        let hidden = self.context.dotglob;
        for path in glob.into_iter().flat_map(|glob| secret_paths::matched_git_files(&glob, hidden))
        {
            self.leaf
                .add_effect(Effect { scope: Scope::FILE_WRITE, resource: Resource::Path(path) });
        }
    }

    /// Changes files below the working directory. Which ones is only known at
    /// run time; the sandbox limits them.
    fn change_below_cwd(&mut self, scope: Scope, word: &ShellWord) {
        self.check_history(&scope, word);
        let whole = word.is_found_path() && !word.hints.is_empty();
        let hints = word.hints.iter().filter(|_| whole);
        let globs = hints.map(|hint| ShellWord { glob: true, ..ShellWord::literal(hint.as_str()) });
        let globs: Vec<ShellWord> = globs.chain(word.as_glob().filter(|_| !whole)).collect();
        for resource in globs.iter().map(|glob| self.context.resource(glob)) {
            self.leaf.add_effect(Effect { scope: scope.clone(), resource });
        }
        self.read_guessed(scope, word);
    }

    /// Removes a file that is kept under another name.
    pub(crate) fn move_away(&mut self, word: &ShellWord) {
        match word.is_below_cwd() {
            true => {
                self.note_runtime_globs(Scope::FILE_DELETE, word);
                self.change_below_cwd(Scope::FILE_DELETE, word);
            }
            false => self.delete(word),
        }
    }

    pub(crate) fn delete(&mut self, word: &ShellWord) {
        self.note_runtime_globs(Scope::FILE_DELETE, word);
        // A glob for everything is riskier than one for some kind of file.
        let narrow = |hint: &String| {
            let name = hint.rsplit('/').next().unwrap_or(hint);
            name.contains(|c: char| c.is_ascii_alphanumeric())
        };
        if word.is_below_cwd() && !word.hints.is_empty() && word.hints.iter().all(narrow) {
            return self.change_below_cwd(Scope::FILE_DELETE, word);
        }
        if word.is_below_cwd() {
            self.check_history(&Scope::FILE_DELETE, word);
            return self.leaf.add_effect(Effect::any(Scope::FILE_DELETE));
        }
        let glob = word.as_glob();
        let word = glob.as_ref().unwrap_or(word);
        self.check_history(&Scope::FILE_DELETE, word);
        let resource = self.context.resource(word);
        let own = resource.as_path().filter(|_| !word.glob);
        self.leaf.deletes.extend(own.map(Path::to_path_buf));
        self.leaf.add_effect(Effect { scope: Scope::FILE_DELETE, resource });
        self.note_glob(Scope::FILE_DELETE, word);
        self.read_guessed(Scope::FILE_DELETE, word);
    }

    /// Records the globs that an unknown word may expand to, and the
    /// directories that a glob with a trailing slash removes.
    fn note_runtime_globs(&mut self, scope: Scope, word: &ShellWord) {
        let mut texts: Vec<&str> = Vec::new();
        match word.known_text() {
            Some(text) if word.glob => texts.extend(text.strip_suffix('/')),
            Some(_) => {}
            None => {
                let hints = word.hints.iter().chain(&self.context.input.names);
                // Globs for everything are too broad to be useful.
                let is_some = |hint: &&String| hint.rsplit('/').next() != Some(ALL_FILES_GLOB);
                texts.extend(hints.filter(is_some).map(String::as_str));
            }
        }
        let places = texts.into_iter().filter(|text| !text.is_empty());
        let places: Vec<PathBuf> =
            places.filter_map(|text| self.context.absolute_text(text)).collect();
        self.leaf.runtime_globs.extend(places.into_iter().map(|place| (scope.clone(), place)));
    }

    /// Records a file placed at a target.
    pub(crate) fn transfer(&mut self, source: &ShellWord, target: &ShellWord, landing: TargetMode) {
        if target.glob {
            return;
        }
        if let Some(target) = self.context.absolute(target) {
            let source = self.context.absolute(source);
            self.leaf.transfers.push(Transfer { source, target, target_mode: landing });
        }
    }

    /// Records that the program creates unknown files in a directory, by
    /// default the working directory.
    pub(crate) fn fill_dir(&mut self, dir: Option<&ShellWord>) {
        let target = match dir {
            Some(dir) if dir.glob => None,
            Some(dir) => self.context.absolute(dir),
            None => self.context.cwd.map(Path::to_path_buf),
        };
        let landing = TargetMode::Into;
        let arrival = target.map(|target| Transfer { source: None, target, target_mode: landing });
        self.leaf.transfers.extend(arrival);
    }

    /// Records a glob. With a trailing slash, a name means the target of a
    /// symlink, and a deletion removes what is in it.
    fn note_glob(&mut self, scope: Scope, word: &ShellWord) {
        let Some(text) = word.known_text() else { return };
        let ends_within = matches!(text.rsplit('/').next(), Some("" | "."));
        let within = scope == Scope::FILE_DELETE && ends_within && !text.is_empty();
        if !(word.glob || within || text.contains('(')) {
            return;
        }
        let mut pattern = match self.context.cwd {
            Some(dir) => join(dir, text),
            None => PathBuf::from(text),
        };
        if within {
            pattern.push("*");
        }
        if pattern.is_absolute() {
            self.leaf.globs.push((scope, pattern));
        }
    }

    /// Asks about damage to a repository's history at the path of a word.
    fn check_history(&mut self, scope: &Scope, word: &ShellWord) {
        let hints = word.hints.iter().filter(|_| !word.known).map(String::as_str);
        let mut places = word
            .known_text()
            .into_iter()
            .chain(hints)
            .filter_map(|text| self.context.absolute_text(text).filter(|_| !text.is_empty()));
        if places.any(|path| git_history::damages(self.program, scope, &path, self.context.dotglob))
        {
            self.ask("git-history-loss", history_loss_reason(scope, &word.text));
        }
    }

    pub(crate) fn affect_host(&mut self, scope: Scope, host: Option<&str>) {
        let resource = match host {
            Some(host) if !host.is_empty() => Resource::Host(host.to_owned()),
            _ => Resource::Any,
        };
        self.leaf.add_effect(Effect { scope, resource });
    }

    /// Marks the command as read-only.
    pub(crate) fn mark_read_only(&mut self) {
        self.leaf.reads_only = true;
    }

    /// Runs a script or program file.
    pub(crate) fn run_file(&mut self, word: &ShellWord) {
        self.read(word);
        if let Some(path) = self.context.absolute(word).filter(|_| word.content.is_none()) {
            if crate::programs::is_outside_code(self.context.at, &path) {
                let reason = format!("Runs code from outside the project ({})", word.text);
                self.ask("outside-code", reason);
            }
            self.leaf.run_files.push(path);
        }
    }

    /// Adds a finding if code is downloaded or decoded, and so unreviewed.
    pub(crate) fn check_tainted_code(&mut self, taint: TextTaint) -> bool {
        if taint.has(TextTaint::REMOTE) {
            self.ask("remote-to-shell", "Runs code downloaded by the same command");
        } else if taint.has(TextTaint::DECODED) {
            self.ask("decoded-to-shell", "Runs code decoded by the same command");
        }
        taint.has(TextTaint::REMOTE) || taint.has(TextTaint::DECODED)
    }

    /// Adds the effects of one redirect.
    pub(crate) fn redirect(&mut self, kind: RedirectKind, word: &ShellWord) {
        let text = word.text.as_str();
        if let Some(rest) =
            text.strip_prefix("/dev/tcp/").or_else(|| text.strip_prefix("/dev/udp/"))
        {
            let host = rest.split('/').next().unwrap_or(rest).to_ascii_lowercase();
            self.ask("reverse-shell", format!("Connects a shell to the network host {host}"));
            self.affect_host(Scope::NETWORK_SEND, word.known.then_some(host.as_str()));
            return;
        }
        match kind {
            RedirectKind::Read => self.read(word),
            RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => {
                if kind == RedirectKind::Write && (text.ends_with("{}") || word.is_found_path()) {
                    self.ask("mass-change", "Overwrites every file found");
                }
                self.write(word);
            }
            RedirectKind::Duplicate => {
                let number = text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                if !number && word.known {
                    self.write(word);
                }
            }
            RedirectKind::Heredoc | RedirectKind::HereString => {}
        }
    }
}

/// Describes the damage to a repository.
pub(crate) fn history_loss_reason(scope: &Scope, what: &str) -> String {
    match *scope == Scope::FILE_DELETE {
        true => format!("Deletes part of the repository ({what})"),
        false => format!("Overwrites part of the repository ({what})"),
    }
}

/// Whether the last component of a glob is a plain name, or the glob contains
/// `..`.
fn ends_with_name(glob: &str) -> bool {
    glob.contains("..") || glob.rsplit('/').next().is_some_and(|name| !has_glob(name))
}

/// Whether a program shows names and metadata but no contents.
fn only_lists(program: &str) -> bool {
    matches!(
        program,
        "ls" | "stat"
            | "file"
            | "du"
            | "df"
            | "tree"
            | "eza"
            | "exa"
            | "ll"
            | "realpath"
            | "readlink"
            | "find"
            | "fd"
            | "lsattr"
            | "getfacl"
            | "namei"
            | "lsof"
            | "wc"
    )
}

/// Reason for a command that shows all files of the project regardless of name.
pub(crate) const SHOWS_ALL_REASON: &str = "Shows every file of the project, including hidden ones";

/// Whether a program prints a file, or its beginning or end.
pub(crate) fn shows_contents(program: &str) -> bool {
    matches!(
        program,
        "cat"
            | "head"
            | "tail"
            | "less"
            | "more"
            | "bat"
            | "batcat"
            | "tac"
            | "nl"
            | "strings"
            | "xxd"
            | "od"
            | "hexdump"
            | "base64"
            | "paste"
            | "rev"
    )
}

/// Common helper programs for other programs that only compress or display.
fn is_plain_tool(program: &str) -> bool {
    matches!(
        program,
        "gzip"
            | "pigz"
            | "xz"
            | "zstd"
            | "bzip2"
            | "pbzip2"
            | "lz4"
            | "lzma"
            | "lzop"
            | "pixz"
            | "zstdmt"
            | "unzstd"
            | "brotli"
            | "cat"
            | "less"
            | "more"
            | "most"
            | "bat"
            | "true"
            | "false"
            | ":"
            | "delta"
            | "diff-so-fancy"
            | "head"
            | "col"
    )
}

/// Whether a path is a standard stream or harmless device, not a file.
fn is_stream(text: &str) -> bool {
    matches!(
        text,
        "-" | "/dev/null"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/tty"
            | "/dev/zero"
            | "/dev/urandom"
            | "/dev/random"
            | "/dev/full"
    ) || text.starts_with("/dev/fd/")
        || text.starts_with("/proc/self/fd/")
}
