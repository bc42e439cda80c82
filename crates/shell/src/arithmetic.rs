//! Places where the shell computes: it reads variables there as expressions,
//! and runs the commands that it finds in their values.

use crate::leaf::{Finding, Taint, Word};
use crate::programs;
use crate::scope::Value;
use crate::syntax::{Part, Raw};
use crate::walk::Walk;

/// More names of one expression are not followed.
const MAX_NAMES: usize = 64;

/// Comparisons of a test that compute both of their sides.
const COMPARING: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl Walk<'_> {
    /// Gives a variable a value, in whichever way the shell does it.
    pub(crate) fn assign(&mut self, name: &str, value: Value) {
        let plain = self.scope.referred(name).split('[').next().unwrap_or("");
        let word = Word {
            known: value.text.is_some(),
            text: value.text.clone().unwrap_or_default(),
            ..Word::default()
        };
        if let Some(finding) = programs::environment_override(plain, &word) {
            self.note(finding);
        }
        self.computed_for(name, &value);
        self.scope.set(name, value);
    }

    /// What is computed when a variable gets a value: the index that its name
    /// has, and the value if it is a number.
    pub(crate) fn computed_for(&mut self, name: &str, value: &Value) {
        if let Some((_, index)) = name.split_once('[') {
            self.evaluated(index);
            self.computed_names(index);
        }
        if let Some(text) = value.text.as_deref().filter(|_| self.scope.is_integer(name)) {
            self.evaluated(text);
            self.computed_names(text);
        }
    }

    /// The variables that an expression names, and those that they name.
    pub(crate) fn computed_names(&mut self, text: &str) {
        let mut seen: Vec<String> = Vec::new();
        let mut texts = vec![text.to_owned()];
        let mut foreign = false;
        while let Some(text) = texts.pop() {
            let names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            for name in names.take(MAX_NAMES) {
                let Some(value) = self.scope.get(name) else { continue };
                if seen.len() >= MAX_NAMES || seen.iter().any(|known| known == name) {
                    continue;
                }
                foreign |= is_foreign(value.text.is_some(), value.taint);
                texts.extend(value.text.clone());
                let others = self.scope.array(name).unwrap_or(&[]).iter().skip(1);
                texts.extend(others.take(MAX_NAMES).map(|word| word.text.clone()));
                seen.push(name.to_owned());
            }
            if !seen.is_empty() {
                self.evaluated(&text);
            }
        }
        if foreign {
            self.computes_with_data();
        }
    }

    fn computes_with_data(&mut self) {
        let reason = "Computes with a text that is only known when it runs, and that may be code";
        self.note(Finding::ask("dynamic-code", reason));
    }

    /// Text that the shell reads as an expression once more.
    pub(crate) fn evaluated(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') {
            let reason = "A value holds a command that runs when it is computed with";
            self.note(Finding::ask("dynamic-code", reason));
            let raw = crate::parse::Reader::new(text, crate::parse::MAX_DEPTH / 2).heredoc_body();
            self.expand_whole(&raw);
        }
    }

    /// An index in brackets is computed, and so run, wherever it is written.
    pub(crate) fn evaluated_index(&mut self, word: &Word) {
        if word.text.contains("[$(") || word.text.contains("[`") {
            self.evaluated(&word.text);
        } else if let Some((name, index)) = word.text.split_once('[')
            && index.ends_with(']')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        {
            self.computed_names(index);
        }
    }

    /// The words of a test or another compound: numbers are computed, the rest
    /// is compared as it stands.
    pub(crate) fn computed_words(&mut self, words: &[Word]) {
        for word in words {
            self.evaluated_index(word);
        }
        for side in words.windows(3).filter(|all| COMPARING.contains(&all[1].text.as_str())) {
            self.computed_values(&[side[0].clone(), side[2].clone()]);
        }
    }

    /// Values that stand in an expression.
    pub(crate) fn computed_values(&mut self, words: &[Word]) {
        for word in words {
            if is_foreign(word.known, word.taint) {
                self.computes_with_data();
            }
            self.evaluated_index(word);
            self.computed_names(&word.text);
        }
    }

    /// `[index]=value` among the elements of an array.
    pub(crate) fn computed_element(&mut self, element: &Raw) {
        if let Some(Part::Text { text, quoted: false }) = element.parts.first()
            && let Some((index, _)) = text.strip_prefix('[').and_then(|text| text.split_once(']'))
        {
            self.computed_names(index);
        }
    }

    /// `${text:from:length}` and `${list[index]}`.
    pub(crate) fn computed_part(&mut self, argument: &Raw) {
        let first = argument.parts.first();
        let computes =
            matches!(first, Some(Part::Text { text, .. }) if text.starts_with([':', '[']));
        if computes {
            for part in argument.parts.iter() {
                if let Part::Text { text, .. } = part {
                    self.computed_names(text);
                }
            }
        }
    }
}

/// Whether a value was made by others and nobody knows it.
fn is_foreign(known: bool, taint: Taint) -> bool {
    !known && (taint.has(Taint::FOREIGN) || taint.has(Taint::REMOTE))
}

#[cfg(test)]
#[path = "arithmetic_tests.rs"]
mod tests;
