//! PowerPoint presentations: slides in order, each with its notes.

use std::collections::HashMap;

use crate::ExtractedText;
use crate::limits::{DocumentError, DocumentLimits};
use crate::office::{OfficeTextWriter, main_part, part_relations};
use crate::package::ZipPackage;
use crate::xml::{XmlEvent, walk_xml};

pub(crate) fn extract(
    bytes: &[u8],
    limits: &DocumentLimits,
) -> Result<ExtractedText, DocumentError> {
    let mut package = ZipPackage::open(bytes, limits)?;
    let slides = slide_parts(&mut package, limits)?;
    let styles = HashMap::new();
    let mut writer = OfficeTextWriter::new(&styles, limits);
    let mut hidden = 0;
    for (at, slide) in slides.iter().enumerate() {
        let xml = package.required_text(slide)?;
        let is_hidden = is_hidden_slide(&xml, limits)?;
        hidden += usize::from(is_hidden);
        let mark = if is_hidden { " (hidden)" } else { "" };
        writer.flow.push_line("");
        writer.flow.push_line(&format!("# Slide {}{mark}", at + 1));
        writer.write_part(&xml, limits)?;
        let related = part_relations(&mut package, slide, limits)?;
        let notes = related.into_values().find(|(_, kind)| kind.ends_with("/notesSlide"));
        if let Some((notes, _)) = notes
            && let Some(xml) = package.part_text(&notes)?
        {
            writer.flow.push_line("Notes:");
            writer.write_part(&xml, limits)?;
        }
    }
    let pictures =
        package.part_names().iter().filter(|name| name.starts_with("ppt/media/")).count();
    let mut notes = Vec::new();
    if hidden > 0 {
        notes.push(format!("{hidden} slides are hidden in the slide show."));
    }
    if pictures > 0 {
        notes.push(format!("{pictures} embedded pictures or media files are not shown."));
    }
    Ok(ExtractedText { text: writer.flow.finish(), notes })
}

/// Returns the slide parts in presentation order.
fn slide_parts(
    package: &mut ZipPackage<'_>,
    limits: &DocumentLimits,
) -> Result<Vec<String>, DocumentError> {
    let main = main_part(package, "ppt/presentation.xml", limits)?;
    let xml = package.required_text(&main)?;
    let related = part_relations(package, &main, limits)?;
    let mut slides = Vec::new();
    walk_xml(&xml, limits, |step| {
        let XmlEvent::Open(element) = step else { return };
        if element.name() == "sldId"
            && let Some(id) = element.prefixed_attribute("r:id")
            && let Some((slide, _)) = related.get(&id)
        {
            slides.push(slide.clone());
        }
    })?;
    Ok(slides)
}

fn is_hidden_slide(xml: &str, limits: &DocumentLimits) -> Result<bool, DocumentError> {
    let mut hidden = false;
    walk_xml(xml, limits, |step| {
        if let XmlEvent::Open(element) = step
            && element.name() == "sld"
        {
            hidden |= element.has_value("show", "0") || element.has_value("show", "false");
        }
    })?;
    Ok(hidden)
}
