//! The patterns, and the quick look that spares a clean text most of them.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use crate::finding::{Category, Level};

mod all;
mod context;
mod strict;
mod tongues;

/// What may stand between two words of a phrase. A full stop ends a sentence,
/// unless the next word follows it without a space.
const BETWEEN: &str = r#"(?:[\x20\n"'`*_~,:=|>#()\[\]-]{1,4}|\.|\.{2,4}[\x20\n]?)"#;

/// One thing to look for in folded text.
///
/// In a form, a space is whatever may stand between words, `{~3}` is up to
/// three words of any kind, and `\b` is the edge of an ASCII word.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) id: &'static str,
    pub(crate) category: Category,
    level: Level,
    /// Of each list at least one must occur before the forms are tried.
    needs: &'static [&'static [&'static str]],
    forms: &'static [&'static str],
}

#[derive(Debug)]
struct Prepared {
    pattern: &'static Pattern,
    needs: Vec<Vec<usize>>,
    forms: String,
    regex: OnceLock<Regex>,
}

impl Prepared {
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| Regex::new(&self.forms).expect("the patterns are well formed"))
    }

    fn is_possible(&self, seen: &[bool]) -> bool {
        self.needs.iter().all(|any| any.iter().any(|&key| seen.get(key).copied().unwrap_or(false)))
    }
}

/// All patterns, and the keywords that tell which of them are worth trying.
#[derive(Debug)]
struct Book {
    keywords: AhoCorasick,
    count: usize,
    patterns: Vec<Prepared>,
}

fn book() -> &'static Book {
    static BOOK: OnceLock<Book> = OnceLock::new();
    BOOK.get_or_init(|| {
        let mut keywords: Vec<String> = Vec::new();
        let mut number = |word: String| match keywords.iter().position(|known| *known == word) {
            Some(at) => at,
            None => {
                keywords.push(word);
                keywords.len() - 1
            }
        };
        let mut patterns = Vec::new();
        for pattern in all::PATTERNS.iter().chain(context::PATTERNS).chain(strict::PATTERNS) {
            let needs = pattern
                .needs
                .iter()
                .map(|any| any.iter().map(|word| number((*word).to_owned())).collect());
            let needs = needs.collect();
            let forms = pattern.forms.iter().map(|form| expand(form)).collect::<Vec<_>>().join("|");
            patterns.push(Prepared {
                pattern,
                needs,
                forms: format!("(?m){forms}"),
                regex: OnceLock::new(),
            });
        }
        for tongue in tongues::TONGUES {
            let needs =
                tongue.needs().into_iter().map(|any| any.into_iter().map(&mut number).collect());
            let needs = needs.collect();
            patterns.push(Prepared {
                pattern: &tongues::PATTERN,
                needs,
                forms: tongue.forms(),
                regex: OnceLock::new(),
            });
        }
        let built = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(&keywords);
        Book { keywords: built.expect("the keywords are few"), count: keywords.len(), patterns }
    })
}

fn expand(form: &str) -> String {
    let mut form = form.replace(r"\b", r"(?-u:\b)");
    for count in 1..=8 {
        let filler = format!("(?:[a-z0-9']+{BETWEEN}){{0,{count}}}");
        form = form.replace(&format!("{{~{count}}}"), &filler);
    }
    form.replace(' ', BETWEEN)
}

/// Calls `found` with every pattern of `level` that occurs in `folded`, and where first.
pub(crate) fn find(folded: &str, level: Level, mut found: impl FnMut(&Pattern, Range<usize>)) {
    let book = book();
    let mut seen = vec![false; book.count];
    let mut any = false;
    for hit in book.keywords.find_overlapping_iter(folded) {
        if let Some(seen) = seen.get_mut(hit.pattern().as_usize()) {
            *seen = true;
            any = true;
        }
    }
    if !any {
        return;
    }
    for prepared in &book.patterns {
        if prepared.pattern.level <= level
            && prepared.is_possible(&seen)
            && let Some(place) = prepared.regex().find(folded)
        {
            found(prepared.pattern, place.range());
        }
    }
}

#[cfg(test)]
#[path = "patterns_tests.rs"]
mod tests;
