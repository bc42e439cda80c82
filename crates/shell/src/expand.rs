//! Expands words as written into the words that a program would see.

use std::ffi::OsStr;
use std::rc::Rc;

use crate::braces::{self, BracePiece};
use crate::leaf::{NEAR_PATH_PLACEHOLDER, NUMBER_PLACEHOLDER, RuntimeExtent, ShellWord, TextTaint};
use crate::shell_scope::ShellValue;
use crate::syntax::{ParameterExpansion, ParameterOperator, RawWord, WordPart};
use crate::text::{glob_match, has_glob};
use crate::text_stream::TextStream;
use crate::walk::ShellWalk;

/// Builds the words that one written word expands to.
#[derive(Default)]
struct WordBuilder {
    done: Vec<ShellWord>,
    current: Option<ShellWord>,
    /// Separators for splitting unquoted values; `None` disables splitting.
    separators: Option<Rc<str>>,
    /// The globs of the current word cover all of it so far, so further text is
    /// appended to them: `$p/comm`.
    grows: bool,
}

impl WordBuilder {
    fn current_word(&mut self) -> &mut ShellWord {
        self.current.get_or_insert_with(|| ShellWord::literal(""))
    }

    fn push_text(&mut self, text: &str, quoted: bool) {
        let word = self.current_word();
        if word.runtime_extent == RuntimeExtent::Whole && !text.is_empty() {
            word.runtime_extent = RuntimeExtent::Start;
        }
        word.text.push_str(text);
        word.glob |= !quoted && has_glob(text);
        if self.grows {
            self.current_word().hints.iter_mut().for_each(|hint| hint.push_str(text));
        }
    }

    fn push_unknown(&mut self, shown: &str, taint: TextTaint) {
        let word = self.current_word();
        if word.text.is_empty() {
            word.runtime_extent = RuntimeExtent::Whole;
        }
        word.text.push_str(shown);
        word.known = false;
        word.named = false;
        word.taint = word.taint.with(taint);
        self.grows = false;
    }

    fn push_value(&mut self, value: &ShellValue, shown: &str, quoted: bool) {
        let Some(text) = &value.text else {
            let first = self.current_word().text.is_empty();
            self.current_word().hints.extend_from_slice(&value.hints);
            let word = self.current_word();
            let certain = word.known || word.named;
            let is_split = |text: &str| {
                let separators = self.separators.as_deref().filter(|_| !quoted);
                separators.is_some_and(|separators| text.contains(|c| separators.contains(c)))
            };
            let shape = value.shape.as_deref().filter(|shape| !is_split(shape));
            let is_shaped = shape.is_some();
            self.push_unknown(shape.unwrap_or(shown), value.taint);
            self.current_word().named = certain && is_shaped;
            self.grows = first;
            return;
        };
        let Some(separators) = self.separators.clone().filter(|_| !quoted) else {
            self.push_text(text, quoted);
            let taint = value.taint;
            let word = self.current_word();
            word.taint = word.taint.with(taint);
            return;
        };
        let mut first = true;
        for piece in text.split(|c| separators.contains(c)) {
            if !first {
                self.done.extend(self.current.take());
            }
            first = false;
            if !piece.is_empty() {
                self.push_text(piece, false);
                let taint = value.taint;
                let word = self.current_word();
                word.taint = word.taint.with(taint);
            }
        }
    }
}

/// The literal word, if there is nothing to expand in it.
fn plain_word(raw: &RawWord) -> Option<ShellWord> {
    let [WordPart::Text { text, quoted }] = &*raw.parts else { return None };
    let expands = !quoted && (text.starts_with('~') || text.bytes().any(|byte| byte == b'{'));
    let glob = !quoted && has_glob(text);
    (!expands).then(|| ShellWord { glob, ..ShellWord::literal(text.as_str()) })
}

