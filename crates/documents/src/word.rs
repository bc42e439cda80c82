//! Word documents: paragraphs, headings, lists, tables, notes and comments.

use std::collections::HashMap;

use crate::Extracted;
use crate::bound::{DocumentError, Limits};
use crate::office::{Writer, heading_level, main_part, resolve};
use crate::package::Package;
use crate::xml::{Step, walk};

pub(crate) fn extract(bytes: &[u8], limits: &Limits) -> Result<Extracted, DocumentError> {
    let mut package = Package::open(bytes, limits)?;
    let main = main_part(&mut package, "word/document.xml", limits)?;
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let styles = match package.text(&resolve(&folder, "styles.xml"))? {
        Some(xml) => headings(&xml, limits)?,
        None => HashMap::new(),
    };
    let body = package.required(&main)?;
    let mut writer = Writer::new(&styles, limits);
    let mut notes = Vec::new();
    match writer.part(&body, limits) {
        Err(DocumentError::Damaged(why)) if writer.flow.break_off() => notes.push(format!(
            "The document is damaged ({why}): this is what could be read, and more may be missing."
        )),
        done => done?,
    }
    drop(body);
    for part in ["footnotes", "endnotes", "comments"] {
        if let Some(xml) = package.text(&resolve(&folder, &format!("{part}.xml")))? {
            writer.flow.line("");
            writer.part(&xml, limits)?;
        }
    }
    let names = package.names();
    let is_in = |name: &String, part: &str| name.starts_with(&resolve(&folder, part));
    let beside = names.iter().any(|name| is_in(name, "header") || is_in(name, "footer"));
    let pictures = names.iter().filter(|name| is_in(name, "media")).count();
    if beside {
        notes.push("Headers and footers are not shown.".to_owned());
    }
    if pictures > 0 {
        notes.push(format!("{pictures} embedded pictures or media files are not shown."));
    }
    Ok(Extracted { text: writer.flow.finish(), notes })
}

/// Heading levels by style; a style's id may be in any language, its name and
/// outline level are not.
fn headings(xml: &str, limits: &Limits) -> Result<HashMap<String, usize>, DocumentError> {
    let mut levels = HashMap::new();
    let mut style = None;
    walk(xml, limits, |step| {
        let Step::Open(element) = step else { return };
        let level = match element.name() {
            "style" => {
                style = element.attribute("styleId");
                return;
            }
            "name" => element.attribute("val").and_then(|name| heading_level(&name)),
            "outlineLvl" => element.number("val").filter(|&level| level < 6).map(|l| l + 1),
            _ => return,
        };
        if let (Some(style), Some(level)) = (&style, level) {
            levels.entry(style.clone()).or_insert(level);
        }
    })?;
    Ok(levels)
}
