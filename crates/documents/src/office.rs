//! What Word and PowerPoint have in common: paragraphs, runs and tables, and
//! parts that refer to one another.

use std::collections::HashMap;

use crate::bound::{DocumentError, Limits};
use crate::flow::Flow;
use crate::package::Package;
use crate::xml::{Element, Step, walk};

/// Elements whose text is not part of the document as it stands.
const PASSED_OVER: &[&str] = &["Fallback", "moveFrom", "del", "instrText"];

/// Writes the text of an XML part into a flow.
#[derive(Debug)]
pub(crate) struct Writer<'s> {
    pub(crate) flow: Flow,
    /// Heading levels by the name of the style.
    styles: &'s HashMap<String, usize>,
    /// What the next paragraph begins with: a note's number.
    pub(crate) label: Option<String>,
    /// How deep we are inside something that is passed over.
    passing: usize,
    in_text: bool,
    level: usize,
    is_item: bool,
    heading: Option<usize>,
}

impl<'s> Writer<'s> {
    pub(crate) fn new(styles: &'s HashMap<String, usize>, limits: &Limits) -> Self {
        Self {
            flow: Flow::new(limits),
            styles,
            label: None,
            passing: 0,
            in_text: false,
            level: 0,
            is_item: false,
            heading: None,
        }
    }

    /// Writes a whole part.
    pub(crate) fn part(&mut self, xml: &str, limits: &Limits) -> Result<(), DocumentError> {
        walk(xml, limits, |step| self.step(&step))
    }

    fn step(&mut self, step: &Step<'_>) {
        match step {
            Step::Open(element) if self.passing > 0 || is_passed_over(element) => {
                self.passing += 1;
            }
            Step::Close(_) if self.passing > 0 => self.passing -= 1,
            Step::Open(element) => self.open(element),
            Step::Close(name) => self.close(name),
            Step::Text(text) if self.in_text && self.passing == 0 => self.flow.push(text),
            Step::Text(_) => {}
        }
    }

    fn open(&mut self, element: &Element<'_>) {
        match element.name() {
            "p" => {
                self.flow.begin();
                (self.heading, self.is_item, self.level) = (None, false, 0);
            }
            "t" => self.in_text = true,
            "tbl" => self.flow.begin_table(),
            "tab" if element.attribute("pos").is_none() => self.flow.push("\t"),
            "br" | "cr" => self.flow.push("\n"),
            "noBreakHyphen" => self.flow.push("-"),
            "pStyle" => {
                let style = element.attribute("val").unwrap_or_default();
                self.heading = self.styles.get(&style).copied().or_else(|| heading_level(&style));
            }
            "outlineLvl" => self.heading = element.number("val").map(|level| level + 1),
            "numPr" => self.is_item = true,
            "ilvl" => self.level = element.number("val").unwrap_or(0),
            "pPr" => {
                if let Some(level) = element.number("lvl").filter(|&level| level > 0) {
                    (self.is_item, self.level) = (true, level);
                }
            }
            "footnoteReference" => self.refer("^", element),
            "endnoteReference" => self.refer("^e", element),
            "commentReference" => self.refer("comment ", element),
            "footnote" => self.label_note("^", element),
            "endnote" => self.label_note("^e", element),
            "comment" => {
                let id = element.attribute("id").unwrap_or_default();
                let author = element.attribute("author").unwrap_or_default();
                self.label = Some(format!("[comment {id}] {author}: "));
            }
            "docPr" => {
                if let Some(words) = element.attribute("descr").filter(|words| !words.is_empty()) {
                    self.flow.push(&format!("[image: {}]", words.replace('\n', " ")));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" => {
                let mut prefix = self.label.take().unwrap_or_default();
                match self.heading {
                    Some(level @ 1..=6) => {
                        prefix.push_str(&"#".repeat(level));
                        prefix.push(' ');
                    }
                    _ if self.is_item => {
                        prefix.push_str(&"  ".repeat(self.level.min(16)));
                        prefix.push_str("- ");
                    }
                    _ => {}
                }
                self.flow.prefix(prefix);
                self.flow.end();
                (self.heading, self.is_item, self.level) = (None, false, 0);
            }
            "t" => self.in_text = false,
            "tc" => self.flow.end_cell(),
            "tr" => self.flow.end_row(),
            "tbl" => self.flow.end_table(),
            _ => {}
        }
    }

    fn refer(&mut self, mark: &str, element: &Element<'_>) {
        let id = element.attribute("id").unwrap_or_default();
        self.flow.push(&format!("[{mark}{id}]"));
    }

    fn label_note(&mut self, mark: &str, element: &Element<'_>) {
        // Those with a type are the lines between text and notes.
        if element.attribute("type").is_none() {
            let id = element.attribute("id").unwrap_or_default();
            self.label = Some(format!("[{mark}{id}]: "));
        }
    }
}

fn is_passed_over(element: &Element<'_>) -> bool {
    let name = element.name();
    PASSED_OVER.contains(&name)
        || name == "fld" && element.attribute("type").is_some_and(|kind| kind.starts_with("slide"))
}

/// The level of a style that is called `Heading1` or `heading 1`.
pub(crate) fn heading_level(style: &str) -> Option<usize> {
    let style = style.to_ascii_lowercase();
    if style == "title" {
        return Some(1);
    }
    let level = style.strip_prefix("heading")?.trim().parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

/// Where the relations of a part lead: target and kind by id.
pub(crate) fn relations(
    package: &mut Package<'_>,
    part: &str,
    limits: &Limits,
) -> Result<HashMap<String, (String, String)>, DocumentError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let mut found = HashMap::new();
    let place = resolve(folder, &format!("_rels/{name}.rels"));
    let Some(xml) = package.text(&place)? else {
        return Ok(found);
    };
    walk(&xml, limits, |step| {
        let Step::Open(element) = step else { return };
        if element.name() != "Relationship" || element.is("TargetMode", "External") {
            return;
        }
        if let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target")) {
            let kind = element.attribute("Type").unwrap_or_default();
            found.insert(id, (resolve(folder, &target), kind));
        }
    })?;
    Ok(found)
}

/// The part that everything else hangs on, wherever the package puts it.
pub(crate) fn main_part(
    package: &mut Package<'_>,
    usual: &str,
    limits: &Limits,
) -> Result<String, DocumentError> {
    let related = relations(package, "", limits)?;
    let main = related.into_values().find(|(_, kind)| kind.ends_with("/officeDocument"));
    Ok(main.map_or_else(|| usual.to_owned(), |(target, _)| target))
}

/// A target, which is relative to the folder of its part.
pub(crate) fn resolve(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            ".." => {
                parts.pop();
            }
            "." | "" => {}
            other => parts.push(other),
        }
    }
    parts.join("/")
}
