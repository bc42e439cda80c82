//! Random documents in random styles: an edit does what was asked, and every line it has no business with stays.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{get, get_mut, parse_document, set, unset};
use crate::path::KeyPath;

/// A document to be written, with the choices its writer makes.
#[derive(Debug, Clone)]
enum Doc {
    Scalar(Value),
    /// Written in brackets on one line.
    Brackets(Value),
    /// Written as it is below a `|`, `>-` and the like.
    Text(&'static str, Vec<String>),
    List(Vec<Doc>),
    Map(Vec<(String, Doc)>),
}

#[derive(Debug, Clone, Copy)]
struct Manner {
    step: usize,
    list_step: usize,
    newline: &'static str,
    /// Every so many lines get a comment at their end, one above, an empty line above.
    end_comment: usize,
    own_comment: usize,
    blank: usize,
    final_newline: bool,
}

struct Line {
    text: String,
    /// The path of the value that the line belongs to.
    owner: Vec<String>,
}

struct Writer {
    manner: Manner,
    lines: Vec<Line>,
    count: usize,
}

impl Writer {
    fn push(&mut self, text: String, owner: &[String]) {
        self.count += 1;
        let indent = text.len() - text.trim_start().len();
        let parent = &owner[..owner.len() - 1];
        if self.count.is_multiple_of(self.manner.blank) {
            self.lines.push(Line { text: String::new(), owner: parent.to_vec() });
        }
        if self.count.is_multiple_of(self.manner.own_comment) {
            let text = format!("{}# own {}", " ".repeat(indent), self.count);
            self.lines.push(Line { text, owner: parent.to_vec() });
        }
        let mut text = text;
        if self.count.is_multiple_of(self.manner.end_comment) {
            text.push_str(&format!("  # end {}", self.count));
        }
        self.lines.push(Line { text, owner: owner.to_vec() });
    }

    fn entry(&mut self, lead: &str, column: usize, doc: &Doc, owner: &[String]) {
        let indent = " ".repeat(column);
        match doc {
            Doc::Scalar(value) | Doc::Brackets(value) => {
                self.push(format!("{indent}{lead} {}", json_text(value)), owner);
            }
            Doc::Text(mark, lines) => {
                self.push(format!("{indent}{lead} {mark}"), owner);
                let indent = " ".repeat(column + 2);
                let owned =
                    |line: &String| Line { text: format!("{indent}{line}"), owner: owner.to_vec() };
                self.lines.extend(lines.iter().map(owned));
            }
            Doc::List(items) => {
                self.push(format!("{indent}{lead}"), owner);
                let below = if lead == "-" { 2 } else { self.manner.list_step };
                for (index, item) in items.iter().enumerate() {
                    let mut owner = owner.to_vec();
                    owner.push(index.to_string());
                    self.entry("-", column + below, item, &owner);
                }
            }
            Doc::Map(entries) => {
                self.push(format!("{indent}{lead}"), owner);
                let below = if lead == "-" { 2 } else { self.manner.step };
                self.map(entries, column + below, owner);
            }
        }
    }

    fn map(&mut self, entries: &[(String, Doc)], column: usize, owner: &[String]) {
        for (name, doc) in entries {
            let mut owner = owner.to_vec();
            owner.push(name.clone());
            self.entry(&format!("{name}:"), column, doc, &owner);
        }
    }

    fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        let end = if self.manner.final_newline { self.manner.newline } else { "" };
        format!("{}{end}", lines.join(self.manner.newline))
    }
}

/// JSON allows a few characters that YAML wants escaped.
fn json_text(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => text.push(c),
        }
    }
    text
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        "[a-z #:,'\"\\[{}é-]{0,12}".prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        proptest::sample::select(
            &["yes", "off", "~", "null", "0x1f", "012", "1e3", ".inf", "<<", "a\nb\n", "|", "? x"]
                [..]
        )
        .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((".{0,6}", inner), 0..4)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    "[a-e]{1,2}"
}

