//! Redirects as the walk meets them, and the files that they write, which a
//! later command may run.

use std::path::PathBuf;

use crate::flow::Stream;
use crate::leaf::{Leaf, Word};
use crate::site::{Act, Site};
use crate::syntax::{Part, Redirect, RedirectKind};
use crate::walk::Walk;

/// More files are not kept.
const MAX_FILES: usize = 64;

impl Walk<'_> {
    /// The redirects of a whole group, which are a leaf of their own.
    pub(crate) fn group_redirects(&mut self, redirects: &[Redirect]) -> Option<Stream> {
        if redirects.is_empty() {
            return None;
        }
        let mut leaf = self.new_leaf("");
        leaf.reads_only = true;
        let stdin = self.redirects(redirects, &mut leaf);
        if leaf.effects.len() + leaf.findings.len() > 0 {
            leaf.text =
                leaf.effects.first().map_or_else(String::new, |e| format!("> {}", e.resource));
            self.push(leaf);
        }
        stdin
    }

    pub(crate) fn redirects(&mut self, redirects: &[Redirect], leaf: &mut Leaf) -> Option<Stream> {
        let mut stdin = None;
        for redirect in redirects {
            let Some(raw) = redirect.target.get() else { continue };
            let word = self.expand_whole(raw);
            match redirect.kind {
                RedirectKind::Text | RedirectKind::Line => {
                    let text = word.known().map(str::to_owned);
                    stdin = Some(Stream {
                        text,
                        taint: word.taint,
                        connected: true,
                        ..Stream::default()
                    });
                }
                RedirectKind::Read => {
                    let written = self.absolute(&word).and_then(|path| self.files.get(&path));
                    stdin = Some(match written {
                        Some(stream) => stream.clone(),
                        None => Stream {
                            text: word.content.clone(),
                            taint: word.taint,
                            connected: true,
                            ..Stream::default()
                        },
                    });
                }
                _ => {}
            }
            let nothing = Stream::unknown();
            let cwd = self.scope.cwd.clone();
            let site = Site {
                at: self.at,
                cwd: cwd.as_deref(),
                input: &nothing,
                hidden: self.scope.hidden,
            };
            let mut act = Act { leaf, site: &site, inner: Vec::new() };
            // A quoted glob and an unquoted one both name one file here.
            act.redirect(redirect.kind, &word);
        }
        stdin
    }

    pub(crate) fn absolute(&self, word: &Word) -> Option<PathBuf> {
        let nothing = Stream::unknown();
        Site { at: self.at, cwd: self.scope.cwd.as_deref(), input: &nothing, hidden: false }
            .absolute(word)
    }

    /// Keeps what a command writes to a file, since a later one may run it.
    pub(crate) fn remember(&mut self, redirects: &[Redirect], out: &Stream) {
        for redirect in redirects {
            let writes = matches!(redirect.kind, RedirectKind::Write | RedirectKind::Append);
            let Some([Part::Text { text, .. }]) =
                redirect.target.get().map(|raw| raw.parts.as_slice())
            else {
                continue;
            };
            let Some(path) = self.absolute(&Word::literal(text.as_str())).filter(|_| writes) else {
                continue;
            };
            let before = self.files.remove(&path);
            let stream = match before.filter(|_| redirect.kind == RedirectKind::Append) {
                Some(before) => before.and(out.clone()),
                None if redirect.kind == RedirectKind::Append => {
                    Stream { text: None, ..out.clone() }
                }
                None => out.clone(),
            };
            if self.files.len() < MAX_FILES {
                self.files.insert(path, stream);
            }
        }
    }

    /// Gives words that name such a file what is in it.
    pub(crate) fn recall(&self, words: &mut [Word]) {
        if self.files.is_empty() {
            return;
        }
        for word in words {
            if let Some(stream) = self.absolute(word).and_then(|path| self.files.get(&path)) {
                word.content.clone_from(&stream.text);
                word.taint = word.taint.with(stream.taint);
            }
        }
    }
}
