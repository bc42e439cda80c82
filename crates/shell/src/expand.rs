//! From words as written to the words that a program would see.

use std::ffi::OsStr;
use std::rc::Rc;

use crate::braces::{self, Piece};
use crate::flow::Stream;
use crate::leaf::{NEAR, NUMBER, Open, Taint, Word};
use crate::scope::Value;
use crate::syntax::{Operator, Parameter, Part, Raw};
use crate::text::{glob_match, has_glob};
use crate::walk::Walk;

/// Builds the words that one written word becomes.
#[derive(Default)]
struct Fields {
    done: Vec<Word>,
    current: Option<Word>,
    /// Where unquoted values are split; None if they are not split at all.
    separators: Option<Rc<str>>,
    /// The globs of the current word stand for all of it so far, so what
    /// follows belongs to them: `$p/comm`.
    grows: bool,
}

impl Fields {
    fn word(&mut self) -> &mut Word {
        self.current.get_or_insert_with(|| Word::literal(""))
    }

    fn text(&mut self, text: &str, quoted: bool) {
        let word = self.word();
        if word.open == Open::Whole && !text.is_empty() {
            word.open = Open::Start;
        }
        word.text.push_str(text);
        word.glob |= !quoted && has_glob(text);
        if self.grows {
            self.word().hints.iter_mut().for_each(|hint| hint.push_str(text));
        }
    }

    fn unknown(&mut self, shown: &str, taint: Taint) {
        let word = self.word();
        if word.text.is_empty() {
            word.open = Open::Whole;
        }
        word.text.push_str(shown);
        word.known = false;
        word.named = false;
        word.taint = word.taint.with(taint);
        self.grows = false;
    }

    fn value(&mut self, value: &Value, shown: &str, quoted: bool) {
        let Some(text) = &value.text else {
            let first = self.word().text.is_empty();
            self.word().hints.extend_from_slice(&value.hints);
            let word = self.word();
            let certain = word.known || word.named;
            let is_split = |text: &str| {
                let separators = self.separators.as_deref().filter(|_| !quoted);
                separators.is_some_and(|separators| text.contains(|c| separators.contains(c)))
            };
            let shape = value.shape.as_deref().filter(|shape| !is_split(shape));
            let is_shaped = shape.is_some();
            self.unknown(shape.unwrap_or(shown), value.taint);
            self.word().named = certain && is_shaped;
            self.grows = first;
            return;
        };
        let Some(separators) = self.separators.clone().filter(|_| !quoted) else {
            self.text(text, quoted);
            let taint = value.taint;
            let word = self.word();
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
                self.text(piece, false);
                let taint = value.taint;
                let word = self.word();
                word.taint = word.taint.with(taint);
            }
        }
    }
}

/// The word that a written one is, if there is nothing to expand in it.
fn plain(raw: &Raw) -> Option<Word> {
    let [Part::Text { text, quoted }] = &*raw.parts else { return None };
    let expands = !quoted && (text.starts_with('~') || text.bytes().any(|byte| byte == b'{'));
    let glob = !quoted && has_glob(text);
    (!expands).then(|| Word { glob, ..Word::literal(text.as_str()) })
}

