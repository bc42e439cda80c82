//! The words that `xargs` adds to a command.

use crate::flow::Stream;
use crate::leaf::{LISTED, NEAR, NUMBER, Open, Word};
use crate::listing::is_below;

/// Adds those words, if they can be told; an unknown one otherwise.
pub(crate) fn supply(rest: &mut Vec<Word>, arguments: &[Word], input: &Stream) {
    let replaced = arguments.iter().position(|word| word.text.starts_with("-I")).map(|at| {
        let flag = arguments.get(at).map_or("", |word| word.text.as_str());
        match flag.strip_prefix("-I") {
            Some("") | None => {
                arguments.get(at + 1).map_or_else(|| "{}".to_owned(), |word| word.text.clone())
            }
            Some(mark) => mark.to_owned(),
        }
    });
    let unknown = Word {
        text: input.shape.unwrap_or(LISTED).to_owned(),
        named: input.shape.is_some(),
        taint: input.taint,
        hints: input.names.clone(),
        open: Open::Whole,
        ..Word::default()
    };
    let known: Option<Vec<Word>> = input
        .text
        .as_ref()
        .filter(|text| text.len() < 4096)
        .map(|text| text.split_whitespace().map(Word::literal).collect());
    match replaced {
        None => rest.extend(known.unwrap_or_else(|| vec![unknown])),
        Some(mark) => {
            let value = match known.as_deref() {
                Some([only]) => only.clone(),
                Some(all) if !all.is_empty() && all.iter().all(is_below) => {
                    Word { text: NEAR.to_owned(), named: true, ..unknown }
                }
                _ => unknown,
            };
            for word in rest.iter_mut().filter(|word| word.text.contains(&mark)) {
                put(word, &mark, &value);
            }
        }
    }
}

/// Puts what is read in the place of a mark.
pub(crate) fn put(word: &mut Word, mark: &str, value: &Word) {
    if !word.text.contains(mark) {
        return;
    }
    // Any number does for code that has numbers in it.
    if !value.known && value.text == NUMBER && word.text.contains(' ') {
        word.text = word.text.replace(mark, "4711");
        return;
    }
    let code = !value.known && word.text.contains(char::is_whitespace);
    word.named = if value.known { word.named } else { word.known && value.named && !code };
    word.open = match word.text == mark {
        true => value.open,
        false if word.text.starts_with(mark) => Open::Start,
        false => word.open,
    };
    word.text = word.text.replace(mark, if code { LISTED } else { &value.text });
    word.known &= value.known;
    word.taint = word.taint.with(value.taint);
    word.hints.extend_from_slice(&value.hints);
}
