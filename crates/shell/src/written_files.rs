//! Redirects met during the walk, and the files they write, which a later
//! command may run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hermes_core::{Resource, Scope as Permission};

use crate::eval_context::{EffectBuilder, EvalContext};
use crate::leaf::{CommandFinding, LeafCommand, ShellWord, TextTaint};
use crate::programs::{self, build_files, bulk_delete};
use crate::syntax::{RedirectKind, ShellRedirect, WordPart};
use crate::text::base_name;
use crate::text_stream::TextStream;
use crate::walk::ShellWalk;

/// Further files are not tracked.
const MAX_FILES: usize = 64;
/// Longer contents are not tracked.
const MAX_KEPT_BYTES: usize = 1 << 17;

impl ShellWalk<'_> {
    /// Handles the redirects of a group, which become a leaf.
    pub(crate) fn group_redirects(&mut self, redirects: &[ShellRedirect]) -> Option<TextStream> {
        if redirects.is_empty() {
            return None;
        }
        let mut leaf = self.new_leaf("");
        leaf.reads_only = true;
        let stdin = self.redirects(redirects, &mut leaf);
        if leaf.effects.len() + leaf.findings.len() > 0 {
            leaf.text =
                leaf.effects.first().map_or_else(String::new, |e| format!("> {}", e.resource));
            self.push_leaf(leaf);
        }
        stdin
    }

    pub(crate) fn redirects(
        &mut self,
        redirects: &[ShellRedirect],
        leaf: &mut LeafCommand,
    ) -> Option<TextStream> {
        let mut stdin = None;
        for redirect in redirects {
            let Some(raw) = redirect.target.get() else { continue };
            let word = self.expand_whole(raw);
            match redirect.kind {
                RedirectKind::Heredoc | RedirectKind::HereString => {
                    let text = word.known_text().map(str::to_owned);
                    stdin = Some(TextStream {
                        text,
                        taint: word.taint,
                        connected: true,
                        ..TextStream::default()
                    });
                }
                RedirectKind::Read => {
                    let written = self.absolute(&word).and_then(|path| self.files.get(&path));
                    stdin = Some(match written {
                        Some(stream) => stream.clone(),
                        None if word.text == "/dev/null" => TextStream::text(""),
                        None => TextStream {
                            text: word.content.clone(),
                            taint: match programs::is_endless(&word.text) {
                                true => word.taint.with(TextTaint::ENDLESS),
                                false => word.taint.with(TextTaint::COMPUTED),
                            },
                            connected: true,
                            shape: word.prints,
                            names: word.hints.clone(),
                        },
                    });
                }
                _ => {}
            }
            let nothing = TextStream::unknown();
            let cwd = self.scope.cwd.clone();
            let site = self.eval_context(cwd.as_deref(), &nothing);
            let mut act = EffectBuilder::without_program(leaf, &site);
            // In a redirect, quoted and unquoted globs both name one file.
            act.redirect(redirect.kind, &word);
        }
        stdin
    }

    /// Reports files that a command truncates because it prints nothing.
    pub(crate) fn check_emptied(&mut self, redirects: &[ShellRedirect]) {
        let hand_written = redirects.iter().any(|redirect| {
            let target = redirect.target.get().map(|raw| &*raw.parts);
            redirect.kind == RedirectKind::Write
                && matches!(target, Some([WordPart::Text { text, .. }]) if bulk_delete::is_source_file(text))
        });
        if hand_written {
            self.add_finding(CommandFinding::ask("data-loss", "Empties a file"));
        }
    }

    pub(crate) fn absolute(&self, word: &ShellWord) -> Option<PathBuf> {
        let nothing = TextStream::unknown();
        EvalContext {
            at: self.at,
            cwd: self.scope.cwd.as_deref(),
            input: &nothing,
            dotglob: false,
            in_code: false,
        }
        .absolute(word)
    }

    /// Records what a command writes to a file, since a later one may run it.
    pub(crate) fn remember(&mut self, redirects: &[ShellRedirect], out: &TextStream) {
        for redirect in redirects {
            let writes = matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append);
            let Some([WordPart::Text { text, .. }]) = redirect.target.get().map(|raw| &*raw.parts)
            else {
                continue;
            };
            let Some(path) = self.absolute(&ShellWord::literal(text.as_str())).filter(|_| writes)
            else {
                continue;
            };
            self.append_content(&path, out.text.as_deref());
            let before = self.files.remove(&path);
            let stream = match before.filter(|_| redirect.kind == RedirectKind::Append) {
                Some(before) => before.concat(out.clone()),
                None if redirect.kind == RedirectKind::Append => {
                    TextStream { text: None, ..out.clone() }
                }
                None => out.clone(),
            };
            if self.files.len() < MAX_FILES {
                self.files.insert(path, stream);
            }
        }
    }

    /// Appends to the recorded content of a file.
    fn append_content(&mut self, path: &Path, text: Option<&str>) {
        if self.added_contents.len() >= MAX_FILES && !self.added_contents.contains_key(path) {
            return;
        }
        let kept =
            self.added_contents.entry(path.to_path_buf()).or_insert_with(|| Some(String::new()));
        match (kept.as_mut(), text) {
            (Some(kept), Some(text)) if kept.len() + text.len() < MAX_KEPT_BYTES => {
                kept.push_str(text)
            }
            _ => *kept = None,
        }
    }

    /// Records what programs write to the files they are given.
    pub(crate) fn record_writes(&mut self, leaf: &LeafCommand, out: &TextStream) {
        let operands = || {
            let words = leaf.words.iter().skip(1);
            words.filter(|word| word.known && !word.glob && !word.text.starts_with('-'))
        };
        match leaf.program.as_str() {
            "tee" => {
                let paths: Vec<_> = operands().filter_map(|word| self.absolute(word)).collect();
                paths.iter().for_each(|path| self.append_content(path, out.text.as_deref()));
            }
            "sed" | "gsed" if build_files::sed_inserts_code(&leaf.words) => {
                let written = leaf.effects.iter().filter_map(|effect| match &effect.resource {
                    Resource::Path(path) if effect.scope == Permission::FILE_WRITE => Some(path),
                    _ => None,
                });
                written.take(MAX_FILES).for_each(|path| self.append_content(path, None));
            }
            "cp" | "mv" | "install" | "ln" => {
                let paths: Vec<_> = operands().filter_map(|word| self.absolute(word)).collect();
                if let [from, to] = paths.as_slice()
                    && let Some(text) = self.added_contents.get(from).cloned()
                {
                    self.append_content(to, text.as_deref());
                }
            }
            _ => {}
        }
    }

    /// Sets the content of words that name a written file.
    pub(crate) fn fill_contents(&self, words: &mut [ShellWord]) {
        if self.files.is_empty() {
            return;
        }
        // The last component of a path survives normalization, except `..`.
        let ends = |path: &Path, name: &str| {
            path.as_os_str().as_encoded_bytes().ends_with(name.as_bytes())
                && path.file_name() == Some(OsStr::new(name))
        };
        let named = |word: &ShellWord| match base_name(&word.text) {
            "" | "." | ".." => true,
            name => self.files.keys().any(|path| ends(path, name)),
        };
        for word in words.iter_mut().filter(|word| named(word)) {
            if let Some(stream) = self.absolute(word).and_then(|path| self.files.get(&path)) {
                word.content.clone_from(&stream.text);
                word.taint = word.taint.with(stream.taint);
            }
        }
    }
}
