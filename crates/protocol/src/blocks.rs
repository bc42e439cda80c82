//! Finds `<tool_call>` blocks in prose. Closing tags inside JSON strings are
//! ignored; the search takes linear time for any text.

use memchr::memmem::Finder;

use crate::request::MAX_CALLS;
use crate::salvage::{self, BracketSpan, ScanBudget};

const CALL_OPEN_TAG: &str = "<tool_call";
const CALL_CLOSE_TAG: &str = "</tool_call>";
const THINK_OPEN_TAG: &str = "<think>";
const THINK_CLOSE_TAG: &str = "</think>";
const FUNCTION_OPEN_TAG: &str = "<function=";
const FUNCTION_CLOSE_TAG: &str = "</function>";

/// The blocks found in a text.
#[derive(Debug, Default)]
pub(crate) struct CallBlocks<'t> {
    /// The text between the tags, in order.
    pub(crate) bodies: Vec<&'t str>,
    /// Whether the result is final: no further text can change it.
    pub(crate) is_settled: bool,
    /// Whether there are more than [`MAX_CALLS`].
    pub(crate) overflow: bool,
}

/// Whether a text may contain blocks.
pub(crate) fn has_call_tag(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), CALL_OPEN_TAG.as_bytes()).is_some()
}

/// Whether a line may complete a text.
pub(crate) fn may_settle(line: &str) -> bool {
    line.contains(CALL_CLOSE_TAG) || line.contains(THINK_CLOSE_TAG)
}

/// Finds the blocks of a text, except those in a closed `<think>` section.
pub(crate) fn find_blocks(text: &str) -> CallBlocks<'_> {
    let mut search = BlockSearch::new(text);
    let mut found = CallBlocks { is_settled: true, ..CallBlocks::default() };
    let mut at = 0;
    while let Some(open) = search.opens.find_from(at) {
        if let Some(think) = search.think_opens.find_from(at).filter(|think| *think < open) {
            match search.think_closes.find_from(think) {
                Some(end) => {
                    at = end + THINK_CLOSE_TAG.len();
                    continue;
                }
                None => found.is_settled = false,
            }
        }
        let Some(body) = tag_end(text, open) else {
            at = open + CALL_OPEN_TAG.len();
            continue;
        };
        if found.bodies.len() == MAX_CALLS {
            found.overflow = true;
            break;
        }
        let end = search.body_end(body);
        found.bodies.push(text.get(body..end.at).unwrap_or_default());
        found.is_settled &= end.is_certain;
        at = if end.closed { end.at + CALL_CLOSE_TAG.len() } else { end.at.max(body) };
    }
    if search
        .think_opens
        .find_from(at)
        .is_some_and(|think| search.think_closes.find_from(think).is_none())
    {
        found.is_settled = false;
    }
    found.is_settled &= !found.bodies.is_empty();
    found
}

/// Returns the offset just past the `>` of an opening tag, if it is one.
fn tag_end(text: &str, open: usize) -> Option<usize> {
    let rest = text.get(open + CALL_OPEN_TAG.len()..)?;
    if rest.starts_with('>') {
        return Some(open + CALL_OPEN_TAG.len() + 1);
    }
    if !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
        return None;
    }
    let end = rest.find(['>', '<'])?;
    rest.get(end..)?.starts_with('>').then_some(open + CALL_OPEN_TAG.len() + end + 1)
}

struct BodyEnd {
    at: usize,
    closed: bool,
    is_certain: bool,
}

struct BlockSearch<'t> {
    text: &'t str,
    opens: CachedFinder<'t>,
    closes: CachedFinder<'t>,
    think_opens: CachedFinder<'t>,
    think_closes: CachedFinder<'t>,
    function_closes: CachedFinder<'t>,
    budget: ScanBudget,
}

impl<'t> BlockSearch<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            opens: CachedFinder::new(text, CALL_OPEN_TAG),
            closes: CachedFinder::new(text, CALL_CLOSE_TAG),
            think_opens: CachedFinder::new(text, THINK_OPEN_TAG),
            think_closes: CachedFinder::new(text, THINK_CLOSE_TAG),
            function_closes: CachedFinder::new(text, FUNCTION_CLOSE_TAG),
            budget: ScanBudget::for_text(text),
        }
    }

    fn body_end(&mut self, body: usize) -> BodyEnd {
        let rest = self.text.get(body..).unwrap_or_default();
        let inner = salvage::unfence_start(rest.trim_start());
        let begin = body + (rest.len() - inner.len());
        if inner.starts_with(['{', '[']) {
            return match salvage::bracket_span(self.text, begin, &mut self.budget) {
                BracketSpan::Whole(end) => self.tag_after(end),
                BracketSpan::Tag(at) => BodyEnd { at, closed: true, is_certain: true },
                BracketSpan::Broken => self.tag_after(body),
                BracketSpan::Open => BodyEnd { is_certain: false, ..self.tag_after(body) },
            };
        }
        if inner.starts_with(FUNCTION_OPEN_TAG)
            && let Some(end) = self.function_closes.find_from(begin)
            && self.opens.find_from(begin).is_none_or(|open| end < open)
        {
            return self.tag_after(end);
        }
        self.tag_after(body)
    }

    /// Returns the first closing tag, unless another block opens before it.
    fn tag_after(&mut self, from: usize) -> BodyEnd {
        let open = self.opens.find_from(from);
        match (self.closes.find_from(from), open) {
            (Some(close), None) => BodyEnd { at: close, closed: true, is_certain: true },
            (Some(close), Some(open)) if close < open => {
                BodyEnd { at: close, closed: true, is_certain: true }
            }
            (_, Some(open)) => BodyEnd { at: open, closed: false, is_certain: true },
            (None, None) => BodyEnd { at: self.text.len(), closed: false, is_certain: false },
        }
    }
}

/// Finds the next occurrence of a word and caches it, so a word that never
/// occurs is searched for only once.
struct CachedFinder<'t> {
    text: &'t [u8],
    finder: Finder<'static>,
    last_match: Option<(usize, Option<usize>)>,
}

impl<'t> CachedFinder<'t> {
    fn new(text: &'t str, word: &'static str) -> Self {
        Self { text: text.as_bytes(), finder: Finder::new(word), last_match: None }
    }

    fn find_from(&mut self, from: usize) -> Option<usize> {
        if let Some((begin, place)) = self.last_match
            && begin <= from
            && place.is_none_or(|place| place >= from)
        {
            return place;
        }
        let rest = self.text.get(from..).unwrap_or_default();
        let place = self.finder.find(rest).map(|place| from + place);
        self.last_match = Some((from, place));
        place
    }
}
