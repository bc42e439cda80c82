//! Word documents: paragraphs, headings, lists, tables, notes and comments.

use std::collections::HashMap;

use crate::ExtractedText;
use crate::limits::{DocumentError, DocumentLimits};
use crate::office::{OfficeTextWriter, heading_level, main_part, resolve_target};
use crate::package::ZipPackage;
use crate::xml::{XmlEvent, walk_xml};

pub(crate) fn extract(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    let mut package = ZipPackage::open(bytes, limits)?;
    let main = main_part(&mut package, "word/document.xml", limits)?;
    let dir = main.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned();
    let styles = match package.part_text(&resolve_target(&dir, "styles.xml"))? {
        Some(xml) => heading_styles(&xml, limits)?,
        None => HashMap::new(),
    };
    let body = package.required_text(&main)?;
    let mut writer = OfficeTextWriter::new(&styles, limits);
    let mut notes = Vec::new();
    match writer.write_part(&body, limits) {
        Err(DocumentError::Damaged(why)) if writer.flow.close_open() => notes.push(format!(
            "The document is damaged ({why}): only the readable part is shown, and more may be \
             missing."
        )),
        done => done?,
    }
    drop(body);
    for part in ["footnotes", "endnotes", "comments"] {
        if let Some(xml) = package.part_text(&resolve_target(&dir, &format!("{part}.xml")))? {
            writer.flow.push_line("");
            writer.write_part(&xml, limits)?;
        }
    }
    let names = package.part_names();
    let is_in = |name: &String, part: &str| name.starts_with(&resolve_target(&dir, part));
    let beside = names.iter().any(|name| is_in(name, "header") || is_in(name, "footer"));
    let pictures = names.iter().filter(|name| is_in(name, "media")).count();
    if beside {
        notes.push("Headers and footers are not shown.".to_owned());
    }
    if pictures > 0 {
        notes.push(format!("{pictures} embedded pictures or media files are not shown."));
    }
    Ok(ExtractedText { text: writer.flow.finish(), notes })
}

/// Reads heading levels by style id; ids are localized, names and outline
/// levels are not.
fn heading_styles(
    xml: &str,
    limits: &DocumentLimits,
) -> Result<HashMap<String, usize>, DocumentError> {
    let mut levels = HashMap::new();
    let mut style = None;
    walk_xml(xml, limits, |step| {
        let XmlEvent::Open(element) = step else { return };
        let level = match element.name() {
            "style" => {
                style = element.attribute("styleId");
                return;
            }
            "name" => element.attribute("val").and_then(|name| heading_level(&name)),
            "outlineLvl" => {
                element.numeric_attribute("val").filter(|&level| level < 6).map(|l| l + 1)
            }
            _ => return,
        };
        if let (Some(style), Some(level)) = (&style, level) {
            levels.entry(style.clone()).or_insert(level);
        }
    })?;
    Ok(levels)
}
