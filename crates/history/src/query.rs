//! Query parsing. Any text is a valid query: words that must all occur,
//! "phrases", `OR`, `NOT`, and a trailing `*` for a prefix match.

use crate::words::{IndexedWord, fold_text, normalize_nfc, words};

/// Maximum number of bytes of a query; the rest is ignored.
const MAX_QUERY_BYTES: usize = 2_048;
/// Maximum number of terms; the rest is ignored.
const MAX_TERMS: usize = 32;
/// Length of a trigram, the shortest text that the trigram index can match.
const TRIGRAM_CHARS: usize = 3;

/// A parsed query: one of the alternatives must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ParsedQuery {
    alternatives: Vec<QueryAlternative>,
    /// The words as written, folded, for substring search.
    substrings: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct QueryAlternative {
    wanted: Vec<QueryTerm>,
    unwanted: Vec<QueryTerm>,
}

/// A sequence of adjacent words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryTerm {
    forms: Vec<String>,
    /// Whether the last word is a prefix.
    is_prefix: bool,
}

/// A token of the query text.
enum QueryToken {
    Term(QueryTerm),
    Or,
    Not,
}

impl ParsedQuery {
    /// Parses a query.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.get(..text.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default();
        let text = normalize_nfc(text);
        let mut pieces = Vec::new();
        let mut alternatives = vec![QueryAlternative::default()];
        let mut is_unwanted = false;
        for token in tokens(&text, &mut pieces).into_iter().take(MAX_TERMS) {
            let Some(last) = alternatives.last_mut() else { break };
            match token {
                QueryToken::Or => {
                    alternatives.push(QueryAlternative::default());
                    is_unwanted = false;
                }
                QueryToken::Not => is_unwanted = true,
                QueryToken::Term(term) if is_unwanted => {
                    last.unwanted.push(term);
                    is_unwanted = false;
                }
                QueryToken::Term(term) => last.wanted.push(term),
            }
        }
        alternatives.retain(|alternative| !alternative.wanted.is_empty());
        pieces.truncate(MAX_TERMS);
        Self { alternatives, substrings: pieces }
    }

    /// Whether the query has no words to match.
    pub(crate) fn is_wordless(&self) -> bool {
        self.alternatives.is_empty()
    }

    /// Whether the query excludes terms.
    pub(crate) fn has_exclusions(&self) -> bool {
        self.alternatives.iter().any(|alternative| !alternative.unwanted.is_empty())
    }

    /// Returns the FTS5 query for the word index.
    pub(crate) fn to_fts(&self) -> String {
        let join = |terms: &[QueryTerm], by: &str| -> String {
            terms.iter().map(QueryTerm::to_fts).collect::<Vec<_>>().join(by)
        };
        let alternatives: Vec<String> = self
            .alternatives
            .iter()
            .map(|alternative| {
                let wanted = join(&alternative.wanted, " AND ");
                if alternative.unwanted.is_empty() {
                    format!("({wanted})")
                } else {
                    format!("(({wanted}) NOT ({}))", join(&alternative.unwanted, " OR "))
                }
            })
            .collect();
        alternatives.join(" OR ")
    }

    /// Whether these words match the query.
    pub(crate) fn matches(&self, words: &[IndexedWord]) -> bool {
        let found = |term: &QueryTerm| term.find(words).is_some();
        self.alternatives.iter().any(|alternative| {
            alternative.wanted.iter().all(found) && !alternative.unwanted.iter().any(found)
        })
    }

    /// Returns the range of word positions that each matching term covers.
    pub(crate) fn match_ranges(&self, words: &[IndexedWord]) -> Vec<std::ops::Range<usize>> {
        let terms = self.alternatives.iter().flat_map(|alternative| &alternative.wanted);
        terms.filter_map(|term| term.find(words)).collect()
    }

    /// Returns the FTS5 query for the trigram index; none if the query is too
    /// short.
    pub(crate) fn to_trigram_fts(&self) -> Option<String> {
        let mut all = Vec::new();
        for word in &self.substrings {
            let chars: Vec<char> = word.chars().collect();
            // FTS5 ends a query at a NUL character.
            for piece in chars.windows(TRIGRAM_CHARS).filter(|piece| !piece.contains(&'\0')) {
                let piece: String = piece.iter().collect();
                let quoted = quote(&piece);
                if !all.contains(&quoted) && all.len() < MAX_TERMS {
                    all.push(quoted);
                }
            }
        }
        (!all.is_empty()).then(|| all.join(" AND "))
    }

    /// Whether every word of the query occurs in this folded text.
    pub(crate) fn matches_text(&self, text: &str) -> bool {
        !self.substrings.is_empty()
            && self.substrings.iter().all(|piece| text.contains(piece.as_str()))
    }

    /// Returns the words as written, folded.
    pub(crate) fn substrings(&self) -> &[String] {
        &self.substrings
    }
}

impl QueryTerm {
    fn parse(text: &str, is_beginning: bool) -> Option<Self> {
        let forms: Vec<String> = words(text).into_iter().map(|word| word.folded).collect();
        (!forms.is_empty()).then_some(Self { forms, is_prefix: is_beginning })
    }

    fn to_fts(&self) -> String {
        let star = if self.is_prefix { "*" } else { "" };
        format!("{}{star}", quote(&self.forms.join(" ")))
    }

    fn find(&self, words: &[IndexedWord]) -> Option<std::ops::Range<usize>> {
        let length = self.forms.len();
        let (last, firsts) = self.forms.split_last()?;
        let at = words.windows(length).position(|window| {
            let Some((end, begin)) = window.split_last() else { return false };
            let ends = end.folded == *last || (self.is_prefix && end.folded.starts_with(last));
            ends && begin.iter().zip(firsts).all(|(word, form)| word.folded == *form)
        })?;
        Some(at..at + length)
    }
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn tokens(text: &str, pieces: &mut Vec<String>) -> Vec<QueryToken> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let phrase = rest.strip_prefix('"').and_then(|inside| inside.split_once('"'));
        let (written, is_phrase, after) = match phrase {
            Some((inside, after)) => (inside, true, after),
            None => {
                let from = rest.trim_start_matches('"');
                let end = from.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(from.len());
                let (word, after) = from.split_at(end);
                (word, false, after)
            }
        };
        rest = after.trim_start();
        match written {
            "AND" if !is_phrase => {}
            "OR" if !is_phrase => tokens.push(QueryToken::Or),
            "NOT" if !is_phrase => tokens.push(QueryToken::Not),
            _ => {
                let is_beginning = !is_phrase && written.ends_with('*');
                let unwanted = matches!(tokens.last(), Some(QueryToken::Not));
                let piece = fold_text(written.trim_matches('*'));
                if !unwanted && !piece.trim().is_empty() {
                    pieces.push(piece);
                }
                tokens.extend(QueryTerm::parse(written, is_beginning).map(QueryToken::Term));
            }
        }
    }
    tokens
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