impl ShellWalk<'_> {
    /// Appends all words that a written word expands to: none, one or many.
    pub(crate) fn expand_into(&mut self, raw: &RawWord, words: &mut Vec<ShellWord>) {
        // Most words are literal.
        if let Some(word) = plain_word(raw) {
            self.use_fuel(word.text.len() / 64 + 1);
            words.push(word);
            return;
        }
        if self.is_no_argument(raw) {
            return;
        }
        let before = words.len();
        // Only values are split.
        let literal = raw.parts.iter().all(|part| matches!(part, WordPart::Text { .. }));
        let separators = if literal { Rc::clone(&self.blanks) } else { self.separators() };
        let separators = Some(separators);
        let mut fields =
            WordBuilder { done: std::mem::take(words), current: None, separators, grows: false };
        if braces::has_braces(raw) {
            self.expand_braces(raw, &mut fields);
        } else {
            self.expand_parts(raw, &mut fields);
        }
        fields.done.extend(fields.current.take());
        let new = fields.done.iter().skip(before);
        self.use_fuel(new.map(|word| word.text.len() / 64 + 1).sum());
        *words = fields.done;
    }

    /// Whether this is `"$@"` without arguments, which expands to no word.
    fn is_no_argument(&self, raw: &RawWord) -> bool {
        let [WordPart::Text { text, quoted: true }, WordPart::Parameter(parameter)] = &*raw.parts
        else {
            return false;
        };
        text.is_empty()
            && parameter.name == "@"
            && parameter.operator == ParameterOperator::Plain
            && self.scope.positional.as_ref().is_some_and(Vec::is_empty)
    }

    /// Expands an assignment or quoted text to a single word.
    pub(crate) fn expand_whole(&mut self, raw: &RawWord) -> ShellWord {
        let mut fields = WordBuilder::default();
        self.expand_parts(raw, &mut fields);
        let word = fields.current.take().unwrap_or_else(|| ShellWord::literal(""));
        self.use_fuel(word.text.len() / 64 + 1);
        word
    }

    fn separators(&self) -> Rc<str> {
        match self.scope.get("IFS").and_then(|value| value.text.as_deref()) {
            Some(text) => text.into(),
            None => Rc::clone(&self.blanks),
        }
    }

    fn expand_parts(&mut self, raw: &RawWord, fields: &mut WordBuilder) {
        for (index, part) in raw.parts.iter().enumerate() {
            match part {
                WordPart::Text { text, quoted: false } if index == 0 && text.starts_with('~') => {
                    let alone = raw.parts.len() == 1;
                    self.expand_tilde(text, alone, fields);
                }
                part => self.expand_part(part, fields),
            }
        }
    }

    /// Expands `~` and `~/…` to the home directory; `~name` is another user's.
    fn expand_tilde(&mut self, text: &str, alone: bool, fields: &mut WordBuilder) {
        let end = text.find('/').unwrap_or(text.len());
        let (user, rest) = text.split_at(end);
        let home = match user {
            "~" => self.scope.parameter("HOME", self.at).and_then(|value| value.text),
            "~root" => Some("/root".to_owned()),
            "~+" => self.scope.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
            _ => {
                let own = self.at.home().filter(|home| {
                    home.file_name().is_some_and(|name| Some(name) == user.get(1..).map(OsStr::new))
                });
                own.map(|home| home.to_string_lossy().into_owned())
            }
        };
        match home {
            Some(home) if alone || !rest.is_empty() => {
                fields.push_text(&home, true);
                fields.push_text(rest, false);
            }
            _ if user.len() > 1 && !user.starts_with("~/") && alone => {
                fields.push_text(text, false);
                fields.current_word().known = user.contains(['~', '.']) && user.ends_with('~');
                fields.current_word().named = false;
            }
            // The home directory of an unknown user.
            None if user.len() > 1 && !rest.is_empty() => {
                fields.push_text(text, false);
                fields.current_word().known = false;
            }
            _ => fields.push_text(text, false),
        }
    }

    fn expand_braces(&mut self, raw: &RawWord, fields: &mut WordBuilder) {
        let Some(words) = braces::expand(raw) else {
            self.use_fuel(3000);
            self.expand_parts(raw, fields);
            fields.current_word().known = false;
            fields.current_word().named = false;
            return;
        };
        self.use_fuel(words.iter().map(Vec::len).sum());
        for pieces in words {
            let mut text = String::new();
            let mut start = true;
            for piece in &pieces {
                match piece {
                    BracePiece::Unquoted(c) => text.push(*c),
                    BracePiece::Part(part) => {
                        self.plain_text(&mut text, start, false, fields);
                        start = false;
                        self.expand_part(part, fields);
                    }
                }
            }
            self.plain_text(&mut text, start, true, fields);
            fields.done.extend(fields.current.take());
        }
    }

    fn plain_text(&mut self, text: &mut String, start: bool, last: bool, fields: &mut WordBuilder) {
        if text.is_empty() {
            return;
        }
        if start && text.starts_with('~') {
            self.expand_tilde(text, last, fields);
        } else {
            fields.push_text(text, false);
        }
        text.clear();
    }

    fn expand_part(&mut self, part: &WordPart, fields: &mut WordBuilder) {
        match part {
            WordPart::Text { text, quoted } => fields.push_text(text, *quoted),
            WordPart::Parameter(parameter) => self.expand_parameter(parameter, fields),
            WordPart::CommandSubstitution { body, quoted } => {
                let stream = self.capture(body, &TextStream::unknown());
                let text = stream.text.map(|text| text.trim_end_matches('\n').to_owned());
                let shape = stream.shape.map(str::to_owned);
                let value = ShellValue { text, taint: stream.taint, hints: stream.names, shape };
                fields.push_value(&value, "$(…)", *quoted);
            }
            WordPart::ProcessSubstitution { body, writes } => {
                // What is written to it is the input of its body.
                let input = TextStream { connected: *writes, ..TextStream::unknown() };
                let stream = self.capture(body, &input);
                let word = fields.current_word();
                word.text.push_str("/dev/fd/63");
                if !writes {
                    word.taint = word.taint.with(stream.taint);
                    word.content = stream.text;
                    word.hints.extend(stream.names);
                    word.prints = stream.shape;
                }
            }
            WordPart::Arithmetic(inner) => {
                let mut aside = WordBuilder::default();
                for part in inner {
                    match part {
                        WordPart::Text { text, .. } => self.evaluate_names(text),
                        part => self.expand_part(part, &mut aside),
                    }
                }
                aside.done.extend(aside.current.take());
                self.evaluate_values(&aside.done);
                let number = ShellValue {
                    shape: Some(NUMBER_PLACEHOLDER.to_owned()),
                    ..ShellValue::unknown()
                };
                fields.push_value(&number, NUMBER_PLACEHOLDER, true);
            }
            WordPart::Array(elements) => {
                let mut texts = Vec::new();
                let mut known = true;
                let mut words = Vec::new();
                elements.iter().for_each(|element| self.expand_into(element, &mut words));
                for word in words {
                    known &= word.known;
                    texts.push(word.text);
                }
                fields.push_text(&texts.join(" "), true);
                fields.current_word().known &= known;
                fields.current_word().named &= known;
            }
        }
    }

    fn expand_parameter(&mut self, parameter: &ParameterExpansion, fields: &mut WordBuilder) {
        let name = parameter.name.as_str();
        let shown = format!("${name}");
        let found = self.scope.parameter(name, self.at);
        let taint = if is_secret_name(name) { TextTaint::SECRET } else { TextTaint::default() };
        let quoted = parameter.quoted;
        match parameter.operator {
            ParameterOperator::Plain if name.ends_with(']') => {
                self.expand_element(name, quoted, fields)
            }
            ParameterOperator::Plain
                if name == "@" && found.as_ref().is_some_and(|v| v.text.is_some()) =>
            {
                let all = self.scope.positional.clone().unwrap_or_default();
                for (index, word) in all.into_iter().enumerate() {
                    if index > 0 {
                        fields.done.extend(fields.current.take());
                    }
                    fields.push_value(&ShellValue::from_word(&word), &shown, quoted);
                }
            }
            ParameterOperator::Plain => match found {
                Some(value) => fields.push_value(&value, &shown, quoted),
                None => fields.push_unknown(&shown, taint),
            },
            ParameterOperator::Indirect => {
                let name = found.and_then(|value| value.text);
                if let Some(name) = &name {
                    self.evaluate_index(&ShellWord::literal(name.as_str()));
                }
                match name.and_then(|name| self.scope.parameter(&name, self.at)) {
                    Some(value) => fields.push_value(&value, &shown, quoted),
                    None => fields.push_unknown(&shown, taint),
                }
            }
            ParameterOperator::Default | ParameterOperator::Assign => match found {
                Some(value) if value.text.as_ref().is_some_and(|text| !text.is_empty()) => {
                    fields.push_value(&value, &shown, quoted);
                }
                Some(value) if value.text.is_none() => {
                    self.expand_whole(&parameter.argument);
                    fields.push_value(&value, &shown, quoted);
                }
                _ => {
                    let value = self.expand_argument(parameter, fields);
                    if parameter.operator == ParameterOperator::Assign {
                        self.assign(name, value);
                    }
                }
            },
            ParameterOperator::Alternate => match found {
                Some(ShellValue { text: Some(text), .. }) if !text.is_empty() => {
                    self.expand_argument(parameter, fields);
                }
                Some(ShellValue { text: Some(_), .. }) => {}
                _ => {
                    let word = self.expand_whole(&parameter.argument);
                    fields.push_unknown(&shown, word.taint);
                }
            },
            ParameterOperator::Other => {
                let word = self.expand_whole(&parameter.argument);
                self.evaluate_part(&parameter.argument);
                if let (Some(text), true) = (
                    found.as_ref().and_then(|value| value.text.clone()),
                    word.text.starts_with('@'),
                ) {
                    self.evaluate_text(&text);
                }
                let own = found.as_ref().map_or(taint, |value| value.taint);
                let taint = word.taint.with(own);
                let text = found.as_ref().and_then(|value| value.text.as_deref());
                let length = text.map_or(0, str::len).min(MAX_CUT_BYTES);
                self.use_fuel(length * length / 4);
                if let Some(text) = text.and_then(|text| apply_cut(text, &word)) {
                    let value =
                        ShellValue { text: Some(text.to_owned()), taint, ..ShellValue::default() };
                    return fields.push_value(&value, &shown, quoted);
                }
                match found.filter(|value| stays_below_cwd(value, &word)) {
                    Some(_) => {
                        let shape = Some(NEAR_PATH_PLACEHOLDER.to_owned());
                        fields.push_value(
                            &ShellValue { taint, shape, ..ShellValue::unknown() },
                            &shown,
                            quoted,
                        );
                    }
                    None => fields.push_unknown(&shown, taint),
                }
            }
        }
    }

    /// Expands `name[@]` and `name[0]`.
    fn expand_element(&mut self, name: &str, quoted: bool, fields: &mut WordBuilder) {
        let (array, index) = name.split_once('[').unwrap_or((name, ""));
        let shown = format!("${{{name}}}");
        let Some(words) = self.scope.array(array).map(<[ShellWord]>::to_vec) else {
            // All elements read into it have the same properties.
            let read = self.scope.get(array).filter(|value| value.text.is_none()).cloned();
            return fields.push_value(&read.unwrap_or_else(ShellValue::unknown), &shown, quoted);
        };
        let index = index.trim_end_matches(']');
        if let Ok(index) = index.parse::<usize>() {
            return match words.get(index) {
                Some(word) => fields.push_value(&ShellValue::from_word(word), &shown, quoted),
                None => fields.push_unknown(&shown, TextTaint::default()),
            };
        }
        for (at, word) in words.into_iter().enumerate() {
            if at > 0 && fields.separators.is_some() {
                fields.done.extend(fields.current.take());
            } else if at > 0 {
                fields.push_text(" ", true);
            }
            let glob = word.glob;
            fields.push_value(&ShellValue::from_word(&word), &shown, quoted);
            if let Some(current) = &mut fields.current {
                current.glob |= glob;
            }
        }
    }

    fn expand_argument(
        &mut self,
        parameter: &ParameterExpansion,
        fields: &mut WordBuilder,
    ) -> ShellValue {
        let word = self.expand_whole(&parameter.argument);
        let value = ShellValue::from_word(&word);
        fields.push_value(&value, &word.text, parameter.quoted);
        value
    }
}