fn unique(entries: Vec<(String, Doc)>) -> Doc {
    let mut seen = std::collections::HashSet::new();
    Doc::Map(entries.into_iter().filter(|(name, _)| seen.insert(name.clone())).collect())
}

fn doc() -> impl Strategy<Value = Doc> {
    let leaf = prop_oneof![
        3 => scalar().prop_map(Doc::Scalar),
        1 => value().prop_map(Doc::Brackets),
        1 => (
            proptest::sample::select(&["|", "|-", "|+", ">", ">-", ">+"][..]),
            proptest::collection::vec("[a-z#:-][a-z#: -]{0,8}", 1..4),
        ).prop_map(|(mark, lines)| Doc::Text(mark, lines)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(Doc::List),
            proptest::collection::vec((name(), inner), 1..5).prop_map(unique),
        ]
    })
}

fn manner() -> impl Strategy<Value = Manner> {
    let style = (1_usize..5, 0_usize..3, any::<bool>(), any::<bool>());
    let comments = (1_usize..6, 1_usize..6, 1_usize..6);
    (style, comments).prop_map(|((step, list_step, crlf, final_newline), comments)| Manner {
        step,
        list_step,
        newline: if crlf { "\r\n" } else { "\n" },
        end_comment: comments.0,
        own_comment: comments.1,
        blank: comments.2,
        final_newline,
    })
}

fn written(least: usize) -> impl Strategy<Value = Writer> {
    let entries = proptest::collection::vec((name(), doc()), least..6).prop_map(unique);
    (entries, manner()).prop_map(|(doc, manner)| {
        let mut writer = Writer { manner, lines: Vec::new(), count: 0 };
        if let Doc::Map(entries) = doc {
            writer.map(&entries, 0, &[]);
        }
        writer
    })
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}\n{}", self.manner, self.text())
    }
}

/// Every path to a value of the document.
fn paths(value: &Value, at: &[String], found: &mut Vec<Vec<String>>) {
    let mut visit = |name: String, value: &Value| {
        let mut path = at.to_vec();
        path.push(name);
        found.push(path.clone());
        paths(value, &path, found);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| visit(name.clone(), value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| visit(index.to_string(), value));
        }
        _ => {}
    }
}

/// An existing path, or one below an existing mapping.
fn choose(document: &Value, pick: prop::sample::Index, fresh: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    paths(document, &[], &mut all);
    let below: Vec<Vec<String>> = std::iter::once(Vec::new())
        .chain(all.iter().cloned())
        .filter(|path| matches!(get(document, path), Some(Value::Object(_) | Value::Null)))
        .map(|path| path.into_iter().chain(fresh.iter().cloned()).collect())
        .collect();
    all.extend(below);
    all[pick.index(all.len())].clone()
}

/// The lines that an edit at `path` has no business with.
fn untouched<'w>(writer: &'w Writer, path: &'w [String]) -> impl Iterator<Item = &'w str> {
    let in_brackets = |line: &Line| path.starts_with(&line.owner) && !line.owner.is_empty();
    writer.lines.iter().filter_map(move |line| {
        // A line inside the value goes with it; a bracketed or empty value on the way may change its line.
        let inside = line.owner.starts_with(path);
        let comment = line.text.trim_start().starts_with('#') || line.text.is_empty();
        let on_the_way = in_brackets(line) && !comment;
        (!inside && !on_the_way).then_some(line.text.as_str())
    })
}

fn contains_in_order<'a>(
    text: &'a str,
    mut lines: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let mut present = text.lines();
    lines.find(|line| !present.any(|candidate| candidate == *line))
}

/// Whether there may be a text to which the empty lines below it belong.
fn keeps_blank_lines(text: &str) -> bool {
    text.contains("|+") || text.contains(">+")
}

