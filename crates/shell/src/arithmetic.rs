//! Arithmetic contexts of the shell, which evaluate variables as expressions
//! and run the commands in their values.

use crate::leaf::{CommandFinding, ShellWord, TextTaint};
use crate::programs;
use crate::shell_scope::ShellValue;
use crate::syntax::{RawWord, WordPart};
use crate::walk::ShellWalk;

/// Maximum number of names followed in one expression.
const MAX_NAMES: usize = 64;

/// Comparison operators that evaluate both operands as arithmetic.
const NUMERIC_COMPARISONS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

impl ShellWalk<'_> {
    /// Assigns a variable and reports what the assignment evaluates or
    /// overrides.
    pub(crate) fn assign(&mut self, name: &str, value: ShellValue) {
        let plain = self.scope.resolve_reference(name).split('[').next().unwrap_or("");
        let word = ShellWord {
            known: value.text.is_some(),
            text: value.text.clone().unwrap_or_default(),
            ..ShellWord::default()
        };
        if let Some(finding) = programs::environment_override(plain, &word) {
            self.add_finding(finding);
        }
        self.evaluate_assignment(name, &value);
        self.scope.set(name, value);
    }

    /// Evaluates what an assignment evaluates: the index in the name, and the
    /// value of an integer variable.
    pub(crate) fn evaluate_assignment(&mut self, name: &str, value: &ShellValue) {
        if let Some((_, index)) = name.split_once('[') {
            self.evaluate_text(index);
            self.evaluate_names(index);
        }
        if let Some(text) = value.text.as_deref().filter(|_| self.scope.is_integer(name)) {
            self.evaluate_text(text);
            self.evaluate_names(text);
        }
    }

    /// Evaluates the variables that an expression names, and those that they
    /// name.
    pub(crate) fn evaluate_names(&mut self, text: &str) {
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
                foreign |= is_foreign_value(value.text.is_some(), value.taint);
                texts.extend(value.text.clone());
                let others = self.scope.array(name).unwrap_or(&[]).iter().skip(1);
                texts.extend(others.take(MAX_NAMES).map(|word| word.text.clone()));
                seen.push(name.to_owned());
            }
            if !seen.is_empty() {
                self.evaluate_text(&text);
            }
        }
        if foreign {
            self.flag_foreign_arithmetic();
        }
    }

    fn flag_foreign_arithmetic(&mut self) {
        let reason = "Evaluates text that is only known at run time and may be code";
        self.add_finding(CommandFinding::ask("dynamic-code", reason));
    }

    /// Evaluates text that the shell parses again as an expression.
    pub(crate) fn evaluate_text(&mut self, text: &str) {
        if text.contains("$(") || text.contains('`') {
            let reason = "A variable holds a command that runs in arithmetic evaluation";
            self.add_finding(CommandFinding::ask("dynamic-code", reason));
            let raw =
                crate::parse::ShellParser::new(text, crate::parse::MAX_DEPTH / 2).heredoc_body();
            self.expand_whole(&raw);
        }
    }

    /// Evaluates an index in brackets, which the shell does wherever it occurs.
    pub(crate) fn evaluate_index(&mut self, word: &ShellWord) {
        if word.text.contains("[$(") || word.text.contains("[`") {
            self.evaluate_text(&word.text);
        } else if let Some((name, index)) = word.text.split_once('[')
            && index.ends_with(']')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        {
            self.evaluate_names(index);
        }
    }

    /// Evaluates the words of a test or another compound command: numeric
    /// operands as arithmetic; the rest are plain strings.
    pub(crate) fn evaluate_words(&mut self, words: &[ShellWord]) {
        for word in words {
            self.evaluate_index(word);
        }
        for side in
            words.windows(3).filter(|all| NUMERIC_COMPARISONS.contains(&all[1].text.as_str()))
        {
            self.evaluate_values(&[side[0].clone(), side[2].clone()]);
        }
    }

    /// Evaluates the operands of an expression.
    pub(crate) fn evaluate_values(&mut self, words: &[ShellWord]) {
        for word in words {
            if is_foreign_value(word.known, word.taint) {
                self.flag_foreign_arithmetic();
            }
            self.evaluate_index(word);
            self.evaluate_names(&word.text);
        }
    }

    /// Evaluates `[index]=value` among the elements of an array.
    pub(crate) fn evaluate_element(&mut self, element: &RawWord) {
        if let Some(WordPart::Text { text, quoted: false }) = element.parts.first()
            && let Some((index, _)) = text.strip_prefix('[').and_then(|text| text.split_once(']'))
        {
            self.evaluate_names(index);
        }
    }

    /// Evaluates `${text:from:length}` and `${list[index]}`.
    pub(crate) fn evaluate_part(&mut self, argument: &RawWord) {
        let first = argument.parts.first();
        let computes =
            matches!(first, Some(WordPart::Text { text, .. }) if text.starts_with([':', '[']));
        if computes {
            for part in argument.parts.iter() {
                if let WordPart::Text { text, .. } = part {
                    self.evaluate_names(text);
                }
            }
        }
    }
}

/// Whether a value is unknown and comes from an untrusted source.
fn is_foreign_value(known: bool, taint: TextTaint) -> bool {
    !known && (taint.has(TextTaint::FOREIGN) || taint.has(TextTaint::REMOTE))
}

#[cfg(test)]
#[path = "arithmetic_tests.rs"]
mod tests;
