//! Where a program runs and how its doings are written down.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use hermes_core::{Effect, Resource, Scope, WorkingDir, is_normalized};

use crate::blocks;
use crate::flow::{EVERYTHING, Stream};
use crate::history;
use crate::leaf::{Arrival, Finding, Landing, Leaf, Taint, Word};
use crate::sensitive;
use crate::syntax::RedirectKind;
use crate::text::{has_glob, program_name};

/// What the kernel shows of processes: secret files lie beside harmless ones,
/// so that rules have to see the whole glob.
const PROCESSES: &str = "/proc";

/// Something else that a program runs.
#[derive(Debug)]
pub(crate) enum Inner {
    /// A command by its words.
    Words(Vec<Word>),
    /// Shell source.
    Source(Word),
}

/// The surroundings of one leaf.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) at: &'a WorkingDir,
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) input: &'a Stream,
    /// Whether a glob finds hidden files as well.
    pub(crate) hidden: bool,
    /// Whether this is a text in a program, which may be a command.
    pub(crate) in_code: bool,
}

impl Site<'_> {
    /// The absolute path of a word, if it can be told. A glob stays in it.
    pub(crate) fn absolute(&self, word: &Word) -> Option<PathBuf> {
        let text = word.known().filter(|text| !text.is_empty())?;
        self.place(text)
    }

    /// The absolute path that a text names.
    fn place(&self, text: &str) -> Option<PathBuf> {
        if text.starts_with('/') {
            return Some(self.at.normalize(Path::new(text)));
        }
        let joined = join(self.cwd?, text);
        Some(if is_normalized(&joined) { joined } else { self.at.normalize(&joined) })
    }

    /// The resource that a word names. A glob stands for the folder it is in.
    pub(crate) fn resource(&self, word: &Word) -> Resource {
        let Some(written) = word.known() else { return Resource::Any };
        let text = if word.glob { above_glob(written).into() } else { Cow::Borrowed(written) };
        let Some(folded) = self.place(&text).filter(|_| !text.is_empty()) else {
            return Resource::Any;
        };
        // `..` means the folder above what a link leads to, which only those
        // can tell who look: it stays in the path.
        match self.cwd.filter(|_| text.split('/').any(|part| part == "..")) {
            Some(cwd) => Resource::Path(join(cwd, &text)),
            None => Resource::Path(folded),
        }
    }
}

/// A text below a folder, in one piece of memory.
fn join(folder: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::with_capacity(folder.as_os_str().len() + 1 + text.len());
    path.push(folder);
    path.push(text);
    path
}

/// The path up to the first component with a glob.
fn above_glob(text: &str) -> String {
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

/// A leaf being written, at its site.
#[derive(Debug)]
pub(crate) struct Act<'a> {
    pub(crate) leaf: &'a mut Leaf,
    pub(crate) site: &'a Site<'a>,
    /// The base name of the program.
    pub(crate) program: &'a str,
    /// All words including the program. They are the leaf's, but can be had
    /// while it is written to.
    pub(crate) words: &'a [Word],
    /// What else it runs.
    pub(crate) inner: Vec<Inner>,
}

impl<'a> Act<'a> {
    /// A leaf of which no program is known, or none that matters.
    pub(crate) fn bare(leaf: &'a mut Leaf, site: &'a Site<'a>) -> Self {
        Act { leaf, site, program: "", words: &[], inner: Vec::new() }
    }

    /// A leaf with its program and its words.
    pub(crate) fn of(
        leaf: &'a mut Leaf,
        site: &'a Site<'a>,
        program: &'a str,
        words: &'a [Word],
    ) -> Self {
        Act { leaf, site, program, words, inner: Vec::new() }
    }

