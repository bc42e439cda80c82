//! Finds `<tool_call>` blocks in prose. A closing tag inside a JSON string
//! closes nothing; time is linear whatever the text.

use memchr::memmem::Finder;

use crate::request::MAX_CALLS;
use crate::salvage::{self, Budget, Span};

const OPEN: &str = "<tool_call";
const CLOSE: &str = "</tool_call>";
const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const FUNCTION: &str = "<function=";
const FUNCTION_END: &str = "</function>";

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Blocks<'t> {
    /// What stands between the tags, in order.
    pub(crate) bodies: Vec<&'t str>,
    /// Whether more text could change what has been found.
    pub(crate) settled: bool,
    /// Whether there are more than [`MAX_CALLS`].
    pub(crate) overflow: bool,
}

/// Whether a text may hold blocks at all.
pub(crate) fn has_tag(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), OPEN.as_bytes()).is_some()
}

/// Whether a line may be the one that settles a text.
pub(crate) fn may_settle(line: &str) -> bool {
    line.contains(CLOSE) || line.contains(THINK_END)
}

/// Finds the blocks of a text. Those in a closed `<think>` section are
/// thoughts, not calls.
pub(crate) fn find(text: &str) -> Blocks<'_> {
    let mut search = Search::new(text);
    let mut found = Blocks { settled: true, ..Blocks::default() };
    let mut at = 0;
    while let Some(open) = search.opens.next(at) {
        if let Some(think) = search.thinks.next(at).filter(|think| *think < open) {
            match search.thinks_end.next(think) {
                Some(end) => {
                    at = end + THINK_END.len();
                    continue;
                }
                None => found.settled = false,
            }
        }
        let Some(body) = tag_end(text, open) else {
            at = open + OPEN.len();
            continue;
        };
        if found.bodies.len() == MAX_CALLS {
            found.overflow = true;
            break;
        }
        let end = search.body_end(body);
        found.bodies.push(text.get(body..end.at).unwrap_or_default());
        found.settled &= end.certain;
        at = if end.closed { end.at + CLOSE.len() } else { end.at.max(body) };
    }
    if search.thinks.next(at).is_some_and(|think| search.thinks_end.next(think).is_none()) {
        found.settled = false;
    }
    found.settled &= !found.bodies.is_empty();
    found
}

/// Just past the `>` of an opening tag, if it is one.
fn tag_end(text: &str, open: usize) -> Option<usize> {
    let rest = text.get(open + OPEN.len()..)?;
    if rest.starts_with('>') {
        return Some(open + OPEN.len() + 1);
    }
    if !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
        return None;
    }
    let end = rest.find(['>', '<'])?;
    rest.get(end..)?.starts_with('>').then_some(open + OPEN.len() + end + 1)
}

struct End {
    at: usize,
    closed: bool,
    certain: bool,
}

struct Search<'t> {
    text: &'t str,
    opens: Landmark<'t>,
    closes: Landmark<'t>,
    thinks: Landmark<'t>,
    thinks_end: Landmark<'t>,
    functions_end: Landmark<'t>,
    budget: Budget,
}

impl<'t> Search<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            opens: Landmark::new(text, OPEN),
            closes: Landmark::new(text, CLOSE),
            thinks: Landmark::new(text, THINK),
            thinks_end: Landmark::new(text, THINK_END),
            functions_end: Landmark::new(text, FUNCTION_END),
            budget: Budget::for_text(text),
        }
    }

    fn body_end(&mut self, body: usize) -> End {
        let rest = self.text.get(body..).unwrap_or_default();
        let inner = salvage::unfence_start(rest.trim_start());
        let begin = body + (rest.len() - inner.len());
        if inner.starts_with(['{', '[']) {
            return match salvage::span(self.text, begin, &mut self.budget) {
                Span::Whole(end) => self.tag_after(end),
                Span::Tag(at) => End { at, closed: true, certain: true },
                Span::Broken => self.tag_after(body),
                Span::Open => End { certain: false, ..self.tag_after(body) },
            };
        }
        if inner.starts_with(FUNCTION)
            && let Some(end) = self.functions_end.next(begin)
            && self.opens.next(begin).is_none_or(|open| end < open)
        {
            return self.tag_after(end);
        }
        self.tag_after(body)
    }

    /// The first closing tag, unless another block opens before it.
    fn tag_after(&mut self, from: usize) -> End {
        let open = self.opens.next(from);
        match (self.closes.next(from), open) {
            (Some(close), None) => End { at: close, closed: true, certain: true },
            (Some(close), Some(open)) if close < open => {
                End { at: close, closed: true, certain: true }
            }
            (_, Some(open)) => End { at: open, closed: false, certain: true },
            (None, None) => End { at: self.text.len(), closed: false, certain: false },
        }
    }
}

/// The next place of a word, remembered, so that a word that never comes is
/// looked for once.
struct Landmark<'t> {
    text: &'t [u8],
    finder: Finder<'static>,
    known: Option<(usize, Option<usize>)>,
}

impl<'t> Landmark<'t> {
    fn new(text: &'t str, word: &'static str) -> Self {
        Self { text: text.as_bytes(), finder: Finder::new(word), known: None }
    }

    fn next(&mut self, from: usize) -> Option<usize> {
        if let Some((begin, place)) = self.known
            && begin <= from
            && place.is_none_or(|place| place >= from)
        {
            return place;
        }
        let rest = self.text.get(from..).unwrap_or_default();
        let place = self.finder.find(rest).map(|place| from + place);
        self.known = Some((from, place));
        place
    }
}
