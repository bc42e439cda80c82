#![allow(clippy::unwrap_used)]
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{LazyGlobs, build_glob_set, fold_text, parse_globs};

impl LazyGlobs {
    /// All patterns in one set, to compare with.
    pub(crate) fn as_one(&self) -> GlobSet {
        let all: Vec<Vec<Glob>> =
            self.patterns.iter().map(|it| parse_globs(&fold_text(it)).unwrap()).collect();
        build_glob_set(&all.concat()).unwrap()
    }

    /// Paths that are made of what the patterns are made of, so that many match
    /// and many nearly do.
    pub(crate) fn paths(&self) -> impl Strategy<Value = PathBuf> + use<> {
        let patterns: Vec<String> = self.patterns.iter().map(|it| fold_text(it)).collect();
        let parts = patterns.iter().flat_map(|pattern| pattern.split('/')).map(str::to_owned);
        let parts: Vec<String> = parts.chain(["x", "", "x.json"].map(str::to_owned)).collect();
        let filled = |part: String, with: &str| {
            let part = part.replace("[[]", "[").replace("[]]", "]").replace("[*]", "\u{1}");
            let part = part.replace("[{]", "{").replace("[}]", "}");
            part.replace('*', with).replace('\u{1}', "*")
        };
        let with = || select(vec!["", "x", "7", ".x", "x/x"]);
        let part = (select(parts), with()).prop_map(move |(part, with)| filled(part, with));
        let whole = (select(patterns), with()).prop_map(move |(part, with)| filled(part, with));
        let cut = (whole, any::<Index>(), any::<bool>()).prop_map(|(whole, at, cuts)| {
            let ends: Vec<usize> = whole.match_indices('/').map(|(at, _)| at).collect();
            let end = ends.get(at.index(ends.len().max(1))).filter(|_| cuts);
            end.map_or(whole.clone(), |end| whole[..*end].to_owned())
        });
        let more = proptest::collection::vec(part, 0..4);
        (more.clone(), cut, more, any::<bool>()).prop_map(|(before, whole, after, alone)| {
            let before = if alone { Vec::new() } else { before };
            [before, vec![whole], after].concat().join("/").into()
        })
    }
}

/// The answer for each path.
fn matched(patterns: &[&str], bases: &[&str], paths: &[&str]) -> Vec<bool> {
    let owned = |all: &[&str]| -> Vec<String> { all.iter().map(|it| (*it).to_owned()).collect() };
    let globs = LazyGlobs::new(owned(patterns), &owned(bases));
    let one = globs.as_one();
    let answer = |path: &&str| {
        let answer = globs.is_match(Path::new(path)).unwrap();
        assert_eq!(answer, one.is_match(path), "{path}");
        answer
    };
    paths.iter().map(answer).collect()
}

#[test]
fn a_pattern_is_found_by_whatever_it_begins_with() {
    let patterns = ["/h/me/.ssh/**", "/h/me/*.key", "/etc/shadow*", "/tmp", "**/.git/config"];
    let hit =
        ["/h/me/.ssh", "/h/me/.ssh/a/b", "/h/me/x.key", "/etc/shadow-", "/tmp", "/a/.git/config"];
    let missed =
        ["/h/me", "/h/mee/.ssh", "/h/me/.sshd", "/h/me/a/x.key", "/etc", "/tmp/a", "/a/.git"];
    assert_eq!(matched(&patterns, &["/h/me"], &hit), [true; 6]);
    assert_eq!(matched(&patterns, &["/h/me"], &missed), [false; 7]);
}

#[test]
fn names_with_stars_are_found_by_their_ends() {
    let patterns = ["**/.env.*", "**/*.p12", "**/*k?y*", "**/a/*", "rel/*", "**/{b/c,d/e}"];
    let hit =
        [".env.x", "/a/.env.x", "/x/y.p12", "/.p12", "/x/my_key_1", "/q/a/b", "rel/x", "/d/e"];
    let missed = ["/a.env/x", "/x.p12/y", "/x/ky", "/q/a/x/c", "/rel/x"];
    assert_eq!(matched(&patterns, &[], &hit), [true; 8]);
    assert_eq!(matched(&patterns, &[], &missed), [false; 5]);
}

#[test]
fn what_cannot_be_made_is_no_answer() {
    let globs = LazyGlobs::new(vec!["/a/[".to_owned(), "/b/c".to_owned()], &[]);
    for path in ["/a/x", "/b/c", "/c"] {
        assert_eq!(globs.is_match(Path::new(path)), None, "{path}");
    }
}
