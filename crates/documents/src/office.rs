//! Code shared by Word and PowerPoint: paragraphs, runs, tables and part
//! relationships.

use std::collections::HashMap;

use crate::limits::{DocumentError, DocumentLimits};
use crate::package::ZipPackage;
use crate::text_flow::TextFlow;
use crate::xml::{XmlElement, XmlEvent, walk_xml};

/// Elements whose text is not part of the current document.
const SKIPPED_ELEMENTS: &[&str] = &["Fallback", "moveFrom", "del", "instrText"];

/// Writes the text of an XML part to a flow.
#[derive(Debug)]
pub(crate) struct OfficeTextWriter<'s> {
    pub(crate) flow: TextFlow,
    /// Heading levels by style id.
    styles: &'s HashMap<String, usize>,
    /// Prefix of the next paragraph: a note's number.
    pub(crate) label: Option<String>,
    /// Nesting depth inside a skipped element.
    skip_depth: usize,
    in_text: bool,
    list_level: usize,
    is_item: bool,
    heading: Option<usize>,
}

impl<'s> OfficeTextWriter<'s> {
    pub(crate) fn new(styles: &'s HashMap<String, usize>, limits: &DocumentLimits) -> Self {
        Self {
            flow: TextFlow::new(limits),
            styles,
            label: None,
            skip_depth: 0,
            in_text: false,
            list_level: 0,
            is_item: false,
            heading: None,
        }
    }

    /// Writes a whole part.
    pub(crate) fn write_part(
        &mut self,
        xml: &str,
        limits: &DocumentLimits,
    ) -> Result<(), DocumentError> {
        walk_xml(xml, limits, |step| self.handle_event(&step))
    }

    fn handle_event(&mut self, step: &XmlEvent<'_>) {
        match step {
            XmlEvent::Open(element) if self.skip_depth > 0 || is_skipped(element) => {
                self.skip_depth += 1;
            }
            XmlEvent::Close(_) if self.skip_depth > 0 => self.skip_depth -= 1,
            XmlEvent::Open(element) => self.open_element(element),
            XmlEvent::Close(name) => self.close_element(name),
            XmlEvent::Text(text) if self.in_text && self.skip_depth == 0 => self.flow.push(text),
            XmlEvent::Text(_) => {}
        }
    }

    fn open_element(&mut self, element: &XmlElement<'_>) {
        match element.name() {
            "p" => {
                self.flow.begin_paragraph();
                (self.heading, self.is_item, self.list_level) = (None, false, 0);
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
            "outlineLvl" => self.heading = element.numeric_attribute("val").map(|level| level + 1),
            "numPr" => self.is_item = true,
            "ilvl" => self.list_level = element.numeric_attribute("val").unwrap_or(0),
            "pPr" => {
                if let Some(level) = element.numeric_attribute("lvl").filter(|&level| level > 0) {
                    (self.is_item, self.list_level) = (true, level);
                }
            }
            "footnoteReference" => self.push_reference("^", element),
            "endnoteReference" => self.push_reference("^e", element),
            "commentReference" => self.push_reference("comment ", element),
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

    fn close_element(&mut self, name: &str) {
        match name {
            "p" => {
                let mut prefix = self.label.take().unwrap_or_default();
                match self.heading {
                    Some(level @ 1..=6) => {
                        prefix.push_str(&"#".repeat(level));
                        prefix.push(' ');
                    }
                    _ if self.is_item => {
                        prefix.push_str(&"  ".repeat(self.list_level.min(16)));
                        prefix.push_str("- ");
                    }
                    _ => {}
                }
                self.flow.set_prefix(prefix);
                self.flow.end_paragraph();
                (self.heading, self.is_item, self.list_level) = (None, false, 0);
            }
            "t" => self.in_text = false,
            "tc" => self.flow.end_cell(),
            "tr" => self.flow.end_row(),
            "tbl" => self.flow.end_table(),
            _ => {}
        }
    }

    fn push_reference(&mut self, mark: &str, element: &XmlElement<'_>) {
        let id = element.attribute("id").unwrap_or_default();
        self.flow.push(&format!("[{mark}{id}]"));
    }

    fn label_note(&mut self, mark: &str, element: &XmlElement<'_>) {
        // Notes with a type are separators.
        if element.attribute("type").is_none() {
            let id = element.attribute("id").unwrap_or_default();
            self.label = Some(format!("[{mark}{id}]: "));
        }
    }
}

fn is_skipped(element: &XmlElement<'_>) -> bool {
    let name = element.name();
    SKIPPED_ELEMENTS.contains(&name)
        || name == "fld" && element.attribute("type").is_some_and(|kind| kind.starts_with("slide"))
}

/// Returns the level of a style called `Heading1` or `heading 1`.
pub(crate) fn heading_level(style: &str) -> Option<usize> {
    let style = style.to_ascii_lowercase();
    if style == "title" {
        return Some(1);
    }
    let level = style.strip_prefix("heading")?.trim().parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

/// Reads the relationships of a part: target and type by id.
pub(crate) fn part_relations(
    package: &mut ZipPackage<'_>,
    part: &str,
    limits: &DocumentLimits,
) -> Result<HashMap<String, (String, String)>, DocumentError> {
    let (dir, name) = part.rsplit_once('/').unwrap_or(("", part));
    let mut found = HashMap::new();
    let place = resolve_target(dir, &format!("_rels/{name}.rels"));
    let Some(xml) = package.part_text(&place)? else {
        return Ok(found);
    };
    walk_xml(&xml, limits, |step| {
        let XmlEvent::Open(element) = step else { return };
        if element.name() != "Relationship" || element.has_value("TargetMode", "External") {
            return;
        }
        if let (Some(id), Some(target)) = (element.attribute("Id"), element.attribute("Target")) {
            let kind = element.attribute("Type").unwrap_or_default();
            found.insert(id, (resolve_target(dir, &target), kind));
        }
    })?;
    Ok(found)
}

/// Returns the main part, wherever the package puts it.
pub(crate) fn main_part(
    package: &mut ZipPackage<'_>,
    usual: &str,
    limits: &DocumentLimits,
) -> Result<String, DocumentError> {
    let related = part_relations(package, "", limits)?;
    let main = related.into_values().find(|(_, kind)| kind.ends_with("/officeDocument"));
    Ok(main.map_or_else(|| usual.to_owned(), |(target, _)| target))
}

/// Resolves a target relative to the directory of its part.
pub(crate) fn resolve_target(dir: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = dir.split('/').filter(|part| !part.is_empty()).collect();
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
