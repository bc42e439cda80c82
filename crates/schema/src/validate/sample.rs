//! Generates plausible strings and numbers that fit the constraints of a
//! schema.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::{Number, Value};

use super::SchemaNode;

/// Maximum length of a generated string; a schema that requires more gets no
/// example.
const MAX_SAMPLE_CHARS: usize = 4_096;

/// Maximum nesting of groups in a pattern.
const MAX_PATTERN_GROUPS: usize = 32;

/// Words that common patterns and formats accept.
const SAMPLE_WORDS: [&str; 10] =
    ["example", "text", "a", "A", "1", "0", "abc-123", "a_b", "/path/to/file", "user@example.com"];

/// Returns strings to try, the most plausible first.
pub(super) fn sample_strings(facets: &[SchemaNode<'_>]) -> Vec<String> {
    let least = size_limits(facets, "minLength").max().unwrap_or(0);
    let most = size_limits(facets, "maxLength").min().unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for format in texts(facets, "format") {
        found.extend(sample_for_format(format).map(str::to_owned));
    }
    for pattern in texts(facets, "pattern") {
        for extra in [0, 1, 3, least] {
            found.extend(sample_from_pattern(pattern, extra));
        }
    }
    found.extend(SAMPLE_WORDS.map(str::to_owned));
    if least <= MAX_SAMPLE_CHARS {
        found.extend(
            SAMPLE_WORDS.map(|word| word.chars().cycle().take(word.len().max(least)).collect()),
        );
    }
    for text in &mut found {
        if let Some((cut, _)) = text.char_indices().nth(most) {
            text.truncate(cut);
        }
    }
    found
}

/// Returns numbers to try, the most plausible first.
pub(super) fn sample_numbers(facets: &[SchemaNode<'_>], integral: bool) -> Vec<Value> {
    let mut found = vec![Value::from(1), Value::from(10)];
    let steps: Vec<f64> = values(facets, "multipleOf").filter_map(Value::as_f64).collect();
    let mut edges = vec![0.0];
    for keyword in ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"] {
        for limit in values(facets, keyword) {
            found.push(limit.clone());
            found.extend(limit.as_i64().and_then(|n| n.checked_add(1)).map(Value::from));
            found.extend(limit.as_i64().and_then(|n| n.checked_sub(1)).map(Value::from));
            edges.extend(limit.as_f64());
        }
    }
    for edge in edges.clone() {
        for step in steps.iter().copied().chain([1.0, 0.5]).filter(|step| *step > 0.0) {
            let below = (edge / step).floor() * step;
            found.extend([below, below + step, below - step].into_iter().filter_map(number));
        }
        found.extend(edges.iter().filter_map(|other| number(f64::midpoint(edge, *other))));
    }
    if integral {
        found.retain(|value| !value.is_f64());
    }
    found
}

fn number(value: f64) -> Option<Value> {
    #[allow(clippy::cast_possible_truncation)]
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}

fn values<'s>(facets: &[SchemaNode<'s>], keyword: &str) -> impl Iterator<Item = &'s Value> {
    facets.iter().filter_map(move |facet| facet.schema.get(keyword))
}

fn texts<'s>(facets: &[SchemaNode<'s>], keyword: &str) -> impl Iterator<Item = &'s str> {
    values(facets, keyword).filter_map(Value::as_str)
}

/// Returns the sizes that a keyword sets.
pub(super) fn size_limits(facets: &[SchemaNode<'_>], keyword: &str) -> impl Iterator<Item = usize> {
    values(facets, keyword)
        .filter_map(Value::as_u64)
        .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

fn sample_for_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2025-01-31",
        "date-time" => "2025-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" | "idn-email" => "user@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" | "url" => "https://example.com/",
        "uri-reference" | "iri-reference" => "/path",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "json-pointer" => "/a",
        "regex" => "^a",
        _ => return None,
    })
}

/// Generates a string for the pattern, with `extra` more repetitions than
/// necessary where it allows any number. Covers the patterns that schemas use
/// in practice; look-around is not supported.
fn sample_from_pattern(pattern: &str, extra: usize) -> Option<String> {
    let mut sampler = PatternSampler { rest: pattern.chars().peekable(), extra, groups: 0 };
    let text = sampler.alternatives()?;
    sampler.rest.next().is_none().then_some(text)
}

