//! PowerPoint presentations: the slides in their order, each with its notes.

use std::collections::HashMap;

use crate::Extracted;
use crate::bound::{DocumentError, Limits};
use crate::office::{Writer, main_part, relations};
use crate::package::Package;
use crate::xml::{Step, walk};

pub(crate) fn extract(bytes: &[u8], limits: &Limits) -> Result<Extracted, DocumentError> {
    let mut package = Package::open(bytes, limits)?;
    let slides = order(&mut package, limits)?;
    let styles = HashMap::new();
    let mut writer = Writer::new(&styles, limits);
    let mut hidden = 0;
    for (at, slide) in slides.iter().enumerate() {
        let xml = package.required(slide)?;
        let is_hidden = is_hidden(&xml, limits)?;
        hidden += usize::from(is_hidden);
        let mark = if is_hidden { " (hidden)" } else { "" };
        writer.flow.line("");
        writer.flow.line(&format!("# Slide {}{mark}", at + 1));
        writer.part(&xml, limits)?;
        let related = relations(&mut package, slide, limits)?;
        let notes = related.into_values().find(|(_, kind)| kind.ends_with("/notesSlide"));
        if let Some((notes, _)) = notes
            && let Some(xml) = package.text(&notes)?
        {
            writer.flow.line("Notes:");
            writer.part(&xml, limits)?;
        }
    }
    let pictures = package.names().iter().filter(|name| name.starts_with("ppt/media/")).count();
    let mut notes = Vec::new();
    if hidden > 0 {
        notes.push(format!("{hidden} slides are hidden in the show."));
    }
    if pictures > 0 {
        notes.push(format!("{pictures} embedded pictures or media files are not shown."));
    }
    Ok(Extracted { text: writer.flow.finish(), notes })
}

/// The parts of the slides, in the order of the show.
fn order(package: &mut Package<'_>, limits: &Limits) -> Result<Vec<String>, DocumentError> {
    let main = main_part(package, "ppt/presentation.xml", limits)?;
    let xml = package.required(&main)?;
    let related = relations(package, &main, limits)?;
    let mut slides = Vec::new();
    walk(&xml, limits, |step| {
        let Step::Open(element) = step else { return };
        if element.name() == "sldId"
            && let Some(id) = element.prefixed("r:id")
            && let Some((slide, _)) = related.get(&id)
        {
            slides.push(slide.clone());
        }
    })?;
    Ok(slides)
}

fn is_hidden(xml: &str, limits: &Limits) -> Result<bool, DocumentError> {
    let mut hidden = false;
    walk(xml, limits, |step| {
        if let Step::Open(element) = step
            && element.name() == "sld"
        {
            hidden |= element.is("show", "0") || element.is("show", "false");
        }
    })?;
    Ok(hidden)
}
