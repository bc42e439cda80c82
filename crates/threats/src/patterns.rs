//! The threat patterns, and the keyword prefilter that skips most of them for
//! clean text.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use crate::finding::{ScanLevel, ThreatCategory};

mod all;
mod context;
mod languages;
mod strict;

/// Separator between two words of a phrase. A full stop ends a sentence, unless
/// the next word follows it without a space.
const WORD_GAP: &str = r#"(?:[\x20\n"'`*_~,:=|>#()\[\]-]{1,4}|\.|\.{2,4}[\x20\n]?)"#;

/// One pattern to look for in folded text.
///
/// In a form, a space matches any separator between words, `{~3}` up to three
/// arbitrary words, and `\b` an ASCII word boundary.
#[derive(Debug)]
pub(crate) struct ThreatPattern {
    pub(crate) id: &'static str,
    pub(crate) category: ThreatCategory,
    level: ScanLevel,
    /// At least one keyword of each list must occur before the forms are tried.
    required_keywords: &'static [&'static [&'static str]],
    forms: &'static [&'static str],
}

#[derive(Debug)]
struct CompiledPattern {
    pattern: &'static ThreatPattern,
    needs: Vec<Vec<usize>>,
    forms: String,
    regex: OnceLock<Regex>,
}

impl CompiledPattern {
    fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| Regex::new(&self.forms).expect("the patterns are well formed"))
    }

    fn is_possible(&self, seen: &[bool]) -> bool {
        self.needs.iter().all(|any| any.iter().any(|&key| seen.get(key).copied().unwrap_or(false)))
    }
}

/// All patterns, and the keywords that decide which of them to try.
#[derive(Debug)]
struct PatternSet {
    keywords: AhoCorasick,
    count: usize,
    patterns: Vec<CompiledPattern>,
}

fn pattern_set() -> &'static PatternSet {
    static PATTERN_SET: OnceLock<PatternSet> = OnceLock::new();
    PATTERN_SET.get_or_init(|| {
        let mut keywords: Vec<String> = Vec::new();
        let mut number = |word: String| match keywords.iter().position(|known| *known == word) {
            Some(at) => at,
            None => {
                keywords.push(word);
                keywords.len() - 1
            }
        };
        let mut patterns = Vec::new();
        for pattern in
            all::ALL_PATTERNS.iter().chain(context::CONTEXT_PATTERNS).chain(strict::STRICT_PATTERNS)
        {
            let needs = pattern
                .required_keywords
                .iter()
                .map(|any| any.iter().map(|word| number((*word).to_owned())).collect());
            let needs = needs.collect();
            let forms =
                pattern.forms.iter().map(|form| expand_form(form)).collect::<Vec<_>>().join("|");
            patterns.push(CompiledPattern {
                pattern,
                needs,
                forms: format!("(?m){forms}"),
                regex: OnceLock::new(),
            });
        }
        for tongue in languages::LANGUAGE_STEMS {
            let needs = tongue
                .required_keywords()
                .into_iter()
                .map(|any| any.into_iter().map(&mut number).collect());
            let needs = needs.collect();
            patterns.push(CompiledPattern {
                pattern: &languages::LANGUAGE_PATTERN,
                needs,
                forms: tongue.forms(),
                regex: OnceLock::new(),
            });
        }
        let built = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(&keywords);
        PatternSet {
            keywords: built.expect("the keywords are few"),
            count: keywords.len(),
            patterns,
        }
    })
}

fn expand_form(form: &str) -> String {
    let mut form = form.replace(r"\b", r"(?-u:\b)");
    for count in 1..=8 {
        let filler = format!("(?:[a-z0-9']+{WORD_GAP}){{0,{count}}}");
        form = form.replace(&format!("{{~{count}}}"), &filler);
    }
    form.replace(' ', WORD_GAP)
}

/// Calls `found` with every pattern of `level` that matches `folded` and its
/// first match.
pub(crate) fn find_patterns(
    folded: &str,
    level: ScanLevel,
    mut found: impl FnMut(&ThreatPattern, Range<usize>),
) {
    let book = pattern_set();
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
