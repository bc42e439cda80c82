//! Undoes disguised spellings: lookalike letters, digits for letters, spaced
//! letters.

use crate::lookalikes;
use crate::traced::{TextEdit, TracedText};

/// Length of the longest vocabulary word.
const MAX_WORD_CHARS: usize = 12;

/// Maximum number of spaced letters joined into one run.
const MAX_SPACED_LETTERS: usize = 256;

/// Number of ones in a word that are tried as both `i` and `l`.
const MAX_AMBIGUOUS_ONES: usize = 4;

/// Vocabulary of words worth disguising, sorted. Only a disguise that yields
/// one of them is undone, so codes and names stay unchanged.
const DISGUISED_WORDS: [&str; 137] = [
    "above",
    "act",
    "admin",
    "agent",
    "all",
    "and",
    "answer",
    "any",
    "api",
    "are",
    "as",
    "assistant",
    "before",
    "bypass",
    "call",
    "command",
    "commands",
    "config",
    "constraints",
    "content",
    "conversation",
    "credentials",
    "curl",
    "delete",
    "developer",
    "directives",
    "disable",
    "disclose",
    "disregard",
    "do",
    "dont",
    "earlier",
    "enable",
    "everything",
    "execute",
    "exfiltrate",
    "file",
    "files",
    "filter",
    "filters",
    "follow",
    "following",
    "forget",
    "free",
    "from",
    "given",
    "guardrails",
    "guidelines",
    "hidden",
    "history",
    "human",
    "ignore",
    "in",
    "inform",
    "initial",
    "instruction",
    "instructions",
    "into",
    "is",
    "it",
    "jailbreak",
    "key",
    "keys",
    "leak",
    "limits",
    "logs",
    "me",
    "mention",
    "message",
    "messages",
    "mode",
    "must",
    "my",
    "name",
    "never",
    "new",
    "no",
    "not",
    "notify",
    "now",
    "obey",
    "of",
    "on",
    "or",
    "output",
    "override",
    "password",
    "policies",
    "policy",
    "preceding",
    "pretend",
    "previous",
    "print",
    "prior",
    "programming",
    "prompt",
    "prompts",
    "read",
    "repeat",
    "restrictions",
    "reveal",
    "root",
    "rule",
    "rules",
    "run",
    "safeguards",
    "safety",
    "said",
    "secret",
    "secrets",
    "send",
    "shell",
    "show",
    "ssh",
    "stop",
    "system",
    "tell",
    "terminal",
    "that",
    "the",
    "this",
    "to",
    "token",
    "tool",
    "tools",
    "training",
    "unrestricted",
    "upload",
    "use",
    "user",
    "users",
    "was",
    "were",
    "with",
    "without",
    "you",
    "your",
];

/// Converts words that mix alphabets or only look Latin to Latin letters, and
/// lower-cases all others.
pub(crate) fn replace_lookalikes(folded: TracedText) -> TracedText {
    let text = folded.text();
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = word_length(rest);
        if length == 0 {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        }
        if let Some(word) = rest.get(..length).filter(|word| !word.is_ascii()) {
            let plain = to_latin(word);
            if plain != word {
                edits.push((at..at + length, plain));
            }
        }
        at += length;
    }
    folded.rewrite(&edits)
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len())
}

fn to_latin(word: &str) -> String {
    let mixed = word.bytes().any(|b| b.is_ascii_alphabetic());
    let look = if mixed { lookalikes::loose_lookalike } else { lookalikes::exact_lookalike };
    if mixed || word.chars().all(|c| c.is_ascii() || look(c).is_some()) {
        return word.chars().flat_map(|c| look(c).unwrap_or(c).to_lowercase()).collect();
    }
    word.to_lowercase()
}

/// Replaces digits by letters in words of the vocabulary.
pub(crate) fn replace_leet(folded: TracedText) -> TracedText {
    let bytes = folded.text().as_bytes();
    let mut edits: Vec<TextEdit> = Vec::new();
    let (mut at, mut floor) = (0, 0);
    while at < bytes.len() {
        if !is_leet(bytes[at]) {
            at += 1;
            continue;
        }
        let back = bytes[floor..at].iter().rev().take(MAX_WORD_CHARS + 1);
        let start = at - back.take_while(|b| is_leet_or_letter(**b)).count();
        let ahead = bytes[at..].iter().take(MAX_WORD_CHARS + 1);
        let mut end = at + ahead.take_while(|b| is_leet_or_letter(**b)).count();
        while end > start && bytes[end - 1] == b'!' {
            end -= 1;
        }
        let word = folded.text().get(start..end).unwrap_or_default();
        if let Some(plain) = undisguise(word) {
            floor = end;
            edits.push((start..end, plain));
        }
        at = end.max(at + 1);
    }
    folded.rewrite(&edits)
}