struct PatternSampler<'p> {
    rest: Peekable<Chars<'p>>,
    extra: usize,
    groups: usize,
}

impl PatternSampler<'_> {
    /// Generates the first alternative up to the end of the group, and skips
    /// the others.
    fn alternatives(&mut self) -> Option<String> {
        let first = self.sequence()?;
        while self.rest.next_if_eq(&'|').is_some() {
            self.sequence()?;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(&next) = self.rest.peek() {
            if matches!(next, '|' | ')') {
                break;
            }
            let piece = self.atom()?;
            let count = self.count()?;
            if text.len() + piece.len().saturating_mul(count) > MAX_SAMPLE_CHARS {
                return None;
            }
            text.push_str(&piece.repeat(count));
        }
        Some(text)
    }

    fn atom(&mut self) -> Option<String> {
        Some(match self.rest.next()? {
            '^' | '$' => String::new(),
            '.' => "a".to_owned(),
            '[' => self.class()?.to_string(),
            '(' => return self.group(),
            '\\' => match self.rest.next()? {
                'b' | 'B' => String::new(),
                'd' => "1".to_owned(),
                'w' | 'D' | 'S' => "a".to_owned(),
                's' | 'W' => " ".to_owned(),
                'n' => "\n".to_owned(),
                't' => "\t".to_owned(),
                'r' => "\r".to_owned(),
                letter if letter.is_alphanumeric() => return None,
                literal => literal.to_string(),
            },
            literal => literal.to_string(),
        })
    }

    fn group(&mut self) -> Option<String> {
        self.groups += 1;
        if self.groups > MAX_PATTERN_GROUPS {
            return None;
        }
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next()? {
                ':' => {}
                '<' if !matches!(self.rest.peek(), Some('=' | '!')) => {
                    self.rest.by_ref().find(|c| *c == '>')?;
                }
                _ => return None,
            }
        }
        let text = self.alternatives()?;
        self.groups -= 1;
        self.rest.next_if_eq(&')').map(|_| text)
    }

    /// Returns one character of a bracketed class.
    fn class(&mut self) -> Option<char> {
        let negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let low = match self.rest.next()? {
                ']' => break,
                '\\' => match self.rest.next()? {
                    'd' => {
                        ranges.push(('0', '9'));
                        continue;
                    }
                    'w' => {
                        ranges.extend([('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]);
                        continue;
                    }
                    's' => {
                        ranges.extend([(' ', ' '), ('\t', '\r')]);
                        continue;
                    }
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    letter if letter.is_alphanumeric() => return None,
                    literal => literal,
                },
                plain => plain,
            };
            let mut high = low;
            if self.rest.peek() == Some(&'-') {
                let mut ahead = self.rest.clone();
                ahead.next();
                if let Some(end) = ahead.next().filter(|end| !matches!(end, ']' | '\\')) {
                    high = end;
                    self.rest = ahead;
                }
            }
            ranges.push((low, high));
        }
        if !negated {
            return ranges.first().map(|(low, _)| *low);
        }
        let outside = |c: &char| !ranges.iter().any(|(low, high)| low <= c && c <= high);
        ['a', '1', 'A', '_', '-', ' ', '.', 'ä'].into_iter().find(outside)
    }

    /// Returns the repetition count of the atom before the cursor.
    fn count(&mut self) -> Option<usize> {
        let (least, most) = match self.rest.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => return self.counted(),
            _ => return Some(1),
        };
        self.rest.next();
        self.rest.next_if(|c| matches!(c, '?' | '+'));
        Some((least + self.extra).min(most))
    }

    fn counted(&mut self) -> Option<usize> {
        let inside: String = self.rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
        self.rest.next_if_eq(&'?');
        let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
        let least: usize = least.parse().ok()?;
        let most = if most.is_empty() { usize::MAX } else { most.parse().ok()? };
        Some(least.saturating_add(self.extra).min(most))
    }
}

#[cfg(test)]
#[path = "sample_tests.rs"]
mod tests;