/// Maximum length of a value that is trimmed.
const MAX_CUT_BYTES: usize = 256;

/// What `${name%pattern}` and similar expansions leave of a text.
fn apply_cut<'t>(text: &'t str, operation: &ShellWord) -> Option<&'t str> {
    let written = operation.known_text().filter(|_| text.len() <= MAX_CUT_BYTES)?;
    let places = || text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let (front, longest, pattern) = if let Some(pattern) = written.strip_prefix("##") {
        (true, true, pattern)
    } else if let Some(pattern) = written.strip_prefix('#') {
        (true, false, pattern)
    } else if let Some(pattern) = written.strip_prefix("%%") {
        (false, true, pattern)
    } else {
        (false, false, written.strip_prefix('%')?)
    };
    // Other pattern characters are not supported.
    if pattern.contains(['[', '(', '?', '\\', '"', '\'']) || pattern.len() > 64 {
        return None;
    }
    let taken = |at: &usize| match front {
        true => text.get(..*at).is_some_and(|part| glob_match(pattern, part)),
        false => text.get(*at..).is_some_and(|part| glob_match(pattern, part)),
    };
    // The longest prefix ends last, the longest suffix starts first.
    let at = if front == longest { places().rev().find(taken) } else { places().find(taken) };
    match at {
        None => Some(text),
        Some(at) if front => text.get(at..),
        Some(at) => text.get(..at),
    }
}

/// Whether a path stays below the working directory when a part of it is
/// removed or replaced.
fn stays_below_cwd(value: &ShellValue, operation: &ShellWord) -> bool {
    let near = value.shape.as_deref().is_some_and(|shape| {
        let word = ShellWord { text: shape.to_owned(), named: true, ..ShellWord::default() };
        word.is_below_cwd()
    });
    let text = operation.text.as_str();
    let put_in = match text.strip_prefix('/') {
        Some(rest) => rest.trim_start_matches('/').split_once('/').map_or("", |(_, new)| new),
        None => "",
    };
    near && (operation.known || operation.is_below_cwd())
        && text.starts_with(['%', '#', ',', '^', '/'])
        && !put_in.starts_with('/')
        && !put_in.contains("..")
}

/// Whether a variable's name indicates that its value is a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    const SECRET_NAME_MARKS: &[&str] = &[
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "API_KEY",
        "APIKEY",
        "PRIVATE_KEY",
        "CREDENTIAL",
        "ACCESS_KEY",
    ];
    let name = name.to_ascii_uppercase();
    SECRET_NAME_MARKS.iter().any(|mark| name.contains(mark))
}