impl Walk<'_> {
    /// Adds all words that a written word becomes: none, one or many.
    pub(crate) fn expand_into(&mut self, raw: &Raw, words: &mut Vec<Word>) {
        // Most words stand for themselves.
        if let Some(word) = plain(raw) {
            self.spend(word.text.len() / 64 + 1);
            words.push(word);
            return;
        }
        if self.is_no_argument(raw) {
            return;
        }
        let before = words.len();
        // Only values are split.
        let literal = raw.parts.iter().all(|part| matches!(part, Part::Text { .. }));
        let separators = if literal { Rc::clone(&self.blanks) } else { self.separators() };
        let separators = Some(separators);
        let mut fields =
            Fields { done: std::mem::take(words), current: None, separators, grows: false };
        if braces::has_braces(raw) {
            self.expand_braces(raw, &mut fields);
        } else {
            self.expand_parts(raw, &mut fields);
        }
        fields.done.extend(fields.current.take());
        let new = fields.done.iter().skip(before);
        self.spend(new.map(|word| word.text.len() / 64 + 1).sum());
        *words = fields.done;
    }

    /// `"$@"` without arguments is no word at all.
    fn is_no_argument(&self, raw: &Raw) -> bool {
        let [Part::Text { text, quoted: true }, Part::Parameter(parameter)] = &*raw.parts else {
            return false;
        };
        text.is_empty()
            && parameter.name == "@"
            && parameter.operator == Operator::Plain
            && self.scope.positional.as_ref().is_some_and(Vec::is_empty)
    }

    /// The one word that an assignment or a quoted text becomes.
    pub(crate) fn expand_whole(&mut self, raw: &Raw) -> Word {
        let mut fields = Fields::default();
        self.expand_parts(raw, &mut fields);
        let word = fields.current.take().unwrap_or_else(|| Word::literal(""));
        self.spend(word.text.len() / 64 + 1);
        word
    }

    fn separators(&self) -> Rc<str> {
        match self.scope.get("IFS").and_then(|value| value.text.as_deref()) {
            Some(text) => text.into(),
            None => Rc::clone(&self.blanks),
        }
    }

    fn expand_parts(&mut self, raw: &Raw, fields: &mut Fields) {
        for (index, part) in raw.parts.iter().enumerate() {
            match part {
                Part::Text { text, quoted: false } if index == 0 && text.starts_with('~') => {
                    let alone = raw.parts.len() == 1;
                    self.tilde(text, alone, fields);
                }
                part => self.expand_part(part, fields),
            }
        }
    }

    /// `~` and `~/…` are the home folder, `~name` is somebody else's.
    fn tilde(&mut self, text: &str, alone: bool, fields: &mut Fields) {
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
                fields.text(&home, true);
                fields.text(rest, false);
            }
            _ if user.len() > 1 && !user.starts_with("~/") && alone => {
                fields.text(text, false);
                fields.word().known = user.contains(['~', '.']) && user.ends_with('~');
                fields.word().named = false;
            }
            // The home folder of somebody whom nobody knows.
            None if user.len() > 1 && !rest.is_empty() => {
                fields.text(text, false);
                fields.word().known = false;
            }
            _ => fields.text(text, false),
        }
    }

    fn expand_braces(&mut self, raw: &Raw, fields: &mut Fields) {
        let Some(words) = braces::expand(raw) else {
            self.spend(3000);
            self.expand_parts(raw, fields);
            fields.word().known = false;
            fields.word().named = false;
            return;
        };
        self.spend(words.iter().map(Vec::len).sum());
        for pieces in words {
            let mut text = String::new();
            let mut start = true;
            for piece in &pieces {
                match piece {
                    Piece::Unquoted(c) => text.push(*c),
                    Piece::Part(part) => {
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

    fn plain_text(&mut self, text: &mut String, start: bool, last: bool, fields: &mut Fields) {
        if text.is_empty() {
            return;
        }
        if start && text.starts_with('~') {
            self.tilde(text, last, fields);
        } else {
            fields.text(text, false);
        }
        text.clear();
    }

    fn expand_part(&mut self, part: &Part, fields: &mut Fields) {
        match part {
            Part::Text { text, quoted } => fields.text(text, *quoted),
            Part::Parameter(parameter) => self.expand_parameter(parameter, fields),
            Part::Output { body, quoted } => {
                let stream = self.capture(body, &Stream::unknown());
                let text = stream.text.map(|text| text.trim_end_matches('\n').to_owned());
                let shape = stream.shape.map(str::to_owned);
                let value = Value { text, taint: stream.taint, hints: stream.names, shape };
                fields.value(&value, "$(…)", *quoted);
            }
            Part::Process { body, writes } => {
                // Whatever is written there is the input of what is inside.
                let input = Stream { connected: *writes, ..Stream::unknown() };
                let stream = self.capture(body, &input);
                let word = fields.word();
                word.text.push_str("/dev/fd/63");
                if !writes {
                    word.taint = word.taint.with(stream.taint);
                    word.content = stream.text;
                    word.hints.extend(stream.names);
                    word.prints = stream.shape;
                }
            }
            Part::Arithmetic(inner) => {
                let mut aside = Fields::default();
                for part in inner {
                    match part {
                        Part::Text { text, .. } => self.computed_names(text),
                        part => self.expand_part(part, &mut aside),
                    }
                }
                aside.done.extend(aside.current.take());
                self.computed_values(&aside.done);
                let number = Value { shape: Some(NUMBER.to_owned()), ..Value::unknown() };
                fields.value(&number, NUMBER, true);
            }
            Part::Array(elements) => {
                let mut texts = Vec::new();
                let mut known = true;
                let mut words = Vec::new();
                elements.iter().for_each(|element| self.expand_into(element, &mut words));
                for word in words {
                    known &= word.known;
                    texts.push(word.text);
                }
                fields.text(&texts.join(" "), true);
                fields.word().known &= known;
                fields.word().named &= known;
            }
        }
    }

    fn expand_parameter(&mut self, parameter: &Parameter, fields: &mut Fields) {
        let name = parameter.name.as_str();
        let shown = format!("${name}");
        let found = self.scope.parameter(name, self.at);
        let taint = if is_secret(name) { Taint::SECRET } else { Taint::default() };
        let quoted = parameter.quoted;
        match parameter.operator {
            Operator::Plain if name.ends_with(']') => self.expand_element(name, quoted, fields),
            Operator::Plain if name == "@" && found.as_ref().is_some_and(|v| v.text.is_some()) => {
                let all = self.scope.positional.clone().unwrap_or_default();
                for (index, word) in all.into_iter().enumerate() {
                    if index > 0 {
                        fields.done.extend(fields.current.take());
                    }
                    fields.value(&Value::of(&word), &shown, quoted);
                }
            }
            Operator::Plain => match found {
                Some(value) => fields.value(&value, &shown, quoted),
                None => fields.unknown(&shown, taint),
            },
            Operator::Indirect => {
                let name = found.and_then(|value| value.text);
                if let Some(name) = &name {
                    self.evaluated_index(&Word::literal(name.as_str()));
                }
                match name.and_then(|name| self.scope.parameter(&name, self.at)) {
                    Some(value) => fields.value(&value, &shown, quoted),
                    None => fields.unknown(&shown, taint),
                }
            }
            Operator::Default | Operator::Assign => match found {
                Some(value) if value.text.as_ref().is_some_and(|text| !text.is_empty()) => {
                    fields.value(&value, &shown, quoted);
                }
                Some(value) if value.text.is_none() => {
                    self.expand_whole(&parameter.argument);
                    fields.value(&value, &shown, quoted);
                }
                _ => {
                    let value = self.expand_argument(parameter, fields);
                    if parameter.operator == Operator::Assign {
                        self.assign(name, value);
                    }
                }
            },
            Operator::Alternate => match found {
                Some(Value { text: Some(text), .. }) if !text.is_empty() => {
                    self.expand_argument(parameter, fields);
                }
                Some(Value { text: Some(_), .. }) => {}
                _ => {
                    let word = self.expand_whole(&parameter.argument);
                    fields.unknown(&shown, word.taint);
                }
            },
            Operator::Other => {
                let word = self.expand_whole(&parameter.argument);
                self.computed_part(&parameter.argument);
                if let (Some(text), true) = (
                    found.as_ref().and_then(|value| value.text.clone()),
                    word.text.starts_with('@'),
                ) {
                    self.evaluated(&text);
                }
                let own = found.as_ref().map_or(taint, |value| value.taint);
                let taint = word.taint.with(own);
                let text = found.as_ref().and_then(|value| value.text.as_deref());
                let length = text.map_or(0, str::len).min(MAX_CUT);
                self.spend(length * length / 4);
                if let Some(text) = text.and_then(|text| cut(text, &word)) {
                    let value = Value { text: Some(text.to_owned()), taint, ..Value::default() };
                    return fields.value(&value, &shown, quoted);
                }
                match found.filter(|value| stays_near(value, &word)) {
                    Some(_) => {
                        let shape = Some(NEAR.to_owned());
                        fields.value(&Value { taint, shape, ..Value::unknown() }, &shown, quoted);
                    }
                    None => fields.unknown(&shown, taint),
                }
            }
        }
    }

    /// `name[@]` and `name[0]`.
    fn expand_element(&mut self, name: &str, quoted: bool, fields: &mut Fields) {
        let (array, index) = name.split_once('[').unwrap_or((name, ""));
        let shown = format!("${{{name}}}");
        let Some(words) = self.scope.array(array).map(<[Word]>::to_vec) else {
            // What was read into it is of one kind.
            let read = self.scope.get(array).filter(|value| value.text.is_none()).cloned();
            return fields.value(&read.unwrap_or_else(Value::unknown), &shown, quoted);
        };
        let index = index.trim_end_matches(']');
        if let Ok(index) = index.parse::<usize>() {
            return match words.get(index) {
                Some(word) => fields.value(&Value::of(word), &shown, quoted),
                None => fields.unknown(&shown, Taint::default()),
            };
        }
        for (at, word) in words.into_iter().enumerate() {
            if at > 0 && fields.separators.is_some() {
                fields.done.extend(fields.current.take());
            } else if at > 0 {
                fields.text(" ", true);
            }
            let glob = word.glob;
            fields.value(&Value::of(&word), &shown, quoted);
            if let Some(current) = &mut fields.current {
                current.glob |= glob;
            }
        }
    }

    fn expand_argument(&mut self, parameter: &Parameter, fields: &mut Fields) -> Value {
        let word = self.expand_whole(&parameter.argument);
        let value = Value::of(&word);
        fields.value(&value, &word.text, parameter.quoted);
        value
    }
}

/// Longer values are not cut.
const MAX_CUT: usize = 256;

/// What `${name%pattern}` and its like leave of a text.
fn cut<'t>(text: &'t str, operation: &Word) -> Option<&'t str> {
    let written = operation.known().filter(|_| text.len() <= MAX_CUT)?;
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
    // Other signs of a pattern are not read.
    if pattern.contains(['[', '(', '?', '\\', '"', '\'']) || pattern.len() > 64 {
        return None;
    }
    let taken = |at: &usize| match front {
        true => text.get(..*at).is_some_and(|part| glob_match(pattern, part)),
        false => text.get(*at..).is_some_and(|part| glob_match(pattern, part)),
    };
    // Of a beginning the long ones end late, of an end they begin early.
    let at = if front == longest { places().rev().find(taken) } else { places().find(taken) };
    match at {
        None => Some(text),
        Some(at) if front => text.get(at..),
        Some(at) => text.get(..at),
    }
}

/// Whether a path stays below the folder when a part of it is cut off or
/// replaced.
fn stays_near(value: &Value, operation: &Word) -> bool {
    let near = value.shape.as_deref().is_some_and(|shape| {
        let word = Word { text: shape.to_owned(), named: true, ..Word::default() };
        word.is_near()
    });
    let text = operation.text.as_str();
    let put_in = match text.strip_prefix('/') {
        Some(rest) => rest.trim_start_matches('/').split_once('/').map_or("", |(_, new)| new),
        None => "",
    };
    near && (operation.known || operation.is_near())
        && text.starts_with(['%', '#', ',', '^', '/'])
        && !put_in.starts_with('/')
        && !put_in.contains("..")
}

/// Whether a variable's name says that its value is a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    const MARKS: &[&str] = &[
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
    MARKS.iter().any(|mark| name.contains(mark))
}