/// No edit mixes line breaks.
fn has_only(newline: &str, text: &str) -> bool {
    !text.replace(newline, "").contains(['\r', '\n'])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn set_does_what_was_asked(
        writer in written(0),
        pick in any::<prop::sample::Index>(),
        fresh in proptest::collection::vec("zz-[f-h]|zz-\\PC{0,6}", 1..4),
        new in value(),
    ) {
        let text = writer.text();
        let old = parse_document(&text).unwrap().1;
        let names = choose(&old, pick, &fresh);
        let path = KeyPath::from_names(names.clone()).unwrap();

        let edited = set(&text, &path, &new);
        prop_assert!(edited.is_ok(), "{path}: {}", edited.unwrap_err());
        let edited = edited.unwrap();

        let document = parse_document(&edited).unwrap().1;
        prop_assert_eq!(get(&document, &names), Some(&new));
        prop_assert_eq!(document, with(&old, &names, &new));
        let all_lines = !keeps_blank_lines(&text);
        let kept = untouched(&writer, &names).filter(|line| all_lines || !line.is_empty());
        let lost = contains_in_order(&edited, kept);
        prop_assert!(lost.is_none(), "lost {lost:?} in\n{edited}");
        prop_assert!(!text.contains('\n') || has_only(writer.manner.newline, &edited));
    }

    #[test]
    fn unset_does_what_was_asked(writer in written(1), pick in any::<prop::sample::Index>()) {
        let text = writer.text();
        let old = parse_document(&text).unwrap().1;
        let mut all = Vec::new();
        paths(&old, &[], &mut all);
        all.retain(|path| matches!(get(&old, &path[..path.len() - 1]), Some(Value::Object(_))));
        let names = all[pick.index(all.len())].clone();
        let path = KeyPath::from_names(names.clone()).unwrap();

        let edited = unset(&text, &path);
        // Blank lines behind a removed entry would become part of a text that keeps its trailing lines.
        prop_assume!(edited.is_ok() || !keeps_blank_lines(&text));
        prop_assert!(edited.is_ok(), "{path}: {}", edited.unwrap_err());
        let edited = edited.unwrap();

        let document = parse_document(&edited).unwrap().1;
        prop_assert_eq!(get(&document, &names), None);
        prop_assert_eq!(&document, &without(&old, &names));
        // A section that becomes `{}` closes up over its empty lines.
        let kept = untouched(&writer, &names).filter(|line| !line.is_empty());
        let lost = contains_in_order(&edited, kept);
        prop_assert!(lost.is_none(), "lost {lost:?} in\n{edited}");
    }

    #[test]
    fn any_text_is_edited_or_refused(
        text in "([a-c:] ?|[-\n#&*!|>'\"?{}\\[\\],<]| {1,2}|a: |- |\n  ){0,40}",
        new in value(),
    ) {
        for at in ["a", "b.c", "a.0"] {
            let path: KeyPath = at.parse().unwrap();
            if let Ok(edited) = set(&text, &path, &new) {
                let document = parse_document(&edited).unwrap().1;
                prop_assert_eq!(get(&document, path.names()), Some(&new));
            }
            if let Ok(edited) = unset(&text, &path) {
                let document = parse_document(&edited).unwrap().1;
                prop_assert_eq!(get(&document, path.names()), None);
            }
        }
    }
}

/// The document with the value at a path, missing sections made.
fn with(document: &Value, names: &[String], new: &Value) -> Value {
    let Some((name, rest)) = names.split_first() else {
        return new.clone();
    };
    match document {
        Value::Array(items) => {
            let mut items = items.clone();
            let index: usize = name.parse().unwrap();
            items[index] = with(&items[index], rest, new);
            Value::Array(items)
        }
        other => {
            let mut map = other.as_object().cloned().unwrap_or_default();
            let inner = map.get(name).cloned().unwrap_or(Value::Null);
            map.insert(name.clone(), with(&inner, rest, new));
            Value::Object(map)
        }
    }
}

/// The document without the value at a path.
fn without(document: &Value, names: &[String]) -> Value {
    let mut document = document.clone();
    let (last, section) = names.split_last().unwrap();
    match get_mut(&mut document, section) {
        Some(Value::Object(map)) => {
            map.shift_remove(last);
        }
        other => panic!("not a mapping: {other:?}"),
    }
    document
}
