//! The globs of `.editorconfig`. All alternatives are matched in parallel, so a
//! match takes at most the glob's length times the path's.

/// Maximum length of a glob; longer ones are ignored.
const MAX_GLOB_BYTES: usize = 1024;
/// Maximum nesting of braces; deeper ones are literal.
const MAX_BRACE_DEPTH: usize = 16;

/// The glob in a section header.
#[derive(Debug)]
pub(super) struct SectionGlob {
    nodes: Vec<GlobNode>,
}

#[derive(Debug)]
enum GlobNode {
    Char(char),
    /// `?`
    AnyChar,
    /// `*`
    AnyName,
    /// `**`
    AnyPath,
    /// `[a-z]`, `[!a-z]`
    CharSet {
        ranges: Vec<(char, char)>,
        is_negated: bool,
    },
    /// `{a,b}`
    Alternatives(Vec<Vec<GlobNode>>),
    /// `{1..3}`
    NumberRange(i64, i64),
}

impl SectionGlob {
    /// Parses a glob. None if it is empty or too long.
    pub(super) fn new(glob: &str) -> Option<Self> {
        if glob.is_empty() || glob.len() > MAX_GLOB_BYTES {
            return None;
        }
        // A glob without a slash matches names at any depth.
        let is_anchored = glob.contains('/');
        let chars: Vec<char> = glob.strip_prefix('/').unwrap_or(glob).chars().collect();
        let mut nodes = parse(&chars, 0);
        if !is_anchored {
            let anywhere = vec![vec![], vec![GlobNode::AnyPath, GlobNode::Char('/')]];
            nodes.insert(0, GlobNode::Alternatives(anywhere));
        }
        Some(Self { nodes })
    }

    /// Whether the glob matches the whole relative path.
    pub(super) fn matches(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        let mut reached = vec![false; path.len() + 1];
        if let Some(first) = reached.first_mut() {
            *first = true;
        }
        advance_all(&self.nodes, reached, &path).last().is_some_and(|end| *end)
    }
}

/// Returns the path positions reachable after the nodes, given those reachable
/// before them.
fn advance_all(nodes: &[GlobNode], mut reached: Vec<bool>, path: &[char]) -> Vec<bool> {
    for node in nodes {
        if !reached.contains(&true) {
            break;
        }
        reached = advance(node, &reached, path);
    }
    reached
}

fn advance(node: &GlobNode, from: &[bool], path: &[char]) -> Vec<bool> {
    let mut to = vec![false; from.len()];
    match node {
        GlobNode::Char(wanted) => advance_char(from, path, &mut to, |c| c == *wanted),
        GlobNode::AnyChar => advance_char(from, path, &mut to, |c| c != '/'),
        GlobNode::CharSet { ranges, is_negated } => advance_char(from, path, &mut to, |c| {
            let is_in = ranges.iter().any(|(first, last)| (*first..=*last).contains(&c));
            is_in != *is_negated && c != '/'
        }),
        GlobNode::AnyName | GlobNode::AnyPath => {
            let mut is_on = false;
            for (at, to) in to.iter_mut().enumerate() {
                let before = at.checked_sub(1).and_then(|before| path.get(before));
                is_on &= matches!(node, GlobNode::AnyPath) || before != Some(&'/');
                is_on |= from.get(at).is_some_and(|on| *on);
                *to = is_on;
            }
        }
        GlobNode::Alternatives(ways) => {
            for way in ways {
                let reached = advance_all(way, from.to_vec(), path);
                to.iter_mut().zip(reached).for_each(|(to, on)| *to |= on);
            }
        }
        GlobNode::NumberRange(first, last) => {
            for (start, _) in from.iter().enumerate().filter(|(_, on)| **on) {
                let rest = path.get(start..).unwrap_or_default();
                let sign = usize::from(matches!(rest.first(), Some('+' | '-')));
                let digits = rest.iter().skip(sign).take_while(|c| c.is_ascii_digit()).count();
                let number: String = rest.iter().take(sign + digits).collect();
                let is_in = number.parse().is_ok_and(|n: i64| (*first..=*last).contains(&n));
                if let Some(to) = to.get_mut(start + sign + digits).filter(|_| is_in) {
                    *to = true;
                }
            }
        }
    }
    to
}

fn advance_char(from: &[bool], path: &[char], to: &mut [bool], fits: impl Fn(char) -> bool) {
    for ((on, c), to) in from.iter().zip(path).zip(to.iter_mut().skip(1)) {
        *to = *on && fits(*c);
    }
}

fn parse(chars: &[char], depth: usize) -> Vec<GlobNode> {
    let mut nodes = Vec::new();
    let mut rest = chars;
    while let Some((first, tail)) = rest.split_first() {
        let (node, used) = match first {
            '\\' => match tail.first() {
                Some(c) => (GlobNode::Char(*c), 2),
                None => (GlobNode::Char('\\'), 1),
            },
            '*' if tail.first() == Some(&'*') => (GlobNode::AnyPath, 2),
            '*' => (GlobNode::AnyName, 1),
            '?' => (GlobNode::AnyChar, 1),
            '[' => parse_set(tail).unwrap_or((GlobNode::Char('['), 1)),
            '{' if depth < MAX_BRACE_DEPTH => match parse_braces(tail, depth) {
                Some((node, used)) => (node, used),
                None => (GlobNode::Char('{'), 1),
            },
            c => (GlobNode::Char(*c), 1),
        };
        nodes.push(node);
        rest = rest.get(used..).unwrap_or_default();
    }
    nodes
}

/// Parses a set whose `[` has been consumed; returns it with its length
/// including both brackets.
fn parse_set(tail: &[char]) -> Option<(GlobNode, usize)> {
    let is_negated = matches!(tail.first(), Some('!' | '^'));
    let mut at = usize::from(is_negated);
    let start = at;
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let mut c = *tail.get(at)?;
        match c {
            ']' if at > start => return Some((GlobNode::CharSet { ranges, is_negated }, at + 2)),
            // A set does not match a slash, so this is a literal bracket.
            '/' => return None,
            '\\' => {
                at += 1;
                c = *tail.get(at)?;
            }
            _ => {}
        }
        let end = tail.get(at + 2).filter(|end| **end != ']' && tail.get(at + 1) == Some(&'-'));
        match end {
            Some(end) => {
                ranges.push((c, *end));
                at += 3;
            }
            None => {
                ranges.push((c, c));
                at += 1;
            }
        }
    }
}

/// Parses alternatives or a number range whose `{` has been consumed. None if
/// the brace is literal: it is not closed, or has a single alternative.
fn parse_braces(tail: &[char], depth: usize) -> Option<(GlobNode, usize)> {
    let mut level = 0_usize;
    let mut parts: Vec<&[char]> = Vec::new();
    let (mut at, mut start) = (0, 0);
    loop {
        match tail.get(at)? {
            '\\' => at += 1,
            '{' => level += 1,
            '}' if level == 0 => break,
            '}' => level -= 1,
            ',' if level == 0 => {
                parts.push(tail.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(tail.get(start..at)?);
    if let [only] = parts.as_slice() {
        let text: String = only.iter().collect();
        let (first, last) = text.split_once("..")?;
        let (first, last): (i64, i64) = (first.parse().ok()?, last.parse().ok()?);
        return Some((GlobNode::NumberRange(first.min(last), first.max(last)), at + 2));
    }
    let ways = parts.into_iter().map(|part| parse(part, depth + 1)).collect();
    Some((GlobNode::Alternatives(ways), at + 2))
}