    /// The words after the program.
    pub(crate) fn arguments(&self) -> &'a [Word] {
        self.words.get(1..).unwrap_or(&[])
    }

    pub(crate) fn ask(&mut self, category: &'static str, reason: impl Into<String>) {
        self.leaf.find(Finding::ask(category, reason));
    }

    pub(crate) fn block(&mut self, category: &'static str, reason: impl Into<String>) {
        self.leaf.find(Finding::block(category, reason));
    }

    pub(crate) fn any(&mut self, scope: Scope) {
        self.leaf.effect(Effect::any(scope));
    }

    pub(crate) fn name(&mut self, scope: Scope, name: &str) {
        self.leaf.effect(Effect::name(scope, name));
    }

    /// An effect on the folder it runs in.
    pub(crate) fn here(&mut self, scope: Scope) {
        let resource = self.site.cwd.map_or(Resource::Any, |cwd| Resource::Path(cwd.to_path_buf()));
        if scope.family() == "file" && scope.verb() != "read" {
            self.history(&scope, &Word::literal("."));
        }
        self.leaf.effect(Effect { scope, resource });
    }

    pub(crate) fn read(&mut self, word: &Word) {
        if is_stream(&word.text) {
            return;
        }
        let resource = self.site.resource(word);
        let shows = !lists_only(&self.leaf.program);
        // Reading what is not known yet is not worth a question, unless its
        // name says that it is a secret.
        if resource != Resource::Any {
            self.leaf.effect(Effect { scope: Scope::FILE_READ, resource });
        } else if shows {
            self.leaf.reads_blindly = true;
            if sensitive::may_tell(&word.text) {
                self.ask("secret-path", format!("Reads {}, which looks like a secret", word.text));
            }
        }
        if shows {
            let many = word.glob || word.text.contains('(');
            if word.known && many && sensitive::tells(&word.text) {
                self.ask("secret-path", format!("Reads {}, which looks like a secret", word.text));
            }
            self.guess(Scope::FILE_READ, word);
        }
    }

    /// The well-known files that a glob may match, or that may be among the
    /// paths that a word is made of at run time.
    fn guess(&mut self, scope: Scope, word: &Word) {
        let home = self.site.at.home();
        let mut found = Vec::new();
        let hidden = self.site.hidden;
        if word.known && word.glob {
            let path = self.site.absolute(word);
            found.extend(path.iter().filter(|path| path.starts_with(PROCESSES)).cloned());
            found.extend(path.into_iter().flat_map(|path| sensitive::matched(&path, home, hidden)));
        }
        if !word.known {
            for hint in word.hints.iter().chain(&self.site.input.names) {
                let Some(path) = self.site.place(hint).filter(|_| !hint.is_empty()) else {
                    continue;
                };
                let everything = hint.rsplit('/').next() == Some(EVERYTHING);
                let near = path.starts_with(self.site.at.cwd());
                if everything && near {
                    let whole = path.parent() == Some(self.site.at.cwd());
                    if whole && shows_whole(&self.leaf.program) {
                        self.ask("secret-path", SHOWN_WHOLE);
                    }
                    continue;
                }
                if !has_glob(hint) {
                    found.push(path);
                    continue;
                }
                if path.starts_with(PROCESSES) || ends_plainly(hint) {
                    found.push(path.clone());
                }
                found.extend(sensitive::matched(&path, home, hidden));
                if let (Some(name), Some(root)) = (path.file_name(), path.parent()) {
                    found.extend(sensitive::named(&name.to_string_lossy(), root, home));
                }
            }
        }
        for path in found {
            self.leaf.effect(Effect { scope: scope.clone(), resource: Resource::Path(path) });
        }
    }

    /// A file somewhere below a folder, by a glob of its name.
    pub(crate) fn read_found(&mut self, root: &Word, name: &str) {
        let home = self.site.at.home();
        let Some(root) = self.site.absolute(root) else { return };
        for path in sensitive::named(name, &root, home) {
            self.leaf.effect(Effect { scope: Scope::FILE_READ, resource: Resource::Path(path) });
        }
    }

    /// A program that an option names: it runs where nobody expects one.
    pub(crate) fn program_option(&mut self, code: &Word) {
        let first = code.text.split_whitespace().next().unwrap_or("");
        if code.known && (first.is_empty() || is_plain_tool(&program_name(first))) {
            return;
        }
        let reason = format!("Runs another program through an option ({})", code.text);
        self.ask("program-option", reason);
        self.inner.push(Inner::Source(code.clone()));
    }

    pub(crate) fn write(&mut self, word: &Word) {
        if is_stream(&word.text) {
            return;
        }
        self.suppose(Scope::FILE_WRITE, word);
        if word.is_near() {
            return self.change_near(Scope::FILE_WRITE, word);
        }
        let glob = word.as_glob();
        let word = glob.as_ref().unwrap_or(word);
        if let Some(finding) = blocks::device_write(word) {
            self.leaf.find(finding);
        }
        self.history(&Scope::FILE_WRITE, word);
        let resource = self.site.resource(word);
        if let Resource::Path(path) = &resource
            && let Some(finding) = crate::programs::sensitive_write(path, self.site.at.home())
        {
            self.leaf.find(finding);
        }
        self.leaf.effect(Effect { scope: Scope::FILE_WRITE, resource });
        self.spread(Scope::FILE_WRITE, word);
        self.guess(Scope::FILE_WRITE, word);
        let glob = self.site.absolute(word).filter(|_| word.glob);
        let hidden = self.site.hidden;
        for path in glob.into_iter().flat_map(|glob| sensitive::matched_of_git(&glob, hidden)) {
            self.leaf.effect(Effect { scope: Scope::FILE_WRITE, resource: Resource::Path(path) });
        }
    }

    /// A change of files that are below the folder. Which ones is only known
    /// when it runs, and held by those who watch over the children.
    fn change_near(&mut self, scope: Scope, word: &Word) {
        self.history(&scope, word);
        let whole = word.is_found() && !word.hints.is_empty();
        let hints = word.hints.iter().filter(|_| whole);
        let globs = hints.map(|hint| Word { glob: true, ..Word::literal(hint.as_str()) });
        let globs: Vec<Word> = globs.chain(word.as_glob().filter(|_| !whole)).collect();
        for resource in globs.iter().map(|glob| self.site.resource(glob)) {
            self.leaf.effect(Effect { scope: scope.clone(), resource });
        }
        self.guess(scope, word);
    }

    /// A file that is taken away but not lost, as it has another name then.
    pub(crate) fn take(&mut self, word: &Word) {
        match word.is_near() {
            true => {
                self.suppose(Scope::FILE_DELETE, word);
                self.change_near(Scope::FILE_DELETE, word);
            }
            false => self.delete(word),
        }
    }

    pub(crate) fn delete(&mut self, word: &Word) {
        self.suppose(Scope::FILE_DELETE, word);
        // All that is there is another matter than files of some kind.
        let narrow = |hint: &String| {
            let name = hint.rsplit('/').next().unwrap_or(hint);
            name.contains(|c: char| c.is_ascii_alphanumeric())
        };
        if word.is_near() && !word.hints.is_empty() && word.hints.iter().all(narrow) {
            return self.change_near(Scope::FILE_DELETE, word);
        }
        if word.is_near() {
            self.history(&Scope::FILE_DELETE, word);
            return self.leaf.effect(Effect::any(Scope::FILE_DELETE));
        }
        let glob = word.as_glob();
        let word = glob.as_ref().unwrap_or(word);
        self.history(&Scope::FILE_DELETE, word);
        let resource = self.site.resource(word);
        let own = resource.as_path().filter(|_| !word.glob);
        self.leaf.deletes.extend(own.map(Path::to_path_buf));
        self.leaf.effect(Effect { scope: Scope::FILE_DELETE, resource });
        self.spread(Scope::FILE_DELETE, word);
        self.guess(Scope::FILE_DELETE, word);
    }

    /// Notes what a word may turn out to be that is made at run time, and the
    /// folders that a pattern with a slash at its end takes away.
    fn suppose(&mut self, scope: Scope, word: &Word) {
        let mut texts: Vec<&str> = Vec::new();
        match word.known() {
            Some(text) if word.glob => texts.extend(text.strip_suffix('/')),
            Some(_) => {}
            None => {
                let hints = word.hints.iter().chain(&self.site.input.names);
                // All that is there is not worth looking at.
                let is_some = |hint: &&String| hint.rsplit('/').next() != Some(EVERYTHING);
                texts.extend(hints.filter(is_some).map(String::as_str));
            }
        }
        let places = texts.into_iter().filter(|text| !text.is_empty());
        let places: Vec<PathBuf> = places.filter_map(|text| self.site.place(text)).collect();
        self.leaf.supposed.extend(places.into_iter().map(|place| (scope.clone(), place)));
    }

    /// Notes what comes to a place.
    pub(crate) fn put(&mut self, source: &Word, target: &Word, landing: Landing) {
        if target.glob {
            return;
        }
        if let Some(target) = self.site.absolute(target) {
            let source = self.site.absolute(source);
            self.leaf.arrivals.push(Arrival { source, target, landing });
        }
    }

    /// Notes that only the program knows what it makes in a folder, or in that
    /// which it runs in.
    pub(crate) fn fill(&mut self, folder: Option<&Word>) {
        let target = match folder {
            Some(folder) if folder.glob => None,
            Some(folder) => self.site.absolute(folder),
            None => self.site.cwd.map(Path::to_path_buf),
        };
        let landing = Landing::Inside;
        let arrival = target.map(|target| Arrival { source: None, target, landing });
        self.leaf.arrivals.extend(arrival);
    }

    /// Notes a pattern. With a slash at its end a name means what a link leads
    /// to, and what is removed is in there.
    fn spread(&mut self, scope: Scope, word: &Word) {
        let Some(text) = word.known() else { return };
        let ends_within = matches!(text.rsplit('/').next(), Some("" | "."));
        let within = scope == Scope::FILE_DELETE && ends_within && !text.is_empty();
        if !(word.glob || within || text.contains('(')) {
            return;
        }
        let mut pattern = match self.site.cwd {
            Some(folder) => join(folder, text),
            None => PathBuf::from(text),
        };
        if within {
            pattern.push("*");
        }
        if pattern.is_absolute() {
            self.leaf.globs.push((scope, pattern));
        }
    }

    /// Asks about what a repository is made of, by the place that a word means.
    fn history(&mut self, scope: &Scope, word: &Word) {
        let hints = word.hints.iter().filter(|_| !word.known).map(String::as_str);
        let mut places = word
            .known()
            .into_iter()
            .chain(hints)
            .filter_map(|text| self.site.place(text).filter(|_| !text.is_empty()));
        if places.any(|path| history::takes(self.program, scope, &path, self.site.hidden)) {
            self.ask("git-history-loss", lost(scope, &word.text));
        }
    }

    pub(crate) fn reach(&mut self, scope: Scope, host: Option<&str>) {
        let resource = match host {
            Some(host) if !host.is_empty() => Resource::Host(host.to_owned()),
            _ => Resource::Any,
        };
        self.leaf.effect(Effect { scope, resource });
    }

    /// Marks the command as one that only looks.
    pub(crate) fn only_reads(&mut self) {
        self.leaf.reads_only = true;
    }

    /// A script or program file that is run.
    pub(crate) fn runs(&mut self, word: &Word) {
        self.read(word);
        if let Some(path) = self.site.absolute(word).filter(|_| word.content.is_none()) {
            if crate::programs::is_elsewhere(self.site.at, &path) {
                let reason = format!("Runs code from outside the project ({})", word.text);
                self.ask("outside-code", reason);
            }
            self.leaf.runs.push(path);
        }
    }

    /// A finding if code comes from where nobody has looked at it.
    pub(crate) fn tainted_code(&mut self, taint: Taint) -> bool {
        if taint.has(Taint::REMOTE) {
            self.ask("remote-to-shell", "Runs code that is downloaded by the same command");
        } else if taint.has(Taint::DECODED) {
            self.ask("decoded-to-shell", "Runs code that is decoded by the same command");
        }
        taint.has(Taint::REMOTE) || taint.has(Taint::DECODED)
    }

    /// One redirect.
    pub(crate) fn redirect(&mut self, kind: RedirectKind, word: &Word) {
        let text = word.text.as_str();
        if let Some(rest) =
            text.strip_prefix("/dev/tcp/").or_else(|| text.strip_prefix("/dev/udp/"))
        {
            let host = rest.split('/').next().unwrap_or(rest).to_ascii_lowercase();
            self.ask("reverse-shell", format!("Connects a shell to the network at {host}"));
            self.reach(Scope::NETWORK_SEND, word.known.then_some(host.as_str()));
            return;
        }
        match kind {
            RedirectKind::Read => self.read(word),
            RedirectKind::Write | RedirectKind::Append | RedirectKind::ReadWrite => {
                if kind == RedirectKind::Write && (text.ends_with("{}") || word.is_found()) {
                    self.ask("mass-change", "Overwrites every file that is found");
                }
                self.write(word);
            }
            RedirectKind::Duplicate => {
                let number = text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
                if !number && word.known {
                    self.write(word);
                }
            }
            RedirectKind::Text | RedirectKind::Line => {}
        }
    }
}

/// What becomes of a repository, in words.
pub(crate) fn lost(scope: &Scope, what: &str) -> String {
    match *scope == Scope::FILE_DELETE {
        true => format!("Takes a part of the repository away ({what})"),
        false => format!("Overwrites a part of the repository ({what})"),
    }
}

/// Whether the last part of a glob is a name, or leads elsewhere.
fn ends_plainly(glob: &str) -> bool {
    glob.contains("..") || glob.rsplit('/').next().is_some_and(|name| !has_glob(name))
}

/// Whether a program shows names and sizes, but nothing of what is inside.
fn lists_only(program: &str) -> bool {
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

/// Said of a command that shows the files of the project whatever their names.
pub(crate) const SHOWN_WHOLE: &str = "Shows every file of the project, hidden ones as well";

/// Whether a program shows all of a file, or its beginning or end.
pub(crate) fn shows_whole(program: &str) -> bool {
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

/// Programs that other programs are often told to use, and that only compress
/// or show.
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

/// Whether a path is one of the standard streams, not a file.
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