fn is_leet(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'@' | b'$' | b'!')
}

fn is_leet_or_letter(byte: u8) -> bool {
    is_leet(byte) || byte.is_ascii_lowercase()
}

/// Returns the vocabulary word that `word` disguises.
fn undisguise(word: &str) -> Option<String> {
    if !(3..=MAX_WORD_CHARS).contains(&word.len()) || !word.bytes().any(|b| b.is_ascii_lowercase())
    {
        return None;
    }
    let ones: Vec<usize> =
        word.bytes().enumerate().filter(|(_, b)| *b == b'1').map(|(at, _)| at).collect();
    let tries = 1_usize << ones.len().min(MAX_AMBIGUOUS_ONES);
    (0..tries).find_map(|choice| {
        let plain: String = word
            .bytes()
            .enumerate()
            .map(|(at, byte)| match ones.iter().position(|one| *one == at) {
                Some(nth) if nth < MAX_AMBIGUOUS_ONES && choice >> nth & 1 == 1 => 'l',
                Some(_) => 'i',
                None => leet_letter(byte),
            })
            .collect();
        is_vocabulary_word(&plain).then_some(plain)
    })
}

fn leet_letter(byte: u8) -> char {
    match byte {
        b'0' => 'o',
        b'1' | b'!' => 'i',
        b'2' => 'z',
        b'3' => 'e',
        b'4' | b'@' => 'a',
        b'5' | b'$' => 's',
        b'6' | b'9' => 'g',
        b'7' => 't',
        b'8' => 'b',
        other => char::from(other),
    }
}

fn is_vocabulary_word(word: &str) -> bool {
    DISGUISED_WORDS.binary_search(&word).is_ok()
}

/// Joins spaced letters if they form words.
pub(crate) fn join_spaced_letters(folded: TracedText) -> TracedText {
    let bytes = folded.text().as_bytes();
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut at = 0;
    while at + 4 < bytes.len() {
        let (gap, second) = (bytes[at + 1], bytes[at + 3]);
        if gap != second || !is_gap(gap) || !is_single_letter(bytes, at) {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        let mut letters = String::from(leet_letter(bytes[at]));
        while letters.len() < MAX_SPACED_LETTERS
            && bytes.get(end) == Some(&gap)
            && is_single_letter(bytes, end + 1)
        {
            letters.push(leet_letter(bytes[end + 1]));
            end += 2;
        }
        if letters.len() > 2
            && let Some(words) = split_into_words(&letters)
        {
            edits.push((at..end, words));
        }
        at = end;
    }
    folded.rewrite(&edits)
}

fn is_gap(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\n' | b'.' | b'-' | b'_' | b'*' | b'/' | b'|' | b',' | b'+' | b'~' | b':' | b'\''
    )
}

fn is_single_letter(bytes: &[u8], at: usize) -> bool {
    let word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || !b.is_ascii());
    word(bytes.get(at))
        && bytes.get(at).is_some_and(u8::is_ascii)
        && !word(bytes.get(at + 1))
        && !word(at.checked_sub(1).and_then(|before| bytes.get(before)))
}

/// Splits a run of letters into words. Unknown letters stay together.
fn split_into_words(letters: &str) -> Option<String> {
    let mut cut = String::new();
    let mut rest = letters;
    let mut telling = false;
    let mut loose = false;
    while !rest.is_empty() {
        let longest = rest.len().min(MAX_WORD_CHARS);
        let found =
            (2..=longest).rev().filter_map(|n| rest.get(..n)).find(|word| is_vocabulary_word(word));
        let word = found.unwrap_or_else(|| rest.get(..1).unwrap_or(rest));
        telling |= word.len() > 3 || word == letters;
        if !cut.is_empty() && (found.is_some() || !loose) {
            cut.push(' ');
        }
        cut.push_str(word);
        loose = found.is_none();
        rest = rest.get(word.len()..).unwrap_or_default();
    }
    telling.then_some(cut)
}

#[cfg(test)]
#[path = "respell_tests.rs"]
mod tests;
